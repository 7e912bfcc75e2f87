target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @k(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(3) %l, i32 %x, i1 %c) {
  br label %h
  h:
  fence syncscope("workgroup") release, !dbg !DILocation(line: 1, column: 1, scope: !4)
  call void @llvm.amdgcn.s.barrier(), !dbg !DILocation(line: 2, column: 1, scope: !4)
  fence syncscope("workgroup") acquire, !dbg !DILocation(line: 3, column: 1, scope: !4)
  %w = load i32, ptr addrspace(3) %l, align 4, !dbg !DILocation(line: 4, column: 1, scope: !4)
  %more = add i32 %w, 1
  store i32 %more, ptr addrspace(3) %l, align 4, !dbg !DILocation(line: 5, column: 1, scope: !4)
  br i1 %c, label %h, label %e, !dbg !DILocation(line: 6, column: 1, scope: !4)
  e:
  ret void
}
declare void @llvm.amdgcn.s.barrier()

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.hip", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !3, unit: !0)
