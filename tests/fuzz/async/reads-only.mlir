// fuzz --async: sm_120 -O2
// Seed 14, unsound with conflicts of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.mbarrier @m1 count 1 {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_m1 = litmus.address @m1 : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %a0_m1, %c0 : !llvm.ptr<3>, i32
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %a0_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a1_s01 = litmus.address @s01 : !llvm.ptr<3>
    %a2_m1 = litmus.address @m1 : !llvm.ptr<3>
    scoped.bulk_copy %a0_g1, %a1_s01 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %a2_m1 expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %a1_s01, %a0_g1 size 128 mbarrier %a2_m1 : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.condition "forall (g0 = 1 and g1 = 4 and s00 = 3 and s01 = 4)"
}
