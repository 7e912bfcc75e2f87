// TMA -> wgmma. Both are in the async proxy: the mbarrier is enough, and wgmma.fence is there for the
// registers only.
//
// fence-sim run --mcpu sm_90a examples/patterns/tma_to_wgmma.mlir

litmus.test @tma_to_wgmma {
  litmus.location @data = 5 : i32
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 0 : i32 in local
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %b = litmus.address @b : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %b, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.barrier workgroup
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %b
    %sum = scoped.wgmma_read "sum"[0] : i32
    litmus.observe "r0", %sum : i32
  }
  litmus.condition "forall (P1:r0 = 15)"
}
