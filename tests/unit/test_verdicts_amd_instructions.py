"""Verdicts that rest on the meaning of single AMD instructions, with a wrong twin each."""

from collections.abc import Callable
from random import Random

import pytest
from test_verdicts_amd import kernel_text

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.amd.lemmas import CdnaLemma, Form, Pieces
from fencewright.checker.verdicts.amd.operations import by_table, computed
from fencewright.checker.verdicts.amd.words import Words
from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Verdict
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.value import Apply, Const, Value, ValueTable

_WORD = (1 << 32) - 1
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: a >> b,
}


def _judged(body: str, chip: str = "gfx942", dimensions: int = 1) -> Verdict:
    text = kernel_text(body, chip).replace("workitem_id 0", f"workitem_id {dimensions - 1}")
    if chip == "gfx1250":
        text = text.replace("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0")
    assembly = read_assembly(text, "k.s")
    checked = check(assembly, assembly.functions["k"])
    return judge(kernel_of(checked.lifted))


def _number(value: Value, known: dict[Value, int]) -> int:
    if isinstance(value, Const):
        assert isinstance(value.constant, int)
        return value.constant & _WORD
    if not isinstance(value, Apply):
        return known[value]
    own = [_number(each, known) for each in value.arguments]
    number = own[0] if len(own) == 1 else int(_FUNCTIONS[value.operation](*own))
    return number & (1 << value.bits) - 1


def _words() -> Words:
    return Words(Expressions(ValueTable(64)), 256)


@pytest.mark.parametrize("table", range(256))
def test_a_truth_table_is_the_logic_it_is_of(table: int):
    words = _words()
    sources = [words.expressions.table.opaque(name, 32, varies=True) for name in "abc"]
    value = by_table(words, table, sources)
    for row in range(8):
        bits = {own: _WORD * (row >> 2 - n & 1) for n, own in enumerate(sources)}
        assert _number(value, bits) == _WORD * (table >> row & 1)


def test_reversed_bits_of_an_index():
    words = _words()
    thread = words.expressions.table.thread("%tid.x", 32)
    value = computed(words, "v_bfrev_b32", [thread])
    for index in (0, 1, 5, 0x80, 0xFF):
        assert _number(value, {thread: index}) == int(f"{index:032b}"[::-1], 2)


@pytest.mark.parametrize("factor", ["by", "144", "other"])
def test_a_number_of_64_bits_is_multiplied_by_its_halves(factor: str):
    words, random = _words(), Random(factor)
    e, table = words.expressions, words.expressions.table
    low, high, by, other = (table.opaque(name, 32, varies=True) for name in ("l", "h", "b", "o"))
    pointer = table.param("pointer", 64)
    by = e.constant(144, 32) if factor == "144" else by
    product = e.apply("mul", (e.resized(low, 64), e.resized(by, 64)), 64)
    begin = e.apply("add", (pointer, product), 64)
    upper = e.apply("mul", (high, other if factor == "other" else by), 32)
    halves = words.low(begin), e.apply("add", (words.high(begin), upper), 32)
    value = words.pair(*halves)
    assert any(value_ is pointer for value_, _ in e.linear(value).terms) is (factor != "other")
    for _ in range(20):
        known = {each: random.getrandbits(each.bits) for each in (low, high, by, other, pointer)}
        own, above = (_number(half, known) for half in halves)
        assert _number(value, known) == own | above << 32


def test_a_thread_elected_by_its_lane_and_wave_is_the_first():
    words = _words()
    e = words.expressions
    thread = e.table.thread("%tid.x", 32)
    lane = words.apply("and", thread, e.constant(63, 32))
    wave = words.shifted_down(words.apply("and", thread, e.constant(-64, 32)), 6)
    first = e.apply("eq", (thread, e.constant(0, 32)), 1)
    assert words.is_zero(words.apply("or", lane, wave)) is first
    assert words.is_zero(lane) is not first
    # Of a field that is further down the low bits are another field's.
    own = words.shifted_down(words.apply("add", thread, e.constant(1, 32)), 6)
    assert words.is_zero(words.apply("or", lane, own)) is not first


_HALVES = """
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_and_b32_e32 v4, 31, v0
	v_lshlrev_b32_e32 v4, 2, v4
	ds_read_b32 v5, {read}
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_write_b32 v4, v5 offset:512
"""


def test_threads_that_write_one_place_have_read_one_place():
    verdict = _judged(_HALVES.format(read="v4"))
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    assert Assumption.EQUAL_VALUES in verdict.assumptions
    assert _judged(_HALVES.format(read="v1")).kind is VerdictKind.RACE


_ROWS = """
	s_mul_i32 s12, s2, s3
	s_mul_hi_{type}32 s13, s2, s3
	s_lshl_b64 s[12:13], s[12:13], 10
	s_add_u32 s12, s12, s4
	s_addc_u32 s13, s13, s5
	global_store_dword v1, v0, s[12:13]
"""


@pytest.mark.parametrize("type", ["i", "u"])
def test_two_halves_of_a_product_are_one(type: str):
    verdict = _judged(_ROWS.format(type=type))
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles


_TESTED = """
	v_readfirstlane_b32 s12, v0
	s_bitcmp{kind}_b32 s12, 7
	s_cselect_b64 s[12:13], -1, 0
	v_and_b32_e32 v4, 0x7f, v0
	v_lshlrev_b32_e32 v4, 2, v4
	s_and_saveexec_b64 s[14:15], s[12:13]
	ds_write_b32 v4, v0{more}
	s_or_b64 exec, exec, s[14:15]
"""


def test_a_tested_bit_is_a_condition():
    for kind in "01":
        assert _judged(_TESTED.format(kind=kind, more="")).kind is VerdictKind.RACE_FREE
    both = _TESTED.format(kind=0, more="") + _TESTED.format(kind=1, more="")
    assert _judged(both).kind is VerdictKind.RACE


_ANY = """
	s_mov_b64 s[12:13], 0
	s_and_b64 s[12:13], s[12:13], exec
	s_cselect_b32 s12, 1, 0
	s_cmp_{test}_u32 s12, 1
	s_cbranch_scc1 .Lend
	ds_write_b32 v2, v0
.Lend:
"""


def test_no_lane_has_a_bit_of_a_mask_of_zeros():
    assert _judged(_ANY.format(test="lg")).kind is VerdictKind.RACE_FREE
    assert _judged(_ANY.format(test="eq")).kind is VerdictKind.RACE


def test_an_address_by_an_unknown_function_is_no_race():
    body = "	v_add_u16_e32 v4, 1, v0\n	v_lshlrev_b32_e32 v4, 2, v4\n	ds_write_b32 v4, v0\n"
    assert _judged(body).kind is VerdictKind.NOT_JUDGED


_SIGNAL = """
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lother
	global_store_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v2, v3, s[8:9] sc1
	s_endpgm
.Lother:
	global_load_dword v4, v2, s[8:9] sc1
	s_waitcnt vmcnt(0)
	{follow}
	v_cmp_eq_u32_e32 vcc, 0, v4
	s_cbranch_vccnz .Lother
	buffer_inv sc1
	global_load_dword v5, v1, s[4:5]
	s_waitcnt vmcnt(0)
"""


def test_a_flag_behind_an_instruction_that_is_not_followed_may_order():
    body = _SIGNAL.format(
        follow="v_mov_b32_dpp v4, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf"
    )
    assert _judged(body).kind is not VerdictKind.RACE


def test_a_path_that_another_lane_may_decide_makes_no_race():
    decided = """
	v_mov_b32_dpp v4, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf
	v_cmp_eq_u32_e32 vcc, 0, v4
	s_cbranch_vccnz .Lskip
	s_barrier
.Lskip:
"""
    body = "	ds_write_b32 v1, v0\n	s_waitcnt lgkmcnt(0)\n{}	ds_read_b32 v5, v2\n"
    assert _judged(body.format(decided)).kind is VerdictKind.NOT_JUDGED
    assert _judged(body.format("")).kind is VerdictKind.RACE


_PACKED = """
	v_and_b32_e32 v4, 0x3ff, v0
	v_readfirstlane_b32 s12, v4
	s_and_b32 s12, s12, 0xc0
	v_and_b32_e32 v5, 63, v0
	v_or_b32_e32 v5, s12, v5
	v_lshlrev_b32_e32 v5, 2, v5
	{more}
	ds_write_b32 v5, v3
"""


def test_an_index_that_nothing_is_done_with_is_0():
    verdict = _judged(_PACKED.format(more=""), dimensions=3)
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    assert Assumption.ONE_DIMENSION in verdict.assumptions
    second = "v_bfe_u32 v6, v0, 10, 10\n	v_add_u32_e32 v5, v5, v6"
    assert _judged(_PACKED.format(more=second), dimensions=3).kind is not VerdictKind.RACE_FREE


_WIDE = """
	s_lshl_b32 s16, ttmp9, 12
	s_mov_b32 s17, 0
	s_add_nc_u64 s[12:13], s[4:5], s[16:17]
	s_or_b64 s[12:13], s[12:13], 0xfc00000000000000
	s_mov_b32 s14, {high}
	s_mov_b32 s15, 0
	v_cmp_gt_u32_e32 vcc_lo, s3, v0
	v_bfrev_b32_e32 v4, 1
	{select}
	buffer_store_b32 v0, v4, s[12:15], null offen
"""


@pytest.mark.parametrize(
    "select",
    [
        "v_cndmask_b32_e32 v4, v4, v1, vcc_lo",
        "v_dual_cndmask_b32 v4, v4, v1 :: v_dual_mov_b32 v7, v0",
    ],
)
def test_a_wide_buffer_has_its_size_in_two_words(select: str):
    verdict = _judged(_WIDE.format(high="0xffffff", select=select), "gfx1250")
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    verdict = _judged(_WIDE.format(high="0x1ffffff", select=select), "gfx1250")
    assert verdict.kind in (VerdictKind.RACE, VerdictKind.LAUNCH)


_SWIZZLED = """
	v_lshrrev_b32_e32 v4, 3, v0
	v_and_b32_e32 v4, 28, v4
	v_lshlrev_b32_e32 v5, 2, v0
	v_and_b32_e32 v5, {mask}, v5
	v_xor_b32_e32 v4, v5, v4
	ds_write_b32 v4, v0
"""


def test_a_swizzle_is_tried_for_all_threads():
    verdict = _judged(_SWIZZLED.format(mask=0x3FF))
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    assert "solver" not in verdict.by
    # Threads of two waves whose numbers differ in one bit.
    assert _judged(_SWIZZLED.format(mask=0x1FF)).kind in (VerdictKind.RACE, VerdictKind.LAUNCH)


_OF_GROUPS = """
	v_lshrrev_b32_e32 v4, 3, v0
	v_and_b32_e32 v4, 28, v4
	v_lshlrev_b32_e32 v5, 2, v0
	v_xor_b32_e32 v4, v5, v4
	s_lshl_b32 s12, s2, {by}
	v_add_u32_e32 v4, s12, v4
	global_store_dword v4, v0, s[4:5]
"""


def test_swizzled_tiles_of_work_groups_are_apart():
    verdict = _judged(_OF_GROUPS.format(by=10))
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    assert "solver" not in verdict.by
    assert _judged(_OF_GROUPS.format(by=9)).kind in (VerdictKind.RACE, VerdictKind.LAUNCH)


_OF_DATA = """
	v_lshlrev_b32_e32 v4, 2, v0
	global_load_dword v4, v4, s[4:5]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v4, 0xffffffc0, v4
	v_and_b32_e32 v5, 63, v0
	v_lshlrev_b32_e32 v4, 4, v4
	v_lshlrev_b32_e32 v5, 4, v5
	v_add_u32_e32 v4, v4, v5
	ds_write_b32 v4, v0
"""


def test_digits_without_a_small_bound_are_not_tried():
    assert _judged(_OF_DATA).kind is VerdictKind.LAUNCH


def test_fields_of_a_value_are_one_value():
    words = _words()
    e = words.expressions
    thread = e.table.thread("%tid.x", 32)
    lane = words.apply("and", thread, e.constant(63, 32))
    wave = words.apply("and", words.apply("and", thread, e.constant(-64, 32)), e.constant(192, 32))
    assert words.apply("or", wave, lane) is thread
    assert words.apply("add", words.shifted(words.shifted_down(thread, 6), 6), lane) is thread
    for number in range(256):
        part = words.apply("and", words.shifted(lane, 3), e.constant(0x158, 32))
        assert _number(part, {thread: number}) == (number & 63) << 3 & 0x158


_CHOSEN = """
	{compare}
	s_and_b64 s[12:13], s[10:11], exec
	s_cselect_b32 s12, 1, 0
	s_cmp_lg_u32 s12, 1
	s_cbranch_scc1 .L1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	{before}
	v_xor_b32_e32 v4, 0x3fc, v1
	ds_read_b32 v5, v4
	{after}
"""


def test_a_choice_by_a_mask_that_all_lanes_have_alike():
    alike = "s_cmpk_gt_i32 s3, 0x80\n	s_cselect_b64 s[10:11], -1, 0"
    kernel = _CHOSEN.format(compare=alike, before="", after=".L1:\n\ts_barrier")
    verdict = _judged(kernel)
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    own = "v_cmp_gt_u32_e64 s[10:11], 32, v0"
    kernel = _CHOSEN.format(compare=own, before=".L1:", after="")
    assert _judged(kernel).kind is not VerdictKind.RACE_FREE


_ROUNDS = """
	s_movk_i32 s12, 0xff
	s_{kind}k_i32 s12, {number}
	s_cmp_lg_u32 s12, {result}
	s_cbranch_scc1 .L1
	ds_write_b32 v2, v0
.L1:
"""


@pytest.mark.parametrize(("kind", "number", "result"), [("add", 0x200, 0x2FF), ("mul", 3, 0x2FD)])
def test_a_constant_of_16_bits_is_added_or_multiplied(kind: str, number: int, result: int):
    body = _ROUNDS.format(kind=kind, number=number, result=result)
    assert _judged(body).kind is VerdictKind.RACE
    assert _judged(_ROUNDS.format(kind=kind, number=number, result=result + 1)).kind is (
        VerdictKind.RACE_FREE
    )


_SPLIT = """
	ds_store_b32 v1, v0
	s_wait_dscnt 0x0
	s_cmp_gt_u32 s3, 5
	s_barrier_signal -1
	{between}
	s_cbranch_scc0 .L1
	v_mov_b32_e32 v6, 1
.L1:
	s_barrier_wait -1
	v_xor_b32_e32 v4, 0x3fc, v1
	ds_load_b32 v5, v4
"""


def test_a_barrier_in_two_parts_with_a_branch_between():
    body = _SPLIT.format(between="s_load_b32 s20, s[0:1], 0x18")
    verdict = _judged(body, "gfx1250")
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    for between in ("ds_load_b32 v7, v1", "s_cbranch_scc1 .L2\n	s_barrier_signal 3\n.L2:"):
        assert _judged(_SPLIT.format(between=between), "gfx1250").kind is VerdictKind.NOT_JUDGED
    skipped = "s_barrier_signal -1\n	{between}"
    text = _SPLIT.replace(skipped, "s_cbranch_scc1 .L1\n	s_barrier_signal -1")
    assert _judged(text, "gfx1250").kind is VerdictKind.NOT_JUDGED
    never = _SPLIT.replace("{between}\n	s_cbranch_scc0 .L1", "s_cbranch_scc0 .L2")
    verdict = _judged(f"{never}	s_branch .L3\n.L2:\n	ds_load_b32 v5, v1\n.L3:", "gfx1250")
    assert verdict.kind is VerdictKind.NOT_JUDGED


def test_a_wait_between_the_two_parts_of_a_barrier_is_too_far_down():
    """Other waves go on once this one has signalled, whatever it waits for after that."""
    wait = "s_wait_dscnt 0x0\n	"
    late = _SPLIT.replace(wait, "").format(between=wait)
    verdict = _judged(late, "gfx1250")
    assert verdict.kind is VerdictKind.RACE
    assert verdict.conflicts[0].finding is Rule.LDS_BARRIER
    invalidated = _SPLIT.format(between="global_inv scope:SCOPE_SE")
    assert _judged(invalidated, "gfx1250").kind is VerdictKind.NOT_JUDGED


_TWO_SUMS = """
	v_mov_b32_e32 v6, s5
	s_lshl_b32 s12, s2, {by}
	v_mov_b32_e32 v7, s12
	v_add_co_u32_e32 v4, vcc, s4, v1
	v_addc_co_u32_e32 v5, vcc, 0, v6, vcc
	v_add_co_u32_e32 v4, vcc, v4, v7
	v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
	global_store_dword v[4:5], v0, off
"""


def test_the_halves_of_two_sums_come_in_either_order():
    verdict = _judged(_TWO_SUMS.format(by=10))
    assert verdict.kind is VerdictKind.RACE_FREE, verdict.obstacles
    assert "solver" not in verdict.by
    assert _judged(_TWO_SUMS.format(by=9)).kind in (VerdictKind.RACE, VerdictKind.LAUNCH)


@pytest.mark.parametrize(
    ("chip", "bits"),
    [
        ("gfx90a", ("glc",)),
        ("gfx942", ("sc1",)),
        ("gfx1100", ("dlc", "glc")),
        ("gfx1200", ("scope:SCOPE_DEV",)),
        ("gfx1200", ("scope:SCOPE_SE",)),
    ],
)
def test_a_flag_of_a_wider_scope_has_one_scope(chip: str, bits: tuple[str, ...]) -> None:
    """No piece alone repairs a relaxed flag whose reader has a scalar load: the last that is tried
    is the widest flag."""
    store, load = Form(Kind.STORE, bits=bits), Form(Kind.LOAD, bits=bits)
    lemma = CdnaLemma(
        chip, False, None, False, True,
        Form(Kind.STORE), Pieces(waits=False), store, load, Pieces(waits=False),
        Form(Kind.LOAD, is_scalar=True),
    )  # fmt: skip
    assert not lemma.holds()
    assert "the CDNA machine allows" in lemma.reason()


def test_a_kernel_that_reads_no_third_number_of_a_block_has_the_second_alone():
    body = (
        "	s_lshl_b32 s10, ttmp7, 4\n	v_add_nc_u32_e32 v4, s10, v1\n	ds_store_b32 v4, v0\n"
    )
    text = kernel_text(body, "gfx1200").replace("workgroup_id_x 1", "workgroup_id_y 1")

    def reads(text: str) -> frozenset[str]:
        assembly = read_assembly(text, "k.s")
        checked = check(assembly, assembly.functions["k"])
        return kernel_of(checked.lifted).specials

    assert reads(text) == {"%tid.x", "%ctaid.y"}
    assert "%ctaid.z" in reads(text.replace("workgroup_id_y 1", "workgroup_id_z 1"))


_APPEND = """
	global_load_dword v4, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_cmp_lt_i32_e32 vcc, 0, v4
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .Lend
	s_mov_b64 s[14:15], exec
	v_mbcnt_lo_u32_b32 v5, s14, 0
	v_mbcnt_hi_u32_b32 v5, s15, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[16:17], vcc
	s_cbranch_execz .Ladded
	s_bcnt1_i32_b64 s14, s[14:15]
	v_mov_b32_e32 v6, s14
	global_atomic_add v6, v2, v6, s[6:7] sc0
.Ladded:
	s_or_b64 exec, exec, s[16:17]
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s18, v6
	v_add_u32_e32 v6, s18, v5
	v_lshlrev_b32_e32 v6, 2, v6
	global_store_dword v6, v4, s[8:9]
.Lend:"""


def test_an_addition_of_one_lane_for_all_hands_out_tickets() -> None:
    assert _judged(_APPEND).kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("piece", "other"),
    [
        ("v_add_u32_e32 v6, s18, v5", "v_mov_b32_e32 v6, s18"),
        ("v_add_u32_e32 v6, s18, v5", "v_lshl_add_u32 v6, v5, 1, s18"),
        ("s_bcnt1_i32_b64 s14, s[14:15]", "s_mov_b32 s14, 1"),
        ("s_bcnt1_i32_b64 s14, s[14:15]", "s_bcnt1_i32_b64 s14, s[16:17]\n\ts_mov_b32 s14, 1"),
        ("v_mbcnt_hi_u32_b32 v5, s15, v5", "v_mbcnt_hi_u32_b32 v5, s15, 0"),
        ("v_mbcnt_hi_u32_b32 v5, s15, v5", "s_nop 0"),
        ("v_mbcnt_lo_u32_b32 v5, s14, 0", "v_mbcnt_lo_u32_b32 v5, s12, 0"),
        ("s_and_saveexec_b64 s[16:17], vcc", "s_mov_b64 s[16:17], exec"),
        ("v_cmp_eq_u32_e32 vcc, 0, v5", "v_cmp_eq_u32_e32 vcc, 1, v5"),
        ("s_or_b64 exec, exec, s[16:17]", "s_mov_b64 exec, s[12:13]"),
        ("global_atomic_add v6, v2, v6", "global_atomic_add v6, v1, v6"),
    ],
)
def test_an_addition_of_one_lane_for_others_hands_out_none(piece: str, other: str) -> None:
    assert piece in _APPEND
    assert _judged(_APPEND.replace(piece, other)).kind is not VerdictKind.RACE_FREE


_QUEUE = """
	v_cmp_eq_u32_e64 s[20:21], 0, v0
.Lnext:
	s_and_saveexec_b64 s[12:13], s[20:21]
	s_cbranch_execz .Ltaken
	s_mov_b64 s[14:15], exec
	s_bcnt1_i32_b64 s14, s[14:15]
	v_mov_b32_e32 v4, s14
	global_atomic_add v4, v2, v4, s[6:7] sc0
	s_waitcnt vmcnt(0)
	ds_write_b32 v2, v4
.Ltaken:
	s_or_b64 exec, exec, s[12:13]
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v5, v2
	s_mov_b64 s[18:19], -1
	s_waitcnt lgkmcnt(0)
	v_cmp_le_i32_e32 vcc, s3, v5
	s_cbranch_vccnz .Lflow
	v_lshl_add_u32 v6, v5, 10, v1
	global_load_dword v7, v6, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dword v6, v7, s[4:5]
	s_mov_b64 s[18:19], 0
	s_barrier
.Lflow:
	s_andn2_b64 vcc, exec, s[18:19]
	s_cbranch_vccnz .Lnext"""


def test_a_join_that_its_ways_decide_is_a_way_each() -> None:
    assert _judged(_QUEUE).kind is VerdictKind.RACE_FREE
    assert (
        _judged(_QUEUE.replace("s[18:19], 0\n\ts_barrier", "s[18:19], 0")).kind is VerdictKind.RACE
    )


def test_an_address_of_64_bits_from_the_code_is_the_variable_s() -> None:
    body = """
	s_get_pc_i64 s[10:11]
	s_add_nc_u64 s[10:11], s[10:11], table@rel64+4
	global_store_b32 v1, v0, s[10:11]
	global_load_b32 v6, v1, s[4:5]"""
    verdict = _judged(body, "gfx1250")
    assert verdict.condition == "more than one CTA: each accesses this place"


def test_bits_of_two_words_are_chosen_by_a_third() -> None:
    body = "\tv_bfi_b32 v4, 3, v2, v1\n\tds_write_b32 v4, v0"
    assert _judged(body).kind is VerdictKind.RACE_FREE
    assert _judged(body.replace("v4, 3", "v4, 4")).kind is not VerdictKind.RACE_FREE


_LEFT_TWICE = """
	s_mov_b32 s14, s2
.Lblock:
	v_lshl_add_u32 v4, s14, 8, v0
	v_cmp_gt_i32_e32 vcc, s3, v4
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .Lout
	s_mov_b64 s[10:11], 0
.Lnext:
	v_lshlrev_b32_e32 v5, 2, v4
	global_load_dword v6, v5, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v4, 0x100, v4
	v_cmp_le_i32_e32 vcc, s3, v4
	s_or_b64 s[10:11], vcc, s[10:11]
	s_andn2_b64 exec, exec, s[10:11]
	s_cbranch_execz .Lout
	s_branch .Lnext
.Lout:
	s_or_b64 exec, exec, s[12:13]
	v_lshl_add_u32 v7, s14, 10, v1
	global_store_dword v7, v0, s[6:7]
	s_add_i32 s14, s14, s3
	s_cmp_lt_i32 s14, s3
	s_cbranch_scc1 .Lblock"""


def test_exec_is_known_after_a_loop_that_lanes_skip_or_leave() -> None:
    assembly = read_assembly(kernel_text(_LEFT_TWICE), "k.s")
    kernel = kernel_of(check(assembly, assembly.functions["k"]).lifted)
    (store,) = (each for each in kernel.accesses if each.writes)
    assert store.conditions == ()
