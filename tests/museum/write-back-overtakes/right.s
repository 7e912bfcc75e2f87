	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_store_b32 v0, v1, s[0:1]
	.loc	1 4 1
	s_wait_storecnt 0x0
	global_wb scope:SCOPE_DEV
	s_wait_storecnt 0x0
	s_wait_xcnt 0x0
	global_store_b32 v0, v2, s[2:3] scope:SCOPE_DEV
	s_endpgm
.Lfunc_end0:
