// tcgen05 -> CUDA core. The commit arrives when the multiplication is done, and is the fence before
// the synchronisation; the reader takes tcgen05.fence::after_thread_sync after its wait, which may
// be relaxed.
//
// fence-sim run --mcpu sm_100a examples/patterns/tcgen05_to_core.mlir

litmus.test @tcgen05_to_core {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 5 : i32 in local
  litmus.location @sum = 0 : i32 {tensor}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    %no = arith.constant false
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.tcgen05_mma "f16" %sum, %a, %b, %zero, %no : !llvm.ptr<6>
    scoped.tcgen05_commit %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.barrier workgroup
    scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.tcgen05_load %sum : !llvm.ptr<6> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 15)"
}
