	.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
	.type	k,@function
k:
	global_load_b32 v2, v[0:1], off
	s_cbranch_scc1 .LBB0_1
	v_mov_b32_e32 v0, 0
	global_store_b32 v0, v0, s[0:1]
.LBB0_1:
	s_wait_loadcnt 0x0
	global_store_b32 v3, v2, s[0:1]
	s_endpgm
.Lfunc_end0:
