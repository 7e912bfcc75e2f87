// REQUIRES: mlir-translate
// RUN: fence-opt --import-mlir %s --mcpu gfx942 -t llvm | filecheck %s
// RUN: fence-opt --import-mlir %s --mcpu gfx942 | filecheck %s --check-prefix=MLIR

// mlir-translate makes an empty module of this: kernels in a gpu.module are not the host's. "gpu.module" in a
// string or comment is none.

#local = #llvm.mmra_tag<"amdgpu-synchronize-as":"local">
module attributes {gpu.container_module, test.words = "gpu.module }"} {
  gpu.module @kernels [#rocdl.target<chip = "gfx942">] attributes {
    llvm.target_triple = "amdgcn-amd-amdhsa" // }
  } {
    llvm.func @publish(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>, %v: i32) attributes {gpu.kernel, rocdl.kernel} {
      llvm.store %v, %data : i32, !llvm.ptr<1>
      llvm.fence syncscope("workgroup") release {llvm.mmra = #local}
      llvm.store %v, %flag atomic syncscope("agent") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
      llvm.return
    }
  } loc("gpu.module":1:1)
}

// CHECK: target triple = "amdgcn-amd-amdhsa"
// CHECK: define amdgpu_kernel void @publish
// CHECK: buffer_wbl2 sc1
// MLIR: llvm_ir.func {{.*}} @publish
