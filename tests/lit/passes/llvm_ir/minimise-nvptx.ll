; RUN: fence-opt %s --mcpu sm_90 | filecheck %s
; RUN: fence-opt %s --mcpu sm_80 | filecheck %s --check-prefix=SM80
; RUN: fence-opt %s --mcpu sm_90 -O0 | filecheck %s --check-prefix=O0

; Where a kernel ends nothing is published or acquired any more; a function's caller may go on.

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @unknown()

; CHECK-LABEL: @poll_in_a_kernel
; CHECK: fence.acquire.gpu;
; O0-LABEL: @poll_in_a_kernel
; O0: fence.acq_rel.gpu;
define ptx_kernel void @poll_in_a_kernel(ptr addrspace(1) %flag, ptr addrspace(1) %data) {
  %seen = load atomic i32, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  fence syncscope("device") acq_rel
  %value = load i32, ptr addrspace(1) %data
  store i32 %value, ptr addrspace(1) %data
  ret void
}

; CHECK-LABEL: @poll_in_a_function
; CHECK: fence.acq_rel.gpu;
define void @poll_in_a_function(ptr addrspace(1) %flag, ptr addrspace(1) %data) {
  %seen = load atomic i32, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  fence syncscope("device") acq_rel
  %value = load i32, ptr addrspace(1) %data
  store i32 %value, ptr addrspace(1) %data
  ret void
}

; An intrinsic is no fence, but what is called may be one.
; CHECK-LABEL: @count_in_a_kernel
; CHECK: atom.relaxed.gpu.global.add.u32 _,
; CHECK: red.relaxed.gpu.global.add.u32
; O0-LABEL: @count_in_a_kernel
; O0: atom.relaxed.gpu.global.add.u32 _,
; O0: red.relaxed.gpu.global.add.u32
define ptx_kernel void @count_in_a_kernel(ptr addrspace(1) %counter) {
  %first = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("device") monotonic
  call void @unknown()
  %second = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("device") monotonic
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr addrspace(1) %counter
  ret void
}

; CHECK-LABEL: @count_in_a_function
; CHECK: atom.relaxed.gpu.global.add.u32 _,
define void @count_in_a_function(ptr addrspace(1) %counter) {
  %old = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("device") monotonic
  ret void
}

; Where there are no one-sided fences, the accesses next to them order by themselves.
; CHECK-LABEL: @fences_next_to_accesses
; CHECK: ld.relaxed.gpu
; CHECK: fence.acquire.gpu
; CHECK: fence.release.gpu
; CHECK: st.relaxed.gpu
; SM80-LABEL: @fences_next_to_accesses
; SM80-NOT: fence.
; SM80: ld.acquire.gpu
; SM80-NOT: fence.
; SM80: st.release.gpu
define ptx_kernel void @fences_next_to_accesses(ptr addrspace(1) %f, ptr addrspace(1) %data) {
  %seen = load atomic i32, ptr addrspace(1) %f syncscope("device") monotonic, align 4
  fence syncscope("device") acquire
  %value = load i32, ptr addrspace(1) %data
  store i32 %value, ptr addrspace(1) %data
  fence syncscope("device") release
  store atomic i32 %seen, ptr addrspace(1) %f syncscope("device") monotonic, align 4
  ret void
}
