	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
.LBB0_1:
	.loc	1 2 1
	s_barrier_signal -1
	s_barrier_wait -1
	.loc	1 4 1
	ds_load_b32 v2, v0
	s_wait_dscnt 0x0
	v_add_nc_u32_e32 v2, 1, v2
	.loc	1 5 1
	ds_store_b32 v0, v2
	.loc	1 6 1
	s_cbranch_scc1 .LBB0_1
	s_endpgm
.Lfunc_end0:
