"""The progress mode with fewer states: where fair executions may stay for ever.

``CdnaMachine`` without spontaneous activity is the definition; here is only found out whether, and
from which states on, it has to be looked at. Two reductions:

Order. A step, or a few of which one has to come, that no other step enables, disables or changes
is taken at once, alone: in a fair execution it comes some time, and may as well come first. So are
an issue where the L1 can take in nothing before it, a barrier at which all are, what is queued for
a line that no wave will issue anything to, and at an L2 with the queue of one CU its stores, and
markers that write nothing back. A step that others wait for is enabled until it is taken; so what
is fair stays fair in another order.

Symmetry. Of equal states one is looked at (``Orbits``). A cycle of representatives is a walk among
equal states, on which waves change places; whether it is fair is said of the walk with each wave in
its own place.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.machine import ABSENT, CdnaMachine, PlainLine, PlainState
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.symmetry import Automorphism, Orbits
from fencewright.simulator.cdna.system import MachineEvent, MachineEventKind, State
from fencewright.simulator.cdna.wave import (
    ID_MASK,
    CompiledProgram,
    Futures,
    Op,
    StepKind,
    Wave,
    WaveRules,
)
from fencewright.simulator.core.exploration import Edges, reachable, strongly_connected


def is_reducible(compiled: CompiledProgram) -> bool:
    """True if the reductions are right for a program.

    Not for split barriers, whose waits a later phase may disable, nor for waves that carry out
    copies, nor where an L1 handles requests in any order.
    """
    return not compiled.barriers and not compiled.agents and compiled.hierarchy.requests_in_order


class Step(NamedTuple):
    """The events on the way to a representative, and the automorphism to it; None: it is there.

    After the first event those that are early and have no alternative.
    """

    events: tuple[MachineEvent, ...]
    moved: Automorphism | None


class ProgressEngine(CdnaMachine):
    """The progress mode on few states.

    ``line_rules`` and ``wave_rules`` are for machines that are broken on purpose.
    """

    def __init__(
        self,
        program: CdnaProgram,
        configuration: CdnaConfiguration | None = None,
        line_rules: type[PlainLine] = PlainLine,
        wave_rules: type[WaveRules] = WaveRules,
    ):
        super().__init__(program, configuration, False, line_rules, wave_rules)
        self.futures = Futures(self.compiled)
        self.orbits = Orbits(self)
        self._is_alone = [
            [not t.scalars and t.l2_of_queue.count(l2) == 1 for l2 in t.l2_of_queue]
            for t in self.topologies
        ]
        self._separate: list[dict[int, int]] = [{} for _ in self.line_rules]

    def settled(self, wave: int, state: Wave) -> Wave:
        """A wave goes on by itself until it has something to issue or to wait for."""
        return super().settled(wave, self.advanced(wave, state))

    # The steps that are looked at

    def successors(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Enough of the steps that no hang is missed."""
        return self.early_steps(state) or super().successors(state)

    def early_steps(self, state: State) -> list[tuple[State, MachineEvent]]:
        """Steps of which one comes first as well as any time; [] if there are none."""
        future = [
            each[self.position(state, wave).op.pc] for wave, each in enumerate(self.futures.by_pc)
        ]
        for wave in range(self.waves):
            if self.is_early(state, wave, future):
                return self.wave_steps(state, wave)
        if together := self.barrier_steps(state):
            return together[:1]
        return self.quiet_steps(state, future) or self.separate_steps(state)

    def is_early(self, state: State, wave: int, future: Sequence[int]) -> bool:
        """True if a wave's next instruction can be issued before all that others do.

        That is so if no mate has anything to do with the line, and no response can fill the L1
        before it.
        """
        op, error, _, held_up, _ = self.position(state, wave)
        if error is not None or held_up or op.code >= StepKind.BARRIER:
            return False
        if op.in_lds or op.code is StepKind.SCALAR_LOAD:
            return True
        mates = self.futures.of_mates(wave, future)
        if op.code is not StepKind.CACHE:
            touching = self.futures.cache_bit | 1 << op.line
            return not mates & touching and not self.may_fill(state, wave, op.line)
        if mates or op.effect.scalar or op.effect.is_at_once:
            return False
        return not any(self.may_fill(state, wave, line) for line in range(len(self.line_rules)))

    def may_fill(self, state: State, wave: int, line: int) -> bool:
        """True if something queued may bring a line into the L1 of a wave."""
        topology, cu = self.topologies[line], self.compiled.cu[wave]
        if cu not in topology.l1_of_cu:
            return False
        queue = self.line_state(state, line)[3][topology.queue_of_cu[cu]]
        ops = (self.compiled.by_number[entry & ID_MASK] for entry in queue)
        return any(op.code is StepKind.LOAD and op.l1 for op in ops)

    def quiet_steps(self, state: State, future: Sequence[int]) -> list[tuple[State, MachineEvent]]:
        """The steps of a line with something queued that no wave will issue an access to."""
        coming = 0
        for each in future:
            coming |= each
        for line in range(len(self.line_rules)):
            if not coming >> line & 1 and (steps := self.line_steps(state, line)):
                return steps
        return []

    def separate_steps(self, state: State) -> list[tuple[State, MachineEvent]]:
        """A step of one queue that changes only state that no other queue changes or reads."""
        for line, known in enumerate(self._separate):
            number = state[self.waves + line]
            cu = known.get(number)
            if cu is None:
                kept = self.line_states[line].items[number]
                cu = known[number] = self.separate_queue(line, kept)
            if cu >= 0:
                return self.line_steps(state, line, cu)
        return []

    def separate_queue(self, line: int, kept: PlainState) -> int:
        """The CU of such a queue; -1 if there is none."""
        _, l2s, _, queues, _, _ = kept
        topology = self.topologies[line]
        for at, queue in enumerate(queues):
            if not queue or not self._is_alone[line][at]:
                continue
            op = self.compiled.by_number[queue[0] & ID_MASK]
            if self.is_separate(op, l2s[topology.l2_of_queue[at]]):
                return topology.cus[at]
        return -1

    def is_separate(self, op: Op, held: int) -> bool:
        """True if ``op`` leaves memory unchanged, and has the same effect for any contents."""
        if op.code is StepKind.CACHE:
            return not op.effect.write_back or held == ABSENT or not held & 1
        return op.code is StepKind.STORE and not op.past_l2

    def hurried(self, state: State) -> tuple[State, list[MachineEvent]]:
        """A state after all early steps that have no alternative, and those; of a cycle of them one
        round."""
        events: list[MachineEvent] = []
        passed = {state}
        while len(steps := self.early_steps(state)) == 1 and steps[0][0] not in passed:
            state, event = steps[0]
            passed.add(state)
            events.append(event)
        return state, events

    # Components where executions may stay

    def stays(self, limit: int) -> Iterator[State]:
        """States from which fair executions need not end; from all others each one ends.

        Some state of each fair cycle of the plain machine can be reached from one of them, or from
        one that is equal to it. Raises ``LimitReached``.
        """
        edges = reachable(
            _Representatives(self), [self.orbits.representative(self.initial())], limit
        )
        for component in strongly_connected(edges):
            if self.is_fair(component, edges):
                yield component[0]

    def is_fair(self, component: Sequence[State], edges: Edges[State, Step]) -> bool:
        """True if a fair execution can stay in a strongly connected component.

        It can where a cycle has nothing but early steps: nothing others do changes them.
        """
        first = component[0]
        if not edges[first]:
            return not self.final(first) and not self.errors(first)
        members = set(component)
        if not any(after in members for state in component for after, _ in edges[state]):
            return False
        if self.has_early_cycle(edges, members):
            return True
        taken: set[Hashable] = set()
        waiting: set[Hashable] | None = None
        for state, g in self.walk(first, members, edges):
            taken |= {
                self.process(event, g)
                for after, step in edges[state]
                if after in members
                for event in step.events
            }
            every = CdnaMachine.successors(self, state)
            enabled = {self.process(event, g) for _, event in every}
            waiting = enabled if waiting is None else waiting & enabled
        return waiting is not None and waiting <= taken

    def has_early_cycle(self, edges: Edges[State, Step], members: set[State]) -> bool:
        """True if early steps alone lead from some of ``members`` to one another."""
        early = {state for state in members if self.early_steps(state)}
        inside: Edges[State, Step] = {
            state: [(after, step) for after, step in edges[state] if after in early]
            for state in early
        }
        if any(after == state for state, steps in inside.items() for after, _ in steps):
            return True
        return any(len(component) > 1 for component in strongly_connected(inside))

    def walk(
        self, first: State, members: set[State], edges: Edges[State, Step]
    ) -> Iterator[tuple[State, Automorphism | None]]:
        """The states of a component that can be reached from ``first``, with each wave in its
        place there: representatives, and the automorphism from each to its state."""
        seen = {(first, self._places(None))}
        work: list[tuple[State, Automorphism | None]] = [(first, None)]
        while work:
            state, g = work.pop()
            yield state, g
            for after, (_, moved) in edges[state]:
                back = _after(g, None if moved is None else moved.inverse)
                key = after, self._places(back)
                if after in members and key not in seen:
                    seen.add(key)
                    work.append((after, back))

    def _places(self, g: Automorphism | None) -> tuple[int, ...]:
        return tuple(range(self.waves)) if g is None else g.waves

    def process(self, event: MachineEvent, g: Automorphism | None) -> Hashable:
        """The process that takes a step, in the place to which an automorphism maps it.

        A wave, a queue, LDS operations of a wave at one location, or a work-group at a barrier.
        """
        kind, place, _, line, *_ = event
        if kind is MachineEventKind.BARRIER:
            group = self.compiled.program.threads[place].placement.workgroup
            return kind, group if g is None else g.groups[group]
        if kind in (MachineEventKind.ISSUE, MachineEventKind.HIT, MachineEventKind.LOCAL):
            return place if g is None else g.waves[place]
        if g is None:
            return event.in_lds, line, place
        if event.in_lds:
            return True, g.lds[line], g.waves[place]
        return False, g.lines[line], g.cus[place]


def _after(second: Automorphism | None, first: Automorphism | None) -> Automorphism | None:
    """``first``, and then ``second``; None is the identity."""
    if first is None or second is None:
        return second or first
    return second.after(first)


class _Representatives:
    """The steps of an engine between representatives, each with the automorphism to it."""

    def __init__(self, engine: ProgressEngine):
        self.engine = engine
        self.observables = engine.observables
        self._arrivals: dict[State, tuple[State, Step]] = {}

    def initial(self) -> State:
        return self.engine.orbits.representative(self.engine.initial())

    def successors(self, state: State) -> list[tuple[State, Step]]:
        result: list[tuple[State, Step]] = []
        for first, event in self.engine.successors(state):
            # Different steps meet again: the way on from a state is looked for once.
            arrival = self._arrivals.get(first)
            if arrival is None:
                arrival = self._arrivals[first] = self._arrival(first)
            after, (events, moved) = arrival
            result.append((after, Step((event, *events), moved)))
        return result

    def _arrival(self, first: State) -> tuple[State, Step]:
        orbits = self.engine.orbits
        after, events = self.engine.hurried(first)
        moved = orbits.to_representative(after)
        return after if moved is None else orbits.moved(moved, after), Step(tuple(events), moved)

    def final(self, state: State) -> list[tuple[int, ...]]:
        return self.engine.final(state)

    def errors(self, state: State) -> list[str]:
        return self.engine.errors(state)
