; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx942 stores=back}' -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx942 stores=back}' -t "llvm{comments=false}" | fence-opt --import-llvm -p 'llvm-ir-pipeline{mcpu=gfx942 stores=back}' -t llvm | filecheck %s

; A write-back begins right behind the last store, and LLVM's own fence keeps the store before it.

target triple = "amdgcn-amd-amdhsa"

; CHECK-LABEL: @overlap
; CHECK:      store i32 1, ptr addrspace(1) %data
; CHECK-NEXT: fence syncscope("singlethread") release
; CHECK-NEXT: asm sideeffect "buffer_wbl2 sc1",
; CHECK-NEXT: load i32, ptr addrspace(3)
; CHECK-NEXT: store i32 {{.*}}, ptr addrspace(3)
; CHECK-NEXT: fence syncscope("singlethread") release
; CHECK-NEXT: call void @llvm.amdgcn.s.waitcnt(i32 112)
; CHECK-NEXT: store atomic i32 1
define amdgpu_kernel void @overlap(ptr addrspace(1) noalias %data, ptr addrspace(1) %flag, ptr addrspace(3) %s) {
  store i32 1, ptr addrspace(1) %data
  %v = load i32, ptr addrspace(3) %s
  store i32 %v, ptr addrspace(3) %s
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}

; Nothing is passed but arithmetic, which LLVM places anyway: it stays beside its wait.
; CHECK-LABEL: @at_once
; CHECK:      store i32 1, ptr addrspace(1) %data
; CHECK-NEXT: add i32
; CHECK-NEXT: fence syncscope("singlethread") release
; CHECK-NEXT: asm sideeffect "buffer_wbl2 sc1"
; CHECK-NEXT: call void @llvm.amdgcn.s.waitcnt(i32 3952)
define amdgpu_kernel void @at_once(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %n) {
  store i32 1, ptr addrspace(1) %data
  %m = add i32 %n, 1
  store atomic i32 %m, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}

; Out of a loop that stores nothing but flags: behind the phi of the block where it can begin.
; CHECK-LABEL: @out_of_a_loop
; CHECK:      entry:
; CHECK-NEXT: store i32 1, ptr addrspace(1) %data
; CHECK-NEXT: fence syncscope("singlethread") release
; CHECK-NEXT: asm sideeffect "buffer_wbl2 sc1",
; CHECK-NEXT: br label %loop
; CHECK-NOT:  buffer_wbl2
; CHECK:      ret void
define amdgpu_kernel void @out_of_a_loop(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %n) {
entry:
  store i32 1, ptr addrspace(1) %data
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  store atomic i32 %next, ptr addrspace(1) %flag syncscope("agent") release, align 4
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Not before a branch on whose other way nothing is released: behind the phi.
; CHECK-LABEL: @behind_the_phi
; CHECK:      join:
; CHECK-NEXT: phi i32
; CHECK-NEXT: fence syncscope("singlethread") release
; CHECK-NEXT: asm sideeffect "buffer_wbl2 sc1",
; CHECK-NEXT: store i32 %k, ptr addrspace(3) %s
define amdgpu_kernel void @behind_the_phi(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(3) %s, i32 %n) {
entry:
  store i32 1, ptr addrspace(1) %data
  %c = icmp eq i32 %n, 0
  br i1 %c, label %perhaps, label %join
perhaps:
  %d = icmp eq i32 %n, 1
  br i1 %d, label %join, label %end
join:
  %k = phi i32 [ 1, %perhaps ], [ 2, %entry ]
  store i32 %k, ptr addrspace(3) %s
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
end:
  ret void
}
