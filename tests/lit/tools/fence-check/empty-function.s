; RUN: fence-check %s | filecheck %s

; A function of which nothing is left has no verdict, and the kernel beside it has one.

; CHECK: gfx942: kernels last; functions unreached: 0 errors
; CHECK-NEXT: 1 proved, 0 with a race, 0 not judged

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.type	unreached,@function
unreached:
.Lfunc_end0:
	.size	unreached, .Lfunc_end0-unreached
	.globl	last
	.type	last,@function
last:
	s_endpgm
.Lfunc_end1:
	.size	last, .Lfunc_end1-last
	.amdhsa_kernel last
		.amdhsa_next_free_vgpr 1
		.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel
