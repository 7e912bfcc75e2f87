// tcgen05 -> CUDA core. The commit arrives when the multiplication is done, and is the fence
// before the synchronisation; the reader takes tcgen05.fence::after_thread_sync after its wait,
// which may be relaxed.
//
// fence-opt --mcpu sm_100a -t asm examples/async/tcgen05_to_core.mlir

llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tcgen05_to_core(
    %out: !llvm.ptr<1>, %tmem: !llvm.ptr<6>, %a: i64, %b: i64, %descriptor: i32, %accumulate: i1
) attributes {gpu.kernel} {
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %parity = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.barrier workgroup
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  scoped.tcgen05_commit %full : !llvm.ptr<3>
  cf.br ^multiply_done
^multiply_done:
  scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
  %sum = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32
  scoped.store weak %sum, %out : i32, !llvm.ptr<1>
  func.return
}
