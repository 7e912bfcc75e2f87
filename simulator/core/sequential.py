"""Hangs under sequential consistency: threads take turns, reads see the last write.

No axiom of the models of the source and of PTX forbids an interleaving, so that a program which
hangs in a fair one hangs in those models too. The opposite does not hold: a program may hang in
weaker executions alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.condition import Observable
from fencewright.simulator.core.exploration import Component, stuck_components
from fencewright.simulator.core.program import Places, place_at
from fencewright.simulator.core.progress import Hang, WaitingThread, not_written
from fencewright.simulator.core.thread_runs import Domain, Runner

UNBOUNDED = 1 << 60
"""The bound of loops for runners whose steps are taken one by one: the states are bounded."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A barrier. ``count`` is how many arrivals complete a phase, None when all ``members`` do.

    Of members those that have ended are not waited for. ``numbered``: a wait names its phase,
    as at an mbarrier, where ``count`` is that of the first phase, 0 before there is one. Gates of
    one ``kind`` with different names have no members in common.
    """

    kind: object
    name: object = None
    members: frozenset[int] = frozenset()
    count: int | None = None
    numbered: bool = False


class Counted(NamedTuple):
    """The amounts that an operation takes from the counts of a numbered gate.

    ``arrivals`` that are awaited no longer, ``copies`` that are expected from now on less those
    that are complete, arrivals ``dropped`` from later phases too. ``starts`` the gate anew with a
    count, 0 ends it.
    """

    arrivals: int = 0
    copies: int = 0
    dropped: int = 0
    starts: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """The action of an instruction at a gate.

    At a numbered one: what it takes from the counts, one operation after another; the ``phase``
    that a wait names, ``by_parity`` that of the phase before the current one. ``sets``: a register
    that gets the parity of the phase it arrives in, or whether the phase that it looks for is
    complete.
    """

    gate: Gate
    arrives: bool = False
    waits: bool = False
    phase: int = 0
    by_parity: bool = False
    counted: tuple[Counted, ...] = ()
    sets: str | None = None


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A program as its interleavings need it.

    ``passage`` says what an instruction that a thread has just run does at a gate, ``text`` how
    it is written. ``in_steps``: one instruction after another is all there is to a thread.
    """

    runners: Sequence[Runner[Any, Any]]
    places: Sequence[Places]
    initial: Mapping[str, int]
    passage: Callable[[int, Any, Any], Passage | None]
    text: Callable[[Any], str]
    in_steps: bool = True

    @property
    def is_straight(self) -> bool:
        """True if no thread can repeat anything, or wait except where all others come or end."""
        gates: set[object] = set()
        for number, runner in enumerate(self.runners):
            for position, each in enumerate(runner.code):
                if isinstance(each, runner.BRANCHES) and runner.target(each) <= position:
                    return False
                passage = self.passage(number, each, runner.begin())
                if passage is not None:
                    if passage.gate.count is not None or not passage.arrives:
                        return False
                    gates.add(passage.gate.kind)
        return len(gates) <= 1


class _Memory(Domain):
    """The values that locations have now, with the last that was read; ``used`` by the last
    step."""

    def __init__(self, initial: Mapping[str, int]):
        super().__init__(initial)
        self.now = dict(initial)
        self.read: tuple[str, int] | None = None
        self.used = False

    def choices(self, location: str) -> tuple[int, ...]:
        """The one value that a read can return."""
        value = self.now.setdefault(location, 0)
        self.read, self.used = (location, value), True
        return (value,)

    def derive(self, location: str, value: int, bit: Mask, reads: object) -> bool:
        """A write, which always happens."""
        self.now[location] = value
        self.used = True
        return True


class Waiting(NamedTuple):
    """A thread at a gate, for ``phase`` if the gate is numbered; ``position`` is where it waits.

    Without a gate it goes no further.
    """

    gate: Gate | None
    phase: int
    position: int
    by_parity: bool = False


class ThreadState(NamedTuple):
    """A thread: its next instruction, its registers by name, and its wait."""

    pc: int
    registers: tuple[tuple[str, int], ...]
    waiting: Waiting | None = None


class GateState(NamedTuple):
    """A gate: arrivals of this phase, by thread where all members count."""

    arrived: tuple[int, ...]


class Counts(NamedTuple):
    """A numbered gate: phases done, arrivals that are awaited, in this phase and in each,
    copies."""

    phase: int
    pending: int
    expected: int
    copies: int = 0

    def after(self, operation: Counted) -> "Counts":
        """The gate after an operation, which may complete its phase."""
        expected = self.expected - operation.dropped
        pending, copies = self.pending - operation.arrivals, self.copies + operation.copies
        if pending or copies:
            return Counts(self.phase, pending, expected, copies)
        return Counts(self.phase + 1, expected, expected)

    def is_complete(self, phase: int, by_parity: bool) -> bool:
        """True if a phase is complete."""
        return self.phase % 2 != phase if by_parity else self.phase > phase


State: TypeAlias = tuple[
    tuple[ThreadState, ...],
    tuple[tuple[str, int], ...],
    frozenset[tuple[Gate, "GateState | Counts | None"]],
]


class SequentialStep(NamedTuple):
    """The step of a thread: one instruction that others may notice, or a jump back."""

    thread: int
    position: int
    read: tuple[str, int] | None


class Interleavings:
    """All interleavings of a program, as a transition system."""

    def __init__(self, program: Interleaved):
        self.program = program
        self.memory = _Memory(program.initial)
        for runner in program.runners:
            runner.domain = self.memory

    @property
    def observables(self) -> tuple[Observable, ...]:
        """Nothing: only whether it ends is asked."""
        return ()

    def initial(self) -> State:
        """Before the first instruction."""
        threads = tuple(
            ThreadState(0, tuple(sorted(runner.begin().registers.items())))
            for runner in self.program.runners
        )
        return threads, tuple(sorted(self.program.initial.items())), frozenset()

    def has_ended(self, thread: int, state: ThreadState) -> bool:
        """True if a thread has nothing more to do."""
        return state.waiting is None and state.pc >= len(self.program.runners[thread].code)

    def final(self, state: State) -> Sequence[tuple[int, ...]]:
        """One outcome, of no observables, when all threads have ended."""
        return [()] if all(self.has_ended(n, each) for n, each in enumerate(state[0])) else []

    def errors(self, state: State) -> Sequence[str]:
        """None: errors of a program are no matter of interleavings."""
        return ()

    def successors(self, state: State) -> Sequence[tuple[State, SequentialStep]]:
        """One step of each thread that can take one."""
        return [
            self._step(state, number)
            for number, each in enumerate(state[0])
            if each.waiting is None and not self.has_ended(number, each)
        ]

    def _step(self, state: State, number: int) -> tuple[State, SequentialStep]:
        threads, memory, gates = state
        runner, domain = self.program.runners[number], self.memory
        run = runner.begin()
        run.pc, run.registers = threads[number].pc, dict(threads[number].registers)
        domain.now, domain.read, domain.used = dict(memory), None, False
        runner.paths.clear()
        passage, waiting, position = None, None, run.pc
        while run.pc < len(runner.code) and not domain.used and passage is None:
            position = run.pc
            instruction = runner.code[position]
            run.pc += 1
            # A step that may fail for no reason succeeds: success is the first of its outcomes.
            forks = runner.STEPS[type(instruction)](runner, run, instruction)
            if forks is not None and not forks:
                waiting = Waiting(None, 0, position)
                break
            run = run if forks is None else forks[0]
            passage = self.program.passage(number, instruction, run)
            if run.pc <= position:
                break
        if passage is not None and passage.sets is not None:
            run.registers[passage.sets] = self._found(dict(gates), passage)
        registers = tuple(sorted(run.registers.items()))
        after = list(threads)
        after[number] = ThreadState(run.pc, registers, waiting)
        if passage is not None or gates:
            gates = self._meet(after, dict(gates), number, position, passage)
        now = tuple(sorted(domain.now.items()))
        return (tuple(after), now, gates), SequentialStep(number, position, domain.read)

    # Gates

    def _meet(
        self,
        threads: list[ThreadState],
        gates: "dict[Gate, GateState | Counts | None]",
        number: int,
        position: int,
        passage: Passage | None,
    ) -> "frozenset[tuple[Gate, GateState | Counts | None]]":
        """Pass a gate or wait at it, then let through each thread that need not wait any longer."""
        if passage is not None:
            gate = passage.gate
            if gate.numbered:
                gates[gate] = self._counts(gates, passage)
            else:
                gates[gate] = self._arrived(gates, passage, number, len(threads))
            if passage.waits:
                waiting = Waiting(gate, passage.phase, position, passage.by_parity)
                threads[number] = threads[number]._replace(waiting=waiting)
        before: list[ThreadState] = []
        while before != threads:
            # A released thread may have ended, so that no thread waits for it any longer.
            before = list(threads)
            self.let_through(threads, gates)
        return frozenset(gates.items())

    def let_through(
        self, threads: list[ThreadState], gates: "dict[Gate, GateState | Counts | None]"
    ) -> None:
        """Let through each thread that need not wait any longer at a gate as it is."""
        for gate, state in gates.items():
            if isinstance(state, GateState):
                gates[gate] = self._settled(threads, gates, gate, state)
            elif state is not None:
                self._release(
                    threads, gate, lambda _, w, now=state: now.is_complete(w.phase, w.by_parity)
                )

    @staticmethod
    def _before(gates: "Mapping[Gate, GateState | Counts | None]", gate: Gate) -> Counts | None:
        """A numbered gate as it is."""
        state = gates.get(gate, Counts(0, gate.count or 0, gate.count or 0) if gate.count else None)
        return state if isinstance(state, Counts) else None

    def _counts(
        self, gates: "Mapping[Gate, GateState | Counts | None]", passage: Passage
    ) -> Counts | None:
        """A numbered gate after an instruction at it."""
        state = self._before(gates, passage.gate)
        for each in passage.counted:
            if each.starts is not None:
                state = Counts(0, each.starts, each.starts) if each.starts else None
            elif state is not None:
                state = state.after(each)
        return state

    def _found(self, gates: "Mapping[Gate, GateState | Counts | None]", passage: Passage) -> int:
        """The result of an instruction at a numbered gate: the parity that it arrives in, or 1 for
        a complete phase.
        """
        state = self._before(gates, passage.gate)
        if state is None:
            return 0
        if passage.counted:
            return state.phase % 2
        return int(state.is_complete(passage.phase, passage.by_parity))

    @staticmethod
    def _arrived(
        gates: "Mapping[Gate, GateState | Counts | None]",
        passage: Passage,
        number: int,
        threads: int,
    ) -> GateState:
        """A gate after a thread has perhaps arrived."""
        gate = passage.gate
        known = gates.get(gate)
        if not isinstance(known, GateState):
            known = GateState((0,) * (threads if gate.count is None else 1))
        if not passage.arrives:
            return known
        own = number if gate.count is None else 0
        return GateState(tuple(n + (i == own) for i, n in enumerate(known.arrived)))

    def awaited(
        self,
        threads: Sequence[ThreadState],
        gates: "Mapping[Gate, GateState | Counts | None]",
        gate: Gate,
    ) -> list[int]:
        """The members that have to come to a gate without a count: those that have not ended."""
        return [n for n in gate.members if not self.has_ended(n, threads[n])]

    def _settled(
        self,
        threads: list[ThreadState],
        gates: "Mapping[Gate, GateState | Counts | None]",
        gate: Gate,
        state: GateState,
    ) -> GateState:
        here = self.awaited(threads, gates, gate) if gate.count is None else []
        while (after := self._completed(here, gate, state)) is not None:
            state = after
            if gate.count is not None:
                self._release(threads, gate, lambda number, waiting: True)
        if gate.count is None:
            arrived = state.arrived
            self._release(threads, gate, lambda number, waiting: not arrived[number])
        return state

    @staticmethod
    def _completed(here: Sequence[int], gate: Gate, state: GateState) -> GateState | None:
        """The gate's next phase; None while this one is not complete, for which ``here`` have to
        come."""
        arrived = state.arrived
        if gate.count is None:
            if not here or not all(arrived[n] for n in here):
                return None
            return GateState(tuple(max(0, each - 1) for each in arrived))
        if arrived[0] < gate.count:
            return None
        return GateState((arrived[0] - gate.count,))

    @staticmethod
    def _release(
        threads: list[ThreadState], gate: Gate, may: Callable[[int, Waiting], bool]
    ) -> None:
        for number, each in enumerate(threads):
            if each.waiting is not None and each.waiting.gate == gate and may(number, each.waiting):
                threads[number] = each._replace(waiting=None)


def sequential_hangs(program: Interleaved, limit: int) -> tuple[Hang, ...]:
    """Every hang of a fair interleaving of ``program``; () if each one ends.

    Raises ``LimitReached`` when ``limit`` states are not enough to know.
    """
    system = Interleavings(program)
    components = stuck_components(system, lambda step: step.thread, limit)
    return tuple(_hang(system, each) for each in components)


def _hang(system: Interleavings, component: Component[State, SequentialStep]) -> Hang:
    program = system.program
    found: list[WaitingThread] = []
    for number, state in enumerate(component.states[0][0]):
        if system.has_ended(number, state):
            continue
        code, places = program.runners[number].code, program.places[number]
        steps = [each for each in component.events if each.thread == number]
        if not steps:
            at = state.pc if state.waiting is None else state.waiting.position
            found.append(WaitingThread(number, (), (), place_at(places, at)))
            continue
        positions = sorted({each.position for each in steps})
        reads = sorted({each.read for each in steps if each.read is not None})
        texts = tuple(program.text(code[position]) for position in positions)
        known = [place for each in positions if (place := place_at(places, each)) is not None]
        found.append(WaitingThread(number, texts, tuple(reads), known[0] if known else None))
    return Hang(tuple(found), tuple(_details(system, component)))


def _details(system: Interleavings, component: Component[State, SequentialStep]) -> Iterator[str]:
    """The reason that no thread changes an awaited location, where none does."""
    program = system.program
    threads = component.states[0][0]
    memories = [dict(memory) for _, memory, _ in component.states]
    changed = {name for each in memories for name in each if each[name] != memories[0].get(name)}
    read = {(each.read[0], each.thread) for each in component.events if each.read}
    for location, waiting in sorted(read):
        still = [
            number
            for number, state in enumerate(threads)
            if number != waiting and location in program.runners[number].may_write(state.pc)
        ]
        if location not in changed:
            yield not_written(location, still)
