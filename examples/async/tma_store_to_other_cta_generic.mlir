// TMA store -> another work-group's CUDA cores, through global memory. The release of the flag
// takes the copy with it only when the copy is done: wait_group, not wait_group.read, before it.
// The reader needs no proxy fence: the completion had one.
//
// fence-opt --mcpu sm_90 -t asm examples/async/tma_store_to_other_cta_generic.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @tma_store_to_other_cta_generic(
    %data: !llvm.ptr<1>, %out: !llvm.ptr<1>, %flag: !llvm.ptr<1>
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  cf.cond_br %leader, ^produce, ^produce_done
^produce:
  scoped.bulk_copy %data, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  %old = scoped.atomic_rmw add release agent %flag, %one : !llvm.ptr<1>, i32
  cf.br ^produce_done
^produce_done:
  // The consumer.
  cf.br ^spin
^spin:
  %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %seen, %zero : i32
  cf.cond_br %again, ^spin, ^done
^done:
  %read = scoped.load weak %data : !llvm.ptr<1> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
