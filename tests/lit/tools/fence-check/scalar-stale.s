; RUN: not fence-check --fail-on warning %s | filecheck %s
; The scalar cache keeps what it has when the caches of vector memory are invalidated.

; CHECK:      scalar-stale.s:23:1: warning: bad: this may read global memory as it was before a signal that was waited for: the invalidate of line 22 leaves the scalar cache as it is; read it by a vector load, or write s_dcache_inv before [scalar-stale]
; CHECK-NEXT: scalar-stale.s: gfx942: functions good, bad: 0 errors, 1 warning, 0 notes

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	buffer_inv sc1
	v_mov_b32_e32 v0, 0
	global_load_dword v1, v0, s[0:1]
	s_endpgm
	.type	bad,@function
bad:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	buffer_inv sc1
	s_load_dword s2, s[0:1], 0x0
	s_endpgm
