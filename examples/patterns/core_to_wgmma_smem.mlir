// CUDA core -> wgmma, operands in shared memory. wgmma reads them in the async proxy:
// fence.proxy.async by every writer before the barrier. wgmma.fence is for the registers, and the
// accumulators can be read after the group is done.
//
// fence-sim run --mcpu sm_90a examples/patterns/core_to_wgmma_smem.mlir

litmus.test @core_to_wgmma_smem {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %b = litmus.address @b : !llvm.ptr<3>
    %five = arith.constant 5 : i32
    scoped.store weak %five, %b : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    scoped.barrier workgroup
    scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %b
    %sum = scoped.wgmma_read "sum"[0] : i32
    litmus.observe "r0", %sum : i32
  }
  litmus.condition "forall (P1:r0 = 15)"
}
