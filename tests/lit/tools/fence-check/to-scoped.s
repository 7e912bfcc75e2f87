; RUN: not fence-check --to scoped %s > %t.mlir 2> %t.err
; RUN: filecheck %s < %t.mlir
; RUN: filecheck %s --check-prefix=REFUSED < %t.err
; RUN: fence-opt %t.mlir --mcpu sm_90 -t ptx | filecheck %s --check-prefix=PTX
; What the code provides, for another target to lower.

; CHECK:      func.func @producer(%p0: !llvm.ptr<1>, %x22: i32, %p1: !llvm.ptr<1>, %x25: i32) {
; CHECK:        scoped.store weak %x22, %p0 : i32, !llvm.ptr<1>
; CHECK-NEXT:   scoped.fence release agent
; CHECK-NEXT:   scoped.store relaxed agent %x25, %p1 : i32, !llvm.ptr<1>
; CHECK-NEXT:   func.return

; REFUSED: to-scoped.s:29:1: error: copies cannot be said in 'scoped': 'scoped' has no operation for global_load_lds_dword v[2:3], off

; PTX:      st.weak.global.b32
; PTX-NEXT: fence.release.gpu;
; PTX-NEXT: st.relaxed.gpu.global.b32

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	producer,@function
producer:
	global_store_dword v[0:1], v2, off
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
	.type	copies,@function
copies:
	global_load_lds_dword v[2:3], off
	s_endpgm
