"""Waves, locations and LDS as one transition system, for any state of a location's caches.

``cdna_machine`` (the definition) and ``cdna_engine`` say what happens to one location; waves are
in ``cdna_wave``; here they are put together, with LDS and barriers.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from enum import IntEnum
from itertools import product
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from fencewright.simulator.cdna.instructions import CopyPoint, NamedBarrier
from fencewright.simulator.cdna.wave import (
    ID_MASK,
    CompiledProgram,
    Entry,
    Op,
    SplitBarrierGroup,
    StepKind,
    Wave,
    WaveRules,
)
from fencewright.simulator.core.condition import Observable, Register

Item = TypeVar("Item")
State = tuple[int, ...]
Completion = tuple[int, int]
"""(number of an operation, its result, or LEFT_QUEUE for a marker that has left one queue)."""

LEFT_QUEUE = -1


class MachineEventKind(IntEnum):
    """The kind of event in a step."""

    ISSUE = 0
    HIT = 1
    PERFORM = 2
    MARKER = 3
    FETCH = 4
    EVICT = 5
    WRITE_BACK = 6
    FILL_L1 = 7
    EVICT_L1 = 8
    FILL_SCALAR = 9
    EVICT_SCALAR = 10
    LOCAL = 11
    BARRIER = 12
    REQUEST = 13
    PHASE = 14


class MachineEvent(NamedTuple):
    """One step. ``place`` is a wave for ISSUE, REQUEST, HIT, LOCAL and BARRIER, an L2 for FETCH,
    EVICT and WRITE_BACK, for PHASE a split barrier, else a CU; ``number`` is the operation's,
    ``line`` the location's, or -1.
    """

    kind: MachineEventKind
    place: int
    number: int = -1
    line: int = -1
    read: int | None = None
    written: int | None = None
    in_lds: bool = False


class Interner(Generic[Item]):
    """Numbers items from 0 as they come."""

    __slots__ = ("items", "numbers")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.numbers: dict[Item, int] = {}

    def __call__(self, item: Item) -> int:
        """The number of ``item``."""
        number = self.numbers.get(item)
        if number is None:
            number = self.numbers[item] = len(self.items)
            self.items.append(item)
        return number


class LineTopology:
    """The L2s, queues, L1s and scalar caches that can matter for one location.

    Left out is what nothing can observe: L2s below which no wave accesses the location, and
    L1s below which no load of it may hit. ``read_l2s``: whether anything reads a clean line of an
    L2.
    """

    def __init__(self, compiled: CompiledProgram, line: int):
        uses = [op for op in compiled.by_number if op.line == line and not op.in_lds]
        self.line = line
        self.location = compiled.lines[line]
        self.by_number = compiled.by_number
        self.hierarchy = compiled.hierarchy
        self.cu_of_wave = compiled.cu
        self.l2s = sorted({compiled.l2[compiled.cu[op.wave]] for op in uses})
        self.cus = [cu for cu, l2 in enumerate(compiled.l2) if l2 in self.l2s]
        self.l2_of_queue = [self.l2s.index(compiled.l2[cu]) for cu in self.cus]
        hits = {compiled.cu[op.wave] for op in uses if op.l1 and op.code is StepKind.LOAD}
        self.l1s = [cu for cu in self.cus if cu in hits]
        scalar = {compiled.cu[op.wave] for op in uses if op.code is StepKind.SCALAR_LOAD}
        self.scalars = [cu for cu in self.cus if cu in scalar]
        self.queue_of_cu = {cu: i for i, cu in enumerate(self.cus)}
        self.l1_of_cu = {cu: i for i, cu in enumerate(self.l1s)}
        self.scalar_of_cu = {cu: i for i, cu in enumerate(self.scalars)}
        reads = {compiled.l2[compiled.cu[op.wave]] for op in uses if _reads_clean(op)}
        self.read_l2s = [l2 in reads for l2 in self.l2s]
        self.blocking = {op.number for op in compiled.by_number if _blocks_fill(op)}


def _reads_clean(op: Op) -> bool:
    """True where ``op`` can read a clean line of its L2, or of an L1 filled from there."""
    return op.code is not StepKind.STORE and (op.l1 or not op.past_l2)


def _blocks_fill(op: Op) -> bool:
    """True if the L1 takes a line in only after ``op`` has left the queue (rule 3)."""
    if op.code is StepKind.CACHE:
        return op.effect.invalidate
    return op.code in (StepKind.STORE, StepKind.ATOMIC, StepKind.COMPARE_SWAP)


def replaced(items: tuple[Item, ...], at: int, item: Item) -> tuple[Item, ...]:
    """``items`` with another item ``at`` one place."""
    return (*items[:at], item, *items[at + 1 :])


LdsState = tuple[tuple[int, ...], tuple[tuple[Entry, ...], ...]]
"""(values, queue of each wave of the work-group)."""


class LdsRules:
    """The LDS of one work-group. ds_ operations of a wave are performed in order; flat ones go
    another path, so that they pass and are passed, except at the same location.
    """

    def __init__(self, compiled: CompiledProgram, workgroup: int):
        self.by_number = compiled.by_number
        self.waves = compiled.groups.get(workgroup, [])
        self.members = [i for i, each in enumerate(compiled.lds) if each.workgroup == workgroup]
        self.values = tuple(compiled.lds[i].initial for i in self.members)

    def initial(self) -> LdsState:
        """Nothing in flight."""
        return self.values, ((),) * len(self.waves)

    def issue(self, state: LdsState, op: Op, entry: Entry) -> LdsState:
        """``op`` is in flight."""
        values, queues = state
        at = self.waves.index(op.wave)
        return values, replaced(queues, at, (*queues[at], entry))

    def events(
        self, state: LdsState
    ) -> list[tuple[LdsState, tuple[Completion, ...], MachineEvent]]:
        """Every operation that can be performed next."""
        values, queues = state
        result: list[tuple[LdsState, tuple[Completion, ...], MachineEvent]] = []
        for at, queue in enumerate(queues):
            for place in self.ready(queue):
                entry = queue[place]
                op = self.by_number[entry & ID_MASK]
                member = self.members.index(op.line)
                old = values[member]
                new = op.written(old, entry)
                after = values if new is None else replaced(values, member, new)
                left = replaced(queues, at, (*queue[:place], *queue[place + 1 :]))
                read = None if op.code is StepKind.STORE else old
                event = MachineEvent(
                    MachineEventKind.PERFORM, op.wave, op.number, op.line, read, new, in_lds=True
                )
                done = ((op.number, old if op.dst >= 0 else 0),)
                result.append(((after, left), done, event))
        return result

    def ready(self, queue: tuple[Entry, ...]) -> list[int]:
        """The places in ``queue`` that nothing in it has to go before."""
        result: list[int] = []
        passed: set[bool] = set()
        lines: set[int] = set()
        for place, entry in enumerate(queue):
            op = self.by_number[entry & ID_MASK]
            if op.flat not in passed and op.line not in lines:
                result.append(place)
            passed.add(op.flat)
            lines.add(op.line)
        return result


LineState = TypeVar("LineState", bound=Hashable)
LineEvent = tuple[LineState, tuple[Completion, ...], MachineEvent]


class LineRules(Protocol[LineState]):
    """The interface of the rules of one location; ``PlainLine`` gives the meaning of each."""

    def initial(self) -> LineState: ...
    def issue(
        self, state: LineState, op: Op, entry: Entry
    ) -> list[tuple[LineState, int | None]]: ...
    def maintain(self, state: LineState, op: Op) -> list[LineState]: ...
    def queued(self, state: LineState, number: int) -> int: ...
    def events(self, state: LineState) -> list[LineEvent[LineState]]: ...
    def final_values(self, state: LineState) -> tuple[int, ...]: ...


BarrierState = tuple[tuple[int, ...], int, tuple[int, ...]]
"""A split barrier: for whom signals came, the phase's parity, and that each wave waits to change.

Of a named one ``NamedBarrierRules`` says what it is.
"""


class SplitBarrierRules:
    """A split barrier: a phase is complete after as many signals as it has parties.

    A party whose waves have ended without a signal is none any more; two signals for one are two.
    """

    def __init__(self, group: SplitBarrierGroup):
        self.group = group

    def initial(self) -> BarrierState:
        """Nobody has arrived."""
        return (), 0, (0,) * len(self.group.waves)

    def arrived(self, state: BarrierState, wave: int, signals: int | None = None) -> BarrierState:
        """After the signal of ``wave``; ``signals`` are for barriers that count them."""
        parties, phase, waits = state
        party = self.group.party_of[self.group.waves.index(wave)]
        return tuple(sorted((*parties, party))), phase, waits

    def is_complete(self, state: BarrierState, ended: Collection[int]) -> bool:
        """True if enough signals came, of all waves but those that have ``ended``."""
        if isinstance(self.group.unit, CopyPoint):
            ended = ()
        going = zip(self.group.waves, self.group.party_of, strict=True)
        parties = {*state[0], *(party for wave, party in going if wave not in ended)}
        return 0 < len(parties) <= len(state[0])

    def completed(self, state: BarrierState) -> BarrierState:
        """The next phase."""
        _, phase, waits = state
        return (), 1 - phase, waits

    def passed(self, state: BarrierState, wave: int) -> BarrierState | None:
        """After the wait of ``wave``; None while its phase is not complete."""
        parties, phase, waits = state
        at = self.group.waves.index(wave)
        if waits[at] == phase:
            return None
        return parties, phase, replaced(waits, at, 1 - waits[at])


class NamedBarrierRules(SplitBarrierRules):
    """A named barrier: a phase is complete with the last of the signals that it counts.

    The number in its state is that count, 0 before it is initialised; then, for each wave, whether
    it is outside, has joined, or has joined and may pass. What the documents leave undefined is an
    error. Source: LLVM 24 AMDGPUExecutionSynchronization, "Named Barriers" Model Extensions.
    """

    def is_complete(self, state: BarrierState, ended: Collection[int]) -> bool:
        """Never: the last signal has completed the phase."""
        return False

    def initialised(self, count: int, state: BarrierState) -> BarrierState:
        """No signal has come; waves that had joined still have."""
        return (), count, state[2]

    def arrived(self, state: BarrierState, wave: int, signals: int | None = None) -> BarrierState:
        parties, count, members = state
        return self._counted((*parties, wave), signals or count, members)

    def _counted(
        self, parties: tuple[int, ...], count: int, members: tuple[int, ...]
    ) -> BarrierState:
        """The next phase, if all signals have come."""
        if len(parties) < count:
            return tuple(sorted(parties)), count, members
        return (), count, tuple(_MAY_PASS if each == _JOINED else each for each in members)

    def passed(self, state: BarrierState, wave: int) -> BarrierState | None:
        at = self.group.waves.index(wave)
        if state[2][at] != _MAY_PASS:
            return None
        return self.with_member(state, wave, _JOINED)

    def with_member(self, state: BarrierState, wave: int, membership: int) -> BarrierState:
        """With another membership of ``wave``."""
        parties, count, members = state
        at = self.group.waves.index(wave)
        return parties, count, replaced(members, at, membership)

    def has_joined(self, state: BarrierState, wave: int) -> bool:
        """True if this is the barrier that ``wave`` joined last."""
        return state[2][self.group.waves.index(wave)] != _OUTSIDE

    def left(self, state: BarrierState, wave: int) -> BarrierState:
        """``wave`` is counted no more."""
        parties, count, members = self.with_member(state, wave, _OUTSIDE)
        return self._counted(parties, count - 1, members)

    def error(self, state: BarrierState, op: Op) -> str | None:
        """The reason that the effect of ``op`` is undefined now."""
        parties, count, _ = state
        name = f"barrier {self.group.unit}"
        if op.code is StepKind.SIGNAL and not count:
            return f"{name} is not initialised"
        if op.code is StepKind.SIGNAL and op.signals and op.signals <= len(parties):
            return f"{name} has {len(parties)} signals already, and is to count {op.signals}"
        if op.code is StepKind.BARRIER_WAIT and not self.has_joined(state, op.wave):
            return f"{name} is not what P{op.wave} has joined last"
        if op.code is StepKind.BARRIER_LEAVE and op.wave in parties:
            return f"P{op.wave} leaves {name}, where it has signalled, before that is complete"
        return None


_OUTSIDE, _JOINED, _MAY_PASS = range(3)


def _barrier_rules(group: SplitBarrierGroup) -> SplitBarrierRules:
    is_named = isinstance(group.unit, NamedBarrier)
    return NamedBarrierRules(group) if is_named else SplitBarrierRules(group)


class Position(NamedTuple):
    """The position of a wave: its next instruction, the error in it, and whether all is over.

    ``held_up``: a counter that the instruction increments is full. ``after``: the number of the
    wave's state after an instruction that concerns it alone; None for others, and for a wait that
    is not over.
    """

    op: Op
    error: str | None
    ended: bool
    held_up: bool
    after: int | None


_NO_STEPS = (StepKind.END, StepKind.BARRIER)
"""Kinds at which a wave has no step of its own."""

_AT_BARRIERS = range(StepKind.SIGNAL, StepKind.BARRIER_LEAVE + 1)
"""The steps of a wave at a split barrier."""


class WaveMachine(Generic[LineState]):
    """Waves, lines and LDS as one transition system; its states are tuples of numbers.

    A state has one number for each wave, each location in memory, each work-group's LDS, and each
    split barrier, which stand for what the interners hold; so a step only replaces a few numbers.
    """

    def __init__(
        self,
        compiled: CompiledProgram,
        rules: WaveRules,
        line_rules: Sequence[LineRules[LineState]],
    ):
        self.compiled = compiled
        self.rules = rules
        self.line_rules = line_rules
        groups = sorted({each.workgroup for each in compiled.lds})
        self.lds_rules = [LdsRules(compiled, group) for group in groups]
        self.lds_place = [groups.index(each.workgroup) for each in compiled.lds]
        self.waves = len(compiled.ops)
        self.first_lds = self.waves + len(compiled.lines)
        self.first_barrier = self.first_lds + len(groups)
        self.barrier_rules = [_barrier_rules(each) for each in compiled.barriers]
        self.observables = compiled.observables
        self.wave_states: list[Interner[Wave]] = [Interner() for _ in range(self.waves)]
        self.line_states: list[Interner[LineState]] = [Interner() for _ in compiled.lines]
        self.lds_states: list[Interner[LdsState]] = [Interner() for _ in groups]
        self.barrier_states: list[Interner[BarrierState]] = [Interner() for _ in compiled.barriers]
        self._line_events: list[dict[int, list[tuple[int, tuple[Completion, ...], MachineEvent]]]]
        self._line_events = [{} for _ in compiled.lines]
        self._positions: list[dict[int, Position]] = [{} for _ in range(self.waves)]
        self._issued: list[dict[tuple[int, int], list[tuple[int, int, MachineEvent]]]]
        self._issued = [{} for _ in range(self.waves)]
        self._completed: dict[tuple[int, int, int], int] = {}
        self._maintained: list[dict[tuple[int, int], tuple[int, ...]]] = [
            {} for _ in compiled.lines
        ]
        self._queued: list[dict[tuple[int, int], int]] = [{} for _ in compiled.lines]
        self._phases: list[dict[tuple[int, tuple[int, ...]], int | None]]
        self._phases = [{} for _ in compiled.barriers]
        codes = {op.code for op in compiled.by_number}
        self._has_barriers = StepKind.BARRIER in codes

    @property
    def interners(self) -> tuple[Interner[Any], ...]:
        """The interners of the numbers of a state, one after the other."""
        return (*self.wave_states, *self.line_states, *self.lds_states, *self.barrier_states)

    def initial(self) -> State:
        """Every wave at its start, caches empty, memory as the locations say."""
        waves = [
            self.wave_states[wave](self.settled(wave, self.rules.initial(wave)))
            for wave in range(self.waves)
        ]
        lines = [
            intern(rules.initial())
            for intern, rules in zip(self.line_states, self.line_rules, strict=True)
        ]
        lds = [
            intern(rules.initial())
            for intern, rules in zip(self.lds_states, self.lds_rules, strict=True)
        ]
        barriers = [
            intern(rules.initial())
            for intern, rules in zip(self.barrier_states, self.barrier_rules, strict=True)
        ]
        return (*waves, *lines, *lds, *barriers)

    def settled(self, wave: int, state: Wave) -> Wave:
        """A wave as it is kept; one that has ended needs only its results."""
        if state[0] == len(self.compiled.ops[wave]) - 1 and any(state[2]):
            return self.rules.finish(state)
        return state

    def advanced(self, wave: int, state: Wave) -> Wave:
        """A wave after all that it does by itself, until it has something to issue or to wait
        for; where that never ends, somewhere on the way."""
        ops = self.compiled.ops[wave]
        seen: set[Wave] = set()
        while state not in seen:
            op = ops[state[0]]
            if not StepKind.WAIT <= op.code < StepKind.END:
                break
            if self.rules.error(state, op) or not self.rules.can_step(state, op):
                break
            seen.add(state)
            state = self.rules.step(state, op)
        return state

    def successors(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Every state that one step leads to, with the step."""
        result: list[tuple[State, MachineEvent]] = []
        for wave in range(self.waves):
            result += self.wave_steps(state, wave)
        result += self.barrier_steps(state)
        for line in range(len(self.line_rules)):
            result += self.line_steps(state, line)
        for place in range(len(self.lds_rules)):
            result += self.lds_steps(state, place)
        return result

    def position(self, state: State, wave: int) -> "Position":
        """The position of a wave."""
        number = state[wave]
        known = self._positions[wave].get(number)
        if known is None:
            kept = self.wave_states[wave].items[number]
            op = self.compiled.ops[wave][kept[0]]
            ended = op.code is StepKind.END and not any(kept[2])
            error, held_up = self.rules.error(kept, op), self.rules.is_held_up(kept, op)
            after = None
            local = error is None and StepKind.WAIT <= op.code < StepKind.END
            if local and not held_up and self.rules.can_step(kept, op):
                after = self.kept(wave, self.rules.step(kept, op))
            known = Position(op, error, ended, held_up, after)
            self._positions[wave][number] = known
        return known

    def errors(self, state: State) -> list[str]:
        """The errors that waves have run into; such a wave goes no further."""
        found: list[str] = []
        for wave in range(self.waves):
            place = self.position(state, wave)
            error = place.error
            if error is None and self.barrier_rules:
                error = self.barrier_error(state, place.op)
            if error is not None:
                found.append(error)
        return found

    def barrier_error(self, state: State, op: Op) -> str | None:
        """The error in a wave's next step at a named barrier."""
        if op.code not in _AT_BARRIERS:
            return None
        number = self.barrier_of(state, op)
        if number < 0:
            return f"P{op.wave}: {op.instruction}: it has joined no barrier"
        rules = self.barrier_rules[number]
        if not isinstance(rules, NamedBarrierRules):
            return None
        problem = rules.error(self.barrier_state(state, number), op)
        return problem and f"P{op.wave}: {op.instruction}: {problem}"

    def barrier_state(self, state: State, number: int) -> BarrierState:
        """The state of a split barrier."""
        return self.barrier_states[number].items[state[self.first_barrier + number]]

    def barrier_of(self, state: State, op: Op) -> int:
        """The split barrier that ``op`` is for; -1: it is to leave one that the wave has not
        joined."""
        if op.code is not StepKind.BARRIER_LEAVE:
            return op.barrier
        return next((number for number, _ in self.joined_by(state, op.wave)), -1)

    def joined_by(self, state: State, wave: int) -> Iterable[tuple[int, NamedBarrierRules]]:
        """The named barrier that ``wave`` joined last, if any."""
        for number, rules in enumerate(self.barrier_rules):
            if not isinstance(rules, NamedBarrierRules) or wave not in rules.group.waves:
                continue
            if rules.has_joined(self.barrier_state(state, number), wave):
                yield number, rules

    def wave_steps(self, state: State, wave: int) -> list[tuple[State, MachineEvent]]:
        """The steps of a wave on its own: everything but ``s_barrier``."""
        op, error, _, held_up, alone = self.position(state, wave)
        if alone is not None:
            after = (*state[:wave], alone, *state[wave + 1 :])
            return [(after, MachineEvent(MachineEventKind.LOCAL, wave, op.number))]
        if error is not None or held_up or op.code in _NO_STEPS:
            return []
        if op.code <= StepKind.SCALAR_LOAD:
            return self.access_steps(state, wave, op)
        kept = self.wave_states[wave].items[state[wave]]
        if op.code is StepKind.CACHE:
            return self.issue_cache(state, wave, kept, op)
        if op.code not in _AT_BARRIERS or self.barrier_error(state, op) is not None:
            return []
        return self.split_barrier_steps(state, wave, kept, op)

    def access_steps(self, state: State, wave: int, op: Op) -> list[tuple[State, MachineEvent]]:
        """An access is issued, to memory or LDS."""
        at = self.first_lds + self.lds_place[op.line] if op.in_lds else self.waves + op.line
        key = state[wave], state[at]
        known = self._issued[wave].get(key)
        if known is None:
            known = self._issued[wave][key] = self.issues(wave, op, *key)
        result: list[tuple[State, MachineEvent]] = []
        for wave_number, number, event in known:
            after = list(state)
            after[wave] = wave_number
            after[at] = number
            result.append((tuple(after), event))
        return result

    def issues(
        self, wave: int, op: Op, number: int, at: int
    ) -> list[tuple[int, int, MachineEvent]]:
        """The wave and the destination after an access issues, for each value that it hits."""
        kept = self.wave_states[wave].items[number]
        entry, issued = self.rules.entry(kept, op), self.rules.issue(kept, op)
        if op.in_lds:
            place = self.lds_place[op.line]
            lds = self.lds_states[place]
            after = lds(self.lds_rules[place].issue(lds.items[at], op, entry))
            event = MachineEvent(MachineEventKind.ISSUE, wave, op.number, op.line, in_lds=True)
            return [(self.kept(wave, issued), after, event)]
        lines = self.line_states[op.line]
        result: list[tuple[int, int, MachineEvent]] = []
        for line, bound in self.line_rules[op.line].issue(lines.items[at], op, entry):
            then, kind = issued, MachineEventKind.ISSUE
            if bound is not None:
                then, kind = self.rules.complete(issued, op.number, bound), MachineEventKind.HIT
            event = MachineEvent(kind, wave, op.number, op.line, bound)
            result.append((self.kept(wave, then), lines(line), event))
        return result

    def issue_cache(
        self, state: State, wave: int, kept: Wave, op: Op
    ) -> list[tuple[State, MachineEvent]]:
        """A cache instruction is issued, to every line."""
        choices: list[tuple[int, ...]] = []
        for line, rules in enumerate(self.line_rules):
            key = state[self.waves + line], op.number
            known = self._maintained[line].get(key)
            if known is None:
                intern = self.line_states[line]
                known = tuple(map(intern, rules.maintain(intern.items[key[0]], op)))
                self._maintained[line][key] = known
            choices.append(known)
        issued, event = (
            self.rules.issue(kept, op),
            MachineEvent(MachineEventKind.ISSUE, wave, op.number),
        )
        result: list[tuple[State, MachineEvent]] = []
        for lines in product(*choices):
            after = [*state[: self.waves], *lines, *state[self.waves + len(lines) :]]
            self.with_wave(after, wave, issued)
            self.marker_left(after, op)
            result.append((tuple(after), event))
        return result

    def split_barrier_steps(
        self, state: State, wave: int, kept: Wave, op: Op
    ) -> list[tuple[State, MachineEvent]]:
        """A wave arrives at a split barrier, passes it if its phase is complete, or enters or
        leaves."""
        number = self.barrier_of(state, op)
        rules = self.barrier_rules[number]
        pc, regs, queues = kept
        before = self.barrier_state(state, number)
        after = list(state)
        if op.code is StepKind.SIGNAL:
            then = rules.arrived(before, wave, op.signals)
            if op.dst >= 0:
                regs = replaced(regs, op.dst, int(not before[0]))
        elif op.code is StepKind.BARRIER_WAIT:
            then = rules.passed(before, wave)
        else:
            assert isinstance(rules, NamedBarrierRules)
            self.leave_joined(after, op)
            then = self.membership(rules, before, op)
        if then is None:
            return []
        self.with_wave(after, wave, (pc + 1, regs, queues))
        after[self.first_barrier + number] = self.barrier_states[number](then)
        return [(tuple(after), MachineEvent(MachineEventKind.LOCAL, wave, op.number))]

    def leave_joined(self, state: list[int], op: Op) -> None:
        """A wave that joins a barrier has joined no other any more."""
        if op.code is not StepKind.BARRIER_JOIN:
            return
        for number, rules in self.joined_by(tuple(state), op.wave):
            kept = rules.with_member(self.barrier_state(tuple(state), number), op.wave, _OUTSIDE)
            state[self.first_barrier + number] = self.barrier_states[number](kept)

    def membership(self, rules: NamedBarrierRules, before: BarrierState, op: Op) -> BarrierState:
        """After a wave has set up a barrier, joined or left it."""
        if op.code is StepKind.BARRIER_JOIN:
            return rules.with_member(before, op.wave, _JOINED)
        if op.code is StepKind.BARRIER_LEAVE:
            return rules.left(before, op.wave)
        assert op.signals is not None
        return rules.initialised(op.signals, before)

    def phase_steps(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Each split barrier at which all have arrived starts its next phase."""
        if not self.barrier_rules:
            return []
        every = range(self.waves)
        ended = tuple(w for w in every if self.position(state, w).op.code is StepKind.END)
        result: list[tuple[State, MachineEvent]] = []
        for number, known in enumerate(self._phases):
            at = self.first_barrier + number
            key = state[at], ended
            if key not in known:
                known[key] = self._next_phase(number, *key)
            if (after := known[key]) is not None:
                event = MachineEvent(MachineEventKind.PHASE, number)
                result.append((replaced(state, at, after), event))
        return result

    def _next_phase(self, number: int, state: int, ended: Collection[int]) -> int | None:
        rules, intern = self.barrier_rules[number], self.barrier_states[number]
        before = intern.items[state]
        return intern(rules.completed(before)) if rules.is_complete(before, ended) else None

    def barrier_steps(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Each work-group whose waves, but those that ended, are all at a barrier passes it."""
        result = self.phase_steps(state)
        if not self._has_barriers:
            return result
        for group in self.compiled.groups.values():
            waves = [wave for wave in group if wave not in self.compiled.agents]
            codes = [self.position(state, wave).op.code for wave in waves]
            here = [wave for wave, c in zip(waves, codes, strict=True) if c is StepKind.BARRIER]
            if not here or any(c not in (StepKind.BARRIER, StepKind.END) for c in codes):
                continue
            after = list(state)
            for wave in here:
                kept = self.wave_states[wave].items[state[wave]]
                self.with_wave(after, wave, (kept[0] + 1, *kept[1:]))
            result.append((tuple(after), MachineEvent(MachineEventKind.BARRIER, here[0])))
        return result

    def line_steps(
        self, state: State, line: int, cu: int | None = None
    ) -> list[tuple[State, MachineEvent]]:
        """The steps of a line without a wave; of ``cu``: those at its place alone."""
        number = state[self.waves + line]
        events = self._line_events[line].get(number)
        if events is None:
            intern = self.line_states[line]
            events = [
                (intern(after), completions, event)
                for after, completions, event in self.line_rules[line].events(intern.items[number])
            ]
            self._line_events[line][number] = events
        at = self.waves + line
        return [
            (self.stepped(state, at, after, completions), event)
            for after, completions, event in events
            if cu is None or event.place == cu
        ]

    def lds_steps(self, state: State, place: int) -> list[tuple[State, MachineEvent]]:
        """The steps that can be performed in the LDS of a work-group."""
        intern = self.lds_states[place]
        at = self.first_lds + place
        return [
            (self.stepped(state, at, intern(after), completions), event)
            for after, completions, event in self.lds_rules[place].events(intern.items[state[at]])
        ]

    def stepped(
        self, state: State, at: int, number: int, completions: tuple[Completion, ...]
    ) -> State:
        """``state`` with another number ``at`` one place, and the operations that it completes."""
        after = list(state)
        after[at] = number
        for completed, value in completions:
            if value == LEFT_QUEUE:
                self.marker_left(after, self.compiled.by_number[completed])
            else:
                self.completed(after, completed, value)
        return tuple(after)

    def completed(self, state: list[int], number: int, value: int) -> None:
        """An operation is done: its wave learns so."""
        wave = self.compiled.by_number[number].wave
        key = state[wave], number, value
        known = self._completed.get(key)
        if known is None:
            kept = self.wave_states[wave].items[state[wave]]
            known = self._completed[key] = self.kept(wave, self.rules.complete(kept, number, value))
        state[wave] = known

    def marker_left(self, state: list[int], op: Op) -> None:
        """Completes a cache instruction that is in no queue any more (rule 3)."""
        wave = self.wave_states[op.wave].items[state[op.wave]]
        outstanding = self.rules.outstanding(wave, op.number)
        if not outstanding:
            return
        queued = 0
        for line in range(len(self.line_rules)):
            queued = max(queued, self.queued(line, state[self.waves + line], op.number))
        for _ in range(outstanding - queued):
            self.completed(state, op.number, 0)

    def queued(self, line: int, number: int, op: int) -> int:
        """The occurrences of an operation in the queues of the state ``number`` of a line."""
        known = self._queued[line].get((number, op))
        if known is None:
            kept = self.line_states[line].items[number]
            known = self._queued[line][number, op] = self.line_rules[line].queued(kept, op)
        return known

    def with_wave(self, state: list[int], wave: int, kept: Wave) -> list[int]:
        """Puts a wave into ``state``, which it returns."""
        state[wave] = self.kept(wave, kept)
        return state

    def kept(self, wave: int, state: Wave) -> int:
        """The number of a wave's state."""
        return self.wave_states[wave](self.settled(wave, state))

    def has_ended(self, state: State, wave: int) -> bool:
        """True if a wave is at its end and has all its results.

        What carries out copies has also ended where it waits for one to be issued.
        """
        place = self.position(state, wave)
        return place.ended or (bool(self.barrier_rules) and self.is_idle(state, place.op))

    def is_idle(self, state: State, op: Op) -> bool:
        """True if ``op`` waits for the start of a copy that is not coming."""
        if op.code is not StepKind.BARRIER_WAIT or op.wave not in self.compiled.agents:
            return False
        rules, kept = self.barrier_rules[op.barrier], self.barrier_state(state, op.barrier)
        is_start = not cast("CopyPoint", rules.group.unit).is_end
        return is_start and len(kept[0]) == 1 and rules.passed(kept, op.wave) is None

    def final(self, state: State) -> list[tuple[int, ...]]:
        """The outcomes of a state in which everything is over, in the order of ``observables``."""
        if not all(self.has_ended(state, wave) for wave in range(self.waves)):
            return []
        if any(
            any(intern.items[number][1])
            for intern, number in zip(
                self.lds_states, state[self.first_lds : self.first_barrier], strict=True
            )
        ):
            return []
        memory: dict[str, tuple[int, ...]] = {}
        for line, rules in enumerate(self.line_rules):
            kept = self.line_states[line].items[state[self.waves + line]]
            values = rules.final_values(kept)
            if not values:
                return []
            memory[self.compiled.lines[line].name] = values
        for place, rules in enumerate(self.lds_rules):
            values, _ = self.lds_states[place].items[state[self.first_lds + place]]
            for member, value in zip(rules.members, values, strict=True):
                memory[self.compiled.lds[member].name] = (value,)
        return list(product(*(self.observed(state, each, memory) for each in self.observables)))

    def observed(
        self, state: State, observable: Observable, memory: dict[str, tuple[int, ...]]
    ) -> tuple[int, ...]:
        """The values that an observable can have in a final state."""
        if not isinstance(observable, Register):
            return memory[observable.location]
        names = self.compiled.registers[observable.thread]
        kept = self.wave_states[observable.thread].items[state[observable.thread]]
        return (kept[1][names.index(observable.name)],)
