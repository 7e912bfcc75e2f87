; RUN: fence-check --lift %s | filecheck %s
; RUN: fence-check --lift --l2-per-agent one %s | filecheck %s --check-prefix=ONE
; What each access, atomic and barrier provides, and which accesses are late for it.

; CHECK:      lift.s:24: global_store_dword v[0:1], v2, off -> store release workgroup
; CHECK-NEXT: lift.s:25: buffer_wbl2 sc1 -> write-back
; CHECK-NEXT: lift.s:27: global_store_dword v[4:5], v6, off sc1 -> store release agent; pending at system: line 24
; CHECK-NEXT: lift.s:31: global_load_dword v7, v[4:5], off sc1 -> load acquire agent; may be older at system: line 34
; CHECK-NEXT: lift.s:33: buffer_inv sc1 -> invalidate
; CHECK-NEXT: lift.s:34: global_load_dword v3, v[0:1], off -> load acquire workgroup
; CHECK-NEXT: lift.s:38: global_load_dword v7, v[4:5], off sc1 -> load acquire workgroup; may be older at agent: line 40; may be older at system: lines 40, 43
; CHECK-NEXT: lift.s:40: global_load_dword v3, v[0:1], off -> load acquire workgroup; may be older at system: line 43
; CHECK-NEXT: lift.s:42: ds_write_b32 v0, v1 -> store release workgroup
; CHECK-NEXT: lift.s:43: global_atomic_add v[4:5], v6, off -> atomic acquire agent; pending at workgroup: line 42
; CHECK-NEXT: lift.s:45: s_barrier -> barrier release workgroup; pending at system: line 43
; CHECK-NEXT: lift.s: gfx942: functions producer, consumer, without: 0 errors, 0 warnings, 0 notes

; ONE:      lift.s:24: global_store_dword v[0:1], v2, off -> store release agent
; ONE:      lift.s:27: global_store_dword v[4:5], v6, off sc1 -> store release agent; pending at system: line 24

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	producer,@function
producer:
	global_store_dword v[0:1], v2, off
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[4:5], v6, off sc1
	s_endpgm
	.type	consumer,@function
consumer:
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	global_load_dword v3, v[0:1], off
	s_endpgm
	.type	without,@function
without:
	global_load_dword v7, v[4:5], off sc1
	s_waitcnt vmcnt(0)
	global_load_dword v3, v[0:1], off
	s_waitcnt vmcnt(0)
	ds_write_b32 v0, v1
	global_atomic_add v[4:5], v6, off
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_barrier
	s_endpgm
