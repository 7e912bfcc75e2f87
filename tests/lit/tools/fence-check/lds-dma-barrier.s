; RUN: not fence-check --fail-on note %s | filecheck %s
; A barrier lets other waves read LDS that a load from memory may not have written yet.

; CHECK:      lds-dma-barrier.s:20:1: warning: bad: another thread may read the LDS here while the write of line 17 is in flight: nothing waits for it before the barrier of line 18; write s_waitcnt vmcnt(0) there [lds-dma-barrier]
; CHECK-NEXT: lds-dma-barrier.s: gfx942: functions good, bad: 0 errors, 1 warning, 0 notes

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
	global_load_lds_dword v[2:3], off
	s_waitcnt vmcnt(0)
	s_barrier
	ds_read_b32 v2, v3
	s_endpgm
	.type	bad,@function
bad:
	global_load_lds_dword v[2:3], off
	s_barrier
	s_waitcnt vmcnt(0)
	ds_read_b32 v2, v3
	s_endpgm
