"""The fault in an execution of the CDNA machine, in one sentence.

A load that finds an overwritten value is looked for first: where it found it, since when it was
there, and which instruction would have brought the newer one. Then accesses of one wave that are
performed out of order. The sentence names what is missing between which two lines.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.cdna.machine import CdnaMachine, PlainState
from fencewright.simulator.cdna.system import LineTopology, MachineEvent, MachineEventKind, State
from fencewright.simulator.cdna.wave import Op, StepKind

_NEVER = 1 << 62


@dataclass(slots=True)
class _Access:
    """An instruction that was executed: ``order`` counts those of its wave.

    ``issued`` and ``done`` are steps; a cache instruction is ``done_for`` one location after the
    other. Where the L1 handles requests in any order, ``handled`` has that step for each location.
    """

    op: Op
    order: int
    issued: int
    done: int = _NEVER
    read: int | None = None
    written: int | None = None
    hit: bool = False
    done_for: dict[int, int] = field(default_factory=dict[int, int])
    handled: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def place(self) -> tuple[int, bool]:
        """The location."""
        return self.op.line, self.op.in_lds

    @property
    def is_access(self) -> bool:
        """True if it is an access to memory or LDS."""
        return self.op.line >= 0


def explanation_of(
    machine: CdnaMachine, events: Sequence[MachineEvent], states: Sequence[State]
) -> str:
    """One sentence on an execution: ``states`` are those before, between and after ``events``."""
    return _Explainer(machine, events, states).sentence()


def overwritten(written: Sequence[int], value: int) -> bool:
    """True if ``value`` is among those of a location, but not the newest, which is the last."""
    return value != written[-1] and value in written


class _Explainer:
    def __init__(
        self, machine: CdnaMachine, events: Sequence[MachineEvent], states: Sequence[State]
    ):
        self.machine = machine
        self.compiled = machine.compiled
        self.events = events
        self.states = states
        self.accesses = self._accesses()

    # The executed instructions

    def _accesses(self) -> list[_Access]:
        """Every access and cache instruction, in the order in which they were issued."""
        result: list[_Access] = []
        orders = [0] * self.machine.waves
        for step, event in enumerate(self.events, 1):
            match event.kind:
                case MachineEventKind.ISSUE | MachineEventKind.HIT:
                    op = self.compiled.by_number[event.number]
                    new = _Access(op, orders[op.wave], step)
                    orders[op.wave] += 1
                    if event.kind is MachineEventKind.HIT:
                        new.done, new.read, new.hit = step, event.read, True
                    elif op.code is StepKind.CACHE and not op.effect.marker:
                        new.done = step
                    result.append(new)
                case MachineEventKind.REQUEST:
                    self._handled(result, step, event)
                case MachineEventKind.PERFORM:
                    oldest = next(
                        a for a in result if a.op.number == event.number and a.done == _NEVER
                    )
                    oldest.done, oldest.read, oldest.written = step, event.read, event.written
                case MachineEventKind.MARKER:
                    waiting = (a for a in result if a.op.number == event.number)
                    oldest = next(a for a in waiting if event.line not in a.done_for)
                    oldest.done_for[event.line] = step
                case _:
                    pass
        return result

    def _handled(self, accesses: list[_Access], step: int, event: MachineEvent) -> None:
        """The L1 handles a request: of an access, or for one line of a cache instruction."""
        oldest = next(
            a for a in accesses if a.op.number == event.number and event.line not in a.handled
        )
        oldest.handled[event.line] = step
        if event.read is not None:
            oldest.done, oldest.read, oldest.hit = step, event.read, True

    def line(self, line: int, step: int) -> PlainState:
        """The machine's state of a location after a step."""
        return self.machine.line_state(self.states[step], line)

    def written(self, access: _Access, before: int) -> list[_Access]:
        """The writes to the location of ``access`` that were performed before a step, in order."""
        found = [
            a
            for a in self.accesses
            if a.place == access.place and a.written is not None and a.done < before
        ]
        return sorted(found, key=lambda a: a.done)

    def writer(self, access: _Access) -> _Access | None:
        """The write whose value a read took; None for the initial one."""
        writes = self.written(access, access.done)
        return next((w for w in reversed(writes) if w.written == access.read), None)

    def newest(self, access: _Access) -> _Access | None:
        """The write that a read missed; None if it found the last write."""
        writes = self.written(access, access.done)
        if access.read is None or not writes:
            return None
        where = self.compiled.lds if access.op.in_lds else self.compiled.lines
        values = [where[access.op.line].initial, *(w.written or 0 for w in writes)]
        return writes[-1] if overwritten(values, access.read) else None

    def seen(self, access: _Access) -> _Access | None:
        """The last read before ``access``, of another location, that found another wave's write."""
        earlier = [
            a
            for a in self.accesses
            if a.op.wave == access.op.wave
            and a.order < access.order
            and a.place != access.place
            and a.read is not None
            and (w := self.writer(a)) is not None
            and w.op.wave != a.op.wave
        ]
        return max(earlier, key=lambda a: a.order, default=None)

    def between(self, first: _Access, last: _Access) -> Iterator[_Access]:
        """The cache instructions of a wave between two others."""
        for each in self.accesses:
            same = each.op.wave == first.op.wave == last.op.wave
            if same and each.op.code is StepKind.CACHE and first.order < each.order < last.order:
                yield each

    # Words

    def name(self, access: _Access) -> str:
        """The name of a location."""
        where = self.compiled.lds if access.op.in_lds else self.compiled.lines
        return where[access.op.line].name

    def noun(self, access: _Access) -> str:
        """An access, without whose it is."""
        if not access.is_access:
            return str(access.op.instruction)
        word = {StepKind.LOAD: "load", StepKind.SCALAR_LOAD: "load", StepKind.STORE: "store"}
        return f"{word.get(access.op.code, 'atomic')} of {self.name(access)}"

    def place(self, access: _Access) -> SourceLocation | None:
        """The source position of an instruction."""
        return self.compiled.place(access.op)

    def at(self, access: _Access) -> str:
        """The position of an instruction, in brackets; nothing if not known."""
        place = self.place(access)
        return "" if place is None else f" (line {place.line})"

    def span(self, first: _Access, last: _Access) -> str:
        """Between which lines something is missing, or between which instructions."""
        one, other = self.place(first), self.place(last)
        if one is not None and other is not None and one != other:
            if one.file == other.file:
                return f"between line {one.line} and line {other.line}"
            return f"between {one} and {other}"
        return f"between '{first.op.instruction}' and '{last.op.instruction}'"

    def l2_name(self, l2: int) -> str:
        """An L2 by its place."""
        return f"the {self.machine.describe_l2(l2)}"

    # Sentences

    def sentence(self) -> str:
        stale = [(a, missed) for a in self.accesses if (missed := self.newest(a)) is not None]
        last = {a.op.number: (a, missed) for a, missed in stale}
        chosen = [*last.values()]
        synchronised = [each for each in chosen if self.seen(each[0]) is not None]
        for access, missed in synchronised or chosen:
            return self.of_stale_read(access, missed)
        return (
            self.of_copy_under_way()
            or self.of_early_hit(seen_elsewhere=True)
            or self.of_order()
            or self.of_late_write()
            or self.of_dirty_lines()
            or self.of_early_hit(seen_elsewhere=False)
            or self.of_other_value()
            or "Every load finds what was written last, and no wave's accesses are performed out "
            "of order: an interleaving ends so."
        )

    def of_copy_under_way(self) -> str:
        """A read of bytes that an asynchronous copy under way has yet to write."""
        for access in self.accesses:
            for pending in self.accesses:
                owner = self.compiled.agents.get(pending.op.wave)
                begun = owner is not None and pending.written is not None
                if begun and pending.place == access.place and access.done < pending.done:
                    return (
                        f"P{access.op.wave} reads {self.name(access)} = {access.read}"
                        f"{self.at(access)} before the copy to it that P{owner} has issued is "
                        f"done: nothing that P{owner} has waited for says so."
                    )
        return ""

    def of_early_hit(self, seen_elsewhere: bool) -> str:
        """A load that hits a value which a store of its CU has put into the L1 before its time.

        ``seen_elsewhere``: only one before a load on another CU that still finds another value.
        """
        for access in self.accesses:
            store = self.early_store(access)
            if store is None:
                continue
            other = self.reader_elsewhere(access, store)
            if seen_elsewhere and other is None:
                continue
            whose = "its own" if store.op.wave == access.op.wave else f"P{store.op.wave}'s"
            where = (
                ""
                if other is None
                else (
                    f", where P{other.op.wave} still reads {self.name(other)} = "
                    f"{other.read}{self.at(other)}"
                )
            )
            return (
                f"P{access.op.wave} reads {self.name(access)} = {access.read}{self.at(access)} "
                f"from its {self.machine.caches.l1}, which {whose} "
                f"{self.noun(store)}{self.at(store)} has updated before it reaches the "
                f"{self.machine.caches.l2}{where}."
            )
        return ""

    def early_store(self, access: _Access) -> _Access | None:
        """The last store of the same CU, not performed yet, whose value a load hits in the L1."""
        if not access.hit or access.read == self.last_value(access):
            return None
        cu = self.compiled.cu
        stores = (
            each
            for each in self.accesses
            if each.place == access.place
            and each.op.code is StepKind.STORE
            and cu[each.op.wave] == cu[access.op.wave]
            and each.issued < access.done < each.done < _NEVER
            and each.written == access.read
        )
        return max(stores, key=lambda each: each.issued, default=None)

    def reader_elsewhere(self, access: _Access, store: _Access) -> _Access | None:
        """A later read on another CU, before ``store`` is performed, that finds another value."""
        cu = self.compiled.cu
        return next(
            (
                each
                for each in self.accesses
                if each.place == access.place
                and cu[each.op.wave] != cu[access.op.wave]
                and each.read not in (None, access.read)
                and access.done < each.done < store.done
            ),
            None,
        )

    def last_value(self, access: _Access) -> int:
        """The value that the last write performed before an access has left in its location."""
        writes = self.written(access, access.done)
        where = self.compiled.lds if access.op.in_lds else self.compiled.lines
        value = writes[-1].written if writes else None
        return where[access.op.line].initial if value is None else value

    def of_other_value(self) -> str:
        """A read whose value is not the last one written, so that this is no interleaving."""
        for access in self.accesses:
            if access.read is None or access.read == self.last_value(access):
                continue
            return (
                f"P{access.op.wave} reads {self.name(access)} = {access.read}{self.at(access)}, "
                f"though {self.last_value(access)} is what was written last."
            )
        return ""

    def of_stale_read(self, access: _Access, missed: _Access) -> str:
        wave, seen = access.op.wave, self.seen(access)
        found = f"P{wave} reads {self.name(access)} = {access.read}"
        flag = "" if seen is None else f"{self.name(seen)} = {seen.read}"
        if seen is not None and access.done < seen.done:
            return (
                f"{found} before its earlier {self.noun(seen)} is performed: nothing waits for "
                f"that one {self.span(seen, access)}."
            )
        if seen is not None:
            early = [
                each
                for each in self.between(seen, access)
                if each.issued < seen.done and (each.op.effect.l1 or each.op.effect.invalidate)
            ]
            if early and access.op.code is not StepKind.SCALAR_LOAD:
                return (
                    f"{found}: its {early[0].op.instruction}{self.at(early[0])} comes before "
                    f"{flag} has arrived{self.at(seen)}, and the old line back in between; nothing "
                    "waits for the load before the invalidate."
                )
        if seen is not None and (pending := self.deferred_invalidate(seen, access)) is not None:
            return (
                f"{found} before its {pending.op.instruction}{self.at(pending)} is done: nothing "
                f"waits for that {self.span(pending, access)}."
            )
        since = "" if seen is None else f" before {flag} was seen"
        nothing = "" if seen is None else f" {self.span(seen, access)}"
        if access.op.code is StepKind.SCALAR_LOAD:
            return (
                f"{found} from its scalar cache, filled{since or ' early'}; nothing invalidates "
                f"that{nothing}."
            )
        if access.hit and (seen is None or self.filled(access) < seen.done):
            since = since or f" before P{missed.op.wave}'s {self.noun(missed)} was performed"
            return (
                f"{found} from its {self.machine.caches.l1}, filled{since}; nothing invalidates "
                f"it{nothing or ' after'}."
            )
        return self.of_l2(access, missed, found)

    def deferred_invalidate(self, seen: _Access, access: _Access) -> _Access | None:
        """An invalidate between two loads that the second one passed; None if there is none."""
        line = access.op.line
        for each in self.between(seen, access):
            passed = each.handled.get(line, _NEVER) > access.handled.get(line, access.done)
            if each.op.effect.deferred and (
                passed or each.done_for.get(line, _NEVER) > access.done
            ):
                return each
        return None

    def filled(self, access: _Access) -> int:
        """The step in which the L1 got the line that a load hit."""
        cu = self.compiled.cu[access.op.wave]
        fills = (
            step
            for step, event in enumerate(self.events[: access.done], 1)
            if event.kind is MachineEventKind.FILL_L1
            and (event.place, event.line) == (cu, access.op.line)
        )
        return max(fills, default=0)

    def of_l2(self, access: _Access, missed: _Access, found: str) -> str:
        """A stale read that no L1 is to blame for: a dirty line elsewhere, or a clean old one
        here."""
        seen = self.seen(access)
        publisher = None if seen is None else self.writer(seen)
        step = access.done - 1
        if access.hit:
            step = self.filled(access) - 1
        dirty = self.dirty(access, missed, max(step, 0))
        if dirty is None and seen is not None and (at := self.fetched_anew(seen, access, step)):
            dirty = self.dirty(access, missed, at - 1)
        store = f"P{missed.op.wave}'s {self.noun(missed)}{self.at(missed)}"
        if dirty is not None:
            start = f"{found}, while {store} is still dirty in {self.l2_name(dirty)}"
            if publisher is None or publisher.op.wave != missed.op.wave:
                end = "" if publisher is None else f" before {self.published(publisher)}"
                return f"{start}; nothing writes it back{end}."
            if publisher.order < missed.order:
                return f"{start}; it comes after {self.published(publisher)}."
            line = access.op.line
            pending = [
                each
                for each in self.between(missed, publisher)
                if each.op.effect.write_back and each.done_for.get(line, _NEVER) > publisher.done
            ]
            if pending:
                return (
                    f"{start}: the {pending[0].op.instruction}{self.at(pending[0])} is not done "
                    f"when {self.published(publisher)}, for nothing waits for it "
                    f"{self.span(pending[0], publisher)}."
                )
            early = [
                each
                for each in self.between(missed, publisher)
                if each.op.effect.write_back and each.done_for.get(line, _NEVER) < missed.done
            ]
            if early:
                return (
                    f"{start}: the {early[0].op.instruction}{self.at(early[0])} has overtaken that "
                    f"store, for nothing waits for it {self.span(missed, early[0])}."
                )
            return f"{start}; nothing writes it back {self.span(missed, publisher)}."
        if publisher is not None and missed.done > publisher.done:
            return (
                f"{found}: {store} is performed after {self.published(publisher)}, and "
                f"{_unwaited(missed, 'it')} before."
            )
        cache = self.machine.caches.l2
        if (
            publisher is not None
            and (pending := self.handed_on(publisher, access, step)) is not None
        ):
            waits = "nothing waits for it" if pending.op.effect.counts else "no wait sees its end"
            return (
                f"{found} from its {cache}, where P{pending.op.wave}'s {pending.op.instruction}"
                f"{self.at(pending)} is not done when {self.published(publisher)}: {waits} "
                f"{self.span(pending, publisher)}."
            )
        nothing = "" if seen is None else f" {self.span(seen, access)}"
        return (
            f"{found} from its {cache}, which has kept the line since before {store} reached "
            f"memory; nothing invalidates it there{nothing}."
        )

    def handed_on(self, publisher: _Access, access: _Access, step: int) -> _Access | None:
        """The invalidate of the publishing wave that comes to the cache of ``access`` too late."""
        cu = self.compiled.cu
        if self.compiled.l2[cu[publisher.op.wave]] != self.compiled.l2[cu[access.op.wave]]:
            return None
        pending = (
            each
            for each in self.accesses
            if each.op.wave == publisher.op.wave
            and each.order < publisher.order
            and each.op.effect.invalidate
            and each.op.effect.marker
            and each.done_for.get(access.op.line, _NEVER) > step
        )
        return next(pending, None)

    def fetched_anew(self, seen: _Access, access: _Access, before: int) -> int:
        """The last step up to ``before`` in which the L2 of a load fetched the line; 0: none.

        0 as well if no invalidate after ``seen`` had emptied it.
        """
        line = access.op.line
        emptied = [
            each.done_for[line]
            for each in self.between(seen, access)
            if each.op.effect.invalidate and line in each.done_for
        ]
        l2 = self.compiled.l2[self.compiled.cu[access.op.wave]]
        fetches = (
            step
            for step, event in enumerate(self.events[:before], 1)
            if event.kind is MachineEventKind.FETCH and (event.place, event.line) == (l2, line)
        )
        last = max(fetches, default=0)
        return last if emptied and emptied[0] < last else 0

    def published(self, publisher: _Access) -> str:
        """The words for a wave's write that another one saw."""
        return f"P{publisher.op.wave} writes {self.name(publisher)}{self.at(publisher)}"

    def dirty(self, access: _Access, missed: _Access, step: int) -> int | None:
        """The L2, other than the reader's, in which the newest value is dirty after a step."""
        topology = LineTopology(self.compiled, access.op.line)
        own = self.compiled.l2[self.compiled.cu[access.op.wave]]
        _, l2s, *_ = self.line(access.op.line, step)
        for l2, held in zip(topology.l2s, l2s, strict=True):
            if l2 != own and held >= 0 and held & 1 and held >> 1 == missed.written:
                return l2
        return None

    def of_order(self) -> str:
        """Two accesses of a wave that are performed in the other order, which others can see."""
        pairs = [
            (one, other)
            for one in self.accesses
            for other in self.accesses
            if one.op.wave == other.op.wave
            and one.order < other.order
            and one.is_access
            and other.is_access
            and (one.place != other.place or self.differ(one, other))
            and other.done < one.done < _NEVER
            and self.is_shared(one)
            and self.is_shared(other)
        ]
        if not pairs:
            return ""
        one, other = min(pairs, key=lambda pair: (pair[1].done, pair[0].order))
        return (
            f"P{one.op.wave}'s {self.noun(other)}{self.at(other)} is performed before its earlier "
            f"{self.noun(one)}{self.at(one)}: {_unwaited(one, 'that one')} {self.span(one, other)}."
        )

    def differ(self, one: _Access, other: _Access) -> bool:
        """True if two accesses of a location are loads with different results."""
        loads = all(a.op.code is StepKind.LOAD for a in (one, other))
        return loads and one.read != other.read

    def of_late_write(self) -> str:
        """A read that comes too early for a write of which its wave could know."""
        for access in self.accesses:
            if access.read is None:
                continue
            seen = self.seen(access)
            publisher = None if seen is None else self.writer(seen)
            for pending in self.accesses:
                other = pending.op.wave != access.op.wave and pending.place == access.place
                if not other or pending.written is None or pending.done < access.done:
                    continue
                barrier = self.barrier(pending, access)
                known = publisher is not None and pending.issued < publisher.issued
                if not barrier and not known:
                    continue
                wave = pending.op.wave
                start = (
                    f"P{access.op.wave} reads {self.name(access)} = {access.read}{self.at(access)} "
                    f"before P{wave}'s {self.noun(pending)}{self.at(pending)} is performed"
                )
                if barrier:
                    if pending.op.acknowledged_early:
                        return (
                            f"{start}: {_unwaited(pending, 'it')} before P{wave} passes the "
                            "barrier."
                        )
                    return f"{start}: P{wave} passes s_barrier without waiting for it."
                assert publisher is not None
                return f"{start}: {_unwaited(pending, 'it')} before {self.published(publisher)}."
        return ""

    def barrier(self, first: _Access, last: _Access) -> bool:
        """True if the waves of two accesses pass a barrier between them."""
        group = self.compiled.program.threads[first.op.wave].placement.workgroup
        between = self.events[first.issued : last.done - 1]
        barriers = self.compiled.barriers
        return (
            any(
                event.kind is MachineEventKind.BARRIER
                and self.compiled.program.threads[event.place].placement.workgroup == group
                for event in between
            )
            or any(
                event.kind is MachineEventKind.PHASE
                and {first.op.wave, last.op.wave} <= {*barriers[event.place].waves}
                for event in between
            )
            or self.meets_by_signal(first.op.wave, last.op.wave, between)
        )

    def meets_by_signal(self, one: int, other: int, between: Iterable[MachineEvent]) -> bool:
        """True if ``other`` passes a barrier that ``one`` has signalled."""
        signalled: set[int] = set()
        for event in between:
            op = self.compiled.by_number[event.number]
            if event.kind is not MachineEventKind.LOCAL:
                continue
            if op.wave == one and op.code is StepKind.SIGNAL:
                signalled.add(op.barrier)
            if op.wave == other and op.code is StepKind.BARRIER_WAIT and op.barrier in signalled:
                return True
        return False

    def is_shared(self, access: _Access) -> bool:
        """True if another wave accesses the location, and one of the two writes it."""
        return any(
            a.place == access.place
            and a.op.wave != access.op.wave
            and (a.written is not None or access.written is not None)
            for a in self.accesses
        )

    def of_dirty_lines(self) -> str:
        """A location that ends dirty in two L2s."""
        for line, location in enumerate(self.compiled.lines):
            _, l2s, *_ = self.line(line, len(self.states) - 1)
            topology = LineTopology(self.compiled, line)
            dirty = [
                l2 for l2, held in zip(topology.l2s, l2s, strict=True) if held >= 0 and held & 1
            ]
            if len(dirty) > 1:
                names = " and ".join(map(self.l2_name, dirty))
                return (
                    f"{location.name} ends dirty in {names}, which are written back in either "
                    "order; nothing writes one back before the other is stored."
                )
        return ""


def _unwaited(access: _Access, it: str) -> str:
    """The synchronisation missing after an access performed too late, called ``it``."""
    if access.op.acknowledged_early:
        return f"its L1 has acknowledged {it}, and nothing writes {it} back"
    return f"nothing waits for {it}"
