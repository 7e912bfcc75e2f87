; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx942 stores=through}' -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx942 stores=back}' -t "llvm{comments=false}" | filecheck %s --check-prefix=BACK
; RUN: fence-opt %s --mcpu gfx942 --assume coherent-stores -t "llvm{comments=false}" | filecheck %s --check-prefix=AUTO
; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx942 stores=auto}' -t "llvm{comments=false}" | filecheck %s --check-prefix=AUTO
; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefix=BACK
; RUN: fence-opt %s -p 'llvm-ir-pipeline{mcpu=gfx90a stores=through}' -t "llvm{comments=false}" | filecheck %s --check-prefix=GFX90A

; By default stores are written back: what speaks against the others is in docs/minimise.md.
; Stores that go past the L2 by themselves are atomic ones of agent scope, for which LLVM sets sc1.

target triple = "amdgcn-amd-amdhsa"

; CHECK-LABEL: @publish
; CHECK:      store atomic i32 1, ptr addrspace(1) %data syncscope("agent") monotonic, align 4
; CHECK-NEXT: store atomic double 2.0{{.*}}, ptr %more syncscope("agent") monotonic, align 8
; CHECK-NEXT: store atomic ptr %more, ptr addrspace(1) %at syncscope("agent") monotonic, align 8
; CHECK-NOT:  buffer_wbl2
; CHECK:      ret void
; BACK-LABEL: @publish
; BACK:       store i32 1
; BACK:       asm sideeffect "buffer_wbl2 sc1"
; BACK-NEXT:  call void @llvm.amdgcn.s.waitcnt(i32 112)
; AUTO-LABEL: @publish
; AUTO:       store atomic i32 1, ptr addrspace(1) %data
; AUTO-NOT:   buffer_wbl2
; AUTO:       ret void
; GFX90A-LABEL: @publish
; GFX90A:     store i32 1
define amdgpu_kernel void @publish(ptr addrspace(1) %data, ptr %more, ptr addrspace(1) %at, ptr addrspace(1) %flag) {
  store i32 1, ptr addrspace(1) %data
  store double 2.0, ptr %more
  store ptr %more, ptr addrspace(1) %at
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}

; What LLVM has no atomic store for stays, and with it the write-back: by itself nothing changes.
; CHECK-LABEL: @others
; CHECK:      store volatile i32 3
; CHECK-NEXT: store atomic i32 5, ptr addrspace(1) %data syncscope("agent") monotonic, align 4
; CHECK-NEXT: store i32 4, ptr addrspace(3) %s
; CHECK-NEXT: store <4 x i32> %v
; CHECK-NEXT: store i32 1, ptr addrspace(1) %data, align 2
; CHECK-NEXT: store i32 2, ptr addrspace(1) %data, !nontemporal
; CHECK:      buffer_wbl2 sc1
; AUTO-LABEL: @others
; AUTO:       store i32 5, ptr addrspace(1) %data{{$}}
; AUTO:       buffer_wbl2 sc1
define amdgpu_kernel void @others(ptr addrspace(1) %data, <4 x i32> %v, ptr addrspace(3) %s, ptr addrspace(1) %flag) {
  store volatile i32 3, ptr addrspace(1) %data
  store i32 5, ptr addrspace(1) %data
  store i32 4, ptr addrspace(3) %s
  store <4 x i32> %v, ptr addrspace(1) %data
  store i32 1, ptr addrspace(1) %data, align 2
  store i32 2, ptr addrspace(1) %data, !nontemporal !0
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}

; By itself, a loop that fills lines keeps its stores.
; AUTO-LABEL: @fills
; AUTO:       store i32 %i
; AUTO:       buffer_wbl2 sc1
define amdgpu_kernel void @fills(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %i
  store i32 %i, ptr addrspace(1) %at
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}

; Data is no flag, though its store is atomic: only what the flag may hand on is to be released.
; AUTO-LABEL: @no_flag
; AUTO:       store atomic i32 2, ptr addrspace(1) %data
; AUTO-NOT:   buffer_wbl2
; AUTO:       store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic
; AUTO-NOT:   buffer_wbl2
; AUTO:       ret void
define amdgpu_kernel void @no_flag(ptr addrspace(1) %data, ptr addrspace(1) %f, ptr addrspace(1) %g) {
  store i32 1, ptr addrspace(1) %data
  store i32 2, ptr addrspace(1) %data
  store atomic i32 1, ptr addrspace(1) %f syncscope("workgroup") release, align 4
  %v = load atomic i32, ptr addrspace(1) %f syncscope("workgroup") acquire, align 4
  store atomic i32 1, ptr addrspace(1) %g syncscope("agent") release, align 4
  ret void
}

!0 = !{i32 1}
