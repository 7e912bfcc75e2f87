"""Redundant operations: the eighteen kernels as LLVM compiles them, and small functions."""

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencewright.checker.amd.accesses import Mode, mode_of
from fencewright.checker.amd.check import check
from fencewright.checker.amd.state import State, code_of, solve
from fencewright.checker.amd.surplus import Surplus, find_surplus
from fencewright.checker.findings.finding import SURPLUS, Level, Rule
from fencewright.checker.verdicts.amd.judge import judged
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, Function, read_assembly
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools.dev.campaigns.deletions import provided
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

ROOT = Path(__file__).parents[2]
HEAD = 4
"""The line of the first instruction."""

GFX942 = Mode("gfx942", L2PerAgent.MANY, tgsplit=False)


def surplus(*body: str, mode: Mode = GFX942) -> list[Surplus]:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{mode.target}"\n\t.type f,@function\nf:\n'
    lines = "\n".join([*body, "s_endpgm"])
    code = code_of(flow_of(read_assembly(text + lines, "f.s").functions["f"]), mode)
    return find_surplus(code, solve(code))


def gone(*body: str) -> list[int]:
    """The instructions that can go."""
    return [each.line - HEAD for each in surplus(*body)]


def all_surplus(*body: str) -> list[int]:
    """The lines of all that is said to be surplus, and of waits for what cannot be in flight."""
    text = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.type f,@function\nf:\n'
    assembly = read_assembly(text + "\n".join([*body, "s_endpgm"]), "f.s")
    found = check(assembly, assembly.functions["f"])
    known = judged(found, finds_surplus=True).findings
    waits = (each for each in found.hazards() if each.rule is Rule.SURPLUS_WAIT)
    return [each.line for each in (*known, *waits) if each.rule in SURPLUS]


STORE = "global_store_dword v[0:1], v2, off"
FLAG = "global_store_dword v[4:5], v6, off sc1"
LOAD = "global_load_dword v3, v[0:1], off"
SEE = "global_load_dword v7, v[4:5], off sc1"
USE = "v_add_u32_e32 v1, v3, v7"
BACK, INV, WAIT = "buffer_wbl2 sc1", "buffer_inv sc1", "s_waitcnt vmcnt(0)"
LDS, LDS_READ, LDS_WAIT = "ds_write_b32 v0, v1", "ds_read_b32 v8, v9", "s_waitcnt lgkmcnt(0)"


def test_a_flat_store_that_lds_may_have_is_written_back_all_the_same() -> None:
    """No wait says that LDS has it, and none has to where there is no LDS."""
    release = "flat_store_dword v[0:1], v2", WAIT, "buffer_wbl2 sc0 sc1", WAIT
    flag = "global_store_dword v[4:5], v6, off sc0 sc1"
    for tgsplit in (False, True):
        mode = Mode("gfx942", L2PerAgent.ONE, tgsplit=tgsplit)
        assert not [each for each in surplus(*release, flag, mode=mode) if each.line == HEAD + 2]
    through = "flat_store_dword v[0:1], v2 sc0 sc1", *release[1:]
    assert HEAD + 2 in [each.line for each in surplus(*through, flag)]


def test_what_only_the_hardest_reading_needs_stays() -> None:
    """A write-back to the cluster and the wait for it, though LLVM does without."""
    store, flag = (
        "global_store_b32 v[0:1], v2, off",
        "global_store_b32 v[4:5], v6, off scope:SCOPE_SE",
    )
    stored, back = "s_wait_storecnt 0x0", "global_wb scope:SCOPE_SE"
    gfx1250 = Mode("gfx1250", L2PerAgent.MANY, tgsplit=False)
    assert surplus(store, stored, back, stored, flag, mode=gfx1250) == []
    found = surplus(store, stored, back, stored, back, stored, flag, mode=gfx1250)
    assert len({each.line - HEAD for each in found} & {2, 4}) == 1
    (nothing, *_) = surplus(back, stored, flag, mode=gfx1250)
    assert "already written back to the cluster" in nothing.reason


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # A release and an acquire, each of which is needed.
        ((STORE, BACK, WAIT, FLAG), []),
        ((SEE, WAIT, INV, LOAD, WAIT, USE), []),
        # Nothing to write back, or nothing that publishes it.
        ((BACK, WAIT, FLAG), [0, 1]),
        ((FLAG, BACK, WAIT, FLAG), [1]),
        ((STORE, BACK, WAIT, BACK, WAIT, FLAG), [3, 4]),
        ((STORE, BACK, WAIT), [1, 2]),
        ((STORE, BACK, WAIT, STORE), [1, 2]),
        # Nothing that reads what is invalidated, or nothing that may have acquired.
        ((SEE, WAIT, INV), [1, 2]),
        ((SEE, WAIT, INV, INV, LOAD, WAIT, USE), [3]),
        ((LOAD, WAIT, INV, LOAD, WAIT, USE), [1, 2]),
        # What is loaded, or what LDS holds at a barrier.
        ((LOAD, WAIT, USE), []),
        ((LOAD, WAIT, WAIT, USE), [2]),
        ((LDS, LDS_WAIT, "s_barrier"), []),
        ((LDS, LDS_WAIT, LDS), [1]),
        ((LOAD, "s_waitcnt vmcnt(0) lgkmcnt(0)", USE), [1]),
        # Stores of this wave that the lead publishes for the others.
        ((STORE, WAIT, "s_barrier", FLAG), []),
    ],
)  # fmt: skip
def test_what_can_go(body: tuple[str, ...], expected: list[int]) -> None:
    assert gone(*body) == expected


@pytest.mark.parametrize(
    "body",
    [
        ("s_frobnicate", BACK, WAIT, FLAG),
        ("s_frobnicate", LOAD, WAIT, WAIT, USE),
        (SEE, WAIT, INV, "s_frobnicate"),
        (STORE, BACK, WAIT, "s_branch .L", ".L:", "s_frobnicate"),
        (".L:", BACK, WAIT, FLAG, "s_cbranch_scc1 .L", "s_frobnicate", "s_branch .L"),
        ("s_frobnicate", "s_barrier"),
        (LDS_READ, "s_barrier", "s_barrier", "s_frobnicate"),
    ],
)  # fmt: skip
def test_nothing_can_go_that_an_unknown_instruction_comes_before_or_after(
    body: tuple[str, ...],
) -> None:
    """It may issue what is waited for, and use what was loaded or stored."""
    known = tuple("s_nop 0" if each == "s_frobnicate" else each for each in body)
    assert all_surplus(*known)
    assert all_surplus(*body) == []


def test_what_no_path_has_together_with_an_unknown_instruction_can_go() -> None:
    body = ("s_cbranch_scc1 .L", BACK, WAIT, FLAG, "s_endpgm", ".L:", "s_frobnicate")
    assert gone(*body) == [1, 2]


AT_ANOTHER_BARRIER = (
    SEE,
    WAIT,
    "s_cbranch_scc1 other",
    INV,
    "s_barrier",
    "s_endpgm",
    "other:",
    "s_barrier",
    LOAD,
    WAIT,
    USE,
)
"""One wave invalidates; another, on a path apart, reads after the barrier at which both meet."""


def test_an_invalidate_for_a_wave_at_another_barrier_stays() -> None:
    assert 3 not in gone(*AT_ANOTHER_BARRIER)
    read_by_nobody = [each for each in AT_ANOTHER_BARRIER if each not in (LOAD, USE)]
    assert 3 in gone(*read_by_nobody)


@pytest.mark.parametrize(("loops", "goes"), [(False, True), (True, False)])
def test_an_invalidate_before_the_last_barrier(loops: bool, goes: bool) -> None:
    """A wave may still be at the barrier of a loop, before its read, where nothing counts its rounds."""
    first = ("again:", "s_barrier", LOAD, WAIT, USE, "s_cbranch_scc1 again" if loops else "s_nop 0")
    assert (8 in gone(*first, SEE, WAIT, INV, "s_barrier")) is goes


def test_a_write_back_goes_after_the_stores_of_other_waves() -> None:
    """With one L2 nothing is dirty, but what others stored before a barrier may be on its way."""
    one = Mode("gfx942", L2PerAgent.ONE, tgsplit=False)
    body = (STORE, "s_barrier", BACK, WAIT, FLAG)
    assert [each.rule for each in surplus(*body, mode=one)] == []
    waited = (STORE, WAIT, "s_barrier", BACK, WAIT, FLAG)
    assert [each.line - HEAD for each in surplus(*waited, mode=one)] == [3, 4]


def test_others_may_hand_on_what_they_have_done() -> None:
    """A wave writes back what another wave stored, and has told it by a flag."""
    publish = (BACK, WAIT, FLAG)
    produce = ("s_cbranch_scc1 .LBB0_1", STORE, LDS, "s_endpgm", ".LBB0_1:")
    assert gone(*produce, LDS_READ, LDS_WAIT, *publish) == []
    assert gone(*produce, *publish) == [len(produce), len(produce) + 1]
    # What is in flight at a barrier, nobody else can wait for, whoever writes it back.
    lead = ("s_cbranch_scc1 .LBB0_1", BACK, WAIT, FLAG, ".LBB0_1:")
    assert gone(STORE, WAIT, "s_barrier", *lead) == []
    assert gone(FLAG, WAIT, "s_barrier", "s_cbranch_scc1 .LBB0_1", FLAG, ".LBB0_1:") == []


def test_others_may_hand_on_what_they_have_seen() -> None:
    """One wave acquires, and others read after it has told them."""
    consume = ("s_cbranch_scc1 .LBB0_1", SEE, WAIT, INV, LDS, "s_endpgm", ".LBB0_1:")
    assert gone(*consume, LDS_READ, LDS_WAIT, LOAD) == []
    assert gone(*consume) == [2, 3]


def test_a_write_back_whose_wait_is_missing_is_not_surplus() -> None:
    text = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.type f,@function\nf:\n'
    for body, can_go in (((STORE, BACK, FLAG), False), ((BACK, FLAG), True)):
        assembly = read_assembly(text + "\n".join([*body, "s_endpgm"]), "f.s")
        found = check(assembly, assembly.functions["f"])
        assert bool(list(found.surplus())) is can_go


def test_costs_and_reasons() -> None:
    (found, _) = surplus(FLAG, BACK, WAIT, STORE)
    assert found.finding.message.startswith(
        "buffer_wbl2 sc1 is redundant and costs 24 units a wave: "
    )
    assert found.reason.startswith("on every path all stores are already written back")
    (found,) = surplus(SEE, WAIT, INV, "v_mov_b32_e32 v9, v7")
    assert found.rule is Rule.SURPLUS_INVALIDATE
    assert found.price == 24
    assert found.reason == (
        f"before the next one nothing reads data that may be older than line {HEAD}"
    )


KEPT = {
    "mp_producer": (1, 0), "mp_consumer_acquire_load": (0, 1), "mp_consumer_fence": (0, 1),
    "spin_lock": (1, 1), "look_back": (2, 1), "grid_barrier": (1, 1), "two_release_fences": (1, 0),
    "two_release_stores": (1, 0), "acquire_load_and_fence": (0, 1),
    "fence_after_prefetch": (0, 1), "fenced_rmw": (1, 1),
}  # fmt: skip
"""Write-backs and invalidates that each of the eighteen kernels needs; of the others none."""


def assert_nothing_is_lost(assembly: Assembly, function: Function, lines: set[int]) -> None:
    """Read anew without what can go, a function has no hazard and provides what it did."""
    left = tuple(each for each in function.body if each.line not in lines)
    before, after = check(assembly, function), check(assembly, replace(function, body=left))
    scopes = {each.line: each.scope for each in before.lifted.operations[1:]}
    assert provided(after, scopes) <= provided(before, scopes)
    assert all(each.level is Level.NOTE for each in after.hazards())


@pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
def test_the_eighteen_kernels() -> None:
    """Of LLVM's 17 write-backs and 16 invalidates 8 and 8 are left: what is argued by hand."""
    llc = find_llvm_tool("llc")
    assert llc is not None
    path = ROOT / "examples/kernels-cdna/kernels.ll"
    command = [llc, "-O2", "-mcpu=gfx942", str(path), "-o", "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assembly = read_assembly(text)
    kinds = {"buffer_wbl2": Rule.SURPLUS_WRITE_BACK, "buffer_inv": Rule.SURPLUS_INVALIDATE}
    total = Counter[str]()
    for name, function in assembly.functions.items():
        has = Counter(each.mnemonic for each in function.instructions)
        code = code_of(flow_of(function), mode_of(assembly, function))
        surplus = find_surplus(code, solve(code))
        found = Counter(each.rule for each in surplus)
        assert_nothing_is_lost(assembly, function, {each.line for each in surplus})
        left = tuple(has[mnemonic] - found[rule] for mnemonic, rule in kinds.items())
        assert left == KEPT.get(name, (0, 0)), name
        total.update({mnemonic: has[mnemonic] for mnemonic in kinds})
    assert (total["buffer_wbl2"], total["buffer_inv"]) == (17, 16)
    assert tuple(map(sum, zip(*KEPT.values(), strict=True))) == (8, 8)


def test_a_change_is_followed_only_as_far_as_it_makes_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four times the text, in one block or in many, takes at most five times the steps."""
    taken = 0
    step = State.step

    def counted(self: State, *arguments: Any) -> None:
        nonlocal taken
        taken += 1
        step(self, *arguments)

    monkeypatch.setattr(State, "step", counted)

    def steps(rounds: int, jump: str) -> int:
        nonlocal taken
        taken = 0
        body: list[str] = []
        for each in range(rounds):
            body += [f".L{each}:"] if jump else []
            body += [STORE, BACK, WAIT, FLAG, SEE, WAIT, INV, INV, LOAD, WAIT, USE]
            body += [jump.format(each)] if jump else []
        assert len(surplus(*body)) == rounds
        return taken

    for jump in ("", "s_cbranch_scc1 .L{}"):
        assert steps(80, jump) <= 5 * steps(20, jump)


CALL, RETURN = "s_swappc_b64 s[30:31], s[16:17]", "s_setpc_b64 s[30:31]"
BEGIN = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"


@pytest.mark.parametrize("leaves", [CALL, RETURN])
@pytest.mark.parametrize("before", [(), (BEGIN,)])
def test_what_a_call_or_a_caller_may_depend_on_stays(leaves: str, before: tuple[str, ...]) -> None:
    """It may publish what was stored, and read what an acquire is for."""
    release, acquire = (*before, STORE, BACK, WAIT, leaves), (*before, SEE, WAIT, INV, leaves)
    assert [n for n in gone(*release) if n >= len(before)] == []
    assert [n for n in gone(*acquire) if n >= len(before)] == []
    # Where a wave ends nobody does.
    assert gone(STORE, BACK, WAIT) == [1, 2]
