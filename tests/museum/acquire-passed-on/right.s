	.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_load_b32 v2, v0, s[2:3] glc
	.loc	1 2 1
	s_waitcnt vmcnt(0)
	buffer_gl1_inv
	buffer_gl0_inv
	s_waitcnt vmcnt(0)
	.loc	1 3 1
	s_barrier
	buffer_gl0_inv
	.loc	1 4 1
	global_load_b32 v3, v0, s[0:1]
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 16
		.amdhsa_workgroup_processor_mode 1
	.end_amdhsa_kernel
