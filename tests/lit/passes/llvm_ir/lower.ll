; RUN: fence-opt %s --mcpu gfx942 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,GFX942
; RUN: fence-opt %s --mcpu gfx90a -O0 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,GFX90A
; RUN: fence-opt %s -p "lower-scoped-llvm-ir{mcpu=gfx942 l2-per-agent=one}" -t "llvm{comments=false}" | filecheck %s --check-prefix=CHECK
; RUN: not fence-opt %s -p "lower-scoped-llvm-ir{mcpu=sm_90}" 2>&1 | filecheck %s --check-prefix=PTX

; PTX: error: the module is for 'amdgcn-amd-amdhsa', but sm_90 was asked for

target triple = "amdgcn-amd-amdhsa"

; CHECK-LABEL: @acquire_load
; CHECK: load atomic i32, ptr addrspace(1) %p syncscope("agent") monotonic, align 4
; GFX942-NEXT: asm sideeffect "s_waitcnt vmcnt(0)\0Abuffer_inv sc1", "~{memory}"()
; GFX90A-NEXT: asm sideeffect "s_waitcnt vmcnt(0)\0Abuffer_wbinvl1_vol", "~{memory}"()
; CHECK: fence syncscope("singlethread") acquire
; CHECK-NEXT: ret
define i32 @acquire_load(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
  ret i32 %v
}

; CHECK-LABEL: @release_store
; CHECK: fence syncscope("singlethread") release
; GFX942-NEXT: asm sideeffect "buffer_wbl2 sc0 sc1\0As_waitcnt vmcnt(0) lgkmcnt(0)"
; GFX90A-NEXT: asm sideeffect "buffer_wbl2\0As_waitcnt vmcnt(0) lgkmcnt(0)"
; CHECK: store atomic i32 0, ptr addrspace(1) %p monotonic, align 4
; CHECK-NEXT: ret
define void @release_store(ptr addrspace(1) %p) {
  store atomic i32 0, ptr addrspace(1) %p release, align 4
  ret void
}

; CHECK-LABEL: @private
; CHECK: store atomic i32 0, ptr addrspace(5) %p release, align 4
define void @private(ptr addrspace(5) %p) {
  store atomic i32 0, ptr addrspace(5) %p release, align 4
  ret void
}
