// fuzz --async: sm_90a -O0
// A fence for a copy whose wait is inserted with it stands where the copy is, not only where a store is.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %a0_s01 = litmus.address @s01 : !llvm.ptr<3>
    %a1_s00 = litmus.address @s00 : !llvm.ptr<3>
    %a2_g0 = litmus.address @g0 : !llvm.ptr<1>
    %c4 = arith.constant 4 : i32
    %c7 = arith.constant 7 : i32
    %r1 = scoped.load weak %a0_s01 : !llvm.ptr<3> -> i32
    %yes1 = arith.cmpi eq, %r1, %c4 : i32
    cf.cond_br %yes1, ^do2, ^after3
    ^do2:
    scoped.store weak %c7, %a0_s01 : i32, !llvm.ptr<3>
    cf.br ^after3
    ^after3:
    scoped.async_copy %a1_s00, %a2_g0 size 16 : !llvm.ptr<3>, !llvm.ptr<1>
    scoped.barrier workgroup
    litmus.observe "r1", %r1 : i32
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 0, cluster = 0> {
    %a0_s01 = litmus.address @s01 : i64
    %a1_s00 = litmus.address @s00 : i64
    scoped.barrier workgroup
    scoped.wgmma "m64n8k16.f32.f16.f16" "r3" registers 4 %a0_s01, %a1_s00
    %r3 = scoped.wgmma_read "r3"[0] : i32
    litmus.observe "r3", %r3 : i32
  }
  litmus.condition "forall (P0:r1 = 4 and P1:r3 = 7 and g0 = 1 and g1 = 2 and s00 = 1 and s01 = 7)"
}
