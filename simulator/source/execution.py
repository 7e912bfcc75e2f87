"""One execution of a ``scoped`` program: its frame, the consequences of its reads-from, its races.

What the rules of the model say of it is in ``source_model``; why accesses race, in
``source_races``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import product

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Scope
from fencewright.simulator.core.bit_relation import Mask, Relation, image, inverse, mask_of, union
from fencewright.simulator.core.program import Placement
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.source.events import (
    Event,
    Load,
    Skeleton,
    Store,
    scope_instance,
)


class ModelRule(Enum):
    """The rules of the model. One is left out only to see that a test notices."""

    __hash__ = object.__hash__  # At C speed: each member is one object.

    COHERENCE = "coherence"
    """Nothing happens before an event it reads from or overwrites. C++20 [intro.races] 14-18."""
    ATOMICITY = "atomicity"
    """A read-modify-write reads the write just before its own. C++20 [atomics.order] 10."""
    SEQ_CST = "seq_cst"
    """seq_cst operations and fences whose scopes include each other have one order (psc)."""
    NO_THIN_AIR = "no thin air"
    """No value depends on itself: rf and dependences have no cycle. C++20 [atomics.order] 8."""
    RELEASE_ACQUIRE = "release and acquire operations"
    """A release write synchronises with an acquire read of it. C++20 [atomics.order] 2."""
    RELEASE_SEQUENCES = "release sequences"
    """Or of a chain of read-modify-writes that follows it. C++20 [intro.races] 5."""
    FENCES = "fences"
    """A fence releases for the writes after it, acquires for the reads before it. C++20
    [atomics.fences]."""
    BARRIERS = "barriers"
    """Events before a barrier in one thread synchronise with those after it in another."""
    INCLUSIVE_SCOPES = "inclusive scopes"
    """Only operations whose scopes include each other's threads synchronise. LLVM AMDGPUUsage."""
    TRANSITIVITY = "transitivity across scopes"
    """Happens-before chains synchronisations of different scopes (HRF-indirect). AMDGPUUsage."""
    UPDATE_HALVES = "the halves of a read-modify-write"
    """It releases the events before it, not those that it acquires itself, and acquires for those
    after."""
    ADDRESS_SPACES = "address spaces"
    """``spaces`` and ``one_as`` limit the ordered memory. LLVM MMRA; AMDGPUUsage, sync scopes."""
    AVAILABILITY = "availability"
    """av(none) orders without making available or visible. LLVM AMDGPU Memory Model."""
    DATA_RACES = "data races"
    """Conflicting accesses, not ordered, one weak or with a scope too narrow: no meaning."""


AXIOMS = (ModelRule.COHERENCE, ModelRule.ATOMICITY, ModelRule.SEQ_CST, ModelRule.NO_THIN_AIR)
"""The rules that forbid executions; the others define happens-before, and its meaning."""


@dataclass(frozen=True, slots=True)
class SourceModel:
    """The model, or less than it."""

    rules: frozenset[ModelRule] = frozenset(ModelRule)

    def without(self, *rules: ModelRule) -> "SourceModel":
        """The same model less ``rules``."""
        return SourceModel(self.rules - {*rules})


FULL_MODEL = SourceModel()

# The part independent of the values read

SyncEdge = tuple[int, int, Mask]
"""(from, to, the address-space groups that it orders)."""


class Frame:
    """All of a skeleton that does not depend on the values of its reads.

    Address spaces are distinguished, as bits of *groups*, only where an operation does so.
    """

    def __init__(self, skeleton: Skeleton, model: SourceModel):
        events = skeleton.events
        self.skeleton = skeleton
        self.events = events
        self.rules = model.rules
        self.size = len(events)
        self.po = skeleton.po
        self.initial = mask_of(n for n, e in enumerate(events) if e.thread < 0)
        self.locations = tuple(e.location or "" for e in events if e.thread < 0)
        self.here = {
            name: mask_of(n for n, e in enumerate(events) if e.location == name)
            for name in self.locations
        }
        self.reads = tuple(n for n, e in enumerate(events) if e.reads)
        self.read_mask = mask_of(self.reads)
        self.write_mask = mask_of(n for n, e in enumerate(events) if e.writes)
        self.group_count = 1
        self.group: dict[str, int] = dict.fromkeys(self.locations, 0)
        self._group_locations()
        self.orders = [self._orders(event) for event in events]
        self.instances = [self._instance(event, event.scope) for event in events]
        sees = inverse(self.instances)
        self.inclusive = [a & b for a, b in zip(self.instances, sees, strict=True)]
        self.release_fences = self._fences(lambda ordering: ordering.releases)
        self.acquire_fences = self._fences(lambda ordering: ordering.acquires)
        self.po_before = inverse(self.po)
        self.po_elsewhere = [
            row & ~self.here[event.location] if event.location else row
            for event, row in zip(events, self.po, strict=True)
        ]
        self.barrier_edges = self._barrier_edges() if ModelRule.BARRIERS in self.rules else ()
        self.conflicts = self._conflicts() if ModelRule.DATA_RACES in self.rules else ()
        self.seq_cst = mask_of(
            n for n, e in enumerate(events) if e.ordering is Ordering.SEQ_CST and e.thread >= 0
        )
        self.orders_seq_cst = (
            ModelRule.SEQ_CST in self.rules and bool(self.seq_cst) and self.seq_cst.bit_count() > 1
        )
        self.without_availability = ModelRule.AVAILABILITY in self.rules and any(
            e.operation is not None and e.operation.availability is Availability.NONE
            for e in events
        )
        self.sources = [tuple(bits(self._sources(read))) for read in self.reads]
        self._edges: dict[tuple[int, int], tuple[SyncEdge, ...]] = {}
        self.races: dict[tuple[int, int, tuple[Link, ...] | None], Race] = {}

    def _group_locations(self) -> None:
        operations = [event.operation for event in self.events if event.operation is not None]
        limited = any(each.spaces is not None or each.one_as for each in operations)
        if not limited or ModelRule.ADDRESS_SPACES not in self.rules:
            self.spaces: tuple[AddressSpace, ...] = ()
            return
        program = self.skeleton.program
        space_of = {name: program.location(name).space for name in self.locations}
        self.spaces = tuple(sorted({*space_of.values()}))
        self.group_count = max(1, len(self.spaces))
        self.group = {name: self.spaces.index(space) for name, space in space_of.items()}

    def _orders(self, event: Event) -> Mask:
        """The groups of locations that a synchronising operation orders."""
        everything = (1 << self.group_count) - 1
        operation = event.operation
        if operation is None or not self.spaces:
            return everything
        result = everything
        if operation.spaces is not None and AddressSpace.GENERIC not in operation.spaces:
            result = mask_of(i for i, space in enumerate(self.spaces) if space in operation.spaces)
        if operation.one_as and event.location is not None:
            result &= 1 << self.group[event.location]
        return result

    def _placement(self, event: Event) -> Placement:
        return self.skeleton.program.threads[event.thread].placement

    def _instance(self, event: Event, scope: Scope | None) -> Mask:
        """The events of every thread in the scope; a weak access is in its own thread's alone."""
        if event.thread < 0:
            return (1 << self.size) - 1
        chosen = scope or Scope.SINGLETHREAD
        if scope is not None and ModelRule.INCLUSIVE_SCOPES not in self.rules:
            chosen = Scope.SYSTEM
        mine = scope_instance(self._placement(event), event.thread, chosen)
        return mask_of(
            n
            for n, e in enumerate(self.events)
            if e.thread >= 0 and scope_instance(self._placement(e), e.thread, chosen) == mine
        )

    def _fences(self, chosen: Callable[[Ordering], bool]) -> Mask:
        if ModelRule.FENCES not in self.rules:
            return 0
        return mask_of(
            n for n, e in enumerate(self.events) if e.kind is EventKind.FENCE and chosen(e.ordering)
        )

    def _barrier_edges(self) -> tuple[SyncEdge, ...]:
        found: list[SyncEdge] = []
        for arrivals, waits in self.skeleton.barriers:
            for arrival, wait in product(bits(arrivals), bits(waits)):
                if self.events[arrival].thread == self.events[wait].thread:
                    continue
                ordered = self.events[arrival].ordering.releases
                heads = self.po_before[arrival] & self.release_fences | ordered << arrival
                ordered = self.events[wait].ordering.acquires
                tails = self.po[wait] & self.acquire_fences | ordered << wait
                found += self.between(heads, tails, None)
        return tuple(found)

    def edges(self, write: int, read: int) -> tuple[SyncEdge, ...]:
        """The edges that synchronise when ``read`` returns ``write``, or an update in its release
        sequence."""
        known = self._edges.get((write, read))
        if known is None:
            known = self._edges[write, read] = self._edges_of(write, read)
        return known

    def _edges_of(self, write: int, read: int) -> tuple[SyncEdge, ...]:
        writer, reader = self.events[write], self.events[read]
        if writer.thread < 0 or writer.is_weak or reader.is_weak:
            return ()
        operations = ModelRule.RELEASE_ACQUIRE in self.rules
        ordered = operations and writer.ordering.releases
        heads = self.po_before[write] & self.release_fences | ordered << write
        ordered = operations and reader.ordering.acquires
        tails = self.po[read] & self.acquire_fences | ordered << read
        if not heads or not tails:
            return ()
        return tuple(self.between(heads, tails, self.group[writer.location or ""]))

    def between(self, heads: Mask, tails: Mask, flag: int | None) -> Iterator[SyncEdge]:
        """The edges of releases and acquires that communicate through a flag's group."""
        for head in bits(heads):
            for tail in bits(tails & self.inclusive[head]):
                groups = self.carried(head, flag) & self.carried(tail, flag)
                if groups:
                    yield head, tail, groups

    def carried(self, number: int, flag: int | None) -> Mask:
        """The groups that an operation orders through a flag of group ``flag`` (None: a
        barrier)."""
        event, orders = self.events[number], self.orders[number]
        if flag is None or event.kind is not EventKind.FENCE or not self.spaces:
            return orders
        if not orders >> flag & 1:
            return 0
        one_as = event.operation is not None and event.operation.one_as
        return 1 << flag if one_as else orders

    def _conflicts(self) -> tuple[tuple[int, int], ...]:
        """Pairs of accesses that race unless they are ordered."""
        found: list[tuple[int, int]] = []
        for members in self.here.values():
            for a in bits(members & ~self.initial):
                writes = self.events[a].writes
                others = members & ~self.inclusive[a] & -(2 << a)
                found += (
                    (a, b)
                    for b in bits(others)
                    if self.events[a].thread != self.events[b].thread
                    and (writes or self.events[b].writes)
                )
        return tuple(found)

    def _sources(self, read: int) -> Mask:
        """The writes that a read can take: none after it, or overwritten before it, in program
        order."""
        writes = self.here[self.events[read].location or ""] & self.write_mask & ~(1 << read)
        if ModelRule.COHERENCE not in self.rules:
            return writes
        before = self.po_before[read] & writes
        hidden = mask_of(write for write in bits(before) if self.po[write] & before)
        return writes & ~self.po[read] & ~hidden

    # Availability

    def own_reach(self, number: int) -> Mask:
        """The reach of a write available by itself, or of a read visible by itself; 0 if nowhere.

        The result is a scope instance. Source: LLVM AMDGPU Memory Model, "store-available",
        "load-visible", "addrspace(3) Accesses", "volatile Accesses".
        """
        event = self.events[number]
        if self._is_in_lds(event):
            return self._instance(event, Scope.WORKGROUP)
        if not event.is_weak:
            return self.instances[number]
        operation = event.operation
        volatile = isinstance(operation, Load | Store) and operation.volatile
        return self._instance(event, Scope.SYSTEM) if volatile else 0

    def reach(self, number: int) -> Mask:
        """The scope instance in which an operation makes the ordered memory available or visible.

        Source: LLVM SIMemoryLegalizer, SIMemOpInfo: the scope of an LDS access is its work-group.
        """
        event = self.events[number]
        if not self._is_in_lds(event):
            return self.instances[number]
        assert event.scope is not None
        return self._instance(event, event.scope.clamp(Scope.WORKGROUP))

    def _is_in_lds(self, event: Event) -> bool:
        if event.location is None:
            return False
        return self.skeleton.program.location(event.location).space is AddressSpace.LOCAL

    def makes_available(self, group: int) -> Mask:
        """The operations that make earlier writes of a group available."""
        kinds = (EventKind.WRITE, EventKind.UPDATE, EventKind.FENCE, EventKind.ARRIVE)
        return self._making(group, kinds, lambda ordering: ordering.releases)

    def makes_visible(self, group: int) -> Mask:
        """The operations that make available writes of a group visible to later reads."""
        kinds = (EventKind.READ, EventKind.UPDATE, EventKind.FENCE, EventKind.BARRIER)
        return self._making(group, kinds, lambda ordering: ordering.acquires)

    def _making(
        self, group: int, kinds: tuple[EventKind, ...], chosen: Callable[[Ordering], bool]
    ) -> Mask:
        return mask_of(
            n
            for n, e in enumerate(self.events)
            if e.operation is not None
            and e.kind in kinds
            and chosen(e.ordering)
            and e.operation.availability is Availability.FULL
            and self.orders[n] >> group & 1
        )


# One execution


class Execution:
    """A choice of reads-from, with its consequences; ``co`` and ``fr`` once they are chosen.

    ``source`` has for each read the write that it takes, -1 where that is not known yet; ``hb`` is
    one relation for each group of locations. ``newest`` has the sources of reads that are repeated
    for ever, each with the writes that such a read would see in the end if they came later: so they
    do not.
    """

    __slots__ = ("co", "edges", "fr", "frame", "hb", "newest", "seq_cst", "source")

    def __init__(self, frame: Frame, source: list[int]):
        self.frame = frame
        self.source = source
        self.edges = self._edges()
        self.hb = [
            happens_before(frame, self.edges, 1 << group) for group in range(frame.group_count)
        ]
        self.co: Relation = []
        self.fr: Relation = []
        self.seq_cst: list[SeqCst] | None = None
        self.newest: list[tuple[int, Mask]] = []

    def _edges(self) -> list[SyncEdge]:
        frame, source = self.frame, self.source
        found = list(frame.barrier_edges)
        sequences = ModelRule.RELEASE_SEQUENCES in frame.rules
        for read in frame.reads:
            write = source[read]
            passed = 1 << read
            while True:
                found += frame.edges(write, read)
                passed |= 1 << write
                if not sequences or frame.events[write].kind is not EventKind.UPDATE:
                    break
                write = source[write]
                if write < 0 or passed >> write & 1:
                    break
        return found

    def order_writes(self, orders: Iterable[tuple[int, ...]]) -> None:
        """Set coherence order, one sequence of writes for each location."""
        self.co = [0] * self.frame.size
        for order in orders:
            later = 0
            for write in reversed(order):
                self.co[write] = later
                later |= 1 << write
        self.set_from_reads()

    def set_from_reads(self) -> None:
        """Derive from-reads from coherence order."""
        self.fr = [0] * self.frame.size
        for read in self.frame.reads:
            self.fr[read] = self.co[self.source[read]] & ~(1 << read)

    @property
    def rf(self) -> Relation:
        """Reads-from, from the writes."""
        rows = [0] * self.frame.size
        for read in self.frame.reads:
            rows[self.source[read]] |= 1 << read
        return rows


def happens_before(frame: Frame, edges: Iterable[SyncEdge], groups: Mask) -> Relation:
    """Program order and the synchronisation for all of ``groups``, transitively.

    But for a read-modify-write: those that synchronise with it do not happen before those that
    it synchronises with, unless by another path.
    """
    chosen = {(a, b) for a, b, ordered in edges if not groups & ~ordered}
    if ModelRule.TRANSITIVITY in frame.rules:
        return _happens_before(frame, chosen)
    events = frame.events
    scopes = {events[a].scope for a, _ in chosen}
    parts = [
        _happens_before(
            frame, {(a, b) for a, b in chosen if events[a].scope is events[b].scope is scope}
        )
        for scope in scopes
    ]
    return union(frame.po, *parts)


def _happens_before(frame: Frame, edges: set[tuple[int, int]]) -> Relation:
    if ModelRule.UPDATE_HALVES in frame.rules:
        both = {a for a, _ in edges} & {b for _, b in edges}
        updates = [n for n in sorted(both) if frame.events[n].kind is EventKind.UPDATE]
        if updates:
            return _closed_in_halves(frame.po, edges, updates)
    return _closed(frame.po, edges)


def _closed_in_halves(
    order: Relation, edges: Iterable[tuple[int, int]], updates: Iterable[int]
) -> Relation:
    """The closure in which no edge into one of ``updates`` is followed by one that leaves it.

    Edges leave from a half of its own, which ``order`` has where the update itself is.
    """
    size = len(order)
    half_of = {update: size + number for number, update in enumerate(updates)}
    rows = [
        row | sum([1 << half for update, half in half_of.items() if row >> update & 1])
        for row in order
    ]
    rows += [rows[update] for update in half_of]
    closed = _closed(rows, [(half_of.get(a, a), b) for a, b in edges])
    for update, half in half_of.items():
        closed[update] |= closed[half]
    events = (1 << size) - 1
    return [row & events for row in closed[:size]]


def _closed(closed: Relation, edges: Iterable[tuple[int, int]]) -> Relation:
    """The transitive closure of a transitive relation with some edges more."""
    rows = list(closed)
    for source, target in edges:
        if rows[source] >> target & 1:
            continue
        more = rows[target] | 1 << target
        for number, row in enumerate(rows):
            if number == source or row >> source & 1:
                rows[number] = row | more
    return rows


# Its races


@dataclass(frozen=True, slots=True)
class RacingAccess:
    """An access as a place in the program; prints as thread and text, with where it stands."""

    thread: int
    position: int
    text: str
    place: SourceLocation | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.place is None:
            return f"P{self.thread}:{self.position} '{self.text}'"
        return f"P{self.thread} '{self.text}' at {self.place}"


@dataclass(frozen=True, slots=True)
class Race:
    """Two conflicting accesses that nothing orders, and why that is not allowed of them.

    The ``reason`` is no part of which race it is. Of several executions it is that of the least
    ``rank``: that they do not communicate comes first, then what the fewest links lack; and then
    the least text.
    """

    location: str
    first: RacingAccess
    second: RacingAccess
    reason: str = field(compare=False)
    rank: tuple[int, ...] = field(default=(), compare=False)

    @property
    def key(self) -> tuple[tuple[int, ...], str]:
        """The reason with the least key is reported."""
        return (self.rank, self.reason)

    def __str__(self) -> str:
        return f"data race on {self.location}: {self.first} and {self.second}: {self.reason}"


Link = tuple[int, int]
"""A write and a read that returned it, or one that continued its release sequence; or an arrival
at a barrier and a wait there."""


# Its seq_cst order


class SeqCst:
    """The parts of the seq_cst order of an execution, for some groups, before coherence order.

    ``groups``: those that its operations all order, by the happens-before of operations that order
    all of them. An access to another group has only its place in program order: synchronisation
    for these says nothing of it.
    Source: Lahav et al., PLDI 2017, "psc"; kept to inclusive scopes as in Batty et al., POPL 2016;
    OpenCL C 3.0, 3.3.6, which has the happens-before "for those locations".
    """

    def __init__(self, x: Execution, groups: Mask):
        frame = x.frame
        events = frame.events
        self.x = x
        alone = groups.bit_length() - 1 if groups.bit_count() == 1 else None
        self.hb = happens_before(frame, x.edges, groups) if alone is None else x.hb[alone]
        self.here = mask_of(
            n for n, e in enumerate(events) if e.location and groups >> frame.group[e.location] & 1
        )
        self.within = self.here | mask_of(n for n, e in enumerate(events) if not e.location)
        self.involved = mask_of(n for n in bits(frame.seq_cst) if not groups & ~frame.orders[n])
        self.fences = mask_of(n for n in bits(self.involved) if events[n].kind is EventKind.FENCE)
        self.starts = {
            n: 1 << n | (self.hb[n] if self.fences >> n & 1 else 0) for n in bits(self.involved)
        }
        self.fixed = {n: self._fixed(n) for n in self.starts}
        self.rf = x.rf

    def _fixed(self, number: int) -> Mask:
        """The targets of ``number`` by program order and happens-before alone."""
        frame, hb = self.x.frame, self.hb
        through = 0
        for start in bits(self.starts[number]):
            location = frame.events[start].location
            here = frame.here[location] if location else 0
            after = image(frame.po[start] & ~here, hb)
            through |= frame.po[start] | hb[start] & here & self.here
            through |= image(after, frame.po_elsewhere)
        reached = self._ends(through)
        return reached | hb[number] & self.fences if self.fences >> number & 1 else reached

    def _ends(self, through: Mask) -> Mask:
        reached = through & self.involved
        return reached | image(through, self.hb) & self.fences if self.fences else reached

    def order(self) -> Relation:
        """The order with the execution's present coherence order: psc."""
        x, here, fences = self.x, self.here, self.fences
        step = [(a | b) & here for a, b in zip(x.co, x.fr, strict=True)]
        result = [0] * x.frame.size
        for number, fixed in self.fixed.items():
            reached = fixed | self._ends(image(self.starts[number] & here, step))
            if fences >> number & 1:
                before = self.hb[number] & here
                moved = image(before, step)
                seen = moved | image(before | moved, self.rf)
                reached |= image(seen, self.hb) & fences
            reached = reached & self.within if self.within >> number & 1 else 0
            reached |= x.frame.po[number] & self.involved
            result[number] = reached & x.frame.inclusive[number]
        return result
