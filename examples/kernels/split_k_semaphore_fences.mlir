// split_k_semaphore.mlir as it is written with relaxed atomics and full fences: one behind the
// last poll, one in front of the store that hands the turn on.
//
// Launch: tiles x 4 work-groups of 256 threads, all of them resident; semaphores 0, one for each
// tile of 256 columns. In a round a work-group multiplies 8 rows of A, each of 256 x tiles
// floats; after 16 rounds it begins again.

func.func @split_k_semaphore(%semaphores: !llvm.ptr<1>, %x: !llvm.ptr<1>, %a: !llvm.ptr<1>,
                             %y: !llvm.ptr<1>, %tiles: i32, %rounds: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %splits = arith.constant 4 : i32
  %rows = arith.constant 8 : i32
  %last = arith.constant 15 : i32
  %threads = arith.constant 256 : i32
  %none = arith.constant 0.0 : f32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %bidx = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %tile = arith.index_cast %bidx : index to i32
  %bidy = "gpu.block_id"() {dimension = #gpu<dim y>} : () -> index
  %split = arith.index_cast %bidy : index to i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  %semaphore = llvm.getelementptr %semaphores[%tile] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %width = arith.muli %tiles, %threads : i32
  %left = arith.muli %tile, %threads : i32
  %column = arith.addi %left, %thread : i32
  %result = llvm.getelementptr %y[%column] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  cf.br ^round(%zero, %split : i32, i32)
^round(%round: i32, %turn: i32):
  %more = arith.cmpi ult, %round, %rounds : i32
  cf.cond_br %more, ^multiply, ^end
^multiply:
  %wrapped = arith.andi %round, %last : i32
  %slabs = arith.muli %wrapped, %splits : i32
  %slab = arith.addi %slabs, %split : i32
  %top = arith.muli %slab, %rows : i32
  %xs = llvm.getelementptr %x[%top] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %above = arith.muli %top, %width : i32
  %start = arith.addi %above, %column : i32
  %px0 = llvm.getelementptr %xs[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa0 = llvm.getelementptr %a[%start] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x0 = scoped.load weak %px0 : !llvm.ptr<1> -> f32
  %a0 = scoped.load weak %pa0 : !llvm.ptr<1> -> f32
  %at1 = arith.addi %start, %width : i32
  %px1 = llvm.getelementptr %xs[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa1 = llvm.getelementptr %a[%at1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x1 = scoped.load weak %px1 : !llvm.ptr<1> -> f32
  %a1 = scoped.load weak %pa1 : !llvm.ptr<1> -> f32
  %at2 = arith.addi %at1, %width : i32
  %px2 = llvm.getelementptr %xs[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa2 = llvm.getelementptr %a[%at2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x2 = scoped.load weak %px2 : !llvm.ptr<1> -> f32
  %a2 = scoped.load weak %pa2 : !llvm.ptr<1> -> f32
  %at3 = arith.addi %at2, %width : i32
  %px3 = llvm.getelementptr %xs[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa3 = llvm.getelementptr %a[%at3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x3 = scoped.load weak %px3 : !llvm.ptr<1> -> f32
  %a3 = scoped.load weak %pa3 : !llvm.ptr<1> -> f32
  %at4 = arith.addi %at3, %width : i32
  %px4 = llvm.getelementptr %xs[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa4 = llvm.getelementptr %a[%at4] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x4 = scoped.load weak %px4 : !llvm.ptr<1> -> f32
  %a4 = scoped.load weak %pa4 : !llvm.ptr<1> -> f32
  %at5 = arith.addi %at4, %width : i32
  %px5 = llvm.getelementptr %xs[5] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa5 = llvm.getelementptr %a[%at5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x5 = scoped.load weak %px5 : !llvm.ptr<1> -> f32
  %a5 = scoped.load weak %pa5 : !llvm.ptr<1> -> f32
  %at6 = arith.addi %at5, %width : i32
  %px6 = llvm.getelementptr %xs[6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa6 = llvm.getelementptr %a[%at6] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x6 = scoped.load weak %px6 : !llvm.ptr<1> -> f32
  %a6 = scoped.load weak %pa6 : !llvm.ptr<1> -> f32
  %at7 = arith.addi %at6, %width : i32
  %px7 = llvm.getelementptr %xs[7] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pa7 = llvm.getelementptr %a[%at7] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x7 = scoped.load weak %px7 : !llvm.ptr<1> -> f32
  %a7 = scoped.load weak %pa7 : !llvm.ptr<1> -> f32
  %sum0 = math.fma %x0, %a0, %none : f32
  %sum1 = math.fma %x1, %a1, %sum0 : f32
  %sum2 = math.fma %x2, %a2, %sum1 : f32
  %sum3 = math.fma %x3, %a3, %sum2 : f32
  %sum4 = math.fma %x4, %a4, %sum3 : f32
  %sum5 = math.fma %x5, %a5, %sum4 : f32
  %sum6 = math.fma %x6, %a6, %sum5 : f32
  %sum7 = math.fma %x7, %a7, %sum6 : f32
  cf.cond_br %leads, ^spin, ^mine
^spin:
  %seen = scoped.load relaxed agent %semaphore : !llvm.ptr<1> -> i32
  %wait = arith.cmpi ne, %seen, %turn : i32
  cf.cond_br %wait, ^spin, ^turn
^turn:
  scoped.fence acq_rel agent
  cf.br ^mine
^mine:
  scoped.barrier workgroup
  %before = scoped.load weak %result : !llvm.ptr<1> -> f32
  %total = arith.addf %before, %sum7 : f32
  scoped.store weak %total, %result : f32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %leads, ^hand_on, ^after
^hand_on:
  %following = arith.addi %turn, %one : i32
  scoped.fence acq_rel agent
  scoped.store relaxed agent %following, %semaphore : i32, !llvm.ptr<1>
  cf.br ^after
^after:
  %later = arith.addi %round, %one : i32
  %further = arith.addi %turn, %splits : i32
  cf.br ^round(%later, %further : i32, i32)
^end:
  func.return
}
