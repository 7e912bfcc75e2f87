// CUDA core -> tcgen05 through tensor memory. tcgen05.st is waited for, and the tensor fences are
// around a synchronisation that may be relaxed: tensor memory has an order of its own.
//
// fence-sim run --mcpu sm_100a examples/patterns/core_tmem_to_tcgen05.mlir

litmus.test @core_tmem_to_tcgen05 {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 5 : i32 in local
  litmus.location @sum = 0 : i32 {tensor}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.tcgen05_store %one, %sum : i32, !llvm.ptr<6>
    scoped.mbarrier_arrive relaxed cluster %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    %yes = arith.constant true
    scoped.barrier workgroup
    scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
    scoped.tcgen05_mma "f16" %sum, %a, %b, %parity, %yes : !llvm.ptr<6>
  }
  litmus.condition "forall (sum = 16)"
}
