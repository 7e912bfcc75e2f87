// fuzz --async: sm_90 -O2
// Seed 27, unsound with waits_for_arrivals of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @m3 count 1 {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    scoped.cluster_arrive release
    scoped.cluster_wait
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %a0_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a1_s01 = litmus.address @s01 : !llvm.ptr<3>
    %a2_m3 = litmus.address @m3 : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    scoped.bulk_copy %a0_g1, %a1_s01 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.cluster_arrive release
    scoped.cluster_wait
    scoped.mbarrier_arrive release workgroup %a2_m3 expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %a2_m3, %c0 : !llvm.ptr<3>, i32
  }
  litmus.thread @P2 at <workgroup = 1, cluster = 0> {
    %a0_s01 = litmus.address @s01 : !llvm.ptr<7>
    %a1_s10 = litmus.address @s10 : !llvm.ptr<3>
    %a2_m3 = litmus.address @m3 : !llvm.ptr<7>
    scoped.cluster_arrive release
    scoped.cluster_wait
    scoped.bulk_copy %a0_s01, %a1_s10 size 128 mbarrier %a2_m3 : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  }
  litmus.condition "forall (g0 = 1 and g1 = 4 and s00 = 3 and s01 = 5 and s10 = 5 and s11 = 6)"
}
