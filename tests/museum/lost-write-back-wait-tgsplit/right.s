	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_store_dword v0, v1, s[0:1]
	.loc	1 2 1
	s_waitcnt vmcnt(0)
	s_barrier
	buffer_inv sc0
	s_cbranch_scc1 .LBB0_2
	.loc	1 3 1
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	.loc	1 4 1
	global_store_dword v0, v2, s[2:3] sc1
.LBB0_2:
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 16
		.amdhsa_tg_split 1
	.end_amdhsa_kernel
