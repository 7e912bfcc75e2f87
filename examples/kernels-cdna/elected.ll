; The kernels of elected.mlir, as HIP has them: one thread publishes what all have released.
target triple = "amdgcn-amd-amdhsa"
@last = internal addrspace(3) global i32 poison
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @grid_barrier(ptr addrspace(1) %slots, ptr addrspace(1) %count, i32 %goal) {
entry:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(1) %slots, i32 %thread
  store i32 %thread, ptr addrspace(1) %own
  fence syncscope("agent") seq_cst
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %arrive, label %join
arrive:
  %before = atomicrmw add ptr addrspace(1) %count, i32 1 syncscope("agent") monotonic, align 4
  br label %spin
spin:
  %arrived = load atomic i32, ptr addrspace(1) %count syncscope("agent") monotonic, align 4
  %waits = icmp ult i32 %arrived, %goal
  br i1 %waits, label %spin, label %join
join:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %slots
  store i32 %x, ptr addrspace(1) %own
  ret void
}
define amdgpu_kernel void @split_k_semaphore(ptr addrspace(1) %tile, ptr addrspace(1) %semaphore, i32 %turn) {
entry:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(1) %tile, i32 %thread
  store i32 %turn, ptr addrspace(1) %own
  fence syncscope("agent") release
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %hand_on, label %after
hand_on:
  store atomic i32 %turn, ptr addrspace(1) %semaphore syncscope("agent") monotonic, align 4
  br label %after
after:
  ret void
}
define amdgpu_kernel void @signal_all_reduce(ptr addrspace(1) %tile, ptr addrspace(1) %signal, i32 %value) {
entry:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(1) %tile, i32 %thread
  store i32 %value, ptr addrspace(1) %own
  fence acq_rel
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %raise, label %after
raise:
  %before = atomicrmw add ptr addrspace(1) %signal, i32 1 release, align 4
  br label %after
after:
  ret void
}
define amdgpu_kernel void @last_block(ptr addrspace(1) %sums, ptr addrspace(1) %count, i32 %goal) {
entry:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(1) %sums, i32 %thread
  store i32 %thread, ptr addrspace(1) %own
  fence syncscope("agent") seq_cst
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %draw, label %drawn
draw:
  %ticket = atomicrmw add ptr addrspace(1) %count, i32 1 syncscope("agent") monotonic, align 4
  store i32 %ticket, ptr addrspace(3) @last
  br label %drawn
drawn:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %seen = load i32, ptr addrspace(3) @last
  %is_last = icmp eq i32 %seen, %goal
  br i1 %is_last, label %add, label %end
add:
  fence syncscope("agent") seq_cst
  %x = load i32, ptr addrspace(1) %sums
  store i32 %x, ptr addrspace(1) %own
  br label %end
end:
  ret void
}
