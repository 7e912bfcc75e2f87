// Within a cluster, pull: a work-group writes its own shared memory and a peer reads it. What is
// released is the own shared memory alone (spaces [local]), what is acquired is the cluster's:
// restricted fences around relaxed arrivals and waits, far cheaper than a release of everything.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_pull_sync_restrict.mlir

litmus.test @cluster_pull_sync_restrict {
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_wait acquire cluster %full, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<7> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive release cluster %full spaces [local] : !llvm.ptr<7>
  }
  litmus.condition "forall (P0:r0 = 1)"
}
