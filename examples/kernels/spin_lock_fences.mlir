// spin_lock.mlir as it is written with relaxed atomics and full fences: one behind the exchange
// that takes the lock, one in front of the store that gives it back.
//
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
  %held = scoped.atomic_rmw xchg relaxed agent %lock, %one : !llvm.ptr<1>, i32
  %taken = arith.cmpi ne, %held, %zero : i32
  cf.cond_br %taken, ^spin, ^mine
^mine:
  scoped.fence acq_rel agent
  cf.br ^inside
^inside:
  scoped.barrier workgroup
  %old = scoped.load weak %word : !llvm.ptr<1> -> i32
  %new = arith.addi %old, %one : i32
  scoped.store weak %new, %word : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %leads, ^unlock, ^next
^unlock:
  scoped.fence acq_rel agent
  scoped.store relaxed agent %zero, %lock : i32, !llvm.ptr<1>
  cf.br ^next
^next:
  %following = arith.addi %round, %one : i32
  cf.br ^round(%following : i32)
^end:
  func.return
}
