"""Verdicts of AMD kernels: right ones are proved, and without any one piece they are races."""

import re
from dataclasses import dataclass

import pytest

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.amd.judge import judged
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import (
    NO_ORDER,
    Access,
    Assumption,
    Kernel,
    Order,
    OrderRule,
    Relation,
    ThreadPair,
    Verdict,
    VerdictKind,
)
from fencewright.lowering.cdna.code.text import Assembly, read_assembly

_HEAD = """\
	.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
	.text
	.globl	k
	.type	k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	s_load_dword s3, s[0:1], 0x18
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
      - .name: data
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .offset: 24
        .size: 4
        .value_kind: hidden_block_count_x
    .name: k
    .max_flat_workgroup_size: 256
...
	.end_amdgpu_metadata
"""


def kernel_text(body: str, chip: str = "gfx942", lds: int = 1024, tgsplit: int = 0) -> str:
    """The assembly of a kernel with a body."""
    return _HEAD.format(chip=chip) + body + _TAIL.format(lds=lds, tgsplit=tgsplit)


def _verdict(body: str, chip: str = "gfx942", lds: int = 1024, tgsplit: int = 0) -> Verdict:
    return _judged(read_assembly(kernel_text(body, chip, lds, tgsplit), "k.s"))


def _judged(assembly: Assembly) -> Verdict:
    checked = check(assembly, assembly.functions["k"])
    return judge(kernel_of(checked.lifted))


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

_OLD_MESSAGE = """
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .LBB0_2
	global_store_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0) ; stored
	s_barrier
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_4
	global_store_dword v2, v3, s[6:7]
	s_branch .LBB0_4
.LBB0_2:
	global_load_dword v5, v2, s[6:7] glc
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_2
	buffer_wbinvl1_vol
	global_load_dword v6, v1, s[4:5]
	s_waitcnt vmcnt(0) ; loaded
.LBB0_4:
"""
_COPY = """
	v_lshrrev_b32_e32 v4, 6, v0
	v_readfirstlane_b32 s10, v4
	s_lshl_b32 s10, s10, 8
	s_mov_b32 m0, s10
	v_xor_b32_e32 v5, 0x3fc, v1
	global_load_lds_dword v1, s[4:5]
	s_waitcnt vmcnt(0)
	s_barrier ; first
.LBB0_1:
	ds_read_b32 v6, v5
	s_waitcnt lgkmcnt(0)
	s_barrier ; read
	global_load_lds_dword v1, s[4:5]
	s_waitcnt vmcnt(0) ; copied
	s_barrier ; again
	s_sub_u32 s8, s8, 1
	s_cmp_lg_u32 s8, 0
	s_cbranch_scc1 .LBB0_1
"""
_SPLIT = """
	v_xor_b32_e32 v4, 0x3fc, v1
	s_lshl_b32 s10, s2, 10
	v_add_u32_e32 v1, s10, v1
	v_add_u32_e32 v4, s10, v4
	global_store_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0) ; stored
	s_barrier
	buffer_inv sc0
	global_load_dword v5, v4, s[4:5]
	s_waitcnt vmcnt(0) ; loaded
"""
_FLAG_IN_LDS = """
	v_cmp_gt_u32_e32 vcc, 64, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_xor_b64 s[10:11], exec, s[10:11]
	s_cbranch_execz .LBB0_2
	ds_write_b32 v1, v0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_1
	ds_write_b32 v2, v3 offset:512
.LBB0_1:
	s_or_b64 exec, exec, s[12:13]
.LBB0_2:
	s_andn2_saveexec_b64 s[10:11], s[10:11]
	s_cbranch_execz .LBB0_4
.LBB0_3:
	ds_read_b32 v5, v2 offset:512
	s_waitcnt lgkmcnt(0) ; seen
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_3
	v_and_b32_e32 v6, 0xfc, v1
	ds_read_b32 v6, v6
	s_waitcnt lgkmcnt(0)
.LBB0_4:
"""
_LAST = """
	v_lshl_or_b32 v4, s2, 8, v0
	v_lshlrev_b32_e32 v4, 2, v4
	global_store_dword v4, v0, s[4:5]
	s_waitcnt vmcnt(0) ; stored
	s_barrier ; stored
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_2
	s_mov_b64 s[12:13], exec
	v_mbcnt_lo_u32_b32 v5, s12, 0
	v_mbcnt_hi_u32_b32 v5, s13, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB0_1
	s_bcnt1_i32_b64 s12, s[12:13]
	v_mov_b32_e32 v7, s12
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0) ; written back
	global_atomic_add v6, v2, v7, s[6:7] sc0
	s_waitcnt vmcnt(0)
	buffer_inv sc1
.LBB0_1:
	s_or_b64 exec, exec, s[14:15]
	v_readfirstlane_b32 s12, v6
	v_add_u32_e32 v5, s12, v5
	s_add_i32 s13, s3, -1
	v_cmp_eq_u32_e32 vcc, s13, v5
	v_cndmask_b32_e64 v5, 0, 1, vcc
	ds_write_b32 v2, v5
.LBB0_2:
	s_or_b64 exec, exec, s[10:11]
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v5, v2
	s_waitcnt lgkmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_3
	v_xor_b32_e32 v4, 0x3fc, v1
	global_load_dword v6, v4, s[4:5]
	s_waitcnt vmcnt(0) ; loaded
.LBB0_3:
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
        (("s_waitcnt lgkmcnt(0) ; written", Rule.LDS_BARRIER),),
        lds=2048,
    ),
    Case(
        "message",
        _MESSAGE,
        (
            ("buffer_wbl2 sc1", Rule.CUMULATIVE),
            ("s_waitcnt vmcnt(0) expcnt(7)", Rule.WRITE_BACK_UNWAITED),
            ("buffer_inv sc1", Rule.UNORDERED_WAIT),
        ),
    ),
    Case(
        "lock",
        _LOCK,
        (
            ("buffer_wbl2 sc1", Rule.UNORDERED_SIGNAL),
            ("s_waitcnt vmcnt(0) expcnt(6)", Rule.WRITE_BACK_UNWAITED),
            ("buffer_inv sc1", Rule.UNORDERED_WAIT),
        ),
    ),
    Case(
        "message of gfx90a",
        _OLD_MESSAGE,
        (
            ("s_waitcnt vmcnt(0) ; stored", Rule.UNORDERED_SIGNAL),
            ("buffer_wbinvl1_vol", Rule.UNORDERED_WAIT),
        ),
        chip="gfx90a",
    ),
    Case(
        "copies to LDS",
        _COPY,
        (
            ("s_barrier ; first", Rule.MISSING_BARRIER),
            ("s_barrier ; read", Rule.MISSING_BARRIER),
            ("s_waitcnt vmcnt(0) ; copied", Rule.LDS_DMA_BARRIER),
            ("s_barrier ; again", Rule.MISSING_BARRIER),
        ),
        chip="gfx950",
    ),
    Case(
        "waves on two CUs",
        _SPLIT,
        (
            ("s_waitcnt vmcnt(0) ; stored", Rule.UNORDERED_SIGNAL),
            ("s_barrier", Rule.MISSING_BARRIER),
            ("buffer_inv sc0", Rule.UNORDERED_WAIT),
        ),
        lds=0,
        tgsplit=1,
    ),
    Case("flag in LDS", _FLAG_IN_LDS),
    Case(
        "last work-group",
        _LAST,
        (
            ("buffer_wbl2 sc1", Rule.CUMULATIVE),
            ("s_waitcnt vmcnt(0) ; written back", Rule.WRITE_BACK_UNWAITED),
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


def test_no_barrier_of_a_right_kernel_can_go() -> None:
    """Waves that meet one that has acquired have acquired, whatever they access themselves."""
    for case in CASES:
        text = kernel_text(case.body, case.chip, case.lds, case.tgsplit)
        assembly = read_assembly(text, "k.s")
        found = judged(check(assembly, assembly.functions["k"]), finds_surplus=True).findings
        assert not [each for each in found if each.rule is Rule.SURPLUS_BARRIER], case.name


def test_a_branch_around_code_says_nothing_of_scalars_after_it() -> None:
    # A wave that goes there for one lane writes the scalar register for all of them.
    body = """
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_mov_b32 s10, 0
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_1
	s_movk_i32 s10, 0x400
.LBB0_1:
	s_or_b64 exec, exec, s[12:13]
	v_add_u32_e32 v4, s10, v1
	ds_write_b32 v4, v0
"""
    assert _verdict(body, lds=2048).kind is not VerdictKind.RACE_FREE


def test_a_mask_that_is_given_back_is_the_one_that_was_saved() -> None:
    # Without that the barrier would be one that only some come to.
    assert _verdict(_FLAG_IN_LDS + _REVERSE).kind is not VerdictKind.NOT_JUDGED


def test_another_lane_may_take_a_wave_along() -> None:
    # The wave stores if any lane has the bit, so that other lanes' places are written too.
    body = """
	v_cmp_gt_u32_e32 vcc, 1, v0
	s_cbranch_vccz .LBB0_1
	v_and_b32_e32 v4, 0x1c, v1
	ds_write_b32 v4, v0
.LBB0_1:
"""
    assert _verdict(body).kind is VerdictKind.NOT_JUDGED


def test_a_wait_for_a_count_is_not_one_for_all() -> None:
    two = """
	ds_write_b32 v1, v0
	ds_write_b32 v2, v0 offset:1024
	s_waitcnt lgkmcnt(1)
	s_barrier
	v_xor_b32_e32 v4, 0x3fc, v1
	ds_read_b32 v5, v4{offset}
	s_waitcnt lgkmcnt(0)
"""
    first = _verdict(two.format(offset=""), lds=2048)
    assert all(each.second.line != 20 for each in first.conflicts)
    body = two.replace("v2, v0 offset:1024", "v1, v0 offset:1024")
    assert _verdict(body.format(offset=""), lds=2048).kind is VerdictKind.RACE_FREE
    second = _verdict(body.format(offset=" offset:1024"), lds=2048)
    assert second.conflicts[0].finding is Rule.LDS_BARRIER


def test_a_count_says_nothing_while_a_scalar_load_is_in_flight() -> None:
    # Scalar loads come in any order.
    body = """
	ds_write_b32 v1, v0
	s_load_dword s10, s[0:1], 0x0
	s_waitcnt lgkmcnt({count})
	s_barrier
	v_xor_b32_e32 v4, 0x3fc, v1
	ds_read_b32 v5, v4
	s_waitcnt lgkmcnt(0)
"""
    assert _verdict(body.format(count=0)).kind is VerdictKind.RACE_FREE
    assert _verdict(body.format(count=1)).conflicts[0].finding is Rule.LDS_BARRIER


def test_a_code_without_a_descriptor_is_not_judged() -> None:
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.type k,@function\nk:\ns_endpgm\n'
    assembly = read_assembly(text, "k.s")
    verdict = _judged(assembly)
    assert "descriptor" in verdict.obstacles[0].reason


def test_a_store_right_after_a_wait_for_stores_is_a_flag() -> None:
    # Stores of gfx90a carry no scope: that of all threads to one place is no race.
    body = """
	global_store_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dword v2, v0, s[6:7]
"""
    verdict = _verdict(body, "gfx90a")
    assert verdict.kind is VerdictKind.NOT_JUDGED
    assert {each.reason for each in verdict.obstacles} == {
        "this kernel never reads what is published here"
    }
    plain = body.replace("	s_waitcnt vmcnt(0)\n", "")
    assert _verdict(plain, "gfx90a").kind is not VerdictKind.NOT_JUDGED


def test_a_signal_on_a_way_that_no_wave_takes_publishes_nothing() -> None:
    body = """
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc0 .LBB0_3
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_2
.LBB0_1:
	global_load_dword v5, v2, s[6:7] sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_1
	buffer_inv sc1
	global_store_dword v2, v5, s[8:9]
.LBB0_2:
	s_or_b64 exec, exec, s[10:11]
	s_cbranch_execz .LBB0_3 ; never
	s_endpgm
.LBB0_3:
	global_store_dword v2, v3, s[6:7] sc1
"""
    assert not _verdict(body).sides
    assert _verdict(body.replace("s_cbranch_execz .LBB0_3 ; never", "s_branch .LBB0_3")).sides


def test_a_nontemporal_access_is_no_flag() -> None:
    body = """
	global_load_dword v3, v1, s[6:7] {bits}
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v3, v3, v3
	global_store_dword v1, v3, s[4:5] {bits}
"""
    assert _verdict(body.format(bits="glc slc"), "gfx90a").kind is VerdictKind.LAUNCH
    assert _verdict(body.format(bits="glc"), "gfx90a").kind is VerdictKind.NOT_JUDGED


def test_stores_to_an_array_that_is_polled_elsewhere_are_flags() -> None:
    """Each block publishes a status and waits for block 0's: stores of gfx90a carry no scope."""
    body = """
	s_mov_b32 s3, 0
	s_lshl_b64 s[10:11], s[2:3], 2
	s_add_u32 s10, s6, s10
	s_addc_u32 s11, s7, s11
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_2
	global_store_dword v2, v3, s[10:11]
.LBB0_1:
	global_load_dword v5, v2, s[6:7] glc
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_1
.LBB0_2:
"""
    assert _verdict(body, "gfx90a").kind is VerdictKind.RACE_FREE
    # A store of another size is none of the atomics that the load sees whole.
    narrow = body.replace("global_store_dword", "global_store_byte")
    assert _verdict(narrow, "gfx90a").kind is VerdictKind.RACE


@pytest.mark.parametrize(("place", "is_sure"), [("s[10:11]", False), ("s[4:5]", True)])
def test_a_wait_is_not_for_what_its_own_block_alone_writes(place: str, is_sure: bool) -> None:
    """A round of all GPUs: each block signals to a peer, waits for one, and counts its rounds."""
    body = f"""
	s_mov_b32 s3, 0
	s_lshl_b64 s[10:11], s[2:3], 2
	s_add_u32 s10, s4, s10
	s_addc_u32 s11, s5, s11
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_2
	s_load_dwordx2 s[16:17], s[6:7], 0x0
	s_waitcnt lgkmcnt(0)
	global_store_dword v2, v3, s[16:17] sc0 sc1
.LBB0_1:
	global_load_dword v5, v2, s[4:5] offset:4092 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_cbranch_vccnz .LBB0_1
	global_store_dword v2, v3, {place}
.LBB0_2:
	s_or_b64 exec, exec, s[12:13]
	s_waitcnt vmcnt(0)
	s_barrier
	global_load_dword v6, v2, {place}
"""
    (side,) = _verdict(body).sides
    assert (side.finding, side.is_sure) == (Rule.UNORDERED_WAIT, is_sure)


@pytest.mark.parametrize(
    ("threads", "before", "kind"),
    [
        (32, "", VerdictKind.LAUNCH),
        (64, "", VerdictKind.LAUNCH),
        (128, "", VerdictKind.LAUNCH),
        (128, "s_barrier", VerdictKind.LAUNCH),
        (32, "s_barrier", VerdictKind.RACE),
        (48, "", VerdictKind.RACE),
    ],
)
def test_rounds_of_a_loop_have_a_size_of_the_block_in_mind(
    threads: int, before: str, kind: VerdictKind
) -> None:
    """``for (i = threadIdx.x; i < n; i += 32)`` is for blocks of 32 threads."""
    body = f"""
	{before}
	v_mov_b32_e32 v4, v1
	v_mov_b32_e32 v6, v0
	s_mov_b64 s[14:15], 0
.LBB0_1:
	ds_write_b32 v4, v0
	v_add_u32_e32 v6, {threads}, v6
	v_add_u32_e32 v4, {4 * threads}, v4
	v_cmp_le_i32_e64 s[10:11], s8, v6
	s_or_b64 s[14:15], s[10:11], s[14:15]
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_1
	s_or_b64 exec, exec, s[14:15]
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v5, v1
"""
    assert _verdict(body, lds=65536).kind is kind


def test_an_address_from_memory_that_all_threads_have_is_not_judged() -> None:
    body = """
	global_load_dword v4, v2, s[6:7] sc1
	s_waitcnt vmcnt(0)
	global_store_dword v4, v3, s[4:5]
"""
    verdict = _verdict(body)
    assert verdict.kind is VerdictKind.NOT_JUDGED
    assert any("an address depends on data" in each.reason for each in verdict.obstacles)


def test_after_many_unknown_places_their_order_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def order(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
        asked.append(f"{earlier.line} {later.line}")
        return NO_ORDER

    rule = OrderRule("counted", frozenset(Relation), order)
    monkeypatch.setattr("fencewright.checker.verdicts.judge.RULES", (rule,))
    # Of loads to LDS nobody says what m0 is.
    body = "\tglobal_load_lds_dword v1, s[4:5]\n" * 12
    reasons = [each.reason for each in _verdict(body, "gfx950").obstacles]
    assert len(reasons) > 32
    assert all(each.startswith("an address that is not known") for each in reasons)
    assert 0 < len(asked) <= 2 * 32


_MASKED = """
	s_lshl_b32 s16, s2, 12
	s_mov_b32 s17, 0
	s_add_u32 s12, s4, s16
	s_addc_u32 s13, s5, s17
	s_and_b32 s13, s13, 0xffff
	s_mov_b32 s14, {records}
	s_mov_b32 s15, {flags}
	v_cmp_gt_u32_e32 vcc, s3, v0
	v_bfrev_b32_e32 v4, 1
	v_cndmask_b32_e32 v4, v4, v1, vcc
	buffer_store_dword v0, v4, s[12:15], 0 offen"""


@pytest.mark.parametrize(
    ("records", "chip", "flags", "kind"),
    [
        (0x7FFFFFFE, "gfx942", 0x27000, VerdictKind.RACE_FREE),
        (0xFFFFFFFF, "gfx942", 0x27000, VerdictKind.RACE),
        (0x7FFFFFFE, "gfx1100", 0x31027000, VerdictKind.RACE_FREE),
        # The resource has its index checked.
        (0x7FFFFFFE, "gfx1100", 0x1027000, VerdictKind.RACE),
    ],
)
def test_lanes_with_an_offset_beyond_a_buffer_access_nothing(
    records: int, chip: str, flags: int, kind: VerdictKind
) -> None:
    """So Triton masks stores. Source: MI300 ISA 9.1.5; RDNA3 ISA 8.1.5."""
    body = _MASKED.format(records=records, flags=flags)
    if chip == "gfx1100":
        body = body.replace("buffer_store_dword", "buffer_store_b32").replace(" vcc,", " vcc_lo,")
        body = body.replace(", vcc\n", ", vcc_lo\n")
    verdict = _verdict(body, chip)
    assert verdict.kind in ({kind, VerdictKind.LAUNCH} if kind is VerdictKind.RACE else {kind})


@pytest.mark.parametrize(("bound", "is_found"), [("1", False), ("64", False), ("0x41", True)])
def test_stores_of_the_wave_that_publishes_are_not_in_flight_in_another(
    bound: str, is_found: bool
) -> None:
    body = f"""
	v_mov_b32_e32 v4, {bound}
	v_cmp_lt_u32_e32 vcc, v0, v4
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_1
	global_store_dword v1, v3, s[4:5]
.LBB0_1:
	s_or_b64 exec, exec, s[12:13]
	s_barrier
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_2
	s_waitcnt vmcnt(0)
	global_atomic_add v2, v3, s[6:7]
.LBB0_2:
	s_or_b64 exec, exec, s[12:13]
"""
    rules = [each.finding for each in _verdict(body, "gfx90a").sides]
    assert (Rule.CUMULATIVE in rules) is is_found


_COUNTED = """
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 1
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	ds_write_b32 v4, v4
	s_mov_b64 exec, s[10:11]
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_add_u32 v4, v5
"""
_DRAWN = _COUNTED.replace("ds_add_u32 v4, v5", "ds_add_rtn_u32 v6, v4, v5\n\ts_waitcnt lgkmcnt(0)")
_LAST_DRAWN = f"""{_DRAWN}
	v_cmp_eq_u32_e32 vcc, 0, v6
	s_and_saveexec_b64 s[10:11], vcc
	ds_write_b32 v4, v5 offset:4
"""


@pytest.mark.parametrize("body", [_COUNTED, _DRAWN])
def test_a_store_is_no_flag_of_an_atomic_that_decides_nothing(body: str) -> None:
    """A counter that one thread sets to zero; where the old value decides, the store may be one of
    a flag."""
    assert _verdict(body).kind is VerdictKind.RACE_FREE
    assert _verdict(_without(body, "s_barrier")).kind is VerdictKind.RACE


def test_a_store_at_the_place_of_an_atomic_that_decides_is_one_of_a_flag() -> None:
    assert _verdict(_without(_LAST_DRAWN, "s_barrier")).kind is not VerdictKind.RACE


def test_what_shares_a_place_of_lds_is_in_lds() -> None:
    # An address of either memory: only as one of LDS can it meet the store's.
    body = """
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_mov_b64 s[10:11], src_shared_base
	s_cmp_eq_u32 s2, 0
	s_cselect_b32 s11, s11, s5
	s_cselect_b32 s10, 0, s4
	v_mov_b32_e32 v5, s11
	v_mov_b32_e32 v4, s10
	flat_load_dword v6, v[4:5]
	s_waitcnt vmcnt(0) lgkmcnt(0)
"""
    assert _verdict(body).kind is VerdictKind.RACE_FREE
    barrier = _without(body, "s_barrier")
    assert _verdict(barrier).kind is VerdictKind.RACE


def test_an_address_among_all_that_begins_with_lds_is_in_lds() -> None:
    """Volatile accesses of LDS, as clang compiles them: their bits order nothing."""
    body = """
	s_mov_b64 s[10:11], src_shared_base
	v_mov_b32_e32 v5, s11
	v_mov_b32_e32 v4, v1
	flat_store_dword v[4:5], v0 sc0 sc1
	s_waitcnt vmcnt(0)
	s_waitcnt lgkmcnt(0) ; stored
	s_barrier
	v_xor_b32_e32 v4, 0x3fc, v1
	flat_load_dword v6, v[4:5] sc0 sc1
	s_waitcnt vmcnt(0) lgkmcnt(0)
"""
    mixed = body.replace("flat_load_dword v6, v[4:5] sc0 sc1", "ds_read_b32 v6, v4")
    missing = {"s_barrier": Rule.MISSING_BARRIER, "s_waitcnt lgkmcnt(0) ; stored": Rule.LDS_BARRIER}
    for each in (body, mixed):
        assert _verdict(each).kind is VerdictKind.RACE_FREE
        for piece, rule in missing.items():
            assert _verdict(_without(each, piece)).conflicts[0].finding is rule


def test_a_lock_in_memory_guards_what_is_in_lds() -> None:
    body = _LOCK.replace("global_load_dword v6, v2, s[4:5]", "ds_read_b32 v6, v2")
    body = body.replace("global_store_dword v2, v6, s[4:5]", "ds_write_b32 v2, v6")
    body = body.replace("vmcnt(0) expcnt", "lgkmcnt(0) expcnt")
    body = body.replace("vcc, 0, v0", "vcc, 0, v10", 1)
    body = "\n\tv_and_b32_e32 v10, 63, v0" + body
    assert _verdict(body).kind is VerdictKind.RACE_FREE
    unwaited = _without(body, "s_waitcnt lgkmcnt(0) expcnt(6)")
    assert _verdict(unwaited).kind is not VerdictKind.RACE_FREE


def test_lanes_that_take_a_lock_together_are_of_one_work_group() -> None:
    body = _LOCK.replace("global_load_dword v6, v2, s[4:5]", "ds_read_b32 v6, v2")
    body = body.replace("global_store_dword v2, v6, s[4:5]", "ds_write_b32 v2, v6")
    body = body.replace("vmcnt(0) expcnt", "lgkmcnt(0) expcnt")
    for piece in ("s_and_saveexec_b64 s[10:11], vcc", "s_cbranch_execz .LBB0_2"):
        body = _without(body, piece)
    assert _verdict(body).kind is VerdictKind.RACE_FREE


_POLL_OF_ONE = """
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .Lwait
	global_store_dword v1, v0, s[4:5]
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	s_barrier
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .Lend
	global_store_dword v2, v3, s[6:7] sc1
	s_branch .Lend
.Lwait:
	v_mbcnt_lo_u32_b32 v5, exec_lo, 0
	v_mbcnt_hi_u32_b32 v5, exec_hi, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .Lfound
	global_load_dword v5, v2, s[6:7] sc1
.Lfound:
	s_or_b64 exec, exec, s[12:13]
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s14, v5
	s_cmp_eq_u32 s14, 0
	s_cbranch_scc1 .Lwait
	buffer_inv sc1
	global_load_dword v6, v1, s[4:5]
	s_waitcnt vmcnt(0)
.Lend:"""


def test_the_first_lane_polls_for_all() -> None:
    assert _verdict(_POLL_OF_ONE).kind is VerdictKind.RACE_FREE
    assert _verdict(_without(_POLL_OF_ONE, "buffer_inv sc1")).kind is VerdictKind.RACE
    other = _POLL_OF_ONE.replace("vcc, 0, v5", "vcc, 1, v5")
    assert _verdict(other).kind is VerdictKind.NOT_JUDGED


_SKIPS = """
	s_mov_b64 s[10:11], 0
	v_mov_b32_e32 v4, v0
.Lnext:
	v_lshlrev_b32_e32 v7, 2, v4
	global_load_dword v5, v7, s[4:5]
	s_waitcnt vmcnt(0)
	v_cmp_lt_i32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .Lon
	v_cmp_lt_i32_e32 vcc, 9, v5
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .Lon
	global_store_dword v7, v5, s[6:7]
.Lon:
	s_or_b64 exec, exec, s[12:13]
	v_add_u32_e32 v4, 0x400, v4
	v_cmp_le_i32_e32 vcc, s3, v4
	s_or_b64 s[10:11], vcc, s[10:11]
	s_andn2_b64 exec, exec, s[10:11]
	s_cbranch_execnz .Lnext"""


def test_exec_is_known_where_several_branches_skip_to_one_place() -> None:
    one_block = _SKIPS.replace("v_mov_b32_e32 v4, v0", "v_lshl_add_u32 v4, s2, 8, v0")
    one_block = one_block.replace("0x400, v4", "0x40000000, v4")
    assert _verdict(one_block).kind is VerdictKind.RACE_FREE
    # Without the second one the thread that skips has lost its bit.
    lost = _SKIPS.replace("s_or_b64 exec, exec, s[12:13]", "s_or_b64 exec, exec, s[10:11]")
    assert _verdict(lost).kind is not VerdictKind.RACE_FREE


_TOGETHER = """
	s_mov_b32 s9, 0
.Lnext:
	global_load_dword v6, v1, s[4:5]
	s_waitcnt vmcnt(0) ; loaded
	v_add_u32_e32 v5, s9, v1
	ds_write_b32 v5, v6
	s_add_i32 s9, s9, 4
	s_cmp_lt_u32 s9, 64
	s_cbranch_scc1 .Lnext
"""


def test_lanes_of_one_store_do_not_write_one_place() -> None:
    """One iteration after another writes the neighbour's place: no two lanes do so together."""

    def verdict(body: str) -> Verdict:
        one_wave = kernel_text(body).replace("workgroup_size: 256", "workgroup_size: 64")
        return _judged(read_assembly(one_wave, "k.s"))

    proved = verdict(_TOGETHER)
    assert proved.kind is VerdictKind.RACE_FREE
    assert Assumption.LANES_AGREE not in proved.assumptions
    halved = _TOGETHER.replace("ds_write_b32 v5", "v_and_b32_e32 v5, -8, v5\n\tds_write_b32 v5")
    assert verdict(halved).kind is VerdictKind.RACE
    # What lanes have worked out together may be one value.
    sum_of_all = "v_add_u32_dpp v6, v6, v6 row_bcast:31 row_mask:0xf bank_mask:0xf"
    agreed = verdict(halved.replace("; loaded", f"\n\t{sum_of_all}"))
    assert agreed.kind is VerdictKind.RACE_FREE
    assert Assumption.LANES_AGREE in agreed.assumptions


_PACKET = """
	s_load_dword s10, s[12:13], 0x4
	s_load_dword s11, s[12:13], 0xc
	s_waitcnt lgkmcnt(0) ; sizes
	s_and_b32 s10, s10, 0xffff
	s_mul_i32 s10, s20, s10
	v_add_u32_e32 v4, s10, v0
	s_mov_b64 s[14:15], 0
.Lnext:
	v_lshlrev_b32_e32 v5, 2, v4
	global_store_dword v5, v0, s[4:5]
	v_add_u32_e32 v4, s11, v4
	v_cmp_le_u32_e32 vcc, 0x4000, v4
	s_or_b64 s[14:15], vcc, s[14:15]
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .Lnext
"""


def test_the_packet_of_a_dispatch_has_the_sizes_of_the_launch() -> None:
    """A stride of all work-items keeps them apart, unless work-groups may be smaller, and another
    one does not."""

    def verdict(body: str, uniform: int = 1) -> Verdict:
        text = kernel_text(body).replace("s[0:1]", "s[2:3]").replace("sgpr_count 2", "sgpr_count 4")
        text = text.replace("k:\n", "k:\n\ts_mov_b64 s[12:13], s[0:1]\n\ts_mov_b32 s20, s4\n", 1)
        pointer = "\t\t.amdhsa_user_sgpr_dispatch_ptr 1\n\t\t.amdhsa_user_sgpr_kernarg"
        text = text.replace("\t\t.amdhsa_user_sgpr_kernarg", pointer)
        of_kernel = f"    .uniform_work_group_size: {uniform}\n    .max_flat"
        return _judged(read_assembly(text.replace("    .max_flat", of_kernel), "k.s"))

    assert verdict(_PACKET).kind is VerdictKind.RACE_FREE
    vector = "global_load_ushort v9, v2, s[12:13] offset:4\n\ts_waitcnt vmcnt(0)"
    vector += "\n\tv_readfirstlane_b32 s10, v9"
    of_lane = _PACKET.replace("s_load_dword s10, s[12:13], 0x4", vector)
    assert verdict(of_lane).kind is VerdictKind.RACE_FREE
    assert verdict(of_lane.replace("offset:4", "offset:6")).kind is not VerdictKind.RACE_FREE
    assert verdict(_PACKET, uniform=0).kind is not VerdictKind.RACE_FREE
    for wrong in ("0x10", "0x8"):
        assert verdict(_PACKET.replace("0xc", wrong)).kind is not VerdictKind.RACE_FREE


_CHOSEN = """
	s_cmp_eq_u32 s2, 0
	s_cselect_b32 s11, s5, s7
	s_cselect_b32 s10, s4, s6
	v_lshl_add_u32 v4, s2, 8, v0
	v_lshlrev_b32_e32 v4, 2, v4
	global_store_dword v4, v0, s[10:11]
"""


def test_a_store_by_a_chosen_pointer_is_one_to_each_object() -> None:
    assert _verdict(_CHOSEN).kind is VerdictKind.RACE_FREE
    read = "\n\tv_xor_b32_e32 v4, 0x100, v4\n\tglobal_load_dword v5, v4, {}\n"
    for pointer in ("s[4:5]", "s[6:7]"):
        assert _verdict(_CHOSEN + read.format(pointer)).kind is VerdictKind.RACE
    assert _verdict(_CHOSEN + read.format("s[8:9]")).kind is VerdictKind.RACE_FREE


def test_lanes_of_one_store_may_choose_two_places_of_one_object() -> None:
    """Each of two lanes takes another way to one place: nothing is known of their pair."""
    apart = """
	v_lshl_add_u32 v4, s2, 8, v0
	v_lshlrev_b32_e32 v4, 2, v4
	v_and_b32_e32 v4, -8, v4
	v_mov_b32_e32 v5, 0
	v_and_b32_e32 v6, 1, v0
	v_cmp_eq_u32_e32 vcc, 0, v6
	v_mov_b32_e32 v6, s4
	v_mov_b32_e32 v7, s5
	v_lshl_add_u64 v[8:9], v[6:7], 0, 4
	v_cndmask_b32_e32 v6, v8, v6, vcc
	v_cndmask_b32_e32 v7, v9, v7, vcc
	v_lshl_add_u64 v[6:7], v[4:5], 0, v[6:7]
	global_store_dword v[6:7], v0, off
"""
    assert _verdict(apart).kind is not VerdictKind.RACE
    assert _verdict(apart.replace("], 0, 4", "], 0, 0")).kind is not VerdictKind.RACE_FREE
