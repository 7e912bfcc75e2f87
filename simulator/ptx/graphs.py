"""The outcomes of a PTX program by building its execution graphs lazily.

For what ``model`` cannot enumerate: programs whose threads have many runs. Held equal to it, and
so to ``definition``, on random programs and on every litmus test.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import ClassVar

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.graph import walk
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.simulator.core.bit_relation import Mask, Relation, is_acyclic, mask_of
from fencewright.simulator.core.condition import (
    FinalStates,
    Memory,
    Observable,
    Outcomes,
    Register,
    observable_order,
)
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
from fencewright.simulator.core.thread_runs import EventKind, StepFunctions
from fencewright.simulator.ptx.events import (
    PtxEvent,
    PtxPath,
    PtxRun,
    PtxRunner,
    initial_words,
    registers_of,
    skeletons,
    unmet,
)
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    AsyncRelease,
    Atom,
    Bar,
    BarrierRole,
    ClusterBarrier,
    CompareBranch,
    CopyArrive,
    MbarrierWait,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    TensorCommit,
    TensorMap,
    TensorProduct,
    WgmmaProduct,
    accesses,
    mbarrier_of,
)
from fencewright.simulator.ptx.model import PtxExecution, PtxFrame, PtxModel, barriers, synchronizes
from fencewright.simulator.ptx.saturation import (
    FinalMemories,
    Part,
    Place,
    with_sources,
)


class PartialPtxRunner(PartialRunner[PtxRun, PtxPath], PtxRunner):
    """All runs of one thread in which some reads may have no value yet."""

    def summary(
        self, run: PtxRun
    ) -> tuple[PtxPath, object, tuple[Access, ...], tuple[Access, ...]]:
        path = self.path(run, blocked=self.blocked)
        events = path.events
        shape = (
            tuple(
                (e.position, e.kind.value, e.location, e.phase, e.passes, e.parity) for e in events
            ),
            path.dependences,
            path.read_modify_writes,
            path.order,
            path.issued,
            path.started,
            path.blocked,
            path.control,
        )
        reads = tuple(self._accesses(path, EventKind.READ))
        return path, shape, reads, tuple(self._accesses(path, EventKind.WRITE))

    def _accesses(self, path: PtxPath, kind: EventKind) -> Iterator[Access]:
        for number, event in enumerate(path.events):
            if event.kind is kind:
                needs = path.dependences[number]
                yield Access(number, event.location or "", path.values[number], needs)

    def begin(self) -> PtxRun:
        self.blocked = False
        self.writes_nothing = False
        return super().begin()

    def read(self, run: PtxRun, event: PtxEvent, register: str | None) -> list[PtxRun]:
        (value,) = self.domain.choices(event.location or "")
        number = run.append(event, value, 0)
        if register is not None:
            run.assign(register, value, 1 << number)
        return [run]

    def puts_back(self, run: PtxRun, number: int) -> bool:
        return run.values[number] != UNKNOWN and super().puts_back(run, number)

    def partial_atomic(self, run: PtxRun, atomic: Atom) -> list[PtxRun]:
        """An atomic; in a last round its read alone, since it only puts back the value read."""
        number = len(run.events)
        only_reads = self._may_put_back(run, atomic) and self.only_reads(run)
        if only_reads is None:
            return self.halt(run, Stop.OPEN, guess=~number)
        before, self.writes_nothing = run.read_modify_writes, only_reads
        (fork, *_) = self.atomic(run, atomic) or [run]
        if only_reads:
            fork.read_modify_writes = before
            if self.writes_nothing and self.last_round is None:
                # That it fails is what the other guess is about.
                self.halt(run, Stop.IMPOSSIBLE)
            self.writes_nothing = False
        return [fork]

    def _may_put_back(self, run: PtxRun, atomic: Atom) -> bool:
        """True if an atomic may write back the value that it read, if all accesses are strong."""
        if self.locations[atomic.location] not in self.strong_places:
            return False
        operand = run.value(atomic.operand)
        if atomic.compare is None:
            return may_put_back(atomic.operation, operand)
        compare = run.value(atomic.compare)
        return operand == compare or UNKNOWN in (operand, compare)

    def write(self, run: PtxRun, event: PtxEvent, value: int, dependences: Mask) -> bool:
        if not self.writes_nothing:
            return super().write(run, event, value, dependences)
        self.writes_nothing = False
        if UNKNOWN not in (run.values[-1], value) and run.values[-1] != value:
            self.halt(run, Stop.IMPOSSIBLE)
        nothing = PtxEvent(EventKind.FENCE, event.thread, event.position)
        run.append(nothing, 0, 0)
        return True

    def exchanges(self, run: PtxRun, read: int, old: int, expected: int) -> bool:
        """True if a compare-and-swap writes; if its read is unknown, as it is guessed."""
        known = None if UNKNOWN in (old, expected) else old == expected
        return bool(self.as_known(run, read, known))

    def as_known(
        self, run: PtxRun, guess: int, known: int | None, ways: tuple[int, ...] = (False, True)
    ) -> int | None:
        """The value that depends on a read: as ``known``, or as guessed, or None for now.

        By the key ``guess`` one of ``ways``. The run stops for what is not known, or guessed
        wrongly.
        """
        guessed = self.guessed(guess)
        if known is None and guessed is None:
            self.halt(run, Stop.HELD, guess=guess, ways=ways)
        elif None not in (known, guessed) and known != guessed:
            self.halt(run, Stop.IMPOSSIBLE)
        return guessed if known is None else known

    def either(self, run: PtxRun, *ways: int) -> tuple[int, ...]:
        number = len(run.events)
        guess = self.guessed(number)
        if guess is not None or len(ways) == 1:
            return ways[:1] if guess is None else (guess,)
        self.halt(run, Stop.OPEN, guess=number, ways=ways)
        return ()

    def exists(self, run: PtxRun, read: int) -> bool | None:
        value = run.values[read]
        exists = self.as_known(run, read, None if value == UNKNOWN else bool(value))
        return None if exists is None else bool(exists)

    def described(self, run: PtxRun, read: int, tensor_map: TensorMap) -> int | None:
        known = None if run.values[read] == UNKNOWN else super().described(run, read, tensor_map)
        return self.as_known(run, read, known, tuple(range(len(tensor_map.choices))))

    def asked(self, run: PtxRun, wait: MbarrierWait) -> int | None:
        if not self.unknown(run, wait.phase):
            known = super().asked(run, wait)
        elif wait.dst is None:
            self.halt(run, Stop.HELD, run.taint(wait.phase))
            return None
        else:
            known = None
        return self.as_known(run, ~len(run.events), known, (0, 1)) if wait.dst else known

    def goes_no_further(self, run: PtxRun) -> None:
        self.blocked = True
        self.halt(run, Stop.BLOCKED)

    def multiplied(self, a: int, b: int, accumulated: int) -> int:
        unknown = UNKNOWN in (a, b, accumulated)
        return UNKNOWN if unknown else super().multiplied(a, b, accumulated)

    def adds(self, run: PtxRun, step: WgmmaProduct | TensorProduct) -> bool | None:
        known = None if self.unknown(run, step.adds) else super().adds(run, step)
        adds = self.as_known(run, ~len(run.events), known)
        return None if adds is None else bool(adds)

    def may_block(self, run: PtxRun) -> list[PtxRun]:
        event = len(run.events) - 1
        blocks = self.guesses.get(event)
        if blocks is None:
            return self.halt(run, Stop.OPEN, guess=event)
        if blocks:
            self.blocked = True
            return self.halt(run, Stop.BLOCKED)
        return [run]

    def may_block_at(self, instruction: PtxInstruction) -> bool:
        match instruction:
            case Bar() | ClusterBarrier():
                return instruction.role is not BarrierRole.ARRIVE
            case MbarrierWait() if instruction.dst is None:
                return True
            case _:
                mbarrier = mbarrier_of(instruction)
                return mbarrier is not None and not self.program.mbarriers[mbarrier]

    def partial_barrier(self, run: PtxRun, barrier: Bar | ClusterBarrier) -> list[PtxRun] | None:
        """A barrier; without a count, it may block only by threads that wait for ever."""
        is_of_cluster = isinstance(barrier, ClusterBarrier)
        forks = self.cluster_barrier(run, barrier) if is_of_cluster else self.barrier(run, barrier)
        if forks is not None:
            return forks
        return self.may_block(run) if self.may_wait and self.may_block_at(barrier) else None

    def partial_compare_branch(self, run: PtxRun, branch: CompareBranch) -> list[PtxRun] | None:
        """Go to a label, or on; wait for the operands."""
        if self.unknown(run, branch.left, branch.right):
            return self.halt(run, Stop.HELD, run.taint(branch.left, branch.right))
        return self.compare_branch(run, branch)

    STEPS: ClassVar[StepFunctions] = {
        **PtxRunner.STEPS,
        **PARTIAL_STEPS,
        Atom: partial_atomic,
        Bar: partial_barrier,
        ClusterBarrier: partial_barrier,
        CompareBranch: partial_compare_branch,
    }


class _Judged:
    """A consistent partial execution, with its coherence order as far as it is forced."""

    def __init__(
        self,
        x: PtxExecution,
        number: Callable[[Name], int],
        orders: Mapping[str, tuple[Place, Relation]],
    ):
        self.x = x
        self.number = number
        self.orders = orders
        self._hidden: dict[int, Mask] = {}

    def may_take(self, read: Name, write: Name) -> bool:
        """False where the source comes after the read, is overwritten before it, or taken by
        another atomic.
        """
        x, frame = self.x, self.x.frame
        reader, writer = self.number(read), self.number(write)
        if (x.cause[reader] | frame.po_loc[reader]) >> writer & 1:
            return False
        place, co = self.orders[frame.skeleton.events[reader].location or ""]
        hidden = self._hidden.get(reader)
        if hidden is None:
            hidden = mask_of(
                w
                for w in place.writes
                if (x.cause[w] | frame.po_loc[w] & frame.ms[w]) >> reader & 1
            )
            self._hidden[reader] = hidden
        if co[writer] & hidden:
            return False
        for update in bits(frame.rmw[reader]):
            both = frame.ms[reader] & frame.ms[update] & co[writer]
            if not co[writer] >> update & 1:
                continue
            if any(x.rf_inverse[r] == writer and both >> u & 1 for r, u in place.updates):
                return False
        return True


class PtxGraphs(Construction[PtxPath, ResultT]):
    """The execution graphs of a program."""

    def __init__(
        self,
        program: PtxProgram,
        model: PtxModel,
        bound: int,
        work: WorkBudget,
        stagnant: bool = False,
    ):
        writes: dict[object, int] = {}
        runners = [PartialPtxRunner(program, n, bound, writes) for n in range(len(program.threads))]
        initial = tuple(initial_words(program).items())
        super().__init__(runners, initial, work, _is_in_order(program), stagnant)
        self.program = program
        self.model = model
        self._parts: dict[tuple[int, ...], Part] = {}
        self._whole: dict[tuple[int, ...], list[Part]] = {}

    def judge(self, graph: Graph[PtxPath]) -> "_Judged | None":
        key = tuple(run.shape for run in graph.runs)
        part = self._parts.get(key)
        if part is None:
            paths = [run.path for run in graph.runs]
            frame = PtxFrame(unmet(self.program, self.initial, paths), self.model, self.work)
            part = self._parts[key] = Part(frame, self.last_rounds(graph))
        frame = part.frame
        x, number, resolved = self.execution(frame, graph)
        if any(x.frame.po_loc[read] >> x.rf_inverse[read] & 1 for read in bits(resolved)):
            return None
        if any(graph.guesses) and not _is_from_somewhere(x):
            return None
        x.order_fences(synchronizes(frame, x.obs), [0] * frame.size)
        orders: dict[str, tuple[Place, Relation]] = {}
        for n, place in enumerate(part.places):
            present = part.fair(x, with_sources(place, resolved))
            co = part.order(x, n, present)
            if co is None:
                return None
            orders[part.names[n]] = present, co
        return _Judged(x, number, orders)

    def last_rounds(self, graph: Graph[PtxPath]) -> tuple[Mask, ...]:
        """The events of the last round of each thread that waits in a loop."""
        return tuple(
            (1 << end) - (1 << start + run.last_round[0])
            for (start, end), run in zip(pairwise(self.starts(graph)), graph.runs, strict=True)
            if run.last_round is not None
        )

    def execution(
        self, frame: PtxFrame, graph: Graph[PtxPath]
    ) -> tuple[PtxExecution, Callable[[Name], int], Mask]:
        """The execution with a graph's reads-from, the numbers of its events, the reads with a
        source."""
        number = self.numbers(graph)
        rf, source, resolved = [0] * frame.size, [0] * frame.size, 0
        for read, write in graph.reads_from():
            reader, writer = number(read), number(write)
            rf[writer] |= 1 << reader
            source[reader] = writer
            resolved |= 1 << reader
        return PtxExecution(frame, rf, source), number, resolved

    def met(self, graph: Graph[PtxPath], paths: list[PtxPath]) -> list[Part]:
        """The events of a whole graph, with each combination of barrier meetings."""
        key = tuple(run.shape for run in graph.runs)
        parts = self._whole.get(key)
        if parts is None:
            if all(event.rendezvous is None for path in paths for event in path.events):
                parts = [self._parts[key]]
            else:
                rounds = self.last_rounds(graph)
                repeated = sum(rounds)
                found = skeletons(
                    self.program, self.initial, paths, self.work, graph.waiting, repeated
                )
                parts = [Part(PtxFrame(each, self.model, self.work), rounds) for each in found]
            self._whole[key] = parts
        return parts

    def executions(self, graph: Graph[PtxPath]) -> Iterator[tuple[Part, PtxExecution]]:
        """A whole graph with each combination of barrier meetings without a wait in vain."""
        for part in self.met(graph, [run.path for run in graph.runs]):
            x, _, _ = self.execution(part.frame, graph)
            if not barriers(x):
                yield part, x

    def values(self, paths: Iterable[PtxPath]) -> tuple[int, ...]:
        """The value that each event of a whole graph read or wrote."""
        return (
            *(value for _, value in self.initial),
            *(value for path in paths for value in path.values),
        )


class PtxConstruction(PtxGraphs[Outcomes]):
    """The final states of a program's execution graphs, of those that are whole.

    ``observed`` are all registers that are set, and all locations that are declared or accessed.
    """

    def __init__(self, program: PtxProgram, model: PtxModel, bound: int, work: WorkBudget):
        super().__init__(program, model, bound, work)
        self.observed = _observables(program, self.initial)
        self.registers = [each for each in self.observed if isinstance(each, Register)]
        self.found = FinalStates()
        self._memories: dict[object, set[tuple[int, ...]]] = {}
        self.twins = tuple(twins_of(program))

    def finish(self, graph: Graph[PtxPath]) -> None:
        paths = [run.path for run in graph.runs]
        values = self.values(paths)
        prefix = tuple(paths[each.thread].registers.get(each.name, 0) for each in self.registers)
        waits = bool(graph.waiting)
        known = self._memories.setdefault((prefix, waits), set())
        for part, x in self.executions(graph):
            FinalMemories(part, x, values, known).find()
        self.found.add((prefix + memory for memory in known), waits)

    def result(self) -> Outcomes:
        found = self.found.outcomes(self.observed, self.complete)
        return replace(found, states=with_exchanged(found.states, self.observed, self.twins))


def twins_of(program: PtxProgram) -> Iterator[tuple[int, int]]:
    """The pairs of threads that can be exchanged: of the same code, as near to everything else."""
    everywhere = [*(each.placement for each in program.threads), *program.shared.values()]
    for (i, one), (j, other) in combinations(enumerate(program.threads), 2):
        here, there = one.placement, other.placement
        apart = [each for k, each in enumerate(everywhere) if k not in (i, j)]
        if (
            one.instructions == other.instructions
            and program.registers_of(i) == program.registers_of(j)
            and all(
                here.shares(each, scope) is there.shares(each, scope)
                and each.shares(here, scope) is each.shares(there, scope)
                for each in apart
                for scope in SCOPE_WORDS
            )
        ):
            yield i, j


def with_exchanged(
    states: Collection[tuple[int | None, ...]],
    observed: Sequence[Observable],
    twins: Iterable[tuple[int, int]],
) -> frozenset[tuple[int | None, ...]]:
    """Final states with those in which twins have exchanged their events."""
    place = {each: number for number, each in enumerate(observed)}
    orders: list[list[int]] = []
    for one, other in twins:
        swapped = {one: other, other: one}
        orders.append(
            [
                place[Register(swapped.get(each.thread, each.thread), each.name)]
                if isinstance(each, Register)
                else number
                for number, each in enumerate(observed)
            ]
        )

    def exchanged(state: tuple[int | None, ...]) -> Iterator[tuple[int | None, ...]]:
        return (tuple(state[number] for number in order) for order in orders)

    return frozenset(walk(states, exchanged))


def _is_from_somewhere(x: PtxExecution) -> bool:
    dependences = x.frame.skeleton.dependences
    return is_acyclic([a | b for a, b in zip(x.rf, dependences, strict=True)])


def _observables(program: PtxProgram, initial: Iterable[tuple[str, int]]) -> tuple[Observable, ...]:
    registers = {
        Register(number, name)
        for number, names in enumerate(registers_of(program))
        for name in names
    }
    return (*sorted(registers, key=observable_order), *(Memory(name) for name, _ in initial))


def _is_in_order(program: PtxProgram) -> bool:
    """True if program order to one location binds all reads: one address, one proxy, no copies."""
    if program.aliases:
        return False
    for thread in program.threads:
        for each in thread.instructions:
            proxies = {proxy for _, proxy in accesses(each)}
            if proxies - {PtxProxy.GENERIC} or isinstance(each, _NOT_IN_ORDER):
                return False
    return True


_NOT_IN_ORDER = AsyncCopy | AsyncRelease | CopyArrive | TensorCommit
"""The operations whose accesses are not part of the program order of their thread."""


def can_be_built(program: PtxProgram) -> bool:
    """True where no barrier is named or counted by a register, which would leave its threads
    unknown."""
    return not any(
        isinstance(operand, str)
        for thread in program.threads
        for each in thread.instructions
        if isinstance(each, Bar)
        for operand in (each.instance, each.number, each.count)
    )
