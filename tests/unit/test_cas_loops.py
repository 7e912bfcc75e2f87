"""Compare-and-swap loops of PTX in its model: the batteries of what they stand for.

No certificate has them (``simulator.certify.coverage``). A failed swap reads what another thread wrote
since, so that a loop goes round at most once for every write of the others, and once more:
with that bound the outcome sets are complete, though the model cannot know.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from campaigns import some_of

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Request, Sequence, Target
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, RmwKind, Scope
from fencewright.simulator.certify.certificate import forbidden, source_outcomes
from fencewright.simulator.certify.programs.code import Lowering, lower_program
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.certify.shapes import ShapeTest, shape_tests
from fencewright.simulator.core.program import (
    Location,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.source.events import AtomicRmw, Cmpxchg, ScopedInstruction, ScopedProgram

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
STEP = 1 if THOROUGH else 7
SM_90, SM_70 = Target("sm_90", ptx_version=(8, 6)), Target("sm_70", ptx_version=(6, 0))
RELAXED, ACQUIRE, RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
ACQ_REL, SEQ_CST = Ordering.ACQ_REL, Ordering.SEQ_CST
GLOBAL, AGENT = AddressSpace.GLOBAL, Scope.AGENT
BOUND = 3
"""More than the writes of other threads to the location, in every test of the request."""


def rmw(kind: RmwKind, ordering: Ordering, scope: Scope = AGENT) -> Request:
    return Request(Operation.ATOMIC_RMW, ordering, scope, GLOBAL, kind=kind)


def cmpxchg(ordering: Ordering, failure: Ordering, scope: Scope = AGENT) -> Request:
    return Request(Operation.CMPXCHG, ordering, scope, GLOBAL, failure)


def of_width(mode: Target, width: int) -> Lowering:
    """The lowering in which atomics are of another width: the values of the tests fit in a byte."""

    def lowering(request: Request) -> Sequence:
        is_rmw = request.op in (Operation.ATOMIC_RMW, Operation.CMPXCHG)
        return lower_request(replace(request, width=width) if is_rmw else request)

    return lowering


def rewriting(lowering: Lowering, old: str, new: str) -> Lowering:
    def changed(request: Request) -> Sequence:
        made = lowering(request).instructions
        return Sequence(tuple(replace(i, mnemonic=i.mnemonic.replace(old, new)) for i in made))

    return changed


def failing(
    request: Request, mode: Target, lowering: Lowering, chosen: Callable[[str], bool] | None = None
) -> Iterator[str]:
    """The tests of the request that end as their source forbids; a sample, or those ``chosen``."""
    tests = shape_tests(replace(request, target=mode), mode)
    if chosen is None:
        tests = tests[::STEP]
    for test in tests:
        if (chosen is None or chosen(test.name)) and is_forbidden(test, mode, lowering):
            yield test.name


def is_forbidden(test: ShapeTest, mode: Target, lowering: Lowering) -> bool:
    allowed = source_outcomes(test.program)
    assert allowed is not None
    program = ptx_program(lower_program(test.program, mode, lowering, test.generic))
    found = outcomes(program, bound=BOUND)
    assert found.states
    return bool(forbidden(allowed, found))


ORDERINGS = (RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST)
PAIRS = (
    (RELAXED, RELAXED),
    (RELAXED, ACQUIRE),
    (RELEASE, ACQUIRE),
    (ACQ_REL, RELAXED),
    (SEQ_CST, SEQ_CST),
)


@pytest.mark.parametrize("ordering", some_of(ORDERINGS, 4), ids=str)
@pytest.mark.parametrize(
    ("mode", "kind", "width"),
    [
        (SM_90, RmwKind.NAND, 32),
        (SM_90, RmwKind.ADD, 16),
        (SM_90, RmwKind.XCHG, 8),
        (SM_70, RmwKind.ADD, 8),
        (SM_70, RmwKind.OR, 16),
    ],
    ids=str,
)
def test_read_modify_writes(mode: Target, kind: RmwKind, width: int, ordering: Ordering) -> None:
    request, lowering = rmw(kind, ordering), of_width(mode, width)
    assert "bra" in lowering(replace(request, target=mode)).text
    assert list(failing(request, mode, lowering)) == []


@pytest.mark.parametrize("pair", some_of(PAIRS, 2), ids=lambda pair: "-".join(map(str, pair)))
@pytest.mark.parametrize(("mode", "width"), [(SM_90, 8), (SM_70, 16)], ids=str)
def test_compare_exchanges(mode: Target, width: int, pair: tuple[Ordering, Ordering]) -> None:
    success, failure = pair
    request, lowering = cmpxchg(success, failure), of_width(mode, width)
    assert "bra" in lowering(replace(request, target=mode)).text
    assert list(failing(request, mode, lowering)) == []


def test_libcuxx_lost_the_ordering_of_a_failure() -> None:
    """Of 8 and 16 bits: the path to a failure had a relaxed load alone."""
    request, right = cmpxchg(RELAXED, ACQUIRE), of_width(SM_90, 8)
    name = "MP acquire-fails global, one GPU"
    wrong = rewriting(right, "ld.acquire", "ld.relaxed")
    assert list(failing(request, SM_90, wrong, name.__eq__)) == [name]
    assert list(failing(request, SM_90, right, name.__eq__)) == []


@pytest.mark.parametrize(
    ("request_", "old", "new", "name"),
    [
        (rmw(RmwKind.NAND, ACQ_REL), "atom.acq_rel", "atom.release", "MP acquire global, one GPU"),
        (rmw(RmwKind.NAND, ACQ_REL), "atom.acq_rel", "atom.acquire", "MP release global, one GPU"),
        (rmw(RmwKind.NAND, SEQ_CST), "fence.sc", "fence.acq_rel", "SB read global, one GPU"),
        (rmw(RmwKind.ADD, RELAXED), ".gpu", ".cta", "atomicity-add global, one GPU"),
    ],
    ids=str,
)
def test_a_weaker_loop_is_caught(request_: Request, old: str, new: str, name: str) -> None:
    width = 32 if request_.kind is RmwKind.NAND else 8
    right = of_width(SM_90, width)
    assert list(failing(request_, SM_90, right, name.__eq__)) == []
    assert list(failing(request_, SM_90, rewriting(right, old, new), name.__eq__)) == [name]


@pytest.mark.parametrize(("kind", "value", "expected"), [
    (RmwKind.NAND, 6, {(5 & 6) ^ 0xFFFFFFFF}), (RmwKind.OR, 6, {7}), (RmwKind.SUB, 6, {255}),
    (RmwKind.XOR, 6, {3}), (RmwKind.AND, 6, {4}), (RmwKind.ADD, 255, {4}),
])  # fmt: skip
def test_loops_compute(kind: RmwKind, value: int, expected: set[int]) -> None:
    width = 32 if kind is RmwKind.NAND else 8
    program = alone(AtomicRmw(kind, "x", value, RELAXED, AGENT, "r0"))
    lowered = lower_program(program, SM_90, of_width(SM_90, width))
    found = outcomes(ptx_program(lowered), bound=BOUND).project(program.observables())
    assert found.states == {(5, *expected)}


def alone(instruction: ScopedInstruction) -> ScopedProgram:
    return Program((Location("x", 5),), (Thread(Placement(), (instruction,)),))


@pytest.mark.parametrize(("compare", "left"), [(5, 9), (6, 5)])
def test_a_compare_exchange_swaps_what_it_expects(compare: int, left: int) -> None:
    program = alone(Cmpxchg("x", compare, 9, RELAXED, RELAXED, AGENT, "r0", "won"))
    lowered = lower_program(program, SM_90, of_width(SM_90, 8))
    found = outcomes(ptx_program(lowered), bound=BOUND).project(program.observables())
    assert found.states == {(5, int(left == 9), left)}
