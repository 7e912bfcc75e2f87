	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
.LBB0_1:
	.loc	1 3 1
	buffer_wbl2 sc1
	global_store_dword v0, v1, s[2:3] sc1
	.loc	1 4 1
	global_store_dword v0, v1, s[0:1]
	s_cbranch_vccnz .LBB0_1
	s_endpgm
.Lfunc_end0:
