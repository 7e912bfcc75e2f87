	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	last_block              ; -- Begin function last_block
	.globl	last_block
	.p2align	8
	.type	last_block,@function
last_block:                             ; @last_block
.Lfunc_begin0:
	.file	0 "." "last_block.hip" md5 0xe333b09ad6ea65273fb8b84e4b6eb9f1
	.cfi_sections .debug_frame
	.cfi_startproc
; %bb.0:
	.file	1 "/opt/rocm/include/hip" "hip_runtime.h" md5 0xb374c53b74cd483ea7322931029ea50e
	.loc	1 11 70 prologue_end            ; /opt/rocm/include/hip/hip_runtime.h:11:70 @[ last_block.hip:7:30 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_load_dwordx8 s[4:11], s[0:1], 0x0
.Ltmp0:
	.loc	0 7 51                          ; last_block.hip:7:51 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_lshl_add_u32 v2, s2, 6, v0
	.loc	0 7 23 is_stmt 0                ; last_block.hip:7:23 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_mov_b32_e32 v3, 0
	.loc	0 7 3                           ; last_block.hip:7:3 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_lshlrev_b32_e32 v1, 2, v0
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_gt_u32_e32 vcc, 32, v0
.Ltmp1:
	.loc	1 11 70                         ; /opt/rocm/include/hip/hip_runtime.h:11:70 @[ last_block.hip:7:30 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s4
	v_mov_b32_e32 v5, s5
.Ltmp2:
	.loc	0 7 23                          ; last_block.hip:7:23 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_lshl_add_u64 v[2:3], v[2:3], 2, v[4:5]
	global_load_dword v2, v[2:3], off
	.loc	0 7 21 is_stmt 0                ; last_block.hip:7:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt vmcnt(0)
	ds_write_b32 v1, v2
.Ltmp3:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:8:3 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:8:3 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp4:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_2
; %bb.1:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:32
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB0_2:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_gt_u32_e32 vcc, 16, v0
.Ltmp5:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp6:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_4
; %bb.3:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:16
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB0_4:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_gt_u32_e32 vcc, 8, v0
.Ltmp7:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp8:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_6
; %bb.5:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:8
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB0_6:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_gt_u32_e32 vcc, 4, v0
.Ltmp9:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp10:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_8
; %bb.7:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:4
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB0_8:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_gt_u32_e32 vcc, 2, v0
.Ltmp11:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp12:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_10
; %bb.9:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:2
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB0_10:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	v_cmp_eq_u32_e32 vcc, 0, v0
.Ltmp13:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp14:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_12
; %bb.11:
	.loc	0 0 21 is_stmt 0                ; last_block.hip:0:21
	v_mov_b32_e32 v0, 0
	.loc	0 10 50                         ; last_block.hip:10:50 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read_b32 v0, v0 offset:4
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read_b32 v2, v1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v0, v2, v0
	ds_write_b32 v1, v0
.LBB0_12:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
.Ltmp15:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ] ]
	s_barrier
.Ltmp16:
	.loc	0 21 19 is_stmt 1               ; last_block.hip:21:19 @[ last_block.hip:34:3 ]
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB0_16
; %bb.13:
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:34:3 ]
	v_mov_b32_e32 v0, 0
.Ltmp17:
	.loc	0 13 10                         ; last_block.hip:13:10 @[ last_block.hip:20:13 @[ last_block.hip:34:3 ] ]
	ds_read_b32 v1, v0
.Ltmp18:
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:34:3 ]
	s_mov_b32 s3, 0
	s_lshl_b64 s[0:1], s[2:3], 2
	s_add_u32 s0, s6, s0
	.loc	0 23 15                         ; last_block.hip:23:15 @[ last_block.hip:34:3 ]
	s_mov_b64 s[12:13], exec
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:34:3 ]
	s_addc_u32 s1, s7, s1
	.loc	0 22 22 is_stmt 0               ; last_block.hip:22:22 @[ last_block.hip:34:3 ]
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1]
	.loc	0 23 15 is_stmt 1               ; last_block.hip:23:15 @[ last_block.hip:34:3 ]
	v_mbcnt_lo_u32_b32 v1, s12, 0
	v_mbcnt_hi_u32_b32 v1, s13, v1
	v_cmp_eq_u32_e64 s[0:1], 0, v1
                                        ; implicit-def: $vgpr2
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_15
; %bb.14:
	s_bcnt1_i32_b64 s0, s[12:13]
	v_mov_b32_e32 v2, s0
	global_atomic_add v2, v0, v2, s[8:9] sc0
.LBB0_15:
	.loc	0 0 15 is_stmt 0                ; last_block.hip:0:15
	s_or_b64 exec, exec, s[2:3]
	.loc	0 23 15                         ; last_block.hip:23:15 @[ last_block.hip:34:3 ]
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s0, v2
	s_nop 1
	v_add_u32_e32 v1, s0, v1
	.loc	0 23 82                         ; last_block.hip:23:82 @[ last_block.hip:34:3 ]
	v_cmp_eq_u32_e64 s[0:1], 3, v1
	.loc	0 23 13                         ; last_block.hip:23:13 @[ last_block.hip:34:3 ]
	s_nop 1
	v_cndmask_b32_e64 v1, 0, 1, s[0:1]
	ds_write_b8 v0, v1 offset:256
.LBB0_16:
	.loc	0 0 13                          ; last_block.hip:0:13
	s_or_b64 exec, exec, s[4:5]
	v_mov_b32_e32 v0, 0
.Ltmp19:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:25:3 @[ last_block.hip:34:3 ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:25:3 @[ last_block.hip:34:3 ] ]
	s_barrier
.Ltmp20:
	.loc	0 26 7 is_stmt 1                ; last_block.hip:26:7 @[ last_block.hip:34:3 ]
	ds_read_u8 v1, v0 offset:256
	s_waitcnt lgkmcnt(0)
	v_readfirstlane_b32 s0, v1
	s_bitcmp1_b32 s0, 0
	s_cselect_b64 s[0:1], -1, 0
	.loc	0 26 15 is_stmt 0               ; last_block.hip:26:15 @[ last_block.hip:34:3 ]
	s_and_b64 s[0:1], vcc, s[0:1]
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_18
; %bb.17:
	.loc	0 28 57 is_stmt 1               ; last_block.hip:28:57 @[ last_block.hip:34:3 ]
	global_load_dwordx4 v[2:5], v0, s[6:7]
	.loc	0 28 54 is_stmt 0               ; last_block.hip:28:54 @[ last_block.hip:34:3 ]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v1, v3, v2
	v_add_u32_e32 v1, v1, v4
	v_add_u32_e32 v1, v1, v5
	.loc	0 29 12 is_stmt 1               ; last_block.hip:29:12 @[ last_block.hip:34:3 ]
	global_store_dword v0, v1, s[10:11]
.Ltmp21:
.LBB0_18:
	.loc	0 35 1                          ; last_block.hip:35:1
	s_endpgm
.Ltmp22:
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel last_block
		.amdhsa_group_segment_fixed_size 260
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 14
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	last_block, .Lfunc_end0-last_block
	.cfi_endproc
                                        ; -- End function
	.set last_block.num_vgpr, 6
	.set last_block.num_agpr, 0
	.set last_block.numbered_sgpr, 14
	.set last_block.num_named_barrier, 0
	.set last_block.private_seg_size, 0
	.set last_block.uses_vcc, 1
	.set last_block.uses_flat_scratch, 0
	.set last_block.has_dyn_sized_stack, 0
	.set last_block.has_recursion, 0
	.set last_block.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 608
; TotalNumSgprs: 20
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 260 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 20
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	last_block_right        ; -- Begin function last_block_right
	.globl	last_block_right
	.p2align	8
	.type	last_block_right,@function
last_block_right:                       ; @last_block_right
.Lfunc_begin1:
	.cfi_startproc
; %bb.0:
	.loc	1 11 70 prologue_end            ; /opt/rocm/include/hip/hip_runtime.h:11:70 @[ last_block.hip:7:30 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_load_dwordx8 s[4:11], s[0:1], 0x0
.Ltmp23:
	.loc	0 7 51                          ; last_block.hip:7:51 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_lshl_add_u32 v2, s2, 6, v0
	.loc	0 7 23 is_stmt 0                ; last_block.hip:7:23 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_mov_b32_e32 v3, 0
	.loc	0 7 3                           ; last_block.hip:7:3 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_lshlrev_b32_e32 v1, 2, v0
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_gt_u32_e32 vcc, 32, v0
.Ltmp24:
	.loc	1 11 70                         ; /opt/rocm/include/hip/hip_runtime.h:11:70 @[ last_block.hip:7:30 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s4
	v_mov_b32_e32 v5, s5
.Ltmp25:
	.loc	0 7 23                          ; last_block.hip:7:23 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_lshl_add_u64 v[2:3], v[2:3], 2, v[4:5]
	global_load_dword v2, v[2:3], off
	.loc	0 7 21 is_stmt 0                ; last_block.hip:7:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt vmcnt(0)
	ds_write_b32 v1, v2
.Ltmp26:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:8:3 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:8:3 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp27:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_2
; %bb.1:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:32
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB1_2:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_gt_u32_e32 vcc, 16, v0
.Ltmp28:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp29:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_4
; %bb.3:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:16
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB1_4:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_gt_u32_e32 vcc, 8, v0
.Ltmp30:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp31:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_6
; %bb.5:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:8
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB1_6:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_gt_u32_e32 vcc, 4, v0
.Ltmp32:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp33:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_8
; %bb.7:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:4
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB1_8:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_gt_u32_e32 vcc, 2, v0
.Ltmp34:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp35:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_10
; %bb.9:
	.loc	0 10 0 is_stmt 0                ; last_block.hip:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read2_b32 v[2:3], v1 offset1:2
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB1_10:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
	.loc	0 10 21                         ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	v_cmp_eq_u32_e32 vcc, 0, v0
.Ltmp36:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp37:
	.loc	0 10 21 is_stmt 1               ; last_block.hip:10:21 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_12
; %bb.11:
	.loc	0 0 21 is_stmt 0                ; last_block.hip:0:21
	v_mov_b32_e32 v0, 0
	.loc	0 10 50                         ; last_block.hip:10:50 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read_b32 v0, v0 offset:4
	.loc	0 10 47                         ; last_block.hip:10:47 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read_b32 v2, v1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v0, v2, v0
	ds_write_b32 v1, v0
.LBB1_12:
	.loc	0 0 47                          ; last_block.hip:0:47
	s_or_b64 exec, exec, s[0:1]
.Ltmp38:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:11:5 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ] ]
	s_barrier
.Ltmp39:
	.loc	0 21 19 is_stmt 1               ; last_block.hip:21:19 @[ last_block.hip:39:3 ]
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB1_16
; %bb.13:
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:39:3 ]
	v_mov_b32_e32 v0, 0
.Ltmp40:
	.loc	0 13 10                         ; last_block.hip:13:10 @[ last_block.hip:20:13 @[ last_block.hip:39:3 ] ]
	ds_read_b32 v1, v0
.Ltmp41:
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:39:3 ]
	s_mov_b32 s3, 0
	s_lshl_b64 s[0:1], s[2:3], 2
	s_add_u32 s0, s6, s0
	.loc	0 23 15                         ; last_block.hip:23:15 @[ last_block.hip:39:3 ]
	s_mov_b64 s[12:13], exec
	.loc	0 22 5                          ; last_block.hip:22:5 @[ last_block.hip:39:3 ]
	s_addc_u32 s1, s7, s1
	.loc	0 22 22 is_stmt 0               ; last_block.hip:22:22 @[ last_block.hip:39:3 ]
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1]
	.loc	0 23 15 is_stmt 1               ; last_block.hip:23:15 @[ last_block.hip:39:3 ]
	v_mbcnt_lo_u32_b32 v1, s12, 0
	v_mbcnt_hi_u32_b32 v1, s13, v1
	v_cmp_eq_u32_e64 s[0:1], 0, v1
                                        ; implicit-def: $vgpr2
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB1_15
; %bb.14:
	s_bcnt1_i32_b64 s0, s[12:13]
	v_mov_b32_e32 v2, s0
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_atomic_add v2, v0, v2, s[8:9] sc0
	s_waitcnt vmcnt(0)
	buffer_inv sc1
.LBB1_15:
	.loc	0 0 15 is_stmt 0                ; last_block.hip:0:15
	s_or_b64 exec, exec, s[2:3]
	.loc	0 23 15                         ; last_block.hip:23:15 @[ last_block.hip:39:3 ]
	v_readfirstlane_b32 s0, v2
	s_nop 1
	v_add_u32_e32 v1, s0, v1
	.loc	0 23 82                         ; last_block.hip:23:82 @[ last_block.hip:39:3 ]
	v_cmp_eq_u32_e64 s[0:1], 3, v1
	.loc	0 23 13                         ; last_block.hip:23:13 @[ last_block.hip:39:3 ]
	s_nop 1
	v_cndmask_b32_e64 v1, 0, 1, s[0:1]
	ds_write_b8 v0, v1 offset:256
.LBB1_16:
	.loc	0 0 13                          ; last_block.hip:0:13
	s_or_b64 exec, exec, s[4:5]
	v_mov_b32_e32 v0, 0
.Ltmp42:
	.loc	1 13 49 is_stmt 1               ; /opt/rocm/include/hip/hip_runtime.h:13:49 @[ last_block.hip:25:3 @[ last_block.hip:39:3 ] ]
	s_waitcnt lgkmcnt(0)
	.loc	1 13 104 is_stmt 0              ; /opt/rocm/include/hip/hip_runtime.h:13:104 @[ last_block.hip:25:3 @[ last_block.hip:39:3 ] ]
	s_barrier
.Ltmp43:
	.loc	0 26 7 is_stmt 1                ; last_block.hip:26:7 @[ last_block.hip:39:3 ]
	ds_read_u8 v1, v0 offset:256
	s_waitcnt lgkmcnt(0)
	v_readfirstlane_b32 s0, v1
	s_bitcmp1_b32 s0, 0
	s_cselect_b64 s[0:1], -1, 0
	.loc	0 26 15 is_stmt 0               ; last_block.hip:26:15 @[ last_block.hip:39:3 ]
	s_and_b64 s[0:1], vcc, s[0:1]
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB1_18
; %bb.17:
	.loc	0 28 57 is_stmt 1               ; last_block.hip:28:57 @[ last_block.hip:39:3 ]
	global_load_dwordx4 v[2:5], v0, s[6:7]
	.loc	0 28 54 is_stmt 0               ; last_block.hip:28:54 @[ last_block.hip:39:3 ]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v1, v3, v2
	v_add_u32_e32 v1, v1, v4
	v_add_u32_e32 v1, v1, v5
	.loc	0 29 12 is_stmt 1               ; last_block.hip:29:12 @[ last_block.hip:39:3 ]
	global_store_dword v0, v1, s[10:11]
.Ltmp44:
.LBB1_18:
	.loc	0 40 1                          ; last_block.hip:40:1
	s_endpgm
.Ltmp45:
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel last_block_right
		.amdhsa_group_segment_fixed_size 260
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 14
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end1:
	.size	last_block_right, .Lfunc_end1-last_block_right
	.cfi_endproc
                                        ; -- End function
	.set last_block_right.num_vgpr, 6
	.set last_block_right.num_agpr, 0
	.set last_block_right.numbered_sgpr, 14
	.set last_block_right.num_named_barrier, 0
	.set last_block_right.private_seg_size, 0
	.set last_block_right.uses_vcc, 1
	.set last_block_right.uses_flat_scratch, 0
	.set last_block_right.has_dyn_sized_stack, 0
	.set last_block_right.has_recursion, 0
	.set last_block_right.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 628
; TotalNumSgprs: 20
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 260 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 20
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.type	__hip_cuid_9c27935dc57b6f10,@object ; @__hip_cuid_9c27935dc57b6f10
	.section	.bss,"aw",@nobits
	.globl	__hip_cuid_9c27935dc57b6f10
__hip_cuid_9c27935dc57b6f10:
	.byte	0                               ; 0x0
	.size	__hip_cuid_9c27935dc57b6f10, 1

	.section	".note.GNU-stack","",@progbits
	.addrsig
	.addrsig_sym __hip_cuid_9c27935dc57b6f10
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         24
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 260
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 1024
    .name:           last_block
    .private_segment_fixed_size: 0
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .symbol:         last_block.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         24
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 260
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 1024
    .name:           last_block_right
    .private_segment_fixed_size: 0
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .symbol:         last_block_right.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
