// RUN: not fence-opt %s --verify-lowering -o /dev/null 2>&1 | filecheck %s

// Machine code written by hand, against the source that it says it lowers.

litmus.test @release_acquire {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %flag = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %data = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %flag : i32
    litmus.observe "r1", %data : i32
  }
}

// Data stores past the L2 need no write-back, and loads past it no invalidate.
// CHECK: lowers.mlir:{{[0-9]+}}:1: remark: the lowering of 'by_hand' reaches 3 of the 3 outcomes that the source allows
litmus.test @by_hand lowers @release_acquire {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !cdna.vgpr<2>
    %f = litmus.address @f : !cdna.vgpr<2>
    %one = cdna.const 1 : !cdna.vgpr
    cdna.store global_store_dword %x, %one {modifiers = ["sc1"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    cdna.s_waitcnt vmcnt(0)
    cdna.store global_store_dword %f, %one {modifiers = ["sc1"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    cdna.end s_endpgm
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %f = litmus.address @f : !cdna.vgpr<2, 2>
    %flag = cdna.load global_load_dword %f {modifiers = ["sc1"]} : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 4>
    cdna.s_waitcnt vmcnt(0)
    %data = cdna.load global_load_dword %x {modifiers = ["sc1"]} : (!cdna.vgpr<2, 0>) -> !cdna.vgpr<1, 5>
    litmus.observe "r0", %flag : !cdna.vgpr<1, 4>
    litmus.observe "r1", %data : !cdna.vgpr<1, 5>
    cdna.end s_endpgm
  }
}

// The scope of the PTX load is too narrow.
// CHECK: lowers.mlir:{{[0-9]+}}:1: error: the lowering of 'in_ptx' can end with P1:r0=1 P1:r1=0 x=1 f=1, which the source forbids
litmus.test @in_ptx lowers @release_acquire {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !ptx.reg<b64>
    %f = litmus.address @f : !ptx.reg<b64>
    %one = ptx.const 1 : !ptx.reg<b32>
    ptx.store "st.relaxed.gpu.global.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.store "st.release.gpu.global.b32" %f, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.ret
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !ptx.reg<b64>
    %f = litmus.address @f : !ptx.reg<b64>
    %flag = ptx.load "ld.acquire.cta.global.b32" %f : !ptx.reg<b64> -> !ptx.reg<b32>
    %data = ptx.load "ld.relaxed.gpu.global.b32" %x : !ptx.reg<b64> -> !ptx.reg<b32>
    litmus.observe "r0", %flag : !ptx.reg<b32>
    litmus.observe "r1", %data : !ptx.reg<b32>
    ptx.ret
  }
}
