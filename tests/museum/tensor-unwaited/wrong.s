	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	tensor_load_to_lds s[0:3], s[4:11]
	s_barrier_signal -1
	s_barrier_wait -1
	ds_load_b32 v2, v0
	s_wait_dscnt 0x0
	global_store_b32 v0, v2, s[12:13]
	s_endpgm
.Lfunc_end0:
