; RUN: not fence-check --source %S/../../../data/fence-check/message.ll %s | filecheck %s
; RUN: sed -e 's/;;WAIT//' %s > %t.s
; RUN: fence-check --source %S/../../../data/fence-check/message.ll %t.s | filecheck %s --check-prefix=RIGHT
; RUN: sed -e 's/.loc	1 13.*//' %s > %t.apart.s
; RUN: not fence-check --source %S/../../../data/fence-check/message.ll %t.apart.s | filecheck %s --check-prefix=APART
; RUN: not fence-check --source %S/run.ll %s 2>&1 | filecheck %s --check-prefix=OTHER

; The lines of a Python file are on both sides, as Triton has them.

; CHECK:      source.s:34:1: error: the store of source line 3 (code line 26: global_store_dword v0, v1, s[0:1]) may not be complete at agent when the relaxed agent atomicrmw of source line 5 (code line 34: global_atomic_add v0, v1, s[2:3]) issues: s_waitcnt vmcnt(0) after the write-back of line 31 is missing, which the release agent fence of source line 4 requires [release]
; CHECK-NEXT: source.s:34:1: note: on the machine, two waves end with P1:r1 == 0 and P1:r0 == 1: --counterexamples writes the test
; CHECK-NEXT: source.s: gfx942: functions k: 1 error, 0 warnings, 0 notes
; CHECK-NEXT: source.s: 1 of 1 functions compared with {{.*}}message.ll

; RIGHT: 0 errors, 0 warnings
; APART: warning: k is not compared with its source: 'global_atomic_add v0, v1, s[2:3]' of line 34 comes from no operation of the source that is known [not-compared]
; OTHER: run.ll: error: no function of the source is in the code

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/kernels" "message.py"
	.loc	1 11 4
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1]
	.loc	1 12 4
	global_load_dword v2, v0, s[0:1] offset:64
	s_waitcnt vmcnt(0)
	.loc	1 13 4
	buffer_wbl2 sc1
	;;WAIT	s_waitcnt vmcnt(0)
	.loc	1 13 4
	global_atomic_add v0, v1, s[2:3]
	s_endpgm
.Lfunc_end0:
