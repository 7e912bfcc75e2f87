"""Building the execution graphs of a program lazily: every run and every reads-from, each once.

A graph has a run of each thread as far as it goes (``partial_runs``), and sources for some of its
reads. One read at a time is resolved: it takes one of the writes that are there, or is *deferred*,
which refuses all of them: its source is a write that has no value, or does not exist, yet. The
alternatives exclude each other, so that no graph is built twice and none is ever revised. The
read with the fewest alternatives comes first; one alternative alone is a forced move.

Every execution in which no value depends on itself has an order in which it is built so: reads
after the writes that they read from and after the reads that those depend on. Load buffering
needs no guess of values. Where a thread waits for a read that only what comes after could
serve, as a compare-and-swap may, whether it writes is guessed.

The idea is that of Kokologiannakis and Vafeiadis, "HMC" (ASPLOS 2020), with deferral in place of
revisits, since which location an instruction accesses never depends on a value here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fencewright.simulator.core.bit_relation import Mask
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.partial_runs import (
    UNKNOWN,
    Access,
    Change,
    Guesses,
    PartialRun,
    PartialRunner,
    Stop,
)
from fencewright.simulator.core.thread_runs import PathT

ResultT = TypeVar("ResultT")

INITIAL = -1
"""The thread of initial writes."""


class Name(NamedTuple):
    """An event for as long as its graph grows: its thread, and its number among its events."""

    thread: int
    event: int


Sources = tuple[Name | None, ...]
"""The source of each read of a thread, in order; None: not known, as are all further ones."""


_WAITING = (Stop.IDLE, Stop.BLOCKED)


@dataclass(frozen=True, slots=True)
class Graph(Generic[PathT]):
    """A partial execution. ``refused`` are the writes that a deferred read does not take."""

    runs: tuple[PartialRun[PathT], ...]
    sources: tuple[Sources, ...]
    guesses: tuple[Guesses, ...]
    refused: Mapping[Name, frozenset[Name]] = field(default_factory=dict[Name, frozenset[Name]])

    def reads_from(self) -> Iterator[tuple[Name, Name]]:
        """The reads that have a source, each with it; repeated ones have the same again."""
        for thread, (run, sources) in enumerate(zip(self.runs, self.sources, strict=True)):
            repeated = run.repeated
            first = len(run.reads) - repeated
            for order, read in enumerate(run.reads):
                known = order if order < first else order - repeated
                source = sources[known] if known < len(sources) else None
                if source is not None:
                    yield Name(thread, read.event), source

    @property
    def waiting(self) -> tuple[int, ...]:
        """The threads that wait for ever."""
        return tuple(n for n, run in enumerate(self.runs) if run.stop in _WAITING)


class _Write(NamedTuple):
    name: Name
    value: int
    needs: Mask


class _Pending(NamedTuple):
    """A read without a source, and the writes that it may take now."""

    thread: int
    order: int
    access: Access
    candidates: tuple[_Write, ...]

    @property
    def name(self) -> Name:
        return Name(self.thread, self.access.event)


class Judgement(Protocol):
    """The consequences of a consistent graph."""

    def may_take(self, read: Name, write: Name) -> bool:
        """False only if no execution that the graph is part of has this source of ``read``."""
        ...


class Construction(ABC, Generic[PathT, ResultT]):
    """All execution graphs of a program that a model finds consistent.

    ``is_in_order``: no read takes a write that comes after it in its own thread. ``complete``:
    no graph was lost to the bound of a loop, or to the limit of ``work``; ``cut`` are the loops
    that were bounded, as threads with where they jump back, each with what it changes.
    ``stagnant``: instead of the graphs in which all threads end, those in which some wait for ever
    and the others have ended. ``twins`` are pairs of threads that are the same to the program: of
    graphs that differ in their exchange alone one is built, so that what is found of one thread is
    to be said of the other too.
    """

    twins: tuple[tuple[int, int], ...] = ()

    def __init__(
        self,
        runners: Sequence[PartialRunner[Any, PathT]],
        initial: Sequence[tuple[str, int]],
        work: WorkBudget,
        is_in_order: bool = True,
        stagnant: bool = False,
    ):
        self.stagnant = stagnant
        self.cut: dict[tuple[int, int], Change] = {}
        for runner in runners:
            runner.may_wait = stagnant
        self.runners = runners
        self.initial = initial
        self.work = work
        self.is_in_order = is_in_order
        self.complete = True
        nothing: tuple[Sources, ...] = ((),) * len(runners)
        runs = tuple(runner.partial((), ()) for runner in runners)
        self._graphs = [Graph(runs, nothing, nothing)]

    @abstractmethod
    def judge(self, graph: Graph[PathT]) -> Judgement | None:
        """The judgement of ``graph``; None only if no execution that it is part of is allowed."""

    @abstractmethod
    def finish(self, graph: Graph[PathT]) -> None:
        """Take notice of a graph that is whole: all reads have a source, and no thread goes on."""

    @abstractmethod
    def result(self) -> ResultT:
        """The result so far."""

    def explore(self, most: int | None = None) -> bool:
        """Build every graph, or ``most`` more; whether that was all."""
        built = 0
        while self._graphs and built != most:
            built += 1
            if not self.work.take(_STEPS):
                self.complete = False
                return True
            self._graphs += self._continued(self._graphs.pop())
        self.complete = self.complete and not self.work.is_spent
        return not self._graphs

    def starts(self, graph: Graph[Any]) -> list[int]:
        """The numbers of the first events of each thread, and of all of them."""
        return [*accumulate((len(r.path.events) for r in graph.runs), initial=len(self.initial))]

    def numbers(self, graph: Graph[Any]) -> Callable[[Name], int]:
        """The number of each event: initial writes first, then thread by thread."""
        starts = self.starts(graph)

        def number(name: Name) -> int:
            return name.event if name.thread == INITIAL else starts[name.thread] + name.event

        return number

    def abandon(self) -> None:
        """Build no more graphs: the search has found its goal."""
        self._graphs.clear()

    def _continued(self, graph: Graph[PathT]) -> list[Graph[PathT]]:
        """The graphs that ``graph`` is the union of; none if it is whole, or leads nowhere."""
        stops = [run.stop for run in graph.runs]
        if Stop.IMPOSSIBLE in stops:
            return []
        if not (self._may_stagnate(graph) if self.stagnant else Stop.IDLE not in stops):
            return []
        if Stop.OPEN in stops:
            return self._guessed(graph, stops.index(Stop.OPEN))
        if Stop.CUT in stops and not self.complete:
            return []
        judgement = self.judge(graph)
        if judgement is None:
            return []
        pending = self._pending(graph, judgement)
        if pending:
            return self._resolved(graph, pending)
        if all(stop in (Stop.ENDED, *_WAITING) for stop in stops):
            self.finish(graph)
            return []
        return self._assumed(graph)

    def _may_stagnate(self, graph: Graph[PathT]) -> bool:
        """True if a thread waits for ever, or may do so when it goes on."""
        return any(
            run.stop in _WAITING or (run.stop is not Stop.ENDED and runner.waits_from(run.pc))
            for run, runner in zip(graph.runs, self.runners, strict=True)
        )

    def _pending(self, graph: Graph[PathT], judgement: Judgement) -> list[_Pending]:
        writes = self._writes(graph)
        found: list[_Pending] = []
        for thread, run in enumerate(graph.runs):
            sources = graph.sources[thread]
            for order, read in enumerate(run.reads[: len(run.reads) - run.repeated]):
                if order < len(sources) and sources[order] is not None:
                    continue
                name = Name(thread, read.event)
                refused = graph.refused.get(name, frozenset())
                candidates = tuple(
                    each
                    for each in writes.get(read.location, ())
                    if each.value not in (UNKNOWN, read.never)
                    and read.only in (None, each.value)
                    and each.name not in refused
                    and not self._is_after(each.name, thread, read.event)
                    and judgement.may_take(name, each.name)
                )
                found.append(_Pending(thread, order, read, candidates))
        return found

    def _writes(self, graph: Graph[PathT]) -> dict[str, list[_Write]]:
        found = {
            location: [_Write(Name(INITIAL, number), value, 0)]
            for number, (location, value) in enumerate(self.initial)
        }
        for thread, run in enumerate(graph.runs):
            for each in run.writes:
                write = _Write(Name(thread, each.event), each.value, each.needs)
                found[each.location].append(write)
        return found

    def _is_after(self, write: Name, thread: int, event: int) -> bool:
        return self.is_in_order and write.thread == thread and write.event > event

    def _resolved(self, graph: Graph[PathT], pending: list[_Pending]) -> list[Graph[PathT]]:
        """The alternatives of the read that has the fewest."""
        service = _Service(self, graph, pending)
        if service.has_dead_end():
            return []
        chosen: tuple[int, bool, _Pending] | None = None
        for each in pending:
            if not each.candidates:
                continue
            may_defer = service.may_defer(each)
            count = len(each.candidates) + may_defer
            if chosen is None or count < chosen[0]:
                chosen = (count, may_defer, each)
                if count == 1:
                    break
        if chosen is None:
            return self._assumed(graph)
        _, may_defer, read = chosen
        exchanges = [each for pair in self.twins if (each := _exchange(graph, pair)) is not None]
        found: list[Graph[PathT]] = []
        earlier: list[Name] = []
        for write in read.candidates:
            refused = _exchanged(graph, read.name, earlier, exchanges)
            if write.name not in refused.get(read.name, frozenset()):
                found.append(self._with_source(graph, read, write.name, refused))
            earlier.append(write.name)
        if may_defer:
            refused = _exchanged(graph, read.name, earlier, exchanges)
            refused[read.name] = refused.get(read.name, frozenset()) | {*earlier}
            found.append(Graph(graph.runs, graph.sources, graph.guesses, refused))
        return found

    def _with_source(
        self,
        graph: Graph[PathT],
        read: _Pending,
        write: Name,
        refused: Mapping[Name, frozenset[Name]],
    ) -> Graph[PathT]:
        known = graph.sources[read.thread]
        known += (None,) * (read.order + 1 - len(known))
        sources = (*known[: read.order], write, *known[read.order + 1 :])
        left = {name: each for name, each in refused.items() if name != read.name}
        return self._rerun(graph, read.thread, sources, graph.guesses[read.thread], left)

    def _rerun(
        self,
        graph: Graph[PathT],
        thread: int,
        sources: Sources,
        guesses: Guesses,
        refused: Mapping[Name, frozenset[Name]],
    ) -> Graph[PathT]:
        """The graph in which more is known of one thread."""
        values = tuple(
            UNKNOWN if source is None else self._value(graph, source) for source in sources
        )
        run = self.runners[thread].partial(values, guesses)
        return Graph(
            (*graph.runs[:thread], run, *graph.runs[thread + 1 :]),
            (*graph.sources[:thread], sources, *graph.sources[thread + 1 :]),
            (*graph.guesses[:thread], guesses, *graph.guesses[thread + 1 :]),
            refused,
        )

    def _value(self, graph: Graph[PathT], write: Name) -> int:
        if write.thread == INITIAL:
            return self.initial[write.event][1]
        writes = graph.runs[write.thread].writes
        return next(each.value for each in writes if each.event == write.event)

    def _assumed(self, graph: Graph[PathT]) -> list[Graph[PathT]]:
        """With a guess for the first thread that waits for an event which needs a guess.

        Where there is none the graph leads nowhere, unless by a loop that was cut.
        """
        for thread, run in enumerate(graph.runs):
            if run.stop is Stop.HELD and run.guess is not None:
                return self._guessed(graph, thread)
        for thread, run in enumerate(graph.runs):
            if run.stop is Stop.CUT and run.change is not None:
                self.complete = False
                self.cut.setdefault((thread, run.pc), run.change)
        return []

    def _guessed(self, graph: Graph[PathT], thread: int) -> list[Graph[PathT]]:
        run = graph.runs[thread]
        event = run.guess
        assert event is not None
        return [
            self._rerun(
                graph,
                thread,
                graph.sources[thread],
                (*graph.guesses[thread], (event, assumed)),
                graph.refused,
            )
            for assumed in run.ways
        ]


_Exchange = Callable[[Name], Name]


def _exchange(graph: Graph[Any], pair: tuple[int, int]) -> _Exchange | None:
    """The exchange of the events of two threads, if it leaves the graph the same."""
    one, other = pair
    if graph.guesses[one] != graph.guesses[other]:
        return None
    swapped = {one: other, other: one}

    def exchanged(name: Name) -> Name:
        return Name(swapped.get(name.thread, name.thread), name.event)

    for thread, sources in enumerate(graph.sources):
        there = tuple(name and exchanged(name) for name in sources)
        if there != graph.sources[swapped.get(thread, thread)]:
            return None
    for name, refused in graph.refused.items():
        if graph.refused.get(exchanged(name)) != frozenset(map(exchanged, refused)):
            return None
    return exchanged


def _exchanged(
    graph: Graph[Any], read: Name, writes: Sequence[Name], exchanges: Sequence[_Exchange]
) -> dict[Name, frozenset[Name]]:
    """The refusals of reads once graphs were built in which ``read`` takes one of ``writes``.

    A graph in which the exchanged read takes the exchanged write is one of those, exchanged.
    """
    refused = dict(graph.refused)
    for exchanged in exchanges:
        there = exchanged(read)
        refused[there] = refused.get(there, frozenset()) | frozenset(map(exchanged, writes))
    return {name: each for name, each in refused.items() if each}


_STEPS = 20
"""The steps of work that a graph counts as."""


class _Service:
    """Reads that may still get a source, by the least fixpoint of the writes that may come about.

    A read may be served by a write that it can take; by one without a value whose reads can all be
    served; by a thread that may still reach a write, once the reads that hold it up are served.
    """

    def __init__(
        self, construction: Construction[Any, Any], graph: Graph[Any], pending: list[_Pending]
    ):
        self.in_order = construction.is_in_order
        self.pending = pending
        threads = len(graph.runs)
        self.open = [0] * threads
        for each in pending:
            self.open[each.thread] |= 1 << each.access.event
        self.unknown: list[tuple[str, int, int, Mask]] = [
            (each.location, thread, each.event, each.needs & self.open[thread])
            for thread, run in enumerate(graph.runs)
            for each in run.writes
            if each.value == UNKNOWN
        ]
        self.waiting: list[tuple[frozenset[str], int, Mask]] = [
            (
                construction.runners[thread].may_write(run.pc),
                thread,
                0 if run.guess is not None else run.held_by & self.open[thread],
            )
            for thread, run in enumerate(graph.runs)
            if run.stop in (Stop.HELD, Stop.CUT)
        ]

    def has_dead_end(self) -> bool:
        """True if a read can get no source at all."""
        return self._served(None) != self.open

    def may_defer(self, read: _Pending) -> bool:
        """True if ``read`` could get a source other than those that it can take now."""
        return self._served(read) == self.open

    def _served(self, deferred: _Pending | None) -> list[Mask]:
        served = [0] * len(self.open)
        for each in self.pending:
            if each.candidates and each is not deferred:
                served[each.thread] |= 1 << each.access.event
        changed = served != self.open
        while changed:
            changed = False
            for each in self.pending:
                bit = 1 << each.access.event
                if not served[each.thread] & bit and self._is_provided(each, served):
                    served[each.thread] |= bit
                    changed = True
        return served

    def _is_provided(self, read: _Pending, served: list[Mask]) -> bool:
        location, own = read.access.location, read.thread
        for where, thread, event, needs in self.unknown:
            if where != location or needs & ~served[thread]:
                continue
            if not (self.in_order and thread == own and event > read.access.event):
                return True
        return any(
            location in reachable and not held_by & ~served[thread]
            for reachable, thread, held_by in self.waiting
            if not (self.in_order and thread == own)
        )


_FIRST_STEPS = 1_000
"""Of enumeration, before any graph is built: small programs are enumerated fastest."""

_TURNS = (5_000, 1_000)
"""The steps of enumeration, and the graphs, of the turn after that: they take about as long."""

_GROWTH = 4
"""The factor by which each turn is longer than the one before."""


def first_decided(
    work: WorkBudget,
    enumerated: Callable[[WorkBudget], ResultT],
    begun: Callable[[WorkBudget], Construction[Any, ResultT]],
) -> ResultT:
    """The result of enumeration or of execution graphs, whichever is there first.

    Programs whose threads have many runs cannot be enumerated; of those in which many writes have
    equal values there are far more graphs than outcomes, of which most lead nowhere. So the two
    take turns, each of which is longer than the one before: together they take no more than a few
    times as long as the faster one alone. What neither decides is as enumeration leaves it.
    """
    first = work.part(_FIRST_STEPS)
    found = enumerated(first)
    if not first.is_spent:
        work.take(first.done)
        return found
    building = work.part()
    construction = begun(building)
    steps, graphs = _TURNS
    while not construction.explore(graphs):
        trying = work.part(steps)
        found = enumerated(trying)
        if not trying.is_spent:
            work.take(trying.done)
            return found
        steps, graphs = _GROWTH * steps, _GROWTH * graphs
    if building.is_spent:
        return enumerated(work)
    work.take(building.done)
    return construction.result()
