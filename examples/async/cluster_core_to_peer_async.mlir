// Intra-cluster, write after read across proxies: a tile is read by CUDA cores, then overwritten
// by a peer's bulk copy. The restricted fences are those between the async and the generic proxy,
// on both sides: the reader releases, the peer that issues the copy acquires.
//
// `free` counts the readers, `full` expects the bytes. On one mbarrier for both, the bytes of a
// peer that is ahead would count in the phase of the arrivals, which then never ends. The second
// cluster barrier keeps a work-group there until its own copy, which only the peer waits for, has
// read its source.
//
// Launch: clusters of two work-groups of 128 threads; 128 bytes to copy at tile[256].
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_core_to_peer_async.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @free() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @cluster_core_to_peer_async(
    %before: !llvm.ptr<1>, %after: !llvm.ptr<1>, %peer: i32
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %free = llvm.mlir.addressof @free : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %parity = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarriers; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %free count 128 : !llvm.ptr<3>
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  %peer_tile = scoped.map_shared %tile, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer_free = scoped.map_shared %free, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer_full = scoped.map_shared %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %source = llvm.getelementptr %tile[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.mbarrier_arrive release cluster %peer_free spaces [local] : !llvm.ptr<7>
  scoped.mbarrier_wait acquire cluster %free, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
  cf.cond_br %leader, ^push, ^push_done
^push:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.bulk_copy %peer_tile, %source size 128 mbarrier %peer_full
      : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  cf.br ^push_done
^push_done:
  scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
  // Both copies are done: a work-group may end.
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  %copied = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %before : i32, !llvm.ptr<1>
  scoped.store weak %copied, %after : i32, !llvm.ptr<1>
  func.return
}
