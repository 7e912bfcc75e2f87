"""Hangs of a ``scoped`` program that the model of its language allows, beyond its interleavings."""

from collections.abc import Iterator
from functools import partial

from fencewright.lowering.code.bits import bits
from fencewright.simulator.core.bit_relation import mask_of
from fencewright.simulator.core.execution_graphs import Graph
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.liveness import (
    Stagnation,
    barriers_agree,
    never_visible,
    search,
    waiting_threads,
    why_asleep,
)
from fencewright.simulator.core.progress import Hang
from fencewright.simulator.core.sequential import Interleaved
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.source.events import (
    Event,
    ScopedProgram,
    ThreadPath,
    interleaved,
)
from fencewright.simulator.source.execution import Execution
from fencewright.simulator.source.graphs import SourceConstruction, SourceGraphs
from fencewright.simulator.source.model import Behaviour, forced_order


def stagnation(
    program: ScopedProgram, bound: int = 1, work: WorkBudget | None = None
) -> Stagnation:
    """The executions without end that the model allows.

    Loops that change something in every round are followed ``bound`` times. Raises
    ``ProgramError`` for a program that means nothing.
    """
    spent = WorkBudget() if work is None else work
    threads = interleaved(program)
    graphs = _Hangs(program, threads, bound, spent)
    return search(graphs, threads, spent)


def races_of_hangs(
    program: ScopedProgram, bound: int = 1, work: WorkBudget | None = None
) -> Behaviour:
    """The data races of executions that never end, of which some may be in no execution that ends.

    A race is in the finite part of an execution that shows it, so that memory need not be fair.
    Raises as ``stagnation``.
    """
    spent = WorkBudget() if work is None else work
    graphs = _Races(program, interleaved(program), bound, spent)
    graphs.explore()
    return graphs.result()


def _positions(path: ThreadPath) -> list[int]:
    return [event.position for event in path.events if event.kind is not EventKind.BARRIER]


class _Hangs(SourceGraphs[Hang | None]):
    """The stagnant graphs of a program, up to the first that is consistent and fair."""

    def __init__(self, program: ScopedProgram, threads: Interleaved, bound: int, work: WorkBudget):
        super().__init__(program, bound, work, stagnant=True)
        self.threads = threads
        self.hang: Hang | None = None

    def finish(self, graph: Graph[ThreadPath]) -> None:
        if not barriers_agree(self.threads, graph, _positions):
            return
        found = self.whole(graph)
        if found is None:
            return
        search, x, _ = found
        self.be_fair(x, graph)
        if search.memories(x):
            waiting = waiting_threads(self.threads, graph, _positions)
            unseen = partial(self._unseen, x)
            why = why_asleep(self.threads, graph, self.numbers(graph), unseen)
            self.hang = Hang(waiting, tuple(why))

    def result(self) -> Hang | None:
        return self.hang

    def _unseen(self, x: Execution, reader: int) -> Iterator[str]:
        """The writes that a repeated read never sees though they come later, or may."""
        frame, source = x.frame, x.source[reader]
        location = frame.events[reader].location or ""
        co = forced_order(x, location)
        seen = mask_of(w for newest, mask in x.newest if newest == source for w in bits(mask))
        writes = frame.here[location] & frame.write_mask & ~frame.initial & ~(1 << source) & ~seen
        for write in bits(writes):
            if co is not None and co[write] >> source & 1:
                continue
            event, read = frame.events[write], frame.events[reader]
            reason = _reason(x, event, read, reader)
            at = event.thread, event.position
            yield never_visible(self.program, at, str(event.operation), read.thread, reason)


class _Races(SourceConstruction):
    """The stagnant graphs of a program, with the races of those that are consistent."""

    def __init__(self, program: ScopedProgram, threads: Interleaved, bound: int, work: WorkBudget):
        super().__init__(program, bound, work, stagnant=True)
        self.threads = threads

    def be_fair(self, x: Execution, graph: Graph[ThreadPath]) -> None:
        """Requires nothing of events after a race."""

    def finish(self, graph: Graph[ThreadPath]) -> None:
        if barriers_agree(self.threads, graph, _positions):
            super().finish(graph)


def _reason(x: Execution, write: Event, read: Event, reader: int) -> str:
    """The reason that a write and a read are not atomic for each other."""
    for one in (write, read):
        if one.is_weak:
            return f"P{one.thread}'s access is weak"
    instance = x.frame.instances[reader]
    theirs = mask_of(n for n, each in enumerate(x.frame.events) if each.thread == write.thread)
    one, other = (write, read) if instance & theirs else (read, write)
    return f"scope {one.scope} of P{one.thread} does not include P{other.thread}"
