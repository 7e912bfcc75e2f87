; RUN: not fence-check --to scoped %s > %t.mlir 2> %t.err
; RUN: filecheck %s < %t.mlir
; RUN: filecheck %s --check-prefix=REFUSED < %t.err
; RUN: fence-opt %t.mlir --mcpu sm_90 -t ptx | filecheck %s --check-prefix=PTX
; RUN: fence-check --lift %s | filecheck %s --check-prefix=LIFT
; What a kernel calls stands in the place of its call, where it is in the file.

; CHECK:      func.func @producer(
; CHECK:        scoped.store weak %x33, %p0 : i32, !llvm.ptr<1>
; CHECK-NEXT:   scoped.fence release agent
; CHECK-NEXT:   scoped.store relaxed agent %x28, %p1 : i32, !llvm.ptr<1>
; CHECK-NEXT:   func.return

; REFUSED: calls.s:44:1: error: other cannot be said in 'scoped': s_swappc_b64 s[30:31], s[16:17]: elsewhere, which it calls, is not in the file

; PTX:      st.weak.global.b32
; PTX-NEXT: fence.release.gpu;
; PTX-NEXT: st.relaxed.gpu.global.b32

; LIFT: calls.s:37: s_swappc_b64 s[30:31], s[16:17] -> call of publish

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	publish,@function
publish:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[0:1], v2, off sc1
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
	.type	producer,@function
producer:
	global_store_dword v[4:5], v6, off
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, publish@rel32@lo+4
	s_addc_u32 s17, s17, publish@rel32@hi+12
	s_swappc_b64 s[30:31], s[16:17]
	s_endpgm
	.type	other,@function
other:
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, elsewhere@rel32@lo+4
	s_addc_u32 s17, s17, elsewhere@rel32@hi+12
	s_swappc_b64 s[30:31], s[16:17]
	s_endpgm
