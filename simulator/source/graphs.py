"""The behaviour of a ``scoped`` program by building its execution graphs lazily.

For what ``model`` cannot enumerate: programs whose threads have many runs. Held equal to it, and
so to ``definition``, on random programs and on every litmus test.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from fencewright.lowering.code.bits import bits
from fencewright.simulator.core.bit_relation import Mask, Relation, image, is_acyclic, mask_of
from fencewright.simulator.core.execution_graphs import (
    Construction,
    Graph,
    Name,
    ResultT,
)
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.partial_runs import (
    PARTIAL_STEPS,
    UNKNOWN,
    Access,
    PartialRunner,
    Stop,
    may_put_back,
)
from fencewright.simulator.core.thread_runs import EventKind, StepFunctions, Visit
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Combination,
    Event,
    ScopedInstruction,
    ScopedProgram,
    SourceRun,
    SourceRunner,
    ThreadPath,
    accessed,
    check,
    combined,
    skeleton_of,
)
from fencewright.simulator.source.execution import FULL_MODEL, Execution, Frame
from fencewright.simulator.source.model import (
    Behaviour,
    Findings,
    Search,
    chains_of,
    forced_order,
    possible_order,
    thin_air_order,
)


class _PartialSourceRunner(PartialRunner[SourceRun, ThreadPath], SourceRunner):
    """All runs of one thread in which some reads may have no value yet."""

    def begin(self) -> SourceRun:
        self.limits: dict[int, tuple[int | None, int | None]] = {}
        self.blocked = False
        return super().begin()

    def summary(
        self, run: SourceRun
    ) -> tuple[ThreadPath, object, tuple[Access, ...], tuple[Access, ...]]:
        path = replace(self.path(run), blocked=self.blocked)
        reads: list[Access] = []
        writes: list[Access] = []
        for number, event in enumerate(path.events):
            location, needs = event.location or "", path.dependences[number]
            old, new = path.read[number], path.written[number]
            if old is not None:
                only, never = self.limits.get(number, (None, None))
                reads.append(Access(number, location, old, 0, only, never))
            if new is not None:
                writes.append(Access(number, location, new, needs))
        # A runner makes an event once: the same one is as good as an equal one.
        shape = (*map(id, path.events), path.dependences, path.control, self.blocked)
        return path, shape, tuple(reads), tuple(writes)

    def may_skip(self, run: SourceRun, visit: Visit) -> bool:
        """A round whose accesses may race is repeated up to the bound, for its races."""
        return all(
            each.location is None or each.location in self.strong_places
            for each in run.events[visit.events :]
        )

    def partial_cmpxchg(self, run: SourceRun, cmpxchg: Cmpxchg) -> list[SourceRun]:
        """A compare-exchange that writes or not, as is guessed at once: its event differs."""
        number = len(run.events)
        guess = self.guessed(number)
        if guess is None:
            return self.halt(run, Stop.OPEN, guess=number)
        writes = bool(guess)
        compare, new = run.value(cmpxchg.compare), run.value(cmpxchg.new)
        only_reads = (
            writes
            and (new == compare or UNKNOWN in (new, compare))
            and cmpxchg.location in self.strong_places
            and self.only_reads(run)
        )
        if only_reads is None:
            return self.halt(run, Stop.OPEN, guess=~number)
        own, compared = 1 << number, run.taint(cmpxchg.compare)
        needs = run.taint(cmpxchg.compare, cmpxchg.new) | run.control | own
        (old,) = self.domain.choices(cmpxchg.location)
        if UNKNOWN not in (old, compare) and (
            old != compare if writes else (old == compare and not cmpxchg.weak)
        ):
            return self.halt(run, Stop.IMPOSSIBLE)
        if self._never_happens(old, compare, new, writes, bool(only_reads)):
            return self.halt(run, Stop.IMPOSSIBLE)
        if compare != UNKNOWN:
            self.limits[number] = (
                (compare, None) if writes else (None, None if cmpxchg.weak else compare)
            )
        run.assign(cmpxchg.dst, old, own)
        run.assign(cmpxchg.success, int(writes), own | compared)
        if only_reads:
            run.append(self.put_back_event(run, cmpxchg), read=old)
        elif writes:
            run.append(self.event(run, EventKind.UPDATE, cmpxchg), old, new, needs)
        else:
            run.append(self.event(run, EventKind.READ, cmpxchg), read=old)
        return [run]

    def _never_happens(
        self, old: int, compare: int, new: int, writes: bool, only_reads: bool
    ) -> bool:
        """True if an event repeated for ever fails for no reason, or changes memory."""
        if only_reads:
            return UNKNOWN not in (old, new) and old != new
        return self.last_round is not None and not writes and old == compare

    def puts_back(self, run: SourceRun, number: int) -> bool:
        return run.written[number] != UNKNOWN and super().puts_back(run, number)

    def put_back_event(self, run: SourceRun, operation: AtomicRmw | Cmpxchg) -> Event:
        """The read of an update that writes back the value read: of a last round it is all there
        is."""
        key = (EventKind.READ, run.pc, "puts back")
        event = self.event_of.get(key)
        if event is None:
            update = self.event(run, EventKind.UPDATE, operation)
            event = self.event_of[key] = replace(update, kind=EventKind.READ)
        return event

    def partial_rmw(self, run: SourceRun, rmw: AtomicRmw) -> list[SourceRun]:
        """A read-modify-write; in a last round its read alone, since it puts that value back."""
        number, operand = len(run.events), run.value(rmw.value)
        only_reads = (
            may_put_back(rmw.kind, operand)
            and rmw.location in self.strong_places
            and self.only_reads(run)
        )
        if only_reads is None:
            return self.halt(run, Stop.OPEN, guess=~number)
        if not only_reads:
            return self.atomic_rmw(run, rmw)
        (old,) = self.domain.choices(rmw.location)
        new = self.combined(rmw.kind, old, operand)
        if UNKNOWN not in (old, new) and old != new:
            return self.halt(run, Stop.IMPOSSIBLE)
        run.assign(rmw.dst, old, 1 << number)
        run.append(self.put_back_event(run, rmw), read=old)
        return [run]

    def may_block_at(self, instruction: ScopedInstruction) -> bool:
        return isinstance(instruction, Barrier)

    def partial_barrier(self, run: SourceRun, barrier: Barrier) -> list[SourceRun] | None:
        """A barrier, which blocks by threads that wait for ever."""
        number = len(run.events)
        self.barrier(run, barrier)
        if not self.may_wait:
            return None
        blocks = self.guesses.get(number)
        if blocks is None:
            return self.halt(run, Stop.OPEN, guess=number)
        self.blocked = bool(blocks)
        return self.halt(run, Stop.BLOCKED) if blocks else None

    STEPS: ClassVar[StepFunctions] = {
        **SourceRunner.STEPS,
        **PARTIAL_STEPS,
        AtomicRmw: partial_rmw,
        Barrier: partial_barrier,
        Cmpxchg: partial_cmpxchg,
    }


class _Judged:
    """A consistent partial execution, with its coherence order as far as it is forced."""

    def __init__(self, x: Execution, number: Callable[[Name], int], orders: dict[str, Relation]):
        self.x = x
        self.number = number
        self.orders = orders
        self._hidden: dict[int, Mask] = {}
        self._taken = mask_of(x.source[n] for n in x.frame.reads if x.frame.write_mask >> n & 1)

    def may_take(self, read: Name, write: Name) -> bool:
        """False where the source happens after the read, is overwritten before it, or is updated
        by another read-modify-write.
        """
        reader, writer = self.number(read), self.number(write)
        frame = self.x.frame
        location = frame.events[reader].location or ""
        hb = self.x.hb[frame.group[location]]
        if hb[reader] >> writer & 1:
            return False
        if frame.write_mask >> reader & 1 and self._taken >> writer & 1:
            return False
        hidden = self._hidden.get(reader)
        if hidden is None:
            writes = frame.here[location] & frame.write_mask
            hidden = mask_of(w for w in bits(writes) if hb[w] >> reader & 1)
            self._hidden[reader] = hidden
        return not self.orders[location][writer] & hidden


class SourceGraphs(Construction[ThreadPath, ResultT]):
    """The execution graphs of a program."""

    def __init__(
        self, program: ScopedProgram, bound: int, work: WorkBudget, stagnant: bool = False
    ):
        check(program)
        writes: dict[object, int] = {}
        runners = [
            _PartialSourceRunner(program, n, bound, writes) for n in range(len(program.threads))
        ]
        self.words = accessed(program)
        super().__init__(runners, tuple(self.words.items()), work, stagnant=stagnant)
        self.program = program
        self._frames: dict[tuple[int, ...], Frame] = {}
        self._parts: dict[tuple[tuple[int, ...], Mask], Frame] = {}

    def judge(self, graph: Graph[ThreadPath]) -> _Judged | None:
        frame = self.frame(graph)
        if frame.skeleton.deadlocks:
            return None
        source, number, resolved = self.sources(frame, graph)
        x = Execution(self._part(graph, frame, resolved), source)
        self.be_fair(x, graph)
        if any(graph.guesses) and not is_acyclic(thin_air_order(x)):
            return None
        orders: dict[str, Relation] = {}
        for location in frame.locations:
            co = forced_order(x, location)
            if co is None or chains_of(x, location, co) is None:
                return None
            orders[location] = co
        return _Judged(x, number, orders)

    def frame(self, graph: Graph[ThreadPath]) -> Frame:
        key = tuple(run.shape for run in graph.runs)
        frame = self._frames.get(key)
        if frame is None:
            paths = [run.path for run in graph.runs]
            skeleton = skeleton_of(self.program, self.words, paths)
            frame = self._frames[key] = Frame(skeleton, FULL_MODEL)
        return frame

    def _part(self, graph: Graph[ThreadPath], frame: Frame, resolved: Mask) -> Frame:
        """The frame with those of its reads alone that have a source."""
        key = (tuple(run.shape for run in graph.runs), resolved)
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = copy(frame)
            part.reads = tuple(n for n in frame.reads if resolved >> n & 1)
            part.read_mask = resolved
        return part

    def sources(
        self, frame: Frame, graph: Graph[ThreadPath]
    ) -> tuple[list[int], Callable[[Name], int], Mask]:
        """The source of each read, how events are numbered, the reads that have one."""
        number = self.numbers(graph)
        source, resolved = [-1] * frame.size, 0
        for read, write in graph.reads_from():
            reader = number(read)
            source[reader] = number(write)
            resolved |= 1 << reader
        return source, number, resolved

    def be_fair(self, x: Execution, graph: Graph[ThreadPath]) -> None:
        """Set the requirements of fairness on reads that are repeated for ever, as far as known.

        Coherence, from-reads and the order of seq_cst fences have finite pasts. Source: Lahav et
        al., "Making weak memory models fair" (OOPSLA 2021).
        """
        for run, (start, end) in zip(graph.runs, pairwise(self.starts(graph)), strict=True):
            if run.last_round is not None:
                round_ = (1 << end) - (1 << start + run.last_round[0])
                for read in bits(x.frame.read_mask & round_):
                    seen = promised(x, read) | _released(x, round_, read)
                    x.newest.append((x.source[read], seen & ~(1 << x.source[read])))

    def whole(self, graph: Graph[ThreadPath]) -> tuple[Search, Execution, Combination] | None:
        """The execution that a whole graph is; None if a thread waits at a barrier in vain."""
        frame = self.frame(graph)
        source, _, _ = self.sources(frame, graph)
        x = Execution(frame, source)
        if frame.skeleton.barriers and not is_acyclic(possible_order(x)):
            return None
        combination = combined(self.words, frame.skeleton, [run.path for run in graph.runs])
        return Search(combination, frame, self.work), x, combination


class SourceConstruction(SourceGraphs[Behaviour]):
    """The findings in a program's execution graphs, of those that are whole."""

    def __init__(
        self, program: ScopedProgram, bound: int, work: WorkBudget, stagnant: bool = False
    ):
        super().__init__(program, bound, work, stagnant)
        self.findings = Findings(program, self.words)

    def finish(self, graph: Graph[ThreadPath]) -> None:
        found = self.whole(graph)
        if found is not None:
            self.findings.add(*found)

    def result(self) -> Behaviour:
        return self.findings.behaviour(self.complete)


def promised(x: Execution, read: int) -> Mask:
    """The writes that a repeated read sees in the end, unless later ones."""
    frame = x.frame
    if frame.events[read].is_weak:
        return 0
    here = frame.here[frame.events[read].location or ""] & frame.write_mask & frame.inclusive[read]
    return mask_of(w for w in bits(here) if not frame.events[w].is_weak)


def _released(x: Execution, round_: Mask, read: int) -> Mask:
    """The writes before a seq_cst fence that comes before one of the round in the end."""
    frame = x.frame
    location = frame.events[read].location or ""
    fences = frame.seq_cst & frame.acquire_fences
    own = fences & round_
    if not own:
        return 0
    met = own | image(own, frame.inclusive) & fences
    hb = x.hb[frame.group[location]]
    here = frame.here[location] & frame.write_mask
    return mask_of(w for w in bits(here) if hb[w] & met)
