// TMA -> CUDA core. The copy completes on an mbarrier, and whoever reads waits there with acquire.
// The completion carries the proxy fence from the async to the generic proxy.
//
// fence-sim run --mcpu sm_90 examples/patterns/tma_to_core.mlir

litmus.test @tma_to_core {
  litmus.location @data = 42 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.barrier workgroup
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 42)"
}
