	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.type	sum,@function
sum:
	.file	1 "/" "k.hip"
	s_branch .LBB0_2
.LBB0_1:
	s_or_b64 exec, exec, s[2:3]
	.loc	1 6 1
	s_lshr_b32 s1, s1, 1
	s_cbranch_scc0 .LBB0_4
.LBB0_2:
	v_cmp_gt_u32_e32 vcc, s1, v0
	.loc	1 1 1
	s_barrier
	.loc	1 2 1
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB0_1
	v_lshl_add_u32 v2, s1, 2, v1
	.loc	1 3 1
	ds_read_b32 v3, v1
	.loc	1 4 1
	ds_read_b32 v2, v2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v3, v2
	.loc	1 5 1
	ds_write_b32 v1, v2
	s_branch .LBB0_1
.LBB0_4:
	s_endpgm
.Lfunc_end0:
