// An inclusive sum of i32 in one pass over memory, as examples/kernels/look_back_scan.mlir, where a
// wave of 64 lanes branches as a whole: a tile of 256 words, its sums by steps in shared memory, and
// every wave looks back by itself.
//
// The first lane draws the tile and publishes its states, at drawn[0] and states[tile]; the other
// lanes of its wave do the same with words of their own, drawn[1] to drawn[63] and the 63 states
// after the last tile's. A state is the number and what it is above: 1, the sum of the tile, 2, the
// prefix up to its end.
// Launch: a work-group of 256 threads for each tile; 64 words of drawn and tiles + 64 states of 64
// bits, 0; tiles: how many there are.

llvm.mlir.global internal @sums() {addr_space = 3 : i32} : !llvm.array<256 x i32>
llvm.mlir.global internal @tickets() {addr_space = 3 : i32} : !llvm.array<64 x i32>

func.func @look_back_scan_waves(%drawn: !llvm.ptr<1>, %states: !llvm.ptr<1>, %in: !llvm.ptr<1>,
                                %out: !llvm.ptr<1>, %tiles: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %lane_bits = arith.constant 6 : i32
  %last_lane = arith.constant 63 : i32
  %threads = arith.constant 256 : i32
  %upper = arith.constant 32 : i64
  %sum_known = arith.constant 4294967296 : i64
  %prefix_known = arith.constant 8589934592 : i64
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %lane = arith.andi %thread, %last_lane : i32
  %leads = arith.cmpi eq, %wave, %zero : i32
  %is_first = arith.cmpi eq, %lane, %zero : i32
  %sums = llvm.mlir.addressof @sums : !llvm.ptr<3>
  %own = llvm.getelementptr %sums[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %last = llvm.getelementptr %sums[255] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  %ticket = llvm.mlir.addressof @tickets : !llvm.ptr<3>
  cf.cond_br %leads, ^draw, ^drawn
^draw:
  %place = llvm.getelementptr %drawn[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %number = scoped.atomic_rmw add relaxed agent %place, %one : !llvm.ptr<1>, i32
  %own_ticket = llvm.getelementptr %ticket[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scoped.store weak %number, %own_ticket : i32, !llvm.ptr<3>
  cf.br ^drawn
^drawn:
  scoped.barrier workgroup
  %tile = scoped.load weak %ticket : !llvm.ptr<3> -> i32
  %start = arith.muli %tile, %threads : i32
  %i = arith.addi %start, %thread : i32
  %from = llvm.getelementptr %in[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word = scoped.load weak %from : !llvm.ptr<1> -> i32
  cf.br ^step(%one, %word : i32, i32)

// The sums within the tile: each lane adds what is at a distance of 1, 2, 4, ... before its own.
^step(%distance: i32, %sum: i32):
  scoped.store weak %sum, %own : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  %reaches = arith.cmpi uge, %thread, %distance : i32
  %back = arith.subi %thread, %distance : i32
  %partner = arith.select %reaches, %back, %thread : i32
  %other = llvm.getelementptr %sums[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %there = scoped.load weak %other : !llvm.ptr<3> -> i32
  %adds = arith.select %reaches, %there, %zero : i32
  %further = arith.addi %sum, %adds : i32
  scoped.barrier workgroup
  %farther = arith.shli %distance, %one : i32
  %more = arith.cmpi ult, %farther, %threads : i32
  cf.cond_br %more, ^step(%farther, %further : i32, i32), ^summed
^summed:
  scoped.store weak %further, %own : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  %total = scoped.load weak %last : !llvm.ptr<3> -> i32
  %spare = arith.addi %tiles, %lane : i32
  %slot = arith.select %is_first, %tile, %spare : i32
  %state = llvm.getelementptr %states[%slot] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  %wide = arith.extui %total : i32 to i64
  %begins = arith.cmpi eq, %tile, %zero : i32
  cf.cond_br %begins, ^finish(%zero : i32), ^publish
^publish:
  %partial = arith.ori %wide, %sum_known : i64
  cf.cond_br %leads, ^put, ^look_back
^put:
  scoped.store relaxed agent %partial, %state : i64, !llvm.ptr<1>
  cf.br ^look_back
^look_back:
  %before = arith.subi %tile, %one : i32
  cf.br ^look(%before, %zero : i32, i32)
^look(%at: i32, %prefix: i32):
  %its = llvm.getelementptr %states[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  %found = scoped.load relaxed agent %its : !llvm.ptr<1> -> i64
  %what_wide = arith.shrui %found, %upper : i64
  %what = arith.trunci %what_wide : i64 to i32
  %low = arith.trunci %found : i64 to i32
  %with = arith.addi %prefix, %low : i32
  %none = arith.cmpi eq, %what, %zero : i32
  cf.cond_br %none, ^look(%at, %prefix : i32, i32), ^known
^known:
  %further_back = arith.subi %at, %one : i32
  %is_prefix = arith.cmpi eq, %what, %two : i32
  cf.cond_br %is_prefix, ^finish(%with : i32), ^look(%further_back, %with : i32, i32)
^finish(%whole: i32):
  %end = arith.addi %whole, %total : i32
  %end_wide = arith.extui %end : i32 to i64
  %complete = arith.ori %end_wide, %prefix_known : i64
  cf.cond_br %leads, ^put_prefix, ^store
^put_prefix:
  scoped.store relaxed agent %complete, %state : i64, !llvm.ptr<1>
  cf.br ^store
^store:
  %result = arith.addi %further, %whole : i32
  %to = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %result, %to : i32, !llvm.ptr<1>
  func.return
}
