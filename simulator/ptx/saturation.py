"""Coherence and Fence-SC order of an execution, as far as the axioms force them, and the open rest.

Where ``model`` tries every order, these answer the one question that is asked of orders: with
which values a location can end. What is forced is added until nothing more is (*saturation*); a
contradiction means that there is no order at all. It presumes all the axioms. A read whose
source is not known yet takes no part, so that partial executions can be judged as well: a whole one
forces all that its parts do.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering
from fencewright.simulator.core.bit_relation import Mask, Relation, image, inverse, mask_of
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.ptx.events import PtxSkeleton
from fencewright.simulator.ptx.model import (
    LOCATION_AXIOMS,
    PtxExecution,
    PtxFrame,
    Version,
    close,
    fence_sc,
    mbarrier_order,
    synchronizes,
)


class Place(NamedTuple):
    """The events of one location; ``reads`` are those that have a source.

    ``newest`` has the sources of reads that are repeated for ever, each with the writes that such
    a read would see in the end if they came later: so they do not.
    """

    initial: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    updates: tuple[tuple[int, int], ...]
    newest: tuple[tuple[int, Mask], ...] = ()


def places_of(skeleton: PtxSkeleton) -> list[Place]:
    """The events of each location, in order of their names, with all its reads."""
    events = skeleton.events
    found: list[Place] = []
    for name in skeleton.locations:
        writes = tuple(n for n in skeleton.writes if events[n].location == name)
        reads = tuple(n for n in skeleton.reads if events[n].location == name)
        updates = tuple((read, write) for read in reads for write in bits(skeleton.rmw[read]))
        found.append(Place(writes[0], reads, writes, updates))
    return found


def with_sources(place: Place, resolved: Mask) -> Place:
    """A location with those of its reads that have a source."""
    reads = tuple(n for n in place.reads if resolved >> n & 1)
    if len(reads) == len(place.reads):
        return place
    updates = tuple(each for each in place.updates if resolved >> each[0] & 1)
    return Place(place.initial, reads, place.writes, updates)


def least_order(x: PtxExecution, place: Place) -> Relation:
    """The order of the writes of a location before any further constraint."""
    frame = x.frame
    writes = mask_of(place.writes)
    co = [0] * frame.size
    for write in place.writes:
        co[write] = (x.cause[write] | frame.po_loc[write] & frame.ms[write]) & writes
    co[place.initial] = writes & ~(1 << place.initial)
    for newest, seen in place.newest:
        for write in bits(seen & frame.ms[newest]):
            co[write] |= 1 << newest
    return co


def saturated(x: PtxExecution, place: Place, co: Relation) -> Relation | None:
    """All that every coherence order with ``co`` has, which is changed; None if there is none.

    Of two morally strong writes one is before the other, so that either what the axioms forbid of
    the one direction or what they ask for is the other.
    """
    frame, cause, source = x.frame, x.cause, x.rf_inverse
    ms, po_loc = frame.ms, frame.po_loc
    reads, writes = place.reads, place.writes
    every = mask_of(writes)
    if frame.model.version is Version.V7_5 and any(cause[n] >> n & 1 for n in reads):
        return None
    if any(cause[n] >> source[n] & 1 for n in reads):
        return None
    members = (*writes, *reads)
    observed = {w: x.rf[w] & ms[w] | po_loc[w] for w in writes}
    while True:
        close(co, writes)
        if any(co[newest] & seen for newest, seen in place.newest):
            return None
        order = [0] * frame.size
        for write in writes:
            if co[write] >> write & 1:
                return None
            order[write] = observed[write] | co[write] & ms[write]
        for read in reads:
            order[read] = co[source[read]] & ms[read] | po_loc[read]
        close(order, members)
        if any(order[n] >> n & 1 for n in members):
            return None
        forced = [0] * frame.size
        for write in writes:
            forced[write] = order[write] & ms[write] & every
        for read in reads:
            taken = source[read]
            for write in writes:
                if write == taken or not (
                    cause[write] >> read & 1 or order[write] & ms[write] & 1 << read
                ):
                    continue
                if co[taken] >> write & 1:
                    return None
                if ms[write] >> taken & 1:
                    forced[write] |= 1 << taken
        for read, update in place.updates:
            taken = source[read]
            for other in bits(ms[read] & ms[update] & every & ~(1 << taken)):
                if co[taken] >> other & 1:
                    forced[update] |= 1 << other
                elif co[other] >> update & 1 and ms[other] >> taken & 1:
                    forced[other] |= 1 << taken
        changed = False
        for write in writes:
            if forced[write] & ~co[write]:
                co[write] |= forced[write]
                changed = True
        if not changed:
            return co


def is_allowed(x: PtxExecution, place: Place, co: Relation) -> bool:
    """True if the axioms hold at a location with a whole coherence order, and memory is fair."""
    if any(co[newest] & seen for newest, seen in place.newest):
        return False
    x.order_writes(co, place.reads)
    return not any(axiom(x, place.reads, place.writes) for axiom in LOCATION_AXIOMS.values())


def completions(x: PtxExecution, place: Place, co: Relation) -> Iterator[Relation]:
    """Coherence orders with the saturated ``co`` that the axioms allow; one, if there is any."""
    ms, writes = x.frame.ms, place.writes
    undecided = [
        (a, b)
        for i, a in enumerate(writes)
        for b in writes[:i]
        if ms[a] >> b & 1 and not (co[a] >> b & 1 or co[b] >> a & 1)
    ]
    if not undecided:
        if is_allowed(x, place, co):
            yield co
        return
    whole = _in_a_row(co, writes, ms)
    if is_allowed(x, place, whole):
        yield whole
        return
    if not x.frame.work.take():
        return
    for first, second in (undecided[0], undecided[0][::-1]):
        tried = list(co)
        tried[first] |= 1 << second
        more = saturated(x, place, tried)
        found = None if more is None else next(completions(x, place, more), None)
        if found is not None:
            yield found
            return


def _in_a_row(co: Relation, writes: tuple[int, ...], ms: Relation) -> Relation:
    """``co`` with all morally strong pairs as in one order of all writes that it allows."""
    left, whole = mask_of(writes), list(co)
    earlier: list[int] = []
    while left:
        following = next(
            w for w in bits(left) if not any(co[other] >> w & 1 for other in bits(left))
        )
        for before in earlier:
            whole[before] |= ms[before] & 1 << following
        earlier.append(following)
        left &= ~(1 << following)
    return close(whole, writes)


def last_writes(x: PtxExecution, place: Place, co: Relation) -> Mask:
    """The writes that a location can end with, after the saturated ``co``."""
    if not place.reads and x.frame.is_plain:
        # Nobody reads: each write that nothing has to follow may be the last.
        return mask_of(w for w in place.writes if not co[w])
    found = 0
    for last in place.writes:
        if not (co[last] or found >> last & 1):
            for whole in ending_with(x, place, co, last):
                found |= mask_of(w for w in place.writes if not whole[w])
    return found


def ending_with(x: PtxExecution, place: Place, co: Relation, last: int) -> Iterator[Relation]:
    """Coherence orders with the saturated ``co`` that end with a write; one, if there is any."""
    asked = list(co)
    for other in bits(x.frame.ms[last] & mask_of(place.writes)):
        asked[other] |= 1 << last
    more = saturated(x, place, asked)
    if more is not None and not more[last]:
        yield from completions(x, place, more)


class Part:
    """The common part of executions of the same events, with the forced order at their locations.

    Coherence order at a location depends on its sources and on causality between its events alone,
    which are often the same. ``rounds`` are the events of the last round of each thread that waits
    for ever.
    """

    def __init__(self, frame: PtxFrame, rounds: tuple[Mask, ...] = ()):
        self.frame = frame
        self.rounds = rounds
        self.names = frame.skeleton.locations
        self.places = places_of(frame.skeleton)
        self.fences = fences = [
            n
            for n, e in enumerate(frame.skeleton.events)
            if e.kind is EventKind.FENCE and e.ordering is Ordering.SEQ_CST
        ]
        self.fence_pairs = [
            (a, b) for i, b in enumerate(fences) for a in fences[:i] if frame.ms[a] >> b & 1
        ]
        self._orders: dict[object, Relation | None] = {}
        self._lasts: dict[object, Mask] = {}

    def fair(self, x: PtxExecution, place: Place) -> Place:
        """A location with the requirements of fairness on the reads that are repeated for ever.

        Coherence, from-reads and Fence-SC have finite pasts: of what one round cannot miss another
        cannot come before infinitely many. Source: Lahav et al., "Making weak memory models fair"
        (OOPSLA 2021).
        """
        if not self.rounds:
            return place
        found: set[tuple[int, Mask]] = set()
        for round_ in self.rounds:
            released = self.released(x, round_, place)
            for read in place.reads:
                if round_ >> read & 1:
                    newest = x.rf_inverse[read]
                    found.add((newest, self.promised(read, place) | released & ~(1 << newest)))
        return place._replace(newest=tuple(sorted(found)))

    def promised(self, read: int, place: Place) -> Mask:
        """The writes that a repeated read sees in the end, unless later ones."""
        return self.frame.ms[read] & mask_of(place.writes)

    def released(self, x: PtxExecution, round_: Mask, place: Place) -> Mask:
        """The writes before a ``fence.sc`` that comes before one of the round in the end."""
        own = mask_of(f for f in self.fences if round_ >> f & 1)
        if not own:
            return 0
        met = own | image(own, self.frame.ms) & mask_of(self.fences)
        return mask_of(w for w in place.writes if (self.frame.po[w] | x.base[w]) & met)

    def order(self, x: PtxExecution, number: int, place: Place) -> Relation | None:
        """The part of every coherence order at the location of this number; None if there is none.

        ``place`` is its place, with those of its reads that have a source.
        """
        key = self._key(x, number, place)
        if key not in self._orders:
            self._orders[key] = saturated(x, place, least_order(x, place))
        return self._orders[key]

    def lasts(self, x: PtxExecution, number: int) -> Mask:
        """The writes that the location of this number can end with; none if nothing is allowed."""
        place = self.fair(x, self.places[number])
        key = self._key(x, number, place)
        if key not in self._lasts:
            co = self.order(x, number, place)
            self._lasts[key] = 0 if co is None else last_writes(x, place, co)
        return self._lasts[key]

    def _key(self, x: PtxExecution, number: int, place: Place) -> object:
        here = self.frame.of_location[self.names[number]]
        source, cause = x.rf_inverse, x.cause
        return (
            number,
            tuple([(read, source[read], cause[read] & here) for read in place.reads]),
            tuple([cause[write] & here for write in place.writes]),
            place.newest,
        )


class FinalMemories:
    """The final values of all locations under any Fence-SC order: ``known`` is added to."""

    def __init__(
        self, part: Part, x: PtxExecution, values: tuple[int, ...], known: set[tuple[int, ...]]
    ):
        self.part = part
        self.x = x
        self.released = synchronizes(part.frame, x.obs)
        self.values = values
        self.known = known

    def note(self, memories: set[tuple[int, ...]]) -> None:
        """Take notice of memories, which the execution has with the Fence-SC order it has now."""
        self.known |= memories

    def find(self) -> None:
        """Find all that are not known."""
        sc, po = [0] * self.part.frame.size, self.part.frame.po
        for a, b in self.part.fence_pairs:
            if po[a] >> b & 1:
                sc[a] |= 1 << b
            elif po[b] >> a & 1:
                sc[b] |= 1 << a
        self._extend(sc)

    def _possible(self, sc: Relation) -> set[tuple[int, ...]]:
        """The memories with ``sc``, or more than those as long as it is not whole."""
        self.x.order_fences(self.released, sc)
        finals: list[set[int]] = []
        for number in range(len(self.part.places)):
            finals.append({self.values[w] for w in bits(self.part.lasts(self.x, number))})
            if not finals[-1]:
                return set()
        return set(product(*finals))

    def _extend(self, sc: Relation) -> None:
        if not self.part.frame.work.take():
            return
        closed = self._forced(sc)
        if closed is None:
            return
        sc = closed
        possible = self._possible(sc)
        if possible <= self.known:
            return
        undecided = [
            (a, b) for a, b in self.part.fence_pairs if not (sc[a] >> b & 1 or sc[b] >> a & 1)
        ]
        if not undecided:
            self.note(possible)
            return
        whole = self._in_a_row(sc)
        if whole is not None:
            reached = self._possible(whole)
            if not fence_sc(self.x) and not mbarrier_order(self.x):
                self.note(reached)
            if possible <= self.known:
                return
        for first, second in (undecided[0], undecided[0][::-1]):
            tried = list(sc)
            tried[first] |= 1 << second
            self._extend(tried)

    def _in_a_row(self, sc: Relation) -> Relation | None:
        """``sc`` with all pairs as in one order of the fences that causality does not
        contradict."""
        x, frame, fences = self.x, self.part.frame, self.part.fences
        x.order_fences(self.released, sc)
        before = [a | b | c for a, b, c in zip(sc, x.base, frame.po, strict=True)]
        left, whole, earlier = mask_of(fences), list(sc), 0
        while left:
            free = left & ~image(left, before)
            if not free:
                return None
            following = free & -free
            number = following.bit_length() - 1
            for fence in bits(earlier & frame.ms[number]):
                whole[fence] |= following
            earlier |= following
            left &= ~following
        return whole

    def _forced(self, sc: Relation) -> Relation | None:
        """``sc`` with every pair whose other direction would contradict; None if it does itself.

        With q before p there is causality from all that leads to q to all that p leads to. Where
        accesses on both ends read from, or overwrite, each other the other way round, p is before
        q.
        """
        x, part = self.x, self.part
        if not part.fence_pairs:
            x.order_fences(self.released, sc)
            return None if fence_sc(x) or mbarrier_order(x) else sc
        while True:
            x.order_fences(self.released, sc)
            if fence_sc(x) or mbarrier_order(x):
                return None
            contradicted = [0] * part.frame.size
            for number, place in enumerate(part.places):
                co = part.order(x, number, part.fair(x, place))
                if co is None:
                    return None
                for read in place.reads:
                    source = x.rf_inverse[read]
                    contradicted[read] |= 1 << source
                    for later in bits(co[source]):
                        contradicted[later] |= 1 << read
            more = self._with_forced(sc, contradicted)
            if more == sc:
                return sc
            sc = more

    def _with_forced(self, sc: Relation, contradicted: Relation) -> Relation:
        """``sc`` with the pairs that avoid causality where it is ``contradicted``."""
        part = self.part
        causes = [a | b for a, b in zip(self.x.base, part.frame.po, strict=True)]
        before = inverse(causes)
        is_plain = part.frame.is_plain
        ends = {f: image(before[f], contradicted) if is_plain else 0 for f in part.fences}
        more = list(sc)
        for a, b in part.fence_pairs:
            for p, q in ((a, b), (b, a)):
                if self.x.base[p] >> q & 1 or ends[q] & causes[p]:
                    more[p] |= 1 << q
        return more
