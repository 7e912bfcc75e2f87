"""Verdicts of AMD kernels: right ones are proved, and without any one piece they are races."""

import re
from dataclasses import dataclass

import pytest

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict, VerdictKind
from fencewright.lowering.cdna.code.text import read_assembly

_HEAD = """\
	.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
	.text
	.globl	k
	.type	k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 2, v0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 1
	s_waitcnt lgkmcnt(0)
"""
_TAIL = """
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size {lds}
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 24
		.amdhsa_accum_offset 16
		.amdhsa_tg_split {tgsplit}
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {{ .name: data, .offset: 0, .size: 8, .value_kind: global_buffer }}
    .name: k
    .max_flat_workgroup_size: 256
...
	.end_amdgpu_metadata
"""


def _verdict(body: str, chip: str = "gfx942", lds: int = 1024, tgsplit: int = 0) -> Verdict:
    text = _HEAD.format(chip=chip) + body + _TAIL.format(lds=lds, tgsplit=tgsplit)
    assembly = read_assembly(text, "k.s")
    return judge(kernel_of(assembly, assembly.functions["k"]))


def _without(body: str, piece: str) -> str:
    """A body without the one line that has a piece."""
    lines = body.splitlines()
    found = [line for line in lines if line.strip() == piece]
    assert len(found) == 1, (piece, found)
    return "\n".join(line for line in lines if line is not found[0])


@dataclass(frozen=True)
class Case:
    """A right kernel, and its pieces: each with the rule that its absence is a finding of."""

    name: str
    body: str
    pieces: tuple[tuple[str, Rule | None], ...] = ()
    chip: str = "gfx942"
    lds: int = 1024
    tgsplit: int = 0


_REVERSE = """
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_xor_b32_e32 v4, 0x3fc, v1
	ds_read_b32 v5, v4
	s_waitcnt lgkmcnt(0)
"""
_TWICE = """
	s_mov_b32 s10, 0
.LBB0_1:
	v_lshl_add_u32 v4, s10, 10, v1
	ds_write_b32 v4, v0
	s_waitcnt lgkmcnt(0) ; written
	s_barrier
	v_xor_b32_e32 v4, 0x3fc, v4
	ds_read_b32 v5, v4
	s_waitcnt lgkmcnt(0)
	s_xor_b32 s10, s10, 1
	s_add_i32 s4, s4, -1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .LBB0_1
"""
_AGAIN = """
.LBB0_1:
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v5, v1 offset:4
	s_waitcnt lgkmcnt(0)
	s_barrier ; read
	s_add_i32 s4, s4, -1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .LBB0_1
"""
_MESSAGE = """
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .LBB0_2
	v_mov_b32_e32 v4, 42
	global_store_dword v1, v4, s[4:5]
	s_waitcnt vmcnt(0)
	s_barrier
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_4
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0) expcnt(7)
	global_store_dword v2, v3, s[6:7] sc1
	s_branch .LBB0_4
.LBB0_2:
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_3
.LBB0_5:
	global_load_dword v5, v2, s[6:7] sc1
	s_waitcnt vmcnt(0) lgkmcnt(15)
	buffer_inv sc1
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_5
.LBB0_3:
	s_or_b64 exec, exec, s[10:11]
	s_barrier ; seen
	global_load_dword v6, v1, s[4:5]
	s_waitcnt vmcnt(0) expcnt(6)
.LBB0_4:
"""
_LOCK = """
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_2
.LBB0_1:
	v_mov_b32_e32 v8, 1
	v_mov_b32_e32 v9, 0
	global_atomic_cmpswap v5, v2, v[8:9], s[6:7] sc0
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	v_cmp_ne_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_1
	global_load_dword v6, v2, s[4:5]
	s_waitcnt vmcnt(0) expcnt(7)
	v_add_u32_e32 v6, 1, v6
	global_store_dword v2, v6, s[4:5]
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0) expcnt(6)
	global_store_dword v2, v2, s[6:7] sc1
.LBB0_2:
"""

CASES = (
    Case(
        "reverse",
        _REVERSE,
        (("s_barrier", Rule.MISSING_BARRIER),),
    ),
    Case(
        "again",
        _AGAIN,
        (("s_barrier", Rule.MISSING_BARRIER), ("s_barrier ; read", Rule.MISSING_BARRIER)),
    ),
    Case(
        "double buffer",
        _TWICE,
        (("s_waitcnt lgkmcnt(0) ; written", Rule.MISSING_BARRIER),),
        lds=2048,
    ),
    Case(
        "message",
        _MESSAGE,
        (
            ("buffer_wbl2 sc1", Rule.CUMULATIVE),
            ("s_waitcnt vmcnt(0) expcnt(7)", Rule.CUMULATIVE),
            ("buffer_inv sc1", Rule.UNORDERED_WAIT),
        ),
    ),
    Case(
        "lock",
        _LOCK,
        (
            ("buffer_wbl2 sc1", Rule.UNORDERED_SIGNAL),
            ("s_waitcnt vmcnt(0) expcnt(6)", Rule.UNORDERED_SIGNAL),
            ("buffer_inv sc1", Rule.UNORDERED_WAIT),
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_right_kernels_are_proved(case: Case) -> None:
    verdict = _verdict(case.body, case.chip, case.lds, case.tgsplit)
    assert verdict.kind is VerdictKind.RACE_FREE, verdict


@pytest.mark.parametrize(
    ("case", "piece", "rule"),
    [(case, piece, rule) for case in CASES for piece, rule in case.pieces],
    ids=lambda value: re.sub(r"\W+", "-", str(getattr(value, "name", value))),
)
def test_without_a_piece_they_are_races(case: Case, piece: str, rule: Rule) -> None:
    verdict = _verdict(_without(case.body, piece), case.chip, case.lds, case.tgsplit)
    assert verdict.kind in (VerdictKind.RACE, VerdictKind.LAUNCH), verdict
    assert verdict.conflicts[0].finding is rule, verdict.conflicts[0]
