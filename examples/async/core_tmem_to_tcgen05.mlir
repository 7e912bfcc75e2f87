// CUDA core -> tcgen05 through tensor memory. tcgen05.st is waited for, and the tensor fences
// stand around a synchronisation that may be relaxed: tensor memory has an order of its own.
//
// fence-opt --mcpu sm_100a -t asm examples/async/core_tmem_to_tcgen05.mlir

llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @core_tmem_to_tcgen05(
    %v: i32, %tmem: !llvm.ptr<6>, %a: i64, %b: i64, %descriptor: i32, %accumulate: i1
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
  scoped.tcgen05_store %v, %tmem : i32, !llvm.ptr<6>
  cf.cond_br %leader, ^arrive, ^arrive_done
^arrive:
  scoped.mbarrier_arrive relaxed cluster %full : !llvm.ptr<3>
  cf.br ^arrive_done
^arrive_done:
  scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  scoped.tcgen05_commit %full : !llvm.ptr<3>
  cf.br ^multiply_done
^multiply_done:
  func.return
}
