; RUN: fence-opt %s | filecheck %s
; RUN: fence-opt --import-llvm < %s | filecheck %s
; RUN: fence-opt %s -t "llvm{comments=false}" | filecheck %s --check-prefix=BACK
; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt %s -p "llvm-ir-pipeline{mcpu=gfx942}" -t "llvm{comments=false}" | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt %s --mcpu gfx942 | fence-opt -t "llvm{comments=false}" | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt %s --mcpu gfx942 | filecheck %s --check-prefix=MLIR
; RUN: fence-opt %s --mcpu gfx942 -p lower-scoped-llvm-ir -t "llvm{comments=false}" | filecheck %s --check-prefix=ALONE

; LLVM IR in, and out again as it was or with explicit synchronisation.

target triple = "amdgcn-amd-amdhsa"

; CHECK: scoped.load acquire agent %{{.*}} : !llvm.ptr<1> -> i32
; BACK: load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
; LOWERED: load atomic i32, ptr addrspace(1) %p syncscope("agent") monotonic, align 4
; LOWERED-NEXT: call void asm sideeffect "buffer_inv sc1", "v,~{memory}"(i32 %v)
; MLIR: %[[V:.*]] = scoped.load relaxed agent
; MLIR-NEXT: llvm_ir.await %[[V]] : i32
; MLIR-NEXT: cdna.cache buffer_inv {modifiers = ["sc1"], phase = #cdna<phase acquire>}
; MLIR-NEXT: llvm_ir.clobber
; MLIR-NEXT: scoped.fence acquire singlethread
; MLIR: {llvm_ir.lowered_for = {target = "gfx942", l2_per_agent = "many", features = []}}
; ALONE: call void asm sideeffect "s_waitcnt vmcnt(0)\0Abuffer_inv sc1", "~{memory}"()

define i32 @poll(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
  ret i32 %v
}
