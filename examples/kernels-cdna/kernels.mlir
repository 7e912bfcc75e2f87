// Eighteen kernels that synchronise, each the smallest of its kind; kernels.ll has them in LLVM IR.
// Every pointer is to one word, so that litmus tests can run them.

// Message passing, producer: stores and a release of the flag in every iteration.
func.func @mp_producer(%d : !llvm.ptr<1>, %e : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  scoped.store weak %i, %d : i32, !llvm.ptr<1>
  scoped.store weak %one, %e : i32, !llvm.ptr<1>
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
func.func @spin_lock(%l : !llvm.ptr<1>, %d : !llvm.ptr<1>, %e : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^spin
^spin:
  %old, %ok = scoped.cmpxchg acquire relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %ok, ^critical, ^spin
^critical:
  %v0 = scoped.load weak %d : !llvm.ptr<1> -> i32
  %v1 = scoped.load weak %e : !llvm.ptr<1> -> i32
  %w0 = arith.addi %v0, %one : i32
  %w1 = arith.addi %v1, %one : i32
  scoped.store weak %w0, %d : i32, !llvm.ptr<1>
  scoped.store weak %w1, %e : i32, !llvm.ptr<1>
  scoped.store release agent %zero, %l : i32, !llvm.ptr<1>
  func.return
}

// Decoupled look-back at one tile: publish a partial sum, add up what precedes it, publish that.
func.func @look_back(%p : !llvm.ptr<1>, %c : !llvm.ptr<1>, %f : !llvm.ptr<1>, %its_p : !llvm.ptr<1>, %its_c : !llvm.ptr<1>, %its_f : !llvm.ptr<1>, %partial : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  scoped.store weak %partial, %p : i32, !llvm.ptr<1>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  cf.br ^look
^look:
  %state = scoped.load acquire agent %its_f : !llvm.ptr<1> -> i32
  %some = arith.cmpi ne, %state, %zero : i32
  cf.cond_br %some, ^add, ^look
^add:
  %x = scoped.load weak %its_p : !llvm.ptr<1> -> i32
  %whole = arith.cmpi eq, %state, %two : i32
  cf.cond_br %whole, ^publish, ^look
^publish:
  %y = scoped.load weak %its_c : !llvm.ptr<1> -> i32
  %before = arith.addi %x, %y : i32
  scoped.store weak %before, %c : i32, !llvm.ptr<1>
  scoped.store release agent %two, %f : i32, !llvm.ptr<1>
  func.return
}

// A grid barrier: every wave releases, one of the work-group arrives and waits, all acquire.
func.func @grid_barrier(%d : !llvm.ptr<1>, %e : !llvm.ptr<1>, %c : !llvm.ptr<1>, %n : i32, %leads : i32, %o : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
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
  %x = scoped.load weak %e : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
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
func.func @release_after_lds(%s : !llvm.ptr<3>, %f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.fence release agent
  scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// An acquire load, then an acquire fence, then data if there is any.
func.func @acquire_load_and_fence(%f : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %some = arith.cmpi ne, %v, %zero : i32
  cf.cond_br %some, ^go, ^done
^go:
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  %y = arith.addi %x, %v : i32
  scoped.store weak %y, %o : i32, !llvm.ptr<1>
  func.return
^done:
  func.return
}

// Message passing in LDS.
func.func @mp_in_lds(%s : !llvm.ptr<3>, %f : !llvm.ptr<3>, %leads : i32, %o : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
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

// A relaxed load of a flag, two loads that prefetch, an acquire fence, then data if there is any.
func.func @fence_after_prefetch(%f : !llvm.ptr<1>, %w : !llvm.ptr<1>, %w1 : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  %v = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %x0 = scoped.load weak %w : !llvm.ptr<1> -> i32
  %x1 = scoped.load weak %w1 : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %some = arith.cmpi ne, %v, %zero : i32
  cf.cond_br %some, ^go, ^done
^go:
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %s0 = arith.addi %x0, %x1 : i32
  %s1 = arith.addi %s0, %y : i32
  %s2 = arith.addi %s1, %v : i32
  scoped.store weak %s2, %o : i32, !llvm.ptr<1>
  func.return
^done:
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
