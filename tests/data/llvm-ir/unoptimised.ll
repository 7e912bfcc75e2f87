; As clang -O0 writes it: every function is optnone, no value and no block has a name, and what
; is a local variable goes through memory.
target triple = "amdgcn-amd-amdhsa"

@0 = private unnamed_addr addrspace(4) constant [3 x i8] c"ab\00", align 1

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @publish(ptr addrspace(1) %0, ptr addrspace(1) %1, i32 %2) #0 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca i32, align 4, addrspace(5)
  store ptr addrspace(1) %0, ptr addrspace(5) %4, align 8
  store i32 %2, ptr addrspace(5) %5, align 4
  %6 = icmp eq i32 %2, 0
  br i1 %6, label %11, label %7

7:                                                ; preds = %3
  %8 = load ptr addrspace(1), ptr addrspace(5) %4, align 8
  %9 = load i32, ptr addrspace(5) %5, align 4
  store i32 %9, ptr addrspace(1) %8, align 4
  store atomic i32 1, ptr addrspace(1) %1 syncscope("agent") release, align 4
  %10 = call i32 @taken(ptr addrspace(1) %1)
  br label %11

11:                                               ; preds = %7, %3
  %12 = phi i32 [ %10, %7 ], [ 0, %3 ]
  store i32 %12, ptr addrspace(5) %5, align 4
  ret void
}

; Function Attrs: convergent noinline nounwind optnone
define internal i32 @taken(ptr addrspace(1) %0) #1 {
  %2 = cmpxchg ptr addrspace(1) %0, i32 1, i32 0 syncscope("agent") acquire monotonic, align 4
  %3 = extractvalue { i32, i1 } %2, 0
  %4 = getelementptr inbounds [3 x i8], ptr addrspace(4) @0, i64 0, i32 %3
  %5 = load volatile i8, ptr addrspace(4) %4, align 1
  %6 = zext i8 %5 to i32
  ret i32 %6
}

attributes #0 = { convergent noinline norecurse nounwind optnone "uniform-work-group-size"="true" }
attributes #1 = { convergent noinline nounwind optnone }
