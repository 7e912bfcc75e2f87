// CUDA core -> wgmma, operands in shared memory. wgmma reads them in the async proxy:
// fence.proxy.async by every writer before the barrier. wgmma.fence is for the registers, and the
// accumulators can be read after the group is done.
//
// fence-opt --mcpu sm_90a -t asm examples/async/core_to_wgmma_smem.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @core_to_wgmma_smem(
    %out: !llvm.ptr<1>, %v: i32, %a: i64, %b: i64
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %b
  %sum = scoped.wgmma_read "sum"[0] : i32
  scoped.store weak %sum, %out : i32, !llvm.ptr<1>
  func.return
}
