; RUN: fence-opt %s --mcpu sm_90 --ptx-version 8.6 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,SM90
; RUN: fence-opt --import-llvm %s --mcpu sm_80 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,SM80
; RUN: fence-opt %s -p 'lower-scoped-llvm-ir{mcpu=sm_90 ptx-version="8.3"}' -t "llvm{comments=false}" | filecheck %s --check-prefixes=CHECK,SM80
; RUN: fence-opt %s -t "llvm{comments=false}" | filecheck %s --check-prefix=BACK
; RUN: not fence-opt %s --mcpu gfx942 2>&1 | filecheck %s --check-prefix=CDNA

; In PTX an access carries its ordering, so the access itself becomes inline assembly.

; CDNA: error: the module is for 'nvptx64-nvidia-cuda', but gfx942 was asked for

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @acquire_load
; CHECK-NEXT: %v = call i32 asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];", "=&r,l,~{memory}"(ptr addrspace(1) %p)
; CHECK-NEXT: ret i32 %v
; BACK-LABEL: @acquire_load
; BACK: load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
define i32 @acquire_load(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  ret i32 %v
}

; LLVM makes atom.global.add.u32 of this, which is relaxed.gpu.
; CHECK-LABEL: @rmw
; CHECK: asm sideeffect "atom.acq_rel.sys.global.add.u32 $0, [$1], $2;", "=&r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
define i32 @rmw(ptr addrspace(1) %p, i32 %x) {
  %v = atomicrmw add ptr addrspace(1) %p, i32 %x acq_rel, align 4
  ret i32 %v
}

; An unused result goes nowhere; a float goes as its bits.
; CHECK-LABEL: @unused
; CHECK: %[[BITS:.*]] = bitcast float %x to i32
; CHECK: call void asm sideeffect "fence.sc.cta;\0Aatom.acquire.cta.add.f32 _, [$0], $1;", "l,r,~{memory}"(ptr %p, i32 %[[BITS]])
define void @unused(ptr %p, float %x) {
  %v = atomicrmw fadd ptr %p, float %x syncscope("block") seq_cst, align 4
  ret void
}

; CHECK-LABEL: @compare_exchange
; CHECK: %[[OLD:.*]] = call i64 asm sideeffect "atom.acquire.gpu.cas.b64 $0, [$1], $2, $3;", "=&l,l,l,l,~{memory}"
; CHECK: %[[POINTER:.*]] = inttoptr i64 %[[OLD]] to ptr
; CHECK: %[[SUCCESS:.*]] = icmp eq i64 %[[OLD]],
; CHECK: %[[HALF:.*]] = insertvalue { ptr, i1 } poison, ptr %[[POINTER]], 0
; CHECK: %r = insertvalue { ptr, i1 } %[[HALF]], i1 %[[SUCCESS]], 1
; CHECK: ret { ptr, i1 } %r
define { ptr, i1 } @compare_exchange(ptr %p, ptr %old, ptr %new) {
  %r = cmpxchg weak ptr %p, ptr %old, ptr %new syncscope("device") monotonic acquire, align 8
  ret { ptr, i1 } %r
}

; A loop has its own scope of names, another one wherever LLVM copies it to.
; CHECK-LABEL: @loop
; CHECK: asm sideeffect "{\0A.reg .b32 $$fence${:uid}_old, {{.*}}\0A$$fence${:uid}_retry:\0A{{.*}}atom.release.cta.cas.b32{{.*}}bra $$fence${:uid}_retry;\0A}", "=&r,l,r,~{memory}"
define i32 @loop(ptr %p, i32 %x) {
  %v = atomicrmw nand ptr %p, i32 %x syncscope("block") release, align 4
  ret i32 %v
}

; LLVM ends with an error at singlethread, and nobody else is in it.
; CHECK-LABEL: @fences
; SM90: asm sideeffect "fence.release.gpu;", "~{memory}"()
; SM80: asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-LABEL: @one_thread
; CHECK: asm sideeffect "", "~{memory}"()
define void @fences() {
  fence syncscope("device") release
  ret void
}

define void @one_thread() {
  fence syncscope("singlethread") acq_rel
  ret void
}

; What orders others may change what a noalias pointer points to: it escapes before.
; CHECK-LABEL: @noalias(
; CHECK-NEXT: call void asm sideeffect "", "l"(ptr %data) memory(inaccessiblemem: readwrite)
; CHECK: "st.release.sys.global.b32 [$0], $1;", "l,r,~{memory}"
define void @noalias(ptr addrspace(1) %flag, ptr noalias captures(none) %data) {
  store atomic i32 0, ptr addrspace(1) %flag release, align 4
  ret void
}

; A relaxed access need not.
; CHECK-LABEL: @noalias_relaxed(
; CHECK-NOT: asm sideeffect ""
; CHECK: "st.relaxed.sys.global.b32 [$0], $1;", "l,r,~{memory}"
define void @noalias_relaxed(ptr addrspace(1) %flag, ptr noalias captures(none) %data) {
  store atomic i32 0, ptr addrspace(1) %flag monotonic, align 4
  ret void
}

; What stands one after another is one assembly, up to a value that it gives.
; CHECK-LABEL: @behind_one_another
; CHECK: %v = call i32 asm sideeffect "fence.sc.gpu;\0Ald.acquire.gpu.global.b32 $0, [$1];", "=&r,l,~{memory}"
; CHECK: call void asm sideeffect "st.relaxed.gpu.global.b32 [$0], $1;\0Afence.sc.gpu;", "l,r,~{memory}"
define i32 @behind_one_another(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("device") seq_cst, align 4
  store atomic i32 %v, ptr addrspace(1) %p syncscope("device") monotonic, align 4
  fence syncscope("device") seq_cst
  ret i32 %v
}

; Weak accesses are left to LLVM, also volatile ones.
; CHECK-LABEL: @weak
; CHECK: store volatile i32 0, ptr %p, align 4
; CHECK-NEXT: ret
define void @weak(ptr %p) {
  store volatile i32 0, ptr %p, align 4
  ret void
}
