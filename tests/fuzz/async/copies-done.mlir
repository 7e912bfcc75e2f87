// fuzz --async: sm_90a -O0
// Seed 81, unsound with copies_done of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @m2 count 1 {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_m2 = litmus.address @m2 : !llvm.ptr<3>
    %a1_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a2_s01 = litmus.address @s01 : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    scoped.mbarrier_wait acquire cluster %a0_m2, %c0 : !llvm.ptr<3>, i32
    scoped.bulk_copy %a1_g1, %a2_s01 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %a0_s11 = litmus.address @s11 : !llvm.ptr<3>
    %a1_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a2_m2 = litmus.address @m2 : !llvm.ptr<7>
    scoped.async_copy %a0_s11, %a1_g1 size 16 : !llvm.ptr<3>, !llvm.ptr<1>
    scoped.mbarrier_arrive release cluster %a2_m2 : !llvm.ptr<7>
  }
  litmus.condition "forall (g0 = 1 and g1 = 4 and s00 = 3 and s01 = 4 and s10 = 5 and s11 = 2)"
}
