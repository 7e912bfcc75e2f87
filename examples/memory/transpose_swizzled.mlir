// A transpose of n by n words in tiles of 32 by 32, through shared memory with columns
// permuted by the row (XOR): no bank conflict, and no padding.
//
// Launch: n/32 by n/32 work-groups of 32 by 8 threads.

llvm.mlir.global internal @buffer() {addr_space = 3 : i32} : !llvm.array<1024 x i32>

func.func @transpose_swizzled(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n: i32)
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
  %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
  %write_x = arith.addi %top, %x : i32
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
  %put_row0 = arith.muli %y, %tile : i32
  %put_column0 = arith.xori %x, %y : i32
  %put0 = arith.addi %put_row0, %put_column0 : i32
  %place0 = llvm.getelementptr %buffer[%put0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %v0, %place0 : i32, !llvm.ptr<3>
  %put_row1 = arith.muli %y1, %tile : i32
  %put_column1 = arith.xori %x, %y1 : i32
  %put1 = arith.addi %put_row1, %put_column1 : i32
  %place1 = llvm.getelementptr %buffer[%put1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %v1, %place1 : i32, !llvm.ptr<3>
  %put_row2 = arith.muli %y2, %tile : i32
  %put_column2 = arith.xori %x, %y2 : i32
  %put2 = arith.addi %put_row2, %put_column2 : i32
  %place2 = llvm.getelementptr %buffer[%put2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %v2, %place2 : i32, !llvm.ptr<3>
  %put_row3 = arith.muli %y3, %tile : i32
  %put_column3 = arith.xori %x, %y3 : i32
  %put3 = arith.addi %put_row3, %put_column3 : i32
  %place3 = llvm.getelementptr %buffer[%put3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %v3, %place3 : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  %take_row = arith.muli %x, %tile : i32
  %take_column0 = arith.xori %x, %y : i32
  %take0 = arith.addi %take_row, %take_column0 : i32
  %other0 = llvm.getelementptr %buffer[%take0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %w0 = scoped.load weak %other0 : !llvm.ptr<3> -> i32
  %take_column1 = arith.xori %x, %y1 : i32
  %take1 = arith.addi %take_row, %take_column1 : i32
  %other1 = llvm.getelementptr %buffer[%take1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %w1 = scoped.load weak %other1 : !llvm.ptr<3> -> i32
  %take_column2 = arith.xori %x, %y2 : i32
  %take2 = arith.addi %take_row, %take_column2 : i32
  %other2 = llvm.getelementptr %buffer[%take2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %w2 = scoped.load weak %other2 : !llvm.ptr<3> -> i32
  %take_column3 = arith.xori %x, %y3 : i32
  %take3 = arith.addi %take_row, %take_column3 : i32
  %other3 = llvm.getelementptr %buffer[%take3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %w3 = scoped.load weak %other3 : !llvm.ptr<3> -> i32
  %write_y0 = arith.addi %left, %y : i32
  %write_row0 = arith.muli %write_y0, %n : i32
  %to0 = arith.addi %write_row0, %write_x : i32
  %target0 = llvm.getelementptr %out[%to0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %w0, %target0 : i32, !llvm.ptr<1>
  %write_y1 = arith.addi %left, %y1 : i32
  %write_row1 = arith.muli %write_y1, %n : i32
  %to1 = arith.addi %write_row1, %write_x : i32
  %target1 = llvm.getelementptr %out[%to1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %w1, %target1 : i32, !llvm.ptr<1>
  %write_y2 = arith.addi %left, %y2 : i32
  %write_row2 = arith.muli %write_y2, %n : i32
  %to2 = arith.addi %write_row2, %write_x : i32
  %target2 = llvm.getelementptr %out[%to2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %w2, %target2 : i32, !llvm.ptr<1>
  %write_y3 = arith.addi %left, %y3 : i32
  %write_row3 = arith.muli %write_y3, %n : i32
  %to3 = arith.addi %write_row3, %write_x : i32
  %target3 = llvm.getelementptr %out[%to3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %w3, %target3 : i32, !llvm.ptr<1>
  func.return
}
