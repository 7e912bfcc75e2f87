// CUDA core -> tcgen05, operands in shared memory. Written in the generic proxy, read in the async
// proxy: every writer fences before it arrives; the issuer takes
// tcgen05.fence::after_thread_sync after its wait.
//
// fence-sim run --mcpu sm_100a examples/patterns/core_smem_to_tcgen05.mlir

litmus.test @core_smem_to_tcgen05 {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 0 : i32 in local
  litmus.location @sum = 0 : i32 {tensor}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %b = litmus.address @b : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %five = arith.constant 5 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.store weak %five, %b : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    %no = arith.constant false
    scoped.barrier workgroup
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    scoped.tcgen05_mma "f16" %sum, %a, %b, %parity, %no : !llvm.ptr<6>
    scoped.tcgen05_commit %full : !llvm.ptr<3>
  }
  litmus.condition "forall (sum = 15)"
}
