// An mbarrier that the whole cluster uses. It is made by one thread and released by
// fence.mbarrier_init, which is all that the cluster barrier has to carry: its arrival is relaxed.
//
// fence-sim run --mcpu sm_90 examples/patterns/cluster_init.mlir

litmus.test @cluster_init {
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    litmus.observe "r0", %one : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %full = litmus.address @full : !llvm.ptr<7>
    scoped.cluster_arrive relaxed
    scoped.cluster_wait
    scoped.mbarrier_arrive release cluster %full : !llvm.ptr<7>
  }
  litmus.condition "forall (P0:r0 = 1)"
}
