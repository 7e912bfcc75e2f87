// A warp-specialised pipeline: one thread copies tiles of 8 KB into LDS (shared memory) by bulk
// copies, four stages deep; 128 others add them up.
//
// full: the copy of a stage has arrived; its one arrival also says how many bytes to expect.
// empty: all 128 readers are done with a stage. A wait acquires what the arrivals released. A
// fresh mbarrier passes a wait for parity 1, so that the first copies need not wait.
// Launch: any number of work-groups of 160 threads; each has 16 tiles of in of its own, and
// reads them again until it has read as many as tiles says.

llvm.mlir.global internal @stages() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<8192 x i32>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : !llvm.array<4 x i64>
llvm.mlir.global internal @empty() {addr_space = 3 : i32} : !llvm.array<4 x i64>

func.func @mbarrier_pipeline(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tiles: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 160, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %last_stage = arith.constant 3 : i32
  %last_tile = arith.constant 15 : i32
  %readers = arith.constant 128 : i32
  %tile_words = arith.constant 2048 : i32
  %slab_words = arith.constant 32768 : i32
  %stages = llvm.mlir.addressof @stages : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %empty = llvm.mlir.addressof @empty : !llvm.ptr<3>
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %bid = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %bid : index to i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  cf.cond_br %leads, ^init, ^ready
^init:
  %full0 = llvm.getelementptr %full[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %empty0 = llvm.getelementptr %empty[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  scoped.mbarrier_init %full0 count 1 : !llvm.ptr<3>
  scoped.mbarrier_init %empty0 count 128 : !llvm.ptr<3>
  %full1 = llvm.getelementptr %full[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %empty1 = llvm.getelementptr %empty[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  scoped.mbarrier_init %full1 count 1 : !llvm.ptr<3>
  scoped.mbarrier_init %empty1 count 128 : !llvm.ptr<3>
  %full2 = llvm.getelementptr %full[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %empty2 = llvm.getelementptr %empty[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  scoped.mbarrier_init %full2 count 1 : !llvm.ptr<3>
  scoped.mbarrier_init %empty2 count 128 : !llvm.ptr<3>
  %full3 = llvm.getelementptr %full[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %empty3 = llvm.getelementptr %empty[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  scoped.mbarrier_init %full3 count 1 : !llvm.ptr<3>
  scoped.mbarrier_init %empty3 count 128 : !llvm.ptr<3>
  cf.br ^ready
^ready:
  scoped.barrier workgroup
  %copies = arith.cmpi uge, %thread, %readers : i32
  cf.cond_br %copies, ^copier, ^reader(%zero, %zero : i32, i32)

^copier:
  %issues = arith.cmpi eq, %thread, %readers : i32
  %slab = arith.muli %group, %slab_words : i32
  %source = llvm.getelementptr %in[%slab] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  cf.cond_br %issues, ^copy(%zero : i32), ^end
^copy(%n: i32):
  %more = arith.cmpi ult, %n, %tiles : i32
  cf.cond_br %more, ^fill, ^end
^fill:
  %stage = arith.andi %n, %last_stage : i32
  %use = arith.shrui %n, %two : i32
  %this = arith.andi %use, %one : i32
  %before = arith.xori %this, %one : i32
  %is_full = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %is_empty = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %to_words = arith.muli %stage, %tile_words : i32
  %to = llvm.getelementptr %stages[%to_words] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %tile = arith.andi %n, %last_tile : i32
  %from_words = arith.muli %tile, %tile_words : i32
  %from = llvm.getelementptr %source[%from_words] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.mbarrier_wait acquire workgroup %is_empty, %before : !llvm.ptr<3>, i32
  scoped.mbarrier_arrive release workgroup %is_full expect_tx 8192 : !llvm.ptr<3>
  scoped.bulk_copy %to, %from size 8192 mbarrier %is_full : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  %n_next = arith.addi %n, %one : i32
  cf.br ^copy(%n_next : i32)

^reader(%m: i32, %so_far: i32):
  %left = arith.cmpi ult, %m, %tiles : i32
  cf.cond_br %left, ^read, ^write
^read:
  %from_stage = arith.andi %m, %last_stage : i32
  %turn = arith.shrui %m, %two : i32
  %parity = arith.andi %turn, %one : i32
  %has_arrived = llvm.getelementptr %full[%from_stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %is_done = llvm.getelementptr %empty[%from_stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %stage_words = arith.muli %from_stage, %tile_words : i32
  %base = llvm.getelementptr %stages[%stage_words] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %mine = llvm.getelementptr %base[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
  scoped.mbarrier_wait acquire workgroup %has_arrived, %parity : !llvm.ptr<3>, i32
  %p0 = llvm.getelementptr %mine[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, vector<4xi32>
  %p1 = llvm.getelementptr %mine[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, vector<4xi32>
  %p2 = llvm.getelementptr %mine[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, vector<4xi32>
  %p3 = llvm.getelementptr %mine[384] : (!llvm.ptr<3>) -> !llvm.ptr<3>, vector<4xi32>
  %v0 = scoped.load weak %p0 : !llvm.ptr<3> -> vector<4xi32>
  %v1 = scoped.load weak %p1 : !llvm.ptr<3> -> vector<4xi32>
  %v2 = scoped.load weak %p2 : !llvm.ptr<3> -> vector<4xi32>
  %v3 = scoped.load weak %p3 : !llvm.ptr<3> -> vector<4xi32>
  %x00 = vector.extract %v0[0] : i32 from vector<4xi32>
  %x01 = vector.extract %v0[1] : i32 from vector<4xi32>
  %x02 = vector.extract %v0[2] : i32 from vector<4xi32>
  %x03 = vector.extract %v0[3] : i32 from vector<4xi32>
  %a0 = arith.addi %x00, %x01 : i32
  %b0 = arith.addi %x02, %x03 : i32
  %c0 = arith.addi %a0, %b0 : i32
  %x10 = vector.extract %v1[0] : i32 from vector<4xi32>
  %x11 = vector.extract %v1[1] : i32 from vector<4xi32>
  %x12 = vector.extract %v1[2] : i32 from vector<4xi32>
  %x13 = vector.extract %v1[3] : i32 from vector<4xi32>
  %a1 = arith.addi %x10, %x11 : i32
  %b1 = arith.addi %x12, %x13 : i32
  %c1 = arith.addi %a1, %b1 : i32
  %x20 = vector.extract %v2[0] : i32 from vector<4xi32>
  %x21 = vector.extract %v2[1] : i32 from vector<4xi32>
  %x22 = vector.extract %v2[2] : i32 from vector<4xi32>
  %x23 = vector.extract %v2[3] : i32 from vector<4xi32>
  %a2 = arith.addi %x20, %x21 : i32
  %b2 = arith.addi %x22, %x23 : i32
  %c2 = arith.addi %a2, %b2 : i32
  %x30 = vector.extract %v3[0] : i32 from vector<4xi32>
  %x31 = vector.extract %v3[1] : i32 from vector<4xi32>
  %x32 = vector.extract %v3[2] : i32 from vector<4xi32>
  %x33 = vector.extract %v3[3] : i32 from vector<4xi32>
  %a3 = arith.addi %x30, %x31 : i32
  %b3 = arith.addi %x32, %x33 : i32
  %c3 = arith.addi %a3, %b3 : i32
  %d0 = arith.addi %c0, %c1 : i32
  %d1 = arith.addi %c2, %c3 : i32
  %d = arith.addi %d0, %d1 : i32
  scoped.mbarrier_arrive release workgroup %is_done : !llvm.ptr<3>
  %sum = arith.addi %so_far, %d : i32
  %m_next = arith.addi %m, %one : i32
  cf.br ^reader(%m_next, %sum : i32, i32)
^write:
  %row = arith.muli %group, %readers : i32
  %index = arith.addi %row, %thread : i32
  %place = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %so_far, %place : i32, !llvm.ptr<1>
  cf.br ^end
^end:
  func.return
}
