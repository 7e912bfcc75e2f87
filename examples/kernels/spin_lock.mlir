// A test-and-set lock: thread 0 of each work-group takes it, all 128 threads add to the words
// that it guards, thread 0 gives it back.
//
// The exchange acquires and the store releases, at agent scope: whoever gets the lock sees what
// its last owner wrote, the other threads' words too, since the barriers order them.
// Launch: any number of work-groups of 128 threads; lock 0.

func.func @spin_lock(%lock: !llvm.ptr<1>, %data: !llvm.ptr<1>, %rounds: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  %word = llvm.getelementptr %data[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  cf.br ^round(%zero : i32)
^round(%round: i32):
  %more = arith.cmpi ult, %round, %rounds : i32
  cf.cond_br %more, ^enter, ^end
^enter:
  cf.cond_br %leads, ^spin, ^inside
^spin:
  %held = scoped.atomic_rmw xchg acquire agent %lock, %one : !llvm.ptr<1>, i32
  %taken = arith.cmpi ne, %held, %zero : i32
  cf.cond_br %taken, ^spin, ^inside
^inside:
  scoped.barrier workgroup
  %old = scoped.load weak %word : !llvm.ptr<1> -> i32
  %new = arith.addi %old, %one : i32
  scoped.store weak %new, %word : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %leads, ^unlock, ^next
^unlock:
  scoped.store release agent %zero, %lock : i32, !llvm.ptr<1>
  cf.br ^next
^next:
  %following = arith.addi %round, %one : i32
  cf.br ^round(%following : i32)
^end:
  func.return
}
