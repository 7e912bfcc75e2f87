// fuzz --async: sm_90a -O2
// Seed 20, unsound with may_wait_for of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @m2 count 1 {workgroup = 1 : i32}
  litmus.mbarrier @m1 count 1 {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_s01 = litmus.address @s01 : !llvm.ptr<3>
    %a1_m2 = litmus.address @m2 : !llvm.ptr<7>
    %a2_m1 = litmus.address @m1 : !llvm.ptr<3>
    %c8 = arith.constant 8 : i32
    %c0 = arith.constant 0 : i32
    scoped.store weak %c8, %a0_s01 : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive release cluster %a1_m2 : !llvm.ptr<7>
    scoped.mbarrier_arrive release workgroup %a2_m1 expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %a2_m1, %c0 : !llvm.ptr<3>, i32
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
  }
  litmus.thread @P2 at <workgroup = 1, cluster = 0> {
    %a0_m2 = litmus.address @m2 : !llvm.ptr<3>
    %a1_s01 = litmus.address @s01 : !llvm.ptr<7>
    %a2_s10 = litmus.address @s10 : !llvm.ptr<3>
    %a3_m1 = litmus.address @m1 : !llvm.ptr<7>
    %c0 = arith.constant 0 : i32
    scoped.mbarrier_wait acquire cluster %a0_m2, %c0 : !llvm.ptr<3>, i32
    scoped.bulk_copy %a1_s01, %a2_s10 size 128 mbarrier %a3_m1 : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  }
  litmus.condition "forall (g0 = 1 and g1 = 2 and s00 = 3 and s01 = 5 and s10 = 5 and s11 = 6)"
}
