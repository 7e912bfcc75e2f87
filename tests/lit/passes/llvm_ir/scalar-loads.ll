; What LLVM may load through the scalar cache, and what keeps it from that.

; RUN: fence-opt %s --mcpu gfx942 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,O0
; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,O2
; RUN: fence-opt %s -p "lower-scoped-llvm-ir{mcpu=gfx942 tgsplit=true}" -t "llvm{comments=false}" | filecheck %s --check-prefix=SPLIT
; RUN: fence-opt %s --mcpu gfx942 | filecheck %s --check-prefix=MLIR

target triple = "amdgcn-amd-amdhsa"

declare void @acquire(ptr addrspace(1))
declare void @llvm.amdgcn.s.barrier()

; noalias pointers escape, but for those to what nobody changes; and memory may change after an acquire.
; CHECK-LABEL: @barrier
; CHECK: call void asm sideeffect "", "s"(ptr addrspace(1) %d) memory(inaccessiblemem: readwrite)
; CHECK-NEXT: call void @llvm.amdgcn.s.barrier()
; O0-NEXT: call void asm sideeffect "s_waitcnt vmcnt(0) lgkmcnt(0)", "~{memory}"()
; O2-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: fence syncscope("singlethread") acquire
; MLIR-LABEL: @barrier
; MLIR: llvm_ir.clobber
; MLIR-NEXT: scoped.fence acquire singlethread
define amdgpu_kernel void @barrier(ptr addrspace(1) noalias %d, ptr addrspace(1) noalias readonly %c, i32 %n) {
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %x = load i32, ptr addrspace(1) %d, align 4
  %y = load i32, ptr addrspace(1) %c, align 4
  %z = add i32 %x, %y
  store i32 %z, ptr addrspace(1) %d, align 4
  ret void
}

; The arguments of what is no kernel are in vector registers.
; CHECK-LABEL: @function
; CHECK: call void asm sideeffect "", "v"(ptr %d)
; CHECK: "~{memory}"()
define i32 @function(ptr noalias %d) {
  fence syncscope("workgroup") acquire
  %x = load i32, ptr %d, align 4
  ret i32 %x
}

; CHECK-LABEL: @call
; CHECK: call void asm sideeffect "", "s"(ptr addrspace(1) %d)
; CHECK-NEXT: call void @acquire(ptr addrspace(1) %f)
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK: tail call void @acquire(ptr addrspace(1) %f)
; CHECK-NEXT: ret void
define amdgpu_kernel void @call(ptr addrspace(1) noalias %d, ptr addrspace(1) %f) {
  call void @acquire(ptr addrspace(1) %f)
  %x = load i32, ptr addrspace(1) %d, align 4
  store i32 %x, ptr addrspace(1) %f, align 4
  tail call void @acquire(ptr addrspace(1) %f)
  ret void
}

; A release waits in lgkmcnt for scalar loads, also where LDS is not waited for.
; CHECK-LABEL: @release
; CHECK-NOT: "s"
; O0: "s_waitcnt vmcnt(0) lgkmcnt(0)", "~{memory}"()
; O2: call void @llvm.amdgcn.s.waitcnt(i32 112)
; SPLIT-LABEL: @release
; SPLIT: "s_waitcnt vmcnt(0) lgkmcnt(0)", "~{memory}"()
define amdgpu_kernel void @release(ptr addrspace(1) noalias %d, ptr addrspace(1) %f) {
  %x = load i32, ptr addrspace(1) %d, align 4
  fence syncscope("workgroup") release, !mmra !0
  store atomic i32 %x, ptr addrspace(1) %f syncscope("workgroup") monotonic, align 4
  ret void
}

; CHECK-LABEL: @release_after_lds
; O0: "s_waitcnt vmcnt(0) lgkmcnt(0)", "~{memory}"()
; O2-NOT: lgkmcnt
; CHECK: ret void
define amdgpu_kernel void @release_after_lds(ptr addrspace(3) %s, ptr addrspace(1) %f) {
  store i32 1, ptr addrspace(3) %s, align 4
  fence syncscope("workgroup") release, !mmra !0
  store atomic i32 1, ptr addrspace(1) %f syncscope("workgroup") monotonic, align 4
  ret void
}

!0 = !{!"amdgpu-synchronize-as", !"global"}
