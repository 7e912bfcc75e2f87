"""docs/async-paths.md: what each path says of each instruction is found by trying, and has a reason."""

from collections.abc import Mapping
from functools import cache

import pytest

from fencewright.simulator.ptx import builder, definition
from fencewright.simulator.ptx.formats import columns
from fencewright.tools.dev.pages import async_paths
from fencewright.tools.dev.pages.async_paths import INSTRUCTIONS, Instruction, Route, answers

NAMED = (
    *("ld.global.nc", "ld.ca", "ld.cg", "ld.volatile", "prefetch", "cp.async.bulk.prefetch"),
    *("red.async", "st.async", "st.bulk", "elect.sync", "multimem.ld_reduce", "multimem.st"),
    *("multimem.red", "cp.reduce.async.bulk, to global", "cp.reduce.async.bulk, to a cluster"),
    *("mbarrier.expect_tx, complete_tx", "mbarrier.arrive_drop", "mbarrier.test_wait"),
    *("mbarrier.inval", "bar.sync with a count", "bar.arrive", "barrier.cluster", "griddepcontrol"),
    *("cp.async.bulk.tensor", "tensormap.replace", "fence.proxy.tensormap", "wgmma"),
    *("tcgen05.st, tcgen05.ld", "tcgen05.mma, tcgen05.commit"),
)


@cache
def answered(row: Instruction) -> Mapping[Route, str]:
    return answers(row)


def only(name: str) -> Instruction:
    return next(each for each in INSTRUCTIONS if each.name == name)


def test_every_instruction_is_there_once() -> None:
    names = [each.name for each in INSTRUCTIONS]
    assert len(names) == len({*names})
    assert {*NAMED} <= {*names}


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda each: each.name)
def test_what_is_executed_is_by_the_definition_too_and_ends(row: Instruction) -> None:
    found = answered(row)
    assert "no execution ends" not in found.values()
    executed = found[Route.COLUMNS] == async_paths.WORKS
    assert found[Route.DEFINITION] == (async_paths.WORKS if executed else "")
    # What columns cannot say, no path to the model executes.
    if not executed:
        reached = (found[each] for each in (Route.SCOPED, Route.FILE))
        assert not any(each.startswith(async_paths.WORKS) for each in reached)
    refused = {*found.values()} - {"", async_paths.WORKS, "stays text"}
    assert all(len(each.split()) > 3 or each.startswith(async_paths.WORKS) for each in refused)


def test_two_instructions_of_one_sequence_are_both_executed() -> None:
    row = only("mbarrier.expect_tx, complete_tx")
    assert ";" in row.ptx
    assert answered(row)[Route.FILE] == async_paths.WORKS


@pytest.mark.parametrize("name", NAMED)
def test_what_has_a_word_in_scoped_is_executed(name: str) -> None:
    row = only(name)
    assert answered(row)[Route.SCOPED] == (async_paths.WORKS if row.scoped else "")


def test_a_path_that_is_broken_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {name: each for name, each in builder._READERS.items() if name != "elect"}  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(builder, "_READERS", readers)
    assert answers(only("elect.sync"))[Route.COLUMNS] == "unknown instruction 'elect.sync'"
    other = definition.outcomes

    def without_the_program(*_: object) -> object:
        program = columns.parse_litmus("PTX t { x=9; } P0@cta 0,gpu 0 ; ld r0, x ; exists (x == 1)")
        return other(program.program, async_paths.Version.V7_5)

    monkeypatch.setattr(definition, "outcomes", without_the_program)
    assert answers(only("st.bulk"))[Route.DEFINITION] == "other outcomes"
