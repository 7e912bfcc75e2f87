// Within a cluster, push by st.async: each store completes on the receiver's mbarrier by itself, so
// that no release is needed at all. The receiver expects the bytes.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_st_async.mlir

litmus.test @cluster_st_async {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full expect_tx 4 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.store_async %one, %tile mbarrier %full : i32, !llvm.ptr<7>, !llvm.ptr<7>
  }
  litmus.condition "forall (P0:r0 = 1)"
}
