	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	ds_read_b32 v1, v20
	ds_read_b32 v2, v21
	s_waitcnt lgkmcnt(1)
	v_mov_b32_e32 v3, v1
	s_endpgm
