// CUDA core -> TMA store. The tile is written in the generic proxy and read by the copy in the
// async proxy: every writer fences its own writes before the barrier (fence.proxy.async of shared
// memory only), the thread that issued the copy waits until the tile has been read before another
// barrier lets everyone overwrite it. The program has neither: the pass finds both.
//
// fence-opt --mcpu sm_90 -t asm examples/async/core_to_tma_store.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @core_to_tma_store(%out: !llvm.ptr<1>, %v: i32) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  %c1 = arith.constant 1 : i32
  %next = arith.addi %v, %c1 : i32
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copy_done
^copy_done:
  scoped.barrier workgroup
  scoped.store weak %next, %tile : i32, !llvm.ptr<3>
  func.return
}
