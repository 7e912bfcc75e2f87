target triple = "amdgcn-amd-amdhsa"
define void @k(ptr addrspace(1) %d, ptr addrspace(1) %f) !dbg !4 {
  store i32 1, ptr addrspace(1) %d, align 4, !dbg !5
  fence syncscope("agent") release, !dbg !6
  %1 = atomicrmw add ptr addrspace(1) %f, i32 1 syncscope("agent") monotonic, align 4, !dbg !6
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "message.py", directory: "/kernels")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", file: !1, line: 10, type: !3, unit: !0)
!5 = !DILocation(line: 11, column: 4, scope: !4)
!6 = !DILocation(line: 13, column: 4, scope: !4)
