// CUDA core -> tcgen05, write after read: tensor memory that was loaded is overwritten by the
// next multiplication. As after a store, with tcgen05.wait::ld.
//
// fence-opt --mcpu sm_100a -t asm examples/async/tmem_war_core_to_tcgen05.mlir

llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tmem_war_core_to_tcgen05(
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
  %sum = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32
  cf.cond_br %leader, ^arrive, ^arrive_done
^arrive:
  scoped.mbarrier_arrive relaxed cluster %full : !llvm.ptr<3>
  cf.br ^arrive_done
^arrive_done:
  scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  cf.br ^multiply_done
^multiply_done:
  scoped.store weak %sum, %out : i32, !llvm.ptr<1>
  func.return
}
