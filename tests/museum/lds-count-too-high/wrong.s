	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	ds_read_b128 v[4:7], v0
	ds_read_b128 v[8:11], v0 offset:16
	s_waitcnt lgkmcnt(1)
	v_mfma_f32_4x4x4_16b_f16 a[0:3], v[4:5], v[8:9], a[0:3]
	s_endpgm
.Lfunc_end0:
