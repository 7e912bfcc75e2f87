	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_load_async_to_lds_b32 v0, v1, s[0:1]
	.loc	1 2 1
	s_wait_loadcnt_dscnt 0x0
	.loc	1 3 1
	s_barrier_signal -1
	s_barrier_wait -1
	.loc	1 5 1
	ds_load_b32 v2, v0
	s_endpgm
.Lfunc_end0:
