// The sum of all words: a tree in shared memory, then an atomic of one thread.
//
// Launch: a thread for each word, 256 a work-group; out is 0.
// On AMD it needs LLVM IR, or the form of reduction_waves.mlir: the MLIR path branches as a whole wave.

llvm.mlir.global internal @sums() {addr_space = 3 : i32} : !llvm.array<256 x i32>

func.func @reduction(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %threads = arith.constant 256 : i32
  %zero = arith.constant 0 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
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
  %half = arith.constant 128 : i32
  %one = arith.constant 1 : i32
  cf.br ^step(%half : i32)
^step(%width: i32):
  %adds = arith.cmpi ult, %thread, %width : i32
  cf.cond_br %adds, ^add, ^next
^add:
  %partner = arith.addi %thread, %width : i32
  %other = llvm.getelementptr %sums[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %a = scoped.load weak %own : !llvm.ptr<3> -> i32
  %b = scoped.load weak %other : !llvm.ptr<3> -> i32
  %sum = arith.addi %a, %b : i32
  scoped.store weak %sum, %own : i32, !llvm.ptr<3>
  cf.br ^next
^next:
  scoped.barrier workgroup
  %narrower = arith.shrui %width, %one : i32
  %more = arith.cmpi ne, %narrower, %zero : i32
  cf.cond_br %more, ^step(%narrower : i32), ^done
^done:
  %leads = arith.cmpi eq, %thread, %zero : i32
  cf.cond_br %leads, ^publish, ^end
^publish:
  %total = scoped.load weak %own : !llvm.ptr<3> -> i32
  %before = scoped.atomic_rmw add relaxed agent %out, %total : !llvm.ptr<1>, i32
  cf.br ^end
^end:
  func.return
}
