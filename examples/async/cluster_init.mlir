// An mbarrier that the whole cluster uses: made by one thread, released by fence.mbarrier_init,
// which is all that the cluster barrier has to carry, so that its arrival is relaxed.
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_init.mlir

llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @cluster_init() attributes {gpu.kernel} {
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  func.return
}
