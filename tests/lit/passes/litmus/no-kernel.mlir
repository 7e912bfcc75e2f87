// A thread that runs a kernel which the module lacks would be lowered to nothing.
// RUN: not fence-opt %s --mcpu gfx942 -o %t 2>&1 | filecheck %s
// RUN: not fence-opt %s --mcpu sm_90 --verify-lowering -o %t 2>&1 | filecheck %s
// RUN: not fence-sim run %s 2>&1 | filecheck %s

litmus.test @mp {
  litmus.location @x = 0 : i32
  // CHECK: no-kernel.mlir:9:3: error: there is no kernel 'reader' in the module
  litmus.thread @P0 runs @reader(@x, "r0")
}

func.func @read(%x: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  func.return
}
