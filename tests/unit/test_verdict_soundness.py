"""Verdicts of random kernels, held against every execution that the memory model allows.

A kernel that is proved has no race in the model, for all launches or for the one named; a race
that is reported for that launch is one of the model. What is not judged says nothing.
"""

import os
from itertools import islice

import pytest
from campaigns import Share, draws, first_of
from race_deletions import mutants
from test_race_deletions import NEEDLESS, right_kernels
from verdict_kernels import (
    Case,
    Fence,
    Index,
    Op,
    Order,
    Read,
    Role,
    Signal,
    Wait,
    Write,
    races,
    random_case,
    text_of,
)

from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Kernel, Verdict, VerdictKind
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.threads.launch import Module, kernel_named, parse_launch

pytest.importorskip("z3")

SEEDS = range(2000 if "FENCEWRIGHT_THOROUGH" in os.environ else 400)
WORK = 200_000
GPU = Scope.AGENT


def kernel(case: Case) -> Kernel:
    """The kernel of a case, as the engine has it."""
    file = read_ptx(text_of(case), "k.ptx")
    return kernel_of(file, file.functions["k"])


def launch(case: Case) -> Launch:
    """The launch that the model has the threads of."""
    return Launch((case.threads, 1, 1), (case.ctas, 1, 1))


def disagreement(case: Case, verdict: Verdict, is_of_launch: bool) -> str:
    """What a verdict says that the model does not; "" if nothing."""
    work = WorkBudget(WORK)
    every = races(case, work)
    if work.is_spent:
        return ""
    if verdict.kind is VerdictKind.RACE_FREE:
        if not is_of_launch and Assumption.ONE_CTA in verdict.assumptions:
            return ""
        unnoticed = {each for each in every if not (each.by_execution and verdict.notes)}
        return f"proved, but {min(map(str, unnoticed))}" if unnoticed else ""
    if verdict.kind is VerdictKind.RACE and is_of_launch and not every:
        return f"no race, but {verdict.conflicts[0]}"
    return ""


@pytest.mark.parametrize("share", draws(20))
def test_verdicts_of_random_kernels_are_those_of_the_model(share: Share) -> None:
    for seed in share.of(SEEDS):
        case = random_case(seed)
        for own in (launch(case), None):
            verdict = judge(kernel(case), own)
            assert not disagreement(case, verdict, own is not None), (seed, text_of(case))


def test_random_kernels_are_proved_and_race() -> None:
    """The generator makes both, and the engine decides most of them."""
    kinds = [judge(kernel(case), launch(case)).kind for case in map(random_case, range(60))]
    assert kinds.count(VerdictKind.RACE_FREE) > 20
    assert kinds.count(VerdictKind.RACE) > 8
    assert kinds.count(VerdictKind.NOT_JUDGED) < 20


def passing(giving: tuple[Op, ...], taking: tuple[Op, ...]) -> Case:
    """Code of CTA 0, and of CTA 1, of one thread each."""
    return Case((Role(None, 0, giving), Role(None, 1, taking)), 2, 1)


DATA = Write("x", Index.ZERO), Read("x", Index.ZERO)
RELAXED, RELEASE, ACQUIRE = (
    Order(ordering, GPU) for ordering in (Ordering.RELAXED, Ordering.RELEASE, Ordering.ACQUIRE)
)


@pytest.mark.parametrize(
    ("case", "has_race"),
    [
        (passing((DATA[0], Signal("f", RELEASE, 1)), (Wait("f", ACQUIRE, 1), DATA[1])), False),
        (passing((DATA[0], Signal("f", RELAXED, 1)), (Wait("f", ACQUIRE, 1), DATA[1])), True),
        (passing((DATA[0], Signal("f", RELEASE, 1)), (Wait("f", RELAXED, 1), DATA[1])), True),
        (passing((DATA[0], Signal("f", RELEASE, 1)), (Wait("f", ACQUIRE, 0), DATA[1])), True),
        (
            passing(
                (DATA[0], Fence(Order(Ordering.ACQ_REL, GPU)), Signal("f", RELAXED, 1)),
                (Wait("f", RELAXED, 1), Fence(Order(Ordering.ACQ_REL, GPU)), DATA[1]),
            ),
            False,
        ),
        (
            passing(
                (DATA[0], Signal("f", Order(Ordering.RELEASE, Scope.WORKGROUP), 1)),
                (Wait("f", ACQUIRE, 1), DATA[1]),
            ),
            True,
        ),
    ],
)
def test_races_of_the_model_are_those_of_the_manual(case: Case, has_race: bool) -> None:
    assert bool(races(case, WorkBudget())) is has_race


def test_a_read_that_execution_orders_before_a_write_is_told_apart() -> None:
    case = passing(
        (Read("x", Index.ZERO), Signal("f", RELAXED, 1)),
        (Wait("f", RELAXED, 1), Write("x", Index.ZERO)),
    )
    assert {each.by_execution for each in races(case, WorkBudget())} == {True}
    verdict = judge(kernel(case), launch(case))
    assert verdict.kind is VerdictKind.RACE_FREE
    assert verdict.notes


def test_a_poll_that_writes_is_no_signal_of_another_thread() -> None:
    """The exchange that polls leaves 0, which no poll waits for."""
    case = passing(
        (DATA[0], Signal("f", RELEASE, 1, "exch")),
        (Wait("f", ACQUIRE, 1, "exch"), Write("x", Index.ZERO)),
    )
    assert not races(case, WorkBudget())
    assert judge(kernel(case), launch(case)).kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize("number", first_of(range(20), 3))
def test_no_right_kernel_races_and_no_mutant_is_proved_that_lacks_something(
    number: int,
) -> None:
    """The mutants of the deletion study of execution, of which it names those that lack nothing."""
    name, text, given = next(islice(right_kernels(), number, None))
    asked = parse_launch(given)
    own = Launch(asked.block, asked.grid)
    file = read_ptx(text, "k.ptx")
    module = Module(file)
    function = file.functions[kernel_named(module, asked.kernel).name]
    assert judge(kernel_of(file, function), own).kind is not VerdictKind.RACE
    for mutant in mutants(function.name, text):
        changed = read_ptx(mutant.text, "k.ptx")
        found = judge(kernel_of(changed, changed.functions[function.name]), own)
        is_needless = (name, mutant.instruction) in NEEDLESS
        assert is_needless or found.kind is not VerdictKind.RACE_FREE, (name, mutant)
