// RUN: not fence-opt %s --verify-lowering --mcpu gfx942 -o /dev/null 2>&1 | filecheck %s --check-prefix=RACY
// RUN: not fence-opt %s --verify-lowering 2>&1 | filecheck %s --check-prefix=NOTHING

// RACY: verify-lowering-invalid.mlir:{{[0-9]+}}:1: error: 'racy' has no defined outcome, so there is nothing to verify: data race on x: P0 'store weak 1, x' at {{.*}}verify-lowering-invalid.mlir:11 and P1 '%v = load weak x' at {{.*}}verify-lowering-invalid.mlir:15: both are weak, and neither reads before its access what the other wrote after its own
// NOTHING: verify-lowering-invalid.mlir: error: --verify-lowering found no litmus test with a source and a lowering; lower a test with --mcpu, or name the source of one with 'lowers @name'
litmus.test @racy {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %v = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %v : i32
  }
}
