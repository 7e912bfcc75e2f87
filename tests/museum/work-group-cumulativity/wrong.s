	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_store_dword v0, v1, s[0:1]
	.loc	1 2 1
	s_barrier
	s_cbranch_scc1 .LBB0_2
	.loc	1 3 1
	s_waitcnt vmcnt(0)
	.loc	1 4 1
	global_store_dword v0, v2, s[2:3] glc
.LBB0_2:
	s_endpgm
.Lfunc_end0:
