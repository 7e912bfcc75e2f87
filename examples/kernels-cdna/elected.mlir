// Kernels of work-groups of four waves that all release before one of them publishes, as elected.ll
// has them. A branch here is of a whole wave, so that its 64 lanes count together.

llvm.mlir.global external @last() {addr_space = 3 : i32} : i32

// A grid barrier after __threadfence() of every thread.
func.func @grid_barrier(%slots: !llvm.ptr<1>, %count: !llvm.ptr<1>, %goal: i32)
    attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane_bits = arith.constant 6 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %own = llvm.getelementptr %slots[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %thread, %own : i32, !llvm.ptr<1>
  scoped.fence seq_cst agent
  scoped.barrier workgroup
  %leads = arith.cmpi eq, %wave, %zero : i32
  cf.cond_br %leads, ^arrive, ^join
^arrive:
  %before = scoped.atomic_rmw add relaxed agent %count, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %arrived = scoped.load relaxed agent %count : !llvm.ptr<1> -> i32
  %waits = arith.cmpi ult, %arrived, %goal : i32
  cf.cond_br %waits, ^spin, ^join
^join:
  scoped.barrier workgroup
  scoped.fence acquire agent
  %x = scoped.load weak %slots : !llvm.ptr<1> -> i32
  scoped.store weak %x, %own : i32, !llvm.ptr<1>
  func.return
}

// Split-K: the tile is stored, and its semaphore handed on.
func.func @split_k_semaphore(%tile: !llvm.ptr<1>, %semaphore: !llvm.ptr<1>, %turn: i32)
    attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %lane_bits = arith.constant 6 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %own = llvm.getelementptr %tile[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %turn, %own : i32, !llvm.ptr<1>
  scoped.fence release agent
  scoped.barrier workgroup
  %leads = arith.cmpi eq, %wave, %zero : i32
  cf.cond_br %leads, ^hand_on, ^after
^hand_on:
  scoped.store relaxed agent %turn, %semaphore : i32, !llvm.ptr<1>
  cf.br ^after
^after:
  func.return
}

// A tile of a GEMM all-reduce: every thread releases to the system, one signals the other GPUs.
func.func @signal_all_reduce(%tile: !llvm.ptr<1>, %signal: !llvm.ptr<1>, %value: i32)
    attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane_bits = arith.constant 6 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %own = llvm.getelementptr %tile[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %value, %own : i32, !llvm.ptr<1>
  scoped.fence acq_rel system
  scoped.barrier workgroup
  %leads = arith.cmpi eq, %wave, %zero : i32
  cf.cond_br %leads, ^signal, ^after
^signal:
  %before = scoped.atomic_rmw add release system %signal, %one : !llvm.ptr<1>, i32
  cf.br ^after
^after:
  func.return
}

// A reduction whose last work-group adds up what all have stored.
func.func @last_block(%sums: !llvm.ptr<1>, %count: !llvm.ptr<1>, %goal: i32)
    attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane_bits = arith.constant 6 : i32
  %last = llvm.mlir.addressof @last : !llvm.ptr<3>
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %tid : index to i32
  %wave = arith.shrui %thread, %lane_bits : i32
  %own = llvm.getelementptr %sums[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %thread, %own : i32, !llvm.ptr<1>
  scoped.fence seq_cst agent
  scoped.barrier workgroup
  %leads = arith.cmpi eq, %wave, %zero : i32
  cf.cond_br %leads, ^draw, ^drawn
^draw:
  %ticket = scoped.atomic_rmw add relaxed agent %count, %one : !llvm.ptr<1>, i32
  scoped.store weak %ticket, %last : i32, !llvm.ptr<3>
  cf.br ^drawn
^drawn:
  scoped.barrier workgroup
  %drawn = scoped.load weak %last : !llvm.ptr<3> -> i32
  %is_last = arith.cmpi eq, %drawn, %goal : i32
  cf.cond_br %is_last, ^add, ^end
^add:
  scoped.fence seq_cst agent
  %x = scoped.load weak %sums : !llvm.ptr<1> -> i32
  scoped.store weak %x, %own : i32, !llvm.ptr<1>
  cf.br ^end
^end:
  func.return
}
