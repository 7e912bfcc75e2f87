"""Random executions of scoped programs, and enumerations that stop at a limit: never too much."""

from functools import cache

import pytest
from campaigns import Share, shares, some_of
from source_cases import BY_NAME, CASES

from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.source.behaviour import behaviour
from fencewright.simulator.source.execution import FULL_MODEL, ModelRule
from fencewright.simulator.source.model import Behaviour, sampled_behaviour
from fencewright.simulator.source.witnesses import explain

WALKS = 150
NAMES = [each.name for each in CASES]


@cache
def all_and_found(name: str) -> tuple[Behaviour, Behaviour]:
    """What a program does, and how much of that walks found."""
    program = BY_NAME[name].test.program
    return behaviour(program, bound=2), sampled_behaviour(program, bound=2, walks=WALKS)


@pytest.mark.parametrize("name", some_of(NAMES, 3))
def test_walks_find_nothing_that_the_model_does_not_have(name: str) -> None:
    whole, found = all_and_found(name)
    assert not found.complete
    assert set(found.races) <= set(whole.races)
    if whole.outcomes is not None:
        assert found.outcomes is not None
        assert found.outcomes.states <= whole.outcomes.states


@pytest.mark.parametrize("share", shares(3))
def test_walks_find_nearly_everything_in_small_programs(share: Share) -> None:
    missed: list[str] = []
    names = share.of(NAMES)
    for name in names:
        whole, found = all_and_found(name)
        if whole.outcomes is None:
            all_there = bool(found.races)
        else:
            assert found.outcomes is not None
            all_there = found.outcomes.states == whole.outcomes.states
        if not all_there:
            missed.append(name)
    assert len(missed) <= len(names) // 20, missed


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("SB+fences", ModelRule.SEQ_CST),
        ("IRIW+fences", ModelRule.SEQ_CST),
        ("MP+rel+acq", ModelRule.RELEASE_ACQUIRE),
    ],
)
def test_walks_are_judged_by_the_rules(name: str, rule: ModelRule) -> None:
    # Were one not asked, a walk would show what it forbids.
    program = BY_NAME[name].test.program
    whole = behaviour(program)
    assert whole.outcomes is not None
    weaker = sampled_behaviour(program, FULL_MODEL.without(rule), walks=400)
    assert weaker.outcomes is None or weaker.outcomes.states - whole.outcomes.states


def test_the_same_seed_walks_the_same_way() -> None:
    program = BY_NAME["CoRR2"].test.program
    first, again, other = (sampled_behaviour(program, walks=10, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("limit", [0, 1, 10, 100, 1000])
def test_a_limit_takes_away_and_adds_nothing(limit: int) -> None:
    for each in CASES:
        program = each.test.program
        whole = behaviour(program, bound=2)
        work = WorkBudget(limit)
        found = behaviour(program, bound=2, work=work)
        assert set(found.races) <= set(whole.races)
        assert found.complete is (whole.complete and not work.is_spent)
        if whole.outcomes is not None:
            assert found.outcomes is not None
            assert found.outcomes.states <= whole.outcomes.states
        if found.complete:
            assert found == whole


def test_a_witness_is_searched_as_far_as_the_limit() -> None:
    test = BY_NAME["IRIW+fences"].test
    with pytest.raises(LimitReached, match="steps"):
        explain(test.program, test.condition.formula, work=WorkBudget(20))
    witness = explain(test.program, test.condition.formula, work=WorkBudget(1_000_000))
    assert witness is not None
    assert not witness.allowed
