; REQUIRES: llc
; RUN: llc -O2 -mcpu=gfx942 %s -o %t.s
; RUN: not fence-check --fail-on warning %t.s | filecheck %s
; RUN: llc -O0 -mcpu=gfx942 %s -o %t.right.s
; RUN: fence-check --fail-on warning %t.right.s | filecheck %s --check-prefix=RIGHT
; LLVM 22 leaves out the wait after a write-back where it knows of nothing else in flight
; (llvm/llvm-project#178316).

; CHECK: warning: {{.*}} nothing waits for the write-back of line {{[0-9]+}}; write s_waitcnt vmcnt(0) before this [write-back-unwaited]
; CHECK: kernels producer: 0 errors, 1 warning, 0 notes

; RIGHT: kernels producer: 0 errors, 0 warnings

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @producer(ptr addrspace(1) %d, ptr addrspace(1) %in, ptr addrspace(1) %f) {
  store i32 42, ptr addrspace(1) %d
  %v = load volatile i32, ptr addrspace(1) %in
  %w = mul i32 %v, 3
  fence syncscope("agent") release
  store atomic i32 %w, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
