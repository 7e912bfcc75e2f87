// TMA -> TMA: what one copy brought to shared memory another takes to global memory. Both are in the async
// proxy: the thread that starts the second waits on the mbarrier of the first, and fences nothing.
//
// fence-sim run --mcpu sm_90 examples/patterns/tma_to_tma.mlir

litmus.test @tma_to_tma {
  litmus.location @data = 1 : i32
  litmus.location @out = 0 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %out = litmus.address @out : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    %read = scoped.load weak %out : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}
