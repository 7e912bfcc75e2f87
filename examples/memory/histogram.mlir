// How many words have each low byte: bins in shared memory, then atomics to memory.
//
// Launch: a thread for each word, 256 a work-group; out has 256 words, 0.

llvm.mlir.global internal @bins() {addr_space = 3 : i32} : !llvm.array<256 x i32>

func.func @histogram(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %threads = arith.constant 256 : i32
  %low = arith.constant 255 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %bins = llvm.mlir.addressof @bins : !llvm.ptr<3>
  %own = llvm.getelementptr %bins[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %zero, %own : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  %first = arith.muli %group, %threads : i32
  %i = arith.addi %first, %thread : i32
  %source = llvm.getelementptr %in[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word = scoped.load weak %source : !llvm.ptr<1> -> i32
  %bin = arith.andi %word, %low : i32
  %place = llvm.getelementptr %bins[%bin] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %old = scoped.atomic_rmw add relaxed workgroup %place, %one : !llvm.ptr<3>, i32
  scoped.barrier workgroup
  %count = scoped.load weak %own : !llvm.ptr<3> -> i32
  %target = llvm.getelementptr %out[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %before = scoped.atomic_rmw add relaxed agent %target, %count : !llvm.ptr<1>, i32
  func.return
}
