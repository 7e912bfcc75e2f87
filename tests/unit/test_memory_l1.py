"""The launches that show what stays in L1: they assemble, and a count that is wrong is noticed."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts import GPU_BENCHMARKS, load_script

from fencewright.lowering.cache_policy import CachePolicy, Lookup
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.performance.accesses import (
    ATOMIC_POLICIES,
    EMPTIES_L1,
    LOAD_POLICIES,
    STORE_POLICIES,
    PolicyRow,
)
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.kernels.ptx import instructions as ptx_instructions
from fencewright.simulator.performance.policies import ptx_policy

sys.path.append(str(GPU_BENCHMARKS))
L1: Any = load_script(GPU_BENCHMARKS / "memory_l1.py")


SOME = [each for each in L1.launches() if each.pattern in ("a line", "the same word")][::20]


def text_of(changed: str = "") -> str:
    """What a GPU that does as predicted would count."""
    lines: list[str] = []
    for each in SOME:
        lines.append(each.name)
        for counter, value in L1.predicted(each).items():
            if counter in L1.METRICS and value:
                lines.append(f"  {counter} {value + (each.name == changed)}")
    return "\n".join(lines) + "\n"


def test_a_count_that_is_not_as_predicted_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(L1, "launches", lambda: SOME)
    file = tmp_path / "counted.txt"
    file.write_text(text_of())
    assert L1.compare(file) == 0
    file.write_text(text_of(changed=SOME[3].name))
    assert L1.compare(file) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{len(SOME)} launches, 1 with other counts than predicted"


def test_launches_are_told_apart_by_their_names() -> None:
    names = [each.name for each in L1.launches()]
    assert len(set(names)) == len(names) > 400


def test_only_some_lanes_take_part_in_the_middle() -> None:
    few = next(each for each in L1.launches() if each.lanes == 1)
    guarded = [line for line in L1.kernel(few).splitlines() if line.startswith("@%few")]
    assert len(guarded) == 1
    assert few.accesses[1] in guarded[0]


COUNTED = Path(__file__).parents[1] / "data" / "memory" / "h200-l1.txt"
MEASURED = L1.counted(COUNTED)
OF_EACH = [each for each in L1.launches() if each.pattern in ("a line", "four words")]
"""Every access and every order of them, with one pattern of global and one of local memory."""


def differs(launch: Any) -> bool:
    """Whether a launch counts otherwise than predicted."""
    told, real = L1.predicted(launch), MEASURED[launch.name]
    return any(told.get(each, 0) != real.get(each, 0) for each in L1.PREDICTED)


def test_an_h200_counts_what_stays_in_l1_so() -> None:
    assert set(MEASURED) == {each.name for each in L1.launches()}
    assert [each.name for each in OF_EACH if differs(each)] == []


@pytest.mark.parametrize("number", [2, 8, 32])
def test_an_h200_counts_the_other_patterns_so(number: int) -> None:
    others = [each for each in L1.launches() if each not in OF_EACH]
    assert [each.name for each in others[number::40] if differs(each)] == []


def test_what_ptxas_forwards_is_told_by_the_count_of_loads() -> None:
    """Every launch without a store right before a local load executes all; the others lack a load."""
    changed = [each for each in L1.launches() if each.executed != each.accesses]
    assert len(changed) == 24
    for each in L1.launches():
        loads = sum(access.startswith("ld.local") for access in each.executed)
        assert MEASURED[each.name].get("smsp__inst_executed_op_local_ld.sum", 0) == loads


_OTHER = {
    Lookup.HIT_LRU: Lookup.MISS_EVICT,
    Lookup.HIT_STREAM: Lookup.MISS_EVICT,
    Lookup.HIT_KEEP: Lookup.HIT_EVICT,
    Lookup.MISS_LRU: Lookup.MISS_KEEP,
    Lookup.MISS_KEEP: Lookup.MISS_LRU,
    Lookup.MISS_EVICT: Lookup.HIT_KEEP,
}
"""For each value of a row one that a launch tells from it."""
ROWS = [
    (verb, row)
    for verbs, rows in (
        (("ld",), LOAD_POLICIES),
        (("st",), STORE_POLICIES),
        (("atom", "red"), ATOMIC_POLICIES),
    )
    for row in rows
    for verb in verbs
    if row.evidence is Evidence.MEASURED and not any(each.startswith("L2") for each in row.words)
]


@pytest.mark.parametrize(("verb", "row"), ROWS, ids=lambda each: str(getattr(each, "words", each)))
def test_every_measured_row_is_needed(
    verb: str, row: PolicyRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(kind: MemoryAccessKind, words: Iterable[str]) -> CachePolicy:
        found, said = ptx_policy(kind, words), {*words}
        is_row = verb in said and said.issuperset(row.words) and found.l1 is row.l1
        return replace(found, l1=_OTHER[row.l1]) if is_row else found

    monkeypatch.setattr(ptx_instructions, "ptx_policy", changed)
    with_row = [
        each
        for each in OF_EACH
        if not each.is_local
        and any({verb, *row.words} <= {*access.split(".")} for access in each.accesses[:2])
    ]
    assert any(differs(each) for each in with_row)


FENCES = [
    each
    for each in L1.launches()
    if each.pattern == "a line" and any("fence" in access for access in each.accesses)
]


@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
def test_every_scope_of_a_fence_that_empties_l1_is_needed(
    scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ptx_instructions, "EMPTIES_L1", EMPTIES_L1 ^ {scope})
    changed = {access for each in FENCES if differs(each) for access in each.accesses[1:2]}
    assert changed == {f"fence.{ordering}.{scope}" for ordering in ("acquire", "acq_rel", "sc")}
