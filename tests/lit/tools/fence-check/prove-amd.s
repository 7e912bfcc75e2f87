// RUN: fence-check --prove %s | filecheck %s
// RUN: not fence-check --strict %s | filecheck %s --check-prefix=STRICT
// A verdict of each function of AMD assembly, with the counterexample of the machine.

// CHECK: prove-amd.s:17: right: race-free (by arithmetic, barrier; assuming that
// CHECK: prove-amd.s:28: unwaited: race
// CHECK-NEXT: prove-amd.s:33:1: warning: unwaited: thread 255 of block 0 reads the LDS where thread 0 of block 0 writes it (line 31, as in --grid 2 --block 256): line 31 is not waited for before the barrier; wait for it before the barrier [lds-barrier]
// CHECK: 1 proved, 1 with a race, 0 not judged

// STRICT: kernels right, unwaited: 0 errors, 1 warning, 0 notes
// STRICT-NEXT: 1 proved, 1 with a race, 0 not judged

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.type right,@function
right:
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x3fc, v1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v2, v2
	s_endpgm
.Lfunc_end0:
	.size right, .Lfunc_end0-right
	.type unwaited,@function
unwaited:
	v_lshlrev_b32_e32 v1, 2, v0
	// No wait.
	v_xor_b32_e32 v2, 0x3fc, v1
	ds_write_b32 v1, v0
	s_barrier
	ds_read_b32 v2, v2
	s_endpgm
.Lfunc_end1:
	.size unwaited, .Lfunc_end1-unwaited
	.amdhsa_kernel right
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
	.amdhsa_kernel unwaited
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
