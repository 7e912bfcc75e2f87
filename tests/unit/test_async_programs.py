"""Random asynchronous programs: free of data races, and written as litmus tests that lower."""

from dataclasses import replace

import pytest

from fencewright.simulator.core.program import Placement
from fencewright.simulator.random.async_programs import (
    Action,
    ActionKind,
    AsyncProgram,
    Cell,
    Link,
    Meeting,
    draw,
    expected,
    is_race_free,
    smaller,
)
from fencewright.tools.fuzz.async_checks import SETTINGS, lowered, setting_of

SEEDS = range(300)
HERE = Placement(0, cluster=0)
TILE = Cell("tile", 0, 1)


def test_programs_are_free_of_data_races() -> None:
    for seed in SEEDS:
        program = draw(seed)
        assert is_race_free(program), seed
        assert program == draw(seed)


def test_smaller_programs_are_free_of_data_races_and_smaller() -> None:
    for seed in SEEDS[::10]:
        program = draw(seed)
        for each in smaller(program):
            assert is_race_free(each)
            assert each != program


def test_everything_is_drawn() -> None:
    programs = [draw(seed) for seed in SEEDS]
    steps = [step for program in programs for step in program.steps]
    actions = [each for each in steps if isinstance(each, Action)]
    assert {each.kind for each in actions} == {*ActionKind}
    assert {each.link for each in steps if isinstance(each, Meeting)} == {*Link}
    assert any(each.generic for each in actions)
    assert any(each.guard is not None for each in actions)
    assert any(program.rounds > 1 for program in programs)


def test_without_a_synchronisation_between_conflicting_accesses_there_is_a_race() -> None:
    """Every meeting is there for something: without it the program is refused."""
    refused = 0
    for seed in SEEDS:
        program = draw(seed)
        for number, step in enumerate(program.steps):
            if isinstance(step, Meeting):
                rest = (*program.steps[:number], *program.steps[number + 1 :])
                refused += not is_race_free(replace(program, steps=rest))
    assert refused > len(SEEDS) // 2


def test_what_completes_on_an_mbarrier_is_known_to_the_waiter_alone() -> None:
    copy = Action(ActionKind.BULK_LOAD, 0, "tile", "data", waiter=1, mbarrier="m")
    load = Action(ActionKind.LOAD, 0, source="tile", register="r0")
    cells = (TILE, Cell("data", None, 2))
    program = AsyncProgram((HERE, HERE), cells, (copy, load))
    assert not is_race_free(program)
    assert is_race_free(replace(program, steps=(copy, replace(load, thread=1))))


def test_the_expected_outcome_is_that_of_one_action_after_the_other() -> None:
    steps = (
        Action(ActionKind.STORE, 0, "tile", value=5),
        Meeting(Link.BARRIER, (0, 1)),
        Action(ActionKind.LOAD, 1, source="tile", register="r0"),
    )
    outcome = expected(AsyncProgram((HERE, HERE), (TILE,), steps))
    assert outcome.registers == {(1, "r0"): 5}
    assert outcome.memory == {"tile": 5}


@pytest.mark.parametrize("level", [0, 2])
def test_programs_are_lowered(level: int) -> None:
    for seed in range(0, 40):
        program = draw(seed)
        setting = setting_of(seed, program)
        assert str(setting) in SETTINGS
        if setting.opt_level == level:
            test = lowered(program, setting.passes())
            assert len(test.test.program.threads) == len(program.places)
