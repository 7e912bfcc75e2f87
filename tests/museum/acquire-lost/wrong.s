	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_atomic_add v2, v0, v1, s[2:3] sc0
	s_waitcnt vmcnt(0)
	.loc	1 4 1
	global_load_dword v3, v0, s[0:1]
	s_endpgm
.Lfunc_end0:
