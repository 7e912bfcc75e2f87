; RUN: not fence-check --fail-on warning %s | filecheck %s
; A loop waits by a load that its own L1 may serve for ever.

; CHECK:      spin-stale.s:19:1: warning: bad: the loop waits until another thread changes global memory, and the L1 may serve the load, which nothing in the loop invalidates: load it with sc0 sc1, or invalidate in the loop [spin-stale]
; CHECK-NEXT: spin-stale.s: gfx942: functions good, bad: 0 errors, 1 warning, 0 notes

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
.LBB0_1:
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v7
	s_cbranch_vccnz .LBB0_1
	s_endpgm
	.type	bad,@function
bad:
.LBB1_1:
	global_load_dword v7, v[4:5], off
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v7
	s_cbranch_vccnz .LBB1_1
	s_endpgm
