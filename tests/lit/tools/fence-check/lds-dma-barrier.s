; RUN: not fence-check --fail-on note %s | filecheck %s
; A barrier lets other waves read LDS that a load from memory may not have written yet.

; CHECK:      lds-dma-barrier.s:18:1: warning: s_barrier lets other waves go on while the load of line 17 to LDS is in flight: s_waitcnt vmcnt(0) is missing if they read what it writes before the next barrier [lds-dma-barrier]
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
