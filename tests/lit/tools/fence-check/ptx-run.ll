; REQUIRES: llc, opt
; RUN: not fence-check --run 'llc-22 -O2 -mcpu=sm_90 -mattr=+ptx80' %s | filecheck %s
; LLVM 22 selects an atomic addition without its ordering.

; CHECK: ptx-run.ll:12:1: error: the store of source line 11 {{.*}} may not be visible at agent when the release agent atomicrmw of source line 12 {{.*}}: .release.gpu on the write, or fence.acq_rel.gpu between them, is missing [release]
; CHECK: 1 of 1 functions compared with

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @publish(ptr addrspace(1) %data, ptr addrspace(1) %count) {
  store i32 42, ptr addrspace(1) %data, align 4
  %o = atomicrmw add ptr addrspace(1) %count, i32 1 syncscope("device") release, align 4
  ret void
}
