// TMA -> CUDA core. The copy completes on an mbarrier, every reader waits for it with acquire,
// and that is all: the completion carries the proxy fence from the async to the generic proxy,
// and releases what the copy wrote. No fence.proxy.async is inserted.
//
// fence-opt --mcpu sm_90 -t asm examples/async/tma_to_core.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tma_to_core(%data: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
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
  scoped.barrier workgroup
  // The producer is one thread.
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
      : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copy_done
^copy_done:
  // Every consumer.
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
