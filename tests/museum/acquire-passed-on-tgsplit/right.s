	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_load_dword v2, v0, s[2:3] sc1
	.loc	1 2 1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	s_waitcnt vmcnt(0)
	.loc	1 3 1
	global_store_dword v0, v1, s[0:1] sc0
	.loc	1 4 1
	global_load_dword v3, v0, s[0:1] sc0
	s_waitcnt vmcnt(0)
	buffer_inv sc0
	.loc	1 5 1
	global_load_dword v4, v0, s[4:5]
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 16
		.amdhsa_tg_split 1
	.end_amdhsa_kernel
