// ticket_lock.mlir as it is written with relaxed atomics and full fences: one behind the last poll,
// one in front of the store that serves the next ticket.
//
// Launch: any number of work-groups of 128 threads, all of them resident; next and serving 0.

func.func @ticket_lock(%next: !llvm.ptr<1>, %serving: !llvm.ptr<1>, %data: !llvm.ptr<1>,
                       %rounds: i32)
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
  cf.cond_br %leads, ^draw, ^inside(%zero : i32)
^draw:
  %ticket = scoped.atomic_rmw add relaxed agent %next, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %served = scoped.load relaxed agent %serving : !llvm.ptr<1> -> i32
  %wait = arith.cmpi ne, %served, %ticket : i32
  cf.cond_br %wait, ^spin, ^acquire
^acquire:
  scoped.fence acq_rel agent
  cf.br ^inside(%ticket : i32)
^inside(%mine: i32):
  scoped.barrier workgroup
  %old = scoped.load weak %word : !llvm.ptr<1> -> i32
  %new = arith.addi %old, %one : i32
  scoped.store weak %new, %word : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %leads, ^unlock, ^next
^unlock:
  %after = arith.addi %mine, %one : i32
  scoped.fence acq_rel agent
  scoped.store relaxed agent %after, %serving : i32, !llvm.ptr<1>
  cf.br ^next
^next:
  %following = arith.addi %round, %one : i32
  cf.br ^round(%following : i32)
^end:
  func.return
}
