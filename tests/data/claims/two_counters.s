	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	global_load_dword v1, v[20:21], off
	ds_read_b32 v2, v22
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v3, v1, v2
	s_endpgm
