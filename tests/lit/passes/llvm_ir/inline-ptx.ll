; Inline PTX is read as operations of scoped, which keep their text, and written back.

; RUN: fence-opt --import-llvm %s | filecheck %s
; RUN: fence-opt --import-llvm %s | fence-opt -t "llvm{comments=false}" | filecheck %s --check-prefix=BACK
; RUN: fence-opt --import-llvm %s --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s --check-prefix=LOWERED
; RUN: fence-opt --import-llvm %s --mcpu sm_90 --assume unordered-elements -t "llvm{comments=false}" | filecheck %s --check-prefix=FACT

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %g, i32 %v, i1 %p) !dbg !3 {
; CHECK:      scoped.load acquire agent %g {llvm_ir.asm = {text = "tail call i32 asm sideeffect
; CHECK-NEXT: scoped.fence acq_rel agent {llvm_ir.asm = {
; CHECK-SAME: was = {ordering = #scoped<ordering acq_rel>, scope = #scoped<scope agent>}}}
; CHECK-NEXT: scoped.fence seq_cst system
; CHECK-NEXT: llvm_ir.inst "call i32 asm
; CHECK-SAME: (%g, %v, %p) {llvm_ir.access = {ordering = #scoped<ordering acq_rel>, scope = #scoped<scope agent>, update}
; CHECK-NEXT: llvm_ir.inst "call i32 asm
; BACK:      tail call i32 asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];"
; BACK-NEXT: asm sideeffect "fence.acq_rel.gpu;"
; BACK-NEXT: asm sideeffect "fence.sc.sys;"
; BACK-NEXT: asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ], $2;"
; BACK-NEXT: asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 4 ], $2;"
; LOWERED:      asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];"
; LOWERED-NEXT: asm sideeffect "fence.sc.sys;"
; LOWERED-NEXT: atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ]
; LOWERED-NEXT: atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 4 ]
; FACT:      asm sideeffect "fence.sc.sys;"
; FACT-NEXT: red.global.gpu.relaxed.add.u32 [ $1 + 0 ], $2;
; FACT-NEXT: red.global.gpu.relaxed.add.u32 [ $1 + 4 ], $2;
; FACT-NEXT: ret void
  %a = tail call i32 asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l"(ptr addrspace(1) %g)
  call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
  call void asm sideeffect "fence.sc.sys;", "~{memory}"()
  %b = call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ], $2;", "=r,l,r,b"(ptr addrspace(1) %g, i32 %v, i1 %p), !dbg !5
  %c = call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 4 ], $2;", "=r,l,r,b"(ptr addrspace(1) %g, i32 %v, i1 %p), !dbg !5
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "k.py", directory: ".")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 7, column: 3, scope: !3)
