"""Halves of protocols in AMD code: each wrong form, and forms like it that are right."""

import pytest

from fencewright.checker.amd.accesses import Mode
from fencewright.checker.amd.guarantees import guarantees_of
from fencewright.checker.amd.state import code_of, solve
from fencewright.checker.findings.finding import Finding, Level, Rule, VerdictKind
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.findings import findings_of
from fencewright.checker.verdicts.judge import judge
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.vocabulary import L2PerAgent

HEAD = 4
"""The line of the first instruction."""

GFX942 = Mode("gfx942", L2PerAgent.MANY, tgsplit=False)
GFX90A = Mode("gfx90a", L2PerAgent.ONE, tgsplit=False)


def findings(*body: str, mode: Mode = GFX942) -> list[Finding]:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{mode.target}"\n\t.type f,@function\nf:\n'
    return findings_in(text + "\n".join([*body, "s_endpgm"]), mode)


def findings_in(text: str, mode: Mode) -> list[Finding]:
    code = code_of(flow_of(read_assembly(text, "f.s").functions["f"]), mode)
    verdict = judge(kernel_of(guarantees_of(code, solve(code))))
    assert verdict.kind is VerdictKind.NOT_JUDGED
    return list(findings_of(verdict))


def found(*body: str, mode: Mode = GFX942) -> list[tuple[int, Rule, Level]]:
    """Where a pattern is found, as the number of the instruction, and how sure it is."""
    return [(each.line - HEAD, each.rule, each.level) for each in findings(*body, mode=mode)]


W, N = Level.WARNING, Level.NOTE
STORE = "global_store_dword v[0:1], v2, off"
FLAG = "global_store_dword v[4:5], v6, off sc1"
SEE = "global_load_dword v7, v[4:5], off sc1"
BACK, INV, WAIT = "buffer_wbl2 sc1", "buffer_inv sc1", "s_waitcnt vmcnt(0)"
LDS, LDS_READ, LDS_WAIT = "ds_write_b32 v0, v1", "ds_read_b32 v8, v9", "s_waitcnt lgkmcnt(0)"
POINTER = ("s_load_dwordx2 s[0:1], s[4:5], 0x0", LDS_WAIT)
ADD = "global_atomic_{} v[4:5], v6, off"
MEET = ("s_barrier", LDS_READ)
DATA = "s_load_dword s2, s[0:1], 0x0"
DMA = "global_load_lds_dword v[2:3], off"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # LDS at a barrier.
        ((LDS, *MEET), [(2, Rule.LDS_BARRIER, W)]),
        ((LDS, LDS_WAIT, *MEET), []),
        ((LDS, WAIT, *MEET), [(3, Rule.LDS_BARRIER, W)]),
        (("ds_add_u32 v0, v1", *MEET), [(2, Rule.LDS_BARRIER, W)]),
        ((LDS, LDS, *MEET), [(3, Rule.LDS_BARRIER, W)]),
        ((LDS, LDS_READ, *MEET), [(3, Rule.LDS_BARRIER, W)]),
        ((LDS_READ, "s_barrier", LDS), [(2, Rule.LDS_BARRIER, W)]),
        # Nobody reads before the next barrier, before which the write is waited for.
        ((LDS, "s_barrier", LDS_WAIT, *MEET), []),
        ((LDS, "s_barrier"), []),
        # Other waves are at another barrier, after which they read.
        (("s_cbranch_scc0 .LBB0_5", LDS, "s_barrier", "s_endpgm", ".LBB0_5:", *MEET),
            [(6, Rule.LDS_BARRIER, W)]),
        ((LDS_READ, "s_barrier"), []),
        ((DMA, "s_barrier"), []),
        ((DMA, *MEET), [(2, Rule.LDS_DMA_BARRIER, W)]),
        # A wait for a count is one for an earlier load to LDS.
        ((DMA, "s_waitcnt vmcnt(1)", *MEET), [(3, Rule.LDS_DMA_BARRIER, N)]),
        ((DMA, WAIT, "s_barrier"), []),
        # A write-back that nothing waits for before others can see that it was begun.
        ((STORE, BACK, FLAG), [(2, Rule.WRITE_BACK_UNWAITED, W)]),
        ((STORE, BACK, WAIT, FLAG), []),
        ((STORE, BACK, STORE), []),
        ((STORE, WAIT, BACK, "global_atomic_add v[4:5], v6, off"), [(3, Rule.WRITE_BACK_UNWAITED, W)]),
        ((BACK, FLAG), []),
        ((FLAG, WAIT, BACK, FLAG), []),
        ((STORE, BACK, FLAG, FLAG), [(2, Rule.WRITE_BACK_UNWAITED, W)]),
        # The scalar cache.
        ((*POINTER, SEE, WAIT, INV, DATA), [(5, Rule.SCALAR_STALE, W)]),
        # No wave has acquired from another work-group.
        ((*POINTER, "global_load_dword v7, v[4:5], off", WAIT, INV, DATA), []),
        ((*POINTER, SEE, WAIT, INV, "s_dcache_inv", DATA), []),
        ((*POINTER, SEE, WAIT, DATA, INV), []),
        ((SEE, WAIT, INV, POINTER[0]), []),
        ((*POINTER, SEE, WAIT, "buffer_inv sc0", DATA), []),
        (("s_getpc_b64 s[0:1]", "s_add_u32 s0, s0, data@gotpcrel32@lo+4",
            "s_addc_u32 s1, s1, data@gotpcrel32@hi+12", SEE, WAIT, INV,
            "s_load_dwordx2 s[0:1], s[0:1], 0x0", LDS_WAIT, DATA), [(8, Rule.SCALAR_STALE, W)]),
        # Stores of other waves.
        ((FLAG, "s_barrier", WAIT, FLAG), [(3, Rule.CUMULATIVE, W)]),
        ((FLAG, "s_barrier", ADD.format("add")), [(2, Rule.CUMULATIVE, W)]),
        # Sums of numbers tell nobody anything, unless their results do.
        ((FLAG, "s_barrier", ADD.format("add_f32")), []),
        ((FLAG, "s_barrier", "global_atomic_pk_add_f16 v4, v6, s[0:1]"), []),
        ((FLAG, "s_barrier", ADD.format("add_f32").replace(" v[4:5]", " v7, v[4:5]") + " sc0"),
            [(2, Rule.CUMULATIVE, W)]),
        ((STORE, "s_barrier", WAIT, FLAG), [(3, Rule.CUMULATIVE, N)]),
        ((STORE, "s_barrier", BACK, WAIT, FLAG), []),
        ((STORE, WAIT, "s_barrier", WAIT, FLAG), []),
        ((STORE, "s_barrier", STORE), []),
    ],
)  # fmt: skip
def test_halves(body: tuple[str, ...], expected: list[tuple[int, Rule, Level]]) -> None:
    assert found(*body) == expected


def test_a_write_back_of_what_the_caller_stored() -> None:
    text = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.type f,@function\nf:\n'
    body = "\n".join(["s_waitcnt vmcnt(0) lgkmcnt(0)", BACK, FLAG, "s_setpc_b64 s[30:31]"])
    (found,) = findings_in(text + body, GFX942)
    assert found.level is W
    assert "before what was written before: nothing waits for the write-back" in found.message


def test_a_write_back_that_other_waves_have_under_way() -> None:
    """This wave waits for its own after the barrier, and cannot for theirs."""
    lead = ("s_cbranch_scc0 .LBB0_2", FLAG, ".LBB0_2:")
    (wrong,) = findings(STORE, WAIT, BACK, "s_barrier", WAIT, *lead)
    assert (wrong.line, wrong.rule, wrong.level) == (HEAD + 6, Rule.WRITE_BACK_UNWAITED, W)
    assert wrong.about == (HEAD + 2, HEAD + 3)
    assert findings(STORE, BACK, WAIT, "s_barrier", *lead) == []
    # One of its own covers theirs: they share the L2.
    assert findings(STORE, WAIT, BACK, "s_barrier", BACK, WAIT, *lead) == []
    assert findings(STORE, WAIT, BACK, "s_barrier", WAIT, STORE) == []


def test_other_waves_learn_by_a_flag_in_lds() -> None:
    produce = (STORE, LDS, "s_endpgm")
    spin = (
        ".LBB0_3:",
        LDS_READ,
        LDS_WAIT,
        "v_cmp_eq_u32_e32 vcc, 0, v8",
        "s_cbranch_vccnz .LBB0_3",
    )
    publish = (BACK, FLAG)
    wrong = findings("s_cbranch_scc1 .LBB0_3", *produce, *spin, *publish)
    assert [(each.rule, each.level) for each in wrong] == [(Rule.WRITE_BACK_UNWAITED, W)]
    assert wrong[0].about == (HEAD + 9, HEAD + 5)
    # Without a dirty store where the flag is written, nothing is handed on.
    done = (STORE, BACK, WAIT, LDS, "s_endpgm")
    right = findings("s_cbranch_scc1 .LBB0_3", *done, *spin, *publish)
    assert right == []


def spin(load: str, *more: str, value: str = "v7") -> tuple[str, ...]:
    compare = f"v_cmp_eq_u32_e32 vcc, 0, {value}"
    return (".LBB0_1:", load, WAIT, *more, compare, "s_cbranch_vccnz .LBB0_1")


PLAIN = "global_load_dword v7, v[4:5], off"


def pointed(value: str) -> tuple[str, ...]:
    """A loop that loads a pointer and then, coherently, what that leads to."""
    compute = "v_lshl_add_u64 v[12:13], v[10:11], 0, v[2:3]"
    label, *body = spin("global_load_dword v10, v[12:13], off sc1", value=value)
    return (label, "global_load_dwordx2 v[10:11], v[4:5], off", WAIT, compute, *body)


@pytest.mark.parametrize(
    ("body", "mode", "expected"),
    [
        (spin(PLAIN), GFX942, [(1, Rule.SPIN, W)]),
        (spin(f"{PLAIN} sc0"), GFX942, [(1, Rule.SPIN, N)]),
        (spin(SEE), GFX942, []),
        (spin(PLAIN, INV), GFX942, []),
        # It ends by something else, or goes on to other places, or stores itself.
        (spin(PLAIN, value="v9"), GFX942, []),
        (spin("global_load_dword v4, v[4:5], off", value="v4"), GFX942, []),
        (spin(PLAIN, STORE), GFX942, []),
        # It waits for what a pointer leads to, and that has the bits.
        (pointed("v10"), GFX942, []),
        (pointed("v11"), GFX942, [(1, Rule.SPIN, W)]),
        # It goes on computing with what it loaded, or does so only within a round.
        (spin(PLAIN, "v_add_u32_e32 v9, v9, v7"), GFX942, []),
        (spin(PLAIN, "v_add_u32_e32 v7, v8, v7"), GFX942, [(1, Rule.SPIN, W)]),
        (spin(PLAIN, "v_add_u32_e32 v8, 1, v8"), GFX942, [(1, Rule.SPIN, W)]),
        (spin(PLAIN), GFX90A, [(1, Rule.SPIN, N)]),
        (spin(f"{PLAIN} glc"), GFX90A, []),
    ],
)
def test_spins(body: tuple[str, ...], mode: Mode, expected: list[tuple[int, Rule, Level]]) -> None:
    assert found(*body, mode=mode) == expected


def test_a_write_back_follows_stores_of_its_own_compute_unit_alone() -> None:
    body = (STORE, "s_barrier", BACK, WAIT, FLAG)
    assert found(*body) == []
    split = Mode("gfx942", L2PerAgent.MANY, tgsplit=True)
    assert found(*body, mode=split) == [(4, Rule.CUMULATIVE, N)]


def test_publications_without_scope_bits() -> None:
    """Of stores that say no scope, one that a wait for stores precedes publishes."""
    assert found(STORE, "s_barrier", WAIT, STORE, mode=GFX90A) == [(3, Rule.CUMULATIVE, W)]
    load = "global_load_dword v3, v[0:1], off"
    assert found(STORE, "s_barrier", load, WAIT, STORE, mode=GFX90A) == []
    add = "global_atomic_add v[4:5], v6, off"
    assert found(STORE, "s_barrier", add, mode=GFX90A) == [(2, Rule.CUMULATIVE, W)]
    assert found(STORE, "buffer_wbl2", WAIT, "buffer_wbl2", add, mode=GFX90A) == []


def test_stores_that_all_go_through_publish_where_a_wait_for_stores_precedes() -> None:
    assert found(FLAG, "s_barrier", FLAG) == []
    assert found(FLAG, "s_barrier", WAIT, FLAG) == [(3, Rule.CUMULATIVE, W)]
    assert found(STORE, FLAG, "s_barrier", FLAG) == [(3, Rule.CUMULATIVE, W)]
    # An atomic says by itself that others look at it.
    assert found(FLAG, "s_barrier", "global_atomic_add v[4:5], v6, off sc1") == [
        (2, Rule.CUMULATIVE, W)
    ]


def test_stores_in_flight_at_many_barriers_are_one_finding() -> None:
    round_ = (FLAG, "s_barrier", WAIT, FLAG)
    (once,) = findings(*round_)
    (many,) = findings(*round_, *round_, *round_)
    assert many == once
