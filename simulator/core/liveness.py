"""States in which a program may stay for ever in the models by axioms, and why no waiter wakes.

A *stagnant* graph is an execution in which every thread has ended, or repeats a round of a loop
that changes nothing, or waits at a barrier that nobody completes, and not all have ended. The
program may hang if the axioms hold with each last round taken twice, since what one round acquires
binds the next, and if memory is fair: coherence, from-reads and the order of seq_cst fences have
finite pasts, so that a repeated read cannot miss for ever what it is sure to see in the end.
Threads are scheduled fairly, and all are resident.

Source: Lahav, Namakonov, Oberhauser, Podkopaev and Vafeiadis, "Making weak memory models fair"
(OOPSLA 2021).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fencewright.simulator.core.execution_graphs import Construction, Graph, Name
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.partial_runs import PartialRun, Stop
from fencewright.simulator.core.program import Program, place_at
from fencewright.simulator.core.progress import Hang, WaitingThread, not_written
from fencewright.simulator.core.sequential import Gate, Interleaved


@dataclass(frozen=True, slots=True)
class Stagnation:
    """A hang that the axioms allow, if one was found; ``why`` names the open questions if not."""

    hang: Hang | None = None
    why: str = ""


Positions = Callable[[Any], Iterable[int]]
"""The instructions of a path's events, in order; of two events of one instruction the first."""


def search(
    construction: Construction[Any, Hang | None], program: Interleaved, work: WorkBudget
) -> Stagnation:
    """The first hang that a construction of stagnant graphs results in."""
    is_over = False
    while construction.result() is None and not is_over:
        is_over = construction.explore(1)
    hang = construction.result()
    if hang is not None or construction.complete:
        return Stagnation(hang)
    return Stagnation(None, work.note() or "; ".join(_cut(construction, program)))


def _cut(construction: Construction[Any, Any], program: Interleaved) -> Iterator[str]:
    """Of each bounded loop, its change in every round."""
    for (thread, pc), change in sorted(construction.cut.items()):
        runner = program.runners[thread]
        place = place_at(program.places[thread], runner.target(runner.code[pc]))
        loop = f"P{thread}'s loop{'' if place is None else f' at {place}'}"
        bound = f"it was followed {construction.runners[thread].bound} times"
        if change.position is None:
            yield f"{loop} sets registers that the next round uses; {bound}; raise the bound"
            continue
        text = program.text(runner.code[change.position])
        if change.is_put_back:
            yield (
                f"{loop} puts back what it reads by [{text}], which accesses that are weak or of "
                f"too narrow a scope may observe; {bound}"
            )
        else:
            yield f"{loop} repeats [{text}], which is no read; {bound}; raise the bound"


def barriers_agree(program: Interleaved, graph: Graph[Any], positions: Positions) -> bool:
    """True if threads wait at barriers without a count for others that never come, and only then.

    Those that have ended are not waited for.
    """
    waiting = graph.waiting
    arrived: dict[Gate, dict[int, int]] = {}
    waits: list[tuple[Gate, int, bool]] = []
    for thread, run in enumerate(graph.runs):
        runner = program.runners[thread]
        turns: dict[Gate, int] = {}
        executed = [*positions(run.path)]
        for number, position in enumerate(executed, 1):
            passage = program.passage(thread, runner.code[position], runner.begin())
            if passage is None or passage.gate.count is not None:
                continue
            gate = passage.gate
            if passage.arrives:
                here = arrived.setdefault(gate, {})
                here[thread] = here.get(thread, 0) + 1
            if passage.waits:
                turns[gate] = turns.get(gate, 0) + 1
                is_blocked = run.stop is Stop.BLOCKED and number == len(executed)
                waits.append((gate, turns[gate], is_blocked))
    for gate, turn, is_blocked in waits:
        here = arrived.get(gate, {})
        misses = any(n in gate.members and here.get(n, 0) < turn for n in waiting)
        if misses is not is_blocked:
            return False
    return True


def waiting_threads(
    program: Interleaved, graph: Graph[Any], positions: Positions
) -> tuple[WaitingThread, ...]:
    """The threads that wait, with their repeated steps and reads."""
    found: list[WaitingThread] = []
    for thread in graph.waiting:
        run, runner, places = graph.runs[thread], program.runners[thread], program.places[thread]
        executed = [*positions(run.path)]
        if run.last_round is None:
            found.append(WaitingThread(thread, (), (), place_at(places, executed[-1])))
            continue
        start, second = run.last_round
        repeated = sorted({*(each.position for each in run.path.events[start:second]), run.pc})
        read = (run.reads[order] for order in last_reads(run))
        reads = sorted({(each.location, each.value) for each in read})
        texts = tuple(program.text(runner.code[position]) for position in repeated)
        known = [place for each in repeated if (place := place_at(places, each)) is not None]
        found.append(WaitingThread(thread, texts, tuple(reads), known[0] if known else None))
    return tuple(found)


def why_not_written(program: Interleaved, graph: Graph[Any], thread: int, order: int) -> str:
    """The reason that no write wakes the thread that waits for its read of this number."""
    location = graph.runs[thread].reads[order].location
    still = [
        n
        for n in graph.waiting
        if n != thread and location in program.runners[n].may_write(graph.runs[n].pc)
    ]
    return not_written(location, still)


def why_asleep(
    program: Interleaved,
    graph: Graph[Any],
    number: Callable[[Name], int],
    unseen: Callable[[int], Iterable[str]],
) -> Iterator[str]:
    """For each location that is waited for, the reason that no write wakes a waiter.

    ``number``: of events; ``unseen``: the writes that the read of a number never sees.
    """
    reported: set[str] = set()
    for thread in graph.waiting:
        run = graph.runs[thread]
        for order in last_reads(run):
            read = number(Name(thread, run.reads[order].event))
            for line in [*unseen(read)] or [why_not_written(program, graph, thread, order)]:
                if line not in reported:
                    reported.add(line)
                    yield line


def never_visible(
    program: Program[Any], write: tuple[int, int], text: str, reader: int, reason: str
) -> str:
    """The line of a ``write``, by thread and position, that the thread ``reader`` may never see."""
    thread, position = write
    place = place_at(program.threads[thread].places, position)
    where = "" if place is None else f" at {place}"
    return f"P{thread}'s {text}{where} need never become visible to P{reader}: {reason}"


def last_reads(run: PartialRun[Any]) -> range:
    """The numbers, among its reads, of those of the round that a thread repeats for ever."""
    return range(len(run.reads) - 2 * run.repeated, len(run.reads) - run.repeated)
