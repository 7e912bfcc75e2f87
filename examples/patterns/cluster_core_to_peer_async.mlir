// Within a cluster, write after read across proxies: a tile is read by CUDA cores, then overwritten
// by a peer's bulk copy. The restricted fences are those between the async and the generic proxy,
// on both sides: the reader releases, the peer that issues the copy acquires.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_core_to_peer_async.mlir

litmus.test @cluster_core_to_peer_async {
  litmus.location @source = 1 : i32 in local
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @free
  litmus.mbarrier @full {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %source = litmus.address @source : !llvm.ptr<3>
    %tile = litmus.address @tile : !llvm.ptr<7>
    %free = litmus.address @free : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<7>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %free count 1 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_wait acquire cluster %free, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
    scoped.bulk_copy %tile, %source size 128 mbarrier %full
        : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %free = litmus.address @free : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    %before = scoped.load weak %tile : !llvm.ptr<3> -> i32
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_arrive release cluster %free spaces [local] : !llvm.ptr<7>
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %after = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %before : i32
    litmus.observe "r1", %after : i32
  }
  litmus.condition "forall (P1:r0 = 0 and P1:r1 = 1)"
}
