; RUN: not fence-check --fail-on warning %s | filecheck %s
; One wave publishes what the others stored, and none has waited for their stores.

; CHECK:      cumulative.s:21:1: warning: bad: another block may see this signal in global memory before what line 18 wrote to global memory: another wave of its block may come to the barrier of line 19 with it in flight; write s_waitcnt vmcnt(0) before the barrier [cumulative]
; CHECK-NEXT: cumulative.s: gfx942: functions good, bad: 0 errors, 1 warning, 1 note

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
	global_store_dword v[4:5], v6, off sc1
	s_waitcnt vmcnt(0)
	s_barrier
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
	.type	bad,@function
bad:
	global_store_dword v[4:5], v6, off sc1
	s_barrier
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
