"""The fuzzer of asynchronous programs: what it says of the pass, and that it finds it broken.

``tests/fuzz/async`` has small programs that it has found wrong, each for the setting in its first
line: with a rule of the pass broken on purpose.
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from xdsl.context import Context

from fencewright.mlir_dialects import scoped_async
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.proxies import edges, function
from fencewright.passes.proxies.dataflow import Analysis
from fencewright.passes.proxies.state import Effects
from fencewright.simulator.core.program import Placement
from fencewright.simulator.litmus_run import PtxTest
from fencewright.simulator.random.async_programs import (
    Action,
    ActionKind,
    AsyncProgram,
    Cell,
    draw,
    is_race_free,
)
from fencewright.tools.fence_sim import main
from fencewright.tools.fuzz.async_checks import (
    HEAD,
    SETTINGS,
    AsyncTotals,
    AsyncVerdict,
    Violation,
    check,
    check_seeds,
    judge,
    setting_of,
    smallest,
    without_each,
    without_the_pass,
)
from fencewright.tools.fuzz.async_page import page as async_page
from fencewright.tools.inputs.litmus.files import parse_module

SAVED = sorted((Path(__file__).parents[1] / "fuzz" / "async").glob("*.mlir"))
SEEDS = 25


def test_programs_end_as_their_actions_do() -> None:
    totals = AsyncTotals()
    totals.include(check_seeds(5_000, SEEDS))
    assert totals.programs == SEEDS
    assert totals.violations == []
    assert totals.count(AsyncVerdict.SOUND) >= SEEDS - 2


def _nothing(*_: object) -> object:
    return None


def _no(*_: object) -> object:
    return False


def _no_bits(*_: object) -> int:
    return 0


def _none(*_: object) -> object:
    return {}


def _no_accesses(_: object) -> tuple[object, ...]:
    return ()


def _as_it_was(_: object, state: int, *__: object) -> int:
    return state


def _no_need(_: object, __: object, state: int, *___: object) -> int:
    return state


def _no_wait(_: object, __: object, ___: object, state: int, *____: object) -> int:
    return state


@pytest.mark.parametrize(
    ("holder", "rule", "instead", "seed"),
    [
        (Analysis, "_groups_before", _no_wait, 0),
        (Analysis, "_fence_before", _no_need, 8),
        (Analysis, "_in_other_ctas", _no_bits, 92),
        (Effects, "copies_done", _as_it_was, 64),
        (function, "barriers_met", _none, 13),
        (function, "meet_by_name", _no, 13),
        (function, "completed_on", _nothing, 53),
        (function, "may_see", _no, 7),
        (function, "waits_for_arrivals", _none, 11),
        (edges, "may_wait_for", _no, 7),
        (function.AsyncFunction, "conflicts", _no_bits, 7),
        (scoped_async.BulkReduceOp, "accesses", _no_accesses, 7),
        (scoped_async.StoreBulkOp, "accesses", _no_accesses, 41),
        (scoped_async.MulticastOperation, "accesses", _no_accesses, 8),
    ],
)
def test_a_rule_that_is_broken_is_noticed(
    holder: object,
    rule: str,
    instead: Callable[..., object],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = draw(seed)
    setting = setting_of(seed, program)
    assert check(program, setting).verdict is AsyncVerdict.SOUND
    monkeypatch.setattr(holder, rule, instead)
    assert check(program, setting).verdict is AsyncVerdict.UNSOUND


def test_what_an_asynchronous_reduction_accesses_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare among random programs: a peer adds to what is then copied in bulk."""
    cells = (Cell("g0", None, 1), Cell("g1", None, 2), Cell("s10", 1, 3))
    steps = (
        Action(ActionKind.REDUCE_ASYNC, 0, "s10", value=7, waiter=1, mbarrier="m1"),
        Action(ActionKind.BULK_STORE, 1, "g0", "s10"),
    )
    program = AsyncProgram((Placement(0, cluster=0), Placement(1, cluster=0)), cells, steps)
    assert is_race_free(program)
    setting = SETTINGS["sm_90 -O2"]
    assert check(program, setting).verdict is AsyncVerdict.SOUND
    monkeypatch.setattr(function, "completed_on", _nothing)
    assert check(program, setting).verdict is AsyncVerdict.UNSOUND


@pytest.mark.parametrize("file", SAVED, ids=[file.stem for file in SAVED])
def test_a_program_that_was_wrong_is_right(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    setting = SETTINGS[text.splitlines()[0].removeprefix(HEAD)]
    module = parse_module(str(file), text)
    for step in setting.passes():
        step.apply(Context(), module)
    test = read_only_test(module, ReadOptions())
    assert isinstance(test, PtxTest)
    assert judge(test).verdict is AsyncVerdict.SOUND


def test_programs_are_saved() -> None:
    assert len(SAVED) >= 10


def test_without_the_pass_a_program_is_wrong_and_without_a_fence_too() -> None:
    program = draw(16)
    setting = setting_of(16, program)
    assert check(program, setting, without_the_pass(setting)).verdict is AsyncVerdict.UNSOUND
    test = check(program, setting).test
    assert test is not None
    weaker = [judge(each).verdict for _, each in without_each(test)]
    assert AsyncVerdict.UNSOUND in weaker


def test_a_violation_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Analysis, "_groups_before", _no_wait)
    program = draw(0)
    setting = setting_of(0, program)
    found = check(program, setting)
    small = smallest(Violation(0, str(setting), found.verdict, found.message))
    assert len(small.steps) < len(program.steps)
    assert check(small, setting).verdict is found.verdict


def test_the_command_counts_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main(["fuzz", "--async", "--programs", "3", "--page", str(page)]) == 0
    assert "3 asynchronous programs: 3 sound" in capsys.readouterr().out
    assert "3 programs (seeds 0 to 2), 0 violations" in page.read_text(encoding="utf-8")
    page.write_text("# Mine\n\n<!-- begin: totals -->\n<!-- end -->\n\nMore.\n", encoding="utf-8")
    assert main(["fuzz", "--async", "--programs", "2", "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n")
    assert text.endswith("\nMore.\n")
    assert "2 programs (seeds 0 to 1), 0 violations" in text
    capsys.readouterr()
    assert main(["fuzz", "--async", "--seed", "1"]) == 0
    assert "litmus.test @t" in capsys.readouterr().out


def test_the_page_names_what_was_inserted_and_missed() -> None:
    totals = AsyncTotals()
    totals.include(check_seeds(0, 2))
    text = async_page(totals, 0, date(2026, 1, 2))
    for instruction in totals.inserted:
        assert f"`{instruction}`" in text
