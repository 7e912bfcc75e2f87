; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-p101:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

@global_smem = external addrspace(3) global [0 x i8], align 16

; Function Attrs: nounwind
define ptx_kernel void @sum_last_block(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %2, i32 %3, ptr addrspace(1) nofree readnone captures(none) %4, ptr addrspace(1) nofree readnone captures(none) %5) local_unnamed_addr #0 !dbg !4 {
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !11
  %8 = shl i32 %7, 8, !dbg !12
  %9 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !13
  %10 = and i32 %9, 127, !dbg !13
  %11 = or disjoint i32 %10, 128, !dbg !13
  %12 = or disjoint i32 %8, %10, !dbg !12
  %13 = or disjoint i32 %11, %8, !dbg !12
  %14 = zext nneg i32 %7 to i64, !dbg !14
  %15 = getelementptr [4 x i8], ptr addrspace(1) %0, i64 %14, !dbg !14
  %16 = getelementptr i8, ptr addrspace(1) %1, i64 4, !dbg !15
  %17 = sext i32 %12 to i64, !dbg !15
  %18 = getelementptr [4 x i8], ptr addrspace(1) %16, i64 %17, !dbg !15
  %19 = sext i32 %13 to i64, !dbg !15
  %20 = getelementptr [4 x i8], ptr addrspace(1) %16, i64 %19, !dbg !15
  %21 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %18) #4, !dbg !16
  %22 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %20) #4, !dbg !16
  %23 = add i32 %22, %21, !dbg !17
  %24 = tail call i32 @llvm.nvvm.redux.sync.add(i32 %23, i32 -1), !dbg !20
  %25 = lshr i32 %9, 3, !dbg !20
  %26 = and i32 %25, 12, !dbg !20
  %27 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i32 %26, !dbg !20
  %28 = insertelement <1 x i32> poison, i32 %24, i64 0, !dbg !20
  store <1 x i32> %28, ptr addrspace(3) %27, align 4, !dbg !20
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !20
  %29 = shl nuw nsw i32 %9, 2, !dbg !20
  %30 = and i32 %29, 12, !dbg !20
  %31 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i32 %30, !dbg !20
  %32 = load i32, ptr addrspace(3) %31, align 4, !dbg !20
  %33 = and i32 %9, 28, !dbg !20
  %34 = icmp eq i32 %33, 0, !dbg !20
  %35 = select i1 %34, i32 %32, i32 0, !dbg !20
  %36 = tail call i32 @llvm.nvvm.redux.sync.add(i32 %35, i32 -1), !dbg !20
  %37 = icmp eq i32 %9, 0, !dbg !23
  tail call void asm sideeffect "@$2 st.global.b32 [ $1 + 0 ], { $0 };", "r,l,b"(i32 %36, ptr addrspace(1) %15, i1 %37) #4, !dbg !23
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !24
  %38 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ], $2;", "=r,l,r,b"(ptr addrspace(1) %2, i32 1, i1 %37) #4, !dbg !24
  %39 = insertelement <1 x i32> poison, i32 %38, i64 0, !dbg !24
  tail call void asm sideeffect "@$2 st.shared::cta.b32 [ $0 + 0 ], $1;", "r,r,b"(ptr addrspace(3) @global_smem, <1 x i32> %39, i1 %37) #4, !dbg !24
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !24
  %40 = load i32, ptr addrspace(3) @global_smem, align 16, !dbg !24
  %41 = add i32 %3, -1, !dbg !25
  %42 = icmp eq i32 %40, %41, !dbg !26
  br i1 %42, label %43, label %58, !dbg !27

43:                                               ; preds = %6
  %44 = icmp slt i32 %10, %3, !dbg !28
  %45 = icmp slt i32 %11, %3, !dbg !28
  %46 = zext nneg i32 %10 to i64, !dbg !29
  %47 = getelementptr [4 x i8], ptr addrspace(1) %0, i64 %46, !dbg !29
  %48 = zext nneg i32 %11 to i64, !dbg !29
  %49 = getelementptr [4 x i8], ptr addrspace(1) %0, i64 %48, !dbg !29
  %50 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$2 ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l,b"(ptr addrspace(1) %47, i1 %44) #4, !dbg !30
  %51 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$2 ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l,b"(ptr addrspace(1) %49, i1 %45) #4, !dbg !30
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !31
  %52 = add i32 %51, %50, !dbg !33
  %53 = tail call i32 @llvm.nvvm.redux.sync.add(i32 %52, i32 -1), !dbg !31
  %54 = insertelement <1 x i32> poison, i32 %53, i64 0, !dbg !31
  store <1 x i32> %54, ptr addrspace(3) %27, align 4, !dbg !31
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !31
  %55 = load i32, ptr addrspace(3) %31, align 4, !dbg !31
  %56 = select i1 %34, i32 %55, i32 0, !dbg !31
  %57 = tail call i32 @llvm.nvvm.redux.sync.add(i32 %56, i32 -1), !dbg !31
  tail call void asm sideeffect "@$2 st.global.b32 [ $1 + 0 ], { $0 };", "r,l,b"(i32 %57, ptr addrspace(1) %1, i1 %37) #4, !dbg !34
  br label %58, !dbg !27

58:                                               ; preds = %43, %6
  ret void, !dbg !35
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32) #2

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "atomic_kernels.py", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!4 = distinct !DISubprogram(name: "sum_last_block", linkageName: "sum_last_block", scope: !1, file: !1, line: 22, type: !5, scopeLine: 22, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(cc: DW_CC_normal, types: !6)
!6 = !{null, !7, !7, !7, !8, !9, !9}
!7 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !8, size: 64, dwarfAddressSpace: 1)
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !10, size: 64, dwarfAddressSpace: 1)
!10 = !DIBasicType(name: "unknown_type", encoding: DW_ATE_signed)
!11 = !DILocation(line: 24, column: 13, scope: !4)
!12 = !DILocation(line: 25, column: 15, scope: !4)
!13 = !DILocation(line: 25, column: 31, scope: !4)
!14 = !DILocation(line: 26, column: 14, scope: !4)
!15 = !DILocation(line: 26, column: 46, scope: !4)
!16 = !DILocation(line: 26, column: 38, scope: !4)
!17 = !DILocation(line: 287, column: 12, scope: !18, inlinedAt: !20)
!18 = distinct !DILexicalBlockFile(scope: !4, file: !19, discriminator: 0)
!19 = !DIFile(filename: "standard.py", directory: ".")
!20 = !DILocation(line: 314, column: 12, scope: !18, inlinedAt: !21)
!21 = !DILocation(line: 26, column: 31, scope: !22)
!22 = distinct !DILexicalBlockFile(scope: !4, file: !1, discriminator: 0)
!23 = !DILocation(line: 26, column: 5, scope: !4)
!24 = !DILocation(line: 27, column: 13, scope: !4)
!25 = !DILocation(line: 28, column: 17, scope: !4)
!26 = !DILocation(line: 28, column: 8, scope: !4)
!27 = !DILocation(line: 28, column: 5, scope: !4)
!28 = !DILocation(line: 30, column: 46, scope: !4)
!29 = !DILocation(line: 30, column: 24, scope: !4)
!30 = !DILocation(line: 30, column: 16, scope: !4)
!31 = !DILocation(line: 314, column: 12, scope: !18, inlinedAt: !32)
!32 = !DILocation(line: 31, column: 25, scope: !22)
!33 = !DILocation(line: 287, column: 12, scope: !18, inlinedAt: !31)
!34 = !DILocation(line: 31, column: 9, scope: !4)
!35 = !DILocation(line: 22, column: 1, scope: !4)
