"""Memory operations of a wave that may be outstanding, and the wait that completes one.

A wave counts its outstanding operations in vmcnt and lgkmcnt, on gfx1250 loads, stores, LDS and
scalar loads each apart; ``s_waitcnt vmcnt(N)`` holds it until at most N are left. Operations of an
*ordered* kind retire in the order of their issue, so if the operation that is waited for had not
retired, neither had the younger ones of its kind: once no more are outstanding than there are
younger ones, it is done.
That is the greatest safe N, and it rests on never counting too many younger ones:

* where paths join, the fewest on any path count;
* an instruction that *may* count (``instructions.CACHE_COUNTS``: ``buffer_inv``) is
  not among the younger ones, for were it not counted, N would be one too great. It may be
  outstanding all the same, so only 0 waits for it, and it never makes a wait redundant;
* next to an unordered kind (flat may be LDS or memory; scalar loads overtake each other),
  or where two ordered kinds share a counter, only 0 is safe and nothing retires before 0;
* N stays below the counter's maximum, which stands for "do not wait" in the encoding.

Overwriting a register that a store reads needs no wait: from gfx7 on a vector-memory
instruction has read its registers when the next one issues (LLVM GCNSubtarget,
``vmemWriteNeedsExpWaitcnt`` is false). ``s_endpgm`` needs none either: memory operations
that were issued complete without the wave (MI300 ISA 4.1).
Sources: MI300 ISA 4.4 (wait counters), 10.2.2 (flat); LLVM SIInsertWaitcnts.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter

from fencewright.lowering.cdna.chips import CHIPS, Counter
from fencewright.lowering.cdna.instructions import CACHE_COUNTS, Counts, InstructionRow
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import TableError
from fencewright.lowering.vocabulary import AddressSpace

_TOGETHER = {name: chip.counters for name, chip in CHIPS.items() if not chip.splits_counters}

LIMITS: Mapping[Counter, int] = next(iter(_TOGETHER.values()))
"""The maximum of each counter, the same on every chip that has ``s_waitcnt``."""

if others := [name for name, counters in _TOGETHER.items() if counters != LIMITS]:
    raise TableError(f"scoreboard: counters have one width each, and other ones on {others}")


class CounterEventKind(IntEnum):
    """The kind of an event on a counter, one bit each; see ``ORDERED``."""

    VECTOR = 1
    LDS = 2
    SCALAR = 4
    FLAT = 8
    INVALIDATE = 16
    FROM_LDS = 32


ORDERED: dict[CounterEventKind, bool] = {
    CounterEventKind.VECTOR: True,
    CounterEventKind.LDS: True,
    CounterEventKind.SCALAR: False,
    CounterEventKind.FLAT: False,
    CounterEventKind.INVALIDATE: False,
    CounterEventKind.FROM_LDS: True,
}
"""True for each kind of event that retires in order of issue (MI300 ISA 4.4; flat: 10.2.2; copies
from LDS: LLVM 24 AMDGPUUsage, Memory Model GFX125x, ASYNCcnt)."""


@dataclass(frozen=True, slots=True)
class CounterEvent:
    """The event that an instruction adds to one counter.

    ``certain``: it surely counts. ``awaited``: a wait for everything has to see its end;
    an invalidate is not, because nothing later in the wave passes it.
    """

    counter: Counter
    kind: CounterEventKind
    certain: bool = True
    awaited: bool = True


_VECTOR = CounterEvent(Counter.VMCNT, CounterEventKind.VECTOR)
_LDS = CounterEvent(Counter.LGKMCNT, CounterEventKind.LDS)
_SCALAR = CounterEvent(Counter.LGKMCNT, CounterEventKind.SCALAR)
_FLAT = (
    CounterEvent(Counter.VMCNT, CounterEventKind.FLAT),
    CounterEvent(Counter.LGKMCNT, CounterEventKind.FLAT),
)
_INVALIDATE = CounterEvent(Counter.VMCNT, CounterEventKind.INVALIDATE, certain=False, awaited=False)

_CACHE_EVENTS = {Counts.YES: (_VECTOR,), Counts.MAY: (_INVALIDATE,), Counts.NO: ()}

CACHE_EVENTS: dict[str, tuple[CounterEvent, ...]] = {
    str(mnemonic): _CACHE_EVENTS[row.value] for (mnemonic,), row in CACHE_COUNTS.items()
}
"""Cache maintenance; one that may count is an uncertain event: not among the younger ones."""

SPACE_EVENTS: dict[AddressSpace, tuple[CounterEvent, ...]] = {
    AddressSpace.GENERIC: _FLAT,
    AddressSpace.GLOBAL: (_VECTOR,),
    AddressSpace.PRIVATE: (_VECTOR,),
    AddressSpace.LOCAL: (_LDS,),
    AddressSpace.CONSTANT: (_SCALAR,),
}
"""Loads, stores and atomics by where they go (MI300 ISA 4.4)."""


def events_of(row: InstructionRow) -> tuple[CounterEvent, ...]:
    """The events of one instruction; ``KeyError`` for cache maintenance without a row here."""
    if row.kind is Kind.CACHE:
        return CACHE_EVENTS[row.mnemonic]
    if not row.is_memory or row.space is None:
        return ()
    return SPACE_EVENTS[row.space]


_SPLIT_KINDS: Mapping[Counter, CounterEventKind] = {
    Counter.LOADCNT: CounterEventKind.VECTOR,
    Counter.STORECNT: CounterEventKind.VECTOR,
    Counter.DSCNT: CounterEventKind.LDS,
    Counter.KMCNT: CounterEventKind.SCALAR,
    Counter.ASYNCCNT: CounterEventKind.VECTOR,
    Counter.TENSORCNT: CounterEventKind.VECTOR,
}
"""The counters that an instruction increments, of one kind each; xcnt: translations."""


def split_events_of(row: InstructionRow) -> tuple[CounterEvent, ...]:
    """The events of one instruction where each counter is of one kind of access (gfx1250).

    Flat accesses may finish out of order with either of their counters, scalar loads with each
    other; else completion is in order of issue (LLVM 24 AMDGPUUsage, Memory Model GFX125x).
    """
    kind = CounterEventKind.FLAT if row.space is AddressSpace.GENERIC else None
    if row.kind is Kind.COPY and not row.into_lds:
        kind = CounterEventKind.FROM_LDS
    return tuple(
        CounterEvent(counter, kind or _SPLIT_KINDS[counter])
        for counter in row.counters
        if counter in _SPLIT_KINDS
    )


Token = Hashable
"""Stands for the result of an operation, in any form of the caller: an SSA value, a register."""


class CounterState:
    """The events that may be outstanding on one counter at one place of the program.

    ``stamps``: result -> the clock after its issue, oldest first; ``clock`` minus that is
    the number of certain younger events. ``outstanding`` and ``extra`` bound from above how many
    outstanding events a wait for everything has to cover, and how many it need not.
    ``kinds`` are those that may be outstanding.
    """

    __slots__ = ("clock", "extra", "kinds", "limit", "outstanding", "stamps")

    def __init__(self, limit: int):
        self.limit = limit
        self.clock = 0
        self.stamps: dict[Token, int] = {}
        self.outstanding = 0
        self.extra = 0
        self.kinds = 0

    def copy(self) -> "CounterState":
        """The same state with the clock at zero and ages no greater than a wait can use."""
        made = CounterState.__new__(CounterState)
        made.limit, made.clock, made.stamps = self.limit, 0, {}
        if self.stamps:
            shift, oldest = self.clock, 1 - self.limit
            made.stamps = {t: max(stamp - shift, oldest) for t, stamp in self.stamps.items()}
        made.outstanding, made.extra, made.kinds = self.outstanding, self.extra, self.kinds
        return made

    @property
    def in_order(self) -> bool:
        """True if all outstanding events retire in order of issue."""
        return _IN_ORDER[self.kinds]

    def issue(self, event: CounterEvent, results: Iterable[Token] = ()) -> None:
        """One more event, which delivers ``results``; they need a certain event."""
        if not event.certain:
            self.extra = min(self.extra + 1, self.limit)
            self.kinds |= event.kind
            return
        self.clock += 1
        if self.outstanding < self.limit:
            self.outstanding += 1
        self.kinds |= event.kind
        for result in results:
            self.stamps.pop(result, None)
            self.stamps[result] = self.clock

    def need(self, *tokens: Token) -> int | None:
        """The greatest count that surely delivers all ``tokens``; None: they are here already."""
        newest: int | None = None
        for token in tokens:
            stamp = self.stamps.get(token)
            if stamp is not None and (newest is None or stamp > newest):
                newest = stamp
        if newest is None:
            return None
        if not self.in_order:
            return 0
        return min(self.clock - newest, self.limit - 1)

    def satisfied(self, count: int) -> bool:
        """True if every event that a wait for ``count`` has to cover is surely complete."""
        return (
            self.outstanding == 0 or self.outstanding + self.extra <= count or count >= self.limit
        )

    def wait(self, count: int) -> list[Token]:
        """At most ``count`` are outstanding from here on; which results that delivers."""
        if count == 0:
            delivered = list(self.stamps)
            self.stamps.clear()
            self.outstanding = self.extra = self.kinds = 0
            return delivered
        if count >= self.limit:
            return []
        self.outstanding = min(self.outstanding, count)
        self.extra = min(self.extra, count)
        return self._issued_until(self.clock - count)

    def overflow(self) -> list[Token]:
        """The results complete because the counter has no room for them beside younger ones.

        A wave issues nothing that would take a counter beyond its maximum. Source:
        ROCm/rocm-systems#11202 and #10926 (CDNA3 and CDNA4).
        """
        return self._issued_until(self.clock - self.limit)

    def _issued_until(self, newest: int) -> list[Token]:
        """Take out the operations issued until then, if that is the order in which they retire."""
        if not self.in_order:
            return []
        delivered: list[Token] = []
        for token, stamp in self.stamps.items():
            if stamp > newest:
                break
            delivered.append(token)
        for token in delivered:
            del self.stamps[token]
        return delivered

    def join(self, other: "CounterState") -> bool:
        """Become the join with another state, both with the clock at zero; True if it changes."""
        mine = self.stamps
        newer = {t: s for t, s in other.stamps.items() if t not in mine or mine[t] < s}
        bounds = (self.outstanding, self.extra, self.kinds)
        self.outstanding = max(self.outstanding, other.outstanding)
        self.extra = max(self.extra, other.extra)
        self.kinds |= other.kinds
        if newer:
            merged = {**mine, **newer}
            self.stamps = dict(sorted(merged.items(), key=itemgetter(1)))
        return bool(newer) or bounds != (self.outstanding, self.extra, self.kinds)


def _all_in_order(kinds: int) -> bool:
    outstanding = [
        kind
        for kind in CounterEventKind
        if kind & kinds and kind is not CounterEventKind.INVALIDATE
    ]
    return len(outstanding) <= 1 and all(ORDERED[kind] for kind in outstanding)


# By the union of the kinds. Invalidates are left out: they are never among the younger
# ones, and whenever they retire, they only add to what the counter shows.
_IN_ORDER = tuple(_all_in_order(kinds) for kinds in range(2 * max(CounterEventKind)))


class Scoreboard:
    """The state of every counter of a chip; nothing is outstanding where a kernel begins."""

    __slots__ = ("counters",)

    def __init__(self, limits: Mapping[Counter, int] = LIMITS):
        self.counters: dict[str, CounterState] = {
            counter: CounterState(limit)
            for counter, limit in limits.items()
            if counter is not Counter.XCNT
        }

    def copy(self) -> "Scoreboard":
        """The same state, with its clocks at zero."""
        made = Scoreboard.__new__(Scoreboard)
        made.counters = {counter: state.copy() for counter, state in self.counters.items()}
        return made

    def join(self, other: "Scoreboard") -> bool:
        """Become the join with another state, both fresh from ``copy``; True if it changes."""
        # Every counter is joined, also after one with news.
        news = [state.join(other.counters[c]) for c, state in self.counters.items()]
        return any(news)

    def issue(self, events: Iterable[CounterEvent], results: Iterable[Token] = ()) -> None:
        """Issue one instruction."""
        for event in events:
            self.counters[event.counter].issue(event, results)
