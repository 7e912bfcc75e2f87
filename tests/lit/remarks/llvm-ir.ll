; RUN: fence-opt %s --mcpu gfx942 -p 'llvm-ir-pipeline{stores=back}' -t llvm --remarks -o %t 2>&1 | filecheck %s

; LLVM lowers the accesses itself; what is remarked on is the synchronisation around them.

target triple = "amdgcn-amd-amdhsa"

; CHECK: remark: memory operations of 'two_release_fences' cost 107 (estimated), as written 211 (estimated) [analysis: costs]
; CHECK: llvm-ir.ll:11:3: remark: 'fence release agent' becomes 'buffer_wbl2 sc1; s_waitcnt vmcnt(0){{.*}}'; costs 104 (estimated) [analysis: lower-scoped-llvm-ir]
define amdgpu_kernel void @two_release_fences(ptr addrspace(1) %d, ptr addrspace(1) %f, i32 %v) {
  store i32 %v, ptr addrspace(1) %d, align 4
  fence syncscope("agent") release
; CHECK: llvm-ir.ll:13:3: remark: 'fence release agent' removed: 'fence release agent' at line 11 does its work; saves 104 (estimated) [passed: merge-fences]
  fence syncscope("agent") release
; CHECK: llvm-ir.ll:15:3: remark: 'store relaxed agent' becomes 'store relaxed agent'; costs 2 (estimated) [analysis: lower-scoped-llvm-ir]
  store atomic i32 %v, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
