; RUN: not fence-check --fail-on warning %s | filecheck %s
; One wave publishes what the others stored, and none has waited for their stores.

; CHECK:      cumulative.s:21:1: warning: other waves may reach the barrier of line 19 with line 18 in flight, for which this wave cannot wait: s_waitcnt vmcnt(0) is missing before the barrier if this publishes what they stored [cumulative]
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
