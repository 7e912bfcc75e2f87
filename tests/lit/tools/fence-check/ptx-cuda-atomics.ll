; REQUIRES: llc, opt
; RUN: not fence-check --run 'llc-22 -O2 -mcpu=sm_90' %s | filecheck %s
; RUN: fence-check --run 'llc-22 -O2 -mcpu=sm_90' --assume cuda-atomics %s | filecheck %s --check-prefix=CUDA
; RUN: not fence-check --run 'llc-22 -O2 -mcpu=sm_90' --assume no-clusters %s 2>&1 | filecheck %s --check-prefix=OTHER
; RUN: not fence-check --assume cuda-atomics %s 2>&1 | filecheck %s --check-prefix=ALONE
; clang writes CUDA's atomicAdd as seq_cst at system scope; CUDA means relaxed, of the device.

; CHECK: error: the seq_cst system atomicrmw of source line 24 {{.*}} is coherent at agent only, not at system: .sys is missing [coherence]
; CHECK: error: {{.*}} [release]
; CHECK: 1 of 1 functions compared with

; CUDA-NOT: error:
; CUDA: kernels k: 0 errors
; CUDA: 1 of 1 functions compared with

; OTHER: fence-check: error: argument --assume: 'no-clusters' says nothing of a source; accepted: cuda-atomics
; ALONE: fence-check: error: --assume is about the source: it needs --source or --run

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %data, ptr addrspace(1) %count) {
  store i32 1, ptr addrspace(1) %data
  %generic = addrspacecast ptr addrspace(1) %count to ptr
  %old = atomicrmw add ptr %generic, i32 1 seq_cst, align 4
  store i32 %old, ptr addrspace(1) %data
  ret void
}
