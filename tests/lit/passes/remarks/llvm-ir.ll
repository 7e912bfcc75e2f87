; RUN: fence-opt %s --mcpu gfx942 -p 'llvm-ir-pipeline{stores=back}' -t "llvm{comments=false}" --remarks -o %t 2>&1 | filecheck %s
; RUN: fence-opt %s --mcpu gfx942 --assume coherent-stores -t "llvm{comments=false}" --remarks -o %t 2>&1 | filecheck %s --check-prefix=THROUGH

; LLVM lowers the accesses itself; what is remarked on is the synchronisation around them.

target triple = "amdgcn-amd-amdhsa"

; CHECK: remark: memory operations of 'two_release_fences' cost 107 (estimated), as written 211 (estimated) [analysis: costs]
; CHECK: remark: memory operations of 'consumer' cost 28 (estimated), as written 36 (estimated) [analysis: costs]
; CHECK: remark: memory operations of 'called' cost 136 (estimated), as written 136 (estimated) [analysis: costs]
; THROUGH: remark: 'store weak' changed to 'store relaxed agent': it goes past the L2 by itself and leaves nothing to write back; adds 1 (estimated) [passed: store-through]
; CHECK: llvm-ir.ll:17:3: remark: 'fence release agent' becomes 'buffer_wbl2 sc1', 's_waitcnt vmcnt(0) lgkmcnt(0)'; costs 104 (estimated) [analysis: lower-scoped-llvm-ir]
; CHECK-NEXT: remark: 'buffer_wbl2 sc1' kept: 'store weak' at line {{[0-9]+}} leaves a dirty line (256 bytes a wave); it takes a wave 115 to 240 ns, one after another on an XCD; {{.*}}; costs 96 (estimated) [missed: drop-write-backs]
; CHECK-NEXT: remark: 's_waitcnt vmcnt(0) lgkmcnt(0)' changed to 's_waitcnt vmcnt(0)': nothing else that it has to cover is outstanding [passed: await-values]
define amdgpu_kernel void @two_release_fences(ptr addrspace(1) %d, ptr addrspace(1) %f, i32 %v) {
  store i32 %v, ptr addrspace(1) %d, align 4
  fence syncscope("agent") release
; CHECK-NEXT: remark: 'fence release agent' removed: 'fence release agent' at line {{[0-9]+}} does its work; saves 104 (estimated) [passed: merge-fences]
  fence syncscope("agent") release
; CHECK-NEXT: remark: 'store relaxed agent' becomes 'store relaxed agent'; costs 2 (estimated) [analysis: lower-scoped-llvm-ir]
  store atomic i32 %v, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}

; CHECK-NEXT: remark: 'load acquire agent' becomes 'load relaxed agent', 's_waitcnt vmcnt(0)', 'buffer_inv sc1'; costs 34 (estimated) [analysis: lower-scoped-llvm-ir]
; CHECK-NEXT: remark: 'buffer_inv sc1' kept: 'load weak' at line {{[0-9]+}} may find a stale line; loads with scope bits of their own do not need it; costs 24 (estimated) [missed: drop-invalidates]
; CHECK-NEXT: remark: 'buffer_inv sc1' moved: only the way to line {{[0-9]+}} needs it [passed: sink-invalidates]
; CHECK-NEXT: remark: 's_waitcnt vmcnt(0)' removed: LLVM waits by itself for what 'load relaxed agent' at line {{[0-9]+}} reads; saves 8 (estimated) [passed: await-values]
define amdgpu_kernel void @consumer(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %o) {
entry:
  br label %spin

spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %spin, label %go

go:
  %x = load i32, ptr addrspace(1) %d, align 4
  store i32 %x, ptr addrspace(1) %o, align 4
  ret void
}

; Who calls it may have done anything, and so may what it calls.
declare void @anything()
; CHECK-NEXT: remark: 'fence acquire agent' becomes
; CHECK-NEXT: remark: 'buffer_inv sc1' kept: 'call' may find a stale line; costs 24 (estimated) [missed: drop-invalidates]
; CHECK-NEXT: remark: 's_waitcnt vmcnt(0) lgkmcnt(0)' kept: what the function's callers did has to be complete; costs 8 (estimated) [missed: await-values]
; CHECK-NEXT: remark: 'fence release agent' becomes
; CHECK-NEXT: remark: 'buffer_wbl2 sc1' kept: 'call' may take in what other waves have stored; {{.*}} [missed: drop-write-backs]
; CHECK-NEXT: remark: 's_waitcnt vmcnt(0) lgkmcnt(0)' kept: 'buffer_wbl2 sc1' at line 55 has to be complete; costs 8 (estimated) [missed: await-values]
define void @called() {
  fence syncscope("agent") acquire
  call void @anything()
  fence syncscope("agent") release
  ret void
}
