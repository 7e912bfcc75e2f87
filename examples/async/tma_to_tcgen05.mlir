// TMA -> tcgen05. Both are in the async proxy: the mbarrier is enough.
// tcgen05.fence::after_thread_sync takes no instruction; it keeps the multiplication behind the
// wait.
//
// fence-opt --mcpu sm_100a -t asm examples/async/tma_to_tcgen05.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tma_to_tcgen05(
    %data: !llvm.ptr<1>, %tmem: !llvm.ptr<6>, %a: i64, %b: i64, %descriptor: i32, %accumulate: i1
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
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
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
      : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copy_done
^copy_done:
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  scoped.tcgen05_commit %full : !llvm.ptr<3>
  cf.br ^multiply_done
^multiply_done:
  func.return
}
