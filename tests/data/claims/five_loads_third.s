	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	global_load_dword v1, v[20:21], off
	global_load_dword v2, v[22:23], off
	global_load_dword v3, v[24:25], off
	global_load_dword v4, v[26:27], off
	global_load_dword v5, v[28:29], off
	s_waitcnt vmcnt(3)
	v_add_u32_e32 v6, v1, v3
	s_endpgm
