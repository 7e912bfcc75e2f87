// Each word becomes the sum of itself and its four neighbours; rows are pitch words apart.
//
// Launch: 256 threads a work-group, a row of them for each line; a frame of one word is left.

func.func @stencil(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %pitch: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %one = arith.constant 1 : i32
  %threads = arith.constant 256 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %line_index = "gpu.block_id"() {dimension = #gpu<dim y>} : () -> index
  %line = arith.index_cast %line_index : index to i32
  %first = arith.muli %group, %threads : i32
  %inner = arith.addi %first, %thread : i32
  %x = arith.addi %inner, %one : i32
  %y = arith.addi %line, %one : i32
  %row = arith.muli %y, %pitch : i32
  %here = arith.addi %row, %x : i32
  %above = arith.subi %here, %pitch : i32
  %below = arith.addi %here, %pitch : i32
  %before = arith.subi %here, %one : i32
  %after = arith.addi %here, %one : i32
  %p_here = llvm.getelementptr %in[%here] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %p_above = llvm.getelementptr %in[%above] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %p_below = llvm.getelementptr %in[%below] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %p_before = llvm.getelementptr %in[%before] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %p_after = llvm.getelementptr %in[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v_here = scoped.load weak %p_here : !llvm.ptr<1> -> i32
  %v_above = scoped.load weak %p_above : !llvm.ptr<1> -> i32
  %v_below = scoped.load weak %p_below : !llvm.ptr<1> -> i32
  %v_before = scoped.load weak %p_before : !llvm.ptr<1> -> i32
  %v_after = scoped.load weak %p_after : !llvm.ptr<1> -> i32
  %s1 = arith.addi %v_here, %v_above : i32
  %s2 = arith.addi %s1, %v_below : i32
  %s3 = arith.addi %s2, %v_before : i32
  %s4 = arith.addi %s3, %v_after : i32
  %target = llvm.getelementptr %out[%here] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %s4, %target : i32, !llvm.ptr<1>
  func.return
}
