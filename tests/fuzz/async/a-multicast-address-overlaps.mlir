// fuzz --async: sm_100 -O2
// A multicast address and what it stands for are two addresses of one memory: neither may be llvm.noalias.

litmus.test @t {
  litmus.location @g0 = 1 : i32
  litmus.location @g1 = 2 : i32
  litmus.location @s00 = 3 : i32 in local {workgroup = 0 : i32}
  litmus.location @s01 = 4 : i32 in local {workgroup = 0 : i32}
  litmus.location @s10 = 5 : i32 in local {workgroup = 1 : i32}
  litmus.location @s11 = 6 : i32 in local {workgroup = 1 : i32}
  litmus.multicast @everywhere = [@g0, @g1]
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %a0_everywhere = litmus.address @everywhere : !llvm.ptr<1>
    %a1_g1 = litmus.address @g1 : !llvm.ptr<1>
    %a2_s11 = litmus.address @s11 : !llvm.ptr<3>
    %r1 = scoped.multimem_load add weak %a0_everywhere : !llvm.ptr<1> -> i32
    scoped.bulk_reduce add i32 %a1_g1, %a2_s11 size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    litmus.observe "r1", %r1 : i32
  }
  litmus.condition "forall (P1:r1 = 3 and g0 = 1 and g1 = 8 and s00 = 3 and s01 = 4 and s10 = 5 and s11 = 6)"
}
