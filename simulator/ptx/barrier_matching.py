"""Barrier operations of an execution that meet: every way in which they can.

An mbarrier is a small machine: its counts, and the operations on it in some order. What matters of
the order is in which phase each operation is, and which one completes the phase.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.core.bit_relation import (
    Mask,
    Relation,
    inverse,
    is_acyclic,
    mask_of,
    transitive_closure,
)
from fencewright.simulator.core.program import Placement
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.ptx.instructions import BarrierRole, PtxProgram
from fencewright.simulator.ptx.paths import Pair, PtxEvent, Rendezvous, Update


@dataclass(frozen=True, slots=True)
class Meeting:
    """Barrier operations of one completed phase: every arrival is before every wait."""

    arrivals: tuple[int, ...]
    waits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Met:
    """One combination of meetings; ``ordered`` are the operations on an mbarrier as its counts need
    them: none of a pair comes after the other. ``left`` are waits at a barrier without a count,
    each with a thread that has ended and does not come.
    """

    meetings: tuple[Meeting, ...] = ()
    ordered: tuple[Pair, ...] = ()
    left: tuple[Pair, ...] = ()


def all_met(
    program: PtxProgram,
    events: list[PtxEvent],
    order: Relation,
    blocked: set[int],
    waiting: Collection[int] = (),
    repeated: Mask = 0,
) -> Iterator[Met]:
    """Every combination of meetings of the barrier operations of an execution.

    ``order`` is what is known of the order of events, ``blocked`` those that never complete,
    ``waiting`` the threads that wait for ever, there or in a loop, ``repeated`` what is done over
    and over, so that in the end it finds an mbarrier as all others leave it.
    """
    objects: dict[object, list[int]] = {}
    for number, event in enumerate(events):
        if event.rendezvous is not None:
            place = _place(event.rendezvous, program.threads[event.thread].placement)
            objects.setdefault((event.rendezvous, place), []).append(number)
    choices: list[list[Met]] = []
    closed: Relation = []
    for members in objects.values():
        rendezvous = events[members[0]].rendezvous
        if rendezvous is None or rendezvous.count is None:
            left = [*_without(program, events, members)]
            if {n for t, n in left if t in waiting} != blocked.intersection(members):
                return
            ended = tuple((t, n) for t, n in left if n not in blocked)
            meetings = (*_everyone_who_comes(events, members, blocked),)
            choices.append([Met(meetings, left=ended)])
        elif rendezvous.mbarrier:
            closed = closed or transitive_closure(order)
            machine = _Mbarrier(events, members, rendezvous.count, closed, blocked, repeated)
            choices.append(list(machine.all_met()))
        else:
            choices.append(
                [Met(each) for each in _counted(events, members, rendezvous.count, blocked)]
            )
    counted = [bool(r.rendezvous and r.rendezvous.count is not None) for r in events]
    for choice in product(*choices):
        meetings = tuple(meeting for each in choice for meeting in each.meetings)
        ordered = tuple(pair for each in choice for pair in each.ordered)
        left = tuple(pair for each in choice for pair in each.left)
        if not any(counted) or _is_possible(meetings, ordered, order, counted):
            yield Met(meetings, ordered, left)


def _place(rendezvous: Rendezvous, placement: Placement) -> object:
    """The place in which an object is shared; None for an mbarrier, which all can reach."""
    if rendezvous.mbarrier:
        return None
    return shared_place(rendezvous.name, placement)


def shared_place(name: str, placement: Placement) -> object:
    """The CTA or the cluster that shares the barrier of a thread."""
    return placement.instance(Scope.CLUSTER if name == "barrier.cluster" else Scope.WORKGROUP)


def _without(program: PtxProgram, events: list[PtxEvent], members: list[int]) -> Iterator[Pair]:
    """The threads that do not come to a barrier without a count, each with a wait of that phase.

    All threads of the CTA, or of the cluster, take part but those that have ended. Source: PTX ISA,
    "bar", "barrier.cluster".
    """
    first = events[members[0]]
    name = first.rendezvous.name if first.rendezvous is not None else ""
    here = shared_place(name, program.threads[first.thread].placement)
    came = Counter(events[n].thread for n, _ in _arrivals(events, members))
    for thread, each in enumerate(program.threads):
        if shared_place(name, each.placement) == here:
            for wait, turn in _waits(events, members):
                if came[thread] <= turn:
                    yield thread, wait


def waits_hold_up(
    events: Sequence[PtxEvent],
    po: Relation,
    dependences: Relation,
    met: Met,
    decided_by: Mapping[int, Mask],
) -> Relation:
    """The order that waits of threads enforce; beyond ``dependences``.

    Nothing that comes after a wait happens before it has passed. It passes after the arrivals that
    it meets: where these wait themselves, after what brought them there. A thread that does not
    come has ended by then, after its own waits and the reads, ``decided_by``, that decide so: as
    threads exit, the barriers that they were holding up are released. That orders no memory.
    Source: PTX ISA, "bar", "exit".
    """
    after = [0] * len(events)
    waits = mask_of(n for each in met.meetings for n in each.waits)
    for wait in bits(waits):
        after[wait] |= po[wait]
    if not waits:
        return after
    causes, earlier = inverse(dependences), inverse(po)
    for meeting in met.meetings:
        passes = mask_of(meeting.waits)
        for arrival in meeting.arrivals:
            alone = not passes >> arrival & 1
            brought = 1 << arrival if alone else causes[arrival] | earlier[arrival] & waits
            for each in bits(brought):
                after[each] |= passes
    for thread, wait in met.left:
        own = mask_of(n for n in bits(waits) if events[n].thread == thread)
        for each in bits(own | decided_by[thread]):
            after[each] |= 1 << wait
    return after


def _arrivals(events: list[PtxEvent], members: list[int]) -> Iterator[tuple[int, int]]:
    """The arrivals at a barrier of everyone, each with the number of its phase."""
    turns = Counter[int]()
    for number in members:
        if events[number].role is not BarrierRole.WAIT:
            yield number, turns[events[number].thread]
            turns[events[number].thread] += 1


def _waits(events: list[PtxEvent], members: list[int]) -> Iterator[tuple[int, int]]:
    """The waits at a barrier of everyone, each with the phase: its own, or the next not waited
    for."""
    yield from (each for each in _arrivals(events, members) if _is_sync(events[each[0]]))
    turns = Counter[int]()
    for number in members:
        if events[number].role is BarrierRole.WAIT:
            yield number, turns[events[number].thread]
            turns[events[number].thread] += 1


def _is_sync(event: PtxEvent) -> bool:
    return event.role is BarrierRole.SYNC


def _everyone_who_comes(
    events: list[PtxEvent], members: list[int], blocked: set[int]
) -> Iterator[Meeting]:
    arrivals: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    for number, turn in _arrivals(events, members):
        arrivals.setdefault(turn, []).append(number)
    for number, turn in _waits(events, members):
        if number not in blocked:
            waits.setdefault(turn, []).append(number)
    for turn in sorted(arrivals):
        yield Meeting(tuple(arrivals[turn]), tuple(waits.get(turn, ())))


def _counted(
    events: list[PtxEvent], members: list[int], count: int, blocked: set[int]
) -> Iterator[tuple[Meeting, ...]]:
    """Partitions into phases of ``count`` arrivals each; those that are left must be too few for
    one.

    A thread that does not wait may arrive several times in a phase: what is counted is arrivals.
    Source: PTX ISA, "bar": "the arrival count is incremented by the warp size".
    """
    queues: dict[int, list[int]] = {}
    for number in members:
        queues.setdefault(events[number].thread, []).append(number)
    seen: set[frozenset[Meeting]] = set()

    def extend(
        positions: dict[int, int], done: tuple[Meeting, ...]
    ) -> Iterator[tuple[Meeting, ...]]:
        coming = [
            _up_to_a_wait(events, queue[positions[thread] :]) for thread, queue in queues.items()
        ]
        if sum(map(len, coming)) < count:
            last = [each[-1] for each in coming if each]
            waiting = [n for n in last if events[n].role is BarrierRole.SYNC and n not in blocked]
            key = frozenset(done)
            if not waiting and key not in seen:
                seen.add(key)
                yield done
            return
        free = [[n for n in each if n not in blocked] for each in coming]
        for numbers in product(*(range(len(each) + 1) for each in free)):
            if sum(numbers) != count:
                continue
            group = tuple(n for each, k in zip(free, numbers, strict=True) for n in each[:k])
            waits = tuple(n for n in group if events[n].role is BarrierRole.SYNC)
            after = dict(positions)
            for number in group:
                after[events[number].thread] += 1
            yield from extend(after, (*done, Meeting(group, waits)))

    yield from extend(dict.fromkeys(queues, 0), ())


def _up_to_a_wait(events: list[PtxEvent], queue: list[int]) -> list[int]:
    """The next arrivals of a thread, as far as it comes without waiting."""
    wait = next((i for i, n in enumerate(queue) if events[n].role is BarrierRole.SYNC), len(queue))
    return queue[: wait + 1]


class Counts(NamedTuple):
    """The contents of an mbarrier. Source: PTX ISA, "Contents of the mbarrier object"."""

    phase: int
    pending: int
    expected: int
    bytes: int

    def after(self, update: Update) -> "Counts | None":
        """The contents after an operation, which may complete the phase; None for inval.

        Source: PTX ISA, "Phase Completion of the mbarrier object".
        """
        if update.initialised is not None:
            count = update.initialised
            return Counts(0, count, count, 0) if count else None
        expected = self.expected - update.dropped
        pending, left = self.pending - update.arrivals, self.bytes + update.bytes
        if pending or left:
            return Counts(self.phase, pending, expected, left)
        return Counts(self.phase + 1, expected, expected, 0)

    def is_complete(self, event: PtxEvent) -> bool:
        """True if the phase that a wait asks for is complete."""
        asked = event.phase or 0
        return self.phase % 2 != asked if event.by_parity else self.phase > asked


class _Mbarrier:
    """The operations on one mbarrier, in every order that ``order`` leaves them."""

    def __init__(
        self,
        events: list[PtxEvent],
        members: list[int],
        count: int,
        order: Relation,
        blocked: set[int],
        repeated: Mask,
    ):
        self.events = events
        self.repeated = [n for n in members if repeated >> n & 1]
        self.stuck = [n for n in members if n in blocked]
        self.members = [n for n in members if n not in blocked]
        self.initial = Counts(0, count, count, 0) if count else None
        self.before = {
            n: sum(1 << i for i, m in enumerate(self.members) if order[m] >> n & 1)
            for n in self.members
        }

    def all_met(self) -> Iterator[Met]:
        """Each assignment of the operations to phases, with the operations that complete each of
        these."""
        every = (1 << len(self.members)) - 1
        stack: list[tuple[Mask, Counts | None, tuple[tuple[int, int], ...], tuple[int, ...]]]
        stack = [(0, self.initial, (), ())]
        seen: set[object] = set()
        while stack:
            taken, counts, phases, completing = stack.pop()
            key = (taken, frozenset(phases), completing)
            if key in seen:
                continue
            seen.add(key)
            if taken == every:
                if self._may_stay(counts):
                    yield self._met(dict(phases), completing)
                continue
            for i, number in enumerate(self.members):
                if taken >> i & 1 or self.before[number] & ~taken:
                    continue
                after = self._step(number, counts)
                if after is None:
                    continue
                (left,) = after
                era = len(completing)
                completes = left is None or counts is None or left.phase != counts.phase
                update = self.events[number].update
                ends = completing
                if update is not None and (completes or update.initialised is not None):
                    ends = (*completing, number)
                stack.append((taken | 1 << i, left, (*phases, (number, era)), ends))

    def _may_stay(self, counts: Counts | None) -> bool:
        """True if events that wait for ever, or look repeatedly, find a state that keeps them."""
        if any(counts and counts.is_complete(self.events[n]) for n in self.stuck):
            return False
        return all(self._step(n, counts) is not None for n in self.repeated)

    def _step(self, number: int, counts: Counts | None) -> "tuple[Counts | None] | None":
        """The contents after an operation; None if it cannot come now."""
        event = self.events[number]
        update = event.update
        if update is not None and update.initialised is not None:
            return ((update.initialised and Counts(0, 0, 0, 0).after(update)) or None,)
        if counts is None:
            return None
        if update is None:
            return (counts,) if counts.is_complete(event) is event.passes else None
        if event.parity is not None and counts.phase % 2 != event.parity:
            return None
        return (counts.after(update),)

    def _met(self, eras: dict[int, int], completing: tuple[int, ...]) -> Met:
        """The meetings of arrivals and waits; an era ends with a completed phase, init or inval."""
        waits = [n for n in self.members if self.events[n].update is None and self.events[n].passes]
        arrivals = [n for n in self.members if self._arrives(n)]
        meetings = [
            Meeting(
                tuple(n for n in arrivals if eras[n] == era),
                tuple(n for n in waits if eras[n] > era),
            )
            for era in range(len(completing))
        ]
        ordered = [
            (one, other)
            for one, other in product(eras, repeat=2)
            if eras[one] < eras[other] or (eras[one] == eras[other] and other in completing)
            if one != other
        ]
        return Met((*(m for m in meetings if m.arrivals),), (*ordered,))

    def _arrives(self, number: int) -> bool:
        """True if an operation can be observed: one that takes from a count."""
        event = self.events[number]
        return event.kind is EventKind.ARRIVE


def _is_possible(
    meetings: tuple[Meeting, ...],
    ordered: tuple[Pair, ...],
    order: Relation,
    counted: list[bool],
) -> bool:
    """True if no thread waits for an arrival that only comes after the wait."""
    representative = list(range(len(order)))
    for meeting in meetings:
        both = [n for n in meeting.arrivals if n in meeting.waits and counted[n]]
        for number in both:
            representative[number] = both[0]
    whole = [0] * len(order)
    for source, row in enumerate(order):
        for target in bits(row):
            whole[representative[source]] |= 1 << representative[target]
    for meeting in meetings:
        for arrival in meeting.arrivals:
            for wait in meeting.waits:
                source, target = representative[arrival], representative[wait]
                if source != target and counted[arrival]:
                    whole[source] |= 1 << target
    for source, target in ordered:
        whole[representative[source]] |= 1 << representative[target]
    return is_acyclic(whole)
