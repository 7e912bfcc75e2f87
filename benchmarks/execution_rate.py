"""The speed of ``fencewright.execute``: lane instructions a second, in step and diverged."""

import time
from collections.abc import Iterator

import numpy as np
from harness import Result

import fencewright

_PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry {name}(.param .u64 in, .param .u64 out, .param .u32 n) {{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<8>;
ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r3, 256, %r2;
mul.wide.u32 %d3, %r4, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
ld.global.u32 %r5, [%d1]; mov.u32 %r6, 0;
{body}}}
"""
_AMD = """	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl {name}
	.type {name},@function
{name}:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dword s8, s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_lshl_add_u32 v1, s2, 8, v0
	v_lshlrev_b32_e32 v1, 2, v1
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v4, 0
{body}	s_endpgm
.Lfunc_end0:
	.size {name}, .Lfunc_end0-{name}
	.amdhsa_kernel {name}
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .args:
      - .name: in
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: out
        .offset: 8
        .size: 8
        .value_kind: global_buffer
      - .name: n
        .offset: 16
        .size: 4
        .value_kind: by_value
    .max_flat_workgroup_size: 256
    .vgpr_count: 8
    .sgpr_count: 16
    .kernarg_segment_size: 20
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""
_SUMS = 8
_HORNER = {
    "PTX": (
        "mov.b32 %f1, %r5; mov.f32 %f2, 0f00000000;\nLOOP:\n"
        + "mul.f32 %f2, %f2, %f1; add.f32 %f2, %f2, 0f3F800000;\n" * _SUMS
        + "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1; @%p1 bra LOOP;\n"
        "st.global.f32 [%d2], %f2; ret;\n"
    ),
    "gfx942": (
        "\tv_mov_b32_e32 v3, 0\n\ts_mov_b32 s9, 0\n.LBB0_1:\n"
        + "\tv_mul_f32_e32 v3, v3, v2\n\tv_add_f32_e32 v3, 1.0, v3\n" * _SUMS
        + "\ts_add_i32 s9, s9, 1\n\ts_cmp_lt_u32 s9, s8\n\ts_cbranch_scc1 .LBB0_1\n"
        "\tglobal_store_dword v1, v3, s[6:7]\n"
    ),
}
"""A polynomial in single precision, whose lanes are in step."""
_COLLATZ = {
    "PTX": """LOOP:
setp.eq.u32 %p1, %r5, 1; @%p1 bra DONE;
and.b32 %r7, %r5, 1; setp.ne.u32 %p2, %r7, 0;
mad.lo.u32 %r8, %r5, 3, 1; shr.u32 %r9, %r5, 1; selp.b32 %r5, %r8, %r9, %p2;
add.u32 %r6, %r6, 1; bra LOOP;
DONE:
st.global.u32 [%d2], %r6; ret;
""",
    "gfx942": """.LBB0_1:
	v_cmp_ne_u32_e32 vcc, 1, v2
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_2
	v_and_b32_e32 v5, 1, v2
	v_cmp_eq_u32_e32 vcc, 1, v5
	v_lshl_add_u32 v6, v2, 1, v2
	v_add_u32_e32 v6, 1, v6
	v_lshrrev_b32_e32 v7, 1, v2
	v_cndmask_b32_e32 v2, v7, v6, vcc
	v_add_u32_e32 v4, 1, v4
	s_branch .LBB0_1
.LBB0_2:
	s_mov_b64 exec, -1
	global_store_dword v1, v4, s[6:7]
""",
}
"""The steps of Collatz sequences: lanes leave the loop one by one."""
_OF_STEP = {"PTX": 9, "gfx942": 8}
"""The instructions of a step that lanes execute, without those of a whole wave."""
_TEXTS = {"PTX": _PTX, "gfx942": _AMD}
_THREADS, _TURNS, _BELOW = 1 << 14, 100, 100_000


def _rows() -> Iterator[tuple[str, ...]]:
    chance = np.random.default_rng(1)
    numbers = chance.random(_THREADS, np.float32)
    drawn = chance.integers(1, _BELOW, _THREADS, np.uint32)
    for name, bodies, given in (("horner", _HORNER, numbers), ("collatz", _COLLATZ, drawn)):
        rates: list[str] = []
        for target, body in bodies.items():
            text = _TEXTS[target].format(name=name, body=body)
            best = 0.0
            for _ in range(3):
                begin = time.process_time()
                _, found, _ = fencewright.execute(
                    text, grid=_THREADS // 256, block=256, args=(given, given.copy(), _TURNS)
                )
                seconds = time.process_time() - begin
                in_step = 2 * _SUMS * _TURNS * _THREADS
                count = in_step if name == "horner" else int(found.sum()) * _OF_STEP[target]
                best = max(best, count / seconds)
            rates.append(f"{best / 1e6:,.0f} M/s")
        yield (_NAMES[name], *rates)


_NAMES = {"horner": "a polynomial, lanes in step", "collatz": "Collatz sequences, lanes diverge"}


def results() -> list[Result]:
    """Best of three, with reading the text and copying the arrays."""
    return [
        Result(
            "Kernels executed",
            ("kernel", "PTX", "gfx942"),
            tuple(_rows()),
            f"Lane instructions a CPU second of `fencewright.execute`, {_THREADS:,} threads.",
        )
    ]
