// TMA -> tcgen05. Both are in the async proxy: the mbarrier is enough.
// tcgen05.fence::after_thread_sync takes no instruction; it keeps the multiplication after the wait.
//
// fence-sim run --mcpu sm_100a examples/patterns/tma_to_tcgen05.mlir

litmus.test @tma_to_tcgen05 {
  litmus.location @data = 5 : i32
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 0 : i32 in local
  litmus.location @sum = 0 : i32 {tensor}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %b = litmus.address @b : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %b, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
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
  }
  litmus.condition "forall (sum = 15)"
}
