target triple = "amdgcn-amd-amdhsa"

define void @k(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %e, ptr addrspace(3) %l, i32 %x, i1 %c) "amdgpu-flat-work-group-size"="256,256" {
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4, !dbg !DILocation(line: 1, column: 1, scope: !4)
  fence syncscope("agent") acquire, !dbg !DILocation(line: 2, column: 1, scope: !4)
  fence syncscope("workgroup") release, !dbg !DILocation(line: 3, column: 1, scope: !4)
  store atomic i32 %x, ptr addrspace(1) %d syncscope("workgroup") monotonic, align 4, !dbg !DILocation(line: 3, column: 1, scope: !4)
  %h = load atomic i32, ptr addrspace(1) %d syncscope("workgroup") acquire, align 4, !dbg !DILocation(line: 4, column: 1, scope: !4)
  %r = load i32, ptr addrspace(1) %e, !dbg !DILocation(line: 5, column: 1, scope: !4)
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.hip", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !3, unit: !0)
