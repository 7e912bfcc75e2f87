// The sum of all words, as reduction.mlir, where a wave of 64 lanes branches as a whole: the tree
// ends at the 64 sums of the first wave, and each of its lanes adds its own to the result.
//
// Launch: a thread for each word, 256 a work-group; out is 0.

llvm.mlir.global internal @sums() {addr_space = 3 : i32} : !llvm.array<256 x i32>

func.func @reduction_waves(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %threads = arith.constant 256 : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane_bits = arith.constant 6 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %sums = llvm.mlir.addressof @sums : !llvm.ptr<3>
  %first = arith.muli %group, %threads : i32
  %i = arith.addi %first, %thread : i32
  %source = llvm.getelementptr %in[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word = scoped.load weak %source : !llvm.ptr<1> -> i32
  %own = llvm.getelementptr %sums[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %word, %own : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  %half = arith.constant 2 : i32
  cf.br ^step(%half : i32)
^step(%waves: i32):
  %adds = arith.cmpi ult, %wave, %waves : i32
  cf.cond_br %adds, ^add, ^next
^add:
  %width = arith.shli %waves, %lane_bits : i32
  %partner = arith.addi %thread, %width : i32
  %other = llvm.getelementptr %sums[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %a = scoped.load weak %own : !llvm.ptr<3> -> i32
  %b = scoped.load weak %other : !llvm.ptr<3> -> i32
  %sum = arith.addi %a, %b : i32
  scoped.store weak %sum, %own : i32, !llvm.ptr<3>
  cf.br ^next
^next:
  scoped.barrier workgroup
  %fewer = arith.shrui %waves, %one : i32
  %more = arith.cmpi ne, %fewer, %zero : i32
  cf.cond_br %more, ^step(%fewer : i32), ^done
^done:
  %leads = arith.cmpi eq, %wave, %zero : i32
  cf.cond_br %leads, ^publish, ^end
^publish:
  %total = scoped.load weak %own : !llvm.ptr<3> -> i32
  %before = scoped.atomic_rmw add relaxed agent %out, %total : !llvm.ptr<1>, i32
  cf.br ^end
^end:
  func.return
}
