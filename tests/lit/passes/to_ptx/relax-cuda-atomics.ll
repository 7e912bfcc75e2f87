; RUN: fence-opt %s --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s --check-prefix=AS-WRITTEN
; RUN: fence-opt %s --mcpu sm_90 --assume cuda-atomics -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --mcpu sm_90 --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK
; RUN: not fence-opt %s --mcpu sm_90 -O0 --assume cuda-atomics 2>&1 | filecheck %s --check-prefix=O0

; What clang makes of CUDA's atomicAdd, atomicCAS and atomicExch, and of atomics that say more.

target triple = "nvptx64-nvidia-cuda"

; O0: nothing is taken away at opt-level=0

; REMARK: 'atomic_rmw add seq_cst system' kept{{.*}}CUDA's atomic functions, which are relaxed at the scope of the device (--assume cuda-atomics)
; REMARK: 'cmpxchg seq_cst seq_cst system' kept{{.*}}(--assume cuda-atomics)
; REMARK-NOT: --assume
; AS-WRITTEN-LABEL: @last_block
; AS-WRITTEN: "fence.sc.sys;\0Aatom.acquire.sys.global.add.u32
; CHECK-LABEL: @last_block
; CHECK: call void @llvm.nvvm.membar.gl()
; CHECK: %old = call i32 asm sideeffect "atom.relaxed.gpu.global.add.u32 $0, [$1], $2;"
define ptx_kernel void @last_block(ptr %count, ptr %data) {
  store i32 1, ptr %data
  call void @llvm.nvvm.membar.gl()
  %old = atomicrmw add ptr %count, i32 1 seq_cst
  store i32 %old, ptr %data
  ret void
}

; AS-WRITTEN-LABEL: @swap
; AS-WRITTEN: fence.sc.sys;\0Aatom.acquire.sys.global.cas.b32
; CHECK-LABEL: @swap
; CHECK: "atom.relaxed.gpu.global.cas.b32
define ptx_kernel void @swap(ptr %lock, ptr %data) {
  %pair = cmpxchg ptr %lock, i32 0, i32 1 seq_cst seq_cst
  %old = extractvalue { i32, i1 } %pair, 0
  store i32 %old, ptr %data
  ret void
}

; What has a scope, another ordering or is no read-modify-write is none of CUDA's functions.
; CHECK-LABEL: @not_cuda
; CHECK: "fence.sc.gpu;\0Aatom.acquire.gpu.global.add.u32
; CHECK: "atom.acq_rel.sys.global.add.u32
; CHECK: "fence.sc.sys;\0Ald.acquire.sys
define ptx_kernel void @not_cuda(ptr %p, ptr %data) {
  %a = atomicrmw add ptr %p, i32 1 syncscope("device") seq_cst
  store i32 %a, ptr %data
  %b = atomicrmw add ptr %p, i32 1 acq_rel
  store i32 %b, ptr %data
  %c = load atomic i32, ptr %p seq_cst, align 4
  store i32 %c, ptr %data
  ret void
}

declare void @llvm.nvvm.membar.gl()
