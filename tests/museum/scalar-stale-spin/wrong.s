	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
.LBB0_1:
	.loc	1 1 1
	global_load_dword v2, v0, s[2:3] glc
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 1, v2
	s_cbranch_vccnz .LBB0_1
	.loc	1 3 1
	buffer_wbinvl1_vol
	.loc	1 4 1
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, data@rel32@lo+4
	s_addc_u32 s1, s1, data@rel32@hi+12
	s_load_dword s6, s[0:1], 0x0
	s_endpgm
.Lfunc_end0:
