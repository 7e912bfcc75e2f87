// Intra-cluster, pull: every work-group writes its own shared memory and a peer reads it. What is
// released is the own shared memory alone (spaces [local]), what is acquired is the cluster's:
// restricted fences around relaxed arrivals and waits, far cheaper than a release of everything.
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_pull_sync_restrict.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @cluster_pull_sync_restrict(
    %out: !llvm.ptr<1>, %v: i32, %peer: i32
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %parity = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 128 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  %peer_tile = scoped.map_shared %tile, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer_full = scoped.map_shared %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.mbarrier_arrive release cluster %peer_full spaces [local] : !llvm.ptr<7>
  scoped.mbarrier_wait acquire cluster %full, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
  %read = scoped.load weak %peer_tile : !llvm.ptr<7> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
