; RUN: not fence-check %s --launch 'apart<<<1, 128>>>(i32[128])' | filecheck %s --check-prefix=APART
; RUN: not fence-check %s --launch 'early<<<1, 128>>>(i32[128])' | filecheck %s --check-prefix=EARLY
; RUN: not fence-check %s --launch 'refill<<<1, 128>>>(i32[128])' | filecheck %s --check-prefix=REFILL
; RUN: fence-check %s --launch 'right<<<1, 128>>>(i32[128])' | filecheck %s --check-prefix=RIGHT
; Waves exchange what they have written to LDS: with a wait alone, with a barrier alone, with both and a
; write after the read, and right.

; APART: race-amd-shared.s: apart: race in this launch (1 block x 128 threads, 2 schedules, 3 of 3 accesses executed)
; APART-NEXT: race-amd-shared.s:28:1: error: race (write-read): wave 0 of work-group 0 reads byte 508 of LDS at race-amd-shared.s:28 (ds_read_b32); wave 1 of work-group 0 wrote it at race-amd-shared.s:26 (ds_write_b32): nothing in this execution orders them
; APART-NOT: {{error|warning}}
; EARLY: race-amd-shared.s: early: race in this launch (1 block x 128 threads, 2 schedules, 3 of 3 accesses executed)
; EARLY-NEXT: race-amd-shared.s:47:1: error: race (write-read): wave 0 of work-group 0 reads byte 508 of LDS at race-amd-shared.s:47 (ds_read_b32); wave 1 of work-group 0 wrote it at race-amd-shared.s:45 (ds_write_b32): they are ordered, but the write may still be outstanding: put s_waitcnt lgkmcnt(0) after race-amd-shared.s:45, before what orders them
; EARLY-NOT: {{error|warning}}
; REFILL: race-amd-shared.s: refill: race in this launch (1 block x 128 threads, 2 schedules, 4 of 4 accesses executed)
; REFILL-NEXT: race-amd-shared.s:68:1: error: race (read-write): wave 0 of work-group 0 writes byte 0 of LDS at race-amd-shared.s:68 (ds_write_b32); wave 1 of work-group 0 read it at race-amd-shared.s:67 (ds_read_b32): nothing in this execution orders them
; REFILL-NOT: {{error|warning}}
; RIGHT: race-amd-shared.s: right: no race in this launch (1 block x 128 threads, 2 schedules, 3 of 3 accesses executed)
; RIGHT-NOT: {{error|warning}}

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	apart,@function
apart:
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x1fc, v1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v3, s[8:9]
	s_endpgm
.amdhsa_kernel apart
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 512
.end_amdhsa_kernel
	.type	early,@function
early:
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x1fc, v1
	ds_write_b32 v1, v0
	s_barrier
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v3, s[8:9]
	s_endpgm
.amdhsa_kernel early
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 512
.end_amdhsa_kernel
	.type	refill,@function
refill:
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x1fc, v1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v3, v2
	ds_write_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v3, s[8:9]
	s_endpgm
.amdhsa_kernel refill
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 512
.end_amdhsa_kernel
	.type	right,@function
right:
	s_load_dwordx2 s[8:9], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x1fc, v1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v3, s[8:9]
	s_endpgm
.amdhsa_kernel right
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 512
.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .name:           apart
  - .args:
      - .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .name:           early
  - .args:
      - .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .name:           refill
  - .args:
      - .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .name:           right
...
	.end_amdgpu_metadata
