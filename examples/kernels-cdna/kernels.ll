; The eighteen kernels of kernels.mlir in LLVM IR, for comparison with what LLVM makes of them.
target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.s.barrier()

define amdgpu_kernel void @mp_producer(ptr addrspace(1) %d, ptr addrspace(1) %e, ptr addrspace(1) %f, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  store i32 %i, ptr addrspace(1) %d
  store i32 1, ptr addrspace(1) %e
  %next = add i32 %i, 1
  store atomic i32 %next, ptr addrspace(1) %f syncscope("agent") release, align 4
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define amdgpu_kernel void @mp_consumer_acquire_load(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %o) {
entry:
  br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %spin, label %go
go:
  %x = load i32, ptr addrspace(1) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @mp_consumer_fence(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %o) {
entry:
  br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %spin, label %go
go:
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @spin_lock(ptr addrspace(1) %l, ptr addrspace(1) %d, ptr addrspace(1) %e) {
entry:
  br label %spin
spin:
  %r = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic, align 4
  %ok = extractvalue { i32, i1 } %r, 1
  br i1 %ok, label %critical, label %spin
critical:
  %v0 = load i32, ptr addrspace(1) %d
  %v1 = load i32, ptr addrspace(1) %e
  %w0 = add i32 %v0, 1
  %w1 = add i32 %v1, 1
  store i32 %w0, ptr addrspace(1) %d
  store i32 %w1, ptr addrspace(1) %e
  store atomic i32 0, ptr addrspace(1) %l syncscope("agent") release, align 4
  ret void
}
define amdgpu_kernel void @look_back(ptr addrspace(1) %p, ptr addrspace(1) %c, ptr addrspace(1) %f, ptr addrspace(1) %its_p, ptr addrspace(1) %its_c, ptr addrspace(1) %its_f, i32 %partial) {
entry:
  store i32 %partial, ptr addrspace(1) %p
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") release, align 4
  br label %look
look:
  %state = load atomic i32, ptr addrspace(1) %its_f syncscope("agent") acquire, align 4
  %some = icmp ne i32 %state, 0
  br i1 %some, label %add, label %look
add:
  %x = load i32, ptr addrspace(1) %its_p
  %whole = icmp eq i32 %state, 2
  br i1 %whole, label %publish, label %look
publish:
  %y = load i32, ptr addrspace(1) %its_c
  %before = add i32 %x, %y
  store i32 %before, ptr addrspace(1) %c
  store atomic i32 2, ptr addrspace(1) %f syncscope("agent") release, align 4
  ret void
}
define amdgpu_kernel void @grid_barrier(ptr addrspace(1) %d, ptr addrspace(1) %e, ptr addrspace(1) %c, i32 %n, i32 %leads, ptr addrspace(1) %o) {
entry:
  store i32 1, ptr addrspace(1) %d
  fence syncscope("agent") release
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %leader = icmp ne i32 %leads, 0
  br i1 %leader, label %arrive, label %join
arrive:
  %before = atomicrmw add ptr addrspace(1) %c, i32 1 syncscope("agent") release, align 4
  br label %spin
spin:
  %arrived = load atomic i32, ptr addrspace(1) %c syncscope("agent") acquire, align 4
  %waiting = icmp ult i32 %arrived, %n
  br i1 %waiting, label %spin, label %join
join:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %e
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @two_release_fences(ptr addrspace(1) %d, ptr addrspace(1) %f) {
  store i32 1, ptr addrspace(1) %d
  fence syncscope("agent") release
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
define amdgpu_kernel void @two_release_stores(ptr addrspace(1) %d, ptr addrspace(1) %f, ptr addrspace(1) %g) {
  store i32 1, ptr addrspace(1) %d
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") release, align 4
  store atomic i32 1, ptr addrspace(1) %g syncscope("agent") release, align 4
  ret void
}
define amdgpu_kernel void @release_after_lds(ptr addrspace(3) %s, ptr addrspace(1) %f) {
  store i32 1, ptr addrspace(3) %s
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
define amdgpu_kernel void @acquire_load_and_fence(ptr addrspace(1) %f, ptr addrspace(1) %d, ptr addrspace(1) %o) {
entry:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  fence syncscope("agent") acquire
  %some = icmp ne i32 %v, 0
  br i1 %some, label %go, label %done
go:
  %x = load i32, ptr addrspace(1) %d
  %y = add i32 %x, %v
  store i32 %y, ptr addrspace(1) %o
  ret void
done:
  ret void
}
define amdgpu_kernel void @mp_in_lds(ptr addrspace(3) %s, ptr addrspace(3) %f, i32 %leads, ptr addrspace(1) %o) {
entry:
  %leader = icmp ne i32 %leads, 0
  br i1 %leader, label %produce, label %spin
produce:
  store i32 1, ptr addrspace(3) %s
  store atomic i32 1, ptr addrspace(3) %f syncscope("workgroup") release, align 4
  ret void
spin:
  %v = load atomic i32, ptr addrspace(3) %f syncscope("workgroup") acquire, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %spin, label %go
go:
  %x = load i32, ptr addrspace(3) %s
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @dekker(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %o) {
  store atomic i32 1, ptr addrspace(1) %x syncscope("agent") seq_cst, align 4
  %v = load atomic i32, ptr addrspace(1) %y syncscope("agent") seq_cst, align 4
  store i32 %v, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @acq_rel_rmw_loop(ptr addrspace(1) %c, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %old = atomicrmw add ptr addrspace(1) %c, i32 1 syncscope("agent") acq_rel, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define amdgpu_kernel void @release_at_entry(ptr addrspace(1) %f) {
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
define amdgpu_kernel void @fence_after_prefetch(ptr addrspace(1) %f, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %w1, ptr addrspace(1) %d, ptr addrspace(1) %o) {
entry:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  %x0 = load i32, ptr addrspace(1) %w
  %x1 = load i32, ptr addrspace(1) %w1
  fence syncscope("agent") acquire
  %some = icmp ne i32 %v, 0
  br i1 %some, label %go, label %done
go:
  %y = load i32, ptr addrspace(1) %d
  %s0 = add i32 %x0, %x1
  %s1 = add i32 %s0, %y
  %s2 = add i32 %s1, %v
  store i32 %s2, ptr addrspace(1) %o
  ret void
done:
  ret void
}
define amdgpu_kernel void @store_then_seq_cst_load(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) %x
  %v = load atomic i32, ptr addrspace(1) %y syncscope("agent") seq_cst, align 4
  store i32 %v, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @acquire_then_rmw(ptr addrspace(1) %f, ptr addrspace(1) %c) {
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") acquire, align 4
  %old = atomicrmw add ptr addrspace(1) %c, i32 %v syncscope("agent") monotonic, align 4
  ret void
}
define amdgpu_kernel void @fenced_rmw(ptr addrspace(1) %d, ptr addrspace(1) %c, ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) %o
  fence syncscope("agent") seq_cst
  %old = atomicrmw add ptr addrspace(1) %c, i32 1 syncscope("agent") seq_cst, align 4
  fence syncscope("agent") seq_cst
  %x = load i32, ptr addrspace(1) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
}
