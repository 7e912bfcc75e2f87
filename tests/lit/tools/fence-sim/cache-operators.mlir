// RUN: fence-sim run %s --test non_coherent | filecheck %s --check-prefix=STALE
// RUN: fence-sim run %s --test cached | filecheck %s --check-prefix=FRESH

// In the ptx dialect: what is loaded without coherence may be stale after an acquire, a cache
// operator changes nothing.

// STALE: Observation non_coherent Sometimes
// FRESH: Observation cached Never
litmus.test @non_coherent {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !ptx.reg<b64>
    %y = litmus.address @y : !ptx.reg<b64>
    %one = ptx.const 1 : !ptx.reg<b32>
    ptx.store "st.weak.global.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.store "st.release.gpu.global.b32" %y, %one : !ptx.reg<b64>, !ptx.reg<b32>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !ptx.reg<b64>
    %y = litmus.address @y : !ptx.reg<b64>
    %flag = ptx.load "ld.acquire.gpu.global.b32" %y : !ptx.reg<b64> -> !ptx.reg<b32>
    %data = ptx.load "ld.global.nc.b32" %x : !ptx.reg<b64> -> !ptx.reg<b32>
    litmus.observe "r0", %flag : !ptx.reg<b32>
    litmus.observe "r1", %data : !ptx.reg<b32>
  }
  litmus.condition "exists (P1:r0 = 1 and P1:r1 = 0)"
}
litmus.test @cached {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !ptx.reg<b64>
    %y = litmus.address @y : !ptx.reg<b64>
    %one = ptx.const 1 : !ptx.reg<b32>
    ptx.store "st.weak.global.cg.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.store "st.release.gpu.global.b32" %y, %one : !ptx.reg<b64>, !ptx.reg<b32>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !ptx.reg<b64>
    %y = litmus.address @y : !ptx.reg<b64>
    %flag = ptx.load "ld.acquire.gpu.global.b32" %y : !ptx.reg<b64> -> !ptx.reg<b32>
    %data = ptx.load "ld.weak.global.ca.b32" %x : !ptx.reg<b64> -> !ptx.reg<b32>
    litmus.observe "r0", %flag : !ptx.reg<b32>
    litmus.observe "r1", %data : !ptx.reg<b32>
  }
  litmus.condition "~exists (P1:r0 = 1 and P1:r1 = 0)"
}
