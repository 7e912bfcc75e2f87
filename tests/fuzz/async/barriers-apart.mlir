// fuzz --async: sm_90a -O2
// Seed 16, unsound with barriers_met of the pass broken on purpose.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a1_s01 = litmus.address @s01 : !llvm.ptr<3>
    scoped.bulk_copy %a0_g1, %a1_s01 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %a0_s01 = litmus.address @s01 : !llvm.ptr<3>
    %c7 = arith.constant 7 : i32
    scoped.barrier workgroup
    scoped.store weak %c7, %a0_s01 : i32, !llvm.ptr<3>
  }
  litmus.thread @P2 at <workgroup = 0, cluster = 0> {
    scoped.barrier workgroup
  }
  litmus.condition "forall (g0 = 1 and g1 = 4 and s00 = 3 and s01 = 7)"
}
