// A copy that reads every stride-th word: what of each sector or line is used.
//
// Launch: a thread for each word written, 256 a work-group.

func.func @copy(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %stride: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %threads = arith.constant 256 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %first = arith.muli %group, %threads : i32
  %i = arith.addi %first, %thread : i32
  %from = arith.muli %i, %stride : i32
  %source = llvm.getelementptr %in[%from] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %target = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word = scoped.load weak %source : !llvm.ptr<1> -> i32
  scoped.store weak %word, %target : i32, !llvm.ptr<1>
  func.return
}
