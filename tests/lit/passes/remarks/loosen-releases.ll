; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" --remarks -o %t 2>&1 | filecheck %s
; RUN: fence-opt %s --mcpu gfx942 --assume cumulative-write-backs -t "llvm{comments=false}" --remarks -o %t 2>&1 | filecheck %s --check-prefix=FACT
; RUN: not fence-opt %s --mcpu gfx90a --assume cumulative-write-backs 2>&1 | filecheck %s --check-prefix=OLD
; OLD: error: {{.*}}fact 'cumulative-write-backs': gfx90a has no use for it

; A release within the work-group waits for memory, unless write-backs are promised to cover what mates have stored.

target triple = "amdgcn-amd-amdhsa"

declare void @llvm.amdgcn.s.barrier()

; CHECK: 's_waitcnt vmcnt(0) lgkmcnt(0)' kept: less would do if a write-back is done once everything is in memory that any wave of its CU stored before it (--assume cumulative-write-backs)
; CHECK-SAME: [missed: loosen-releases]
; FACT: 's_waitcnt vmcnt(0) lgkmcnt(0)' changed to 's_waitcnt lgkmcnt(0)': a wave of the work-group that releases it more widely writes back, which covers it
; FACT-SAME: [passed: loosen-releases]
define amdgpu_kernel void @meeting(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  store i32 1, ptr addrspace(1) %p, align 4
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  store atomic i32 1, ptr addrspace(1) %q syncscope("agent") release, align 4
  ret void
}

; What is called may publish without a write-back, so that no promise would help.
; CHECK-LABEL: :31:3: {{.*}}'fence release workgroup'
; CHECK-NOT: cumulative-write-backs
declare void @anything()
define amdgpu_kernel void @calls(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  store i32 1, ptr addrspace(1) %p, align 4
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  call void @anything()
  ret void
}
