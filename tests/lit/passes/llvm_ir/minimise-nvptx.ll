; RUN: fence-opt %s --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --mcpu sm_80 -t "llvm{comments=false}" | filecheck %s --check-prefix=SM80
; RUN: fence-opt %s --mcpu sm_90 -O0 -t "llvm{comments=false}" | filecheck %s --check-prefix=O0
; RUN: fence-opt %s --mcpu sm_90 | filecheck %s --check-prefix=MLIR

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

; What an access orders by itself is an operation of ptx too, so that fences next to it are seen.
; CHECK-LABEL: @fence_and_seq_cst_load
; CHECK: "st.relaxed.gpu.global.b32 [$0], $1;\0Afence.sc.gpu;"
; CHECK: "ld.acquire.gpu.global.b32 $0, [$1];"
; O0-LABEL: @fence_and_seq_cst_load
; O0: fence.sc.gpu;"
; O0: "fence.sc.gpu;\0Ald.acquire.gpu.global.b32 $0, [$1];"
; MLIR-LABEL: @fence_and_seq_cst_load
; MLIR: ptx.fence "fence.sc.gpu"
; MLIR-NOT: ptx.fence
; MLIR: ptx.load "ld.acquire.gpu.global.b32"
define ptx_kernel void @fence_and_seq_cst_load(ptr addrspace(1) %f, ptr addrspace(1) %g) {
  store atomic i32 1, ptr addrspace(1) %g syncscope("device") monotonic, align 4
  fence syncscope("device") seq_cst
  %seen = load atomic i32, ptr addrspace(1) %f syncscope("device") seq_cst, align 4
  store i32 %seen, ptr addrspace(1) %g
  ret void
}

; CUDA's __threadfence() before an atomicAdd that clang makes seq_cst: the fence of the atomic covers it.
; CHECK-LABEL: @threadfence_and_atomic
; CHECK-NOT: membar
; CHECK: "fence.sc.sys;\0Aatom.acquire.sys.global.add.u32
; O0-LABEL: @threadfence_and_atomic
; O0: call void @llvm.nvvm.membar.gl()
; O0: "fence.sc.sys;\0Aatom.acquire.sys.global.add.u32
define ptx_kernel void @threadfence_and_atomic(ptr addrspace(1) %counter, ptr addrspace(1) %data) {
  store i32 1, ptr addrspace(1) %data
  call void @llvm.nvvm.membar.gl()
  %old = atomicrmw add ptr addrspace(1) %counter, i32 1 seq_cst
  store i32 %old, ptr addrspace(1) %data
  ret void
}

; The program's own fence stays where it is the wider one, and is that of the access too.
; CHECK-LABEL: @wider_threadfence
; CHECK: call void @llvm.nvvm.membar.sys()
; CHECK-NOT: fence.
; CHECK: "ld.acquire.gpu
define ptx_kernel void @wider_threadfence(ptr addrspace(1) %f, ptr addrspace(1) %data) {
  store i32 1, ptr addrspace(1) %data
  call void @llvm.nvvm.membar.sys()
  %seen = load atomic i32, ptr addrspace(1) %f syncscope("device") seq_cst, align 4
  store i32 %seen, ptr addrspace(1) %data
  ret void
}

declare void @llvm.nvvm.membar.gl()
declare void @llvm.nvvm.membar.sys()
