"""Facts that a wave knows: issues, performed writes and write-backs, and fresh caches.

Facts never become false, so that knowing more is a join. A write is at the L2 of its wave when it
has been waited for, or when the queue of its CU has been drained; it is at memory when it goes past
the L2, or when that L2 was written back after it. A cache is fresh of the versions below it when
it was emptied: nothing older can come into it from then on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.race.amd.rules import Access, Column
from fencewright.simulator.race.clocks import NOTHING, Clocks, Knowledge

_COLUMNS = len(Column)
_INDIVIDUAL = 64


@dataclass(frozen=True, slots=True)
class Home:
    """The place of a wave: ``number`` in the launch, its work-group, CU and L2 by their numbers."""

    number: int
    group: int
    cu: int
    l2: int


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An access as one wave has executed it.

    ``clock`` counts the wave's operations. ``facts``: those of the wave at its issue;
    ``carried``: of earlier parts of a chain of atomics, with their own past.
    ``is_same``: it writes what was there already.
    """

    number: int
    home: Home
    clock: int
    access: Access
    site: int
    facts: "Facts"
    carried: "Facts | None" = None
    is_same: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """The operations that were issued and done, also at each write-back of an L2.

    ``drained``: by CU, what it had issued before a write-back that is done. ``performed``: single
    operations that are done, by their numbers.
    """

    known: Knowledge = NOTHING
    back: Mapping[int, Knowledge] = field(default_factory=dict[int, Knowledge])
    drained: Mapping[int, Knowledge] = field(default_factory=dict[int, Knowledge])
    performed: frozenset[int] = frozenset()


class Mark(FastStrEnum):
    """A cache that was emptied, or a cache instruction that is queued at its CU."""

    L1 = "l1"
    L1_FROM_L2 = "l1 from l2"
    L2 = "l2"
    QUEUED_L2 = "queued l2"
    QUEUED_BACK = "queued back"
    SCALAR = "scalar"
    SCALAR_FROM_L2 = "scalar from l2"


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The knowledge of a wave. ``fresh``: by cache and its number, what had been done below it."""

    base: Base
    fresh: Mapping[tuple[Mark, int], Base]


NO_FACTS = Facts(Base(), {})
Key = TypeVar("Key")
Value = TypeVar("Value")


class Judge:
    """Joins facts and draws conclusions from them."""

    def __init__(self, homes: tuple[Home, ...], group_waves: int):
        self.homes = homes
        self.clocks = Clocks(group_waves * _COLUMNS)
        self._bases: dict[tuple[int, int], tuple[Base, Base, Base]] = {}
        self._facts: dict[tuple[int, int], tuple[Facts, Facts, Facts]] = {}

    # Joins

    def join_bases(self, a: Base, b: Base) -> Base:
        """The facts of both together."""
        return _remembered(self._bases, a, b, self._join_bases)

    def _join_bases(self, a: Base, b: Base) -> Base:
        join = self.clocks.join
        known = join(a.known, b.known)
        back = _joined(a.back, b.back, join)
        drained = _joined(a.drained, b.drained, join)
        performed = _newest(a.performed | b.performed)
        if (
            known is a.known
            and back is a.back
            and drained is a.drained
            and performed == a.performed
        ):
            return a
        return Base(known, back, drained, performed)

    def join(self, a: Facts, b: Facts) -> Facts:
        """The facts of both together."""
        return _remembered(self._facts, a, b, self._join)

    def _join(self, a: Facts, b: Facts) -> Facts:
        base = self.join_bases(a.base, b.base)
        fresh = _joined(a.fresh, b.fresh, self.join_bases)
        return a if base is a.base and fresh is a.fresh else Facts(base, fresh)

    def with_clocks(self, facts: Facts, clocks: Sequence[tuple[int, int, int]]) -> Facts:
        """Facts with clocks of waves: the number, the column and the clock of each."""
        base = facts.base
        own = [(wave * _COLUMNS + column, clock) for wave, column, clock in clocks]
        known = self.clocks.with_all(base.known, own)
        return Facts(Base(known, base.back, base.drained, base.performed), facts.fresh)

    def with_fresh(self, facts: Facts, mark: Mark, place: int, below: Base) -> Facts:
        """Facts with one more of a cache."""
        old = facts.fresh.get((mark, place))
        new = below if old is None else self.join_bases(old, below)
        return Facts(facts.base, {**facts.fresh, (mark, place): new})

    def past(self, operation: Operation) -> Facts:
        """The facts at the issue of an operation, with its wave's past."""
        facts = operation.facts
        if operation.carried is not None:
            facts = self.join(facts, operation.carried)
        return self.with_clocks(facts, [(operation.home.number, Column.ISSUED, operation.clock)])

    # Consequences

    def is_issued(self, operation: Operation, known: Knowledge) -> bool:
        """True where an operation is known to have been issued."""
        return self._reaches(known, operation.home.number, Column.ISSUED, operation.clock)

    def issued_of(self, home: Home, known: Knowledge) -> int:
        """The last operation that a wave is known to have issued."""
        return self.clocks.clock_of(known, home.number * _COLUMNS + Column.ISSUED)

    def is_done(self, operation: Operation, base: Base) -> bool:
        """True where an operation is known to have come to its L2, or to LDS."""
        column = operation.access.column
        done = self._reaches(base.known, operation.home.number, column, operation.clock)
        return done or operation.number in base.performed

    def _reaches(self, known: Knowledge, wave: int, column: int, clock: int) -> bool:
        return self.clocks.knows(known, wave * _COLUMNS + column, clock)

    def is_at_memory(self, operation: Operation, base: Base) -> bool:
        """True where a write is known to be in memory."""
        if operation.access.past_l2 and self.is_done(operation, base):
            return True
        home = operation.home
        back, drained = base.back.get(home.l2), base.drained.get(home.cu)
        column = operation.access.column
        if back is not None and self._reaches(back, home.number, column, operation.clock):
            return True
        return drained is not None and self.is_issued(operation, drained)

    def is_in_l2(self, operation: Operation, base: Base, fresh: tuple[Base, ...], l2: int) -> bool:
        """True where an L2 has nothing older than a write: it is there, or at memory since."""
        if operation.home.l2 == l2 and self.is_done(operation, base):
            return True
        return any(self.is_at_memory(operation, each) for each in fresh)

    def fresh_l2(self, facts: Facts, home: Home) -> tuple[Base, ...]:
        """The writes at memory when the L2 was emptied, those that its CU queued itself among
        them."""
        keys = ((Mark.L2, home.l2), (Mark.QUEUED_L2, home.cu))
        return tuple(facts.fresh[each] for each in keys if each in facts.fresh)

    def is_below(
        self, operation: Operation, facts: Facts, home: Home, above: Mark, at: Mark
    ) -> bool:
        """True where a cache was emptied when the L2 had nothing older than a write."""
        emptied = facts.fresh.get((above, home.cu))
        if emptied is None:
            return False
        l2 = facts.fresh.get((at, home.cu))
        return self.is_in_l2(operation, emptied, () if l2 is None else (l2,), home.l2)


def _newest(numbers: frozenset[int]) -> frozenset[int]:
    if len(numbers) <= _INDIVIDUAL:
        return numbers
    return frozenset(sorted(numbers)[-_INDIVIDUAL:])


def _joined(
    a: Mapping[Key, Value], b: Mapping[Key, Value], join: Callable[[Value, Value], Value]
) -> Mapping[Key, Value]:
    if a is b or not b:
        return a
    if not a:
        return b
    changed: dict[Key, Value] = {}
    for key, value in b.items():
        mine = a.get(key)
        new = value if mine is None else join(mine, value)
        if new is not mine:
            changed[key] = new
    return {**a, **changed} if changed else a


_REMEMBERED = 1 << 12
Joined = TypeVar("Joined")


def _remembered(
    memory: dict[tuple[int, int], tuple[Joined, Joined, Joined]],
    a: Joined,
    b: Joined,
    join: Callable[[Joined, Joined], Joined],
) -> Joined:
    if a is b:
        return a
    key = id(a), id(b)
    # Both stay alive with the entry, so that their identities stay theirs.
    if (entry := memory.get(key)) is not None:
        return entry[2]
    if len(memory) > _REMEMBERED:
        memory.clear()
    result = join(a, b)
    memory[key] = a, b, result
    return result
