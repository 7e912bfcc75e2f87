; RUN: not fence-check --fail-on warning %s | filecheck %s
; A barrier lets other waves read LDS that this one may not have written yet.

; CHECK:      lds-barrier.s:20:1: warning: bad: another thread may read the LDS here while the write of line 17 is in flight: nothing waits for it before the barrier of line 19; write s_waitcnt lgkmcnt(0) there [lds-barrier]
; CHECK-NEXT: lds-barrier.s: gfx942: functions good, bad: 0 errors, 1 warning, 0 notes

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
	ds_write_b32 v0, v1
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v2, v3
	s_endpgm
	.type	bad,@function
bad:
	ds_write_b32 v0, v1
; WRITE
	s_barrier
	ds_read_b32 v2, v3
	s_endpgm
