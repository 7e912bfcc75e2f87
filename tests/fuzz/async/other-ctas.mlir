// fuzz --async: sm_90 -O2
// Seed 122, unsound with in_other_ctas of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.location @f3 = 0 : i32
  litmus.mbarrier @m1 count 1 {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_s10 = litmus.address @s10 : !llvm.ptr<7>
    %a1_s00 = litmus.address @s00 : !llvm.ptr<3>
    %a2_m1 = litmus.address @m1 : !llvm.ptr<7>
    %a3_f3 = litmus.address @f3 : !llvm.ptr<1>
    %a4_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a5_s01 = litmus.address @s01 : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    scoped.bulk_copy %a0_s10, %a1_s00 size 128 mbarrier %a2_m1 : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
    cf.br ^spin1
    ^spin1:
    %seen3 = scoped.load acquire agent %a3_f3 : !llvm.ptr<1> -> i32
    %again4 = arith.cmpi eq, %seen3, %c0 : i32
    cf.cond_br %again4, ^spin1, ^go2
    ^go2:
    scoped.bulk_copy %a4_g1, %a5_s01 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %a0_s01 = litmus.address @s01 : !llvm.ptr<7>
    %a1_m1 = litmus.address @m1 : !llvm.ptr<3>
    %a2_f3 = litmus.address @f3 : !llvm.ptr<1>
    %c6 = arith.constant 6 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scoped.store weak %c6, %a0_s01 : i32, !llvm.ptr<7>
    scoped.mbarrier_arrive release workgroup %a1_m1 expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %a1_m1, %c0 : !llvm.ptr<3>, i32
    scoped.store release agent %c1, %a2_f3 : i32, !llvm.ptr<1>
  }
  litmus.condition "forall (g0 = 1 and g1 = 6 and s00 = 3 and s01 = 6 and s10 = 3 and s11 = 6)"
}
