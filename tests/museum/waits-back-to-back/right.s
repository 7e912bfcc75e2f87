	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_load_dword v2, v0, s[0:1]
	s_waitcnt vmcnt(0)
	.loc	1 3 1
	global_store_dword v0, v2, s[2:3]
	s_endpgm
.Lfunc_end0:
