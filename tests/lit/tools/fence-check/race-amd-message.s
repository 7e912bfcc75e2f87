; RUN: not fence-check %s --launch 'wrong<<<2, 64>>>(i32[64], i32[64], i32[64])' | filecheck %s --check-prefix=WRONG
; RUN: not fence-check %s --launch 'stale<<<2, 64>>>(i32[64], i32[64], i32[64])' | filecheck %s --check-prefix=STALE
; RUN: fence-check %s --launch 'right<<<2, 64>>>(i32[64], i32[64], i32[64])' | filecheck %s --check-prefix=RIGHT
; RUN: not fence-check %s --format json --launch 'wrong<<<2, 64>>>(i32[64], i32[64], i32[64])' | filecheck %s --check-prefix=JSON
; RUN: not fence-check %s --launch 'absent<<<2, 64>>>()' 2>&1 | filecheck %s --check-prefix=ABSENT
; A work-group writes data and raises a flag, another one sees the flag and reads the data. The values are
; right in every run; the machine's caches may serve the load what was there before.

; WRONG: race-amd-message.s: wrong: race in this launch (2 blocks x 64 threads, 2 schedules, 5 of 5 accesses executed)
; WRONG-NEXT: race-amd-message.s:42:1: error: race (write-read): wave 0 of work-group 1 reads byte 0 of data at race-amd-message.s:42 (global_load_dword); wave 0 of work-group 0 wrote it at race-amd-message.s:32 (global_store_dword): they are ordered, but the write may be in the L2 of its own XCD alone: put buffer_wbl2 sc1 and s_waitcnt vmcnt(0) after race-amd-message.s:32, before what orders them
; WRONG-NOT: {{error|warning}}
; STALE: race-amd-message.s: stale: race in this launch (2 blocks x 64 threads, 2 schedules, 5 of 5 accesses executed)
; STALE-NEXT: race-amd-message.s:73:1: error: race (write-read): wave 0 of work-group 1 reads byte 0 of data at race-amd-message.s:73 (global_load_dword); wave 0 of work-group 0 wrote it at race-amd-message.s:63 (global_store_dword): they are ordered, but a cache of the reader may hold what was there before: put buffer_inv sc1 between what orders them and the load
; STALE-NOT: {{error|warning}}
; RIGHT: race-amd-message.s: right: no race in this launch (2 blocks x 64 threads, 7 schedules, 5 of 5 accesses executed)
; RIGHT-NOT: {{error|warning}}
; JSON: "by": "execution",
; JSON: "rule": "race-write-read",
; JSON-NEXT: "level": "error",
; ABSENT: fence-check: error: --launch: there is no kernel 'absent': there is wrong, stale, right

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	wrong,@function
wrong:
	s_load_dwordx4 s[8:11], s[0:1], 0x0
	s_load_dwordx2 s[12:13], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 2, v0
	v_mov_b32_e32 v2, 1
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lwrong_poll
	global_store_dword v1, v2, s[8:9]
	s_waitcnt vmcnt(0)
	global_store_dword v1, v2, s[10:11] sc1
	s_endpgm
.Lwrong_poll:
	global_load_dword v3, v1, s[10:11] sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v3
	s_cbranch_vccnz .Lwrong_poll
	buffer_inv sc1
	global_load_dword v4, v1, s[8:9]
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[12:13]
	s_endpgm
.amdhsa_kernel wrong
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel
	.type	stale,@function
stale:
	s_load_dwordx4 s[8:11], s[0:1], 0x0
	s_load_dwordx2 s[12:13], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 2, v0
	v_mov_b32_e32 v2, 1
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lstale_poll
	global_store_dword v1, v2, s[8:9]
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v1, v2, s[10:11] sc1
	s_endpgm
.Lstale_poll:
	global_load_dword v3, v1, s[10:11] sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v3
	s_cbranch_vccnz .Lstale_poll
	global_load_dword v4, v1, s[8:9]
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[12:13]
	s_endpgm
.amdhsa_kernel stale
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel
	.type	right,@function
right:
	s_load_dwordx4 s[8:11], s[0:1], 0x0
	s_load_dwordx2 s[12:13], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 2, v0
	v_mov_b32_e32 v2, 1
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lright_poll
	global_store_dword v1, v2, s[8:9]
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v1, v2, s[10:11] sc1
	s_endpgm
.Lright_poll:
	global_load_dword v3, v1, s[10:11] sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v3
	s_cbranch_vccnz .Lright_poll
	buffer_inv sc1
	global_load_dword v4, v1, s[8:9]
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[12:13]
	s_endpgm
.amdhsa_kernel right
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 16
	.amdhsa_accum_offset 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_user_sgpr_count 2
	.amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name:           data
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           flag
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           out
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           wrong
  - .args:
      - .name:           data
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           flag
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           out
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           stale
  - .args:
      - .name:           data
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           flag
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           out
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           right
...
	.end_amdgpu_metadata
