; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,GFX942
; RUN: fence-opt %s --mcpu gfx908 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,GFX908
; RUN: fence-opt %s --mcpu gfx1250 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,GFX1250
; RUN: sed 's/amdgcn-amd-amdhsa/nvptx64-nvidia-cuda/; s/amdgpu_kernel/ptx_kernel/; s/"agent"/"device"/' %s | fence-opt --import-llvm --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s --check-prefix=SM_90
; RUN: fence-opt %s | filecheck %s --check-prefix=READ
; RUN: fence-translate --import-llvm %s | fence-translate --export-llvm | filecheck %s --check-prefix=AGAIN

; LLVM makes plain accesses of unordered ones on AMD's chips: what is stored so stays in the caches, and what
; is loaded so comes from there, as with any data. The lines stay.

target triple = "amdgcn-amd-amdhsa"

; READ: scoped.store weak %v, %data {alignment = 4, llvm_ir.unordered = ""} : i32, !llvm.ptr<1>
; AGAIN: store atomic i32 %v, ptr addrspace(1) %data unordered, align 4
; CHECK-LABEL: @publish
; CHECK: store atomic i32 %v, ptr addrspace(1) %data unordered, align 4
; CHECK-NEXT: fence syncscope("singlethread") release
; GFX942-NEXT: asm sideeffect "buffer_wbl2 sc1"
; GFX908-NEXT: call void @llvm.amdgcn.s.waitcnt(i32 3952)
; GFX1250: global_wb scope:SCOPE_DEV
; CHECK: store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") monotonic
; SM_90-LABEL: @publish
; SM_90: store atomic i32 %v, ptr addrspace(1) %data unordered, align 4
; SM_90-NEXT: "fence.release.gpu;"
define amdgpu_kernel void @publish(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %v) {
  store atomic i32 %v, ptr addrspace(1) %data unordered, align 4
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  ret void
}

; CHECK-LABEL: @receive
; CHECK: %up = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic
; GFX942-NEXT: asm sideeffect "buffer_inv sc1", "v,~{memory}"(i32 %up)
; GFX908-NEXT: asm sideeffect "buffer_wbinvl1_vol", "v,~{memory}"(i32 %up)
; GFX1250: global_inv scope:SCOPE_DEV
; CHECK: %r = load atomic i32, ptr addrspace(1) %data unordered, align 4
; SM_90-LABEL: @receive
; SM_90: "fence.acquire.gpu;"
; SM_90: load atomic i32, ptr addrspace(1) %data unordered, align 4
define amdgpu_kernel void @receive(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %up = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  fence syncscope("agent") acquire
  %r = load atomic i32, ptr addrspace(1) %data unordered, align 4
  store i32 %r, ptr addrspace(1) %out
  ret void
}
