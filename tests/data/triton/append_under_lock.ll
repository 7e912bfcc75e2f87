; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgpu9.42-amd-amdhsa"

@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16

; Function Attrs: norecurse nounwind
define amdgpu_kernel void @append_under_lock(ptr addrspace(1) inreg nofree captures(none) %0, ptr addrspace(1) inreg nofree captures(none) %1, ptr addrspace(1) inreg nofree writeonly captures(none) %2, i32 inreg %3, ptr addrspace(1) inreg nofree readnone captures(none) %4, ptr addrspace(1) inreg nofree readnone captures(none) %5) local_unnamed_addr #0 !dbg !4 {
  %7 = tail call i32 @llvm.amdgcn.workitem.id.x(), !dbg !11
  %8 = tail call i32 @llvm.amdgcn.readfirstlane.i32(i32 %7), !dbg !11
  %9 = and i32 %7, 63
  %10 = and i32 %8, 192
  %11 = or disjoint i32 %10, %9
  %12 = icmp eq i32 %11, 0
  br label %13, !dbg !12

13:                                               ; preds = %.critedge, %6
  fence syncscope("workgroup") release, !dbg !13, !mmra !14
  tail call void @llvm.amdgcn.s.barrier(), !dbg !13
  fence syncscope("workgroup") acquire, !dbg !13, !mmra !14
  br i1 %12, label %14, label %.critedge, !dbg !13

14:                                               ; preds = %13
  %15 = cmpxchg ptr addrspace(1) %0, i32 0, i32 1 acquire monotonic, align 4, !dbg !13
  %16 = extractvalue { i32, i1 } %15, 0, !dbg !13
  store i32 %16, ptr addrspace(3) @global_smem, align 16, !dbg !13
  br label %.critedge, !dbg !13

.critedge:                                        ; preds = %13, %14
  fence syncscope("workgroup") release, !dbg !13, !mmra !14
  tail call void @llvm.amdgcn.s.barrier(), !dbg !13
  fence syncscope("workgroup") acquire, !dbg !13, !mmra !14
  %17 = load i32, ptr addrspace(3) @global_smem, align 16, !dbg !13
  %18 = icmp eq i32 %17, 1, !dbg !13
  br i1 %18, label %13, label %19, !dbg !13

19:                                               ; preds = %.critedge
  br i1 %12, label %20, label %.critedge2, !dbg !15

20:                                               ; preds = %19
  %21 = load <1 x i32>, ptr addrspace(1) %1, align 4, !dbg !16
  %22 = extractelement <1 x i32> %21, i64 0, !dbg !16
  %23 = add i32 %22, 1
  %24 = insertelement <1 x i32> poison, i32 %23, i64 0
  %25 = sext i32 %22 to i64
  %26 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %25
  %27 = insertelement <1 x i32> poison, i32 %3, i64 0
  store <1 x i32> %27, ptr addrspace(1) %26, align 4, !dbg !15
  store <1 x i32> %24, ptr addrspace(1) %1, align 4, !dbg !17
  br label %.critedge2, !dbg !17

.critedge2:                                       ; preds = %19, %20
  fence syncscope("workgroup") release, !dbg !11, !mmra !14
  tail call void @llvm.amdgcn.s.barrier(), !dbg !11
  fence syncscope("workgroup") acquire, !dbg !11, !mmra !14
  br i1 %12, label %28, label %30, !dbg !13

28:                                               ; preds = %.critedge2
  %29 = atomicrmw xchg ptr addrspace(1) %0, i32 0 release, align 4, !dbg !13
  br label %30, !dbg !13

30:                                               ; preds = %28, %.critedge2
  ret void, !dbg !18
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: convergent mustprogress nocallback nocreateundeforpoison nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32) #2

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #3

attributes #0 = { norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-cluster-dims"="1,1,1" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-wwm" "denormal-fp-math-f32"="ieee" "uniform-work-group-size" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent mustprogress nocallback nocreateundeforpoison nofree nounwind willreturn memory(none) }
attributes #3 = { convergent mustprogress nocallback nofree nounwind willreturn }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "atomic_kernels.py", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!4 = distinct !DISubprogram(name: "append_under_lock", linkageName: "append_under_lock", scope: !1, file: !1, line: 35, type: !5, scopeLine: 35, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(cc: DW_CC_normal, types: !6)
!6 = !{null, !7, !7, !7, !8, !9, !9}
!7 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !8, size: 64, dwarfAddressSpace: 1)
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "pointer", baseType: !10, size: 64, dwarfAddressSpace: 1)
!10 = !DIBasicType(name: "unknown_type", encoding: DW_ATE_signed)
!11 = !DILocation(line: 42, column: 5, scope: !4)
!12 = !DILocation(line: 37, column: 5, scope: !4)
!13 = !DILocation(line: 37, column: 11, scope: !4)
!14 = !{!"amdgpu-synchronize-as", !"local"}
!15 = !DILocation(line: 40, column: 5, scope: !4)
!16 = !DILocation(line: 39, column: 13, scope: !4)
!17 = !DILocation(line: 41, column: 5, scope: !4)
!18 = !DILocation(line: 35, column: 1, scope: !4)
