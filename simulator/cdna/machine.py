"""The CDNA machine: waves, L1s, queues, L2s and memory, as plainly as they can be stated.

This is the definition; ``cdna_engine`` computes the same outcomes with far fewer states. The
rules that comments refer to:

1. A wave issues in program order. A vector-memory operation goes through its CU's L1 stage
   when issued and increments vmcnt, which retires in order. LDS operations of one wave are
   performed in order and increment lgkmcnt. A counter that is full holds up the next operation
   that it counts. (``cdna_wave``)
2. L1 stage. A load that may hit (``AccessEffect.l1``) and finds its line present is bound at
   once, else it queues. A store updates a present line, or with wider bits drops it, or on chips
   where it may (``AccessEffect.brings_in``) leaves a line where none was; it queues.
   Other loads and atomics drop the line and queue. An L1 invalidate empties the L1 now.
3. From each CU to its L2 there is one FIFO for each line; FIFOs of different lines drain in any
   order. The L1 fetches a line only while the CU has no store, atomic or L2 invalidate queued
   for it. Markers (write-back, L2 part of an invalidate) enter every FIFO of the CU, and are
   complete when they have left all of them. An L2 invalidate that is no marker is done as it is
   issued.
4. At the L2 an access hits a present line, or fetches it; a store or atomic leaves it dirty.
   An access past the L2 writes a dirty line back first, drops the line, and is done at memory;
   but a load finds a dirty line of its own L2 there, and leaves it as it is. A marker writes a
   dirty line back, or drops a clean nonlocal one. A write that reaches memory drops clean copies of
   a LOCAL location in the other L2s.
5. Any clean line may vanish, any line may be fetched, any dirty line may be written back, at
   any time. Without this spontaneous activity: the progress mode, in which each line of an L1 or L2
   may have been fetched before the first instruction, or not.
6. Scalar loads go through a cache of their own, which only ``s_dcache_inv`` empties. It may
   hold lines from before the first instruction; in the progress mode it does.

On chips whose L1 handles requests in any order (gfx1250) it does so some time after their issue;
rules 7 and 8 are in ``requests``. There a dirty line serves no load that goes past it.

Final memory is what memory holds when every queue has drained and every dirty line has been
written back; two dirty copies of a line in two L2s are written back in either order.
Every location has a cache line of its own. The scalar cache is one per CU. docs/cdna-machine.md has
the evidence for each rule.
"""

from collections.abc import Iterable

from fencewright.lowering.cdna.chips import CacheNames
from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.requests import (
    Queued,
    below_requests,
    places_to_enter,
    waiting,
    with_requests,
)
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import (
    LEFT_QUEUE,
    Completion,
    LineTopology,
    MachineEvent,
    MachineEventKind,
    State,
    WaveMachine,
    replaced,
)
from fencewright.simulator.cdna.wave import ID_MASK, CompiledProgram, Entry, Op, StepKind, WaveRules
from fencewright.simulator.core.program import MemoryKind

ABSENT = -1
EITHER = -2
"""A clean line that was there before the first instruction, or was not: the first access finds the
one or the other. In the progress mode alone.
"""

PlainState = tuple[
    int,
    tuple[int, ...],
    tuple[int, ...],
    tuple[tuple[Entry, ...], ...],
    tuple[int, ...],
    tuple[tuple[int, ...], ...],
]
"""(memory, L2s, L1s, queues, scalar caches, scalar loads in flight).

A line in an L2 is ``value << 1 | dirty``, in an L1 or scalar cache its value; or ABSENT, or EITHER.
"""


class PlainLine:
    """Everything that the machine knows about one location."""

    def __init__(self, topology: LineTopology, spontaneous: bool = True):
        self.topology = topology
        self.spontaneous = spontaneous
        self.kind = topology.location.kind

    def initial(self) -> PlainState:
        """Nothing queued; nothing cached, but without spontaneous activity all that may be (rules
        5, 6).

        With it caches may fetch their lines before the first instruction.
        """
        t = self.topology
        l1 = ABSENT if self.spontaneous else EITHER
        scalar = ABSENT if self.spontaneous else t.location.initial
        return (
            t.location.initial,
            (ABSENT if self.kind is MemoryKind.UNCACHED else l1,) * len(t.l2s),
            (l1,) * len(t.l1s),
            ((),) * len(t.cus),
            (scalar,) * len(t.scalars),
            ((),) * len(t.scalars),
        )

    def issue(self, state: PlainState, op: Op, entry: Entry) -> list[tuple[PlainState, int | None]]:
        """Rule 2. The states after ``op``; with the value of a load that hit."""
        memory, l2s, l1s, queues, scalars, pending = state
        cu = self.topology.cu_of_wave[op.wave]
        if op.code is StepKind.SCALAR_LOAD:
            at = self.topology.scalar_of_cu[cu]
            later = tuple(sorted((*pending[at], op.number)))
            return [((memory, l2s, l1s, queues, scalars, replaced(pending, at, later)), None)]
        l1 = self.topology.l1_of_cu.get(cu)
        if l1 is not None and l1s[l1] == EITHER and op.l1:
            found: list[tuple[PlainState, int | None]] = []
            for held in (ABSENT, self.topology.location.initial):
                known = (memory, l2s, replaced(l1s, l1, held), queues, scalars, pending)
                found += self.issue(known, op, entry)
            return found
        if l1 is not None and l1s[l1] != ABSENT and op.code is StepKind.LOAD and op.l1:
            return [(state, l1s[l1])]
        at = self.topology.queue_of_cu[cu]
        queues = replaced(queues, at, (*queues[at], entry))
        left = [l1s]
        if l1 is not None:
            left = [replaced(l1s, l1, each) for each in self.left(l1s[l1], op, entry)]
        return [((memory, l2s, each, queues, scalars, pending), None) for each in left]

    def left(self, held: int, op: Op, entry: Entry) -> tuple[int, ...]:
        """The values that an L1 may hold after an access that queues; it held ``held`` before."""
        if op.code is not StepKind.STORE or not op.l1:
            return (ABSENT,)
        if held != ABSENT:
            return (self.stored(op, entry),)
        return (ABSENT, self.stored(op, entry)) if op.brings_in else (ABSENT,)

    def stored(self, op: Op, entry: Entry) -> int:
        """The value that a store writes."""
        value = op.written(0, entry)
        assert value is not None
        return value

    def maintain(self, state: PlainState, op: Op) -> list[PlainState]:
        """Rules 2, 3 and 6: a cache instruction as it is issued, as far as this line goes."""
        return self.entered(state, op)

    def entered(self, state: PlainState, op: Op) -> list[PlainState]:
        """A cache instruction is handled by the L1, and enters its queue where it may (rule 7)."""
        memory, l2s, l1s, queues, scalars, pending = state
        cu = self.topology.cu_of_wave[op.wave]
        if op.effect.l1 and cu in self.topology.l1_of_cu:
            l1s = replaced(l1s, self.topology.l1_of_cu[cu], ABSENT)
        if op.effect.scalar and cu in self.topology.scalar_of_cu:
            scalars = replaced(scalars, self.topology.scalar_of_cu[cu], ABSENT)
        if op.effect.is_at_once and cu in self.topology.queue_of_cu:
            l2 = self.topology.l2_of_queue[self.topology.queue_of_cu[cu]]
            memory, l2s = self.marked(memory, l2s, l2, op)
        if not op.effect.marker or cu not in self.topology.queue_of_cu:
            return [(memory, l2s, l1s, queues, scalars, pending)]
        at = self.topology.queue_of_cu[cu]
        queue = queues[at]
        result: list[PlainState] = []
        for place in places_to_enter(queue, op, self.topology.by_number):
            entered = replaced(queues, at, (*queue[:place], op.number, *queue[place:]))
            result.append((memory, l2s, l1s, entered, scalars, pending))
        return result

    def queued(self, state: PlainState, number: int) -> int:
        """The number of times that marker ``number`` is in a queue of this line."""
        return sum(entry == number for queue in state[3] for entry in queue)

    def events(
        self, state: PlainState
    ) -> list[tuple[PlainState, tuple[Completion, ...], MachineEvent]]:
        """Everything that can happen next to this line without a wave."""
        t = self.topology
        result = [
            self.drain(known, at, queue[0])
            for at, queue in enumerate(state[3])
            if queue
            for known in self.come_to(state, at, queue[0])
        ]
        for at, numbers in enumerate(state[5]):
            l2 = t.l2_of_queue[t.queue_of_cu[t.scalars[at]]]
            result += [
                self.scalar(known, at, number)
                for number in sorted(set(numbers))
                for known in self.found(state, l2)
            ]
        if self.spontaneous:
            result += [(after, (), event) for after, event in self.activity(state)]
        return result

    def come_to(self, state: PlainState, at: int, entry: Entry) -> list[PlainState]:
        """The possible states of an L2 that the head of a queue reaches.

        A marker does not look: it writes a dirty line back, which this is not, or drops a clean
        one, after which it is absent. What it leaves may still be there or not.
        """
        if self.topology.by_number[entry & ID_MASK].code is StepKind.CACHE:
            return [state]
        return self.found(state, self.topology.l2_of_queue[at])

    def found(self, state: PlainState, l2: int) -> list[PlainState]:
        """The possible states of an L2 at an access: EITHER counts as absent while memory is the
        same.
        """
        memory, l2s, l1s, queues, scalars, pending = state
        if l2s[l2] != EITHER:
            return [state]
        initial = self.topology.location.initial
        held = (ABSENT,) if memory == initial else (ABSENT, initial << 1)
        known = (replaced(l2s, l2, each) for each in held)
        return [(memory, each, l1s, queues, scalars, pending) for each in known]

    def drain(
        self, state: PlainState, at: int, entry: Entry
    ) -> tuple[PlainState, tuple[Completion, ...], MachineEvent]:
        """Rule 4: the head of a queue reaches the L2."""
        memory, l2s, l1s, queues, scalars, pending = state
        queues = replaced(queues, at, queues[at][1:])
        op = self.topology.by_number[entry & ID_MASK]
        cu, l2 = self.topology.cus[at], self.topology.l2_of_queue[at]
        line = self.topology.line
        if op.code is StepKind.CACHE:
            memory, l2s = self.marked(memory, l2s, l2, op)
            after = (memory, l2s, l1s, queues, scalars, pending)
            left = ((op.number, LEFT_QUEUE),)
            return after, left, MachineEvent(MachineEventKind.MARKER, cu, op.number, line)
        if op.past_l2 and not self.finds_dirty(op, l2s[l2]):
            memory, l2s = self.written_back(memory, l2s, l2)
            old = memory
            new = op.written(old, entry)
            l2s = replaced(l2s, l2, ABSENT)
            if new is not None:
                memory, l2s = new, self.probed(l2s, l2)
        else:
            held = memory << 1 if l2s[l2] == ABSENT else l2s[l2]
            old = held >> 1
            new = op.written(old, entry)
            l2s = replaced(l2s, l2, held if new is None else new << 1 | 1)
        if not self.spontaneous and op.code is StepKind.LOAD:
            l1s = self.answered(l1s, queues, at, op, old)
        reads = op.code is not StepKind.STORE
        event = MachineEvent(
            MachineEventKind.PERFORM, cu, op.number, line, old if reads else None, new
        )
        result = old if op.dst >= 0 else 0
        return (memory, l2s, l1s, queues, scalars, pending), ((op.number, result),), event

    def finds_dirty(self, op: Op, held: int) -> bool:
        """True if the L2 serves a load that would go past it (rule 4)."""
        serves = self.topology.hierarchy.dirty_serves_loads and op.code is StepKind.LOAD
        return serves and held != ABSENT and bool(held & 1)

    def answered(
        self,
        l1s: tuple[int, ...],
        queues: tuple[tuple[Entry, ...], ...],
        at: int,
        op: Op,
        value: int,
    ) -> tuple[int, ...]:
        """Rule 3 without spontaneous activity: a response fills the L1 if it may."""
        l1 = self.topology.l1_of_cu.get(self.topology.cus[at])
        if l1 is None or not op.l1 or self.blocked(queues[at]):
            return l1s
        return replaced(l1s, l1, value)

    def marked(
        self, memory: int, l2s: tuple[int, ...], l2: int, op: Op
    ) -> tuple[int, tuple[int, ...]]:
        """A marker reaches the L2."""
        if op.effect.write_back:
            memory, l2s = self.written_back(memory, l2s, l2)
        clean = l2s[l2] != ABSENT and not l2s[l2] & 1
        if op.effect.invalidate and clean and self.kind is MemoryKind.NONLOCAL:
            l2s = replaced(l2s, l2, ABSENT)
        return memory, l2s

    def written_back(
        self, memory: int, l2s: tuple[int, ...], l2: int
    ) -> tuple[int, tuple[int, ...]]:
        """The L2's line, if dirty, goes to memory and stays as a clean one."""
        held = l2s[l2]
        if held == ABSENT or not held & 1:
            return memory, l2s
        return held >> 1, self.probed(replaced(l2s, l2, held & ~1), l2)

    def probed(self, l2s: tuple[int, ...], writer: int) -> tuple[int, ...]:
        """After a write to memory: the lines that probes leave in the other L2s."""
        if self.kind is not MemoryKind.LOCAL:
            return l2s
        return tuple(held if at == writer or held & 1 else ABSENT for at, held in enumerate(l2s))

    def blocked(self, queue: tuple[Entry, ...]) -> bool:
        """True if the L1 may not take the line in (rule 3)."""
        blocking = self.topology.blocking
        return any(entry & ID_MASK in blocking for entry in queue)

    def scalar(
        self, state: PlainState, at: int, number: int
    ) -> tuple[PlainState, tuple[Completion, ...], MachineEvent]:
        """Rule 6: a scalar load is served by its cache, which fetches from the L2."""
        memory, l2s, l1s, queues, scalars, pending = state
        cu = self.topology.scalars[at]
        if scalars[at] == ABSENT:
            l2 = self.topology.l2_of_queue[self.topology.queue_of_cu[cu]]
            if l2s[l2] == ABSENT and self.kind is not MemoryKind.UNCACHED:
                l2s = replaced(l2s, l2, memory << 1)
            scalars = replaced(scalars, at, memory if l2s[l2] == ABSENT else l2s[l2] >> 1)
        value = scalars[at]
        left = list(pending[at])
        left.remove(number)
        after = (memory, l2s, l1s, queues, scalars, replaced(pending, at, tuple(left)))
        event = MachineEvent(MachineEventKind.PERFORM, cu, number, self.topology.line, value)
        return after, ((number, value),), event

    def activity(self, state: PlainState) -> Iterable[tuple[PlainState, MachineEvent]]:
        """Rule 5: fetches, evictions and write-backs that nothing asked for."""
        memory, l2s, l1s, queues, scalars, pending = state
        t = self.topology
        for at, held in enumerate(l2s):
            l2 = t.l2s[at]
            if held == ABSENT:
                if self.kind is MemoryKind.UNCACHED:
                    continue
                kind, after = MachineEventKind.FETCH, (memory, replaced(l2s, at, memory << 1))
            elif held & 1:
                kind, after = MachineEventKind.WRITE_BACK, self.written_back(memory, l2s, at)
            else:
                kind, after = MachineEventKind.EVICT, (memory, replaced(l2s, at, ABSENT))
            event = MachineEvent(kind, l2, line=t.line, written=after[0])
            yield (*after, l1s, queues, scalars, pending), event
        for at, held in enumerate(l1s):
            if held != ABSENT:
                after = (memory, l2s, replaced(l1s, at, ABSENT), queues, scalars, pending)
                yield after, MachineEvent(MachineEventKind.EVICT_L1, t.l1s[at], line=t.line)
                continue
            value = self.below(memory, l2s, t.l1s[at])
            if value != ABSENT and not self.blocked(queues[t.queue_of_cu[t.l1s[at]]]):
                after = (memory, l2s, replaced(l1s, at, value), queues, scalars, pending)
                yield (
                    after,
                    MachineEvent(MachineEventKind.FILL_L1, t.l1s[at], line=t.line, written=value),
                )
        for at, held in enumerate(scalars):
            value = self.below(memory, l2s, t.scalars[at]) if held == ABSENT else ABSENT
            if held == value:
                continue
            kind = MachineEventKind.FILL_SCALAR if held == ABSENT else MachineEventKind.EVICT_SCALAR
            after = (memory, l2s, l1s, queues, replaced(scalars, at, value), pending)
            yield after, MachineEvent(kind, t.scalars[at], line=t.line, written=value)

    def below(self, memory: int, l2s: tuple[int, ...], cu: int) -> int:
        """The version that a cache of ``cu`` would fetch from its L2 now, or ABSENT."""
        if self.kind is MemoryKind.UNCACHED:
            return memory
        held = l2s[self.topology.l2_of_queue[self.topology.queue_of_cu[cu]]]
        return ABSENT if held == ABSENT else held >> 1

    def final_values(self, state: PlainState) -> tuple[int, ...]:
        """The values that memory can end with, if nothing is in flight any more, else none."""
        memory, l2s, _, queues, _, pending = state
        if any(queues) or any(pending):
            return ()
        return tuple({held >> 1 for held in l2s if held != ABSENT and held & 1}) or (memory,)


class CdnaMachine(WaveMachine[PlainState]):
    """The plain machine. ``spontaneous=False`` is the progress mode.

    ``line_rules`` and ``wave_rules`` are for machines that are broken on purpose.
    """

    def __init__(
        self,
        program: CdnaProgram,
        configuration: CdnaConfiguration | None = None,
        spontaneous: bool = True,
        line_rules: type[PlainLine] = PlainLine,
        wave_rules: type[WaveRules] = WaveRules,
    ):
        compiled = CompiledProgram(program, configuration or CdnaConfiguration())
        self.topologies = [LineTopology(compiled, line) for line in range(len(compiled.lines))]
        lines = [line_rules(each, spontaneous) for each in self.topologies]
        super().__init__(compiled, wave_rules(compiled), with_requests(compiled, lines))

    def copied(self, other: "CdnaMachine", state: State) -> State:
        """The state of this machine that is as one of another machine of the same program."""
        pairs = zip(self.interners, other.interners, strict=True)
        return tuple(
            own(its.items[number]) for (own, its), number in zip(pairs, state, strict=True)
        )

    def line_state(self, state: State, line: int) -> PlainState:
        """The machine's state of a location, below the stage of requests if it has one."""
        kept = self.line_states[line].items[state[self.waves + line]]
        return below_requests(self.compiled, kept)

    def requests(self, state: State, line: int) -> Queued:
        """The requests to a location that each wave has issued and its L1 has not handled yet."""
        return waiting(self.compiled, self.line_states[line].items[state[self.waves + line]])

    def describe_line(self, state: State, line: int) -> str:
        """The holders of a location's versions, for people."""
        memory, l2s, l1s, queues, _, _ = self.line_state(state, line)
        t = self.topologies[line]
        parts = [f"memory {memory}"]
        for l2, held in zip(t.l2s, l2s, strict=True):
            if held not in (ABSENT, EITHER):
                dirty = " dirty" if held & 1 else ""
                parts.append(f"{self.describe_l2(l2)}: {held >> 1}{dirty}")
        for cu, held in zip(t.l1s, l1s, strict=True):
            if held not in (ABSENT, EITHER):
                parts.append(f"{self.caches.l1} of {self.describe_cu(cu)}: {held}")
        for cu, queue in zip(t.cus, queues, strict=True):
            if queue:
                ops = "; ".join(str(self.compiled.by_number[each & ID_MASK]) for each in queue)
                parts.append(f"queued by {self.describe_cu(cu)}: {ops}")
        return f"{t.location.name}: " + ", ".join(parts)

    def describe_cu(self, cu: int) -> str:
        """A CU by its place."""
        agent, xcd, number = self.compiled.cu_names[cu]
        return f"agent {agent} {self.caches.share} {xcd} CU {number}"

    def describe_l2(self, l2: int) -> str:
        """An L2 by its place, as the chip calls it."""
        agent, xcd = self.compiled.l2_names[l2]
        return f"{self.caches.l2} of agent {agent} {self.caches.share} {xcd}"

    @property
    def caches(self) -> CacheNames:
        """The chip's names of its caches."""
        return self.compiled.configuration.row.caches

    def describe_event(self, event: MachineEvent) -> str:
        """A step, for people."""
        compiled = self.compiled
        name = ""
        if event.line >= 0:
            name = (compiled.lds if event.in_lds else compiled.lines)[event.line].name
        op = compiled.by_number[event.number] if event.number >= 0 else None
        read = "" if event.read is None else f", reads {event.read}"
        written = "" if event.written is None else f", writes {event.written}"
        match event.kind:
            case MachineEventKind.ISSUE:
                return f"{op} issued"
            case MachineEventKind.HIT:
                return f"{op} hits the {self.caches.l1}{read}"
            case MachineEventKind.REQUEST if event.read is not None:
                return f"{op} comes to the {self.caches.l1} and hits it{read}"
            case MachineEventKind.REQUEST:
                return f"{op} comes to the {self.caches.l1} for {name}"
            case MachineEventKind.LOCAL:
                return f"{op}"
            case MachineEventKind.BARRIER:
                group = compiled.program.threads[event.place].placement.workgroup
                return f"work-group {group} passes s_barrier"
            case MachineEventKind.PHASE:
                group = compiled.barriers[event.place]
                waves = ", ".join(f"P{wave}" for wave in group.waves)
                return f"all of {waves} that have not ended have arrived at barrier {group.unit}"
            case MachineEventKind.PERFORM:
                return f"{op} performed{read}{written}"
            case MachineEventKind.MARKER:
                return f"{op} done for {name}"
            case MachineEventKind.FETCH | MachineEventKind.EVICT | MachineEventKind.WRITE_BACK:
                what = f"{self.describe_l2(event.place)} {_ACTIVITY[event.kind]} {name}"
                return what if event.kind is MachineEventKind.EVICT else f"{what}={event.written}"
            case (
                MachineEventKind.FILL_L1
                | MachineEventKind.EVICT_L1
                | MachineEventKind.FILL_SCALAR
                | MachineEventKind.EVICT_SCALAR
            ):
                what = f"{_ACTIVITY[event.kind].format(l1=self.caches.l1)} {name}"
                fills = event.kind in (MachineEventKind.FILL_L1, MachineEventKind.FILL_SCALAR)
                value = f"={event.written}" if fills else ""
                return f"{self.describe_cu(event.place)}: {what}{value}"


_ACTIVITY = {
    MachineEventKind.FETCH: "fetches",
    MachineEventKind.EVICT: "evicts",
    MachineEventKind.WRITE_BACK: "writes back",
    MachineEventKind.FILL_L1: "{l1} takes in",
    MachineEventKind.EVICT_L1: "{l1} evicts",
    MachineEventKind.FILL_SCALAR: "scalar cache takes in",
    MachineEventKind.EVICT_SCALAR: "scalar cache evicts",
}
