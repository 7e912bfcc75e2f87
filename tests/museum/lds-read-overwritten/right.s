	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	ds_read_b32 v2, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_write_b32 v1, v3
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v2, s[0:1]
	s_endpgm
.Lfunc_end0:
