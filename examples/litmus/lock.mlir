// Two threads add 1 under a spin lock. Acquiring takes the lock with a compare-exchange,
// releasing is a store; no addition is lost.

litmus.test @lock {
  litmus.location @count = 0 : i32
  litmus.location @lock = 0 : i32
  litmus.thread @P0 runs @add_under_lock(@count, @lock)
  litmus.thread @P1 runs @add_under_lock(@count, @lock)
  litmus.condition "forall (count = 2 and lock = 0)"
}

func.func @add_under_lock(%count: !llvm.ptr<1>, %lock: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
  %free = arith.constant 0 : i32
  %taken = arith.constant 1 : i32
  cf.br ^spin
^spin:
  %old, %won = scoped.cmpxchg acquire relaxed agent %lock, %free, %taken : !llvm.ptr<1>, i32
  cf.cond_br %won, ^critical, ^spin
^critical:
  %before = scoped.load weak %count : !llvm.ptr<1> -> i32
  %after = arith.addi %before, %taken : i32
  scoped.store weak %after, %count : i32, !llvm.ptr<1>
  scoped.store release agent %free, %lock : i32, !llvm.ptr<1>
  func.return
}
