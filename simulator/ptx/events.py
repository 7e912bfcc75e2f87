"""The possible runs of each thread of a PTX program: events, dependences, final registers.

A program becomes *candidate executions* in two steps. Every thread is run on its own, each
read returning any value that some write could have put there: a ``PtxPath`` is one such run.
A choice of one path for each thread in which every value read was also written is a
``PtxCombination``; the model then decides which write each read takes (``model``).

Values are 32-bit words. Addresses are names, never computed, so that there are
no address dependences. Mixed sizes, vectors, textures as objects, and targets below sm_70
are not covered. Source: PTX ISA, "Memory Consistency Model"; reads take values that have a
derivation of their own, which is the axiom No-Thin-Air on values.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from random import Random
from typing import Any, ClassVar

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.bit_relation import Mask, Relation, union
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.interleaving import Interleaving, InterleavingHint
from fencewright.simulator.core.program import (
    Branch,
    Label,
    Operand,
    Placement,
    ProgramError,
    signed,
)
from fencewright.simulator.core.sequential import (
    UNBOUNDED,
    Counted,
    Gate,
    Interleaved,
    Passage,
)
from fencewright.simulator.core.thread_runs import (
    COMMON_STEPS,
    Choice,
    Choices,
    Domain,
    EventKind,
    StepFunctions,
    WalkedDomain,
    all_paths,
)
from fencewright.simulator.core.words import WORD_MASK
from fencewright.simulator.ptx.asynchronous import AsyncRunner
from fencewright.simulator.ptx.barrier_matching import Meeting, all_met, shared_place, waits_hold_up
from fencewright.simulator.ptx.instructions import (
    Atom,
    Bar,
    BarrierRole,
    ClusterBarrier,
    CompareBranch,
    Ld,
    MbarrierArrive,
    MbarrierInit,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    Space,
    St,
    WgmmaProduct,
    accesses,
    assigned,
    mbarrier_of,
    operands,
    variables,
)
from fencewright.simulator.ptx.paths import (
    Pair,
    PtxEvent,
    PtxPath,
    PtxRun,
    Rendezvous,
    too_early,
)


class PtxRunner(AsyncRunner):
    """All runs of one thread."""

    BRANCHES = (Branch, CompareBranch)
    IDLE = (EventKind.READ, EventKind.FENCE, EventKind.WAIT)

    def __init__(self, program: PtxProgram, thread: int, bound: int, write_bits: dict[object, int]):
        super().__init__(program, thread, bound, write_bits)
        self.sets = frozenset(name for each in self.code for name in assigned(each))

    @cached_property
    def some_may_stay(self) -> bool:
        """True if a thread may wait for ever at an mbarrier or a count, and be missed elsewhere."""
        code = (each for thread in self.program.threads for each in thread.instructions)
        return any(
            mbarrier_of(each) is not None or (isinstance(each, Bar) and each.count is not None)
            for each in code
        )

    def find_strong_places(self) -> frozenset[str]:
        return strong_places(self.program)

    def begin(self) -> PtxRun:
        return PtxRun(0, self.program.registers_of(self.thread), {})

    def assigned(self, instruction: PtxInstruction) -> tuple[str, ...]:
        return assigned(instruction)

    def used(self, instruction: PtxInstruction) -> tuple[Operand, ...]:
        if isinstance(instruction, Bar):
            return (instruction.instance, instruction.number, instruction.count or 0)
        return operands(instruction)

    def written(self, instruction: PtxInstruction) -> tuple[str, ...]:
        if isinstance(instruction, Ld):
            return ()
        if isinstance(instruction, MbarrierInit):
            return (self.locations[instruction.mbarrier],)
        return tuple(self.locations[name] for name, _ in accesses(instruction))

    def puts_back(self, run: PtxRun, number: int) -> bool:
        is_update = (number - 1, number) in run.read_modify_writes
        return is_update and run.values[number - 1] == run.values[number]

    def path(self, run: PtxRun, blocked: bool = False) -> PtxPath:
        if not blocked:
            for each in run.flight.results:
                run.registers.setdefault(too_early(each.register), len(self.code) + 1)
        registers: dict[str, int | None] = dict(run.registers)
        if blocked:
            registers.update((name, None) for name in self.sets if name not in run.taints)
        return PtxPath(
            run.events,
            run.values,
            run.dependences,
            run.read_modify_writes,
            run.order,
            run.issued,
            registers,
            blocked,
            run.started,
            run.control,
        )

    def _event(
        self, run: PtxRun, kind: EventKind, access: Ld | St | Atom, **fields: Any
    ) -> PtxEvent:
        half = _half(kind, access.ordering)
        return self.access(run, kind, access.location, access.proxy, half, access.scope, **fields)

    def load(self, run: PtxRun, load: Ld) -> list[PtxRun]:
        return self.read(run, self._event(run, EventKind.READ, load), load.dst)

    def read(self, run: PtxRun, event: PtxEvent, register: str | None) -> list[PtxRun]:
        """The runs in which an event reads each possible value, into a register if there is one."""
        forks: list[PtxRun] = []
        for value in self.domain.choices(event.location or ""):
            fork = run.copy()
            number = fork.append(event, value, 0)
            if register is not None:
                fork.assign(register, value, 1 << number)
            forks.append(fork)
        return forks

    def write(self, run: PtxRun, event: PtxEvent, value: int, dependences: Mask) -> bool:
        """Append a write; False if its value would have to come out of thin air."""
        if not self.can_derive(run, event, value, dependences):
            return False
        run.append(event, value, dependences)
        return True

    def store(self, run: PtxRun, store: St) -> list[PtxRun] | None:
        event = self._event(run, EventKind.WRITE, store)
        dependences = run.taint(store.value) | run.control
        return None if self.write(run, event, run.value(store.value), dependences) else []

    def atomic(self, run: PtxRun, atomic: Atom) -> list[PtxRun]:
        read = self._event(run, EventKind.READ, atomic, is_red=atomic.dst is None)
        write = self._event(run, EventKind.WRITE, atomic)
        operand = run.value(atomic.operand)
        expected = None if atomic.compare is None else run.value(atomic.compare)
        uses_old = expected is not None or atomic.operation is not RmwKind.XCHG
        dependences = run.taint(*atomic.operands) | run.control
        forks: list[PtxRun] = []
        for fork in self.read(run, read, atomic.dst):
            number = len(fork.events) - 1
            old = fork.values[number]
            if expected is not None and not self.exchanges(fork, number, old, expected):
                forks.append(fork)
                continue
            new = self.combined(atomic.operation, old, operand)
            if self.write(fork, write, new, dependences | uses_old << number):
                fork.read_modify_writes = (*fork.read_modify_writes, (number, number + 1))
                forks.append(fork)
        return forks

    def exchanges(self, run: PtxRun, read: int, old: int, expected: int) -> bool:
        """True if a compare-and-swap, of which ``read`` is an event, writes."""
        return old == expected

    def fence(self, run: PtxRun, fence: PtxFence) -> None:
        kind, restriction = EventKind.FENCE, fence.restriction
        self.synchronise(run, kind, fence.ordering, fence.scope, restriction=restriction)

    def proxy_fence(self, run: PtxRun, fence: ProxyFence) -> None:
        kind = EventKind.PROXY_FENCE
        self.synchronise(run, kind, proxy=fence.proxy, space=fence.space)
        if fence.proxy is PtxProxy.ASYNC and fence.space is not Space.GLOBAL:
            run.flight = replace(run.flight, crossed=run.foreground())

    def barrier(self, run: PtxRun, barrier: Bar) -> list[PtxRun] | None:
        count = None if barrier.count is None else run.value(barrier.count)
        name = f"bar.{run.value(barrier.instance)}"
        rendezvous = Rendezvous(name, run.value(barrier.number), count, mbarrier=False)
        role = barrier.role
        self.synchronise(run, EventKind.BARRIER, rendezvous=rendezvous, role=role)
        if role is BarrierRole.ARRIVE or (count is None and not self.some_may_stay):
            return None
        return self.may_block(run)

    def cluster_barrier(self, run: PtxRun, barrier: ClusterBarrier) -> list[PtxRun] | None:
        role = barrier.role
        kind = EventKind.ARRIVE if role is BarrierRole.ARRIVE else EventKind.WAIT
        place = Rendezvous("barrier.cluster", 0, None, mbarrier=False)
        scope = Scope.CLUSTER
        self.synchronise(run, kind, barrier.ordering, scope, rendezvous=place, role=role)
        stays = role is BarrierRole.WAIT and self.some_may_stay
        return self.may_block(run) if stays else None

    def compare_branch(self, run: PtxRun, branch: CompareBranch) -> list[PtxRun] | None:
        run.control |= run.taint(branch.left, branch.right)
        left, right = signed(run.value(branch.left)), signed(run.value(branch.right))
        return self.jump(run, branch.target) if branch.comparison.holds(left, right) else None

    STEPS: ClassVar[StepFunctions] = {
        **COMMON_STEPS,
        **AsyncRunner.ASYNC_STEPS,
        Ld: load,
        St: store,
        Atom: atomic,
        PtxFence: fence,
        ProxyFence: proxy_fence,
        Bar: barrier,
        ClusterBarrier: cluster_barrier,
        CompareBranch: compare_branch,
    }


def _half(kind: EventKind, ordering: Ordering) -> Ordering:
    """The ordering of one half of an access: an acquire is the read's, a release the write's."""
    if ordering is Ordering.WEAK:
        return ordering
    if kind is EventKind.READ:
        return Ordering.ACQUIRE if ordering.acquires else Ordering.RELAXED
    return Ordering.RELEASE if ordering.releases else Ordering.RELAXED


def registers_of(program: PtxProgram) -> tuple[frozenset[str], ...]:
    """The registers of each thread, with those that say where one was used too early."""
    return tuple(
        frozenset({*program.registers_of(number), *_registers_set(thread.instructions)})
        for number, thread in enumerate(program.threads)
    )


def _registers_set(code: Iterable[PtxInstruction]) -> Iterator[str]:
    for each in code:
        yield from assigned(each)
        if isinstance(each, WgmmaProduct):
            yield too_early(each.dst)


def strong_places(program: PtxProgram) -> frozenset[str]:
    """The locations all of whose accesses are morally strong with each other, in any threads."""
    found: dict[str, list[tuple[str, PtxProxy, Scope | None, Placement]]] = {}
    for thread in program.threads:
        for each in thread.instructions:
            scope = each.scope if isinstance(each, Ld | St | Atom) else None
            for name, proxy in accesses(each):
                access = (program.address(name), proxy, scope, thread.placement)
                found.setdefault(program.physical(name), []).append(access)
    return frozenset(
        location
        for location, members in found.items()
        if len({(address, proxy) for address, proxy, _, _ in members}) == 1
        and all(
            scope is not None and all(here.shares(there, scope) for *_, there in members)
            for _, _, scope, here in members
        )
    )


def check(program: PtxProgram) -> None:
    for number, thread in enumerate(program.threads):
        labels = {each.name for each in thread.instructions if isinstance(each, Label)}
        for each in thread.instructions:
            if isinstance(each, Branch | CompareBranch) and each.target not in labels:
                raise ProgramError(f"thread {number} jumps to {each.target}, which is not there")
            problem = each.problem if isinstance(each, PtxFence) else ""
            if problem:
                raise ProgramError(f"thread {number}: {problem}")
            mbarrier = mbarrier_of(each)
            if mbarrier is not None and mbarrier not in program.mbarriers:
                raise ProgramError(f"thread {number} uses {mbarrier}, which is not an mbarrier")
            if isinstance(each, MbarrierInit) and program.mbarriers[each.mbarrier]:
                raise ProgramError(f"{each.mbarrier} is initialised before the threads start")
        for each in thread.instructions:
            for variable, proxy in accesses(each):
                _check_access(program, number, program.physical(variable), variable, proxy)


def _check_access(
    program: PtxProgram, thread: int, location: str, name: str, proxy: PtxProxy
) -> None:
    if location in program.mbarriers:
        raise ProgramError(f"thread {thread} accesses {name}, which is an mbarrier")
    if (location in program.tensor) is not (proxy is PtxProxy.TENSOR):
        where = "is" if location in program.tensor else "is not"
        raise ProgramError(f"thread {thread} accesses {name}, which {where} in tensor memory")


def _constants(program: PtxProgram) -> set[int]:
    found = set(program.registers.values())
    for thread in program.threads:
        for each in thread.instructions:
            found.update(operand for operand in operands(each) if isinstance(operand, int))
    return {value & WORD_MASK for value in found}


@dataclass(frozen=True)
class PtxSkeleton:
    """The common part of executions, independent of the values that their reads return.

    Events are numbered: first one initial write for each location, then thread by thread.
    ``po`` is transitive; the events of an asynchronous copy are in it among themselves alone,
    and ``issue`` leads from what came before the copy to its accesses. ``started`` leads from
    operations on tensor memory to the tensor fences that find them started. ``meetings`` says
    which barrier operations met, ``ordered`` which operations of an mbarrier are in which order,
    ``held_up`` what cannot happen before what because threads wait.
    """

    program: PtxProgram
    events: tuple[PtxEvent, ...]
    po: Relation
    issue: Relation
    dependences: Relation
    rmw: Relation
    meetings: tuple[Meeting, ...]
    started: Relation = field(default_factory=list[Mask])
    ordered: tuple[Pair, ...] = ()
    held_up: Relation = field(default_factory=list[Mask])

    @cached_property
    def locations(self) -> tuple[str, ...]:
        """Every location with an event, in order."""
        return tuple(sorted({each.location for each in self.events if each.location}))

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The numbers of the reads."""
        return tuple(i for i, e in enumerate(self.events) if e.kind is EventKind.READ)

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """The numbers of the writes, initial ones included."""
        return tuple(i for i, e in enumerate(self.events) if e.kind is EventKind.WRITE)

    def placement(self, event: int) -> Placement | None:
        """The placement of the event's thread; None for initial writes."""
        thread = self.events[event].thread
        return None if thread < 0 else self.program.threads[thread].placement


@dataclass(frozen=True, slots=True)
class PtxCombination:
    """A path for each thread, which together write every value that they read.

    ``skeletons`` has one for each combination of barrier meetings. ``values`` has
    what each event read or wrote. ``waits``: a thread never passes a barrier.
    """

    skeletons: tuple[PtxSkeleton, ...]
    values: tuple[int, ...]
    registers: tuple[Mapping[str, int | None], ...]
    waits: bool = False


class PtxCandidates:
    """Every combination of paths of a program.

    ``bound`` is how often the target of a backward jump may be passed; ``complete`` says
    whether that loses nothing. With ``thin_air`` reads may also return values that depend
    on themselves (any constant of the program), for a model without No-Thin-Air.
    Raises ``ProgramError`` for a program that means nothing. When its ``work`` is at an end
    there are no more.
    """

    def __init__(
        self,
        program: PtxProgram,
        bound: int = 1,
        thin_air: bool = False,
        work: WorkBudget | None = None,
    ):
        check(program)
        self.program = program
        self.complete = True
        self.work = WorkBudget() if work is None else work
        self._skeletons: dict[tuple[int, ...], tuple[PtxSkeleton, ...]] = {}
        self._numbers = Choices()
        self._paths = self._run_threads(bound, thin_air)
        events = (e for paths in self._paths for p in paths for e in p.events if e.location)
        named = {program.physical(each) for each in program.initial}
        locations = sorted({each.location or "" for each in events} | named - _ready(program))
        self.registers = registers_of(program)
        self.initial = tuple((each, program.initial.get(each, 0)) for each in locations)

    def _run_threads(self, bound: int, thin_air: bool) -> list[list[PtxPath]]:
        """Run all threads until no store writes a value that no earlier round has seen."""
        program = self.program
        write_bits: dict[object, int] = {}
        runners = [PtxRunner(program, i, bound, write_bits) for i in range(len(program.threads))]
        seeds = _constants(program) if thin_air else ()
        paths = all_paths(runners, Domain(program.initial, seeds, self.work))
        self.complete = all(runner.complete for runner in runners)
        return paths

    def __iter__(self) -> Iterator[PtxCombination]:
        initial = self._numbers.values(self.initial)
        choices = [[self._choice(path) for path in paths] for paths in self._paths]
        for chosen in product(*choices):
            if not self.work.take():
                return
            needs, provides = 0, initial
            for choice in chosen:
                needs |= choice.needs
                provides |= choice.provides
            if needs & ~provides:
                continue
            key = tuple(choice.shape for choice in chosen)
            known = self._skeletons.get(key)
            if known is None:
                paths = [choice.path for choice in chosen]
                known = tuple(skeletons(self.program, self.initial, paths, self.work))
                self._skeletons[key] = known
            if not known:
                continue
            values = [value for _, value in self.initial]
            for choice in chosen:
                values.extend(choice.path.values)
            registers = tuple(choice.path.registers for choice in chosen)
            waits = any(choice.path.blocked for choice in chosen)
            yield PtxCombination(known, tuple(values), registers, waits)

    def _choice(self, path: PtxPath) -> Choice[PtxPath]:
        accesses = [
            (event.kind, (event.location or "", value))
            for event, value in zip(path.events, path.values, strict=True)
        ]
        shape = (
            path.events,
            path.dependences,
            path.read_modify_writes,
            path.order,
            path.issued,
            path.blocked,
            path.started,
            path.control,
        )
        read = (each for kind, each in accesses if kind is EventKind.READ)
        written = (each for kind, each in accesses if kind is EventKind.WRITE)
        return self._numbers.choice(path, shape, read, written)


def skeletons(
    program: PtxProgram,
    initial: Iterable[tuple[str, int]],
    paths: list[PtxPath],
    work: WorkBudget,
    waiting: Collection[int] | None = None,
    repeated: Mask = 0,
) -> Iterator[PtxSkeleton]:
    """One skeleton for each combination of meetings of the barrier operations of ``paths``.

    ``waiting`` are the threads that wait for ever, None for those that are blocked at a barrier;
    the events ``repeated`` are so for ever.
    """
    skeleton = unmet(program, initial, paths)
    events, order = skeleton.events, union(skeleton.po, skeleton.issue)
    last, blocked, decided_by = len(events), set[int](), dict[int, Mask]()
    for thread, path in reversed([*enumerate(paths)]):
        if path.blocked:
            blocked.add(last - 1)
        last -= len(path.events)
        decided_by[thread] = path.control << last
    if waiting is None:
        waiting = [number for number, path in enumerate(paths) if path.blocked]
    for met in all_met(program, list(events), order, blocked, waiting, repeated):
        if not work.take():
            return
        held_up = waits_hold_up(events, skeleton.po, skeleton.dependences, met, decided_by)
        yield replace(
            skeleton,
            meetings=met.meetings,
            ordered=met.ordered,
            held_up=held_up,
        )


def unmet(
    program: PtxProgram, initial: Iterable[tuple[str, int]], paths: Iterable[PtxPath]
) -> PtxSkeleton:
    """The skeleton of ``paths`` in which no barrier operations have met."""
    events = [
        PtxEvent(EventKind.WRITE, -1, -1, variable=name, location=name) for name, _ in initial
    ]
    starts: list[int] = []
    chosen = tuple(paths)
    for path in chosen:
        starts.append(len(events))
        events.extend(path.events)
    po, issue, dependences, rmw, started = ([0] * len(events) for _ in range(5))
    for start, path in zip(starts, chosen, strict=True):
        _add_path(path, start, po, dependences, rmw)
        for number, before in enumerate(path.issued):
            for earlier in bits(before):
                issue[start + earlier] |= 1 << start + number
        for fence, before in path.started:
            for earlier in bits(before):
                started[start + earlier] |= 1 << start + fence
    return PtxSkeleton(program, tuple(events), po, issue, dependences, rmw, (), started)


@dataclass(frozen=True, slots=True)
class PtxWalk:
    """One combination of paths, with one skeleton, and the hint for its execution."""

    combination: PtxCombination
    hint: InterleavingHint


_MOST_MEETINGS = 64
"""The number of combinations of barrier meetings that one walk looks at."""


class PtxWalks:
    """Random interleavings of a program's threads, each a combination of paths.

    Raises ``ProgramError`` as ``PtxCandidates`` does.
    """

    def __init__(self, program: PtxProgram, bound: int = 1):
        check(program)
        self.program = program
        self.initial = tuple(initial_words(program).items())
        self.registers = registers_of(program)
        self._interleaving = Interleaving(self.initial)
        domain = WalkedDomain(self._interleaving)
        bits: dict[object, int] = {}
        self._runners = [PtxRunner(program, n, bound, bits) for n in range(len(program.threads))]
        for runner in self._runners:
            runner.domain = domain

    def walk(self, random: Random) -> PtxWalk | None:
        """The combination of one walk; None where it leads to no execution that ends."""
        paths = self._paths(random)
        if paths is None:
            return None
        met = tuple(skeletons(self.program, self.initial, paths, WorkBudget(_MOST_MEETINGS)))
        if not met:
            return None
        values = [value for _, value in self.initial]
        for path in paths:
            values.extend(path.values)
        registers = tuple(path.registers for path in paths)
        waits = any(path.blocked for path in paths)
        combination = PtxCombination((random.choice(met),), tuple(values), registers, waits)
        hint = self._interleaving.hint(
            [(e.kind is EventKind.READ, e.kind is EventKind.WRITE) for e in path.events]
            for path in paths
        )
        return PtxWalk(combination, hint)

    def _paths(self, random: Random) -> list[PtxPath] | None:
        """A path for each thread; None if one was cut at the bound of a loop."""
        self._interleaving.start(random)
        runs = [runner.begin() for runner in self._runners]
        ended: dict[int, PtxPath] = {}
        going = list(range(len(runs)))
        while going:
            number = random.choice(going)
            runner = self._runners[number]
            runner.paths = []
            self._interleaving.thread = number
            forks = runner.advance(runs[number])
            if forks is None:
                runner.paths.append(runner.path(runs[number]))
            # A thread that may wait for ever does so in one walk of four.
            elif forks and not (runner.paths and random.random() < 0.25):
                runs[number] = forks[0]
                continue
            elif not runner.paths:
                return None
            ended[number] = runner.paths[-1]
            going.remove(number)
        return [ended[number] for number in range(len(runs))]


def interleaved(program: PtxProgram, text: Callable[[PtxInstruction], str]) -> Interleaved | None:
    """The program for its interleavings; ``text`` writes instructions.

    Asynchronous copies are done when they are issued. None if a barrier is named by a register,
    for nobody knows then who comes to it. Raises ``ProgramError`` as ``PtxCandidates``.
    """
    check(program)
    code = [each for thread in program.threads for each in thread.instructions]
    names = (
        name for each in code if isinstance(each, Bar) for name in (each.instance, each.number)
    )
    if any(isinstance(name, str) for name in names):
        return None
    bits: dict[object, int] = {}
    runners = [PtxRunner(program, n, UNBOUNDED, bits) for n in range(len(program.threads))]

    def passage(thread: int, instruction: PtxInstruction, run: PtxRun) -> Passage | None:
        match instruction:
            case Bar():
                count = None if instruction.count is None else run.value(instruction.count)
                name = (instruction.instance, instruction.number)
                gate = _gate(program, thread, "bar", name, count)
                role = instruction.role
                return Passage(gate, role is not BarrierRole.WAIT, role is not BarrierRole.ARRIVE)
            case ClusterBarrier():
                gate = _gate(program, thread, "barrier.cluster", (), None)
                arrives = instruction.role is BarrierRole.ARRIVE
                return Passage(gate, arrives, not arrives)
            case _:
                name = mbarrier_of(instruction)
                return None if name is None else _at_mbarrier(program, name, instruction, run)

    # The results of tensor cores in registers come later than the step that asks for them.
    in_steps = not any(isinstance(each, WgmmaProduct) for each in code)
    places = [each.places for each in program.threads]
    return Interleaved(runners, places, initial_words(program), passage, text, in_steps)


def _at_mbarrier(
    program: PtxProgram, name: str, instruction: PtxInstruction, run: PtxRun
) -> Passage:
    """The passage of the events of a thread's step at an mbarrier."""
    gate = Gate("mbarrier", name, count=program.mbarriers[name], numbered=True)
    updates = (each.update for each in run.events if each.update is not None)
    counted = tuple(Counted(u.arrivals, u.bytes, u.dropped, u.initialised) for u in updates)
    if not isinstance(instruction, MbarrierWait):
        token = instruction.token if isinstance(instruction, MbarrierArrive) else None
        return Passage(gate, counted=counted, sets=token)
    phase, by_parity = run.value(instruction.phase), instruction.by_parity
    return Passage(
        gate,
        waits=instruction.dst is None,
        phase=phase % 2 if by_parity else phase,
        by_parity=by_parity,
        sets=instruction.dst,
    )


def initial_words(program: PtxProgram) -> dict[str, int]:
    """The words that the locations start with which are declared or accessed."""
    accessed = (v for thread in program.threads for v in variables(thread.instructions))
    names = {program.physical(each) for each in (*program.initial, *accessed)}
    used = {mbarrier_of(each) for thread in program.threads for each in thread.instructions}
    names |= {each for each in program.mbarriers if each in used}
    return {each: program.initial.get(each, 0) for each in sorted(names - _ready(program))}


def _ready(program: PtxProgram) -> frozenset[str]:
    """The mbarriers that are initialised before the threads start, which are no locations."""
    return frozenset(name for name, count in program.mbarriers.items() if count)


def _gate(
    program: PtxProgram, thread: int, kind: str, name: tuple[Operand, ...], count: int | None
) -> Gate:
    """The barrier that threads of one place share, all of which take part."""
    here = shared_place(kind, program.threads[thread].placement)
    members = frozenset(
        n for n, each in enumerate(program.threads) if shared_place(kind, each.placement) == here
    )
    return Gate((kind, name), here, members, count)


def _add_path(
    path: PtxPath, start: int, po: Relation, dependences: Relation, rmw: Relation
) -> None:
    closed: list[Mask] = []
    for number, before in enumerate(path.order):
        for earlier in bits(before):
            before |= closed[earlier]
        closed.append(before)
        for earlier in bits(before):
            po[start + earlier] |= 1 << start + number
        for read in bits(path.dependences[number]):
            dependences[start + read] |= 1 << start + number
    for read, write in path.read_modify_writes:
        rmw[start + read] |= 1 << start + write
