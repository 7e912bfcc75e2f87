"""The litmus cases on both CDNA machines; broken machines, each caught by a named case."""

import os
from collections.abc import Hashable
from functools import cache

import pytest
from campaigns import Share, first_share, some_of
from cdna_cases import BY_NAME, CASES, GFX942, Case, EmptyCaches

from fencewright.lowering.table import Row, Table
from fencewright.simulator.cdna.engine import CdnaEngine, SetLine, SetState
from fencewright.simulator.cdna.machine import CdnaMachine, PlainLine, PlainState
from fencewright.simulator.cdna.rows import CACHE, CacheEffect, CdnaConfiguration, Effect, Illegal
from fencewright.simulator.cdna.system import LineTopology
from fencewright.simulator.cdna.trace import find_execution
from fencewright.simulator.cdna.wave import (
    DONE,
    CompiledProgram,
    Entry,
    Op,
    StepKind,
    Wave,
    WaveRules,
)
from fencewright.simulator.core.condition import Quantifier
from fencewright.simulator.core.exploration import Exploration, explore
from fencewright.simulator.core.program import MemoryKind

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
PLAIN_LIMIT = 500_000 if THOROUGH else 5_000
"""What does not fit is still compared as far as it goes."""


def broken(
    table: Table[Effect | Illegal], effect: Effect, **where: Hashable
) -> Table[Effect | Illegal]:
    """``table`` with ``effect`` in every legal row that ``where`` names: a machine to be caught."""
    columns = tuple(table.columns)
    rows: list[Row[Effect | Illegal]] = []
    for key, old in table.items():
        place = dict(zip(columns, key, strict=True))
        hit = all(place[column] == value for column, value in where.items())
        value = effect if hit and not isinstance(old.value, Illegal) else old.value
        rows.append(Row({c: (v,) for c, v in place.items()}, value, "broken on purpose"))
    return Table(table.name, table.columns, rows)


def names(cases: tuple[Case, ...]) -> list[str]:
    return [each.name for each in cases]


def on_engine(
    case: Case,
    configuration: CdnaConfiguration | None = None,
    line_rules: type[SetLine] = SetLine,
    wave_rules: type[WaveRules] = WaveRules,
) -> bool:
    """Whether the engine answers as the case says."""
    system = CdnaEngine(
        case.test.program, configuration or case.configuration, line_rules, wave_rules
    )
    found = explore(system)
    assert found.complete
    assert not found.errors
    return case.test.condition.verdict(found.outcomes)


def on_plain(
    case: Case,
    configuration: CdnaConfiguration | None = None,
    line_rules: type[PlainLine] = PlainLine,
    wave_rules: type[WaveRules] = WaveRules,
) -> bool:
    """Whether the plain machine answers as the case says."""
    system = CdnaMachine(
        case.test.program, configuration or case.configuration, True, line_rules, wave_rules
    )
    found = explore(system)
    assert found.complete
    return case.test.condition.verdict(found.outcomes)


@cache
def explored(name: str) -> Exploration:
    """What the engine finds of a case."""
    case = BY_NAME[name]
    return explore(CdnaEngine(case.test.program, case.configuration))


@pytest.mark.parametrize("name", names(CASES))
def test_engine(name: str):
    assert on_engine(BY_NAME[name])


@pytest.mark.parametrize("name", some_of(names(CASES), 3))
def test_plain_machine_agrees(name: str):
    case = BY_NAME[name]
    plain = explore(CdnaMachine(case.test.program, case.configuration), PLAIN_LIMIT)
    engine = explored(name)
    assert plain.outcomes.states <= engine.outcomes.states
    if plain.complete:
        assert plain.outcomes == engine.outcomes


REACHABLE = tuple(each for each in CASES if each.test.condition.quantifier is Quantifier.EXISTS)


@pytest.mark.parametrize("name", names(REACHABLE))
def test_plain_machine_follows_every_reachable_condition(name: str):
    """What the engine reports reachable has an execution on the plain machine, step by step."""
    case = BY_NAME[name]
    observables = case.test.program.observables()
    formula = case.test.condition.formula

    def wanted(outcome: tuple[int, ...]) -> bool:
        return formula.holds(dict(zip(observables, outcome, strict=True)))

    found = find_execution(case.test.program, wanted, case.configuration)
    assert found is not None
    assert wanted(found.trace.outcome)
    for now, event, after in zip(
        found.trace.states, found.trace.events, found.trace.states[1:], strict=False
    ):
        assert (after, event) in found.machine.successors(now)


@pytest.mark.parametrize("share", first_share(4))
@pytest.mark.parametrize("name", names(CASES))
def test_plain_machine_follows_outcomes(name: str, share: Share):
    case, engine = BY_NAME[name], explored(name)
    for outcome in share.of(sorted(engine.outcomes.states)[: None if THOROUGH else 2]):
        assert find_execution(case.test.program, outcome.__eq__, case.configuration)


# Machines broken on purpose.


class EarlyCounters(WaveRules):
    """vmcnt does not wait for stores."""

    def issue(self, state: Wave, op: Op) -> Wave:
        pc, regs, (vm, lgkm) = super().issue(state, op)
        if op.code is StepKind.STORE and vm:
            vm = (*vm[:-1], vm[-1] | DONE)
        return pc, regs, (vm, lgkm)


class FreshL1(PlainLine):
    """An L1 that never goes stale: a hit reads what the L2 holds, or memory."""

    def issue(self, state: PlainState, op: Op, entry: Entry) -> list[tuple[PlainState, int | None]]:
        (after, bound), *_ = super().issue(state, op, entry)
        if bound is None:
            return [(after, None)]
        held = self.below(state[0], state[1], self.topology.cu_of_wave[op.wave])
        return [(after, state[0] if held < 0 else held)]


class FreshSets(SetLine):
    """An L1 that never goes stale: it forgets whatever its L2 may not hold now."""

    def filled(self, state: SetState) -> SetState:
        memory, l2s, l1s, queues, scalars, pending = state
        fresh = tuple(
            held if held < 0 else held & l2s[self.l2_of_l1[at]][1] for at, held in enumerate(l1s)
        )
        return super().filled((memory, l2s, fresh, queues, scalars, pending))


class DirtyDropper(PlainLine):
    """An invalidate that drops dirty lines, too."""

    def marked(
        self, memory: int, l2s: tuple[int, ...], l2: int, op: Op
    ) -> tuple[int, tuple[int, ...]]:
        if op.effect.invalidate and l2s[l2] >= 0:
            l2s = tuple(held & ~1 if at == l2 else held for at, held in enumerate(l2s))
        return super().marked(memory, l2s, l2, op)


class DirtyDroppingSets(SetLine):
    """An invalidate that drops dirty lines, too."""

    def is_idle(self, l2: tuple[tuple[int, ...], int, bool], op: Op) -> bool:
        return not op.effect.invalidate and super().is_idle(l2, op)

    def marked(
        self, memory: int, l2s: tuple[tuple[tuple[int, ...], int, bool], ...], l2: int, op: Op
    ) -> tuple[int, tuple[tuple[tuple[int, ...], int, bool], ...]]:
        if op.effect.invalidate and l2s[l2][2]:
            clean = ((*l2s[l2][0], memory), 1 << len(l2s[l2][0]), False)
            l2s = (*l2s[:l2], clean, *l2s[l2 + 1 :])
        return super().marked(memory, l2s, l2, op)


NO_WRITE_BACK = CdnaConfiguration(
    cache=broken(CACHE, CacheEffect(marker=True, counts=True), mnemonic="buffer_wbl2")
)
NO_INVALIDATE = CdnaConfiguration(
    cache=broken(CACHE, CacheEffect(counts=True), mnemonic="buffer_inv")
)


def test_write_back_that_does_nothing_is_caught():
    assert not on_engine(BY_NAME["mp-agent"], NO_WRITE_BACK)
    assert not on_plain(BY_NAME["mp-agent"], NO_WRITE_BACK)


def test_invalidate_that_does_nothing_is_caught():
    assert not on_engine(BY_NAME["mp-agent"], NO_INVALIDATE)
    assert not on_plain(BY_NAME["mp-agent"], NO_INVALIDATE)


def test_counter_that_retires_early_is_caught():
    assert not on_engine(BY_NAME["mp-agent-cheap"], wave_rules=EarlyCounters)
    assert not on_plain(BY_NAME["mp-agent-cheap"], wave_rules=EarlyCounters)


def test_l1_that_never_goes_stale_is_caught():
    name = "mp-agent-one-xcd-without-invalidate"
    assert not on_engine(BY_NAME[name], line_rules=FreshSets)
    assert not on_plain(BY_NAME[name], line_rules=FreshL1)


def test_invalidate_that_drops_dirty_lines_is_caught():
    name = "invalidate-keeps-dirty-lines"
    assert not on_engine(BY_NAME[name], line_rules=DirtyDroppingSets)
    assert not on_plain(BY_NAME[name], line_rules=DirtyDropper)


def test_caches_without_spontaneous_activity_would_hide_the_missing_invalidate():
    """The trap: with caches that fill on demand only, the acquire invalidate looks needless."""
    case = BY_NAME["mp-agent-without-invalidate"]
    demand_filled = CdnaMachine(
        case.test.program, case.configuration, spontaneous=False, line_rules=EmptyCaches
    )
    assert not case.test.condition.verdict(explore(demand_filled).outcomes)
    assert on_plain(case)


def test_broken_engine_disagrees_with_the_plain_machine():
    """The comparison of the two machines notices a reduction that is wrong."""
    case = BY_NAME["mp-agent-one-xcd-without-invalidate"]
    plain = explore(CdnaMachine(case.test.program, GFX942))
    engine = explore(CdnaEngine(case.test.program, GFX942, line_rules=FreshSets))
    assert plain.outcomes != engine.outcomes


def test_what_is_local_to_an_l2_is_kept_fresh_by_probes():
    """A probe drops other L2s' clean copies, so only the L1 can be stale."""
    program = BY_NAME["mp-agent-without-invalidate"].test.program
    topology = LineTopology(CompiledProgram(program, GFX942), 0)
    line = PlainLine(topology)
    assert line.probed((2, 4), 0) == (2, 4)
    line.kind = MemoryKind.LOCAL
    assert line.probed((2, 4), 0) == (2, -1)
    assert line.probed((2, 5), 0) == (2, 5)
