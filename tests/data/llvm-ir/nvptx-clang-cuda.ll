source_filename = "clang-cuda.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ17reduce_last_blockPKfPfS1_PjiE4part = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4
@_ZZ17reduce_last_blockPKfPfS1_PjiE4last = internal unnamed_addr addrspace(3) global i8 undef, align 1
@_ZZ9look_backPKiPiPViS3_iE6before = internal unnamed_addr addrspace(3) global i32 undef, align 4
@_ZZ9histogramPKhPjiE5local = internal addrspace(3) global [256 x i32] undef, align 4
@_ZZ7split_kPKfS0_PfiiE2ta = internal unnamed_addr addrspace(3) global [16 x [16 x float]] undef, align 4
@_ZZ7split_kPKfS0_PfiiE2tb = internal unnamed_addr addrspace(3) global [16 x [16 x float]] undef, align 4

define dso_local ptx_kernel void @_Z17reduce_last_blockPKfPfS1_Pji(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef writeonly captures(none) %2, ptr noundef captures(none) %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %8 = mul i32 %6, %7
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %10 = add i32 %8, %9
  %11 = icmp slt i32 %10, %4
  br i1 %11, label %12, label %16

12:                                               ; preds = %5
  %13 = sext i32 %10 to i64
  %14 = getelementptr inbounds float, ptr %0, i64 %13
  %15 = load float, ptr %14, align 4, !tbaa !11
  br label %16

16:                                               ; preds = %5, %12
  %17 = phi contract float [ %15, %12 ], [ 0.000000e+00, %5 ]
  %18 = zext nneg i32 %9 to i64
  %19 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %18
  store float %17, ptr %19, align 4, !tbaa !11
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %20 = icmp samesign ult i32 %9, 128
  br i1 %20, label %21, label %28

21:                                               ; preds = %16
  %22 = zext nneg i32 %9 to i64
  %23 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %22
  %24 = getelementptr inbounds nuw i8, ptr %23, i64 512
  %25 = load float, ptr %24, align 4, !tbaa !11
  %26 = load float, ptr %19, align 4, !tbaa !11
  %27 = fadd contract float %25, %26
  store float %27, ptr %19, align 4, !tbaa !11
  br label %28

28:                                               ; preds = %21, %16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %29 = icmp samesign ult i32 %9, 64
  br i1 %29, label %30, label %37

30:                                               ; preds = %28
  %31 = zext nneg i32 %9 to i64
  %32 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %31
  %33 = getelementptr inbounds nuw i8, ptr %32, i64 256
  %34 = load float, ptr %33, align 4, !tbaa !11
  %35 = load float, ptr %19, align 4, !tbaa !11
  %36 = fadd contract float %34, %35
  store float %36, ptr %19, align 4, !tbaa !11
  br label %37

37:                                               ; preds = %30, %28
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %38 = icmp samesign ult i32 %9, 32
  br i1 %38, label %39, label %46

39:                                               ; preds = %37
  %40 = zext nneg i32 %9 to i64
  %41 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %40
  %42 = getelementptr inbounds nuw i8, ptr %41, i64 128
  %43 = load float, ptr %42, align 4, !tbaa !11
  %44 = load float, ptr %19, align 4, !tbaa !11
  %45 = fadd contract float %43, %44
  store float %45, ptr %19, align 4, !tbaa !11
  br label %46

46:                                               ; preds = %39, %37
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %47 = icmp samesign ult i32 %9, 16
  br i1 %47, label %48, label %55

48:                                               ; preds = %46
  %49 = zext nneg i32 %9 to i64
  %50 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %49
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 64
  %52 = load float, ptr %51, align 4, !tbaa !11
  %53 = load float, ptr %19, align 4, !tbaa !11
  %54 = fadd contract float %52, %53
  store float %54, ptr %19, align 4, !tbaa !11
  br label %55

55:                                               ; preds = %48, %46
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %56 = icmp samesign ult i32 %9, 8
  br i1 %56, label %57, label %64

57:                                               ; preds = %55
  %58 = zext nneg i32 %9 to i64
  %59 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %58
  %60 = getelementptr inbounds nuw i8, ptr %59, i64 32
  %61 = load float, ptr %60, align 4, !tbaa !11
  %62 = load float, ptr %19, align 4, !tbaa !11
  %63 = fadd contract float %61, %62
  store float %63, ptr %19, align 4, !tbaa !11
  br label %64

64:                                               ; preds = %57, %55
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %65 = icmp samesign ult i32 %9, 4
  br i1 %65, label %66, label %73

66:                                               ; preds = %64
  %67 = zext nneg i32 %9 to i64
  %68 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %67
  %69 = getelementptr inbounds nuw i8, ptr %68, i64 16
  %70 = load float, ptr %69, align 4, !tbaa !11
  %71 = load float, ptr %19, align 4, !tbaa !11
  %72 = fadd contract float %70, %71
  store float %72, ptr %19, align 4, !tbaa !11
  br label %73

73:                                               ; preds = %66, %64
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %74 = icmp samesign ult i32 %9, 2
  br i1 %74, label %75, label %82

75:                                               ; preds = %73
  %76 = zext nneg i32 %9 to i64
  %77 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 %76
  %78 = getelementptr inbounds nuw i8, ptr %77, i64 8
  %79 = load float, ptr %78, align 4, !tbaa !11
  %80 = load float, ptr %19, align 4, !tbaa !11
  %81 = fadd contract float %79, %80
  store float %81, ptr %19, align 4, !tbaa !11
  br label %82

82:                                               ; preds = %75, %73
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %83 = icmp eq i32 %9, 0
  br i1 %83, label %84, label %88

84:                                               ; preds = %82
  %85 = load float, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), i64 4), align 4, !tbaa !11
  %86 = load float, ptr %19, align 4, !tbaa !11
  %87 = fadd contract float %85, %86
  store float %87, ptr %19, align 4, !tbaa !11
  br label %88

88:                                               ; preds = %84, %82
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %89 = icmp eq i32 %9, 0
  br i1 %89, label %90, label %99

90:                                               ; preds = %88
  %91 = load float, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4part to ptr), align 4, !tbaa !11
  %92 = zext nneg i32 %6 to i64
  %93 = getelementptr inbounds nuw float, ptr %1, i64 %92
  store float %91, ptr %93, align 4, !tbaa !11
  tail call void @llvm.nvvm.membar.gl()
  %94 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %95 = atomicrmw uinc_wrap ptr %3, i32 %94 seq_cst, align 4
  %96 = add nsw i32 %94, -1
  %97 = icmp eq i32 %95, %96
  %98 = zext i1 %97 to i8
  store i8 %98, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4last to ptr), align 1, !tbaa !13
  br label %99

99:                                               ; preds = %90, %88
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %100 = load i8, ptr addrspacecast (ptr addrspace(3) @_ZZ17reduce_last_blockPKfPfS1_PjiE4last to ptr), align 1, !tbaa !13, !range !15, !noundef !16
  %101 = trunc nuw i8 %100 to i1
  %102 = and i1 %89, %101
  br i1 %102, label %103, label %154

103:                                              ; preds = %99
  tail call void @llvm.nvvm.membar.gl()
  %104 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %105 = and i32 %104, 3
  %106 = icmp samesign ult i32 %104, 4
  br i1 %106, label %111, label %107

107:                                              ; preds = %103
  %108 = and i32 %104, 2147483644
  br label %128

109:                                              ; preds = %128
  %110 = icmp eq i32 %105, 0
  br i1 %110, label %126, label %111

111:                                              ; preds = %109, %103
  %112 = phi i32 [ 0, %103 ], [ %151, %109 ]
  %113 = phi float [ 0.000000e+00, %103 ], [ %150, %109 ]
  %114 = icmp ne i32 %105, 0
  tail call void @llvm.assume(i1 %114)
  br label %115

115:                                              ; preds = %115, %111
  %116 = phi i32 [ %112, %111 ], [ %123, %115 ]
  %117 = phi float [ %113, %111 ], [ %122, %115 ]
  %118 = phi i32 [ 0, %111 ], [ %124, %115 ]
  %119 = zext nneg i32 %116 to i64
  %120 = getelementptr inbounds nuw float, ptr %1, i64 %119
  %121 = load volatile float, ptr %120, align 4, !tbaa !11
  %122 = fadd contract float %117, %121
  %123 = add nuw nsw i32 %116, 1
  %124 = add i32 %118, 1
  %125 = icmp eq i32 %124, %105
  br i1 %125, label %126, label %115, !llvm.loop !17

126:                                              ; preds = %115, %109
  %127 = phi float [ %150, %109 ], [ %122, %115 ]
  store float %127, ptr %2, align 4, !tbaa !11
  br label %154

128:                                              ; preds = %128, %107
  %129 = phi i32 [ 0, %107 ], [ %151, %128 ]
  %130 = phi float [ 0.000000e+00, %107 ], [ %150, %128 ]
  %131 = phi i32 [ 0, %107 ], [ %152, %128 ]
  %132 = zext nneg i32 %129 to i64
  %133 = getelementptr inbounds nuw float, ptr %1, i64 %132
  %134 = load volatile float, ptr %133, align 4, !tbaa !11
  %135 = fadd contract float %130, %134
  %136 = zext nneg i32 %129 to i64
  %137 = getelementptr inbounds nuw float, ptr %1, i64 %136
  %138 = getelementptr inbounds nuw i8, ptr %137, i64 4
  %139 = load volatile float, ptr %138, align 4, !tbaa !11
  %140 = fadd contract float %135, %139
  %141 = zext nneg i32 %129 to i64
  %142 = getelementptr inbounds nuw float, ptr %1, i64 %141
  %143 = getelementptr inbounds nuw i8, ptr %142, i64 8
  %144 = load volatile float, ptr %143, align 4, !tbaa !11
  %145 = fadd contract float %140, %144
  %146 = zext nneg i32 %129 to i64
  %147 = getelementptr inbounds nuw float, ptr %1, i64 %146
  %148 = getelementptr inbounds nuw i8, ptr %147, i64 12
  %149 = load volatile float, ptr %148, align 4, !tbaa !11
  %150 = fadd contract float %145, %149
  %151 = add nuw nsw i32 %129, 4
  %152 = add i32 %131, 4
  %153 = icmp eq i32 %152, %108
  br i1 %153, label %109, label %128, !llvm.loop !19

154:                                              ; preds = %99, %126
  ret void
}

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

define dso_local ptx_kernel void @_Z17append_under_lockPiS_S_i(ptr noundef captures(none) %0, ptr noundef writeonly captures(none) %1, ptr noundef captures(none) %2, i32 noundef %3) local_unnamed_addr #2 {
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %7, label %19

7:                                                ; preds = %4, %7
  %8 = cmpxchg ptr %0, i32 0, i32 1 seq_cst seq_cst, align 4
  %9 = extractvalue { i32, i1 } %8, 1
  br i1 %9, label %10, label %7, !llvm.loop !21

10:                                               ; preds = %7
  tail call void @llvm.nvvm.membar.gl()
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %12 = add i32 %3, %11
  %13 = load i32, ptr %2, align 4, !tbaa !6
  %14 = sext i32 %13 to i64
  %15 = getelementptr inbounds i32, ptr %1, i64 %14
  store i32 %12, ptr %15, align 4, !tbaa !6
  %16 = load i32, ptr %2, align 4, !tbaa !6
  %17 = add nsw i32 %16, 1
  store i32 %17, ptr %2, align 4, !tbaa !6
  tail call void @llvm.nvvm.membar.gl()
  %18 = atomicrmw xchg ptr %0, i32 0 seq_cst, align 4
  br label %19

19:                                               ; preds = %10, %4
  ret void
}

define dso_local ptx_kernel void @_Z11ticket_lockPjS_Pi(ptr noundef captures(none) %0, ptr noundef captures(none) %1, ptr noundef captures(none) %2) local_unnamed_addr #3 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %15

6:                                                ; preds = %3
  %7 = atomicrmw add ptr %0, i32 1 monotonic, align 4
  br label %8

8:                                                ; preds = %8, %6
  %9 = load atomic i32, ptr %1 acquire, align 4
  %10 = icmp eq i32 %9, %7
  br i1 %10, label %11, label %8, !llvm.loop !22

11:                                               ; preds = %8
  %12 = load i32, ptr %2, align 4, !tbaa !6
  %13 = add nsw i32 %12, 1
  store i32 %13, ptr %2, align 4, !tbaa !6
  %14 = add i32 %7, 1
  store atomic i32 %14, ptr %1 release, align 4
  br label %15

15:                                               ; preds = %11, %3
  ret void
}

define dso_local ptx_kernel void @_Z9look_backPKiPiPViS3_i(ptr noundef readonly captures(none) %0, ptr noundef writeonly captures(none) %1, ptr noundef %2, ptr noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %8 = mul i32 %6, %7
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %10 = add i32 %8, %9
  %11 = icmp slt i32 %10, %4
  br i1 %11, label %12, label %16

12:                                               ; preds = %5
  %13 = sext i32 %10 to i64
  %14 = getelementptr inbounds i32, ptr %0, i64 %13
  %15 = load i32, ptr %14, align 4, !tbaa !6
  br label %16

16:                                               ; preds = %5, %12
  %17 = phi i32 [ %15, %12 ], [ 0, %5 ]
  %18 = icmp eq i32 %9, 0
  br i1 %18, label %19, label %37

19:                                               ; preds = %16
  %20 = icmp eq i32 %6, 0
  br i1 %20, label %31, label %21

21:                                               ; preds = %19
  %22 = add nsw i32 %6, -1
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw i32, ptr %3, i64 %23
  br label %25

25:                                               ; preds = %21, %25
  %26 = load volatile i32, ptr %24, align 4, !tbaa !6
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %25, label %28, !llvm.loop !23

28:                                               ; preds = %25
  tail call void @llvm.nvvm.membar.gl()
  %29 = getelementptr inbounds nuw i32, ptr %2, i64 %23
  %30 = load volatile i32, ptr %29, align 4, !tbaa !6
  br label %31

31:                                               ; preds = %28, %19
  %32 = phi i32 [ %30, %28 ], [ 0, %19 ]
  store i32 %32, ptr addrspacecast (ptr addrspace(3) @_ZZ9look_backPKiPiPViS3_iE6before to ptr), align 4, !tbaa !6
  %33 = add nsw i32 %32, %17
  %34 = zext nneg i32 %6 to i64
  %35 = getelementptr inbounds nuw i32, ptr %2, i64 %34
  store volatile i32 %33, ptr %35, align 4, !tbaa !6
  tail call void @llvm.nvvm.membar.gl()
  %36 = getelementptr inbounds nuw i32, ptr %3, i64 %34
  store volatile i32 1, ptr %36, align 4, !tbaa !6
  br label %37

37:                                               ; preds = %31, %16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %11, label %38, label %43

38:                                               ; preds = %37
  %39 = sext i32 %10 to i64
  %40 = getelementptr inbounds i32, ptr %1, i64 %39
  %41 = load i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9look_backPKiPiPViS3_iE6before to ptr), align 4, !tbaa !6
  %42 = add nsw i32 %41, %17
  store i32 %42, ptr %40, align 4, !tbaa !6
  br label %43

43:                                               ; preds = %38, %37
  ret void
}

define dso_local ptx_kernel void @_Z12grid_barrierPjPVjPfi(ptr noundef captures(none) %0, ptr noundef %1, ptr noundef captures(none) %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = icmp sgt i32 %3, 0
  br i1 %5, label %6, label %16

6:                                                ; preds = %4
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %9 = mul i32 %7, %8
  %10 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %11 = add i32 %9, %10
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw float, ptr %2, i64 %12
  %14 = icmp eq i32 %10, 0
  %15 = tail call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  br label %17

16:                                               ; preds = %34, %4
  ret void

17:                                               ; preds = %6, %34
  %18 = phi i32 [ 0, %6 ], [ %35, %34 ]
  %19 = load float, ptr %13, align 4, !tbaa !11
  %20 = fadd contract float %19, 1.000000e+00
  store float %20, ptr %13, align 4, !tbaa !11
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %14, label %23, label %21

21:                                               ; preds = %17
  %22 = add nuw nsw i32 %18, 1
  br label %34

23:                                               ; preds = %17
  tail call void @llvm.nvvm.membar.gl()
  %24 = atomicrmw add ptr %0, i32 1 seq_cst, align 4
  %25 = add nuw nsw i32 %18, 1
  %26 = mul i32 %25, %15
  %27 = add i32 %26, -1
  %28 = icmp eq i32 %24, %27
  br i1 %28, label %29, label %30

29:                                               ; preds = %23
  store volatile i32 %25, ptr %1, align 4, !tbaa !6
  br label %33

30:                                               ; preds = %23, %30
  %31 = load volatile i32, ptr %1, align 4, !tbaa !6
  %32 = icmp ugt i32 %31, %18
  br i1 %32, label %33, label %30, !llvm.loop !24

33:                                               ; preds = %30, %29
  tail call void @llvm.nvvm.membar.gl()
  br label %34

34:                                               ; preds = %21, %33
  %35 = phi i32 [ %22, %21 ], [ %25, %33 ]
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %36 = icmp eq i32 %35, %3
  br i1 %36, label %16, label %17, !llvm.loop !25
}

define dso_local ptx_kernel void @_Z9histogramPKhPji(ptr noalias noundef readonly captures(none) %0, ptr noalias noundef captures(none) %1, i32 noundef %2) local_unnamed_addr #0 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9histogramPKhPjiE5local to ptr), i64 %5
  store i32 0, ptr %6, align 4, !tbaa !6
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %9 = mul i32 %7, %8
  %10 = add i32 %9, %4
  %11 = icmp slt i32 %10, %2
  br i1 %11, label %12, label %15

12:                                               ; preds = %3
  %13 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %14 = mul i32 %13, %8
  br label %19

15:                                               ; preds = %19, %3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %16 = getelementptr inbounds nuw i32, ptr %1, i64 %5
  %17 = load i32, ptr %6, align 4, !tbaa !6
  %18 = atomicrmw add ptr %16, i32 %17 seq_cst, align 4
  ret void

19:                                               ; preds = %12, %19
  %20 = phi i32 [ %10, %12 ], [ %27, %19 ]
  %21 = sext i32 %20 to i64
  %22 = getelementptr inbounds i8, ptr %0, i64 %21
  %23 = load i8, ptr %22, align 1, !tbaa !26
  %24 = zext i8 %23 to i64
  %25 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9histogramPKhPjiE5local to ptr), i64 %24
  %26 = atomicrmw add ptr %25, i32 1 seq_cst, align 4
  %27 = add i32 %20, %14
  %28 = icmp slt i32 %27, %2
  br i1 %28, label %19, label %15, !llvm.loop !27
}

define dso_local ptx_kernel void @_Z4pipePiPjS0_S_i(ptr noundef captures(none) %0, ptr noundef captures(none) %1, ptr noundef captures(none) %2, ptr noundef writeonly captures(none) %3, i32 noundef %4) local_unnamed_addr #3 {
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %8 = or i32 %6, %7
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %10, label %40

10:                                               ; preds = %5
  %11 = icmp sgt i32 %4, 0
  br i1 %11, label %12, label %106

12:                                               ; preds = %10
  %13 = and i32 %4, 1
  %14 = icmp eq i32 %4, 1
  br i1 %14, label %78, label %15

15:                                               ; preds = %12
  %16 = and i32 %4, 2147483646
  br label %17

17:                                               ; preds = %33, %15
  %18 = phi i32 [ 0, %15 ], [ %37, %33 ]
  %19 = phi i32 [ 0, %15 ], [ %38, %33 ]
  br label %20

20:                                               ; preds = %17, %20
  %21 = load atomic i32, ptr %2 acquire, align 4
  %22 = sub i32 %18, %21
  %23 = icmp ugt i32 %22, 15
  br i1 %23, label %20, label %24, !llvm.loop !28

24:                                               ; preds = %20
  %25 = and i32 %18, 14
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw i32, ptr %0, i64 %26
  store i32 %18, ptr %27, align 4, !tbaa !6
  %28 = or disjoint i32 %18, 1
  store atomic i32 %28, ptr %1 release, align 4
  br label %29

29:                                               ; preds = %29, %24
  %30 = load atomic i32, ptr %2 acquire, align 4
  %31 = sub i32 %28, %30
  %32 = icmp ugt i32 %31, 15
  br i1 %32, label %29, label %33, !llvm.loop !28

33:                                               ; preds = %29
  %34 = and i32 %28, 15
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw i32, ptr %0, i64 %35
  store i32 %28, ptr %36, align 4, !tbaa !6
  %37 = add nuw nsw i32 %18, 2
  store atomic i32 %37, ptr %1 release, align 4
  %38 = add i32 %19, 2
  %39 = icmp eq i32 %38, %16
  br i1 %39, label %76, label %17, !llvm.loop !29

40:                                               ; preds = %5
  %41 = icmp eq i32 %7, 0
  %42 = icmp sgt i32 %4, 0
  %43 = and i1 %41, %42
  br i1 %43, label %44, label %106

44:                                               ; preds = %40
  %45 = and i32 %4, 1
  %46 = icmp eq i32 %4, 1
  br i1 %46, label %92, label %47

47:                                               ; preds = %44
  %48 = and i32 %4, 2147483646
  br label %49

49:                                               ; preds = %66, %47
  %50 = phi i32 [ 0, %47 ], [ %73, %66 ]
  %51 = phi i32 [ 0, %47 ], [ %74, %66 ]
  br label %52

52:                                               ; preds = %49, %52
  %53 = load atomic i32, ptr %1 acquire, align 4
  %54 = icmp ugt i32 %53, %50
  br i1 %54, label %55, label %52, !llvm.loop !30

55:                                               ; preds = %52
  %56 = and i32 %50, 14
  %57 = zext nneg i32 %56 to i64
  %58 = getelementptr inbounds nuw i32, ptr %0, i64 %57
  %59 = load i32, ptr %58, align 4, !tbaa !6
  %60 = zext nneg i32 %50 to i64
  %61 = getelementptr inbounds nuw i32, ptr %3, i64 %60
  store i32 %59, ptr %61, align 4, !tbaa !6
  %62 = or disjoint i32 %50, 1
  store atomic i32 %62, ptr %2 release, align 4
  br label %63

63:                                               ; preds = %63, %55
  %64 = load atomic i32, ptr %1 acquire, align 4
  %65 = icmp ugt i32 %64, %62
  br i1 %65, label %66, label %63, !llvm.loop !30

66:                                               ; preds = %63
  %67 = and i32 %62, 15
  %68 = zext nneg i32 %67 to i64
  %69 = getelementptr inbounds nuw i32, ptr %0, i64 %68
  %70 = load i32, ptr %69, align 4, !tbaa !6
  %71 = zext nneg i32 %62 to i64
  %72 = getelementptr inbounds nuw i32, ptr %3, i64 %71
  store i32 %70, ptr %72, align 4, !tbaa !6
  %73 = add nuw nsw i32 %50, 2
  store atomic i32 %73, ptr %2 release, align 4
  %74 = add nuw i32 %51, 2
  %75 = icmp eq i32 %74, %48
  br i1 %75, label %90, label %49, !llvm.loop !31

76:                                               ; preds = %33
  %77 = icmp eq i32 %13, 0
  br i1 %77, label %106, label %78

78:                                               ; preds = %76, %12
  %79 = phi i32 [ 0, %12 ], [ %37, %76 ]
  %80 = icmp ne i32 %13, 0
  tail call void @llvm.assume(i1 %80)
  br label %81

81:                                               ; preds = %81, %78
  %82 = load atomic i32, ptr %2 acquire, align 4
  %83 = sub i32 %79, %82
  %84 = icmp ugt i32 %83, 15
  br i1 %84, label %81, label %85, !llvm.loop !28

85:                                               ; preds = %81
  %86 = and i32 %79, 15
  %87 = zext nneg i32 %86 to i64
  %88 = getelementptr inbounds nuw i32, ptr %0, i64 %87
  store i32 %79, ptr %88, align 4, !tbaa !6
  %89 = add nuw nsw i32 %79, 1
  store atomic i32 %89, ptr %1 release, align 4
  br label %106

90:                                               ; preds = %66
  %91 = icmp eq i32 %45, 0
  br i1 %91, label %106, label %92

92:                                               ; preds = %90, %44
  %93 = phi i32 [ 0, %44 ], [ %73, %90 ]
  %94 = icmp ne i32 %45, 0
  tail call void @llvm.assume(i1 %94)
  br label %95

95:                                               ; preds = %95, %92
  %96 = load atomic i32, ptr %1 acquire, align 4
  %97 = icmp ugt i32 %96, %93
  br i1 %97, label %98, label %95, !llvm.loop !30

98:                                               ; preds = %95
  %99 = and i32 %93, 15
  %100 = zext nneg i32 %99 to i64
  %101 = getelementptr inbounds nuw i32, ptr %0, i64 %100
  %102 = load i32, ptr %101, align 4, !tbaa !6
  %103 = zext nneg i32 %93 to i64
  %104 = getelementptr inbounds nuw i32, ptr %3, i64 %103
  store i32 %102, ptr %104, align 4, !tbaa !6
  %105 = add nuw nsw i32 %93, 1
  store atomic i32 %105, ptr %2 release, align 4
  br label %106

106:                                              ; preds = %98, %90, %85, %76, %10, %40
  ret void
}

define dso_local ptx_kernel void @_Z5stealPiS_S_S_(ptr noundef readonly captures(none) %0, ptr noundef captures(none) %1, ptr noundef captures(none) %2, ptr noundef writeonly captures(none) %3) local_unnamed_addr #4 {
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %7, label %33

7:                                                ; preds = %4
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %10, label %19

10:                                               ; preds = %7
  %11 = load atomic i32, ptr %2 monotonic, align 4
  %12 = add nsw i32 %11, -1
  store atomic i32 %12, ptr %2 seq_cst, align 4
  fence seq_cst
  %13 = load atomic i32, ptr %1 seq_cst, align 4
  %14 = icmp slt i32 %13, %12
  br i1 %14, label %15, label %33

15:                                               ; preds = %10
  %16 = sext i32 %12 to i64
  %17 = getelementptr inbounds i32, ptr %0, i64 %16
  %18 = load i32, ptr %17, align 4, !tbaa !6
  store i32 %18, ptr %3, align 4, !tbaa !6
  br label %33

19:                                               ; preds = %7
  %20 = load atomic i32, ptr %1 seq_cst, align 4
  fence seq_cst
  %21 = load atomic i32, ptr %2 seq_cst, align 4
  %22 = icmp slt i32 %20, %21
  br i1 %22, label %23, label %33

23:                                               ; preds = %19
  %24 = add nsw i32 %20, 1
  %25 = cmpxchg ptr %1, i32 %20, i32 %24 seq_cst seq_cst, align 4
  %26 = extractvalue { i32, i1 } %25, 1
  br i1 %26, label %27, label %33

27:                                               ; preds = %23
  %28 = zext nneg i32 %8 to i64
  %29 = getelementptr inbounds nuw i32, ptr %3, i64 %28
  %30 = sext i32 %20 to i64
  %31 = getelementptr inbounds i32, ptr %0, i64 %30
  %32 = load i32, ptr %31, align 4, !tbaa !6
  store i32 %32, ptr %29, align 4, !tbaa !6
  br label %33

33:                                               ; preds = %19, %23, %27, %10, %15, %4
  ret void
}

define dso_local ptx_kernel void @_Z7split_kPKfS0_Pfii(ptr noalias noundef readonly captures(none) %0, ptr noalias noundef readonly captures(none) %1, ptr noundef captures(none) %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %9 = shl nuw nsw i32 %8, 4
  %10 = add nuw nsw i32 %9, %7
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %12 = shl i32 %11, 4
  %13 = add i32 %12, %6
  %14 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %15 = shl nuw nsw i32 %14, 4
  %16 = icmp slt i32 %15, %4
  br i1 %16, label %17, label %59

17:                                               ; preds = %5
  %18 = mul nsw i32 %4, %10
  %19 = add nuw i32 %18, %6
  %20 = zext nneg i32 %7 to i64
  %21 = getelementptr inbounds nuw [16 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ7split_kPKfS0_PfiiE2ta to ptr), i64 %20
  %22 = zext nneg i32 %6 to i64
  %23 = getelementptr inbounds nuw float, ptr %21, i64 %22
  %24 = getelementptr inbounds nuw [16 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ7split_kPKfS0_PfiiE2tb to ptr), i64 %20
  %25 = getelementptr inbounds nuw float, ptr %24, i64 %22
  %26 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7split_kPKfS0_PfiiE2tb to ptr), i64 %22
  %27 = tail call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  %28 = shl nuw nsw i32 %27, 4
  %29 = getelementptr inbounds nuw i8, ptr %21, i64 4
  %30 = getelementptr inbounds nuw i8, ptr %26, i64 64
  %31 = getelementptr inbounds nuw i8, ptr %21, i64 8
  %32 = getelementptr inbounds nuw i8, ptr %26, i64 128
  %33 = getelementptr inbounds nuw i8, ptr %21, i64 12
  %34 = getelementptr inbounds nuw i8, ptr %26, i64 192
  %35 = getelementptr inbounds nuw i8, ptr %21, i64 16
  %36 = getelementptr inbounds nuw i8, ptr %26, i64 256
  %37 = getelementptr inbounds nuw i8, ptr %21, i64 20
  %38 = getelementptr inbounds nuw i8, ptr %26, i64 320
  %39 = getelementptr inbounds nuw i8, ptr %21, i64 24
  %40 = getelementptr inbounds nuw i8, ptr %26, i64 384
  %41 = getelementptr inbounds nuw i8, ptr %21, i64 28
  %42 = getelementptr inbounds nuw i8, ptr %26, i64 448
  %43 = getelementptr inbounds nuw i8, ptr %21, i64 32
  %44 = getelementptr inbounds nuw i8, ptr %26, i64 512
  %45 = getelementptr inbounds nuw i8, ptr %21, i64 36
  %46 = getelementptr inbounds nuw i8, ptr %26, i64 576
  %47 = getelementptr inbounds nuw i8, ptr %21, i64 40
  %48 = getelementptr inbounds nuw i8, ptr %26, i64 640
  %49 = getelementptr inbounds nuw i8, ptr %21, i64 44
  %50 = getelementptr inbounds nuw i8, ptr %26, i64 704
  %51 = getelementptr inbounds nuw i8, ptr %21, i64 48
  %52 = getelementptr inbounds nuw i8, ptr %26, i64 768
  %53 = getelementptr inbounds nuw i8, ptr %21, i64 52
  %54 = getelementptr inbounds nuw i8, ptr %26, i64 832
  %55 = getelementptr inbounds nuw i8, ptr %21, i64 56
  %56 = getelementptr inbounds nuw i8, ptr %26, i64 896
  %57 = getelementptr inbounds nuw i8, ptr %21, i64 60
  %58 = getelementptr inbounds nuw i8, ptr %26, i64 960
  br label %66

59:                                               ; preds = %66, %5
  %60 = phi float [ 0.000000e+00, %5 ], [ %142, %66 ]
  %61 = mul nsw i32 %3, %10
  %62 = add nsw i32 %61, %13
  %63 = sext i32 %62 to i64
  %64 = getelementptr inbounds float, ptr %2, i64 %63
  %65 = atomicrmw fadd ptr %64, float %60 seq_cst, align 4
  ret void

66:                                               ; preds = %17, %66
  %67 = phi i32 [ %15, %17 ], [ %143, %66 ]
  %68 = phi float [ 0.000000e+00, %17 ], [ %142, %66 ]
  %69 = add i32 %19, %67
  %70 = sext i32 %69 to i64
  %71 = getelementptr inbounds float, ptr %0, i64 %70
  %72 = load float, ptr %71, align 4, !tbaa !11
  store float %72, ptr %23, align 4, !tbaa !11
  %73 = add nsw i32 %67, %7
  %74 = mul nsw i32 %73, %3
  %75 = add nsw i32 %74, %13
  %76 = sext i32 %75 to i64
  %77 = getelementptr inbounds float, ptr %1, i64 %76
  %78 = load float, ptr %77, align 4, !tbaa !11
  store float %78, ptr %25, align 4, !tbaa !11
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %79 = load float, ptr %21, align 4, !tbaa !11
  %80 = load float, ptr %26, align 4, !tbaa !11
  %81 = fmul contract float %79, %80
  %82 = fadd contract float %68, %81
  %83 = load float, ptr %29, align 4, !tbaa !11
  %84 = load float, ptr %30, align 4, !tbaa !11
  %85 = fmul contract float %83, %84
  %86 = fadd contract float %82, %85
  %87 = load float, ptr %31, align 4, !tbaa !11
  %88 = load float, ptr %32, align 4, !tbaa !11
  %89 = fmul contract float %87, %88
  %90 = fadd contract float %86, %89
  %91 = load float, ptr %33, align 4, !tbaa !11
  %92 = load float, ptr %34, align 4, !tbaa !11
  %93 = fmul contract float %91, %92
  %94 = fadd contract float %90, %93
  %95 = load float, ptr %35, align 4, !tbaa !11
  %96 = load float, ptr %36, align 4, !tbaa !11
  %97 = fmul contract float %95, %96
  %98 = fadd contract float %94, %97
  %99 = load float, ptr %37, align 4, !tbaa !11
  %100 = load float, ptr %38, align 4, !tbaa !11
  %101 = fmul contract float %99, %100
  %102 = fadd contract float %98, %101
  %103 = load float, ptr %39, align 4, !tbaa !11
  %104 = load float, ptr %40, align 4, !tbaa !11
  %105 = fmul contract float %103, %104
  %106 = fadd contract float %102, %105
  %107 = load float, ptr %41, align 4, !tbaa !11
  %108 = load float, ptr %42, align 4, !tbaa !11
  %109 = fmul contract float %107, %108
  %110 = fadd contract float %106, %109
  %111 = load float, ptr %43, align 4, !tbaa !11
  %112 = load float, ptr %44, align 4, !tbaa !11
  %113 = fmul contract float %111, %112
  %114 = fadd contract float %110, %113
  %115 = load float, ptr %45, align 4, !tbaa !11
  %116 = load float, ptr %46, align 4, !tbaa !11
  %117 = fmul contract float %115, %116
  %118 = fadd contract float %114, %117
  %119 = load float, ptr %47, align 4, !tbaa !11
  %120 = load float, ptr %48, align 4, !tbaa !11
  %121 = fmul contract float %119, %120
  %122 = fadd contract float %118, %121
  %123 = load float, ptr %49, align 4, !tbaa !11
  %124 = load float, ptr %50, align 4, !tbaa !11
  %125 = fmul contract float %123, %124
  %126 = fadd contract float %122, %125
  %127 = load float, ptr %51, align 4, !tbaa !11
  %128 = load float, ptr %52, align 4, !tbaa !11
  %129 = fmul contract float %127, %128
  %130 = fadd contract float %126, %129
  %131 = load float, ptr %53, align 4, !tbaa !11
  %132 = load float, ptr %54, align 4, !tbaa !11
  %133 = fmul contract float %131, %132
  %134 = fadd contract float %130, %133
  %135 = load float, ptr %55, align 4, !tbaa !11
  %136 = load float, ptr %56, align 4, !tbaa !11
  %137 = fmul contract float %135, %136
  %138 = fadd contract float %134, %137
  %139 = load float, ptr %57, align 4, !tbaa !11
  %140 = load float, ptr %58, align 4, !tbaa !11
  %141 = fmul contract float %139, %140
  %142 = fadd contract float %138, %141
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %143 = add i32 %67, %28
  %144 = icmp slt i32 %143, %4
  br i1 %144, label %66, label %59, !llvm.loop !32
}

define dso_local ptx_kernel void @_Z8frontierPKiS0_PiS1_Pjii(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef captures(none) %2, ptr noundef writeonly captures(none) %3, ptr noundef captures(none) %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #3 {
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %10 = mul i32 %8, %9
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %12 = add i32 %10, %11
  %13 = icmp slt i32 %12, %6
  br i1 %13, label %14, label %44

14:                                               ; preds = %7
  %15 = sext i32 %12 to i64
  %16 = getelementptr inbounds i32, ptr %2, i64 %15
  %17 = load i32, ptr %16, align 4, !tbaa !6
  %18 = icmp eq i32 %17, %5
  br i1 %18, label %19, label %44

19:                                               ; preds = %14
  %20 = getelementptr inbounds i32, ptr %0, i64 %15
  %21 = load i32, ptr %20, align 4, !tbaa !6
  %22 = getelementptr i8, ptr %20, i64 4
  %23 = load i32, ptr %22, align 4, !tbaa !6
  %24 = icmp slt i32 %21, %23
  br i1 %24, label %25, label %44

25:                                               ; preds = %19
  %26 = add nsw i32 %5, 1
  br label %27

27:                                               ; preds = %25, %40
  %28 = phi i32 [ %21, %25 ], [ %41, %40 ]
  %29 = sext i32 %28 to i64
  %30 = getelementptr inbounds i32, ptr %1, i64 %29
  %31 = load i32, ptr %30, align 4, !tbaa !6
  %32 = sext i32 %31 to i64
  %33 = getelementptr inbounds i32, ptr %2, i64 %32
  %34 = cmpxchg ptr %33, i32 -1, i32 %26 seq_cst seq_cst, align 4
  %35 = extractvalue { i32, i1 } %34, 1
  br i1 %35, label %36, label %40

36:                                               ; preds = %27
  %37 = atomicrmw add ptr %4, i32 1 seq_cst, align 4
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %3, i64 %38
  store i32 %31, ptr %39, align 4, !tbaa !6
  br label %40

40:                                               ; preds = %36, %27
  %41 = add nsw i32 %28, 1
  %42 = load i32, ptr %22, align 4, !tbaa !6
  %43 = icmp slt i32 %41, %42
  br i1 %43, label %27, label %44, !llvm.loop !33

44:                                               ; preds = %40, %19, %7, %14
  ret void
}

declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #5

declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #5

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #5

declare void @llvm.nvvm.membar.gl() #6

declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #5

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.y() #5

declare noundef range(i32 0, 65535) i32 @llvm.nvvm.read.ptx.sreg.ctaid.y() #5

declare noundef range(i32 0, 65535) i32 @llvm.nvvm.read.ptx.sreg.ctaid.z() #5

declare noundef range(i32 1, 65536) i32 @llvm.nvvm.read.ptx.sreg.nctaid.z() #5

declare void @llvm.assume(i1 noundef) #7

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nofree noinline norecurse nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { mustprogress nofree noinline norecurse nounwind willreturn "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #5 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nounwind }
attributes #7 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4, !5}
!llvm.errno.tbaa = !{!6}
!nvvmir.version = !{!10}

!0 = !{i32 2, !"SDK Version", [2 x i32] [i32 12, i32 9]}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!3 = !{i32 7, !"frame-pointer", i32 2}
!4 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!5 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!6 = !{!7, !7, i64 0}
!7 = !{!"int", !8, i64 0}
!8 = !{!"omnipotent char", !9, i64 0}
!9 = !{!"Simple C++ TBAA"}
!10 = !{i32 2, i32 0}
!11 = !{!12, !12, i64 0}
!12 = !{!"float", !8, i64 0}
!13 = !{!14, !14, i64 0}
!14 = !{!"bool", !8, i64 0}
!15 = !{i8 0, i8 2}
!16 = !{}
!17 = distinct !{!17, !18}
!18 = !{!"llvm.loop.unroll.disable"}
!19 = distinct !{!19, !20}
!20 = !{!"llvm.loop.mustprogress"}
!21 = distinct !{!21, !20}
!22 = distinct !{!22, !20}
!23 = distinct !{!23, !20}
!24 = distinct !{!24, !20}
!25 = distinct !{!25, !20}
!26 = !{!8, !8, i64 0}
!27 = distinct !{!27, !20}
!28 = distinct !{!28, !20}
!29 = distinct !{!29, !20}
!30 = distinct !{!30, !20}
!31 = distinct !{!31, !20}
!32 = distinct !{!32, !20}
!33 = distinct !{!33, !20}
