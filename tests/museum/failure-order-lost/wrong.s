	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_atomic_cmpswap v2, v0, v[4:5], s[2:3] sc0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 0, v2
	s_cbranch_vccnz .LBB0_2
	buffer_inv sc1
.LBB0_2:
	.loc	1 4 1
	global_load_dword v3, v0, s[0:1]
	s_endpgm
.Lfunc_end0:
