// RUN: not fence-sim run %s --test constant 2>&1 | filecheck %s --check-prefix=CONSTANT
// RUN: not fence-sim run %s --test argument 2>&1 | filecheck %s --check-prefix=ARGUMENT
// RUN: fence-sim run %s --test negative | filecheck %s --check-prefix=WORD
// RUN: fence-sim run %s --test negative --mcpu gfx942 | filecheck %s --check-prefix=WORD
// RUN: fence-sim run %s --test negative --mcpu sm_90 | filecheck %s --check-prefix=WORD

// Values are words: what does not fit is refused, and a negative number is its word.

// CONSTANT: words.mlir:15:5: error: 4294967299 does not fit in 32 bits, as all values of a litmus test do
// ARGUMENT: words.mlir:21:3: error: 4294967297 does not fit in 32 bits, as all values of a litmus test do
// WORD: P0:r0=4294967295;
// WORD: Ok
litmus.test @constant {
  litmus.thread @P0 {
    %v = arith.constant 4294967299 : i64
    litmus.observe "r0", %v : i64
  }
  litmus.condition "exists (P0:r0 = 3)"
}
litmus.test @argument {
  litmus.thread @P0 runs @kernel(4294967297 : i64)
}
litmus.test @negative {
  litmus.location @x = -1 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %v = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %v : i32
  }
  litmus.condition "forall (P0:r0 = -1 and x = 0xffffffff)"
}
func.func @kernel(%v: i64) attributes {gpu.kernel} {
  func.return
}
