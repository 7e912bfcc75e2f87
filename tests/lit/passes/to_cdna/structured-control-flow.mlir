// RUN: not fence-opt %s --mcpu gfx942 -t asm 2>&1 | filecheck %s --check-prefix=TOLD
// RUN: fence-opt %s -p convert-scf-to-cf,cdna-pipeline --mcpu gfx942 -t asm | filecheck %s

// Structured control flow is no part of a kernel path: the error names the pass, and with it the kernel lowers.

// TOLD: structured-control-flow.mlir:12:3: error: 'scf.if' is not supported on the CDNA path; -p convert-scf-to-cf makes blocks of it: put it before the chip's pipeline

// CHECK: global_store_dword

func.func @k(%p: !llvm.ptr<1>, %v: i32, %z: i32) attributes {gpu.kernel} {
  %c = arith.cmpi eq, %v, %z : i32
  scf.if %c {
    scoped.store release agent %v, %p : i32, !llvm.ptr<1>
  }
  func.return
}
