// RUN: fence-check --prove %s | filecheck %s
// A verdict of each function of AMD assembly, with the counterexample of the machine.

// CHECK: prove-amd.s:13: right: race-free (by arithmetic, barrier; assuming that
// CHECK: prove-amd.s:24: unwaited: race only under a launch: as --grid 2 --block 256
// CHECK-NEXT: prove-amd.s:28:1: warning: s_barrier lets other waves go on while the write of line 27 to LDS is in flight
// CHECK: 1 proved, 1 found, 0 not judged

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
