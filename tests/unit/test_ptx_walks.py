"""Random executions of PTX programs, and enumerations that stop at a limit: never too much."""

from functools import cache
from pathlib import Path

import pytest
from campaigns import Share, shares, some_of

from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.ptx.events import PtxProgram
from fencewright.simulator.ptx.formats.columns import parse_litmus, read_litmus
from fencewright.simulator.ptx.model import Axiom, PtxModel, Version, sampled_outcomes
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.witnesses import explain

LITMUS = Path(__file__).parents[1] / "litmus" / "ptx"
PATHS = sorted(LITMUS.glob("*.litmus"))
IDS = [path.stem for path in PATHS]
WALKS = 150


def program(name: str) -> PtxProgram:
    return read_litmus(LITMUS / f"{name}.litmus").program


def counting(threads: int, passes: int) -> PtxProgram:
    """Threads that each add 1 so often to one location."""
    rows = [
        ["L:"] * threads,
        ["atom.add r0, x, 1"] * threads,
        ["add r1, r1, 1"] * threads,
        [f"blt r1, {passes}, L"] * threads,
    ]
    heads = " | ".join(f"P{n}@cta {n},gpu 0" for n in range(threads))
    body = "\n".join(f"{' | '.join(row)} ;" for row in rows)
    return parse_litmus(f"PTX t\n{{ x=0; }}\n{heads} ;\n{body}\nexists (true)").program


# Random walks


@cache
def all_and_found(path: Path) -> tuple[Outcomes, Outcomes]:
    """What a test can end in, and how many ways of that walks found."""
    test = read_litmus(path).program
    whole = outcomes(test, bound=2)
    return whole, sampled_outcomes(test, bound=2, walks=WALKS).project(whole.observables)


@pytest.mark.parametrize("path", some_of(PATHS, 3), ids=lambda path: path.stem)
def test_walks_find_nothing_that_the_model_forbids(path: Path) -> None:
    whole, found = all_and_found(path)
    assert found.states <= whole.states
    assert not found.complete


@pytest.mark.parametrize("share", shares(3))
def test_walks_find_nearly_everything_in_small_tests(share: Share) -> None:
    paths = share.of(PATHS)
    found = {path.stem: all_and_found(path) for path in paths}
    missed = [name for name, (whole, some) in found.items() if some.states != whole.states]
    assert len(missed) <= len(paths) // 20, missed


@pytest.mark.parametrize(
    ("name", "version", "axiom"),
    [
        ("MP+rel+acq", Version.V7_5, Axiom.CAUSALITY),
        ("LB+data", Version.V7_5, Axiom.NO_THIN_AIR),
        ("CoWW", Version.V6_0, Axiom.SC_PER_LOCATION),
        ("RMW", Version.V7_5, Axiom.ATOMICITY),
        ("CoWW+causality", Version.V7_5, Axiom.COHERENCE),
        ("crossed-barriers", Version.V7_5, Axiom.BARRIERS),
    ],
)
def test_walks_are_judged_by_every_axiom(name: str, version: Version, axiom: Axiom) -> None:
    # Were it not asked, a walk would show what it forbids.
    model = PtxModel(version)
    whole = outcomes(program(name), model)
    weaker = sampled_outcomes(program(name), model.without(axiom), walks=400)
    assert weaker.project(whole.observables).states - whole.states
    asked = sampled_outcomes(program(name), model, walks=400)
    assert asked.project(whole.observables).states <= whole.states


def test_walks_of_the_older_model() -> None:
    model = PtxModel(Version.V6_0)
    test = program("MP+rel+acq")
    found = sampled_outcomes(test, model, walks=WALKS)
    assert found.project(outcomes(test, model).observables).states == outcomes(test, model).states


def test_the_same_seed_walks_the_same_way() -> None:
    test = program("CoWW.races")
    first, again, other = (sampled_outcomes(test, walks=10, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_walks_reach_the_end_of_what_is_too_large_to_enumerate() -> None:
    test = counting(threads=4, passes=8)
    found = sampled_outcomes(test, bound=8, walks=40)
    place = [str(each) for each in found.observables].index("x")
    assert {state[place] for state in found.states} == {32}


# Limits


@pytest.mark.parametrize("limit", [0, 1, 10, 100, 1000])
def test_a_limit_takes_outcomes_away_and_adds_none(limit: int) -> None:
    for path in PATHS:
        test = read_litmus(path).program
        whole = outcomes(test, bound=2)
        work = WorkBudget(limit)
        found = outcomes(test, bound=2, work=work)
        assert found.project(whole.observables).states <= whole.states
        assert found.complete is (whole.complete and not work.is_spent)
        if found.complete:
            assert found == whole


def test_a_limit_is_reached_whatever_grows() -> None:
    work = WorkBudget(4_000)
    found = outcomes(counting(threads=3, passes=20), bound=20, work=work)
    assert work.is_spent
    assert not found.complete
    assert work.note() == "limit reached after 4000 steps"


def test_a_witness_is_searched_as_far_as_the_limit() -> None:
    test = read_litmus(LITMUS / "IRIW+fence.sc.litmus")
    with pytest.raises(LimitReached, match="steps"):
        explain(test.program, test.condition.formula, work=WorkBudget(50))
    witness = explain(test.program, test.condition.formula, work=WorkBudget(1_000_000))
    assert witness is not None
    assert not witness.allowed


def test_work_is_spent_once_and_for_all() -> None:
    work = WorkBudget(3)
    assert [work.take(), work.take(2), work.take(), work.take()] == [True, True, False, False]
    assert work.is_spent
    assert WorkBudget().take(10**9)
    assert not WorkBudget().note()
