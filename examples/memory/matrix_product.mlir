// A product of matrices of n by n words, in tiles of 16 by 16 in shared memory.
//
// Launch: n/16 by n/16 work-groups of 16 by 16 threads.

llvm.mlir.global internal @tile_of_a() {addr_space = 3 : i32} : !llvm.array<256 x i32>
llvm.mlir.global internal @tile_of_b() {addr_space = 3 : i32} : !llvm.array<256 x i32>

func.func @matrix_product(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %n: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 16, 16, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %tile = arith.constant 16 : i32
  %x_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %x = arith.index_cast %x_index : index to i32
  %y_index = "gpu.thread_id"() {dimension = #gpu<dim y>} : () -> index
  %y = arith.index_cast %y_index : index to i32
  %column_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %column = arith.index_cast %column_index : index to i32
  %row_index = "gpu.block_id"() {dimension = #gpu<dim y>} : () -> index
  %row = arith.index_cast %row_index : index to i32
  %as = llvm.mlir.addressof @tile_of_a : !llvm.ptr<3>
  %bs = llvm.mlir.addressof @tile_of_b : !llvm.ptr<3>
  %left = arith.muli %column, %tile : i32
  %top = arith.muli %row, %tile : i32
  %j = arith.addi %left, %x : i32
  %i = arith.addi %top, %y : i32
  %row_of_a = arith.muli %i, %n : i32
  %own_row = arith.muli %y, %tile : i32
  %own = arith.addi %own_row, %x : i32
  %put_a = llvm.getelementptr %as[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %put_b = llvm.getelementptr %bs[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  cf.br ^tiles(%zero, %zero : i32, i32)
^tiles(%k: i32, %sum: i32):
  %k_of_a = arith.addi %k, %x : i32
  %from_a = arith.addi %row_of_a, %k_of_a : i32
  %source_a = llvm.getelementptr %a[%from_a] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %k_of_b = arith.addi %k, %y : i32
  %row_of_b = arith.muli %k_of_b, %n : i32
  %from_b = arith.addi %row_of_b, %j : i32
  %source_b = llvm.getelementptr %b[%from_b] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word_a = scoped.load weak %source_a : !llvm.ptr<1> -> i32
  %word_b = scoped.load weak %source_b : !llvm.ptr<1> -> i32
  scoped.store weak %word_a, %put_a : i32, !llvm.ptr<3>
  scoped.store weak %word_b, %put_b : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  cf.br ^products(%zero, %sum : i32, i32)
^products(%q: i32, %partial: i32):
  %take_a = arith.addi %own_row, %q : i32
  %place_a = llvm.getelementptr %as[%take_a] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %take_row = arith.muli %q, %tile : i32
  %take_b = arith.addi %take_row, %x : i32
  %place_b = llvm.getelementptr %bs[%take_b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %u = scoped.load weak %place_a : !llvm.ptr<3> -> i32
  %v = scoped.load weak %place_b : !llvm.ptr<3> -> i32
  %product = arith.muli %u, %v : i32
  %more = arith.addi %partial, %product : i32
  %next_q = arith.addi %q, %one : i32
  %goes_on = arith.cmpi ult, %next_q, %tile : i32
  cf.cond_br %goes_on, ^products(%next_q, %more : i32, i32), ^tile_done
^tile_done:
  scoped.barrier workgroup
  %next_k = arith.addi %k, %tile : i32
  %is_left = arith.cmpi ult, %next_k, %n : i32
  cf.cond_br %is_left, ^tiles(%next_k, %more : i32, i32), ^done
^done:
  %to = arith.addi %row_of_a, %j : i32
  %target = llvm.getelementptr %c[%to] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %more, %target : i32, !llvm.ptr<1>
  func.return
}
