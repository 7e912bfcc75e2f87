"""The memory model of the ``scoped`` language, as plainly as it can be stated.

This is the definition; ``model`` computes the same outcomes and races with far less work, and
random programs hold the two equal (``enumeration`` tries every candidate). An execution has
events, which are numbers here, and relations between them, which are sets of pairs. Names are
those of herd's ``rc11.cat`` and of LLVM's AMDGPU Memory Model. The sources of the rules are in
``execution.ModelRule``; where those differ, ``model`` says what is taken. Happens-before is one
relation for each address space.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import product

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Scope
from fencewright.simulator.core.pair_relation import (
    Pairs,
    acyclic,
    inverse,
    irreflexive,
    on,
    plus,
    seq,
)
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.source.events import (
    Event,
    Load,
    ScopedProgram,
    Store,
    scope_instance,
)

Instance = frozenset[int]
SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL)
_RELEASING_ONLY = (EventKind.WRITE, EventKind.ARRIVE)
_ACQUIRING_ONLY = (EventKind.READ, EventKind.BARRIER)


class Candidate:
    """An execution but for its coherence order: events in program order, and reads-from.

    The initial writes, of thread -1, come first. ``rf`` has pairs of a write and a read, ``dep``
    of a read and an event that depends on it, ``ends`` of a read and a thread whose end depends on
    it.
    """

    def __init__(
        self,
        program: ScopedProgram,
        events: Sequence[Event],
        rf: Pairs,
        dep: Pairs,
        ends: Pairs,
    ):
        self.program = program
        self.ends = ends
        self.events = events
        self.rf = rf
        self.dep = dep
        self.all = range(len(events))
        self.space = {each.name: each.space for each in program.locations}
        self.initial = self.where(lambda e: e.thread < 0)
        self.reads = self.where(lambda e: e.reads)
        self.writes = self.where(lambda e: e.writes)
        self.updates = self.reads & self.writes
        self.fences = self.where(lambda e: e.kind is EventKind.FENCE)
        self.po = {
            (a, b)
            for a, b in product(self.all, self.all)
            if a < b and b not in self.initial
            if a in self.initial or events[a].thread == events[b].thread
        }
        self.inclusive = {
            (a, b)
            for a, b in product(self.all, self.all)
            if b in self.instance(a, events[a].scope) and a in self.instance(b, events[b].scope)
        }
        self.hb = {space: self.happens_before(self.synchronises_with({space})) for space in SPACES}
        self.present = {*self.space.values()}
        self.hb_of_all = self.happens_before(self.synchronises_with(self.present))

    def where(self, holds: Callable[[Event], bool]) -> set[int]:
        """The events for which ``holds``."""
        return {n for n in self.all if holds(self.events[n])}

    def in_space(self, space: AddressSpace) -> set[int]:
        """The accesses of an address space."""
        return self.where(lambda e: e.location is not None and self.space[e.location] is space)

    def instance(self, number: int, scope: Scope | None) -> Instance:
        """The events in the instance of ``scope`` that an event is in; every initial write is."""
        if scope is None:
            return frozenset()
        threads = self.program.threads
        names = [scope_instance(each.placement, n, scope) for n, each in enumerate(threads)]
        mine = self.events[number].thread
        return frozenset(
            self.where(lambda e: min(e.thread, mine) < 0 or names[e.thread] == names[mine])
        )

    # Synchronisation

    def orders(self, space: AddressSpace, event: Event) -> bool:
        """True if an operation orders ``space`` at all: by its ``spaces``, by its ``one_as``."""
        if (operation := event.operation) is None:
            return False
        if operation.spaces is not None and space not in operation.spaces:
            return False
        return not (operation.one_as and event.location and self.space[event.location] is not space)

    def orders_through(
        self, flag: AddressSpace, spaces: Collection[AddressSpace], event: Event
    ) -> bool:
        """True of an operation that orders all of ``spaces`` through a flag in ``flag``."""
        if not self.orders_all(spaces, event) or event.operation is None:
            return False
        if event.kind is EventKind.FENCE and not self.orders(flag, event):
            return False
        return not event.operation.one_as or all(space is flag for space in spaces)

    def orders_all(self, spaces: Collection[AddressSpace], event: Event) -> bool:
        """True of an operation that orders each of ``spaces``."""
        return all(self.orders(space, event) for space in spaces)

    def synchronises_with(self, spaces: Collection[AddressSpace]) -> Pairs:
        """A release before an acquire whose scopes include each other, through flag or barrier.

        Both order all of ``spaces``.
        """
        fence_before = on(self.all) | seq(on(self.fences), self.po)
        fence_after = on(self.all) | seq(self.po, on(self.fences))
        atomic = on(self.where(lambda e: not e.is_weak))
        release_sequence = on(self.writes) | plus(seq(self.rf, on(self.updates)))
        found: set[tuple[int, int]] = set()
        for flag in SPACES:
            flags = on(self.in_space(flag))
            steps = seq(flags, atomic, release_sequence, self.rf, atomic)
            ordering = self.where(partial(self.orders_through, flag, spaces))
            found |= self.released(ordering, seq(fence_before, steps, fence_after))
        ordering = self.where(partial(self.orders_all, spaces))
        found |= self.released(ordering, seq(fence_before, self.barriers(), fence_after))
        return found & self.inclusive

    def released(self, ordering: set[int], steps: Pairs) -> Pairs:
        """The steps from a release to an acquire, both of ``ordering``."""
        releases = {n for n in ordering if self.events[n].ordering.releases}
        acquires = {n for n in ordering if self.events[n].ordering.acquires}
        return seq(on(releases), steps, on(acquires))

    def barriers(self) -> Pairs:
        """Arrivals with the waits of other threads that they meet: the nth with the nth."""
        return {
            (a, b)
            for a in self.where(lambda e: e.kind is EventKind.ARRIVE)
            for b in self.where(lambda e: e.kind is EventKind.BARRIER)
            if self.events[a].thread != self.events[b].thread
            if self.events[a].scope is self.events[b].scope and (a, b) in self.inclusive
            if self.turn(a) == self.turn(b)
        }

    def turn(self, number: int) -> int:
        """The number of events of its kind and scope that are before one in its thread."""
        me = self.events[number]
        return sum(
            (n, number) in self.po
            for n in self.where(lambda e: e.kind is me.kind and e.scope is me.scope)
        )

    def happens_before(self, sw: Pairs) -> Pairs:
        """po and sw, chained, but never by sw into an update and at once by sw out of it."""
        sws = sw | seq(sw, plus(seq(on({*self.all} - self.updates), sw)))
        before_po = plus(self.po | seq(sws, self.po))
        return sws | before_po | seq(before_po, sws)

    # Axioms

    def no_thin_air(self) -> bool:
        """No value depends on itself. What an update reads and what it writes are two nodes."""
        return acyclic(self.values())

    def values(self) -> Pairs:
        """The sources of a value: the event n reads as n, and does the rest as -1 - n."""
        return {(r, -1 - w) for r, w in self.dep} | {(-1 - w, r) for w, r in self.rf}

    def passes_barriers(self) -> bool:
        """True if all waiters can pass: after all have come or ended, before their next operation.

        Source: PTX ISA, "bar", "exit", and MI300 ISA 4.3, which say the same.
        """
        waits = self.where(lambda e: e.kind is EventKind.BARRIER)
        after = {(w, each) for w, each in self.po if w in waits}
        came = self.barriers() | {(w - 1, w) for w in waits}
        left: Pairs = set()
        decided: Pairs = set()
        for w, thread in product(waits, range(len(self.program.threads))):
            if self.is_member(w, thread) and not any(
                self.events[a].thread == thread for a, b in came if b == w
            ):
                decided |= {(read, -1 - w) for read, n in self.ends if n == thread}
                left |= {(each, w) for each in waits if self.events[each].thread == thread}
        held_up = {(-1 - a, -1 - b) for a, b in after | came | left}
        return acyclic(self.values() | held_up | decided)

    def is_member(self, wait: int, thread: int) -> bool:
        """True if the barrier at which an event waits is one for a thread."""
        event, placements = self.events[wait], [each.placement for each in self.program.threads]
        here, there = (
            scope_instance(placements[n], n, event.scope or Scope.SYSTEM)
            for n in (event.thread, thread)
        )
        return here == there

    def consistent(self, co: Pairs) -> bool:
        """True if coherence, atomicity and the order of seq_cst hold with this coherence order."""
        fr = seq(inverse(self.rf), co) - on(self.all)
        eco = plus(self.rf | co | fr)
        atomicity = irreflexive(seq(fr, co))
        return atomicity and self.coherent(eco) and self.single_order(co | fr, eco)

    def coherent(self, eco: Pairs) -> bool:
        """Nothing happens before an event that it reads from or overwrites."""
        local = [
            seq(on(self.in_space(space)), hb, on(self.in_space(space)))
            for space, hb in self.hb.items()
        ]
        return irreflexive(eco) and all(irreflexive(hb | seq(hb, eco)) for hb in local)

    def single_order(self, written: Pairs, eco: Pairs) -> bool:
        """True if ``psc`` has no cycle: of each space, and of all for operations that order all."""
        orders = [self.psc({space}, hb, written, eco) for space, hb in self.hb.items()]
        of_all = self.psc(self.present, self.hb_of_all, written, eco)
        every = on(
            n
            for n in self.all
            if (operation := self.events[n].operation) is not None
            and not operation.one_as
            and self.orders_all(self.present, self.events[n])
        )
        of_any = {pair for order in (*orders, of_all) for pair in order}
        return all(map(acyclic, (*orders, seq(every, of_any, every))))

    def psc(self, spaces: Collection[AddressSpace], hb: Pairs, written: Pairs, eco: Pairs) -> Pairs:
        """The partial order of the seq_cst operations that order ``spaces``; ``written`` is co and
        fr.

        ``hb`` is that of ``spaces``: an access to another one has only its place in program order.
        """
        accesses = on({n for space in spaces for n in self.in_space(space)})
        chosen = self.where(lambda e: e.ordering is Ordering.SEQ_CST and self.orders_all(spaces, e))
        if not chosen:
            return frozenset()
        sc, fences = on(chosen), on(chosen & self.fences)
        elsewhere = {(a, b) for a, b in self.po if not self.same_location(a, b)}
        here = {(a, b) for a, b in seq(accesses, hb | written) if self.same_location(a, b)}
        scb = self.po | seq(elsewhere, hb, elsewhere) | here
        base = seq(sc | seq(fences, hb), scb, sc | seq(hb, fences))
        of_fences = seq(fences, hb | seq(hb, accesses, eco, hb), fences)
        within = accesses | on(self.where(lambda e: e.location is None))
        ordered = seq(within, base | of_fences, within) | seq(sc, self.po, sc)
        return ordered & self.inclusive

    def same_location(self, a: int, b: int) -> bool:
        """True if two events access one location."""
        return (
            self.events[a].location is not None
            and self.events[a].location == self.events[b].location
        )

    # Races

    def races(self) -> set[frozenset[int]]:
        """Conflicting accesses, weak or with a scope too narrow, that nothing orders."""
        racing: set[frozenset[int]] = set()
        for location in self.space:
            here = self.where(lambda e: e.location == location)
            order = self.location_order(location, here)
            for a, b in product(here - self.initial, here & self.writes):
                apart = self.events[a].thread != self.events[b].thread
                weak = self.events[a].is_weak or self.events[b].is_weak
                if b in self.initial or not apart or not (weak or (a, b) not in self.inclusive):
                    continue
                if not order & {(a, b), (b, a)}:
                    racing.add(frozenset((a, b)))
        return racing

    def location_order(self, location: str, here: set[int]) -> Pairs:
        """Accesses of a location so ordered that the later one cannot miss the earlier.

        Source: LLVM AMDGPU Memory Model, "Location Order", closed transitively.
        """
        space = self.space[location]
        hb, reads = self.hb[space], here & self.reads
        order = set(seq(on(here), self.po, on(here)) | seq(on(reads), hb, on(here)))
        for w in here & self.writes - self.initial:
            available = self.available(w, hb, space)
            seen = {n for z, scope in available for n in scope & self.writes if (z, n) in hb}
            for y in self.visible(reads, hb, space, available):
                seen |= {n for n in reads if n == y or (y, n) in self.po}
            order |= {(w, n) for n in seen & here if (w, n) in hb}
        return plus(order)

    def available(self, w: int, hb: Pairs, space: AddressSpace) -> set[tuple[int, Instance]]:
        """The availability operations on a write, each with the instance that it reaches."""
        making = self.making(space, lambda e: e.ordering.releases and e.kind not in _ACQUIRING_ONLY)
        found = {(w, self.instance(w, self.own_reach(w)))}
        found |= {(x, scope) for x, scope in making if (w, x) in self.po}
        while more := {
            (x, scope)
            for x, scope in making - found
            if w in scope and any((z, x) in hb and x in reached for z, reached in found)
        }:
            found |= more
        return found

    def visible(
        self, reads: set[int], hb: Pairs, space: AddressSpace, available: set[tuple[int, Instance]]
    ) -> set[int]:
        """The visibility operations on the write that is ``available``."""
        making = self.making(space, lambda e: e.ordering.acquires and e.kind not in _RELEASING_ONLY)
        making |= {(y, self.instance(y, self.own_reach(y))) for y in reads}
        found: set[tuple[int, Instance]] = set()
        while (
            more := {
                (y, reached & scope)
                for y, scope in making
                for z, reached in available | found
                if (z, y) in hb and y in reached and z in scope
            }
            - found
        ):
            found |= more
        return {y for y, _ in found}

    def making(
        self, space: AddressSpace, acts: Callable[[Event], bool]
    ) -> set[tuple[int, Instance]]:
        """The operations of which ``acts`` holds and that are not av(none), with their
        instances."""
        found: set[tuple[int, Instance]] = set()
        for n in self.where(lambda e: acts(e) and self.orders(space, e)):
            event, operation = self.events[n], self.events[n].operation
            if operation is None or operation.availability is Availability.NONE:
                continue
            in_lds = event.location and self.space[event.location] is AddressSpace.LOCAL
            wide = event.scope in (Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
            found.add((n, self.instance(n, Scope.WORKGROUP if in_lds and wide else event.scope)))
        return found

    def own_reach(self, number: int) -> Scope | None:
        """The scope at which an access makes itself available or visible; a weak one does not."""
        event = self.events[number]
        if self.space[event.location or ""] is AddressSpace.LOCAL:
            return Scope.WORKGROUP
        if isinstance(event.operation, Load | Store) and event.is_weak:
            return Scope.SYSTEM if event.operation.volatile else None
        return event.scope
