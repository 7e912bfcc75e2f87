// Intra-cluster, push by st.async: each store completes on the receiver's mbarrier by itself, so
// that no release is needed at all. The receiver expects the bytes.
//
// fence-opt --mcpu sm_90 -t asm examples/async/cluster_st_async.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @cluster_st_async(%out: !llvm.ptr<1>, %v: i32, %peer: i32) attributes {gpu.kernel} {
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
  cf.cond_br %leader, ^push, ^push_done
^push:
  scoped.mbarrier_arrive release workgroup %full expect_tx 4 : !llvm.ptr<3>
  scoped.store_async %v, %peer_tile mbarrier %peer_full
      : i32, !llvm.ptr<7>, !llvm.ptr<7>
  cf.br ^push_done
^push_done:
  scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
