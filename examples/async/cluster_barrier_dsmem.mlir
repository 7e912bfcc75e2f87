// Intra-cluster, by the cluster barrier: a thread writes a peer's shared memory, the barrier
// releases and acquires at cluster scope, the peer reads. A barrier before sees to it that the peer
// has started; it orders nothing, so that its arrival is relaxed. None is needed at the end: what
// a peer writes here is written when the barrier is passed, and what is read is the own.
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_barrier_dsmem.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @cluster_barrier_dsmem(
    %out: !llvm.ptr<1>, %v: i32, %peer: i32
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  %peer_tile = scoped.map_shared %tile, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  scoped.store weak %v, %peer_tile : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
