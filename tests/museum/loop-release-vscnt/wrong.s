	.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
.LBB0_1:
	.loc	1 3 1
	global_store_b32 v0, v1, s[2:3]
	.loc	1 4 1
	global_store_b32 v0, v1, s[0:1]
	s_cbranch_vccnz .LBB0_1
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 16
		.amdhsa_workgroup_processor_mode 1
	.end_amdhsa_kernel
