"""The behaviour of a ``scoped`` program by building its execution graphs lazily.

For what ``model`` cannot enumerate: programs whose threads have many runs. Held equal to it, and
so to ``definition``, on random programs and on every litmus test.
"""

from collections.abc import Callable
from copy import copy
from typing import ClassVar

from fencewright.lowering.vocabulary import Scope
from fencewright.simulator.core.execution_graphs import INITIAL, Construction, Graph, Name
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.partial_runs import (
    PARTIAL_STEPS,
    UNKNOWN,
    Access,
    PartialRunner,
    Stop,
)
from fencewright.simulator.core.relation import Mask, Relation, bits, is_acyclic, mask_of
from fencewright.simulator.core.thread_runs import StepFunctions, Visit
from fencewright.simulator.source.events import (
    AtomicRmw,
    Cmpxchg,
    EventKind,
    Load,
    ScopedInstruction,
    ScopedProgram,
    SourceRun,
    SourceRunner,
    Store,
    ThreadPath,
    accessed,
    check,
    combined,
    scope_instance,
    skeleton_of,
)
from fencewright.simulator.source.execution import FULL_MODEL, Execution, Frame
from fencewright.simulator.source.model import (
    Behaviour,
    Findings,
    Search,
    chains_of,
    forced_order,
    thin_air_order,
)


class _PartialSourceRunner(PartialRunner[SourceRun, ThreadPath], SourceRunner):
    """All runs of one thread in which some reads may have no value yet.

    ``racing`` are the locations with accesses that race unless something orders them.
    """

    racing: frozenset[str] = frozenset()

    def begin(self) -> SourceRun:
        self.limits: dict[int, tuple[int | None, int | None]] = {}
        return super().begin()

    def summary(
        self, run: SourceRun
    ) -> tuple[ThreadPath, object, tuple[Access, ...], tuple[Access, ...]]:
        path = self.path(run)
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
        shape = (*map(id, path.events), path.dependences)
        return path, shape, tuple(reads), tuple(writes)

    def written(self, instruction: ScopedInstruction) -> tuple[str, ...]:
        if isinstance(instruction, Store | AtomicRmw | Cmpxchg):
            return (instruction.location,)
        return ()

    def may_skip(self, run: SourceRun, visit: Visit) -> bool:
        """A round whose accesses may race is repeated up to the bound, for its races."""
        return not any(each.location in self.racing for each in run.events[visit.events :])

    def partial_cmpxchg(self, run: SourceRun, cmpxchg: Cmpxchg) -> list[SourceRun]:
        """A compare-exchange that writes or not, as is guessed at once: its event differs."""
        number = len(run.events)
        writes = self.guesses.get(number)
        if writes is None:
            return self.halt(run, Stop.OPEN, guess=number)
        compare, new = run.value(cmpxchg.compare), run.value(cmpxchg.new)
        own, compared = 1 << number, run.taint(cmpxchg.compare)
        needs = run.taint(cmpxchg.compare, cmpxchg.new) | run.control | own
        (old,) = self.domain.choices(cmpxchg.location)
        if UNKNOWN not in (old, compare) and (
            old != compare if writes else self._must(old, compare, cmpxchg)
        ):
            return self.halt(run, Stop.IMPOSSIBLE)
        if compare != UNKNOWN:
            self.limits[number] = (
                (compare, None) if writes else (None, None if cmpxchg.weak else compare)
            )
        run.assign(cmpxchg.dst, old, own)
        run.assign(cmpxchg.success, int(writes), own | compared)
        if writes:
            run.append(self.event(run, EventKind.UPDATE, cmpxchg), old, new, needs)
        else:
            run.append(self.event(run, EventKind.READ, cmpxchg), read=old)
        return [run]

    def _must(self, old: int, compare: int, cmpxchg: Cmpxchg) -> bool:
        """Whether a compare-exchange that found ``old`` has to write."""
        return old == compare and not cmpxchg.weak

    STEPS: ClassVar[StepFunctions] = {
        **SourceRunner.STEPS,
        **PARTIAL_STEPS,
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


class SourceConstruction(Construction[ThreadPath, Behaviour]):
    """The execution graphs of a program, and what was found of those that are whole."""

    def __init__(self, program: ScopedProgram, bound: int, work: WorkBudget):
        check(program)
        writes: dict[object, int] = {}
        runners = [
            _PartialSourceRunner(program, n, bound, writes) for n in range(len(program.threads))
        ]
        racing = _racing(program)
        for runner in runners:
            runner.racing = racing
        self.words = accessed(program)
        super().__init__(runners, tuple(self.words.items()), work)
        self.program = program
        self.findings = Findings(program, self.words)
        self._frames: dict[tuple[int, ...], Frame] = {}
        self._parts: dict[tuple[tuple[int, ...], Mask], Frame] = {}

    def judge(self, graph: Graph[ThreadPath]) -> _Judged | None:
        frame = self._frame(graph)
        if frame.skeleton.deadlocks:
            return None
        source, number, resolved = self._sources(frame, graph)
        x = Execution(self._part(graph, frame, resolved), source)
        if any(graph.guesses) and not is_acyclic(thin_air_order(x)):
            return None
        orders: dict[str, Relation] = {}
        for location in frame.locations:
            co = forced_order(x, location)
            if co is None or chains_of(x, location, co) is None:
                return None
            orders[location] = co
        return _Judged(x, number, orders)

    def _frame(self, graph: Graph[ThreadPath]) -> Frame:
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

    def _sources(
        self, frame: Frame, graph: Graph[ThreadPath]
    ) -> tuple[list[int], Callable[[Name], int], Mask]:
        """The source of each read, how events are numbered, the reads that have one."""
        starts = [len(self.initial)]
        for run in graph.runs:
            starts.append(starts[-1] + len(run.path.events))

        def number(name: Name) -> int:
            return name.event if name.thread == INITIAL else starts[name.thread] + name.event

        source, resolved = [-1] * frame.size, 0
        for read, write in graph.reads_from():
            reader = number(read)
            source[reader] = number(write)
            resolved |= 1 << reader
        return source, number, resolved

    def finish(self, graph: Graph[ThreadPath]) -> None:
        frame = self._frame(graph)
        source, _, _ = self._sources(frame, graph)
        combination = combined(self.words, frame.skeleton, [run.path for run in graph.runs])
        search = Search(combination, frame, self.work)
        self.findings.add(search, Execution(frame, source), combination)

    def result(self) -> Behaviour:
        return self.findings.behaviour(self.complete)


def _racing(program: ScopedProgram) -> frozenset[str]:
    """The locations that two threads access, one of them to write, not both atomically for the other."""
    found: set[str] = set()
    accesses = [
        (number, each)
        for number, thread in enumerate(program.threads)
        for each in thread.instructions
        if isinstance(each, Load | Store | AtomicRmw | Cmpxchg)
    ]
    for number, one in accesses:
        for other_number, other in accesses:
            if number == other_number or one.location != other.location or isinstance(one, Load):
                continue
            if not (
                _reaches(program, number, one.scope, other_number)
                and _reaches(program, other_number, other.scope, number)
            ):
                found.add(one.location)
    return frozenset(found)


def _reaches(program: ScopedProgram, thread: int, scope: Scope | None, other: int) -> bool:
    if scope is None:
        return False
    here, there = program.threads[thread].placement, program.threads[other].placement
    return scope_instance(here, thread, scope) == scope_instance(there, other, scope)
