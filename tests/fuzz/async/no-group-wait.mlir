// fuzz --async: sm_90a -O2
// Seed 0, unsound with groups_before of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @f1 = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_g0 = litmus.address @g0 : !llvm.ptr<1>
    %a1_s00 = litmus.address @s00 : !llvm.ptr<3>
    %a2_f1 = litmus.address @f1 : !llvm.ptr<1>
    %c1 = arith.constant 1 : i32
    scoped.bulk_copy %a0_g0, %a1_s00 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.store release agent %c1, %a2_f1 : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 1> {
    %a0_f1 = litmus.address @f1 : !llvm.ptr<1>
    %a1_g0 = litmus.address @g0 : !llvm.ptr<1>
    %c0 = arith.constant 0 : i32
    %c7 = arith.constant 7 : i32
    cf.br ^spin1
    ^spin1:
    %seen3 = scoped.load acquire agent %a0_f1 : !llvm.ptr<1> -> i32
    %again4 = arith.cmpi eq, %seen3, %c0 : i32
    cf.cond_br %again4, ^spin1, ^go2
    ^go2:
    scoped.store weak %c7, %a1_g0 : i32, !llvm.ptr<1>
    litmus.end
  }
  litmus.condition "forall (g0 = 7 and g1 = 2 and s00 = 3 and s01 = 4)"
}
