; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --mcpu gfx942 -O2 -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --mcpu gfx942 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefix=ALL
; RUN: fence-opt %s --mcpu gfx942 --assume uncached-memory -t "llvm{comments=false}" | filecheck %s --check-prefix=UNCACHED

; A kernel in LLVM IR keeps the write-backs, invalidates and waits that it needs.

target triple = "amdgcn-amd-amdhsa"

; Once the loop has ended; and only where the data is read.
; CHECK-LABEL: @consumer
; CHECK:      load atomic i32
; CHECK-NEXT: call void asm sideeffect "", "v,~{memory}"(i32 %v)
; CHECK:      go:
; CHECK-NEXT: asm sideeffect "buffer_inv sc1"
; CHECK-NEXT: fence syncscope("singlethread") acquire
; CHECK-NEXT: load i32
; ALL-LABEL:  @consumer
; ALL:        asm sideeffect "s_waitcnt vmcnt(0)\0Abuffer_inv sc1"
; ALL-NOT:    buffer_inv
define amdgpu_kernel void @consumer(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
entry:
  br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %spin, label %go
go:
  %x = load i32, ptr addrspace(1) %data
  store i32 %x, ptr addrspace(1) %out
  ret void
}

; LLVM waits for the flag, not for what was loaded after it; and where it is not used there, all is
; waited for.
; CHECK-LABEL: @prefetch
; CHECK:      %v = load atomic i32
; CHECK-NEXT: %early = load i32
; CHECK-NEXT: call void asm sideeffect "buffer_inv sc1", "v,~{memory}"(i32 %v)
; CHECK-NEXT: fence syncscope("singlethread") acquire
; CHECK:      %w = load atomic i32
; CHECK:      store i32 %w
; CHECK:      call void @llvm.amdgcn.s.waitcnt(i32 112)
; CHECK-NEXT: asm sideeffect "buffer_inv sc1", "~{memory}"()
; ALL-LABEL:  @prefetch
; ALL:        asm sideeffect "s_waitcnt vmcnt(0) lgkmcnt(0)\0Abuffer_inv sc1", "~{memory}"()
define amdgpu_kernel void @prefetch(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  %early = load i32, ptr addrspace(1) %out
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %data
  %w = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  store i32 %w, ptr addrspace(1) %out
  fence syncscope("agent") acquire
  %y = load i32, ptr addrspace(1) %data
  %sum = add i32 %x, %y
  store i32 %sum, ptr addrspace(1) %out
  store i32 %v, ptr addrspace(1) %out
  store i32 %early, ptr addrspace(1) %out
  ret void
}

; The second release has nothing to write back: the first flag went past the L2 by itself.
; CHECK-LABEL: @two_flags
; CHECK:      asm sideeffect "buffer_wbl2 sc1"
; CHECK-NEXT: call void @llvm.amdgcn.s.waitcnt(i32 3952)
; CHECK:      call void @llvm.amdgcn.s.waitcnt(i32 3952)
; ALL-LABEL:  @two_flags
; ALL-COUNT-2: asm sideeffect "buffer_wbl2 sc1\0As_waitcnt vmcnt(0) lgkmcnt(0)"
; UNCACHED-LABEL: @two_flags
; UNCACHED-NOT: buffer_wbl2
; UNCACHED:   call void @llvm.amdgcn.s.waitcnt(i32 3952)
define amdgpu_kernel void @two_flags(ptr addrspace(1) %data, ptr addrspace(1) %f, ptr addrspace(1) %g) {
  store <2 x i32> zeroinitializer, ptr addrspace(1) %data
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") release, align 4
  store atomic i32 1, ptr addrspace(1) %g syncscope("agent") release, align 4
  ret void
}

; One wave: its work-group needs no waits, but for copies to LDS.
; CHECK-LABEL: @one_wave
; CHECK:      store i32 1
; CHECK-NOT:  {{waitcnt|workgroup}}
; CHECK:      call void @llvm.amdgcn.s.barrier()
; CHECK-NOT:  {{waitcnt|workgroup}}
; CHECK:      load i32
; ALL-LABEL:  @one_wave
; ALL:        s_waitcnt
; ALL:        s_waitcnt
define amdgpu_kernel void @one_wave(ptr addrspace(3) %x, ptr addrspace(1) %out) #0 {
  store i32 1, ptr addrspace(3) %x
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v = load i32, ptr addrspace(3) %x
  store i32 %v, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: @one_wave_that_copies
; CHECK:      llvm.amdgcn.global.load.lds
; CHECK:      call void @llvm.amdgcn.s.waitcnt(i32 112)
; CHECK:      llvm.amdgcn.s.barrier
define amdgpu_kernel void @one_wave_that_copies(ptr addrspace(1) %p, ptr addrspace(3) %x) #0 {
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %p, ptr addrspace(3) %x, i32 4, i32 0, i32 0)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  ret void
}

declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)
attributes #0 = { "amdgpu-flat-work-group-size"="1,64" }
