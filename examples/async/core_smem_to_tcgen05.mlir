// CUDA core -> tcgen05, operands in shared memory. Written in the generic proxy, read in the
// async proxy: every writer fences before it arrives; the issuer takes
// tcgen05.fence::after_thread_sync behind its wait.
//
// fence-opt --mcpu sm_100a -t asm examples/async/core_smem_to_tcgen05.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @core_smem_to_tcgen05(
    %v: i32, %tmem: !llvm.ptr<6>, %a: i64, %b: i64, %descriptor: i32, %accumulate: i1
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
  scoped.mbarrier_init %full count 128 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.barrier workgroup
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  scoped.tcgen05_commit %full : !llvm.ptr<3>
  cf.br ^multiply_done
^multiply_done:
  func.return
}
