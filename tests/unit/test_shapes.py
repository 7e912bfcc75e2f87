"""The certificates' tests mean something, stand where they can, and judge nothing by themselves."""

from dataclasses import replace

import pytest
from campaigns import Share, shares

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Request, Target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    L2PerAgent,
    Operation,
    Ordering,
    Scope,
)
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.certify.certificate import (
    CdnaMachineOf,
    Trial,
    describe,
    forbidden,
    source_outcomes,
)
from fencewright.simulator.certify.programs.cdna import cdna_program
from fencewright.simulator.certify.programs.code import lower_program, request_of
from fencewright.simulator.certify.shapes import (
    Distance,
    distances,
    operations,
    shape_tests,
)
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import MemoryKind
from fencewright.simulator.source.events import ScopedOperation

SPLIT = frozenset({"tgsplit"})
GFX942, GFX90A, GFX908 = Target("gfx942"), Target("gfx90a"), Target("gfx908")
SM_90, SM_70 = Target("sm_90", ptx_version=(8, 6)), Target("sm_70", ptx_version=(6, 0))
MODES = (
    GFX942,
    Target("gfx942", SPLIT),
    Target("gfx942", l2_per_agent=L2PerAgent.ONE),
    GFX90A,
    SM_90,
)
GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL


def store(scope: Scope, space: AddressSpace = GLOBAL) -> Request:
    return Request(Operation.STORE, Ordering.RELEASE, scope, space)


def load(scope: Scope, ordering: Ordering = Ordering.ACQUIRE) -> Request:
    return Request(Operation.LOAD, ordering, scope, GLOBAL)


SAMPLE = (
    store(Scope.AGENT),
    store(Scope.WORKGROUP, LOCAL),
    load(Scope.SYSTEM),
    load(Scope.WORKGROUP, Ordering.SEQ_CST),
    Request(Operation.FENCE, Ordering.SEQ_CST, Scope.AGENT, None),
    Request(Operation.ATOMIC_RMW, Ordering.ACQ_REL, Scope.WORKGROUP, GLOBAL),
    Request(Operation.BARRIER, Ordering.ACQ_REL, Scope.WORKGROUP, None),
)


def sample(mode: Target) -> list[Request]:
    split = "tgsplit" in mode.features
    return [replace(each, target=mode) for each in SAMPLE if not (split and each.space is LOCAL)]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_names_tell_tests_apart(mode: Target):
    for request in sample(mode):
        names = [test.name for test in shape_tests(request, mode)]
        assert len(set(names)) == len(names) > 0


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_focus_is_the_operation(mode: Target):
    for request in sample(mode):
        for test in shape_tests(request, mode):
            thread, position = test.focus
            operation = test.program.threads[thread].instructions[position]
            assert isinstance(operation, ScopedOperation)
            made = request_of(operation, mode, request.space)
            assert describe(made) == describe(request)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_test_of_a_whole_operation_has_a_data_race(mode: Target):
    """Only what limits address spaces or availability may make a test void."""
    for request in sample(mode):
        for test in shape_tests(request, mode):
            assert test.progress or source_outcomes(test.program) is not None, test.name


@pytest.mark.parametrize("share", shares(15))
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_source_to_source_and_lowered_to_lowered(mode: Target, share: Share):
    """The comparison rejects nothing that is the same on both sides."""
    trial = Trial(mode)
    for number, request in enumerate(sample(mode)):
        for test in share.of(shape_tests(request, mode), number):
            if test.progress:
                continue
            allowed = source_outcomes(test.program)
            assert allowed is not None
            assert allowed.states
            assert not forbidden(allowed, allowed)
            for machine in trial.machines_for(test):
                found = machine.outcomes(trial.lower(test))
                assert found.states
                assert not forbidden(found, found)


def test_comparison_rejects_what_is_not_allowed():
    test = next(iter(shape_tests(store(Scope.AGENT), GFX942)))
    allowed = source_outcomes(test.program)
    assert allowed is not None
    stale = (1, 0)
    assert stale not in allowed.states
    more = type(allowed)(allowed.observables, allowed.states | {stale})
    assert forbidden(allowed, more) == {stale}


@pytest.mark.parametrize("mode", [GFX942, GFX90A], ids=str)
def test_the_plain_machine_agrees_with_the_engine(mode: Target):
    """As far as a few hundred states of the definition reach; the engine says no less."""
    lowering = lower_request
    for request in sample(mode)[:3]:
        for test in shape_tests(request, mode)[::7]:
            if test.progress:
                continue
            program = cdna_program(lower_program(test.program, mode, lowering, test.generic))
            for machine in Trial(mode).machines_for(test):
                assert isinstance(machine, CdnaMachineOf)
                plain = explore(CdnaMachine(program, machine.configuration), 3000)
                engine = explore(CdnaEngine(program, machine.configuration))
                assert plain.outcomes.states <= engine.outcomes.states
                if plain.complete:
                    assert plain.outcomes == engine.outcomes


def test_distances():
    assert distances(GFX942, Scope.AGENT) == (
        Distance.TWO_XCDS,
        Distance.TWO_CUS,
        Distance.ONE_CU,
    )
    assert distances(Target("gfx942", SPLIT), Scope.WORKGROUP) == (Distance.SPLIT, Distance.ONE_CU)
    assert Distance.TWO_XCDS not in distances(GFX90A, Scope.SYSTEM)
    assert distances(SM_70, Scope.CLUSTER) == (Distance.ONE_CTA,)
    assert distances(SM_90, Scope.CLUSTER) == (Distance.ONE_CLUSTER, Distance.ONE_CTA)
    assert distances(GFX942, Scope.WAVEFRONT) == ()


@pytest.mark.parametrize(
    ("mode", "data", "flag"),
    [
        (GFX942, MemoryKind.NONLOCAL, MemoryKind.NONLOCAL),
        (GFX90A, MemoryKind.NONLOCAL, MemoryKind.UNCACHED),
        (GFX908, MemoryKind.UNCACHED, MemoryKind.UNCACHED),
    ],
    ids=str,
)
def test_memory_between_agents(mode: Target, data: MemoryKind, flag: MemoryKind):
    tests = {test.name: test for test in shape_tests(store(Scope.SYSTEM), mode)}
    far = tests["MP release global, two agents"].program
    assert (far.location("x").kind, far.location("f").kind) == (data, flag)
    near = tests["MP release global, two CUs"].program
    assert {each.kind for each in near.locations} == {MemoryKind.NONLOCAL}


def test_hints_have_no_tests_of_order():
    weak = Request(Operation.LOAD, Ordering.WEAK, Scope.SYSTEM, AddressSpace.PRIVATE)
    assert shape_tests(weak, GFX942) == ()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_operations_are_distinct(mode: Target):
    found = operations(mode)
    assert len(set(found)) == len({describe(each) for each in found}) == len(found)
