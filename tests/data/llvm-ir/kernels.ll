; Kernels that synchronise: message passing, a spin lock, repeated fences, Dekker, prefetching.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
@lds = internal addrspace(3) global [1024 x i32] poison
@ldsflag = internal addrspace(3) global i32 poison

; message passing, producer loop: 4 stores, release flag, every iteration (agent)
define amdgpu_kernel void @mp_producer(ptr addrspace(1) %d, ptr addrspace(1) %f, i32 %n) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr [4 x i32], ptr addrspace(1) %d, i32 %t
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %a1 = getelementptr i32, ptr addrspace(1) %p, i64 1
  %a2 = getelementptr i32, ptr addrspace(1) %p, i64 2
  %a3 = getelementptr i32, ptr addrspace(1) %p, i64 300
  store i32 %i, ptr addrspace(1) %p
  store i32 %t, ptr addrspace(1) %a3
  %i1 = add i32 %i, 1
  store atomic i32 %i1, ptr addrspace(1) %f syncscope("agent") release, align 4
  %c = icmp ult i32 %i1, %n
  br i1 %c, label %loop, label %x
x:
  ret void
}
; consumer: spin on acquire load, then 4 loads -> LDS
define amdgpu_kernel void @mp_consumer_acqload(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %o) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr [4 x i32], ptr addrspace(1) %d, i32 %t
  %q = getelementptr [4 x i32], ptr addrspace(1) %o, i32 %t
  br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %spin, label %go
go:
  %x = load <4 x i32>, ptr addrspace(1) %p
  store <4 x i32> %x, ptr addrspace(1) %q
  ret void
}
; consumer: spin monotonic, then acquire fence
define amdgpu_kernel void @mp_consumer_fence(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %o) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr [4 x i32], ptr addrspace(1) %d, i32 %t
  %q = getelementptr [4 x i32], ptr addrspace(1) %o, i32 %t
  br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %spin, label %go
go:
  fence syncscope("agent") acquire
  %x = load <4 x i32>, ptr addrspace(1) %p
  store <4 x i32> %x, ptr addrspace(1) %q
  ret void
}
; spin lock, 4 loads + 4 stores inside
define amdgpu_kernel void @spinlock(ptr addrspace(1) %l, ptr addrspace(1) %d) {
entry:
  br label %spin
spin:
  %r = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic, align 4
  %ok = extractvalue { i32, i1 } %r, 1
  br i1 %ok, label %cs, label %spin
cs:
  %a1 = getelementptr i32, ptr addrspace(1) %d, i64 100
  %a2 = getelementptr i32, ptr addrspace(1) %d, i64 200
  %a3 = getelementptr i32, ptr addrspace(1) %d, i64 300
  %v0 = load i32, ptr addrspace(1) %d
  %v1 = load i32, ptr addrspace(1) %a1
  %v2 = load i32, ptr addrspace(1) %a2
  %v3 = load i32, ptr addrspace(1) %a3
  %w0 = add i32 %v0, 1
  %w1 = add i32 %v1, 1
  %w2 = add i32 %v2, 1
  %w3 = add i32 %v3, 1
  store i32 %w0, ptr addrspace(1) %d
  store i32 %w1, ptr addrspace(1) %a1
  store i32 %w2, ptr addrspace(1) %a2
  store i32 %w3, ptr addrspace(1) %a3
  store atomic i32 0, ptr addrspace(1) %l syncscope("agent") release, align 4
  ret void
}
; two consecutive release fences
define amdgpu_kernel void @two_release(ptr addrspace(1) %d, ptr addrspace(1) %f) {
  store i32 1, ptr addrspace(1) %d
  fence syncscope("agent") release
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
; release fence after only LDS accesses
define amdgpu_kernel void @release_lds_only(ptr addrspace(1) %f) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr [1024 x i32], ptr addrspace(3) @lds, i32 0, i32 %t
  store i32 %t, ptr addrspace(3) %p
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
; acquire load followed by acquire fence
define amdgpu_kernel void @acqload_acqfence(ptr addrspace(1) %f, ptr addrspace(1) %d, ptr addrspace(1) %o) {
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %d
  %y = add i32 %x, %v
  store i32 %y, ptr addrspace(1) %o
  ret void
}
; Dekker: seq_cst store x, seq_cst load y (system)
define amdgpu_kernel void @dekker(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %o) {
  store atomic i32 1, ptr addrspace(1) %x syncscope("agent") seq_cst, align 4
  %v = load atomic i32, ptr addrspace(1) %y syncscope("agent") seq_cst, align 4
  store i32 %v, ptr addrspace(1) %o
  ret void
}
; monotonic flag load, independent prefetch loads, acquire fence
define amdgpu_kernel void @fence_after_prefetch(ptr addrspace(1) %f, ptr addrspace(1) noalias %w, ptr addrspace(1) %d, ptr addrspace(1) %o) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  %a0 = getelementptr <4 x i32>, ptr addrspace(1) %w, i32 %t
  %a1 = getelementptr <4 x i32>, ptr addrspace(1) %a0, i64 1024
  %x0 = load <4 x i32>, ptr addrspace(1) %a0
  %x1 = load <4 x i32>, ptr addrspace(1) %a1
  fence syncscope("agent") acquire
  %b = getelementptr <4 x i32>, ptr addrspace(1) %d, i32 %t
  %y = load <4 x i32>, ptr addrspace(1) %b
  %s0 = add <4 x i32> %x0, %x1
  %s1 = add <4 x i32> %s0, %y
  %q = getelementptr <4 x i32>, ptr addrspace(1) %o, i32 %t
  %vv = insertelement <4 x i32> %s1, i32 %v, i32 0
  store <4 x i32> %vv, ptr addrspace(1) %q
  ret void
}
