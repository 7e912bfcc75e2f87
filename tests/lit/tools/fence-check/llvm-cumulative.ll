; REQUIRES: llc
; RUN: llc -O2 -mcpu=gfx90a %s -o %t.s
; RUN: not fence-check --fail-on warning %t.s | filecheck %s
; RUN: llc -O2 -mcpu=gfx942 %s -o %t.right.s
; RUN: fence-check --fail-on warning %t.right.s | filecheck %s --check-prefix=RIGHT
; One wave publishes what the others have stored before a barrier that waits for no store
; (llvm/llvm-project#160501). On gfx942 its write-back goes through the queues behind them.

; CHECK: warning: {{.*}} another wave of its block may come to the barrier of line {{[0-9]+}} with it in flight; write s_waitcnt vmcnt(0) before the barrier [cumulative]
; CHECK: kernels lead: 0 errors, 1 warning, 0 notes

; RIGHT: kernels lead: 0 errors, 0 warnings

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @lead(ptr addrspace(1) %d, ptr addrspace(1) %f) #0 {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %a = getelementptr i32, ptr addrspace(1) %d, i32 %t
  store i32 %t, ptr addrspace(1) %a
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %l = icmp eq i32 %t, 0
  br i1 %l, label %lead, label %x
lead:
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  br label %x
x:
  ret void
}
attributes #0 = {"amdgpu-flat-work-group-size"="256,256"}
