"""Two paths from a scoped program to a target's program, which have to end alike.

The certificates put sequences of ``lower`` together (``certify.programs``); everything
else lowers modules and reads what comes out, as the text that is printed of it. A mistake in one of
the two would make them differ. The same for programs of the source model.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest
from campaigns import Share, first_share
from litmus_modules import programs
from scoped_modules import module_of, with_plain_registers

from fencewright.lowering.lower import Request, lower_request
from fencewright.lowering.sequence import Target, UnsupportedError
from fencewright.lowering.vocabulary import (
    AddressSpace,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.certify.certificate import CdnaMachineOf, machines_of, source_outcomes
from fencewright.simulator.certify.programs.code import lower_program
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.certify.shapes import ShapeTest, shape_tests
from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import WORD_MASK
from fencewright.simulator.litmus_run import CdnaTest, PtxTest, SourceTest, run
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.tools.inputs.litmus.lowered import Damage, Lowering

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
STEP = 1 if THOROUGH else 9
"""One test in how many is read."""
SPLIT = frozenset({"tgsplit"})
MODES = (
    Target("gfx908"),
    Target("gfx90a"),
    Target("gfx90a", SPLIT),
    Target("gfx942"),
    Target("gfx942", SPLIT),
    Target("gfx942", l2_per_agent=L2PerAgent.ONE),
    Target("gfx950"),
    Target("sm_70", ptx_version=(6, 0)),
    Target("sm_90", ptx_version=(7, 8)),
    Target("sm_90", ptx_version=(8, 6)),
    Target("sm_100", ptx_version=(8, 6)),
)
GLOBAL, LOCAL, GENERIC = AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC
AGENT, GROUP = Scope.AGENT, Scope.WORKGROUP
SAMPLE = (
    Request(Operation.STORE, Ordering.RELEASE, AGENT, GLOBAL),
    Request(Operation.STORE, Ordering.SEQ_CST, GROUP, LOCAL),
    Request(Operation.LOAD, Ordering.ACQUIRE, Scope.SYSTEM, GLOBAL),
    Request(Operation.LOAD, Ordering.SEQ_CST, GROUP, GENERIC),
    Request(Operation.FENCE, Ordering.SEQ_CST, AGENT, None),
    Request(Operation.FENCE, Ordering.RELEASE, GROUP, None),
    Request(Operation.ATOMIC_RMW, Ordering.ACQ_REL, AGENT, GLOBAL, kind=RmwKind.XCHG),
    Request(Operation.ATOMIC_RMW, Ordering.RELEASE, GROUP, LOCAL, returns=False),
    Request(Operation.CMPXCHG, Ordering.RELEASE, AGENT, GLOBAL, failure_ordering=Ordering.ACQUIRE),
    Request(Operation.BARRIER, Ordering.ACQ_REL, GROUP, None),
)


@cache
def sample_of(mode: Target) -> Sequence[ShapeTest]:
    """Some tests of each sample operation that the mode has."""
    found: list[ShapeTest] = []
    for request in (replace(each, target=mode) for each in SAMPLE):
        try:
            lower_request(request)
        except UnsupportedError:
            continue
        tests = [each for each in shape_tests(request, mode) if not each.progress]
        found += tests[:: STEP * (1 + len(tests) // 60)]
    return found


def lowering_of(mode: Target) -> Lowering:
    version = None if mode.ptx_version is None else "{}.{}".format(*mode.ptx_version)
    one = L2PerAgent.ONE if mode.l2_per_agent is L2PerAgent.ONE else None
    return Lowering(mode.chip, tuple(mode.features), one, version, opt_level=0)


def same(left: Outcomes | None, right: Outcomes | None) -> bool:
    """Whether two outcome sets are equal, whatever the order of their observables."""
    assert left is not None
    assert right is not None
    assert {*left.observables} == {*right.observables}
    return bool(left.states) and right.project(left.observables) == left


def disagreements(mode: Target, tests: Iterable[ShapeTest], lowering: Lowering) -> Iterator[str]:
    """The tests that end differently assembled and read; "" for each that does not."""
    for test in tests:
        program = with_plain_registers(test.program)
        code = lower_program(program, mode, lower_request, test.generic)
        (read,) = programs(module_of(program, test.generic), lowering).values()
        for machine in machines_of(mode):
            if not machine.fits(program):
                continue
            if isinstance(machine, CdnaMachineOf):
                assert isinstance(read, CdnaTest)
                found = explore(CdnaEngine(read.test.program, machine.configuration))
                assert not found.errors, test.name
                read_outcomes = found.outcomes
            else:
                assert isinstance(read, PtxTest)
                read_outcomes = run(read).outcomes
            yield "" if same(machine.outcomes(code), read_outcomes) else test.name


@pytest.mark.parametrize("share", first_share(5))
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_both_ways_to_a_target_end_alike(mode: Target, share: Share) -> None:
    tests = share.of(sample_of(mode), MODES.index(mode))
    found = list(disagreements(mode, tests, lowering_of(mode)))
    assert len(found) >= 7
    assert set(found) == {""}


@pytest.mark.parametrize(
    ("mode", "damage"),
    [
        (Target("gfx90a"), Damage("buffer_wbinvl1_vol")),
        (Target("gfx942"), Damage("buffer_inv")),
        (Target("gfx942"), Damage("buffer_wbl2")),
        (Target("gfx942"), Damage("buffer_wbl2", ("sc1",))),
        (Target("sm_90", ptx_version=(8, 6)), Damage("st.release", (), "st.relaxed")),
    ],
    ids=str,
)
def test_a_reader_that_misses_something_disagrees(mode: Target, damage: Damage) -> None:
    """As if one of the two readers did not see the instruction."""
    damaged = replace(lowering_of(mode), damages=(damage,))
    (test,) = (
        t
        for t in shape_tests(replace(SAMPLE[0], target=mode), mode)
        if t.name == FARTHEST[mode.chip]
    )
    assert set(disagreements(mode, [test], lowering_of(mode))) == {""}
    assert test.name in set(disagreements(mode, [test], damaged))


FARTHEST = {
    "gfx90a": "MP release global, two CUs",
    "gfx942": "MP release global, two XCDs",
    "sm_90": "MP release global, one GPU",
}


@pytest.mark.parametrize("mode", [each for each in MODES if each.is_ptx], ids=str)
@pytest.mark.parametrize(
    "ordering", [Ordering.RELAXED, Ordering.ACQ_REL, Ordering.SEQ_CST], ids=str
)
def test_both_ways_to_a_loop_end_alike(mode: Target, ordering: Ordering) -> None:
    """A compare-and-swap loop, as far as three rounds of it."""
    request = Request(Operation.ATOMIC_RMW, ordering, AGENT, GLOBAL, kind=RmwKind.NAND)
    tests = shape_tests(replace(request, target=mode), mode)[:: 1 if THOROUGH else 11]
    for test in tests:
        program = with_plain_registers(test.program)
        code = lower_program(program, mode, lower_request, test.generic)
        (read,) = programs(module_of(program, test.generic), lowering_of(mode)).values()
        assert isinstance(read, PtxTest)
        both = (ptx_program(code), read.test.program)
        left, right = (outcomes(each, bound=3).project(program.observables()) for each in both)
        assert left.states
        assert words(left) == words(right), test.name


def words(found: Outcomes) -> frozenset[tuple[int | None, ...]]:
    return frozenset(tuple(v and v & WORD_MASK for v in state) for state in found.states)


@pytest.mark.parametrize("mode", MODES[3:5] + MODES[-1:], ids=str)
def test_both_ways_to_the_source_model_end_alike(mode: Target) -> None:
    for test in sample_of(mode):
        program = with_plain_registers(test.program)
        (read,) = programs(module_of(program, test.generic)).values()
        assert isinstance(read, SourceTest)
        assert same(source_outcomes(program), run(read).outcomes), test.name
