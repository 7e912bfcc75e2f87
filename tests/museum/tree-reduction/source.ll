target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @sum(ptr addrspace(3) %sums, i32 %half) {
begin:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(3) %sums, i32 %id
  br label %round
round:
  %width = phi i32 [ %half, %begin ], [ %less, %next ]
  fence syncscope("workgroup") release, !dbg !DILocation(line: 1, column: 1, scope: !4)
  call void @llvm.amdgcn.s.barrier(), !dbg !DILocation(line: 1, column: 1, scope: !4)
  fence syncscope("workgroup") acquire, !dbg !DILocation(line: 1, column: 1, scope: !4)
  %active = icmp ult i32 %id, %width
  br i1 %active, label %add, label %next, !dbg !DILocation(line: 2, column: 1, scope: !4)
add:
  %far = getelementptr i32, ptr addrspace(3) %own, i32 %width
  %a = load i32, ptr addrspace(3) %own, !dbg !DILocation(line: 3, column: 1, scope: !4)
  %b = load i32, ptr addrspace(3) %far, !dbg !DILocation(line: 4, column: 1, scope: !4)
  %ab = add i32 %a, %b
  store i32 %ab, ptr addrspace(3) %own, !dbg !DILocation(line: 5, column: 1, scope: !4)
  br label %next
next:
  %less = lshr i32 %width, 1
  %done = icmp eq i32 %less, 0
  br i1 %done, label %end, label %round, !dbg !DILocation(line: 6, column: 1, scope: !4)
end:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.hip", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "sum", file: !1, line: 1, type: !3, unit: !0)
