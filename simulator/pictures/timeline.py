"""An execution of the CDNA machine as a timeline: issues of each wave, and contents of caches.

Time is the number of the step: something that happens in step n starts in column n, column 0
is the state before. ``timeline_svg`` draws it, ``trace_json`` writes it for Perfetto.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from fencewright.simulator.cdna.machine import ABSENT, CdnaMachine, PlainState
from fencewright.simulator.cdna.system import LineTopology, MachineEvent, MachineEventKind
from fencewright.simulator.cdna.trace import Counterexample
from fencewright.simulator.cdna.trace_explainer import overwritten
from fencewright.simulator.cdna.wave import ID_MASK, Op, StepKind
from fencewright.simulator.pictures.missing import drawn_if_possible


class BarLook(Enum):
    """The meaning of a bar."""

    INSTRUCTION = "instruction"
    RESULT = "result of a load"
    STALE_RESULT = "stale result"
    QUEUED = "on its way"
    CLEAN = "clean line"
    DIRTY = "dirty line"
    STALE = "stale line"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """Something in ``row`` from column ``start`` up to, not including, column ``end``.

    ``lines`` is its text, ``detail`` what happened when it began.
    """

    row: int
    start: int
    end: int
    look: BarLook
    lines: tuple[str, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """In column ``step`` something goes from one row to another."""

    step: int
    source: int
    target: int
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """A wave, cache or memory; ``rows`` are the headings of its rows, numbered over all lanes."""

    name: str
    place: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole execution.

    ``explanation`` is one sentence on what goes wrong. ``steps`` describes each step, of column 1
    on, with the line of its instruction; ``stale_reads`` has the steps in which a load
    found a value that had been overwritten, each with a sentence; ``register_steps`` those that
    touch nothing but the registers of a wave: moves, arithmetic and branches.
    """

    name: str
    outcome: str
    explanation: str
    steps: tuple[str, ...]
    stale_reads: tuple[tuple[int, str], ...]
    lanes: tuple[Lane, ...]
    bars: tuple[TimelineBar, ...]
    arrows: tuple[Arrow, ...]
    register_steps: frozenset[int] = frozenset()

    @property
    def end(self) -> int:
        """The column after the last step."""
        return len(self.steps) + 1

    def _repr_svg_(self) -> str | None:
        from fencewright.simulator.pictures.timeline_svg import timeline_svg

        return drawn_if_possible(timeline_svg, self)


def timeline(execution: Counterexample, name: str = "") -> Timeline:
    """The timeline of an execution of the plain machine; ``name`` is that of the program if
    empty."""
    return _TimelineReader(execution).timeline(name)


Key = tuple[str | int, ...]
"""The subject of a row, such as ("L1", CU, location)."""


@dataclass(frozen=True, slots=True)
class _CopyContents:
    """The contents of a copy after a step."""

    value: int
    is_dirty: bool = False
    is_stale: bool = False


class _TimelineReader:
    """Reads an execution line by line, wave by wave."""

    def __init__(self, execution: Counterexample):
        self.execution = execution
        self.steps = execution.steps
        self.machine: CdnaMachine = execution.machine
        self.compiled = self.machine.compiled
        self.events = execution.trace.events
        self.states = execution.trace.states
        self.outcome = execution.outcome
        self.end = len(self.events) + 1
        self.topologies = [
            LineTopology(self.compiled, line) for line in range(len(self.compiled.lines))
        ]
        self.lanes: list[Lane] = []
        self.rows: dict[Key, int] = {}
        self.bars: list[TimelineBar] = []
        self.arrows: list[Arrow] = []
        self.queued: dict[tuple[int, int], Key] = {}
        self.stale_reads: list[tuple[int, str]] = []

    def timeline(self, name: str) -> Timeline:
        self.newest = [self._newest(line) for line in range(len(self.topologies))]
        self._waves()
        self._lds()
        for cu in range(len(self.compiled.cu_names)):
            self._cu(cu)
        for l2 in range(len(self.compiled.l2_names)):
            agent, xcd = self.compiled.l2_names[l2]
            self._copies("L2", f"agent {agent} XCD {xcd}", "L2", l2)
        self._memory()
        self._transfers()
        return Timeline(
            name or self.compiled.program.name,
            ", ".join(f"{each} = {value}" for each, value in self.outcome.items()),
            self.execution.explanation,
            self.steps,
            tuple(self.stale_reads),
            tuple(self.lanes),
            tuple(self.bars),
            tuple(self.arrows),
            self.execution.register_steps,
        )

    # States

    def line(self, line: int, column: int) -> PlainState:
        """The machine's state of a location in a column."""
        return self.machine.line_state(self.states[column], line)

    def op(self, number: int) -> Op:
        return self.compiled.by_number[number]

    def instruction(self, number: int) -> str:
        return str(self.op(number).instruction)

    def _newest(self, line: int) -> list[tuple[int, ...]]:
        """For each column, the values that have been written, the newest last."""
        written: list[tuple[int, ...]] = [(self.compiled.lines[line].initial,)]
        for event in self.events:
            last = written[-1]
            is_write = (
                event.kind is MachineEventKind.PERFORM and event.line == line and not event.in_lds
            )
            new = event.written if is_write else None
            written.append(last if new is None else (*last, new))
        return written

    def is_stale(self, line: int, column: int, value: int) -> bool:
        """True if ``value`` has been overwritten by then."""
        return overwritten(self.newest[line][column], value)

    # Lanes

    def _lane(self, name: str, place: str, rows: Mapping[Key, str]) -> None:
        self.lanes.append(Lane(name, place, tuple(rows.values())))
        for key in rows:
            self.rows[key] = len(self.rows)

    def _waves(self) -> None:
        for wave, thread in enumerate(self.compiled.program.threads):
            place = self.machine.describe_cu(self.compiled.cu[wave])
            rows: dict[Key, str] = {("wave", wave): "issues"}
            if any(op.dst >= 0 and op.line >= 0 for op in self.compiled.ops[wave]):
                rows["results", wave] = "receives"
            flights = self._requests(wave)
            places = _packed([flight for flight, _ in flights])
            rows |= {("request", wave, row): "waits for L1" for row in sorted(set(places))}
            self._lane(f"P{wave}", f"{place}, work-group {thread.placement.workgroup}", rows)
            for row, (flight, line) in zip(places, flights, strict=True):
                self._flight(("request", wave, row), flight, line)
        for step, event in enumerate(self.events, 1):
            self._wave_event(step, event)

    def _requests(self, wave: int) -> list[tuple["_Flight", int]]:
        """The requests that a wave has issued and its L1 has not handled, with the location."""
        flights = [
            (flight, line)
            for line in range(len(self.topologies))
            for flight in _flights(self._waiting(wave, line))
        ]
        return sorted(flights, key=lambda each: (each[0].start, each[0].number, each[1]))

    def _waiting(self, wave: int, line: int) -> Iterator[Sequence[int]]:
        """The requests of a wave to a location that wait for its L1, in each column."""
        for column in range(self.end):
            requests = self.machine.requests(self.states[column], line)
            yield requests[wave] if requests else ()

    def _wave_event(self, step: int, event: MachineEvent) -> None:
        detail = self.steps[step - 1]
        if event.kind is MachineEventKind.BARRIER:
            for wave in self._at_barrier(step):
                self._add(
                    ("wave", wave), step, step + 1, BarLook.INSTRUCTION, ("s_barrier",), detail
                )
        elif event.kind in (MachineEventKind.ISSUE, MachineEventKind.HIT, MachineEventKind.LOCAL):
            words = self._words(event.number)
            self._add(("wave", event.place), step, step + 1, BarLook.INSTRUCTION, words, detail)
        if event.read is not None and self.op(event.number).dst >= 0:
            self._result(step, event, detail)

    def _words(self, number: int) -> tuple[str, ...]:
        """An instruction in two rows, the line where it was written beside its name."""
        name, *rest = self.instruction(number).split(" ", 1)
        place = self.compiled.place(self.op(number))
        return (name if place is None else f"{name} :{place.line}", *rest)

    def _at_barrier(self, step: int) -> Iterator[int]:
        """The waves that pass a barrier in a step."""
        for wave, interner in enumerate(self.machine.wave_states):
            before, after = (interner.items[self.states[n][wave]] for n in (step - 1, step))
            passes = self.compiled.ops[wave][before[0]].code is StepKind.BARRIER
            if passes and after[0] != before[0]:
                yield wave

    def _result(self, step: int, event: MachineEvent, detail: str) -> None:
        op = self.op(event.number)
        register = self.compiled.registers[op.wave][op.dst]
        assert event.read is not None
        stale = not event.in_lds and self.is_stale(event.line, step - 1, event.read)
        if stale:
            self.stale_reads.append((step, self._overwritten(step, event, event.read)))
        lines = (f"{register} = {event.read}", *(("stale!",) if stale else ()))
        look = BarLook.STALE_RESULT if stale else BarLook.RESULT
        self._add(("results", op.wave), step, step + 1, look, lines, detail)

    def _overwritten(self, step: int, event: MachineEvent, value: int) -> str:
        """Since when a value that is read has been out of date."""
        since = next(column for column in range(step) if self.is_stale(event.line, column, value))
        name = self.compiled.lines[event.line].name
        return f"{self.op(event.number)} finds {name} = {value}, overwritten since step {since}"

    def _lds(self) -> None:
        first = self.machine.first_lds
        for place, rules in enumerate(self.machine.lds_rules):
            names = [self.compiled.lds[member].name for member in rules.members]
            group = self.compiled.lds[rules.members[0]].workgroup
            kept = [self.machine.lds_states[place].items[s[first + place]] for s in self.states]
            flights = _flights([entry for queue in queues for entry in queue] for _, queues in kept)
            queue_rows = _packed(flights)
            rows: dict[Key, str] = {
                ("lds queue", place, row): "queue" for row in sorted(set(queue_rows))
            }
            rows |= {("lds", m): name for m, name in zip(rules.members, names, strict=True)}
            self._lane("LDS", f"work-group {group}", rows)
            for at, member in enumerate(rules.members):
                held = [_CopyContents(values[at]) for values, _ in kept]
                self._held(("lds", member), names[at], held, BarLook.MEMORY)
            for row, flight in zip(queue_rows, flights, strict=True):
                self._flight(("lds queue", place, row), flight, self.op(flight.number).line)

    def _cu(self, cu: int) -> None:
        """The L1, the scalar cache and the queues of a CU."""
        place = self.machine.describe_cu(cu)
        self._copies("L1", place, "L1", cu)
        self._copies("scalar cache", place, "scalar", cu)
        rows: dict[Key, str] = {}
        placed: list[tuple[Key, _Flight, int]] = []
        for line, topology in enumerate(self.topologies):
            at = topology.queue_of_cu.get(cu)
            if at is None:
                continue
            flights = _flights(self.line(line, n)[3][at] for n in range(self.end))
            for row, flight in zip(_packed(flights), flights, strict=True):
                key = ("queue", cu, line, row)
                rows[key] = topology.location.name
                placed.append((key, flight, line))
        if rows:
            self._lane("queues to L2", place, rows)
        for key, flight, line in placed:
            self._flight(key, flight, line)

    def _copies(self, name: str, place: str, kind: str, number: int) -> None:
        """A cache: a row for each location that it can hold."""
        held = {
            line: [self._copy(line, n, kind, number) for n in range(self.end)]
            for line, topology in enumerate(self.topologies)
            if number in {"L1": topology.l1s, "L2": topology.l2s, "scalar": topology.scalars}[kind]
        }
        held = {line: copies for line, copies in held.items() if any(copies)}
        rows: dict[Key, str] = {
            (kind, number, line): self.compiled.lines[line].name for line in held
        }
        if rows:
            self._lane(name, place, rows)
        for line, copies in held.items():
            self._held((kind, number, line), self.compiled.lines[line].name, copies, BarLook.CLEAN)

    def _copy(self, line: int, column: int, kind: str, number: int) -> _CopyContents | None:
        topology = self.topologies[line]
        _, l2s, l1s, queues, scalars, _ = self.line(line, column)
        if kind == "L2":
            packed = l2s[topology.l2s.index(number)]
            value, dirty = (ABSENT, False) if packed == ABSENT else (packed >> 1, bool(packed & 1))
            ahead: Iterable[int] = ()
        elif kind == "L1":
            value, dirty = l1s[topology.l1_of_cu[number]], False
            # A store updates its L1 before it is performed.
            ahead = queues[topology.queue_of_cu[number]]
        else:
            value, dirty, ahead = scalars[topology.scalar_of_cu[number]], False, ()
        if value == ABSENT:
            return None
        own = any(self.op(entry & ID_MASK).written(0, entry) == value for entry in ahead)
        return _CopyContents(value, dirty, not own and self.is_stale(line, column, value))

    def _memory(self) -> None:
        rows: dict[Key, str] = {
            ("memory", line): each.name for line, each in enumerate(self.compiled.lines)
        }
        if rows:
            self._lane("memory", "", rows)
        for line, each in enumerate(self.compiled.lines):
            values = [_CopyContents(self.line(line, n)[0]) for n in range(self.end)]
            self._held(("memory", line), each.name, values, BarLook.MEMORY)

    # Bars

    def _add(
        self, key: Key, start: int, end: int, look: BarLook, lines: Sequence[str], detail: str
    ) -> None:
        self.bars.append(TimelineBar(self.rows[key], start, end, look, tuple(lines), detail))

    def _held(
        self, key: Key, name: str, held: Sequence[_CopyContents | None], clean: BarLook
    ) -> None:
        """A bar for each time that a copy of a location stays as it is."""
        start = 0
        for column in range(1, self.end + 1):
            if column < self.end and held[column] == held[start]:
                continue
            now = held[start]
            if now is not None:
                look = BarLook.STALE if now.is_stale else BarLook.DIRTY if now.is_dirty else clean
                detail = self._describe(start)
                self._add(
                    key, start, column, look, (f"{name} = {now.value}", *_NOTES[look]), detail
                )
            start = column

    def _describe(self, column: int) -> str:
        return self.steps[column - 1] if column else "at the start"

    def _flight(self, key: Key, flight: "_Flight", line: int) -> None:
        self.queued[flight.number, line] = key
        words = tuple(self.instruction(flight.number).split(" ", 1))
        self._add(
            key, flight.start, flight.end, BarLook.QUEUED, words, self._describe(flight.start)
        )

    # Arrows

    def _transfers(self) -> None:
        for step, event in enumerate(self.events, 1):
            for source, target, stale in self._transfer(step, event):
                if source in self.rows and target in self.rows:
                    self.arrows.append(Arrow(step, self.rows[source], self.rows[target], stale))

    def _transfer(self, step: int, event: MachineEvent) -> Iterator[tuple[Key, Key, bool]]:
        """From where to where a value goes in a step."""
        line, place = event.line, event.place
        stale = event.read is not None and not event.in_lds
        stale = stale and self.is_stale(line, step - 1, event.read or 0)
        if event.kind in (MachineEventKind.HIT, MachineEventKind.REQUEST):
            if event.read is None:
                return
            cu = self.compiled.cu[place]
            yield ("L1", cu, line), ("results", place), stale
        elif event.kind is MachineEventKind.PERFORM:
            op = self.op(event.number)
            served = self._served_by(event)
            if event.written is not None:
                yield self.queued[event.number, line], served, False
            if event.read is not None and op.dst >= 0:
                yield served, ("results", op.wave), stale
        elif event.kind in (MachineEventKind.FETCH, MachineEventKind.WRITE_BACK):
            memory, cache = ("memory", line), ("L2", place, line)
            fetch = event.kind is MachineEventKind.FETCH
            yield (memory, cache, False) if fetch else (cache, memory, False)
        elif event.kind in (MachineEventKind.FILL_L1, MachineEventKind.FILL_SCALAR):
            kind = "L1" if event.kind is MachineEventKind.FILL_L1 else "scalar"
            stale = self.is_stale(line, step, event.written or 0)
            yield ("L2", self.compiled.l2[place], line), (kind, place, line), stale
        elif (
            event.kind is MachineEventKind.MARKER
            and self.line(line, step)[0] != self.line(line, step - 1)[0]
        ):
            yield ("L2", self.compiled.l2[place], line), ("memory", line), False

    def _served_by(self, event: MachineEvent) -> Key:
        op = self.op(event.number)
        if event.in_lds:
            return ("lds", event.line)
        if op.code is StepKind.SCALAR_LOAD:
            return ("scalar", event.place, event.line)
        if op.past_l2:
            return ("memory", event.line)
        return ("L2", self.compiled.l2[event.place], event.line)


_NOTES: Mapping[BarLook, tuple[str, ...]] = {
    BarLook.DIRTY: ("dirty",),
    BarLook.STALE: ("stale",),
    BarLook.CLEAN: (),
    BarLook.MEMORY: (),
}


@dataclass(frozen=True, slots=True)
class _Flight:
    """Operation ``number`` is in a queue from column ``start`` up to column ``end``."""

    number: int
    start: int
    end: int


def _flights(queues: Iterable[Sequence[int]]) -> list[_Flight]:
    """Every stay of an operation in a queue, given the queue's contents in each column."""
    inside: dict[int, int] = {}
    result: list[_Flight] = []
    column = 0
    for queue in queues:
        now = {entry & ID_MASK for entry in queue}
        result += [_Flight(n, inside.pop(n), column) for n in sorted(inside.keys() - now)]
        inside |= dict.fromkeys(now - inside.keys(), column)
        column += 1
    result += [_Flight(n, start, column) for n, start in sorted(inside.items())]
    return sorted(result, key=lambda flight: (flight.start, flight.number))


def _packed(flights: Sequence[_Flight]) -> list[int]:
    """A row for each flight so that those of a row do not overlap; the lowest that is free."""
    ends: list[int] = []
    rows: list[int] = []
    for flight in flights:
        row = next((row for row, end in enumerate(ends) if end <= flight.start), len(ends))
        if row == len(ends):
            ends.append(0)
        ends[row] = flight.end
        rows.append(row)
    return rows
