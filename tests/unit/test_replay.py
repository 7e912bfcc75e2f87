"""Races of verdicts replayed: those of wrong kernels are shown, and no false one is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from test_race_pairs import PAIRS, Pair, filled, kernel

from fencewright.checker.nvidia.replay import Replay, Replayer
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Conflict, VerdictKind, Witness
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import z3_module
from fencewright.lowering.ptx.code.text import read_ptx

ROOT = Path(__file__).parents[2]
MUSEUM = ROOT / "tests" / "museum"
FALSE = (
    *("tests/lit/tools/fence-check/ptx-waits.ptx", "examples/races/last_block_triton.ptx"),
)  # fmt: skip
"""Right in what a verdict of two symbolic threads once called racy."""
SCOPE, NC, BARRIER = (next(p for p in PAIRS if p.name == name)
                      for name in ("scope", "read-only path", "barrier"))  # fmt: skip

pytestmark = pytest.mark.skipif(z3_module() is None, reason="witnesses take z3-solver")


def replayed(text: str, name: str = "k.ptx") -> Iterator[tuple[Conflict, Replay]]:
    """The conflicts of the kernels of a file that are called races, with their replays."""
    file = read_ptx(text, name)
    for function in file.functions.values():
        replayer = Replayer(file, function)
        for conflict in judge(kernel_of(file, function)).conflicts:
            yield conflict, replayer.replay(conflict)


def conflict_of(pair: Pair) -> tuple[str, Conflict]:
    """A wrong kernel and its race."""
    text = kernel(filled(pair, pair.wrong))
    file = read_ptx(text, "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]))
    assert verdict.kind is VerdictKind.RACE
    return text, verdict.conflicts[0]


def again(text: str, conflict: Conflict) -> Replay:
    """The replay of a conflict in a file."""
    file = read_ptx(text, "k.ptx")
    return Replayer(file, file.functions["k"]).replay(conflict)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda each: each.name)
def test_every_race_of_a_wrong_kernel_is_shown_and_none_of_a_right_one(pair: Pair) -> None:
    for form in (pair.right, pair.wrong):
        for conflict, shown in replayed(kernel(filled(pair, form))):
            # The block of the last ticket writes alone, which takes the values of tickets to see.
            is_right = form == pair.right or pair.name == "last block"
            # The life of a peer is none of the two instructions that the detector names.
            is_life = conflict.missing.startswith("that block may")
            assert shown.is_confirmed is not (is_right or is_life), (shown, conflict.first.text)
            assert bool(shown.reason) is not shown.is_confirmed


_NO_MBARRIER = "no mbarrier was initialised"
_NOT_SHOWN = {
    ("bulk-store-overtaken", "async-unwaited"): _NO_MBARRIER,
    ("phase-forgotten", "mbarrier-phase"): _NO_MBARRIER,
    ("product-still-reads", "unordered-signal"): _NO_MBARRIER,
    ("product-unfenced", "unordered-signal"): "out of bounds",
    ("store-outlives-kernel", "async-unwaited"): "no execution",
    ("tensor-load-released", "missing-barrier"): _NO_MBARRIER,
    ("tensor-load-released", "unordered-signal"): _NO_MBARRIER,
    ("tensor-map-in-use", "async-unwaited"): _NO_MBARRIER,
    ("tensor-map-unfenced", "tensormap-fence"): "cp.async.bulk.tensor",
    ("waits-back-to-back-ptx", "missing-barrier"): "no multiple of 16",
    ("waits-back-to-back-ptx", "unordered-signal"): "no multiple of 16",
}
"""Races of exhibits that no execution shows, by rule, with the reason that the replay gives."""


@pytest.mark.parametrize(
    "path", sorted(MUSEUM.glob("*/wrong.ptx")), ids=lambda each: each.parent.name
)
def test_races_of_exhibits_are_shown(path: Path) -> None:
    for conflict, shown in replayed(path.read_text(encoding="utf-8"), str(path)):
        reason = _NOT_SHOWN.get((path.parent.name, conflict.finding))
        if conflict.missing.startswith("that block may"):
            reason = "no execution"
        if reason is None and conflict.first.value is conflict.second.value is not None:
            reason = "one value"
        assert shown.is_confirmed is (reason is None), (conflict.finding, shown.reason)
        assert reason is None or reason in shown.reason


@pytest.mark.parametrize("path", FALSE)
def test_a_false_race_is_not_shown(path: str) -> None:
    found = replayed((ROOT / path).read_text(encoding="utf-8"), path)
    assert not any(shown.is_confirmed for _, shown in found)


def test_the_finding_is_of_the_two_instructions_in_a_launch_like_the_witness() -> None:
    text, conflict = conflict_of(BARRIER)
    shown = again(text, conflict)
    assert shown.is_confirmed
    assert shown.finding is not None
    assert shown.launch is not None
    assert {shown.finding.line, shown.finding.other} == {conflict.first.line, conflict.second.line}
    assert shown.launch.grid[0] == conflict.witness.grid[0]
    assert shown.launch.block is not None
    assert shown.launch.block[0] == conflict.witness.block[0]


def test_a_conflict_of_two_other_instructions_is_not_confirmed_by_a_race_elsewhere() -> None:
    text, conflict = conflict_of(BARRIER)
    elsewhere = replace(conflict, second=replace(conflict.second, instruction=0))
    assert not again(text, elsewhere).is_confirmed


def test_what_is_not_executed_is_not_confirmed() -> None:
    text, conflict = conflict_of(BARRIER)
    unknown = text.replace("mov.u32 %r1, %tid.x;", "fancy.new.u32 %r1, %tid.x;")
    shown = again(unknown, conflict)
    assert not shown.is_confirmed
    assert "fancy.new" in shown.reason


def test_an_address_outside_of_every_array_is_not_confirmed() -> None:
    text, conflict = conflict_of(NC)
    shown = again(text.replace("ld.param.u64 %rd1, [data];", "mov.u64 %rd1, 16;"), conflict)
    assert not shown.is_confirmed
    assert "out of bounds" in shown.reason


def test_an_array_is_as_large_as_the_addresses_need() -> None:
    text = kernel(filled(NC, NC.wrong))
    far = text.replace("[data]; ld", "[data]; add.s64 %rd1, %rd1, 1000000; ld")
    assert far != text
    assert [shown.is_confirmed for _, shown in replayed(far)] == [True]


def test_equal_values_are_not_confirmed() -> None:
    _, conflict = conflict_of(SCOPE)
    same = kernel("st.global.u32 [%rd1], 7; ret;")
    file = read_ptx(same, "k.ptx")
    (store,) = (each for each in file.functions["k"].instructions if "st" in each.text)
    both = replace(conflict.first, instruction=store.number)
    shown = again(same, replace(conflict, first=both, second=both))
    assert not shown.is_confirmed
    assert "one value" in shown.reason
    other = same.replace("], 7", "], %r2")
    assert again(other, replace(conflict, first=both, second=both)).is_confirmed


def test_a_run_has_no_more_accesses_than_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """HeCBench's match reads 400 million numbers in one launch."""
    monkeypatch.setattr("fencewright.checker.nvidia.replay._MOST_STEPS_OF_ALL", 4_000)
    text, conflict = conflict_of(BARRIER)
    loop = "mov.u32 %r9, 0; L9: ld.global.u32 %r8, [%rd5]; add.u32 %r9, %r9, 1;\n"
    loop += "setp.lt.u32 %p7, %r9, 4000; @%p7 bra L9;\n"
    file = read_ptx(text.replace("ret;", loop + "ret;", 1), "k.ptx")
    replayer = Replayer(file, file.functions["k"])
    apart = replace(conflict, second=conflict.first)
    shown = replayer.replay(apart)
    assert not shown.is_confirmed
    assert replayer.steps < 12_000


def test_a_launch_of_too_many_threads_and_a_function_are_refused() -> None:
    text, conflict = conflict_of(BARRIER)
    wide = Witness((1024,), (64,), ((0,), (1,)), ((0,), (0,)))
    assert "threads" in again(text, replace(conflict, witness=wide)).reason
    function = text.replace(".visible .entry k", ".visible .func k")
    assert "kernels" in again(function, conflict).reason


def test_a_suspect_is_executed_with_the_threads_that_the_kernel_declares_too() -> None:
    text = kernel("""
    setp.lt.u32 %p1, %r1, 64; @%p1 bra W; bar.sync 1, 128; ld.shared.u32 %r9, [%r22+-256]; bra E;
    W: bar.arrive 1, 128; st.shared.u32 [%r22], %r1; E: ret;
    """).replace("out)\n{", "out)\n.maxntid 128, 1, 1\n{")
    file = read_ptx(text, "k.ptx")
    (suspect, *_) = judge(kernel_of(file, file.functions["k"])).suspects
    assert suspect.witness.block != (128,)
    assert not again(text, suspect).is_confirmed
    shown = Replayer(file, file.functions["k"]).replay(suspect, is_suspect=True)
    assert shown.launch is not None
    assert shown.launch.block == (128, 1, 1)


def test_parameters_are_those_of_the_witness() -> None:
    odd = kernel(filled(BARRIER, BARRIER.wrong))
    odd = odd.replace(".param .u64 out", ".param .u64 out, .param .u32 n").replace(
        "st.shared.u32 [%r22], %r1;",
        "ld.param.u32 %r9, [n]; setp.ne.u32 %p5, %r9, 4711; @%p5 bra L; st.shared.u32 [%r22], %r1;",
    )
    odd = odd.replace("ret;\n}", "L: ret;\n}")
    (found, *_) = replayed(odd)
    assert found[1].is_confirmed
    assert found[0].witness.parameters["n"] == 4711
    file = read_ptx(odd, "k.ptx")
    without = replace(found[0], witness=replace(found[0].witness, parameters={}))
    assert not Replayer(file, file.functions["k"]).replay(without).is_confirmed
