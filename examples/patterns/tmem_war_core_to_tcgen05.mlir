// CUDA core -> tcgen05, write after read: tensor memory that was loaded is overwritten by the next
// multiplication. As after a store, with tcgen05.wait::ld.
//
// fence-sim run --mcpu sm_100a examples/patterns/tmem_war_core_to_tcgen05.mlir

litmus.test @tmem_war_core_to_tcgen05 {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 5 : i32 in local
  litmus.location @sum = 1 : i32 {tensor}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    %read = scoped.tcgen05_load %sum : !llvm.ptr<6> -> i32
    scoped.mbarrier_arrive relaxed cluster %full : !llvm.ptr<3>
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %sum = litmus.address @sum : !llvm.ptr<6>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    %no = arith.constant false
    scoped.barrier workgroup
    scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
    scoped.tcgen05_mma "f16" %sum, %a, %b, %parity, %no : !llvm.ptr<6>
  }
  litmus.condition "forall (P0:r0 = 1 and sum = 15)"
}
