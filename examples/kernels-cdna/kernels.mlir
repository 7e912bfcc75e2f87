// Eighteen kernels that synchronise, each the smallest of its kind; kernels.ll has them in LLVM IR.

llvm.mlir.global external @lds() {addr_space = 3 : i32} : i32
llvm.mlir.global external @ldsflag() {addr_space = 3 : i32} : i32

// Message passing, producer: stores and a release of the flag in every iteration.
func.func @mp_producer(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %far = llvm.getelementptr %d[300] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  scoped.store weak %i, %d : i32, !llvm.ptr<1>
  scoped.store weak %one, %far : i32, !llvm.ptr<1>
  %next = arith.addi %i, %one : i32
  scoped.store release agent %next, %f : i32, !llvm.ptr<1>
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^done
^done:
  func.return
}

// Consumer: spins on an acquire load, then reads.
func.func @mp_consumer_acquire_load(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^spin, ^go
^go:
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// Consumer: spins on a relaxed load, then an acquire fence.
func.func @mp_consumer_fence(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %v = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^spin, ^go
^go:
  scoped.fence acquire agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// A spin lock around loads and stores.
func.func @spin_lock(%l : !llvm.ptr<1>, %d : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^spin
^spin:
  %old, %ok = scoped.cmpxchg acquire relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %ok, ^critical, ^spin
^critical:
  %e = llvm.getelementptr %d[100] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %v0 = scoped.load weak %d : !llvm.ptr<1> -> i32
  %v1 = scoped.load weak %e : !llvm.ptr<1> -> i32
  %w0 = arith.addi %v0, %one : i32
  %w1 = arith.addi %v1, %one : i32
  scoped.store weak %w0, %d : i32, !llvm.ptr<1>
  scoped.store weak %w1, %e : i32, !llvm.ptr<1>
  scoped.store release agent %zero, %l : i32, !llvm.ptr<1>
  func.return
}

// Decoupled look-back: publish a partial sum, add up what precedes, publish the inclusive sum.
func.func @look_back(%sums : !llvm.ptr<1>, %flags : !llvm.ptr<1>, %partial : i32, %i : i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %back = arith.constant -1 : i64
  %mine = llvm.getelementptr %sums[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  %flag = llvm.getelementptr %flags[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  scoped.store weak %partial, %mine : i32, !llvm.ptr<1>
  scoped.store release agent %one, %flag : i32, !llvm.ptr<1>
  cf.br ^step(%i, %partial : i64, i32)
^step(%j : i64, %sum : i32):
  %k = arith.addi %j, %back : i64
  %its_flag = llvm.getelementptr %flags[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  %its_sum = llvm.getelementptr %sums[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  %state = scoped.load acquire agent %its_flag : !llvm.ptr<1> -> i32
  %x = scoped.load weak %its_sum : !llvm.ptr<1> -> i32
  %total = arith.addi %sum, %x : i32
  %whole = arith.cmpi eq, %state, %two : i32
  cf.cond_br %whole, ^publish, ^step(%k, %total : i64, i32)
^publish:
  scoped.store weak %total, %mine : i32, !llvm.ptr<1>
  scoped.store release agent %two, %flag : i32, !llvm.ptr<1>
  func.return
}

// A grid barrier: every wave releases, one of the work-group arrives and waits, all acquire.
func.func @grid_barrier(%d : !llvm.ptr<1>, %c : !llvm.ptr<1>, %n : i32, %leads : i32) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scoped.store weak %one, %d : i32, !llvm.ptr<1>
  scoped.fence release agent
  scoped.barrier workgroup
  %leader = arith.cmpi ne, %leads, %zero : i32
  cf.cond_br %leader, ^arrive, ^join
^arrive:
  %before = scoped.atomic_rmw add release agent %c, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %arrived = scoped.load acquire agent %c : !llvm.ptr<1> -> i32
  %waiting = arith.cmpi ult, %arrived, %n : i32
  cf.cond_br %waiting, ^spin, ^join
^join:
  scoped.barrier workgroup
  scoped.fence acquire agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  %y = arith.addi %x, %one : i32
  scoped.store weak %y, %d : i32, !llvm.ptr<1>
  func.return
}

// Two release fences in a row.
func.func @two_release_fences(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %d : i32, !llvm.ptr<1>
  scoped.fence release agent
  scoped.fence release agent
  scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// Two release stores in a row.
func.func @two_release_stores(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %g : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %d : i32, !llvm.ptr<1>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  scoped.store release agent %one, %g : i32, !llvm.ptr<1>
  func.return
}

// A release fence after LDS accesses only.
func.func @release_after_lds(%f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.fence release agent
  scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// An acquire load, then an acquire fence.
func.func @acquire_load_and_fence(%f : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  %y = arith.addi %x, %v : i32
  scoped.store weak %y, %o : i32, !llvm.ptr<1>
  func.return
}

// Message passing in LDS.
func.func @mp_in_lds(%leads : i32, %o : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %f = llvm.mlir.addressof @ldsflag : !llvm.ptr<3>
  %leader = arith.cmpi ne, %leads, %zero : i32
  cf.cond_br %leader, ^produce, ^spin
^produce:
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.store release workgroup %one, %f : i32, !llvm.ptr<3>
  func.return
^spin:
  %v = scoped.load acquire workgroup %f : !llvm.ptr<3> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^spin, ^go
^go:
  %x = scoped.load weak %s : !llvm.ptr<3> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// Dekker: a seq_cst store, then a seq_cst load.
func.func @dekker(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store seq_cst agent %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  scoped.store weak %v, %o : i32, !llvm.ptr<1>
  func.return
}

// An acq_rel read-modify-write in every iteration.
func.func @acq_rel_rmw_loop(%c : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %old = scoped.atomic_rmw add acq_rel agent %c, %one : !llvm.ptr<1>, i32
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^done
^done:
  func.return
}

// A release fence at the start of a kernel.
func.func @release_at_entry(%f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.fence release agent
  scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// A relaxed load of a flag, two loads that prefetch, an acquire fence.
func.func @fence_after_prefetch(%f : !llvm.ptr<1>, %w : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %w1 = llvm.getelementptr %w[1024] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %v = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %x0 = scoped.load weak %w : !llvm.ptr<1> -> i32
  %x1 = scoped.load weak %w1 : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %s0 = arith.addi %x0, %x1 : i32
  %s1 = arith.addi %s0, %y : i32
  %s2 = arith.addi %s1, %v : i32
  scoped.store weak %s2, %o : i32, !llvm.ptr<1>
  func.return
}

// A plain store, then a seq_cst load.
func.func @store_then_seq_cst_load(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  scoped.store weak %v, %o : i32, !llvm.ptr<1>
  func.return
}

// An acquire load, then a read-modify-write and nothing else.
func.func @acquire_then_rmw(%f : !llvm.ptr<1>, %c : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %old = scoped.atomic_rmw add relaxed agent %c, %v : !llvm.ptr<1>, i32
  func.return
}

// A seq_cst read-modify-write between seq_cst fences.
func.func @fenced_rmw(%d : !llvm.ptr<1>, %c : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %o : i32, !llvm.ptr<1>
  scoped.fence seq_cst agent
  %old = scoped.atomic_rmw add seq_cst agent %c, %one : !llvm.ptr<1>, i32
  scoped.fence seq_cst agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}
