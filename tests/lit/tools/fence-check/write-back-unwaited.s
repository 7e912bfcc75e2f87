; RUN: not fence-check --fail-on warning %s | filecheck %s
; A flag may be seen before the write-back of what it says is complete.

; CHECK:      write-back-unwaited.s:19:1: warning: bad: another block may see this signal in global memory before what line 17 wrote to global memory: nothing waits for the write-back of line 18; write s_waitcnt vmcnt(0) before this [write-back-unwaited]
; CHECK-NEXT: write-back-unwaited.s: gfx942: functions good, bad: 0 errors, 1 warning, 0 notes

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	good,@function
good:
	global_store_dword v[0:1], v2, off
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
	.type	bad,@function
bad:
	global_store_dword v[0:1], v2, off
	buffer_wbl2 sc1
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
