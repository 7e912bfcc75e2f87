; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgpu9.42-amd-amdhsa"

@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16

; Function Attrs: mustprogress norecurse nounwind willreturn
define amdgpu_kernel void @sum_last_block(ptr addrspace(1) inreg nofree captures(none) %0, ptr addrspace(1) inreg nofree captures(none) %1, ptr addrspace(1) inreg nofree captures(none) %2, i32 inreg %3, ptr addrspace(1) inreg nofree readnone captures(none) %4, ptr addrspace(1) inreg nofree readnone captures(none) %5) local_unnamed_addr #0 !dbg !4 {
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x(), !dbg !11
  %8 = tail call i32 @llvm.amdgcn.readfirstlane.i32(i32 %7), !dbg !11
  %9 = lshr i32 %8, 6, !dbg !11
  %10 = and i32 %9, 3, !dbg !11
  %11 = tail call i32 @llvm.amdgcn.workgroup.id.x(), !dbg !12
  %12 = shl i32 %11, 8, !dbg !13
  %13 = and i32 %7, 63, !dbg !14
  %14 = shl nuw nsw i32 %10, 6, !dbg !14
  %15 = or disjoint i32 %14, %13, !dbg !14
  %16 = or disjoint i32 %15, %12, !dbg !13
  %17 = getelementptr i8, ptr addrspace(1) %1, i64 4, !dbg !15
  %18 = sext i32 %16 to i64, !dbg !15
  %19 = getelementptr [4 x i8], ptr addrspace(1) %17, i64 %18, !dbg !15
  %20 = load <1 x i32>, ptr addrspace(1) %19, align 4, !dbg !16
  %21 = extractelement <1 x i32> %20, i64 0, !dbg !16
  %22 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %21, i32 280, i32 15, i32 15, i1 true), !dbg !17
  %23 = add i32 %21, %22, !dbg !22
  %24 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %23, i32 276, i32 15, i32 15, i1 true), !dbg !17
  %25 = add i32 %23, %24, !dbg !22
  %26 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %25, i32 274, i32 15, i32 15, i1 true), !dbg !17
  %27 = add i32 %25, %26, !dbg !22
  %28 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %27, i32 273, i32 15, i32 15, i1 true), !dbg !17
  %29 = add i32 %27, %28, !dbg !22
  %30 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 %29, i32 %29, i32 322, i32 10, i32 15, i1 true), !dbg !17
  %31 = add i32 %29, %30, !dbg !22
  %32 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %31, i32 323, i32 15, i32 15, i1 true), !dbg !17
  %33 = add i32 %31, %32, !dbg !22
  %34 = tail call i32 @llvm.amdgcn.readlane.i32(i32 %33, i32 63), !dbg !17
  %35 = shl nuw nsw i32 %10, 2, !dbg !17
  %36 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i32 %35, !dbg !17
  %37 = insertelement <1 x i32> poison, i32 %34, i64 0, !dbg !17
  store <1 x i32> %37, ptr addrspace(3) %36, align 4, !dbg !17
  fence syncscope("workgroup") release, !dbg !17, !mmra !23
  tail call void @llvm.amdgcn.s.barrier(), !dbg !17
  fence syncscope("workgroup") acquire, !dbg !17, !mmra !23
  %38 = shl nuw nsw i32 %7, 2, !dbg !17
  %39 = and i32 %38, 12, !dbg !17
  %40 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i32 %39, !dbg !17
  %41 = load <1 x i32>, ptr addrspace(3) %40, align 4, !dbg !17
  %42 = extractelement <1 x i32> %41, i64 0, !dbg !17
  %43 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %42, i32 78, i32 15, i32 15, i1 true), !dbg !17
  %44 = add i32 %42, %43, !dbg !22
  %45 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %44, i32 177, i32 15, i32 15, i1 true), !dbg !17
  %46 = or i32 %10, %13, !dbg !24
  %47 = icmp eq i32 %46, 0, !dbg !24
  br i1 %47, label %48, label %53, !dbg !24

48:                                               ; preds = %6
  %49 = sext i32 %11 to i64
  %50 = getelementptr [4 x i8], ptr addrspace(1) %0, i64 %49
  %51 = add i32 %44, %45
  %52 = insertelement <1 x i32> poison, i32 %51, i64 0
  store <1 x i32> %52, ptr addrspace(1) %50, align 4, !dbg !24
  br label %53, !dbg !24

53:                                               ; preds = %48, %6
  fence syncscope("workgroup") release, !dbg !25, !mmra !23
  tail call void @llvm.amdgcn.s.barrier(), !dbg !25
  fence syncscope("workgroup") acquire, !dbg !25, !mmra !23
  br i1 %47, label %54, label %.critedge, !dbg !25

54:                                               ; preds = %53
  %55 = atomicrmw add ptr addrspace(1) %2, i32 1 syncscope("agent") acq_rel, align 4, !dbg !25
  store i32 %55, ptr addrspace(3) @global_smem, align 16, !dbg !25
  br label %.critedge, !dbg !25

.critedge:                                        ; preds = %53, %54
  fence syncscope("workgroup") release, !dbg !25, !mmra !23
  tail call void @llvm.amdgcn.s.barrier(), !dbg !25
  fence syncscope("workgroup") acquire, !dbg !25, !mmra !23
  %56 = load i32, ptr addrspace(3) @global_smem, align 16, !dbg !25
  %57 = add i32 %3, -1, !dbg !26
  %58 = icmp eq i32 %56, %57, !dbg !27
  br i1 %58, label %59, label %87, !dbg !28

59:                                               ; preds = %.critedge
  %60 = icmp slt i32 %15, %3, !dbg !29
  %61 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %0, i16 0, i64 2147483646, i32 159744), !dbg !30
  %62 = shl nuw nsw i32 %15, 2, !dbg !30
  %63 = select i1 %60, i32 %62, i32 -2147483648, !dbg !30
  %64 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %61, i32 %63, i32 0, i32 0), !dbg !30
  fence syncscope("workgroup") release, !dbg !31, !mmra !23
  tail call void @llvm.amdgcn.s.barrier(), !dbg !31
  fence syncscope("workgroup") acquire, !dbg !31, !mmra !23
  %65 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %64, i32 280, i32 15, i32 15, i1 true), !dbg !31
  %66 = add i32 %65, %64, !dbg !33
  %67 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %66, i32 276, i32 15, i32 15, i1 true), !dbg !31
  %68 = add i32 %66, %67, !dbg !33
  %69 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %68, i32 274, i32 15, i32 15, i1 true), !dbg !31
  %70 = add i32 %68, %69, !dbg !33
  %71 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %70, i32 273, i32 15, i32 15, i1 true), !dbg !31
  %72 = add i32 %70, %71, !dbg !33
  %73 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 %72, i32 %72, i32 322, i32 10, i32 15, i1 true), !dbg !31
  %74 = add i32 %72, %73, !dbg !33
  %75 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %74, i32 323, i32 15, i32 15, i1 true), !dbg !31
  %76 = add i32 %74, %75, !dbg !33
  %77 = tail call i32 @llvm.amdgcn.readlane.i32(i32 %76, i32 63), !dbg !31
  %78 = insertelement <1 x i32> poison, i32 %77, i64 0, !dbg !31
  store <1 x i32> %78, ptr addrspace(3) %36, align 4, !dbg !31
  fence syncscope("workgroup") release, !dbg !31, !mmra !23
  tail call void @llvm.amdgcn.s.barrier(), !dbg !31
  fence syncscope("workgroup") acquire, !dbg !31, !mmra !23
  %79 = load <1 x i32>, ptr addrspace(3) %40, align 4, !dbg !31
  %80 = extractelement <1 x i32> %79, i64 0, !dbg !31
  %81 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %80, i32 78, i32 15, i32 15, i1 true), !dbg !31
  %82 = add i32 %80, %81, !dbg !33
  %83 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %82, i32 177, i32 15, i32 15, i1 true), !dbg !31
  br i1 %47, label %84, label %87, !dbg !11

84:                                               ; preds = %59
  %85 = add i32 %82, %83
  %86 = insertelement <1 x i32> poison, i32 %85, i64 0
  store <1 x i32> %86, ptr addrspace(1) %1, align 4, !dbg !11
  br label %87, !dbg !11

87:                                               ; preds = %59, %84, %.critedge
  ret void, !dbg !34
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: convergent mustprogress nocallback nocreateundeforpoison nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg) #3

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32) #3

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #4

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) readnone, i16, i64, i32) #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) readonly captures(none), i32, i32, i32 immarg) #6

attributes #0 = { mustprogress norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-cluster-dims"="1,1,1" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-wwm" "denormal-fp-math-f32"="ieee" "uniform-work-group-size" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent mustprogress nocallback nocreateundeforpoison nofree nounwind willreturn memory(none) }
attributes #3 = { convergent mustprogress nocallback nofree nounwind willreturn memory(none) }
attributes #4 = { convergent mustprogress nocallback nofree nounwind willreturn }
attributes #5 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: read) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "atomic_kernels.py", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!4 = distinct !DISubprogram(name: "sum_last_block", linkageName: "sum_last_block", scope: !1, file: !1, line: 22, type: !5, scopeLine: 22, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(cc: DW_CC_normal, types: !6)
!6 = !{null, !7, !7, !7, !8, !9, !9}
!7 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !8, size: 64, dwarfAddressSpace: 1)
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !10, size: 64, dwarfAddressSpace: 1)
!10 = !DIBasicType(name: "unknown_type", encoding: DW_ATE_signed)
!11 = !DILocation(line: 31, column: 9, scope: !4)
!12 = !DILocation(line: 24, column: 13, scope: !4)
!13 = !DILocation(line: 25, column: 15, scope: !4)
!14 = !DILocation(line: 25, column: 31, scope: !4)
!15 = !DILocation(line: 26, column: 46, scope: !4)
!16 = !DILocation(line: 26, column: 38, scope: !4)
!17 = !DILocation(line: 314, column: 12, scope: !18, inlinedAt: !20)
!18 = distinct !DILexicalBlockFile(scope: !4, file: !19, discriminator: 0)
!19 = !DIFile(filename: "standard.py", directory: ".")
!20 = !DILocation(line: 26, column: 31, scope: !21)
!21 = distinct !DILexicalBlockFile(scope: !4, file: !1, discriminator: 0)
!22 = !DILocation(line: 287, column: 12, scope: !18, inlinedAt: !17)
!23 = !{!"amdgpu-synchronize-as", !"local"}
!24 = !DILocation(line: 26, column: 5, scope: !4)
!25 = !DILocation(line: 27, column: 13, scope: !4)
!26 = !DILocation(line: 28, column: 17, scope: !4)
!27 = !DILocation(line: 28, column: 8, scope: !4)
!28 = !DILocation(line: 28, column: 5, scope: !4)
!29 = !DILocation(line: 30, column: 46, scope: !4)
!30 = !DILocation(line: 30, column: 16, scope: !4)
!31 = !DILocation(line: 314, column: 12, scope: !18, inlinedAt: !32)
!32 = !DILocation(line: 31, column: 25, scope: !21)
!33 = !DILocation(line: 287, column: 12, scope: !18, inlinedAt: !31)
!34 = !DILocation(line: 22, column: 1, scope: !4)
