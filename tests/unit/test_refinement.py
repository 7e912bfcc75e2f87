"""The comparison of two tests, with the same on both sides and with a stronger one on one side.

A checker that compared the wrong things would be found here: every test of every corpus refines
itself, in the source language and lowered; what is stronger refines what is weaker and, somewhere,
not the other way round.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import source_cases
from campaigns import Share, first_share
from cdna_cases import CASES as CDNA_CASES
from cdna_cases import Case as CdnaCase
from litmus_modules import programs
from scoped_modules import module_of, with_plain_registers
from test_ptx_model import OWN
from test_readers_agree import MODES, lowering_of, sample_of

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Ordering, Scope
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.certify.certificate import CdnaMachineOf, Trial
from fencewright.simulator.certify.programs.cdna import cdna_program
from fencewright.simulator.certify.programs.code import lower_program
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.certify.shapes import ShapeTest
from fencewright.simulator.core.condition import And, Condition, Outcomes, Quantifier
from fencewright.simulator.core.program import LitmusTest, Thread
from fencewright.simulator.litmus_run import (
    CdnaTest,
    PtxTest,
    RunnableTest,
    SourceTest,
    refines,
    run,
)
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.mutants import mutants
from fencewright.simulator.source.events import (
    Barrier,
    Fence,
    ScopedInstruction,
    ScopedOperation,
    ScopedProgram,
    Store,
)

TRUE = Condition(Quantifier.FORALL, And(()))
SPLIT = frozenset({"tgsplit"})


def outcomes_of(test: RunnableTest) -> Outcomes:
    found = run(test)
    assert not found.errors
    assert not found.incomplete
    assert found.outcomes is not None, found.races
    return found.outcomes


def within(left: RunnableTest, right: RunnableTest) -> bool:
    """True if ``right`` can end in every way in which ``left`` can; both are run."""
    allowed = outcomes_of(right)
    return are_within(allowed if left is right else outcomes_of(left), allowed)


def are_within(found: Outcomes, allowed: Outcomes) -> bool:
    return found.project(allowed.observables).states <= allowed.states


def source(program: ScopedProgram) -> SourceTest:
    return SourceTest(LitmusTest(program, TRUE))


def lowered(
    test: ShapeTest, mode: Target, machines: Target | None = None
) -> Iterator[CdnaTest | PtxTest]:
    """A test lowered for ``mode`` on each of its machines, or on those of another mode."""
    code = lower_program(test.program, mode, lower_request, test.generic)
    for machine in Trial(machines or mode).machines_for(test):
        if isinstance(machine, CdnaMachineOf):
            yield CdnaTest(LitmusTest(cdna_program(code), TRUE), machine.configuration)
        else:
            observed = test.program.observables()
            yield PtxTest(PtxLitmusTest(ptx_program(code), TRUE), PtxModel(), observed)


# Itself


@pytest.mark.parametrize("case", source_cases.CASES, ids=lambda case: case.name)
def test_a_source_refines_itself(case: source_cases.Case) -> None:
    test = SourceTest(case.test)
    found = refines(test, test)
    assert found.is_sound is not bool(case.race)
    assert bool(found.source.races) is bool(case.race)
    assert found.source == found.target


@pytest.mark.parametrize("case", CDNA_CASES, ids=lambda case: case.name)
def test_machine_code_refines_itself(case: CdnaCase) -> None:
    test = CdnaTest(case.test, case.configuration)
    assert within(test, test)
    assert case.test.condition.verdict(outcomes_of(test))


@pytest.mark.parametrize("version", list(Version))
def test_ptx_refines_itself_and_its_mutants(version: Version) -> None:
    """A mutant is weaker: it may end in more ways, never in fewer."""
    model = PtxModel(version)
    more = 0
    for test, _ in OWN[version]:
        before = outcomes_of(PtxTest(test, model))
        assert are_within(before, before), test.name
        for mutant in mutants(test.program):
            after = outcomes_of(PtxTest(replace(test, program=mutant.program), model))
            assert are_within(before, after), (test.name, mutant.kind)
            more += not are_within(after, before)
    assert more > 50


@pytest.mark.parametrize("share", first_share(10))
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_battery_refines_itself(mode: Target, share: Share) -> None:
    """Source to source, through a module too; lowered to lowered; lowered to source."""
    for test in share.of(sample_of(mode), MODES.index(mode)):
        meant = source(test.program)
        assert refines(meant, meant).is_sound, test.name
        plain = source(with_plain_registers(test.program))
        (read,) = programs(module_of(plain.test.program, test.generic)).values()
        assert isinstance(read, SourceTest)
        assert refines(plain, read).is_sound, test.name
        assert refines(read, plain).is_sound, test.name
        for machine_code in lowered(test, mode):
            assert within(machine_code, machine_code), test.name
            assert refines(meant, machine_code).is_sound, test.name


# Something stronger

Change = Callable[[ScopedOperation], ScopedOperation]


def changed(test: ShapeTest, change: Change) -> ShapeTest:
    def each(instruction: ScopedInstruction) -> ScopedInstruction:
        return change(instruction) if isinstance(instruction, ScopedOperation) else instruction

    threads = tuple(
        Thread(thread.placement, tuple(map(each, thread.instructions)))
        for thread in test.program.threads
    )
    return replace(test, program=replace(test.program, threads=threads))


def in_one_order(operation: ScopedOperation) -> ScopedOperation:
    """What acquires or releases as seq_cst."""
    ordering = operation.ordering
    ordered = ordering.acquires or ordering.releases
    if not ordered or isinstance(operation, Barrier):
        return operation
    return replace(operation, ordering=Ordering.SEQ_CST)


def widened(operation: ScopedOperation) -> ScopedOperation:
    """System scope, where that can be waited for."""
    if isinstance(operation, Barrier) or operation.scope is None:
        return operation
    return replace(operation, scope=Scope.SYSTEM)


@pytest.mark.parametrize("change", [in_one_order, widened], ids=lambda each: each.__name__)
@pytest.mark.parametrize("share", first_share(10))
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_stronger_operations_refine_weaker_ones(mode: Target, change: Change, share: Share) -> None:
    for test in share.of(sample_of(mode), MODES.index(mode)):
        stronger = changed(test, change)
        assert refines(source(test.program), source(stronger.program)).is_sound, test.name
        for strong, weak in zip(lowered(stronger, mode), lowered(test, mode), strict=True):
            assert within(strong, weak), test.name


def relaxed(operation: ScopedOperation) -> ScopedOperation:
    """A store that no longer releases."""
    if isinstance(operation, Store) and operation.ordering.releases:
        return replace(operation, ordering=Ordering.RELAXED)
    return operation


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_weaker_operations_do_not_refine_stronger_ones(mode: Target) -> None:
    """Of data that is atomic, so that what is weaker still means something."""
    more = 0
    for test in sample_of(mode):
        weaker = changed(test, relaxed)
        if weaker == test or run(source(weaker.program)).races:
            continue
        for strong, weak in zip(lowered(test, mode), lowered(weaker, mode), strict=True):
            more += not within(weak, strong)
        more += not refines(source(test.program), source(weaker.program)).is_sound
    assert more


@pytest.mark.parametrize("share", first_share(10))
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_code_as_lowered_refines_optimised_code(mode: Target, share: Share) -> None:
    for test in share.of(sample_of(mode)[::3], MODES.index(mode)):
        text = module_of(with_plain_registers(test.program), test.generic)
        as_lowered, optimised = (
            next(iter(programs(text, replace(lowering_of(mode), opt_level=level)).values()))
            for level in (0, 2)
        )
        assert within(as_lowered, optimised), test.name


@pytest.mark.parametrize("split", [frozenset[str](), SPLIT], ids=["whole", "tgsplit"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_code_for_many_l2s_refines_code_for_one(chip: str, split: frozenset[str]) -> None:
    """On a machine with one, where what is written back for many is not needed."""
    many, one = Target(chip, split), Target(chip, split, L2PerAgent.ONE)
    for test in sample_of(one):
        for strong, weak in zip(lowered(test, many, one), lowered(test, one), strict=True):
            assert within(strong, weak), test.name


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_code_for_split_groups_refines_other_code(chip: str) -> None:
    """On a machine whose work-groups are whole, where there is no LDS to see the difference."""
    split, whole = Target(chip, SPLIT), Target(chip)
    for test in sample_of(whole):
        uses_lds = any(each.space is AddressSpace.LOCAL for each in test.program.locations)
        if uses_lds or test.generic or _is_about_lds(test.program):
            continue
        for strong, weak in zip(lowered(test, split, whole), lowered(test, whole), strict=True):
            assert within(strong, weak), test.name


def _is_about_lds(program: ScopedProgram) -> bool:
    return any(
        isinstance(each, Fence) and each.spaces == frozenset({AddressSpace.LOCAL})
        for thread in program.threads
        for each in thread.instructions
    )


def test_code_for_one_l2_does_not_refine_code_for_many() -> None:
    """On a machine with many: what the comparison is for."""
    many, one = Target("gfx942"), Target("gfx942", l2_per_agent=L2PerAgent.ONE)
    configuration = CdnaConfiguration("gfx942")
    caught = 0
    for test in sample_of(many):
        pairs = zip(lowered(test, one, many), lowered(test, many), strict=True)
        for weak, strong in pairs:
            assert isinstance(weak, CdnaTest)
            caught += weak.configuration == configuration and not within(weak, strong)
    assert caught
