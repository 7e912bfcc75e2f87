; RUN: fence-sim traffic %s --mcpu gfx942 --kernel clipped --grid 2 --block 64 --arg iota:i32:128 --arg n=100 | filecheck %s
; RUN: not fence-sim traffic %s --mcpu gfx942 --kernel clipped --grid 4 --block 64 --arg i32:128 --arg n=1000 2>&1 | filecheck %s --check-prefix=BEYOND --match-full-lines
; RUN: not fence-sim traffic %s --mcpu gfx942 --kernel matrix --grid 1 --block 64 2>&1 | filecheck %s --check-prefix=UNKNOWN --match-full-lines
; RUN: not fence-sim traffic %s --mcpu gfx90a --kernel matrix --grid 1 --block 64 2>&1 | filecheck %s --check-prefix=CHIP --match-full-lines
; RUN: grep -v end_amdgpu_metadata %s | not fence-sim traffic - --mcpu gfx942 --kernel matrix --grid 1 --block 64 2>&1 | filecheck %s --check-prefix=CUT --match-full-lines

; As llc -O2 -mcpu=gfx942 prints: data[i] += 1 where i < n.

; CHECK: clipped on gfx942 {{.*}}: 2 work-groups of 64 threads
; CHECK: traffic-assembly.s:[[# @LINE + 20]]:2 global_load_dword v2, v[0:1], off 2 4 78.1%
; CHECK: traffic-assembly.s:[[# @LINE + 20]]:2 s_waitcnt vmcnt(0)

; CHIP: {{.*}}traffic-assembly.s: error: matrix is for gfx942: pass --mcpu gfx942
; CUT: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: the file is cut short: {{.*}}
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	clipped
	.type	clipped,@function
clipped:
	s_load_dword s3, s[0:1], 0x8
	v_lshl_or_b32 v0, s2, 6, v0
	s_waitcnt lgkmcnt(0)
	v_cmp_gt_u32_e32 vcc, s3, v0
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB0_2
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[0:1]
	global_load_dword v2, v[0:1], off
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v2, 1, v2
; BEYOND: {{.*}}traffic-assembly.s:[[# @LINE - 3]]:2: error: out of bounds: 4 bytes at byte 512 of data, which has 512 bytes; give it 516 or more (global_load_dword v2, v[0:1], off), thread 0 of block 2
	global_store_dword v[0:1], v2, off
.LBB0_2:
	s_endpgm
.Lfunc_end0:

	.globl	matrix
	.type	matrix,@function
matrix:
; UNKNOWN: {{.*}}traffic-assembly.s:[[# @LINE + 3]]:2: error: not executed: 'ds_read_b32 v3, v2' depends on the result of 'v_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]'
	v_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]
	v_accvgpr_read_b32 v2, a0
	ds_read_b32 v3, v2
	s_endpgm
.Lfunc_end1:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel clipped
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 3
		.amdhsa_next_free_sgpr 4
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdhsa_kernel matrix
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 4
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: data
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: n
        .offset: 8
        .size: 4
        .value_kind: by_value
    .name: clipped
    .max_flat_workgroup_size: 1024
    .sgpr_count: 10
    .vgpr_count: 3
...
	.end_amdgpu_metadata
