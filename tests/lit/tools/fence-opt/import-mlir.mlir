// REQUIRES: mlir-translate
// RUN: fence-opt --import-mlir %s --mcpu gfx942 -t llvm | filecheck %s
// RUN: fence-opt --import-mlir %s --mcpu sm_90 -t llvm | filecheck %s --check-prefix=PTX

// MLIR in the llvm dialect is translated, imported and lowered like any LLVM IR: the release store
// writes back and waits before it, and the fence is made explicit.

llvm.func @publish(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>, %v: i32) {
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.store %v, %data : i32, !llvm.ptr<1>
  llvm.store %one, %flag atomic syncscope("agent") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: @publish
// CHECK:         store i32
// CHECK:         buffer_wbl2 sc1
// CHECK:         call void @llvm.amdgcn.s.waitcnt(i32 112)
// CHECK:         ret void

// PTX-LABEL: @publish
// PTX:         st.release.gpu.global.b32
