// fuzz --async: sm_120 -O2
// Seed 19, unsound with completed_on of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @m1 count 1 {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %a0_s11 = litmus.address @s11 : !llvm.ptr<7>
    %a1_m1 = litmus.address @m1 : !llvm.ptr<7>
    %c7 = arith.constant 7 : i32
    scoped.store_async %c7, %a0_s11 mbarrier %a1_m1 : i32, !llvm.ptr<7>, !llvm.ptr<7>
  }
  litmus.thread @P2 at <workgroup = 1, cluster = 0> {
    %a0_m1 = litmus.address @m1 : !llvm.ptr<3>
    %a1_g0 = litmus.address @g0 : !llvm.ptr<1>
    %a2_s11 = litmus.address @s11 : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    scoped.mbarrier_arrive release workgroup %a0_m1 expect_tx 4 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %a0_m1, %c0 : !llvm.ptr<3>, i32
    scoped.bulk_copy %a1_g0, %a2_s11 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.condition "forall (g0 = 7 and g1 = 2 and s00 = 3 and s01 = 4 and s10 = 5 and s11 = 7)"
}
