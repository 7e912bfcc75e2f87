	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_readfirstlane_b32 s8, v1
	s_mov_b32 m0, s8
	s_waitcnt lgkmcnt(0)
	global_load_lds_dword v1, s[4:5]
	s_barrier
	global_load_lds_dword v1, s[4:5] offset:1024
	s_waitcnt vmcnt(0)
	s_barrier
	v_xor_b32_e32 v2, 0x3fc, v1
	ds_read_b32 v3, v2
	ds_read_b32 v4, v2 offset:1024
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v3, v3, v4
	s_mul_i32 s9, s2, 1024
	v_add_u32_e32 v1, s9, v1
	global_store_dword v1, v3, s[6:7]
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 2048
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
...
	.end_amdgpu_metadata
