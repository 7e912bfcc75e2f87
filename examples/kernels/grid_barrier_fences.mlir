// grid_barrier.mlir as it is written with relaxed atomics and full fences: one in front of the
// addition that counts a work-group in, one behind the last poll.
//
// Launch: work-groups of 256 threads, all of them resident; count 0, slots 2 x work-groups.

func.func @grid_barrier(%count: !llvm.ptr<1>, %slots: !llvm.ptr<1>, %out: !llvm.ptr<1>,
                        %rounds: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %threads = arith.constant 256 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %bid = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %bid : index to i32
  %size = "gpu.grid_dim"() {dimension = #gpu<dim x>} : () -> index
  %groups = arith.index_cast %size : index to i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  %after = arith.addi %group, %one : i32
  %wraps = arith.cmpi eq, %after, %groups : i32
  %neighbour = arith.select %wraps, %zero, %after : i32
  cf.br ^round(%zero, %zero, %groups : i32, i32, i32)
^round(%round: i32, %sum: i32, %goal: i32):
  %more = arith.cmpi ult, %round, %rounds : i32
  cf.cond_br %more, ^body, ^end(%sum : i32)
^body:
  %parity = arith.andi %round, %one : i32
  %base = arith.muli %parity, %groups : i32
  %slot = llvm.getelementptr %slots[%base] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %own = llvm.getelementptr %slot[%group] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %other = llvm.getelementptr %slot[%neighbour] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %last = arith.subi %threads, %one : i32
  %writes = arith.cmpi eq, %thread, %last : i32
  cf.cond_br %writes, ^write, ^arrive
^write:
  scoped.store weak %round, %own : i32, !llvm.ptr<1>
  cf.br ^arrive
^arrive:
  scoped.barrier workgroup
  cf.cond_br %leads, ^count, ^passed
^count:
  scoped.fence acq_rel agent
  %counted = scoped.atomic_rmw add relaxed agent %count, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %seen = scoped.load relaxed agent %count : !llvm.ptr<1> -> i32
  %wait = arith.cmpi ult, %seen, %goal : i32
  cf.cond_br %wait, ^spin, ^all
^all:
  scoped.fence acq_rel agent
  cf.br ^passed
^passed:
  scoped.barrier workgroup
  %word = scoped.load weak %other : !llvm.ptr<1> -> i32
  %added = arith.addi %sum, %word : i32
  %following = arith.addi %round, %one : i32
  %further = arith.addi %goal, %groups : i32
  cf.br ^round(%following, %added, %further : i32, i32, i32)
^end(%total: i32):
  %first = arith.muli %group, %threads : i32
  %index = arith.addi %first, %thread : i32
  %place = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %total, %place : i32, !llvm.ptr<1>
  func.return
}
