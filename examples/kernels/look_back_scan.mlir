// An inclusive sum of i32 in one pass over memory: decoupled look-back (Merrill and Garland 2016).
//
// A work-group draws a tile of 4096 words, sums it up within, publishes the sum, and looks back
// over the tiles before, 32 at a time, adding sums until it meets a tile whose whole prefix is
// known. A tile's state is one 64-bit word, the number below and what it is above (1: sum of the
// tile, 2: prefix up to its end), so that whoever sees the state sees the number: relaxed
// accesses at agent scope are enough, and no fence is needed anywhere.
// Launch: a work-group of 256 threads for each tile; drawn and states 0; 16-byte alignment.

llvm.mlir.global internal @totals() {addr_space = 3 : i32} : !llvm.array<32 x i32>
llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<2 x i32>

func.func @look_back_scan(%drawn: !llvm.ptr<1>, %states: !llvm.ptr<1>, %in: !llvm.ptr<1>,
                          %out: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  %eight = arith.constant 8 : i32
  %last_lane = arith.constant 31 : i32
  %lanes = arith.constant 32 : i32
  %row = arith.constant 256 : i32
  %vectors = arith.constant 1024 : i32
  %d1 = arith.constant 1 : i32
  %d2 = arith.constant 2 : i32
  %d4 = arith.constant 4 : i32
  %d8 = arith.constant 8 : i32
  %d16 = arith.constant 16 : i32
  %all = arith.constant -1 : i32
  %upper = arith.constant 32 : i64
  %sum_known = arith.constant 4294967296 : i64
  %prefix_known = arith.constant 8589934592 : i64
  %totals = llvm.mlir.addressof @totals : !llvm.ptr<3>
  %place_of_tile = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %place_of_prefix = llvm.getelementptr %place_of_tile[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %lane = arith.andi %thread, %last_lane : i32
  %warp = arith.shrui %thread, %five : i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  %is_first_warp = arith.cmpi eq, %warp, %zero : i32
  %is_last_lane = arith.cmpi eq, %lane, %last_lane : i32
  %reaches1 = arith.cmpi uge, %lane, %d1 : i32
  %reaches2 = arith.cmpi uge, %lane, %d2 : i32
  %reaches4 = arith.cmpi uge, %lane, %d4 : i32
  %reaches8 = arith.cmpi uge, %lane, %d8 : i32
  %reaches16 = arith.cmpi uge, %lane, %d16 : i32
  cf.cond_br %leads, ^draw, ^drawn
^draw:
  %ticket = scoped.atomic_rmw add relaxed agent %drawn, %one : !llvm.ptr<1>, i32
  scoped.store weak %ticket, %place_of_tile : i32, !llvm.ptr<3>
  cf.br ^drawn
^drawn:
  scoped.barrier workgroup
  %tile = scoped.load weak %place_of_tile : !llvm.ptr<3> -> i32
  %first = arith.muli %tile, %vectors : i32
  %offset1 = arith.addi %thread, %row : i32
  %offset2 = arith.addi %offset1, %row : i32
  %offset3 = arith.addi %offset2, %row : i32
  %i0 = arith.addi %first, %thread : i32
  %p0 = llvm.getelementptr %in[%i0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  %i1 = arith.addi %first, %offset1 : i32
  %p1 = llvm.getelementptr %in[%i1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  %i2 = arith.addi %first, %offset2 : i32
  %p2 = llvm.getelementptr %in[%i2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  %i3 = arith.addi %first, %offset3 : i32
  %p3 = llvm.getelementptr %in[%i3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  %v0 = scoped.load weak %p0 : !llvm.ptr<1> -> vector<4xi32>
  %v1 = scoped.load weak %p1 : !llvm.ptr<1> -> vector<4xi32>
  %v2 = scoped.load weak %p2 : !llvm.ptr<1> -> vector<4xi32>
  %v3 = scoped.load weak %p3 : !llvm.ptr<1> -> vector<4xi32>
  %x00 = vector.extract %v0[0] : i32 from vector<4xi32>
  %x01 = vector.extract %v0[1] : i32 from vector<4xi32>
  %x02 = vector.extract %v0[2] : i32 from vector<4xi32>
  %x03 = vector.extract %v0[3] : i32 from vector<4xi32>
  %s01 = arith.addi %x00, %x01 : i32
  %s02 = arith.addi %s01, %x02 : i32
  %s03 = arith.addi %s02, %x03 : i32
  %x10 = vector.extract %v1[0] : i32 from vector<4xi32>
  %x11 = vector.extract %v1[1] : i32 from vector<4xi32>
  %x12 = vector.extract %v1[2] : i32 from vector<4xi32>
  %x13 = vector.extract %v1[3] : i32 from vector<4xi32>
  %s11 = arith.addi %x10, %x11 : i32
  %s12 = arith.addi %s11, %x12 : i32
  %s13 = arith.addi %s12, %x13 : i32
  %x20 = vector.extract %v2[0] : i32 from vector<4xi32>
  %x21 = vector.extract %v2[1] : i32 from vector<4xi32>
  %x22 = vector.extract %v2[2] : i32 from vector<4xi32>
  %x23 = vector.extract %v2[3] : i32 from vector<4xi32>
  %s21 = arith.addi %x20, %x21 : i32
  %s22 = arith.addi %s21, %x22 : i32
  %s23 = arith.addi %s22, %x23 : i32
  %x30 = vector.extract %v3[0] : i32 from vector<4xi32>
  %x31 = vector.extract %v3[1] : i32 from vector<4xi32>
  %x32 = vector.extract %v3[2] : i32 from vector<4xi32>
  %x33 = vector.extract %v3[3] : i32 from vector<4xi32>
  %s31 = arith.addi %x30, %x31 : i32
  %s32 = arith.addi %s31, %x32 : i32
  %s33 = arith.addi %s32, %x33 : i32

  // Every warp's inclusive sums of its four rows, in five steps.
  %wt0_1 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %s03, %d1, %zero) : (i32, i32, i32, i32) -> i32
  %wt1_1 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %s13, %d1, %zero) : (i32, i32, i32, i32) -> i32
  %wt2_1 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %s23, %d1, %zero) : (i32, i32, i32, i32) -> i32
  %wt3_1 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %s33, %d1, %zero) : (i32, i32, i32, i32) -> i32
  %wz0_1 = arith.select %reaches1, %wt0_1, %zero : i32
  %w0_1 = arith.addi %s03, %wz0_1 : i32
  %wz1_1 = arith.select %reaches1, %wt1_1, %zero : i32
  %w1_1 = arith.addi %s13, %wz1_1 : i32
  %wz2_1 = arith.select %reaches1, %wt2_1, %zero : i32
  %w2_1 = arith.addi %s23, %wz2_1 : i32
  %wz3_1 = arith.select %reaches1, %wt3_1, %zero : i32
  %w3_1 = arith.addi %s33, %wz3_1 : i32
  %wt0_2 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w0_1, %d2, %zero) : (i32, i32, i32, i32) -> i32
  %wt1_2 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w1_1, %d2, %zero) : (i32, i32, i32, i32) -> i32
  %wt2_2 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w2_1, %d2, %zero) : (i32, i32, i32, i32) -> i32
  %wt3_2 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w3_1, %d2, %zero) : (i32, i32, i32, i32) -> i32
  %wz0_2 = arith.select %reaches2, %wt0_2, %zero : i32
  %w0_2 = arith.addi %w0_1, %wz0_2 : i32
  %wz1_2 = arith.select %reaches2, %wt1_2, %zero : i32
  %w1_2 = arith.addi %w1_1, %wz1_2 : i32
  %wz2_2 = arith.select %reaches2, %wt2_2, %zero : i32
  %w2_2 = arith.addi %w2_1, %wz2_2 : i32
  %wz3_2 = arith.select %reaches2, %wt3_2, %zero : i32
  %w3_2 = arith.addi %w3_1, %wz3_2 : i32
  %wt0_4 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w0_2, %d4, %zero) : (i32, i32, i32, i32) -> i32
  %wt1_4 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w1_2, %d4, %zero) : (i32, i32, i32, i32) -> i32
  %wt2_4 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w2_2, %d4, %zero) : (i32, i32, i32, i32) -> i32
  %wt3_4 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w3_2, %d4, %zero) : (i32, i32, i32, i32) -> i32
  %wz0_4 = arith.select %reaches4, %wt0_4, %zero : i32
  %w0_4 = arith.addi %w0_2, %wz0_4 : i32
  %wz1_4 = arith.select %reaches4, %wt1_4, %zero : i32
  %w1_4 = arith.addi %w1_2, %wz1_4 : i32
  %wz2_4 = arith.select %reaches4, %wt2_4, %zero : i32
  %w2_4 = arith.addi %w2_2, %wz2_4 : i32
  %wz3_4 = arith.select %reaches4, %wt3_4, %zero : i32
  %w3_4 = arith.addi %w3_2, %wz3_4 : i32
  %wt0_8 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w0_4, %d8, %zero) : (i32, i32, i32, i32) -> i32
  %wt1_8 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w1_4, %d8, %zero) : (i32, i32, i32, i32) -> i32
  %wt2_8 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w2_4, %d8, %zero) : (i32, i32, i32, i32) -> i32
  %wt3_8 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w3_4, %d8, %zero) : (i32, i32, i32, i32) -> i32
  %wz0_8 = arith.select %reaches8, %wt0_8, %zero : i32
  %w0_8 = arith.addi %w0_4, %wz0_8 : i32
  %wz1_8 = arith.select %reaches8, %wt1_8, %zero : i32
  %w1_8 = arith.addi %w1_4, %wz1_8 : i32
  %wz2_8 = arith.select %reaches8, %wt2_8, %zero : i32
  %w2_8 = arith.addi %w2_4, %wz2_8 : i32
  %wz3_8 = arith.select %reaches8, %wt3_8, %zero : i32
  %w3_8 = arith.addi %w3_4, %wz3_8 : i32
  %wt0_16 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w0_8, %d16, %zero) : (i32, i32, i32, i32) -> i32
  %wt1_16 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w1_8, %d16, %zero) : (i32, i32, i32, i32) -> i32
  %wt2_16 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w2_8, %d16, %zero) : (i32, i32, i32, i32) -> i32
  %wt3_16 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %w3_8, %d16, %zero) : (i32, i32, i32, i32) -> i32
  %wz0_16 = arith.select %reaches16, %wt0_16, %zero : i32
  %w0_16 = arith.addi %w0_8, %wz0_16 : i32
  %wz1_16 = arith.select %reaches16, %wt1_16, %zero : i32
  %w1_16 = arith.addi %w1_8, %wz1_16 : i32
  %wz2_16 = arith.select %reaches16, %wt2_16, %zero : i32
  %w2_16 = arith.addi %w2_8, %wz2_16 : i32
  %wz3_16 = arith.select %reaches16, %wt3_16, %zero : i32
  %w3_16 = arith.addi %w3_8, %wz3_16 : i32
  %slot1 = arith.addi %warp, %eight : i32
  %slot2 = arith.addi %slot1, %eight : i32
  %slot3 = arith.addi %slot2, %eight : i32
  %q0 = llvm.getelementptr %totals[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %q1 = llvm.getelementptr %totals[%slot1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %q2 = llvm.getelementptr %totals[%slot2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %q3 = llvm.getelementptr %totals[%slot3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  cf.cond_br %is_last_lane, ^put, ^put_all
^put:
  scoped.store weak %w0_16, %q0 : i32, !llvm.ptr<3>
  scoped.store weak %w1_16, %q1 : i32, !llvm.ptr<3>
  scoped.store weak %w2_16, %q2 : i32, !llvm.ptr<3>
  scoped.store weak %w3_16, %q3 : i32, !llvm.ptr<3>
  cf.br ^put_all
^put_all:
  scoped.barrier workgroup
  cf.cond_br %is_first_warp, ^tile_sum, ^known

// The first warp: what comes before each row of each warp within the tile, and the tile's sum.
^tile_sum:
  %place = llvm.getelementptr %totals[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %own = scoped.load weak %place : !llvm.ptr<3> -> i32
  %gt0_1 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %own, %d1, %zero) : (i32, i32, i32, i32) -> i32
  %gz0_1 = arith.select %reaches1, %gt0_1, %zero : i32
  %g0_1 = arith.addi %own, %gz0_1 : i32
  %gt0_2 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %g0_1, %d2, %zero) : (i32, i32, i32, i32) -> i32
  %gz0_2 = arith.select %reaches2, %gt0_2, %zero : i32
  %g0_2 = arith.addi %g0_1, %gz0_2 : i32
  %gt0_4 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %g0_2, %d4, %zero) : (i32, i32, i32, i32) -> i32
  %gz0_4 = arith.select %reaches4, %gt0_4, %zero : i32
  %g0_4 = arith.addi %g0_2, %gz0_4 : i32
  %gt0_8 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %g0_4, %d8, %zero) : (i32, i32, i32, i32) -> i32
  %gz0_8 = arith.select %reaches8, %gt0_8, %zero : i32
  %g0_8 = arith.addi %g0_4, %gz0_8 : i32
  %gt0_16 = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %g0_8, %d16, %zero) : (i32, i32, i32, i32) -> i32
  %gz0_16 = arith.select %reaches16, %gt0_16, %zero : i32
  %g0_16 = arith.addi %g0_8, %gz0_16 : i32
  %exclusive = arith.subi %g0_16, %own : i32
  scoped.store weak %exclusive, %place : i32, !llvm.ptr<3>
  %sum = llvm.call_intrinsic "llvm.nvvm.shfl.sync.idx.i32"(%all, %g0_16, %last_lane, %last_lane) : (i32, i32, i32, i32) -> i32
  %sum_wide = arith.extui %sum : i32 to i64
  %state = llvm.getelementptr %states[%tile] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  %is_first_tile = arith.cmpi eq, %tile, %zero : i32
  %kind = arith.select %is_first_tile, %prefix_known, %sum_known : i64
  %published = arith.ori %kind, %sum_wide : i64
  cf.cond_br %leads, ^publish, ^look
^publish:
  scoped.store relaxed agent %published, %state : i64, !llvm.ptr<1>
  cf.br ^look
^look:
  %nearest = arith.subi %tile, %one : i32
  %mine = arith.subi %nearest, %lane : i32
  cf.cond_br %is_first_tile, ^got(%zero : i32), ^window(%mine, %zero : i32, i32)

// Lane n reads the state of the n-th tile before; tiles before the first count as prefixes of 0.
^window(%at: i32, %so_far: i32):
  %exists = arith.cmpi sge, %at, %zero : i32
  %past = llvm.getelementptr %states[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  cf.br ^poll
^poll:
  cf.cond_br %exists, ^read, ^polled(%prefix_known : i64)
^read:
  %read = scoped.load relaxed agent %past : !llvm.ptr<1> -> i64
  cf.br ^polled(%read : i64)
^polled(%seen: i64):
  %high = arith.shrui %seen, %upper : i64
  %what = arith.trunci %high : i64 to i32
  %unknown = arith.cmpi eq, %what, %zero : i32
  %any_unknown = llvm.call_intrinsic "llvm.nvvm.vote.any.sync"(%all, %unknown) : (i32, i1) -> i1
  cf.cond_br %any_unknown, ^poll, ^complete
^complete:
  %number = arith.trunci %seen : i64 to i32
  %is_prefix = arith.cmpi ne, %what, %one : i32
  %prefixes = llvm.call_intrinsic "llvm.nvvm.vote.ballot.sync"(%all, %is_prefix) : (i32, i1) -> i32
  %bit = arith.shli %one, %lane : i32
  %nearer = arith.subi %bit, %one : i32
  %nearer_prefixes = arith.andi %prefixes, %nearer : i32
  %counts = arith.cmpi eq, %nearer_prefixes, %zero : i32
  %term = arith.select %counts, %number, %zero : i32
  %terms = llvm.call_intrinsic "llvm.nvvm.redux.sync.add"(%term, %all) : (i32, i32) -> i32
  %reached = arith.addi %so_far, %terms : i32
  %beyond = arith.subi %at, %lanes : i32
  %done = arith.cmpi ne, %prefixes, %zero : i32
  cf.cond_br %done, ^found, ^window(%beyond, %reached : i32, i32)
^found:
  %inclusive = arith.addi %reached, %sum : i32
  %inclusive_wide = arith.extui %inclusive : i32 to i64
  %final = arith.ori %prefix_known, %inclusive_wide : i64
  cf.cond_br %leads, ^publish_prefix, ^got(%reached : i32)
^publish_prefix:
  scoped.store relaxed agent %final, %state : i64, !llvm.ptr<1>
  cf.br ^got(%reached : i32)
^got(%prefix: i32):
  cf.cond_br %leads, ^pass_on, ^known
^pass_on:
  scoped.store weak %prefix, %place_of_prefix : i32, !llvm.ptr<3>
  cf.br ^known
^known:
  scoped.barrier workgroup
  %before = scoped.load weak %place_of_prefix : !llvm.ptr<3> -> i32
  %b0 = scoped.load weak %q0 : !llvm.ptr<3> -> i32
  %c0 = arith.subi %w0_16, %s03 : i32
  %e0 = arith.addi %b0, %c0 : i32
  %f0 = arith.addi %e0, %before : i32
  %y00 = arith.addi %f0, %x00 : i32
  %y01 = arith.addi %f0, %s01 : i32
  %y02 = arith.addi %f0, %s02 : i32
  %y03 = arith.addi %f0, %s03 : i32
  %o00 = vector.broadcast %y00 : i32 to vector<4xi32>
  %o01 = vector.insert %y01, %o00 [1] : i32 into vector<4xi32>
  %o02 = vector.insert %y02, %o01 [2] : i32 into vector<4xi32>
  %o03 = vector.insert %y03, %o02 [3] : i32 into vector<4xi32>
  %r0 = llvm.getelementptr %out[%i0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  scoped.store weak %o03, %r0 : vector<4xi32>, !llvm.ptr<1>
  %b1 = scoped.load weak %q1 : !llvm.ptr<3> -> i32
  %c1 = arith.subi %w1_16, %s13 : i32
  %e1 = arith.addi %b1, %c1 : i32
  %f1 = arith.addi %e1, %before : i32
  %y10 = arith.addi %f1, %x10 : i32
  %y11 = arith.addi %f1, %s11 : i32
  %y12 = arith.addi %f1, %s12 : i32
  %y13 = arith.addi %f1, %s13 : i32
  %o10 = vector.broadcast %y10 : i32 to vector<4xi32>
  %o11 = vector.insert %y11, %o10 [1] : i32 into vector<4xi32>
  %o12 = vector.insert %y12, %o11 [2] : i32 into vector<4xi32>
  %o13 = vector.insert %y13, %o12 [3] : i32 into vector<4xi32>
  %r1 = llvm.getelementptr %out[%i1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  scoped.store weak %o13, %r1 : vector<4xi32>, !llvm.ptr<1>
  %b2 = scoped.load weak %q2 : !llvm.ptr<3> -> i32
  %c2 = arith.subi %w2_16, %s23 : i32
  %e2 = arith.addi %b2, %c2 : i32
  %f2 = arith.addi %e2, %before : i32
  %y20 = arith.addi %f2, %x20 : i32
  %y21 = arith.addi %f2, %s21 : i32
  %y22 = arith.addi %f2, %s22 : i32
  %y23 = arith.addi %f2, %s23 : i32
  %o20 = vector.broadcast %y20 : i32 to vector<4xi32>
  %o21 = vector.insert %y21, %o20 [1] : i32 into vector<4xi32>
  %o22 = vector.insert %y22, %o21 [2] : i32 into vector<4xi32>
  %o23 = vector.insert %y23, %o22 [3] : i32 into vector<4xi32>
  %r2 = llvm.getelementptr %out[%i2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  scoped.store weak %o23, %r2 : vector<4xi32>, !llvm.ptr<1>
  %b3 = scoped.load weak %q3 : !llvm.ptr<3> -> i32
  %c3 = arith.subi %w3_16, %s33 : i32
  %e3 = arith.addi %b3, %c3 : i32
  %f3 = arith.addi %e3, %before : i32
  %y30 = arith.addi %f3, %x30 : i32
  %y31 = arith.addi %f3, %s31 : i32
  %y32 = arith.addi %f3, %s32 : i32
  %y33 = arith.addi %f3, %s33 : i32
  %o30 = vector.broadcast %y30 : i32 to vector<4xi32>
  %o31 = vector.insert %y31, %o30 [1] : i32 into vector<4xi32>
  %o32 = vector.insert %y32, %o31 [2] : i32 into vector<4xi32>
  %o33 = vector.insert %y33, %o32 [3] : i32 into vector<4xi32>
  %r3 = llvm.getelementptr %out[%i3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  scoped.store weak %o33, %r3 : vector<4xi32>, !llvm.ptr<1>
  func.return
}
