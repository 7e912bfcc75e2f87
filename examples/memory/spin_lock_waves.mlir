// A test-and-set lock, as examples/kernels/spin_lock.mlir, where a wave of 64 lanes branches as a
// whole. The first lane takes the lock, lock[0]; the other lanes of its wave do the same with
// words of their own, lock[1] to lock[63]. What the first lane got all threads read from shared memory.
//
// Launch: any number of work-groups of 128 threads; 64 words of lock, 0.

llvm.mlir.global internal @held() {addr_space = 3 : i32} : !llvm.array<64 x i32>

func.func @spin_lock_waves(%lock: !llvm.ptr<1>, %data: !llvm.ptr<1>, %rounds: i32)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane_bits = arith.constant 6 : i32
  %last_lane = arith.constant 63 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %lane = arith.andi %thread, %last_lane : i32
  %leads = arith.cmpi eq, %wave, %zero : i32
  %first = llvm.mlir.addressof @held : !llvm.ptr<3>
  %own = llvm.getelementptr %first[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %taken_by = llvm.getelementptr %lock[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word = llvm.getelementptr %data[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  cf.br ^round(%zero : i32)
^round(%round: i32):
  %more = arith.cmpi ult, %round, %rounds : i32
  cf.cond_br %more, ^spin, ^end
^spin:
  cf.cond_br %leads, ^try, ^tried
^try:
  %before = scoped.atomic_rmw xchg acquire agent %taken_by, %one : !llvm.ptr<1>, i32
  scoped.store weak %before, %own : i32, !llvm.ptr<3>
  cf.br ^tried
^tried:
  scoped.barrier workgroup
  %held = scoped.load weak %first : !llvm.ptr<3> -> i32
  scoped.barrier workgroup
  %taken = arith.cmpi ne, %held, %zero : i32
  cf.cond_br %taken, ^spin, ^inside
^inside:
  %old = scoped.load weak %word : !llvm.ptr<1> -> i32
  %new = arith.addi %old, %one : i32
  scoped.store weak %new, %word : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %leads, ^unlock, ^next
^unlock:
  scoped.store release agent %zero, %taken_by : i32, !llvm.ptr<1>
  cf.br ^next
^next:
  %following = arith.addi %round, %one : i32
  cf.br ^round(%following : i32)
^end:
  func.return
}
