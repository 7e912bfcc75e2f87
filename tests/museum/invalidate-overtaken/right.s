	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV
	s_wait_loadcnt 0x0
	global_inv scope:SCOPE_DEV
	s_wait_loadcnt 0x0
	.loc	1 4 1
	global_load_b32 v3, v0, s[0:1]
	s_endpgm
.Lfunc_end0:
