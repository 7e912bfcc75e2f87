// Within a cluster, by a bulk copy from shared memory to a peer's. Its source was written by the CUDA
// cores: the proxy fence is the writer's, before the barrier, and of the work-group's own
// shared memory only.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_dsmem_bulk.mlir

litmus.test @cluster_dsmem_bulk {
  litmus.location @source = 0 : i32 in local
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @full {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %source = litmus.address @source : !llvm.ptr<3>
    %tile = litmus.address @tile : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.barrier workgroup
    scoped.bulk_copy %tile, %source size 128 mbarrier %full
        : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %source = litmus.address @source : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.store weak %one, %source : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P2 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P2:r0 = 1)"
}
