"""Programs of the ``scoped`` language as data, and the possible runs of their threads.

The instructions mirror the ``scoped`` dialect field by field; register arithmetic and branches
are those of ``program``. A program becomes *candidate executions* in two steps. Every thread
is run on its own, each read returning any value that some write could have put there: a
``ThreadPath`` is one such run. A choice of one path for each thread in which every value read was
also written is a ``Combination``; ``source_model`` decides which write each read takes.

``program.Placement`` says where a thread runs: one thread is one wave, so that the scopes
singlethread and wavefront are the thread itself; work-groups are numbered across the whole
program, clusters within their agent. A location in LDS is accessed by its work-group alone.
Hints (nontemporal, alignment) mean nothing here and are absent.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar

from fencewright.lowering.code.bits import bits
from fencewright.lowering.skeleton import ILLEGAL, ILLEGAL_FAILURE
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.core.bit_relation import Mask, Relation, is_acyclic, mask_of
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.interleaving import Interleaving, InterleavingHint
from fencewright.simulator.core.program import (
    RMW,
    Arithmetic,
    Branch,
    Common,
    Label,
    Move,
    Operand,
    Placement,
    Program,
    ProgramError,
)
from fencewright.simulator.core.sequential import UNBOUNDED, Gate, Interleaved, Passage
from fencewright.simulator.core.thread_runs import (
    COMMON_STEPS,
    Choice,
    Choices,
    Domain,
    EventKind,
    Runner,
    StepFunctions,
    ThreadRun,
    WalkedDomain,
    all_paths,
)

Spaces = frozenset[AddressSpace]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScopedOrdering:
    """The options of every scoped operation about its ordering, besides ordering and scope.

    ``spaces`` are the address spaces that it orders, None for all; ``one_as`` orders each on
    its own; ``availability`` none orders without making available or visible.
    """

    spaces: Spaces | None = None
    one_as: bool = False
    availability: Availability = Availability.FULL

    def _text(self, *words: object) -> str:
        """The operation as the dialect writes it."""
        parts = [str(word) for word in words if word not in (None, "")]
        if self.spaces is not None:
            parts.append(f"spaces [{', '.join(sorted(self.spaces))}]")
        if self.availability is not Availability.FULL:
            parts.append(f"av({self.availability})")
        if self.one_as:
            parts.append("{one_as}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Load(_ScopedOrdering):
    """``dst = location``; weak exactly when there is no scope."""

    dst: str
    location: str
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    volatile: bool = False

    def __str__(self) -> str:
        return self._text(f"{self.dst} = load", self.ordering, self.scope, self.location)


@dataclass(frozen=True, slots=True)
class Store(_ScopedOrdering):
    """``location = value``; weak exactly when there is no scope."""

    location: str
    value: Operand
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    volatile: bool = False

    def __str__(self) -> str:
        return self._text("store", self.ordering, self.scope, f"{self.value}, {self.location}")


@dataclass(frozen=True, slots=True)
class AtomicRmw(_ScopedOrdering):
    """A read-modify-write of an integer; ``dst`` takes the old value if there is one."""

    kind: RmwKind
    location: str
    value: Operand
    ordering: Ordering
    scope: Scope
    dst: str | None = None

    def __str__(self) -> str:
        name = "atomic_rmw" if self.dst is None else f"{self.dst} = atomic_rmw"
        access = f"{self.location}, {self.value}"
        return self._text(name, self.kind, self.ordering, self.scope, access)


@dataclass(frozen=True, slots=True)
class Cmpxchg(_ScopedOrdering):
    """Writes ``new`` if ``location`` holds ``compare``; ``dst`` takes the old value.

    ``success`` takes 1 if it wrote and 0 if not. ``weak``: it may fail though they are equal.
    """

    location: str
    compare: Operand
    new: Operand
    ordering: Ordering
    failure_ordering: Ordering
    scope: Scope
    dst: str | None = None
    success: str | None = None
    weak: bool = False

    def __str__(self) -> str:
        results = ", ".join(name for name in (self.dst, self.success) if name)
        access = f"{self.location}, {self.compare}, {self.new}"
        name = f"{results} = cmpxchg" if results else "cmpxchg"
        return self._text(name, self.ordering, self.failure_ordering, self.scope, access)


@dataclass(frozen=True, slots=True)
class Fence(_ScopedOrdering):
    """Orders the accesses before against those after, without an access of its own."""

    ordering: Ordering
    scope: Scope

    def __str__(self) -> str:
        return self._text("fence", self.ordering, self.scope)


@dataclass(frozen=True, slots=True)
class Barrier(_ScopedOrdering):
    """Waits until every thread of the scope is here the same time; threads that ended count not.

    acq_rel orders memory among all of them; relaxed leaves that to fences around it.
    """

    scope: Scope
    ordering: Ordering = Ordering.ACQ_REL

    def __str__(self) -> str:
        relaxed = self.ordering if self.ordering is Ordering.RELAXED else ""
        return self._text("barrier", relaxed, self.scope)


ScopedOperation = Load | Store | AtomicRmw | Cmpxchg | Fence | Barrier
ScopedInstruction = ScopedOperation | Common
ScopedProgram = Program[ScopedInstruction]

_OPERATION: Mapping[type[ScopedOperation], Operation] = {
    Load: Operation.LOAD,
    Store: Operation.STORE,
    AtomicRmw: Operation.ATOMIC_RMW,
    Cmpxchg: Operation.CMPXCHG,
    Fence: Operation.FENCE,
    Barrier: Operation.BARRIER,
}

# Scopes


def scope_instance(placement: Placement, thread: int, scope: Scope) -> tuple[object, ...]:
    """A name for the set of threads that ``scope`` means for ``thread``; equal sets, equal names.

    Source: LLVM AMDGPU Memory Model, "Scopes".
    """
    if scope in (Scope.SINGLETHREAD, Scope.WAVEFRONT):
        return (Scope.WAVEFRONT, thread)
    return (scope, *placement.instance(scope))


# Events


_READS = (EventKind.READ, EventKind.UPDATE)
_WRITES = (EventKind.WRITE, EventKind.UPDATE)


@dataclass(frozen=True, slots=True)
class Event:
    """One memory, fence or barrier operation of a run.

    ``thread`` is -1 for initial writes, ``position`` the index of its instruction. An UPDATE
    reads and writes as one step; a cmpxchg that fails is a READ of its failure ordering.
    """

    kind: EventKind
    thread: int
    position: int
    ordering: Ordering
    scope: Scope | None
    location: str | None
    operation: ScopedOperation | None

    @property
    def reads(self) -> bool:
        """True if it reads memory."""
        return self.kind in _READS

    @property
    def writes(self) -> bool:
        """True if it writes memory."""
        return self.kind in _WRITES

    @property
    def is_weak(self) -> bool:
        """True if it is a plain access."""
        return self.ordering is Ordering.WEAK

    def __str__(self) -> str:
        if self.thread < 0:
            return f"init {self.location}"
        return f"P{self.thread}:{self.position} '{self.operation}'"


@dataclass(frozen=True, slots=True)
class ThreadPath:
    """One run of one thread.

    Numbers count the path's own events. ``read`` and ``written`` have the values, None where
    an event does not; ``dependences`` for each write and arrival the reads that its value, or its
    being executed, depends on; ``control`` are those that decide that the path comes to its end.
    ``blocked``: the last event is a wait that never passes.
    """

    events: tuple[Event, ...]
    read: tuple[int | None, ...]
    written: tuple[int | None, ...]
    dependences: tuple[Mask, ...]
    registers: Mapping[str, int]
    control: Mask = 0
    blocked: bool = False


@dataclass(slots=True)
class SourceRun(ThreadRun[Event]):
    """A run with the values that its events have read and written; copied where it has several
    continuations."""

    read: tuple[int | None, ...] = ()
    written: tuple[int | None, ...] = ()
    dependences: tuple[Mask, ...] = ()

    def append(
        self, event: Event, read: int | None = None, written: int | None = None, needs: Mask = 0
    ) -> None:
        self.events = (*self.events, event)
        self.read = (*self.read, read)
        self.written = (*self.written, written)
        self.dependences = (*self.dependences, needs)


class SourceRunner(Runner[SourceRun, ThreadPath]):
    """All runs of one thread."""

    IDLE = (EventKind.READ, EventKind.FENCE)

    def __init__(
        self, program: ScopedProgram, thread: int, bound: int, write_bits: dict[object, int]
    ):
        super().__init__(thread, program.threads[thread].instructions, bound, write_bits)
        self.program = program
        self.event_of: dict[object, Event] = {}

    def written(self, instruction: ScopedInstruction) -> tuple[str, ...]:
        if isinstance(instruction, Store | AtomicRmw | Cmpxchg):
            return (instruction.location,)
        return ()

    def find_strong_places(self) -> frozenset[str]:
        return frozenset(accessed(self.program)) - racing(self.program)

    def puts_back(self, run: SourceRun, number: int) -> bool:
        is_update = run.events[number].kind is EventKind.UPDATE
        return is_update and run.read[number] == run.written[number]

    def begin(self) -> SourceRun:
        return SourceRun(0, {}, {})

    def path(self, run: SourceRun) -> ThreadPath:
        registers = dict(run.registers)
        return ThreadPath(
            run.events, run.read, run.written, run.dependences, registers, run.control
        )

    def assigned(self, instruction: ScopedInstruction) -> tuple[str, ...]:
        return assigned(instruction)

    def used(self, instruction: ScopedInstruction) -> tuple[Operand, ...]:
        return used(instruction)

    def event(self, run: SourceRun, kind: EventKind, operation: ScopedOperation) -> Event:
        """The event of the operation that is being executed."""
        key = (kind, run.pc)
        event = self.event_of.get(key)
        if event is None:
            ordering = operation.ordering
            if isinstance(operation, Cmpxchg) and kind is EventKind.READ:
                ordering = operation.failure_ordering
            location = None if isinstance(operation, Fence | Barrier) else operation.location
            event = self.event_of[key] = Event(
                kind, self.thread, run.pc - 1, ordering, operation.scope, location, operation
            )
        return event

    def load(self, run: SourceRun, load: Load) -> list[SourceRun]:
        event = self.event(run, EventKind.READ, load)
        forks: list[SourceRun] = []
        for value in self.domain.choices(load.location):
            fork = run.copy()
            fork.assign(load.dst, value, 1 << len(fork.events))
            fork.append(event, read=value)
            forks.append(fork)
        return forks

    def _derives(self, run: SourceRun, location: str, value: int, needs: Mask) -> bool:
        reads = [(run.events[n].location or "", run.read[n] or 0) for n in bits(needs)]
        return self.derives(run, location, value, reads)

    def store(self, run: SourceRun, store: Store) -> list[SourceRun] | None:
        value, needs = run.value(store.value), run.taint(store.value) | run.control
        if not self._derives(run, store.location, value, needs):
            return []
        run.append(self.event(run, EventKind.WRITE, store), written=value, needs=needs)
        return None

    def combined(self, kind: RmwKind, old: int, operand: int) -> int:
        """The value that a read-modify-write writes."""
        return RMW[kind](old, operand)

    def atomic_rmw(self, run: SourceRun, rmw: AtomicRmw) -> list[SourceRun]:
        operand, needs = run.value(rmw.value), run.taint(rmw.value) | run.control
        own = 0 if rmw.kind is RmwKind.XCHG else 1 << len(run.events)
        event = self.event(run, EventKind.UPDATE, rmw)
        forks = [
            self.updated(
                run, event, old, self.combined(rmw.kind, old, operand), needs | own, rmw.dst
            )
            for old in self.domain.choices(rmw.location)
        ]
        return [fork for fork in forks if fork is not None]

    def updated(
        self, run: SourceRun, event: Event, old: int, new: int, needs: Mask, dst: str | None
    ) -> SourceRun | None:
        """The run after an update that found ``old``; None if that comes out of thin air."""
        fork = run.copy()
        own = 1 << len(fork.events)
        fork.assign(dst, old, own)
        fork.append(event, old, new, needs)
        return fork if self._derives(fork, event.location or "", new, needs) else None

    def cmpxchg(self, run: SourceRun, cmpxchg: Cmpxchg) -> list[SourceRun]:
        compare, new = run.value(cmpxchg.compare), run.value(cmpxchg.new)
        own = 1 << len(run.events)
        needs = run.taint(cmpxchg.compare, cmpxchg.new) | run.control | own
        success = self.event(run, EventKind.UPDATE, cmpxchg)
        failure = self.event(run, EventKind.READ, cmpxchg)
        forks: list[SourceRun] = []
        for old in self.domain.choices(cmpxchg.location):
            if old == compare:
                fork = self.updated(run, success, old, new, needs, cmpxchg.dst)
                if fork is not None:
                    fork.assign(cmpxchg.success, 1, own | run.taint(cmpxchg.compare))
                    forks.append(fork)
            if old != compare or cmpxchg.weak:
                fork = run.copy()
                fork.assign(cmpxchg.dst, old, own)
                fork.assign(cmpxchg.success, 0, own | run.taint(cmpxchg.compare))
                fork.append(failure, read=old)
                forks.append(fork)
        return forks

    def fence(self, run: SourceRun, fence: Fence) -> None:
        run.append(self.event(run, EventKind.FENCE, fence))

    def barrier(self, run: SourceRun, barrier: Barrier) -> None:
        run.append(self.event(run, EventKind.ARRIVE, barrier), needs=run.control)
        run.append(self.event(run, EventKind.BARRIER, barrier))

    STEPS: ClassVar[StepFunctions] = {
        **COMMON_STEPS,
        Load: load,
        Store: store,
        AtomicRmw: atomic_rmw,
        Cmpxchg: cmpxchg,
        Fence: fence,
        Barrier: barrier,
    }


def assigned(instruction: ScopedInstruction) -> tuple[str, ...]:
    """The registers that ``instruction`` sets."""
    names: tuple[str | None, ...] = ()
    if isinstance(instruction, Load | AtomicRmw | Move | Arithmetic):
        names = (instruction.dst,)
    elif isinstance(instruction, Cmpxchg):
        names = (instruction.dst, instruction.success)
    return tuple(name for name in names if name is not None)


def used(instruction: ScopedInstruction) -> tuple[Operand, ...]:
    """The operands that ``instruction`` computes with."""
    if isinstance(instruction, Store | AtomicRmw | Move):
        return (instruction.value,)
    if isinstance(instruction, Cmpxchg):
        return (instruction.compare, instruction.new)
    if isinstance(instruction, Arithmetic):
        return (instruction.a, instruction.b)
    if isinstance(instruction, Branch):
        return () if instruction.condition is None else (instruction.condition,)
    return ()


# Programs without a meaning


def check(program: ScopedProgram) -> None:
    """Raise ``ProgramError``, with the place and the advice, for a program that means nothing."""
    for location in program.locations:
        if location.space not in (AddressSpace.GLOBAL, AddressSpace.LOCAL):
            raise ProgramError(
                f"location '{location.name}' is in {location.space} memory; "
                "the source model has global and local"
            )
    homes: dict[int, Placement] = {}
    for number, thread in enumerate(program.threads):
        here = thread.placement
        home = homes.setdefault(here.workgroup, here)
        if (home.agent, home.cluster) != (here.agent, here.cluster):
            raise ProgramError(
                f"thread {number}: work-group {here.workgroup} is in another agent or cluster; "
                "number work-groups across the whole program"
            )
        labels = {each.name for each in thread.instructions if isinstance(each, Label)}
        for position, each in enumerate(thread.instructions):
            problem = _problem(program, here, labels, each)
            if problem:
                raise ProgramError(f"thread {number}, instruction {position} '{each}': {problem}")


def _problem(
    program: ScopedProgram, here: Placement, labels: set[str], instruction: ScopedInstruction
) -> str:
    if isinstance(instruction, Branch):
        known = ", ".join(sorted(labels)) or "none"
        return "" if instruction.target in labels else f"no such label; there are: {known}"
    if isinstance(instruction, Move | Arithmetic | Label):
        return ""
    illegal = ILLEGAL.get((_OPERATION[type(instruction)], instruction.ordering))
    if isinstance(instruction, Cmpxchg):
        illegal = illegal or ILLEGAL_FAILURE.get(instruction.failure_ordering)
    if illegal is not None:
        return f"{illegal.reason}; accepted: {', '.join(illegal.accepted)}"
    weak = instruction.ordering is Ordering.WEAK
    if weak is not (instruction.scope is None):
        return "an operation has a scope exactly when it is not weak"
    if isinstance(instruction, Fence | Barrier):
        return ""
    if isinstance(instruction, AtomicRmw) and instruction.kind not in RMW:
        return "values are integers; use an integer kind"
    location = program.location(instruction.location)
    if location.space is AddressSpace.LOCAL and location.workgroup != here.workgroup:
        return f"'{location.name}' is LDS of work-group {location.workgroup}, not of this thread's"
    return ""


def racing(program: ScopedProgram) -> frozenset[str]:
    """The locations that two threads access, one of them to write, not both atomically for the
    other."""
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


# Combinations of paths


@dataclass(frozen=True)
class Skeleton:
    """The common part of executions, independent of the values that their reads return.

    Events are numbered: first one initial write for each location that is accessed, then
    thread by thread. ``po`` is transitive and starts with the initial writes. ``dependences``
    has for each write the reads that it depends on (its own, for an update that uses it), for each
    wait those that brought the others there. ``barriers`` has for each barrier its (arrivals,
    waits),
    ``left`` for each the waits of threads that ended without coming to it; those ``blocked`` never
    pass.
    """

    program: ScopedProgram
    events: tuple[Event, ...]
    po: Relation
    dependences: tuple[Mask, ...]
    barriers: tuple[tuple[Mask, Mask], ...]
    left: tuple[Mask, ...] = ()
    blocked: Mask = 0

    @cached_property
    def deadlocks(self) -> bool:
        """True if barriers wait for each other crosswise."""
        order = list(self.po)
        for arrivals, waits in self.barriers:
            for arrival in bits(arrivals):
                order[arrival] |= waits
        return not is_acyclic(order)

    @cached_property
    def held_up(self) -> Relation:
        """The order in a whole execution that the waits of threads at barriers enforce.

        A wait passes when all others have come, or have ended, and nothing after it happens before.
        """
        order = [0] * len(self.events)
        for (arrivals, waits), left in zip(self.barriers, self.left, strict=True):
            for each in bits(arrivals | left):
                order[each] |= waits & ~self.blocked
            for wait in bits(waits):
                order[wait] |= self.po[wait]
        return order


@dataclass(frozen=True, slots=True)
class Combination:
    """A path for each thread, which together write every value that they read."""

    skeleton: Skeleton
    read: tuple[int | None, ...]
    written: tuple[int | None, ...]
    registers: tuple[Mapping[str, int], ...]


class Candidates:
    """Every combination of paths of a program.

    ``bound`` is how often the target of a backward branch may be passed; ``complete`` says
    whether that loses nothing. With ``thin_air`` reads may also return values that depend on
    themselves (1, and any constant of the program). Raises ``ProgramError`` as ``check`` does.
    When its ``work`` is at an end there are no more.
    """

    def __init__(
        self,
        program: ScopedProgram,
        bound: int = 1,
        thin_air: bool = False,
        work: WorkBudget | None = None,
    ):
        check(program)
        self.program = program
        self.work = WorkBudget() if work is None else work
        self.initial = accessed(program)
        self.complete = True
        self._skeletons: dict[tuple[int, ...], Skeleton] = {}
        self._numbers = Choices()
        paths = self._run_threads(bound, thin_air)
        self._choices = [[self._choice(path) for path in each] for each in paths]

    def _run_threads(self, bound: int, thin_air: bool) -> list[list[ThreadPath]]:
        """Run all threads until nothing writes a value that no earlier round has seen."""
        write_bits: dict[object, int] = {}
        runners = [
            SourceRunner(self.program, i, bound, write_bits)
            for i in range(len(self.program.threads))
        ]
        seeds = _constants(self.program) if thin_air else ()
        paths = all_paths(runners, Domain(self.initial, seeds, self.work))
        self.complete = all(runner.complete for runner in runners)
        return paths

    def __iter__(self) -> Iterator[Combination]:
        available = self._numbers.values(self.initial.items())
        still: list[Mask] = [0]
        for choices in reversed(self._choices):
            still.append(still[-1])
            for choice in choices:
                still[-1] |= choice.provides
        yield from self._extend((), 0, available, still[::-1])

    def _extend(
        self, chosen: tuple[Choice[ThreadPath], ...], needs: Mask, provides: Mask, still: list[Mask]
    ) -> Iterator[Combination]:
        """All extensions of paths for the first threads; ``still``: values others may write."""
        thread = len(chosen)
        if needs & ~(provides | still[thread]) or not self.work.take():
            return
        if thread == len(self._choices):
            yield self._combination(chosen)
            return
        for choice in self._choices[thread]:
            yield from self._extend(
                (*chosen, choice), needs | choice.needs, provides | choice.provides, still
            )

    def _combination(self, chosen: tuple[Choice[ThreadPath], ...]) -> Combination:
        key = tuple(choice.shape for choice in chosen)
        paths = [choice.path for choice in chosen]
        skeleton = self._skeletons.get(key)
        if skeleton is None:
            skeleton = skeleton_of(self.program, self.initial, paths)
            self._skeletons[key] = skeleton
        return combined(self.initial, skeleton, paths)

    def _choice(self, path: ThreadPath) -> Choice[ThreadPath]:
        read: list[tuple[str, int]] = []
        written: list[tuple[str, int]] = []
        for event, old, new in zip(path.events, path.read, path.written, strict=True):
            if old is not None:
                read.append((event.location or "", old))
            if new is not None:
                written.append((event.location or "", new))
        # A runner makes an event once: the same one is as good as an equal one, and has no hash.
        shape = (*map(id, path.events), path.dependences, path.control)
        return self._numbers.choice(path, shape, read, written)


@dataclass(frozen=True, slots=True)
class Walk:
    """One combination of paths, and the hint for its execution."""

    combination: Combination
    hint: InterleavingHint


class Walks:
    """Random interleavings of a program's threads, each a combination of paths.

    Raises ``ProgramError`` as ``check`` does.
    """

    def __init__(self, program: ScopedProgram, bound: int = 1):
        check(program)
        self.program = program
        self.initial = accessed(program)
        self._interleaving = Interleaving(self.initial.items())
        domain = WalkedDomain(self._interleaving)
        bits: dict[object, int] = {}
        self._runners = [SourceRunner(program, n, bound, bits) for n in range(len(program.threads))]
        for runner in self._runners:
            runner.domain = domain

    def walk(self, random: Random) -> Walk | None:
        """The combination of one walk; None if a thread was cut at the bound of a loop."""
        self._interleaving.start(random)
        runs = [runner.begin() for runner in self._runners]
        going = list(range(len(runs)))
        while going:
            number = random.choice(going)
            self._interleaving.thread = number
            forks = self._runners[number].advance(runs[number])
            if forks is None:
                going.remove(number)
            elif not forks:
                return None
            else:
                runs[number] = random.choice(forks)
        paths = [runner.path(run) for runner, run in zip(self._runners, runs, strict=True)]
        skeleton = skeleton_of(self.program, self.initial, paths)
        hint = self._interleaving.hint([(e.reads, e.writes) for e in p.events] for p in paths)
        return Walk(combined(self.initial, skeleton, paths), hint)


def interleaved(program: ScopedProgram) -> Interleaved:
    """The program for its interleavings. Raises ``ProgramError`` as ``check`` does."""
    check(program)
    bits: dict[object, int] = {}
    runners = [SourceRunner(program, n, UNBOUNDED, bits) for n in range(len(program.threads))]

    def passage(thread: int, instruction: ScopedInstruction, run: object) -> Passage | None:
        if not isinstance(instruction, Barrier):
            return None
        threads = enumerate(program.threads)
        instances = [scope_instance(t.placement, n, instruction.scope) for n, t in threads]
        members = frozenset(n for n, each in enumerate(instances) if each == instances[thread])
        gate = Gate(instruction.scope, instances[thread], members)
        return Passage(gate, arrives=True, waits=True)

    places = [thread.places for thread in program.threads]
    return Interleaved(runners, places, accessed(program), passage, str)


def accessed(program: ScopedProgram) -> dict[str, int]:
    """The locations that are accessed, with their initial values."""
    names = {
        each.location
        for thread in program.threads
        for each in thread.instructions
        if isinstance(each, Load | Store | AtomicRmw | Cmpxchg)
    }
    return {e.name: e.initial for e in program.locations if e.name in names}


def combined(
    initial: Mapping[str, int], skeleton: Skeleton, paths: Iterable[ThreadPath]
) -> Combination:
    """The combination of ``paths``, with its values."""
    read: list[int | None] = [None] * len(initial)
    written: list[int | None] = list(initial.values())
    registers: list[Mapping[str, int]] = []
    for path in paths:
        read += path.read
        written += path.written
        registers.append(path.registers)
    return Combination(skeleton, tuple(read), tuple(written), tuple(registers))


def skeleton_of(
    program: ScopedProgram, initial: Mapping[str, int], paths: list[ThreadPath]
) -> Skeleton:
    """The events of ``paths`` together, and the barriers at which they meet."""
    events = [
        Event(EventKind.WRITE, -1, -1, Ordering.RELAXED, Scope.SYSTEM, name, None)
        for name in initial
    ]
    dependences: list[Mask] = [0] * len(events)
    po: Relation = []
    total = len(events) + sum(len(path.events) for path in paths)
    everything = (1 << total) - 1
    po += [everything >> len(events) << len(events)] * len(events)
    barriers: dict[tuple[object, int], _Meeting] = {}
    ends: list[tuple[Mask, Mask]] = []
    blocked = 0
    for thread, path in enumerate(paths):
        start, end = len(events), len(events) + len(path.events)
        po += [(1 << end) - (2 << number) for number in range(start, end)]
        dependences += [mask << start for mask in path.dependences]
        events += path.events
        turns: dict[object, int] = {}
        for number in range(start, end):
            event = events[number]
            if event.kind is not EventKind.ARRIVE or event.scope is None:
                continue
            place = program.threads[thread].placement
            instance = scope_instance(place, thread, event.scope)
            turns[instance] = turns.get(instance, 0) + 1
            meeting = barriers.setdefault((instance, turns[instance]), _Meeting(event.scope))
            meeting.came |= 1 << thread
            meeting.arrivals |= 1 << number
            meeting.needs |= dependences[number]
        waits = mask_of(n for n in range(start, end) if events[n].kind is EventKind.BARRIER)
        if path.blocked:
            blocked |= 1 << end - 1
        ends.append((waits & ~blocked, path.control << start))
    left: list[Mask] = []
    for (instance, _), meeting in barriers.items():
        left.append(0)
        for thread, (waits, decided_by) in enumerate(ends):
            place = program.threads[thread].placement
            is_member = scope_instance(place, thread, meeting.scope) == instance
            if is_member and not meeting.came >> thread & 1:
                left[-1] |= waits
                meeting.needs |= decided_by
        for wait in bits(meeting.waits):
            dependences[wait] |= meeting.needs
    met = tuple((each.arrivals, each.waits) for each in barriers.values())
    return Skeleton(program, tuple(events), po, tuple(dependences), met, tuple(left), blocked)


@dataclass(slots=True)
class _Meeting:
    """A barrier that was passed: the threads, and the reads that brought all of them there."""

    scope: Scope
    came: Mask = 0
    arrivals: Mask = 0
    needs: Mask = 0

    @property
    def waits(self) -> Mask:
        """Each comes next after its arrival."""
        return self.arrivals << 1


def _constants(program: ScopedProgram) -> set[int]:
    found = {
        operand
        for thread in program.threads
        for each in thread.instructions
        for operand in used(each)
    }
    return {1, *(operand for operand in found if isinstance(operand, int))}
