"""The race detector: the behaviour that the machine's caches, queues and counters allow.

Two faults are found. A pair without order: two accesses of different waves to a place, one a write,
that nothing orders, unless both are meant to meet and do so at a cache that both reach. A pair with
an order that memory may not keep: a load that may be served an older copy, a write that may be
overtaken or overwritten by an earlier one. What orders are values that were read, and barriers of
the work-group; what memory keeps of that is in ``facts``. Source: the machine's rules
(docs/cdna-machine.md); MI300 ISA 4.4; LLVM AMDGPUUsage, "Memory Model".
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.cdna.rows import CacheEffect
from fencewright.simulator.race.amd.facts import (
    NO_FACTS,
    Base,
    Facts,
    Home,
    Judge,
    Mark,
    Operation,
)
from fencewright.simulator.race.amd.rules import (
    COPIES,
    OF_MEMORY,
    ORDERED_APART,
    VECTOR_COLUMNS,
    Access,
    Cache,
    Column,
    OrderedBy,
    Path,
    paths_of,
)
from fencewright.simulator.race.amd.shadow import UNTOUCHED, Cell, Shadow


@dataclass(frozen=True, slots=True)
class Side:
    """Units of memory that an access touches; ``is_same``: it writes the old value."""

    shadow: Shadow
    units: Sequence[int]
    is_same: bool = False


class Fault(FastStrEnum):
    """The fault of a pair of accesses."""

    UNORDERED = "unordered"
    NOT_PERFORMED = "not performed"
    NOT_WRITTEN_BACK = "not written back"
    NOT_INVALIDATED = "not invalidated"


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses of a place, and why the second may miss the first or pass it.

    ``writes_first``: the first is a write; ``reads``: it is the second's read that misses it.
    """

    fault: Fault
    first: Operation
    second: Operation
    writes_first: bool
    reads: bool
    place: str


@dataclass(slots=True, eq=False)
class _Item:
    """Something outstanding: it is over when a counter says so."""

    clock: int
    columns: tuple[Column, ...]
    counters: tuple[Counter, ...]
    in_order: bool
    messages: list[Facts] = field(default_factory=list[Facts])
    performed: list[int] = field(default_factory=list[int])
    cache: Cache | None = None
    facts: Facts = NO_FACTS
    is_over: bool = False


@dataclass(slots=True, eq=False)
class _Wave:
    """A wave: ``facts``; ``in_lds``: those that its LDS operations follow besides."""

    home: Home
    facts: Facts = NO_FACTS
    in_lds: Facts = NO_FACTS
    clock: int = 0
    queues: dict[Counter, list[_Item]] = field(default_factory=dict[Counter, list[_Item]])
    last: _Item | None = None


def _nothing_meant(site: int) -> bool:
    return False


def _nothing_done(number: int, outwards: bool) -> None:
    return


class Detector:
    """Finds races while waves run; ``races`` has one for each pair of sites and fault.

    ``is_meant``: whether a site's accesses are meant to meet others, as those of a polling loop
    are, though no bit says so. ``requests_in_order``: as ``Hierarchy`` of the machine has it.
    ``on_copied`` is called with a wave whose oldest copy to LDS, or outwards, is surely done.
    ``unwritten``: by site the first read of LDS that nobody has written, and its place.
    ``judges``: what says what follows of facts.
    """

    judges: type[Judge] = Judge

    def __init__(
        self,
        homes: Sequence[Home],
        group_waves: int,
        is_meant: Callable[[int], bool] = _nothing_meant,
        *,
        requests_in_order: bool = True,
        on_copied: Callable[[int, bool], None] = _nothing_done,
    ):
        self.judge = self.judges(tuple(homes), group_waves)
        self.waves = [_Wave(each) for each in homes]
        self.is_meant = is_meant
        self.requests_in_order = requests_in_order
        self.paths = paths_of(requests_in_order=requests_in_order)
        self.meetings: dict[Hashable, Facts] = {}
        self.on_copied = on_copied
        self.races: dict[tuple[object, ...], Race] = {}
        self.unwritten: dict[int, tuple[Operation, str]] = {}
        self.accesses = 0
        self.is_ordered_by_values = False
        self._number = 0

    # Accesses

    def access(
        self,
        number: int,
        rule: Access,
        site: int,
        sides: Sequence[Side],
        *,
        is_further: bool = False,
    ) -> None:
        """An access of a wave, which counts as outstanding from here on.

        ``is_further``: it is a part of the one before, as the second half of ``ds_read2_b32``.
        """
        wave = self.waves[number]
        item = wave.last if is_further else self._issue(wave, rule)
        assert item is not None
        for side in sides:
            self._touch(wave, rule, site, side, item)
        if not is_further:
            self._hold(wave, item)

    def copy(
        self, number: int, access: Access, site: int, outside: Sequence[Side], lds: Sequence[Side]
    ) -> None:
        """A copy between memory and LDS: both its sides are over when its counter says so.

        ``access``: that to memory.
        """
        wave = self.waves[number]
        item = self._issue(wave, access)
        other = Access(Path.COPY, access.writes, access.reads, access.counted)
        item.columns = tuple({access.column, other.column})
        for rule, sides in ((access, outside), (other, lds)):
            for side in sides:
                self._touch(wave, rule, site, side, item)
        self._hold(wave, item)

    def _issue(self, wave: _Wave, rule: Access) -> _Item:
        wave.clock += 1
        counted = rule.counted
        wave.last = _Item(wave.clock, (rule.column,), counted.counters, counted.in_order)
        return wave.last

    def _hold(self, wave: _Wave, item: _Item) -> None:
        for counter in item.counters:
            wave.queues.setdefault(counter, []).append(item)

    def _touch(self, wave: _Wave, rule: Access, site: int, side: Side, item: _Item) -> None:
        """One side of an access: judge it against each history that it meets, and be part of it."""
        shadow, cells, units = side.shadow, side.shadow.cells, side.units
        if not units:
            return
        operation = self._operation(wave, rule, site, side.is_same)
        known: dict[int, tuple[Cell, Cell]] = {}
        last: Cell | None = None
        new = UNTOUCHED
        for unit in units:
            old = cells.get(unit, UNTOUCHED)
            if old is not last:
                last = old
                entry = known.get(id(old))
                if entry is None:
                    new = self._meet(wave, operation, old, shadow, unit, item)
                    known[id(old)] = old, new
                    # The instruction's own writes are not judged against it.
                    known[id(new)] = new, new
                else:
                    new = entry[1]
            cells[unit] = new
        self.accesses += len(units)

    def _operation(self, wave: _Wave, rule: Access, site: int, is_same: bool) -> Operation:
        self._number += 1
        facts = self._facts(wave, rule)
        return Operation(self._number, wave.home, wave.clock, rule, site, facts, is_same=is_same)

    def _facts(self, wave: _Wave, rule: Access) -> Facts:
        """The operations that an access follows: in LDS also reads there that were not waited
        for."""
        if rule.path is Path.LDS and wave.in_lds is not NO_FACTS:
            return self.judge.join(wave.facts, wave.in_lds)
        return wave.facts

    def _meet(
        self, wave: _Wave, new: Operation, cell: Cell, shadow: Shadow, unit: int, item: _Item
    ) -> Cell:
        write, rule = cell.write, new.access
        if write is not None:
            self._after_write(wave, new, cell, write, shadow, unit, item)
        if not rule.writes:
            if write is None and rule.path is Path.LDS:
                self.unwritten.setdefault(new.site, (new, shadow.place(unit)))
            return Cell(write, (*self._kept(new, cell.reads), new))
        for read in cell.reads:
            if not read.access.writes:
                self._after_read(new, read, shadow, unit)
        kept = new
        if rule.reads and write is not None:
            # A chain of atomics keeps the facts of its earlier parts.
            kept = Operation(
                new.number,
                new.home,
                new.clock,
                rule,
                new.site,
                new.facts,
                self._carried(write, new),
            )
        return Cell(kept, (kept,) if rule.reads else ())

    def _carried(self, write: Operation, new: Operation) -> Facts | None:
        return self.judge.past(write) if self.meet_at_a_cache(write, new) else None

    @staticmethod
    def _kept(new: Operation, reads: tuple[Operation, ...]) -> tuple[Operation, ...]:
        return tuple(
            each
            for each in reads
            if each.home is not new.home or each.site != new.site or each.access != new.access
        )

    def _after_write(
        self, wave: _Wave, new: Operation, cell: Cell, write: Operation, shadow: Shadow, unit: int,
        item: _Item,
    ) -> None:  # fmt: skip
        rule, facts = new.access, self._facts(wave, new.access)
        if not self._is_ordered(write, new, facts):
            if not self._may_meet(write, new):
                self._report(Fault.UNORDERED, write, new, shadow, unit, reads=rule.reads)
            elif rule.reads:
                self._learn(wave, new, write, item)
            return
        if rule.path is Path.VECTOR and not rule.l1 and self._in_queue_order(write, new):
            # It queues at the L2 after the write: when it is done, so is the write.
            item.performed.append(write.number)
        if rule.reads and write.carried is not None and self.meet_at_a_cache(write, new):
            self._learn(wave, new, write, item)
        if rule.is_atomic and write.access.is_atomic and self.meet_at_a_cache(write, new):
            return
        if rule.reads and not self._has_read(new, cell):
            fault = self.stale(write, new, facts)
            if fault is not None:
                self._report(fault, write, new, shadow, unit, reads=True)
                return
        if rule.writes:
            fault = self.overtaken(write, new, facts)
            if fault is not None:
                self._report(fault, write, new, shadow, unit)

    def _has_read(self, new: Operation, cell: Cell) -> bool:
        """True where its wave has read the write before at a cache that cannot go back."""
        return (
            any(
                each.home is new.home and not each.access.l1 and each.access.path is new.access.path
                for each in cell.reads
            )
            and not new.access.l1
        )

    def _after_read(self, new: Operation, read: Operation, shadow: Shadow, unit: int) -> None:
        facts = self._facts(self.waves[new.home.number], new.access)
        if not self._is_ordered(read, new, facts):
            if not self._may_meet(read, new):
                self._report(Fault.UNORDERED, read, new, shadow, unit, writes_first=False)
        elif not (self._in_queue_order(read, new) or self.judge.is_done(read, facts.base)):
            self._report(Fault.NOT_PERFORMED, read, new, shadow, unit, writes_first=False)

    # Order

    def _is_ordered(self, old: Operation, new: Operation, facts: Facts) -> bool:
        if old.home is new.home:
            return True
        return self.judge.is_issued(old, facts.base.known)

    def _in_queue_order(self, old: Operation, new: Operation) -> bool:
        """True where the access issued first is performed first without any wait."""
        if old.access.path is not new.access.path:
            return False
        match self.paths[new.access.path].ordered_by:
            case OrderedBy.CU:
                return old.home.cu == new.home.cu
            case OrderedBy.WAVE:
                return old.home is new.home
            case OrderedBy.NOBODY:
                return False

    def meet_at_a_cache(self, one: Operation, other: Operation) -> bool:
        """True where two accesses are performed at a place that both reach."""
        if {one.access.path, other.access.path} == {Path.LDS}:
            return True
        if not OF_MEMORY.issuperset({one.access.path, other.access.path}):
            return False
        if one.home.cu == other.home.cu:
            return True
        if any(each.access.reads and each.access.l1 for each in (one, other)):
            return False
        return one.home.l2 == other.home.l2 or (one.access.past_l2 and other.access.past_l2)

    def _may_meet(self, one: Operation, other: Operation) -> bool:
        """True where two accesses without an order are meant to meet, and do."""
        return self.meet_at_a_cache(one, other) and self.is_intended(one, other)

    def is_intended(self, one: Operation, other: Operation) -> bool:
        """True where accesses are meant to meet: two atomics, or each says so in its own way."""
        return all(self._intends(*pair) for pair in ((one, other), (other, one)))

    def _intends(self, operation: Operation, other: Operation) -> bool:
        access = operation.access
        if access.is_atomic:
            return True
        if access.reads:
            return self.means_to_meet(operation)
        # A store need not have a bit that says so, and on gfx90a cannot, but its reader has to.
        is_read = other.access.reads and not other.access.writes
        return access.is_scoped or is_read or self.is_meant(other.site)

    def means_to_meet(self, operation: Operation) -> bool:
        """True where an access is atomic, its bits name a scope, or a loop polls with it."""
        access = operation.access
        return access.is_atomic or access.is_scoped or self.is_meant(operation.site)

    def _learn(self, wave: _Wave, new: Operation, write: Operation, item: _Item) -> None:
        """A value was read: the knowledge of its writer is available once the load has been waited
        for."""
        past = self.judge.past(write)
        self.is_ordered_by_values = True
        item.performed.append(write.number)
        if new.access.path is Path.LDS:
            # Earlier LDS operations of the writer are done; later ones of the reader follow.
            done = write.home.number, Column.LDS, write.clock
            past = self.judge.with_clocks(past, [done])
            wave.in_lds = self.judge.join(wave.in_lds, past)
        elif write.home.cu == new.home.cu and self.requests_in_order:
            # The load was issued after the store, as all that follows it was.
            wave.facts = self.judge.join(wave.facts, past)
            return
        item.messages.append(past)

    # The order that memory keeps

    def stale(self, write: Operation, new: Operation, facts: Facts) -> Fault | None:
        """The fault by which a load may be served an older value than an earlier write's."""
        match new.access.path:
            case Path.LDS | Path.COPY:
                return self._performed(write, new, facts)
            case Path.SCALAR:
                if self.judge.is_below(write, facts, new.home, Mark.SCALAR, Mark.SCALAR_FROM_L2):
                    return None
            case Path.VECTOR | Path.BESIDE:
                if write.home.cu == new.home.cu:
                    return self._performed(write, new, facts)
                if self._is_served(write, new, facts):
                    return None
        if not self.judge.is_done(write, facts.base):
            return Fault.NOT_PERFORMED
        reached = write.home.l2 == new.home.l2 or self.judge.is_at_memory(write, facts.base)
        return Fault.NOT_INVALIDATED if reached else Fault.NOT_WRITTEN_BACK

    def _is_served(self, write: Operation, new: Operation, facts: Facts) -> bool:
        judge, home = self.judge, new.home
        if new.access.l1:
            return judge.is_below(write, facts, home, Mark.L1, Mark.L1_FROM_L2)
        fresh = judge.fresh_l2(facts, home)
        if new.access.past_l2:
            fresh = (*fresh, facts.base)
        return judge.is_in_l2(write, facts.base, fresh, home.l2)

    def _performed(self, old: Operation, new: Operation, facts: Facts) -> Fault | None:
        if self._in_queue_order(old, new) or self.judge.is_done(old, facts.base):
            return None
        return Fault.NOT_PERFORMED

    def overtaken(self, write: Operation, new: Operation, facts: Facts) -> Fault | None:
        """The fault by which memory may end with an earlier write."""
        if new.access.path is not Path.VECTOR:
            return self._performed(write, new, facts)
        if self._in_queue_order(write, new):
            return None
        if self.judge.is_in_l2(write, facts.base, (facts.base,), new.home.l2):
            return None
        done = self.judge.is_done(write, facts.base)
        return Fault.NOT_WRITTEN_BACK if done else Fault.NOT_PERFORMED

    def _report(
        self, fault: Fault, first: Operation, second: Operation, shadow: Shadow, unit: int, *,
        writes_first: bool = True, reads: bool = False,
    ) -> None:  # fmt: skip
        key = fault, first.site, second.site, writes_first, reads, second.is_same
        if key not in self.races:
            place = shadow.place(unit)
            self.races[key] = Race(fault, first, second, writes_first, reads, place)

    # Cache instructions

    def cache(self, number: int, rule: Cache) -> None:
        """A write-back or an invalidate, as it is issued."""
        wave, effect, judge = self.waves[number], rule.effect, self.judge
        home = wave.home
        wave.clock += 1
        own = judge.with_clocks(wave.facts, [(number, Column.ISSUED, wave.clock)])
        emptied = queued = self._emptied(wave.facts, effect, home)
        if effect.write_back:
            queued = judge.with_fresh(emptied, Mark.QUEUED_BACK, home.cu, own.base)
        if not effect.deferred:
            # A later marker is queued after a write-back, unless that still waits for the L1.
            wave.facts = queued if self.requests_in_order else emptied
        if rule.counted is None:
            return
        item = _Item(
            wave.clock, (), rule.counted.counters, rule.counted.in_order, cache=rule,
            facts=Facts(own.base, queued.fresh),
        )  # fmt: skip
        self._hold(wave, item)

    def _emptied(self, facts: Facts, effect: CacheEffect, home: Home) -> Facts:
        """The facts once the caches are empty that a cache instruction empties."""
        judge = self.judge
        if effect.invalidate:
            mark = Mark.QUEUED_L2 if effect.marker else Mark.L2
            place = home.cu if effect.marker else home.l2
            facts = judge.with_fresh(facts, mark, place, facts.base)
        # The L1 takes nothing in while an invalidate of its CU is queued; the scalar cache does.
        queued = _all_of(judge, judge.fresh_l2(facts, home))
        done = facts.fresh.get((Mark.L2, home.l2))
        for empties, above, at, below in (
            (effect.l1, Mark.L1, Mark.L1_FROM_L2, queued),
            (effect.scalar, Mark.SCALAR, Mark.SCALAR_FROM_L2, done),
        ):
            if empties:
                facts = judge.with_fresh(facts, above, home.cu, facts.base)
                if below is not None:
                    facts = judge.with_fresh(facts, at, home.cu, below)
        return facts

    def drained(self, wave: _Wave, item: _Item) -> None:
        """A marker has left every queue of its CU, and so has all that was queued before it."""
        judge, home, issue = self.judge, wave.home, item.facts
        mates = [each for each in judge.homes if each.cu == home.cu]
        clocks = [
            (each.number, column, issued)
            for each in mates if self.requests_in_order
            for column in VECTOR_COLUMNS
            if (issued := judge.issued_of(each, issue.base.known))
        ]  # fmt: skip
        wave.facts = judge.with_clocks(wave.facts, clocks)
        back = issue.fresh.get((Mark.QUEUED_BACK, home.cu))
        if back is not None:
            base = wave.facts.base
            # Where requests wait for the L1, a marker may be queued before earlier ones.
            drained = {home.cu: back.known} if self.requests_in_order else {}
            done = judge.join_bases(base, Base(back={home.l2: back.known}, drained=drained))
            wave.facts = Facts(done, wave.facts.fresh)
        fresh = issue.fresh.get((Mark.QUEUED_L2, home.cu))
        if fresh is not None:
            wave.facts = judge.with_fresh(wave.facts, Mark.L2, home.l2, fresh)

    # Waits and barriers

    def wait(self, number: int, counts: Iterable[tuple[Counter, int]]) -> None:
        """Until no more are outstanding than that; out of order only none says which are over.

        Of operations that are in order apart, those are over that would be with the others done.
        """
        wave = self.waves[number]
        for counter, count in counts:
            queue = wave.queues.get(counter)
            if not queue:
                continue
            queue[:] = [each for each in queue if not each.is_over]
            if count and not all(each.in_order for each in queue):
                continue
            apart: dict[object, list[_Item]] = {}
            for each in queue:
                apart.setdefault(counter in ORDERED_APART and each.columns, []).append(each)
            for together in apart.values():
                for each in together[: max(len(together) - count, 0)]:
                    self._over(wave, each)
            queue[:] = [each for each in queue if not each.is_over]

    def _over(self, wave: _Wave, item: _Item) -> None:
        item.is_over = True
        judge = self.judge
        for column in COPIES.keys() & item.columns:
            self.on_copied(wave.home.number, COPIES[column])
        own = [(wave.home.number, each, item.clock) for each in item.columns]
        wave.facts = judge.with_clocks(wave.facts, own)
        if item.performed:
            base = wave.facts.base
            done = judge.join_bases(base, Base(performed=frozenset(item.performed)))
            wave.facts = Facts(done, wave.facts.fresh)
        for each in item.messages:
            wave.facts = judge.join(wave.facts, each)
        if item.cache is not None and item.cache.effect.deferred:
            wave.facts = judge.join(wave.facts, Facts(Base(), item.facts.fresh))
        if item.cache is not None and item.cache.effect.marker:
            self.drained(wave, item)

    def barrier(self, numbers: Sequence[int]) -> None:
        """All waves of a work-group have come: each knows the operations issued by the others."""
        for number in numbers:
            self.signal(number, None)
        for number in numbers:
            self.meet(number, None)
        del self.meetings[None]

    def signal(self, number: int, meeting: Hashable) -> None:
        """A wave has come to a meeting, at which it need not wait."""
        judge, wave = self.judge, self.waves[number]
        own = judge.with_clocks(wave.facts, [(number, Column.ISSUED, wave.clock)])
        self.meetings[meeting] = judge.join(self.meetings.get(meeting, NO_FACTS), own)

    def meet(self, number: int, meeting: Hashable) -> None:
        """Let a wave continue after a meeting: it knows the operations of others before that."""
        wave = self.waves[number]
        wave.facts = self.judge.join(wave.facts, self.meetings.get(meeting, NO_FACTS))


def _all_of(judge: Judge, bases: Sequence[Base]) -> Base | None:
    result: Base | None = None
    for each in bases:
        result = each if result is None else judge.join_bases(result, each)
    return result
