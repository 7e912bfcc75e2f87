// Within a cluster, by the cluster barrier: a thread writes a peer's shared memory, the barrier
// releases and acquires at cluster scope, the peer reads. The barrier before sees to it that the
// peer has started; it orders nothing, so that its arrival is relaxed.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_barrier_dsmem.mlir

litmus.test @cluster_barrier_dsmem {
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.cluster_arrive release
    scoped.cluster_wait
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.store weak %one, %tile : i32, !llvm.ptr<7>
    scoped.cluster_arrive release
    scoped.cluster_wait
  }
  litmus.condition "forall (P0:r0 = 1)"
}
