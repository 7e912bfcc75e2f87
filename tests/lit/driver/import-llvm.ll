; RUN: fence-opt %s | filecheck %s
; RUN: fence-opt --import-llvm < %s | filecheck %s
; RUN: fence-opt %s -t llvm | filecheck %s --check-prefix=BACK
; RUN: fence-opt %s --mcpu gfx942 -t llvm | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt %s -p "llvm-ir-pipeline{mcpu=gfx942}" -t llvm | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt %s --mcpu gfx942 -p lower-scoped-llvm-ir -t llvm | filecheck %s --check-prefix=LOWERED

; LLVM IR in, and out again as it was or with explicit synchronisation.

target triple = "amdgcn-amd-amdhsa"

; CHECK: scoped.load acquire agent %{{.*}} : !llvm.ptr<1> -> i32
; BACK: load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
; LOWERED: load atomic i32, ptr addrspace(1) %p syncscope("agent") monotonic, align 4
; LOWERED-NEXT: call void asm sideeffect "buffer_inv sc1", "v,~{memory}"(i32 %v)

define i32 @poll(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
  ret i32 %v
}
