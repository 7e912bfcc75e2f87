// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<2, 64>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=BOUNDS
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64>>>(i32[64])' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64>>>(3, 5)' 2>&1 | filecheck %s --check-prefix=POINTER
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64>>>(i32[64], i32[4])' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64>>>(i32[64], 5000000000)' 2>&1 | filecheck %s --check-prefix=WIDE
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 2048>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=BLOCK
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64, 70000>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not fence-sim traffic %s --mcpu gfx942 --launch 'k<<<1, 64>>>(tensormap(i32[64], [64]), 5)' 2>&1 | filecheck %s --check-prefix=MAP
// RUN: not fence-sim traffic %s --mcpu gfx90a --launch 'k<<<1, 64>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not fence-check %s --launch 'k<<<1>>>(i32[64], 5)' 2>&1 | filecheck %s --check-prefix=CHECKED
// A launch that cannot be: one line each, with what to give.

// BOUNDS: traffic-bad-launch.s:[[#]]:2: error: out of bounds: 4 bytes at byte 256 of out, which has 256 bytes; give it 260 or more (global_store_dword v0, v1, s[2:3]), thread 0 of block 1
// MISSING: error: k takes 2 arguments (out of 64 bits, by of 32 bits), not 1: give a value for each
// POINTER: error: out is a buffer: give its size in bytes or an array
// NUMBER: error: by is a number of 32 bits, not a buffer
// WIDE: error: by has 32 bits: 5000000000 does not fit
// BLOCK: error: a block of 2048 threads: 1024 are the most
// SHARED: error: 70000 bytes of shared memory: 65536 are the most
// SIZE: error: k does not say the size of its work-groups: give it
// MAP: error: out is no tensor map: k copies by none; give an array
// CHIP: error: k is for gfx942: pass --mcpu gfx942
// CHECKED: fence-check: error: --launch: k does not say its size: give the block, as <<<4, 128>>>

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	k
	.type	k,@function
k:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_load_dword s6, s[0:1], 0x8
	s_lshl_b32 s7, s2, 8
	v_lshlrev_b32_e32 v0, 2, v0
	v_add_u32_e32 v0, s7, v0
	s_waitcnt lgkmcnt(0)
	s_mov_b64 s[2:3], s[4:5]
	v_mov_b32_e32 v1, s6
	global_store_dword v0, v1, s[2:3]
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_count 2
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space: global
        .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: by
        .offset: 8
        .size: 4
        .value_kind: by_value
    .name: k
    .symbol: k.kd
    .max_flat_workgroup_size: 1024
    .wavefront_size: 64
    .kernarg_segment_size: 16
...
	.end_amdgpu_metadata
