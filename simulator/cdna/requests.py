"""Requests of a wave that the L1 has not handled yet, on chips that handle them in any order.

On such a chip an operation is issued into a queue of its wave for its line, and a cache instruction
into the one for every line; ``requests_in_order`` of ``rows.Hierarchy`` says which chips these are.
The rules go on from those of ``machine``:

7. The L1 handles the requests of a wave to one line in order, those to different lines in any
   order; then rules 2 and 3 hold. An invalidate is passed by nothing that comes after it, on any
   line: the L1 handles it as it is issued; unless it is ``deferred``, when all that comes after it
   may pass it. A write-back that ``overtakes`` passes what was before it, in this stage and in the
   queue below, as far as it is of the same wave and not acknowledged.
8. A store that is ``acknowledged_early`` is done when the L1 has handled it.

The rules of a line below this stage are those of ``machine`` or of ``engine``.
"""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, cast

from fencewright.simulator.cdna.system import (
    LEFT_QUEUE,
    Completion,
    LineEvent,
    LineRules,
    LineState,
    LineTopology,
    MachineEvent,
    MachineEventKind,
    replaced,
)
from fencewright.simulator.cdna.wave import ID_MASK, CompiledProgram, Entry, Op, StepKind

Queued = tuple[tuple[Entry, ...], ...]
RequestState = tuple[LineState, Queued]
"""(the line below the stage, for each wave its requests, oldest first)."""


class HandledLine(LineRules[LineState], Protocol[LineState]):
    """The interface that the stage needs of a line below it."""

    topology: LineTopology

    def entered(self, state: LineState, op: Op) -> list[LineState]:
        """The states after the L1 has handled a cache instruction."""
        ...


class RequestLine(Generic[LineState]):
    """A line with the requests that wait for its L1."""

    def __init__(self, below: HandledLine[LineState]):
        self.below = below
        self.topology = below.topology
        self.by_number = self.topology.by_number
        self.line = self.topology.line

    def initial(self) -> RequestState[LineState]:
        """Nothing waits."""
        return self.below.initial(), ((),) * len(self.topology.cu_of_wave)

    def issue(
        self, state: RequestState[LineState], op: Op, entry: Entry
    ) -> list[tuple[RequestState[LineState], int | None]]:
        """``op`` waits for the L1."""
        below, waiting = state
        return [((below, replaced(waiting, op.wave, (*waiting[op.wave], entry))), None)]

    def maintain(self, state: RequestState[LineState], op: Op) -> list[RequestState[LineState]]:
        """A cache instruction waits for the L1, if it can matter to this line; or is handled
        now."""
        below, waiting = state
        effect, known = op.effect, self.topology
        if effect.l1 and not effect.deferred:
            return [(after, waiting) for after in self.below.maintain(below, op)]
        cu = known.cu_of_wave[op.wave]
        in_l1 = effect.l1 and cu in known.l1_of_cu
        if not in_l1 and not (effect.marker and cu in known.queue_of_cu):
            return [state]
        return [(below, replaced(waiting, op.wave, (*waiting[op.wave], op.number)))]

    def queued(self, state: RequestState[LineState], number: int) -> int:
        """The number of occurrences of cache instruction ``number`` here and in queues below."""
        below, waiting = state
        here = sum(entry == number for entries in waiting for entry in entries)
        return here + self.below.queued(below, number)

    def ready(self, entries: tuple[Entry, ...]) -> list[int]:
        """The places of the requests of a wave that can be handled next (rule 7)."""
        ops = [self.by_number[entry & ID_MASK] for entry in entries]
        return [
            place
            for place, op in enumerate(ops)
            if all(self.passes(op, earlier) for earlier in ops[:place])
        ]

    def passes(self, op: Op, earlier: Op) -> bool:
        """True if ``op`` may be handled before an ``earlier`` request of its wave."""
        return earlier.effect.deferred or op.effect.overtakes

    def events(self, state: RequestState[LineState]) -> list[LineEvent[RequestState[LineState]]]:
        """Every request that can be handled next, and every event below."""
        below, waiting = state
        result: list[LineEvent[RequestState[LineState]]] = []
        for wave, entries in enumerate(waiting):
            for place in self.ready(entries):
                result += self.handled(state, wave, place)
        for after, completions, event in self.below.events(below):
            left = tuple(each for each in completions if not self.is_acknowledged(each[0]))
            result.append(((after, waiting), left, event))
        return result

    def is_acknowledged(self, number: int) -> bool:
        """True if an operation was complete once the L1 had handled it (rule 8)."""
        return self.by_number[number].acknowledged_early

    def handled(
        self, state: RequestState[LineState], wave: int, place: int
    ) -> list[LineEvent[RequestState[LineState]]]:
        """The L1 handles a request."""
        below, waiting = state
        entries = waiting[wave]
        entry = entries[place]
        op = self.by_number[entry & ID_MASK]
        left = replaced(waiting, wave, (*entries[:place], *entries[place + 1 :]))
        result: list[LineEvent[RequestState[LineState]]] = []
        if op.code is StepKind.CACHE:
            event = MachineEvent(MachineEventKind.REQUEST, wave, op.number, self.line)
            done = ((op.number, LEFT_QUEUE),)
            return [((after, left), done, event) for after in self.below.entered(below, op)]
        for after, bound in self.below.issue(below, op, entry):
            event = MachineEvent(MachineEventKind.REQUEST, wave, op.number, self.line, bound)
            completions: tuple[Completion, ...] = ()
            if bound is not None:
                completions = ((op.number, bound),)
            elif op.acknowledged_early:
                completions = ((op.number, 0),)
            result.append(((after, left), completions, event))
        return result

    def final_values(self, state: RequestState[LineState]) -> tuple[int, ...]:
        """As below, once nothing waits."""
        below, waiting = state
        return () if any(waiting) else self.below.final_values(below)


def places_to_enter(queue: tuple[Entry, ...], op: Op, by_number: list[Op]) -> range:
    """The positions where a cache instruction can enter a CU's queue: its end, or before others."""
    first = len(queue)
    while op.effect.overtakes and first:
        before = by_number[queue[first - 1] & ID_MASK]
        if before.wave != op.wave or before.acknowledged_early:
            break
        first -= 1
    return range(first, len(queue) + 1)


def with_requests(
    compiled: CompiledProgram, lines: Sequence[HandledLine[LineState]]
) -> Sequence[LineRules[LineState]]:
    """``lines`` with a stage of requests before them, if the chip has one.

    Nothing but the stage looks into the states of a line with one (``below_requests``).
    """
    if compiled.hierarchy.requests_in_order:
        return lines
    return cast("list[LineRules[LineState]]", [RequestLine(each) for each in lines])


def below_requests(compiled: CompiledProgram, state: LineState) -> LineState:
    """The state of a line below its stage of requests, or ``state`` if it has none."""
    return state if compiled.hierarchy.requests_in_order else cast("Any", state)[0]


def waiting(compiled: CompiledProgram, state: object) -> Queued:
    """The requests of each wave to a line; () where there is no such stage."""
    return () if compiled.hierarchy.requests_in_order else cast("Any", state)[1]
