; RUN: not fence-check %s | filecheck %s
; RUN: not fence-check --notes %s | filecheck %s --check-prefix=NOTES
; RUN: sed -e 's/gfx942/gfx90a/' %s > %t.s
; RUN: not fence-check %t.s 2>&1 | filecheck %s --check-prefix=LYING
; RUN: sed -e 's/;;HIDDEN//' %s > %t.unknown.s
; RUN: not fence-check %t.unknown.s | filecheck %s --check-prefix=UNKNOWN

; CHECK:      hazards.s:26:1: error: v1 is used while the load of line 25 that writes it is in flight: s_waitcnt vmcnt(0) is missing [hazard-raw]
; CHECK-NEXT: hazards.s: gfx942: kernels k: 1 error, 0 warnings, 1 note

; NOTES:      error: v1 is used while the load of line 25
; NOTES-NEXT: hazards.s:27:1: note: lgkmcnt(0) waits for nothing: no more can be outstanding here [surplus-wait]

; LYING:      error: the assembly is for gfx90a, but this is of gfx940 and later: global_store_dword v0, v1, s[0:1] sc1

; UNKNOWN:    warning: 'v_frobnicate' is not known: it may do anything [unknown-instruction]

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	v_mov_b32_e32 v0, 0
	;;HIDDEN v_frobnicate v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[0:1]
	v_add_u32_e32 v1, 1, v1
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1] sc1
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.end_amdhsa_kernel
