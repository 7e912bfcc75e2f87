; Debug information: locations, records of variables, also of several values at once.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @publish(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %v) !dbg !5 {
entry:
    #dbg_value(ptr addrspace(1) %data, !9, !DIExpression(), !12)
    #dbg_value(i32 %v, !10, !DIExpression(), !12)
  %twice = shl i32 %v, 1, !dbg !13
    #dbg_value(!DIArgList(i32 %v, i32 %twice), !11, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !13)
    #dbg_label(!16, !14)
  store i32 %twice, ptr addrspace(1) %data, align 4, !dbg !14, !tbaa !17
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4, !dbg !15
    #dbg_value(i32 poison, !10, !DIExpression(), !15)
  ret void, !dbg !15
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!llvm.ident = !{!4}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "by hand", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "publish.hip", directory: "/source")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{!"a string with %percent, {0} and \22quotes\22"}
!5 = distinct !DISubprogram(name: "publish", scope: !1, file: !1, line: 3, type: !6, scopeLine: 3, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !8)
!6 = !DISubroutineType(types: !7)
!7 = !{null}
!8 = !{!9, !10, !11}
!9 = !DILocalVariable(name: "data", arg: 1, scope: !5, file: !1, line: 3, type: !20)
!10 = !DILocalVariable(name: "v", arg: 3, scope: !5, file: !1, line: 3, type: !20)
!11 = !DILocalVariable(name: "sum", scope: !5, file: !1, line: 5, type: !20)
!12 = !DILocation(line: 3, column: 1, scope: !5)
!13 = !DILocation(line: 4, column: 12, scope: !5)
!14 = !DILocation(line: 5, column: 9, scope: !5)
!15 = !DILocation(line: 6, column: 3, scope: !5)
!16 = !DILabel(scope: !5, name: "here", file: !1, line: 5)
!17 = !{!18, !18, i64 0}
!18 = !{!"int", !19}
!19 = !{!"omnipotent char"}
!20 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
