// A transpose of n by n words without shared memory: stores are a line apart.
//
// Launch: n/32 by n/32 work-groups of 32 by 8 threads.

func.func @transpose_naive(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 32, 8, 1>} {
  %tile = arith.constant 32 : i32
  %rows = arith.constant 8 : i32
  %x_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %x = arith.index_cast %x_index : index to i32
  %y_index = "gpu.thread_id"() {dimension = #gpu<dim y>} : () -> index
  %y = arith.index_cast %y_index : index to i32
  %column_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %column = arith.index_cast %column_index : index to i32
  %row_index = "gpu.block_id"() {dimension = #gpu<dim y>} : () -> index
  %row = arith.index_cast %row_index : index to i32
  %left = arith.muli %column, %tile : i32
  %top = arith.muli %row, %tile : i32
  %read_x = arith.addi %left, %x : i32
  %y1 = arith.addi %y, %rows : i32
  %y2 = arith.addi %y1, %rows : i32
  %y3 = arith.addi %y2, %rows : i32
  %read_y0 = arith.addi %top, %y : i32
  %read_row0 = arith.muli %read_y0, %n : i32
  %from0 = arith.addi %read_row0, %read_x : i32
  %source0 = llvm.getelementptr %in[%from0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v0 = scoped.load weak %source0 : !llvm.ptr<1> -> i32
  %read_y1 = arith.addi %top, %y1 : i32
  %read_row1 = arith.muli %read_y1, %n : i32
  %from1 = arith.addi %read_row1, %read_x : i32
  %source1 = llvm.getelementptr %in[%from1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v1 = scoped.load weak %source1 : !llvm.ptr<1> -> i32
  %read_y2 = arith.addi %top, %y2 : i32
  %read_row2 = arith.muli %read_y2, %n : i32
  %from2 = arith.addi %read_row2, %read_x : i32
  %source2 = llvm.getelementptr %in[%from2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v2 = scoped.load weak %source2 : !llvm.ptr<1> -> i32
  %read_y3 = arith.addi %top, %y3 : i32
  %read_row3 = arith.muli %read_y3, %n : i32
  %from3 = arith.addi %read_row3, %read_x : i32
  %source3 = llvm.getelementptr %in[%from3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v3 = scoped.load weak %source3 : !llvm.ptr<1> -> i32
  %write_row = arith.muli %read_x, %n : i32
  %to0 = arith.addi %write_row, %read_y0 : i32
  %target0 = llvm.getelementptr %out[%to0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %v0, %target0 : i32, !llvm.ptr<1>
  %to1 = arith.addi %write_row, %read_y1 : i32
  %target1 = llvm.getelementptr %out[%to1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %v1, %target1 : i32, !llvm.ptr<1>
  %to2 = arith.addi %write_row, %read_y2 : i32
  %target2 = llvm.getelementptr %out[%to2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %v2, %target2 : i32, !llvm.ptr<1>
  %to3 = arith.addi %write_row, %read_y3 : i32
  %target3 = llvm.getelementptr %out[%to3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %v3, %target3 : i32, !llvm.ptr<1>
  func.return
}
