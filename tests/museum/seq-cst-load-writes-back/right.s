	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	buffer_load_dword v2, v0, s[8:11], 0 offen sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	.loc	1 2 1
	global_load_dword v3, v0, s[0:1]
	s_endpgm
.Lfunc_end0:
