	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	ds_read_b32 v2, v0
	s_barrier
	global_load_lds_dword v[4:5], off
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_barrier
	global_store_dword v0, v2, s[0:1]
	s_endpgm
.Lfunc_end0:
