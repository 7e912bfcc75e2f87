// Intra-cluster, push: data is written to a peer's shared memory, then its mbarrier is arrived at
// with release at cluster scope. One proxy, no proxy fence; but the release is of everything, and
// costs as much as one to the whole GPU.
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_remote_arrive.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @cluster_remote_arrive(
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
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.cluster_arrive relaxed
  scoped.cluster_wait
  %peer_tile = scoped.map_shared %tile, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer_full = scoped.map_shared %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  scoped.store weak %v, %peer_tile : i32, !llvm.ptr<7>
  cf.cond_br %leader, ^arrive, ^arrive_done
^arrive:
  scoped.mbarrier_arrive release cluster %peer_full : !llvm.ptr<7>
  cf.br ^arrive_done
^arrive_done:
  scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
