; RUN: fence-check --surplus %s | filecheck %s
; RUN: fence-check %s | filecheck %s --check-prefix=SILENT
; What can go without anybody noticing, and what it costs.

; CHECK:      surplus.s:22:1: note: bad: buffer_wbl2 sc1 is redundant and costs 24 units a wave: on every path all stores are already written back to the agent [surplus-write-back]
; CHECK-NEXT: surplus.s:23:1: note: bad: s_waitcnt vmcnt(0) is redundant and costs 8 units a wave: before the next wait nothing uses, overwrites or publishes the results [surplus-wait]
; CHECK-NEXT: surplus.s:27:1: note: bad: buffer_inv sc1 is redundant and costs 24 units a wave: before the next one nothing reads data that may be older than line 25 [surplus-invalidate]
; CHECK-NEXT: surplus.s: good: 2 fences and waits stay: 104 (estimated), each executed once
; CHECK-NEXT: surplus.s: bad: 1 fence or wait stays: 8 (estimated), each executed once
; CHECK-NEXT: surplus.s: gfx942: functions good, bad: 0 errors, 0 warnings, 3 notes
; SILENT-NOT: is redundant
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
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	global_store_dword v[0:1], v7, off
	s_endpgm
