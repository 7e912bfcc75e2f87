	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	global_store_dword v0, v1, s[0:1]
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v0, v2, s[2:3] sc0 sc1
.LBB0_1:
	global_load_dword v2, v0, s[2:3] sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v2
	s_cbranch_vccnz .LBB0_1
	buffer_inv sc0 sc1
	global_load_dword v3, v0, s[4:5]
	s_endpgm
.Lfunc_end0:
