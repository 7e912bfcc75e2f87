	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	global_load_b32 v2, v0, s[0:1]
	s_wait_loadcnt 0x0
	global_load_b32 v2, v1, s[0:1]
	s_wait_loadcnt 0x0
	global_store_b32 v0, v2, s[12:13]
	s_endpgm
.Lfunc_end0:
