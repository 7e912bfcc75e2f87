; Message passing as clang compiles it for gfx942, with the harness of the PTX of nvcc.
; RUN: fence-sim run %s --litmus %S/Inputs/message-passing.mlir | filecheck %s
; RUN: sed -e "s#buffer_inv sc1##" %s > %t.s
; RUN: not fence-sim run %t.s --litmus %S/Inputs/message-passing.mlir | filecheck %s --check-prefix=WEAK
; RUN: sed -e "s#global_load_dword v1, v0, s\[4:5\]#global_load_dwordx2 v[2:3], v0, s[4:5]#" %s > %t.wide.s
; RUN: not fence-sim run %t.wide.s --litmus %S/Inputs/message-passing.mlir 2>&1 | filecheck %s --check-prefix=WIDE
; RUN: fence-sim run %s --litmus %S/Inputs/two-of-a-group.mlir | filecheck %s --check-prefix=EITHER
; RUN: not fence-sim run %s --model ptx-6.0 --litmus %S/Inputs/message-passing.mlir 2>&1 | filecheck %s --check-prefix=MODEL

; CHECK:      Test mp (gfx942, many L2 per agent)
; CHECK-NEXT: States 1
; CHECK-NEXT: *> P1:r0=1; data=1; flag=1;
; CHECK-NEXT: Ok

; WEAK: :> P1:r0=0; data=1; flag=1;
; WEAK: No

; WIDE: run-kernels.s.tmp.wide.s:59:1: error: a location is 32 bits wide; global_load_dwordx2 is not executed

; EITHER: *> x=1; y=1;

; MODEL: fence-sim: error: --model has no effect: the kernels are AMD assembly already

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
producer:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_add_i32 s0, s2, 1
	v_mov_b32_e32 v0, 0
	v_mov_b32_e32 v1, s0
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[4:5]
	v_mov_b32_e32 v1, 1
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[6:7] sc1
	s_endpgm
	.amdhsa_kernel producer
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
consumer:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[2:3], s[0:1], 0x10
	v_mov_b32_e32 v0, 0
.LBB1_1:
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[6:7] sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	v_cmp_eq_u32_e32 vcc, 0, v1
	s_cbranch_vccnz .LBB1_1
	v_mov_b32_e32 v0, 0
	global_load_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[2:3]
	s_endpgm
	.amdhsa_kernel consumer
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
either:
	s_load_dwordx4 s[0:3], s[0:1], 0x0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s3
	v_mov_b32_e32 v2, s1
	v_mov_b32_e32 v3, s2
	v_mov_b32_e32 v0, s0
	v_cndmask_b32_e32 v1, v1, v2, vcc
	v_cndmask_b32_e32 v0, v3, v0, vcc
	v_mov_b32_e32 v2, 1
	global_store_dword v[0:1], v2, off sc1
	s_endpgm
	.amdhsa_kernel either
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .kernarg_segment_size: 16
    .name:           producer
    .symbol:         producer.kd
  - .args:
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
    .kernarg_segment_size: 24
    .name:           consumer
    .symbol:         consumer.kd
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .kernarg_segment_size: 16
    .name:           either
    .symbol:         either.kd
...
	.end_amdgpu_metadata
