"""The AMD race detector against the machine, on random chains of two to four waves."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from amd_race_programs import WORDS, AmdChain, chain, later_chain, may_fail, races
from campaigns import Share, draws

from fencewright.lowering.cdna.chips import Counter, Generation
from fencewright.simulator.race.amd.detector import Detector, Fault
from fencewright.simulator.race.amd.facts import Base, Facts, Home, Judge, Mark, Operation
from fencewright.simulator.race.amd.rules import Cache, Path

PROGRAMS = 3_000
_SHARES = 100


TOO_MANY = {
    3: (549, 621, 664, 811, 994, 1507, 2021, 2134, 2147, 2568, 2612, 2830),
    4: (220, 545, 975, 1353, 1383, 1456, 1603, 1869, 1905, 2570, 2972),
}
"""The chains, by their waves, on which the detector alone finds something: the machine's last values
hide a write that a later one covers, and a queue that another wave's write-back drains before it
can have read its flag."""


@pytest.mark.parametrize("share", draws(_SHARES))
def test_the_machine_fails_where_something_is_found(share: Share) -> None:
    known = {seed for each in TOO_MANY.values() for seed in each}
    _same(share.of(range(PROGRAMS)), chain, known)


LATER_PROGRAMS = 1_000
LATER_TOO_MANY: dict[Generation, tuple[int, ...]] = {
    Generation.GFX1030: (54, 231, 547, 605, 773),
    Generation.GFX1100: (231, 547, 605, 694, 773),
    Generation.GFX1200: (42, 53, 58, 68, 200, 236, 787, 856, 867),
    Generation.GFX1250: (38, 151, 406),
}
"""The chains of later chips on which the detector alone finds something: a later write covers it."""


@pytest.mark.parametrize("generation", WORDS)
@pytest.mark.parametrize("share", draws(_SHARES))
def test_so_does_the_machine_of_later_chips(share: Share, generation: Generation) -> None:
    seeds, known = share.of(range(LATER_PROGRAMS)), set(LATER_TOO_MANY[generation])
    _same(seeds, lambda seed: later_chain(seed, generation), known)


def _same(seeds: Iterable[int], make: Callable[[int], AmdChain], known: set[int]) -> None:
    missed: list[str] = []
    alarms: list[int] = []
    seeds = list(seeds)
    for seed in seeds:
        one = make(seed)
        fails = may_fail(one)
        found = bool(races(one)) if fails is not None else fails
        if fails and not found:
            missed.append(f"{seed}:\n{one}")
        if found and not fails:
            alarms.append(seed)
    assert not missed, "\n".join(missed)
    assert alarms == [seed for seed in seeds if seed in known]


# Every rule, broken on purpose


class _L1IsCoherent(Detector):
    def stale(self, write: Operation, new: Operation, facts: Facts) -> Fault | None:
        fault = super().stale(write, new, facts)
        return None if fault is Fault.NOT_INVALIDATED and new.access.l1 else fault


class _ScalarCacheIsCoherent(Detector):
    def stale(self, write: Operation, new: Operation, facts: Facts) -> Fault | None:
        fault = super().stale(write, new, facts)
        is_scalar = new.access.path is Path.SCALAR
        return None if fault is Fault.NOT_INVALIDATED and is_scalar else fault


class _WritesAreNotOvertaken(Detector):
    def overtaken(self, write: Operation, new: Operation, facts: Facts) -> Fault | None:
        return None


class _BarrierWaits(Detector):
    def barrier(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.wait(number, [(Counter.VMCNT, 0), (Counter.LGKMCNT, 0)])
        super().barrier(numbers)


class _MarkersDrainNothing(Detector):
    def drained(self, wave: object, item: object) -> None:
        return


class _NothingMeets(Detector):
    def meet_at_a_cache(self, one: Operation, other: Operation) -> bool:
        return False


class _L2sAreCoherent(Judge):
    def is_at_memory(self, operation: Operation, base: Base) -> bool:
        return self.is_done(operation, base)


class _DoneWhenIssued(Judge):
    def is_done(self, operation: Operation, base: Base) -> bool:
        return self.is_issued(operation, base.known)


class _InvalidatesDropNothing(Judge):
    def with_fresh(self, facts: Facts, mark: Mark, place: int, below: Base) -> Facts:
        return super().with_fresh(facts, mark, place, below if mark is Mark.QUEUED_BACK else Base())


class _QueueServesTheScalarCache(Judge):
    def is_below(
        self, operation: Operation, facts: Facts, home: Home, above: Mark, at: Mark
    ) -> bool:
        fresh = self.fresh_l2(facts, home)
        if above is Mark.SCALAR and self.is_in_l2(operation, facts.base, fresh, home.l2):
            return True
        return super().is_below(operation, facts, home, above, at)


def _with(judges: type[Judge]) -> type[Detector]:
    return type(judges.__name__, (Detector,), {"judges": judges})


BROKEN: dict[str, tuple[type[Detector], bool]] = {
    each.__name__: (each, misses)
    for each, misses in (
        (_L1IsCoherent, True),
        (_ScalarCacheIsCoherent, True),
        (_WritesAreNotOvertaken, True),
        (_BarrierWaits, True),
        (_MarkersDrainNothing, False),
        (_NothingMeets, False),
        (_with(_L2sAreCoherent), True),
        (_with(_DoneWhenIssued), True),
        (_with(_InvalidatesDropNothing), False),
        (_with(_QueueServesTheScalarCache), True),
    )
}
"""Detectors with one rule less or too many, and whether they miss races or find too many."""

CAUGHT = {
    "_L1IsCoherent": 12,
    "_ScalarCacheIsCoherent": 99,
    "_WritesAreNotOvertaken": 0,
    "_BarrierWaits": 83,
    "_MarkersDrainNothing": 86,
    "_NothingMeets": 1,
    "_L2sAreCoherent": 85,
    "_DoneWhenIssued": 0,
    "_InvalidatesDropNothing": 71,
    "_QueueServesTheScalarCache": 99,
}
"""A chain on which each shows."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_shows(name: str) -> None:
    broken, misses = BROKEN[name]
    one = chain(CAUGHT[name])
    assert may_fail(one) is misses
    assert bool(races(one)) is misses
    assert bool(races(one, broken)) is not misses


class _RequestsInOrder(Detector):
    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **(named | {"requests_in_order": True}))


class _NothingIsDeferred(Detector):
    def cache(self, number: int, rule: Cache) -> None:
        super().cache(number, replace(rule, effect=replace(rule.effect, deferred=False)))


class _MarkersQueueBehindWriteBacks(Detector):
    def cache(self, number: int, rule: Cache) -> None:
        super().cache(number, rule)
        if rule.effect.write_back:
            wave = self.waves[number]
            base = wave.queues[Counter.STORECNT][-1].facts.base
            wave.facts = self.judge.with_fresh(wave.facts, Mark.QUEUED_BACK, wave.home.cu, base)


class _NobodyMeets(Detector):
    def meet(self, number: int, meeting: Hashable) -> None:
        return


class _SignalWaits(Detector):
    def signal(self, number: int, meeting: Hashable) -> None:
        counters = (Counter.LOADCNT, Counter.STORECNT, Counter.DSCNT)
        self.wait(number, [(each, 0) for each in counters])
        super().signal(number, meeting)


@pytest.mark.parametrize(
    ("broken", "generation", "seed", "misses"),
    [
        (_RequestsInOrder, Generation.GFX1250, 18, True),
        (_NothingIsDeferred, Generation.GFX1250, 537, True),
        (_MarkersQueueBehindWriteBacks, Generation.GFX1250, 334, True),
        (_MarkersQueueBehindWriteBacks, Generation.GFX1250, 698, True),
        (_NobodyMeets, Generation.GFX1250, 7, False),
        (_NobodyMeets, Generation.GFX1030, 7, False),
        (_SignalWaits, Generation.GFX1250, 19, True),
        (_SignalWaits, Generation.GFX1200, 63, True),
        (_MarkersDrainNothing, Generation.GFX1030, 210, False),
        (_MarkersDrainNothing, Generation.GFX1200, 116, False),
        (_MarkersDrainNothing, Generation.GFX1250, 107, False),
    ],
)
def test_a_broken_rule_of_later_chips_shows(
    broken: type[Detector], generation: Generation, seed: int, misses: bool
) -> None:
    one = later_chain(seed, generation)
    assert may_fail(one) is misses
    assert bool(races(one)) is misses
    assert bool(races(one, broken)) is not misses
