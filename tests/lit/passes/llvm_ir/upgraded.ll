; RUN: fence-opt %s --mcpu gfx90a -t "llvm{comments=false}" | filecheck %s
; RUN: sed '/amdgcn/d; s/amdgpu_kernel/ptx_kernel/; s/"agent"/"device"/' %s | fence-opt --import-llvm --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s --check-prefix=SM_90
; RUN: sed '/amdgcn/d; s/amdgpu_kernel/ptx_kernel/; s/"agent"/"device"/' %s | fence-opt --import-llvm --mcpu sm_90 --assume cuda-atomics -t llvm | filecheck %s --check-prefix=CUDA

; LLVM reads atomicrmw for calls of intrinsics that it once had, whose names may be in quotes. What it adds to them comes along.

target triple = "amdgcn-amd-amdhsa"

; CHECK-LABEL: @update
; CHECK: %a = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 5 syncscope("agent") monotonic, align 4, !dbg !7, !amdgpu.no.fine.grained.memory !{}
; CHECK: %1 = atomicrmw fadd ptr addrspace(1) %q, float %v syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !{}, !amdgpu.ignore.denormal.mode !{}
; CHECK: store float %1, ptr addrspace(1) %q
; SM_90: define ptx_kernel void @add
; SM_90: "fence.sc.sys;\0Aatom.acquire.sys.global.add.f32 $0, [$1], $2;"
; SM_90: %o = bitcast i32
; SM_90: call void @llvm.nvvm.barrier0()
; SM_90-NEXT: store float %o, ptr addrspace(1) %q
; CUDA: "atom.relaxed.gpu.global.add.f32 $0, [$1], $2;"
define amdgpu_kernel void @update(ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(1) %r, float %v) !dbg !4 { ; amdgcn
  %a = call i32 @"llvm.amdgcn.atomic.inc.i32.p1"(ptr addrspace(1) %p, i32 5, i32 7, i32 3, i1 false), !dbg !7
  %1 = call float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1) %q, float %v) ; amdgcn
  store i32 %a, ptr addrspace(1) %r ; amdgcn
  store float %1, ptr addrspace(1) %q ; amdgcn
  ret void ; amdgcn
} ; amdgcn
declare i32 @"llvm.amdgcn.atomic.inc.i32.p1"(ptr addrspace(1), i32, i32, i32, i1)
declare float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1), float)

define amdgpu_kernel void @add(ptr addrspace(1) %p, ptr addrspace(1) %q, float %v) {
  %o = call float @"llvm.nvvm.atomic.load.add.f32.p1"(ptr addrspace(1) %p, float %v)
  call void @llvm.nvvm.barrier0()
  store float %o, ptr addrspace(1) %q
  ret void
}
declare float @"llvm.nvvm.atomic.load.add.f32.p1"(ptr addrspace(1), float)
declare void @llvm.nvvm.barrier0()

!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "a.c", directory: "/")
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "update", scope: !2, file: !2, line: 1, type: !3, spFlags: DISPFlagDefinition, unit: !1)
!5 = !{null}
!7 = !DILocation(line: 2, scope: !4)
