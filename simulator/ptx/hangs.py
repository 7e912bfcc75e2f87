"""Hangs of a PTX program that the memory model allows, beyond its interleavings."""

from collections.abc import Iterator
from functools import partial

from fencewright.lowering.code.bits import bits
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.core.bit_relation import mask_of
from fencewright.simulator.core.execution_graphs import Graph
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.liveness import (
    Stagnation,
    never_visible,
    search,
    waiting_threads,
    why_asleep,
)
from fencewright.simulator.core.progress import Hang
from fencewright.simulator.core.sequential import Interleaved
from fencewright.simulator.ptx.events import interleaved
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.graphs import PtxGraphs, can_be_built
from fencewright.simulator.ptx.instructions import PtxProgram
from fencewright.simulator.ptx.model import PtxExecution, PtxModel, check_version, synchronizes
from fencewright.simulator.ptx.paths import PtxEvent, PtxPath
from fencewright.simulator.ptx.saturation import FinalMemories, Part


def stagnation(
    program: PtxProgram,
    model: PtxModel | None = None,
    bound: int = 1,
    work: WorkBudget | None = None,
) -> Stagnation:
    """The executions without end that the model allows.

    Loops that change something in every round are followed ``bound`` times. Raises
    ``ProgramError`` for a program that means nothing.
    """
    chosen = PtxModel() if model is None else model
    spent = WorkBudget() if work is None else work
    check_version(program, chosen)
    threads = interleaved(program, instruction_text)
    if threads is None or not can_be_built(program):
        return Stagnation(None, _OPEN)
    graphs = _Hangs(program, threads, chosen, bound, spent)
    return search(graphs, threads, spent)


_OPEN = "a barrier is named or counted by a register, so that nobody knows who comes to it"


def _positions(path: PtxPath) -> list[int]:
    return [event.position for event in path.events]


class _Hangs(PtxGraphs[Hang | None]):
    """The stagnant graphs of a program, up to the first that is consistent and fair."""

    def __init__(
        self,
        program: PtxProgram,
        threads: Interleaved,
        model: PtxModel,
        bound: int,
        work: WorkBudget,
    ):
        super().__init__(program, model, bound, work, stagnant=True)
        self.threads = threads
        self.hang: Hang | None = None

    def finish(self, graph: Graph[PtxPath]) -> None:
        for part, x in self.executions(graph):
            found: set[tuple[int, ...]] = set()
            FinalMemories(part, x, (0,) * part.frame.size, found).find()
            if found:
                x.order_fences(synchronizes(part.frame, x.obs), [0] * part.frame.size)
                waiting = waiting_threads(self.threads, graph, _positions)
                unseen = partial(self._unseen, part, x)
                why = why_asleep(self.threads, graph, self.numbers(graph), unseen)
                self.hang = Hang(waiting, tuple(why))
                return

    def result(self) -> Hang | None:
        return self.hang

    def _unseen(self, part: Part, x: PtxExecution, reader: int) -> Iterator[str]:
        """The writes that a repeated read never sees though they come later, or may."""
        events = part.frame.skeleton.events
        location = events[reader].location or ""
        index = part.names.index(location)
        place = part.fair(x, part.places[index])
        co, source = part.order(x, index, place), x.rf_inverse[reader]
        seen = mask_of(w for newest, mask in place.newest if newest == source for w in bits(mask))
        for write in place.writes:
            is_older = co is not None and co[write] >> source & 1
            if write in (source, place.initial) or is_older or seen >> write & 1:
                continue
            event = events[write]
            at = event.thread, event.position
            text = instruction_text(self.program.threads[at[0]].instructions[at[1]])
            reason = self._reason(event, events[reader])
            yield never_visible(self.program, at, text, events[reader].thread, reason)

    def _reason(self, write: PtxEvent, read: PtxEvent) -> str:
        """The reason that a write and a read are not morally strong."""
        for one in (write, read):
            if one.scope is None:
                return f"P{one.thread}'s access is weak"
        for one, other in ((write, read), (read, write)):
            here, there = (self.program.threads[each.thread].placement for each in (one, other))
            scope = one.scope or Scope.SYSTEM
            if not here.shares(there, scope):
                return (
                    f"scope {SCOPE_WORDS[scope]} of P{one.thread} does not include P{other.thread}"
                )
        return "they are through different proxies or addresses"
