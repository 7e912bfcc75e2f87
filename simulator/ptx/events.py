"""PTX programs as data, and what each of their threads can do: events, dependences, final registers.

A program becomes *candidate executions* in two steps. Every thread is run on its own, each
read returning any value that some write could have put there: a ``PtxPath`` is one such run.
A choice of one path for each thread in which every value read was also written is a
``PtxCombination``; the model then decides which write each read takes (``model``).

Values are 32-bit words. Addresses are names, never computed, so that there are
no address dependences. Mixed sizes, vectors, textures as objects, and targets below sm_70
are not covered. Source: PTX ISA, "Memory Consistency Model"; reads take values that have a
derivation of their own, which is the axiom No-Thin-Air on values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import combinations, product
from random import Random
from typing import Any, ClassVar

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison, Register
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
    Thread,
    signed,
)
from fencewright.simulator.core.relation import Mask, Relation, bits, is_acyclic, union
from fencewright.simulator.core.sequential import UNBOUNDED, Gate, Interleaved, Passage
from fencewright.simulator.core.thread_runs import (
    COMMON_STEPS,
    Choice,
    Choices,
    Domain,
    Runner,
    StepFunctions,
    ThreadRun,
    WalkedDomain,
    all_paths,
)
from fencewright.simulator.core.words import WORD_MASK

SCOPES: Mapping[str, Scope] = {
    "cta": Scope.WORKGROUP,
    "cluster": Scope.CLUSTER,
    "gpu": Scope.AGENT,
    "sys": Scope.SYSTEM,
}
"""PTX's scope qualifiers. Source: PTX ISA, "Scope"."""


class PtxProxy(Enum):
    """How an access reaches memory. Source: PTX ISA, "Proxies"."""

    GENERIC = "generic"
    CONSTANT = "constant"
    TEXTURE = "texture"
    SURFACE = "surface"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class Ld:
    """``ld``: read ``location`` into ``dst``. ``scope`` is None for a weak access."""

    dst: str
    location: str
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class St:
    """``st``: write ``value`` to ``location``."""

    location: str
    value: Operand
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class Atom:
    """``atom``, or ``red`` when ``dst`` is None.

    ``atom.cas`` exchanges, and only if the old value equals ``compare``.
    """

    dst: str | None
    location: str
    operation: RmwKind
    operand: Operand
    compare: Operand | None = None
    ordering: Ordering = Ordering.RELAXED
    scope: Scope = Scope.AGENT
    proxy: PtxProxy = PtxProxy.GENERIC

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The values that it uses besides the location's."""
        return (self.operand,) if self.compare is None else (self.compare, self.operand)


class Restriction(Enum):
    """The objects that a fence with ``.sync_restrict`` is about: shared memory of its CTA, or of
    all CTAs of its cluster. Source: PTX ISA, "membar / fence".
    """

    OWN = "shared::cta"
    CLUSTER = "shared::cluster"

    @property
    def ordering(self) -> Ordering:
        """The one ordering that a fence can have with it."""
        return Ordering.RELEASE if self is Restriction.OWN else Ordering.ACQUIRE

    @property
    def reach(self) -> Scope:
        """Whose shared memory it is."""
        return Scope.WORKGROUP if self is Restriction.OWN else Scope.CLUSTER


@dataclass(frozen=True, slots=True)
class PtxFence:
    """``fence``; ``fence.sc`` has the ordering seq_cst, ``restriction`` is ``.sync_restrict``."""

    ordering: Ordering
    scope: Scope
    restriction: Restriction | None = None

    @property
    def problem(self) -> str:
        """Why there is no such fence; "" if there is. Source: PTX ISA, "membar / fence"."""
        restriction = self.restriction
        if restriction is None:
            return ""
        if self.ordering is restriction.ordering and self.scope is Scope.CLUSTER:
            return ""
        words = f"{restriction.ordering} fences at cluster scope"
        return f"sync_restrict::{restriction.value} is for {words}"


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """``fence.proxy.X``; ``proxy`` None is ``fence.proxy.alias``."""

    proxy: PtxProxy | None


class BarrierRole(Enum):
    """What a barrier operation does: sync arrives and waits."""

    SYNC = "sync"
    ARRIVE = "arrive"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Bar:
    """``bar.cta``: the ``instance`` written in the program, its barrier number, its thread count.

    Without ``count`` the participants are the threads of the CTA that execute it, the n-th
    time each with the n-th time of the others, and nobody is left waiting.
    """

    role: BarrierRole
    instance: Operand
    number: Operand = 0
    count: Operand | None = None


@dataclass(frozen=True, slots=True)
class ClusterBarrier:
    """``barrier.cluster.arrive`` (release or relaxed) and ``.wait`` (acquire)."""

    role: BarrierRole
    ordering: Ordering


@dataclass(frozen=True, slots=True)
class MbarrierArrive:
    """``mbarrier.arrive``; ``expect_tx`` counts the copies that the phase also waits for."""

    mbarrier: str
    ordering: Ordering = Ordering.RELEASE
    scope: Scope = Scope.WORKGROUP
    expect_tx: int = 0


@dataclass(frozen=True, slots=True)
class MbarrierWait:
    """``mbarrier.try_wait`` in a loop until the ``phase``-th phase (from 0) is complete."""

    mbarrier: str
    phase: int = 0
    ordering: Ordering = Ordering.ACQUIRE
    scope: Scope = Scope.WORKGROUP


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """``cp.async.bulk`` from ``source`` (or ``st.async`` of a value) to ``location``.

    Completes on ``mbarrier``, or, when that is None, with the bulk group it is committed to.
    """

    location: str
    source: str | None
    value: Operand = 0
    mbarrier: str | None = None


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """``cp.async.bulk.commit_group``: the thread's copies so far can be waited for."""


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """``cp.async.bulk.wait_group 0``; ``reads_only`` is ``.read``: only the sources are done."""

    reads_only: bool


@dataclass(frozen=True, slots=True)
class CompareBranch:
    """To ``target`` if ``left`` compares so with ``right``, as signed words: ``setp`` and ``bra``."""

    target: str
    comparison: Comparison
    left: Operand
    right: Operand


PtxInstruction = (
    Ld
    | St
    | Atom
    | PtxFence
    | ProxyFence
    | Bar
    | ClusterBarrier
    | MbarrierArrive
    | MbarrierWait
    | AsyncCopy
    | CommitGroup
    | WaitGroup
    | CompareBranch
    | Common
)


@dataclass(frozen=True, slots=True)
class Alias:
    """What a further name stands for: another name of ``location``.

    With the generic proxy it is another virtual address of it, which any proxy may use.
    With any other proxy it is the same virtual address as it is reached through that proxy.
    Source: PTX ISA, "Proxies"; ISCA 2022, "virtual aliases".
    """

    location: str
    proxy: PtxProxy = PtxProxy.GENERIC


@dataclass(frozen=True, slots=True)
class PtxProgram(Program[PtxInstruction]):
    """Threads over named locations; those that are not declared start at 0.

    ``aliases`` has the names that are not locations of their own, ``mbarriers`` has the
    arrival count of each mbarrier, which is initialised before the threads start. ``shared``
    has the CTA of every location in shared memory; only ``.sync_restrict`` distinguishes them.
    ``registers`` are those that do not start at 0.
    """

    aliases: Mapping[str, Alias] = field(default_factory=dict[str, Alias])
    mbarriers: Mapping[str, int] = field(default_factory=dict[str, int])
    shared: Mapping[str, Placement] = field(default_factory=dict[str, Placement])
    registers: Mapping[Register, int] = field(default_factory=dict[Register, int])

    @property
    def initial(self) -> dict[str, int]:
        """The words that the declared locations start with."""
        return {each.name: each.initial & WORD_MASK for each in self.locations}

    def registers_of(self, thread: int) -> dict[str, int]:
        """The words that the registers of a thread start with."""
        return {r.name: n & WORD_MASK for r, n in self.registers.items() if r.thread == thread}

    def physical(self, name: str) -> str:
        """The physical location that ``name`` stands for. Raises ``ProgramError``."""
        return self._names(name)[-1]

    def address(self, name: str) -> str:
        """The virtual address that ``name`` stands for. Raises ``ProgramError``."""
        names = self._names(name)
        return next(each for each in names if not self._is_through_a_proxy(each))

    def _is_through_a_proxy(self, name: str) -> bool:
        alias = self.aliases.get(name)
        return alias is not None and alias.proxy is not PtxProxy.GENERIC

    def _names(self, name: str) -> list[str]:
        """``name`` and what it is another name of, down to the location."""
        names = [name]
        while (alias := self.aliases.get(names[-1])) is not None:
            if alias.location in names:
                raise ProgramError(f"{alias.location} is an alias of itself")
            names.append(alias.location)
        return names


class PtxEventKind(Enum):
    """What an event is. Source: PTX ISA, "Operation types" (memory, fence, proxy fence, barrier)."""

    READ = "R"
    WRITE = "W"
    FENCE = "F"
    PROXY_FENCE = "PF"
    BARRIER = "B"
    ARRIVE = "A"
    WAIT = "T"


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """The barrier object that an operation takes part in.

    ``count`` is how many arrivals complete it, None when everyone who comes takes part.
    """

    name: str
    number: int
    count: int | None
    mbarrier: bool


@dataclass(frozen=True, slots=True)
class PtxEvent:
    """One memory, fence or barrier operation of a run.

    ``thread`` is -1 for initial writes, ``position`` the index of its instruction in the
    thread's code. ``variable`` is the virtual address, ``location`` the
    physical one. ``is_red`` marks the read half of ``red``. A proxy fence without ``proxy``
    is the alias fence. ``phase`` is the phase that an mbarrier wait asks for.
    """

    kind: PtxEventKind
    thread: int
    position: int
    ordering: Ordering = Ordering.WEAK
    scope: Scope | None = None
    variable: str | None = None
    location: str | None = None
    proxy: PtxProxy | None = PtxProxy.GENERIC
    is_red: bool = False
    restriction: Restriction | None = None
    rendezvous: Rendezvous | None = None
    role: BarrierRole | None = None
    phase: int | None = None
    expect_tx: int = 0
    is_complete_tx: bool = False

    @property
    def is_strong(self) -> bool:
        """Whether it is a fence or an access with a scope. Source: PTX ISA, "Operation types"."""
        return self.scope is not None

    @property
    def is_access(self) -> bool:
        """Whether it reads or writes memory."""
        return self.kind in (PtxEventKind.READ, PtxEventKind.WRITE)

    def __str__(self) -> str:
        where = "init" if self.thread < 0 else f"P{self.thread}:{self.position}"
        return " ".join(part for part in (where, self.kind.value, self.variable) if part)


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PtxPath:
    """One run of one thread.

    Numbers count the path's own events. ``values`` has what each event read or wrote,
    ``dependences`` for each event the reads that its value or its being executed depends on,
    ``read_modify_writes`` the halves of atomics, ``order`` for each event the events that
    are directly before it in program order, ``issued`` for each access of an asynchronous
    copy the events before the copy was issued. ``blocked``: the last event is a barrier that
    never completes; a register that was still to be set is None.
    """

    events: tuple[PtxEvent, ...]
    values: tuple[int, ...]
    dependences: tuple[Mask, ...]
    read_modify_writes: tuple[Pair, ...]
    order: tuple[Mask, ...]
    issued: tuple[Mask, ...]
    registers: Mapping[str, int | None]
    blocked: bool


@dataclass(slots=True)
class PtxRun(ThreadRun[PtxEvent]):
    """A run with all that becomes of a path; copied where a read can return several values.

    Of its events those of asynchronous copies are in the ``background``; ``uncommitted`` and
    ``committed`` are those of copies that complete with a group.
    """

    values: tuple[int, ...] = ()
    dependences: tuple[Mask, ...] = ()
    read_modify_writes: tuple[Pair, ...] = ()
    order: tuple[Mask, ...] = ()
    issued: tuple[Mask, ...] = ()
    background: Mask = 0
    uncommitted: Mask = 0
    committed: Mask = 0

    def copy(self) -> "PtxRun":
        return PtxRun(
            self.pc,
            dict(self.registers),
            dict(self.taints),
            self.control,
            self.events,
            self.executed,
            self.visits,
            self.values,
            self.dependences,
            self.read_modify_writes,
            self.order,
            self.issued,
            self.background,
            self.uncommitted,
            self.committed,
        )

    def append(self, event: PtxEvent, value: int, dependences: Mask) -> int:
        """Add an event after all earlier ones of the thread, copies apart; its number."""
        return self.append_after(self.foreground(), event, value, dependences)

    def append_after(
        self, follows: Mask, event: PtxEvent, value: int, dependences: Mask, issued: Mask = 0
    ) -> int:
        """Add an event after ``follows`` alone; its number."""
        self.events = (*self.events, event)
        self.values = (*self.values, value)
        self.dependences = (*self.dependences, dependences)
        self.order = (*self.order, follows)
        self.issued = (*self.issued, issued)
        return len(self.events) - 1

    def foreground(self) -> Mask:
        """The events so far less those of asynchronous copies."""
        return (1 << len(self.events)) - 1 & ~self.background


class PtxRunner(Runner[PtxRun, PtxPath]):
    """All runs of one thread."""

    BRANCHES = (Branch, CompareBranch)
    IDLE = (PtxEventKind.READ, PtxEventKind.FENCE)

    def __init__(self, program: PtxProgram, thread: int, bound: int, write_bits: dict[object, int]):
        super().__init__(thread, program.threads[thread].instructions, bound, write_bits)
        self.program = program
        self.locations = {each: program.physical(each) for each in variables(self.code)}
        self.addresses = {each: program.address(each) for each in self.locations}
        self.sets = frozenset(name for each in self.code for name in assigned(each))

    def begin(self) -> PtxRun:
        return PtxRun(0, self.program.registers_of(self.thread), {})

    def assigned(self, instruction: PtxInstruction) -> tuple[str, ...]:
        return assigned(instruction)

    def used(self, instruction: PtxInstruction) -> tuple[Operand, ...]:
        match instruction:
            case Arithmetic(_, _, a, b):
                return (a, b)
            case Move(_, value):
                return (value,)
            case _:
                return ()

    def path(self, run: PtxRun, blocked: bool = False) -> PtxPath:
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
        )

    def _event(self, run: PtxRun, kind: PtxEventKind, access: Ld | St | Atom) -> PtxEvent:
        return PtxEvent(
            kind,
            self.thread,
            run.pc - 1,
            ordering=_half(kind, access.ordering),
            scope=access.scope,
            variable=self.addresses[access.location],
            location=self.locations[access.location],
            proxy=access.proxy,
        )

    def load(self, run: PtxRun, load: Ld) -> list[PtxRun]:
        return self.read(run, self._event(run, PtxEventKind.READ, load), load.dst)

    def read(self, run: PtxRun, event: PtxEvent, register: str | None) -> list[PtxRun]:
        """The runs in which an event reads what it can, into a register if there is one."""
        forks: list[PtxRun] = []
        for value in self.domain.choices(event.location or ""):
            fork = run.copy()
            number = fork.append(event, value, 0)
            if register is not None:
                fork.assign(register, value, 1 << number)
            forks.append(fork)
        return forks

    def _derives(self, run: PtxRun, event: PtxEvent, value: int, dependences: Mask) -> bool:
        """Note that ``value`` can be written; False if it would have to come out of thin air."""
        reads = [(run.events[n].location or "", run.values[n]) for n in bits(dependences)]
        return self.derives(run, event.location or "", value, reads)

    def _write(self, run: PtxRun, event: PtxEvent, value: int, dependences: Mask) -> bool:
        """Append a write; False if its value would have to come out of thin air."""
        if not self._derives(run, event, value, dependences):
            return False
        run.append(event, value, dependences)
        return True

    def store(self, run: PtxRun, store: St) -> list[PtxRun] | None:
        event = self._event(run, PtxEventKind.WRITE, store)
        dependences = run.taint(store.value) | run.control
        return None if self._write(run, event, run.value(store.value), dependences) else []

    def atomic(self, run: PtxRun, atomic: Atom) -> list[PtxRun]:
        read = self._event(run, PtxEventKind.READ, atomic)
        write = self._event(run, PtxEventKind.WRITE, atomic)
        if atomic.dst is None:
            read = replace(read, is_red=True)
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
            if self._write(fork, write, new, dependences | uses_old << number):
                fork.read_modify_writes = (*fork.read_modify_writes, (number, number + 1))
                forks.append(fork)
        return forks

    def exchanges(self, run: PtxRun, read: int, old: int, expected: int) -> bool:
        """Whether a compare-and-swap, of which ``read`` is an event, writes."""
        return old == expected

    def combined(self, kind: RmwKind, old: int, operand: int) -> int:
        """What a read-modify-write writes."""
        return RMW[kind](old, operand)

    def _synchronise(
        self,
        run: PtxRun,
        kind: PtxEventKind,
        ordering: Ordering = Ordering.WEAK,
        scope: Scope | None = None,
        **fields: Any,
    ) -> None:
        """Append an event that accesses nothing."""
        run.append(PtxEvent(kind, self.thread, run.pc - 1, ordering, scope, **fields), 0, 0)

    def fence(self, run: PtxRun, fence: PtxFence) -> None:
        kind, restriction = PtxEventKind.FENCE, fence.restriction
        self._synchronise(run, kind, fence.ordering, fence.scope, restriction=restriction)

    def proxy_fence(self, run: PtxRun, fence: ProxyFence) -> None:
        self._synchronise(run, PtxEventKind.PROXY_FENCE, proxy=fence.proxy)

    def barrier(self, run: PtxRun, barrier: Bar) -> list[PtxRun] | None:
        count = None if barrier.count is None else run.value(barrier.count)
        name = f"bar.{run.value(barrier.instance)}"
        rendezvous = Rendezvous(name, run.value(barrier.number), count, mbarrier=False)
        role = barrier.role
        self._synchronise(run, PtxEventKind.BARRIER, rendezvous=rendezvous, role=role)
        return self.may_block(run) if count is not None and role is BarrierRole.SYNC else None

    def may_block(self, run: PtxRun) -> list[PtxRun]:
        """The continuation after a barrier; that it never completes is a path of its own."""
        self.paths.append(self.path(run, blocked=True))
        return [run]

    def cluster_barrier(self, run: PtxRun, barrier: ClusterBarrier) -> None:
        role = barrier.role
        kind = PtxEventKind.ARRIVE if role is BarrierRole.ARRIVE else PtxEventKind.WAIT
        place = Rendezvous("barrier.cluster", 0, None, mbarrier=False)
        scope = Scope.CLUSTER
        self._synchronise(run, kind, barrier.ordering, scope, rendezvous=place, role=role)

    def _mbarrier(self, name: str) -> Rendezvous:
        return Rendezvous(name, 0, self.program.mbarriers[name], mbarrier=True)

    def mbarrier_arrive(self, run: PtxRun, arrive: MbarrierArrive) -> None:
        self._synchronise(
            run,
            PtxEventKind.ARRIVE,
            arrive.ordering,
            arrive.scope,
            rendezvous=self._mbarrier(arrive.mbarrier),
            role=BarrierRole.ARRIVE,
            expect_tx=arrive.expect_tx,
        )

    def mbarrier_wait(self, run: PtxRun, wait: MbarrierWait) -> list[PtxRun]:
        self._synchronise(
            run,
            PtxEventKind.WAIT,
            wait.ordering,
            wait.scope,
            rendezvous=self._mbarrier(wait.mbarrier),
            role=BarrierRole.WAIT,
            phase=wait.phase,
        )
        return self.may_block(run)

    def async_copy(self, run: PtxRun, copy: AsyncCopy) -> list[PtxRun]:
        """The copy's own events follow what the thread did before, and nothing waits for them.

        Completion is followed by an implicit proxy fence, and its complete_tx releases at
        cluster scope what the copy itself did. Source: PTX ISA, "Async proxy", cp.async.bulk.
        """
        issued, first = run.foreground(), len(run.events)
        forks = [run] if copy.source is None else self._copy_read(run, copy.source, issued)
        passed: list[PtxRun] = []
        for fork in forks:
            own = (1 << len(fork.events)) - (1 << first)
            value = fork.values[first] if own else run.value(copy.value)
            dependences = (own or run.taint(copy.value)) | fork.control
            write = self._async_event(fork, PtxEventKind.WRITE, copy.location)
            if not self._derives(fork, write, value, dependences):
                continue
            own |= 1 << fork.append_after(own, write, value, dependences, issued)
            fence = PtxEvent(
                PtxEventKind.PROXY_FENCE, self.thread, fork.pc - 1, proxy=PtxProxy.ASYNC
            )
            own |= 1 << fork.append_after(own, fence, 0, 0)
            if copy.mbarrier is not None:
                own |= 1 << fork.append_after(own, self._complete_tx(fork, copy.mbarrier), 0, 0)
            else:
                fork.uncommitted |= own
            fork.background |= own
            passed.append(fork)
        return passed

    def _copy_read(self, run: PtxRun, source: str, issued: Mask) -> list[PtxRun]:
        event = self._async_event(run, PtxEventKind.READ, source)
        forks = [(run.copy(), value) for value in self.domain.choices(event.location or "")]
        for fork, value in forks:
            fork.append_after(0, event, value, 0, issued)
        return [fork for fork, _ in forks]

    def _async_event(self, run: PtxRun, kind: PtxEventKind, variable: str) -> PtxEvent:
        return PtxEvent(
            kind,
            self.thread,
            run.pc - 1,
            variable=self.addresses[variable],
            location=self.locations[variable],
            proxy=PtxProxy.ASYNC,
        )

    def _complete_tx(self, run: PtxRun, mbarrier: str) -> PtxEvent:
        return PtxEvent(
            PtxEventKind.ARRIVE,
            self.thread,
            run.pc - 1,
            Ordering.RELEASE,
            Scope.CLUSTER,
            rendezvous=self._mbarrier(mbarrier),
            role=BarrierRole.ARRIVE,
            is_complete_tx=True,
        )

    def commit_group(self, run: PtxRun, commit: CommitGroup) -> None:
        run.committed |= run.uncommitted
        run.uncommitted = 0

    def wait_group(self, run: PtxRun, wait: WaitGroup) -> None:
        """What the thread does from here on follows its committed copies, or only their reads."""
        done = 0
        for event in bits(run.committed):
            kind = run.events[event].kind
            if kind is PtxEventKind.READ or not wait.reads_only:
                done |= 1 << event
        fence = PtxEvent(PtxEventKind.PROXY_FENCE, self.thread, run.pc - 1, proxy=PtxProxy.ASYNC)
        run.append_after(run.foreground() | done, fence, 0, 0)

    def compare_branch(self, run: PtxRun, branch: CompareBranch) -> list[PtxRun] | None:
        run.control |= run.taint(branch.left, branch.right)
        left, right = signed(run.value(branch.left)), signed(run.value(branch.right))
        return self.jump(run, branch.target) if branch.comparison.holds(left, right) else None

    STEPS: ClassVar[StepFunctions] = {
        **COMMON_STEPS,
        Ld: load,
        St: store,
        Atom: atomic,
        PtxFence: fence,
        ProxyFence: proxy_fence,
        Bar: barrier,
        ClusterBarrier: cluster_barrier,
        MbarrierArrive: mbarrier_arrive,
        MbarrierWait: mbarrier_wait,
        AsyncCopy: async_copy,
        CommitGroup: commit_group,
        WaitGroup: wait_group,
        CompareBranch: compare_branch,
    }


def assigned(instruction: PtxInstruction) -> tuple[str, ...]:
    """The register that an instruction sets, if any."""
    dst = instruction.dst if isinstance(instruction, Ld | Atom | Move | Arithmetic) else None
    return () if dst is None else (dst,)


def _half(kind: PtxEventKind, ordering: Ordering) -> Ordering:
    """The ordering of one half of an access: an acquire is the read's, a release the write's."""
    if ordering is Ordering.WEAK:
        return ordering
    if kind is PtxEventKind.READ:
        return Ordering.ACQUIRE if ordering.acquires else Ordering.RELAXED
    return Ordering.RELEASE if ordering.releases else Ordering.RELAXED


def accesses(instruction: PtxInstruction) -> Iterator[tuple[str, PtxProxy]]:
    """The names through which an instruction accesses memory, each with the proxy."""
    match instruction:
        case Ld() | St() | Atom():
            yield instruction.location, instruction.proxy
        case AsyncCopy():
            yield instruction.location, PtxProxy.ASYNC
            if instruction.source is not None:
                yield instruction.source, PtxProxy.ASYNC
        case _:
            pass


def variables(code: Iterable[PtxInstruction]) -> Iterator[str]:
    """The names through which code accesses memory."""
    return (name for each in code for name, _ in accesses(each))


def check(program: PtxProgram) -> None:
    for number, thread in enumerate(program.threads):
        labels = {each.name for each in thread.instructions if isinstance(each, Label)}
        for each in thread.instructions:
            if isinstance(each, Branch | CompareBranch) and each.target not in labels:
                raise ProgramError(f"thread {number} jumps to {each.target}, which is not there")
            problem = each.problem if isinstance(each, PtxFence) else ""
            if problem:
                raise ProgramError(f"thread {number}: {problem}")
            mbarrier = each.mbarrier if isinstance(each, _MBARRIER_OPERATIONS) else None
            if mbarrier is not None and mbarrier not in program.mbarriers:
                raise ProgramError(f"thread {number} uses {mbarrier}, which is not an mbarrier")
        for variable in variables(thread.instructions):
            if program.physical(variable) in program.mbarriers:
                raise ProgramError(f"thread {number} accesses {variable}, which is an mbarrier")


_MBARRIER_OPERATIONS = (MbarrierArrive, MbarrierWait, AsyncCopy)


def _constants(program: PtxProgram) -> set[int]:
    found = set(program.registers.values())
    for thread in program.threads:
        for each in thread.instructions:
            found.update(operand for operand in operands(each) if isinstance(operand, int))
    return {value & WORD_MASK for value in found}


def operands(instruction: PtxInstruction) -> tuple[Operand, ...]:
    """The values that an instruction stores, computes with or compares."""
    match instruction:
        case St() | AsyncCopy() | Move():
            return (instruction.value,)
        case Atom():
            return instruction.operands
        case Arithmetic():
            return (instruction.a, instruction.b)
        case CompareBranch():
            return (instruction.left, instruction.right)
        case Branch(_, condition) if condition is not None:
            return (condition, 0)
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class Meeting:
    """Barrier operations of one completed phase: every arrival is before every wait."""

    arrivals: tuple[int, ...]
    waits: tuple[int, ...]


@dataclass(frozen=True)
class PtxSkeleton:
    """What executions have in common whatever their reads return.

    Events are numbered: first one initial write for each location, then thread by thread.
    ``po`` is transitive; the events of an asynchronous copy are in it among themselves alone,
    and ``issue`` leads from what came before the copy to its accesses. ``meetings`` says
    which barrier operations met.
    """

    program: PtxProgram
    events: tuple[PtxEvent, ...]
    po: Relation
    issue: Relation
    dependences: Relation
    rmw: Relation
    meetings: tuple[Meeting, ...]

    @cached_property
    def locations(self) -> tuple[str, ...]:
        """Every location with an event, in order."""
        return tuple(sorted({each.location for each in self.events if each.location}))

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The numbers of the reads."""
        return tuple(i for i, e in enumerate(self.events) if e.kind is PtxEventKind.READ)

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """The numbers of the writes, initial ones included."""
        return tuple(i for i, e in enumerate(self.events) if e.kind is PtxEventKind.WRITE)

    def placement(self, event: int) -> Placement | None:
        """Where the event's thread runs; None for initial writes."""
        thread = self.events[event].thread
        return None if thread < 0 else self.program.threads[thread].placement


@dataclass(frozen=True, slots=True)
class PtxCombination:
    """A path for each thread, which together write every value that they read.

    ``skeletons`` has one for each combination of barrier meetings. ``values`` has
    what each event read or wrote.
    """

    skeletons: tuple[PtxSkeleton, ...]
    values: tuple[int, ...]
    registers: tuple[Mapping[str, int | None], ...]


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
        locations = sorted({each.location or "" for each in events} | named - {*program.mbarriers})
        self.registers = tuple(
            frozenset(name for path in paths for name in path.registers) for paths in self._paths
        )
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
            yield PtxCombination(known, tuple(values), registers)

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
        )
        read = (each for kind, each in accesses if kind is PtxEventKind.READ)
        written = (each for kind, each in accesses if kind is PtxEventKind.WRITE)
        return self._numbers.choice(path, shape, read, written)


def skeletons(
    program: PtxProgram, initial: Iterable[tuple[str, int]], paths: list[PtxPath], work: WorkBudget
) -> Iterator[PtxSkeleton]:
    """One skeleton for each combination of meetings of the barrier operations of ``paths``."""
    skeleton = unmet(program, initial, paths)
    events, order = skeleton.events, union(skeleton.po, skeleton.issue)
    last, blocked = len(events), set[int]()
    for path in reversed(paths):
        if path.blocked:
            blocked.add(last - 1)
        last -= len(path.events)
    for meetings in _meetings(program, list(events), order, blocked):
        if not work.take():
            return
        yield replace(skeleton, meetings=meetings)


def unmet(
    program: PtxProgram, initial: Iterable[tuple[str, int]], paths: Iterable[PtxPath]
) -> PtxSkeleton:
    """The skeleton of ``paths`` in which no barrier operations have met."""
    events = [
        PtxEvent(PtxEventKind.WRITE, -1, -1, variable=name, location=name) for name, _ in initial
    ]
    starts: list[int] = []
    chosen = tuple(paths)
    for path in chosen:
        starts.append(len(events))
        events.extend(path.events)
    po, issue, dependences, rmw = ([0] * len(events) for _ in range(4))
    for start, path in zip(starts, chosen, strict=True):
        _add_path(path, start, po, dependences, rmw)
        for number, before in enumerate(path.issued):
            for earlier in bits(before):
                issue[start + earlier] |= 1 << start + number
    return PtxSkeleton(program, tuple(events), po, issue, dependences, rmw, ())


@dataclass(frozen=True, slots=True)
class PtxWalk:
    """One combination of paths, with one skeleton, and what suggests its execution."""

    combination: PtxCombination
    hint: InterleavingHint


_MOST_MEETINGS = 64
"""How many combinations of barrier meetings one walk looks at."""


class PtxWalks:
    """Random interleavings of a program's threads, each a combination of paths.

    Raises ``ProgramError`` as ``PtxCandidates`` does.
    """

    def __init__(self, program: PtxProgram, bound: int = 1):
        check(program)
        self.program = program
        self.initial = tuple(initial_words(program).items())
        self.registers = tuple(
            frozenset(
                {*program.registers_of(n), *(r for e in each.instructions for r in assigned(e))}
            )
            for n, each in enumerate(program.threads)
        )
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
        combination = PtxCombination((random.choice(met),), tuple(values), registers)
        hint = self._interleaving.hint(
            [(e.kind is PtxEventKind.READ, e.kind is PtxEventKind.WRITE) for e in path.events]
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
            # Where a thread may wait for ever it does so in one walk of four.
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
    names = (name for thread in program.threads for name in _barriers(thread))
    if any(isinstance(each, str) for name in names for each in name):
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
            case MbarrierArrive():
                gate = _mbarrier_gate(program, instruction.mbarrier)
                return Passage(gate, arrives=True, copies=instruction.expect_tx)
            case MbarrierWait():
                gate = _mbarrier_gate(program, instruction.mbarrier)
                return Passage(gate, waits=True, phase=instruction.phase)
            case AsyncCopy() if instruction.mbarrier is not None:
                return Passage(_mbarrier_gate(program, instruction.mbarrier), copies=-1)
            case _:
                return None

    places = [each.places for each in program.threads]
    return Interleaved(runners, places, initial_words(program), passage, text)


def initial_words(program: PtxProgram) -> dict[str, int]:
    """The words that the locations start with which are declared or accessed."""
    accessed = (v for thread in program.threads for v in variables(thread.instructions))
    names = {program.physical(each) for each in (*program.initial, *accessed)}
    return {each: program.initial.get(each, 0) for each in sorted(names - {*program.mbarriers})}


def _gate(
    program: PtxProgram, thread: int, kind: str, name: tuple[Operand, ...], count: int | None
) -> Gate:
    """The barrier that threads of one place share; its members are those that come to it."""
    here = _shared_place(kind, program.threads[thread].placement)
    members = frozenset(
        n
        for n, each in enumerate(program.threads)
        if _shared_place(kind, each.placement) == here and name in _barriers(each)
    )
    return Gate((kind, name), here, members, count)


def _barriers(thread: Thread[PtxInstruction]) -> Iterator[tuple[Operand, ...]]:
    """What barriers of a thread are called, those of its CTA and that of its cluster, ``()``."""
    for each in thread.instructions:
        if isinstance(each, Bar):
            yield (each.instance, each.number)
        elif isinstance(each, ClusterBarrier):
            yield ()


def _mbarrier_gate(program: PtxProgram, name: str) -> Gate:
    return Gate("mbarrier", name, count=program.mbarriers[name], numbered=True)


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


def _meetings(
    program: PtxProgram, events: list[PtxEvent], po: Relation, blocked: set[int]
) -> Iterator[tuple[Meeting, ...]]:
    """Every combination of meetings of the barrier operations of an execution."""
    objects: dict[object, list[int]] = {}
    for number, event in enumerate(events):
        if event.rendezvous is not None:
            place = _place(event.rendezvous, program.threads[event.thread].placement)
            objects.setdefault((event.rendezvous, place), []).append(number)
    choices: list[list[tuple[Meeting, ...]]] = []
    for members in objects.values():
        rendezvous = events[members[0]].rendezvous
        if rendezvous is None or rendezvous.count is None:
            choices.append([_everyone_who_comes(events, members)])
        elif rendezvous.mbarrier:
            choices.append(list(_mbarrier_phases(events, members, rendezvous.count, blocked)))
        else:
            choices.append(list(_counted(events, members, rendezvous.count, blocked)))
    counted = [bool(r.rendezvous and r.rendezvous.count is not None) for r in events]
    for choice in product(*choices):
        meetings = tuple(meeting for group in choice for meeting in group)
        if not any(counted) or _is_possible(meetings, po, counted):
            yield meetings


def _place(rendezvous: Rendezvous, placement: Placement) -> object:
    """Which threads share the object: an mbarrier may be reached from everywhere."""
    if rendezvous.mbarrier:
        return None
    return _shared_place(rendezvous.name, placement)


def _shared_place(name: str, placement: Placement) -> object:
    return placement.instance(Scope.CLUSTER if name == "barrier.cluster" else Scope.WORKGROUP)


def _everyone_who_comes(events: list[PtxEvent], members: list[int]) -> tuple[Meeting, ...]:
    arrivals: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    arrived: dict[int, int] = {}
    waited: dict[int, int] = {}
    for number in members:
        thread, role = events[number].thread, events[number].role
        if role is not BarrierRole.WAIT:
            turn = arrived.get(thread, 0)
            arrived[thread] = turn + 1
            arrivals.setdefault(turn, []).append(number)
        if role is not BarrierRole.ARRIVE:
            turn = waited.get(thread, 0)
            waited[thread] = turn + 1
            waits.setdefault(turn, []).append(number)
    return tuple(
        Meeting(tuple(arrivals[turn]), tuple(waits.get(turn, ()))) for turn in sorted(arrivals)
    )


def _counted(
    events: list[PtxEvent], members: list[int], count: int, blocked: set[int]
) -> Iterator[tuple[Meeting, ...]]:
    """Partitions into phases of ``count`` threads each; who is blocked must be too few for one."""
    queues: dict[int, list[int]] = {}
    for number in members:
        queues.setdefault(events[number].thread, []).append(number)
    seen: set[frozenset[Meeting]] = set()

    def extend(
        positions: dict[int, int], done: tuple[Meeting, ...]
    ) -> Iterator[tuple[Meeting, ...]]:
        heads = [
            queue[positions[thread]]
            for thread, queue in queues.items()
            if positions[thread] < len(queue)
        ]
        if len(heads) < count:
            waiting = [n for n in heads if events[n].role is BarrierRole.SYNC and n not in blocked]
            key = frozenset(done)
            if not waiting and key not in seen:
                seen.add(key)
                yield done
            return
        for group in combinations([n for n in heads if n not in blocked], count):
            waits = tuple(n for n in group if events[n].role is BarrierRole.SYNC)
            after = dict(positions)
            for number in group:
                after[events[number].thread] += 1
            yield from extend(after, (*done, Meeting(group, waits)))

    yield from extend(dict.fromkeys(queues, 0), ())


def _mbarrier_phases(
    events: list[PtxEvent], members: list[int], count: int, blocked: set[int]
) -> Iterator[tuple[Meeting, ...]]:
    """Assignments of arrivals to phases: ``count`` arrivals and the copies they expect."""
    waits = [n for n in members if events[n].kind is PtxEventKind.WAIT]
    copies = frozenset(n for n in members if events[n].is_complete_tx)
    arrivals = frozenset(n for n in members if events[n].kind is PtxEventKind.ARRIVE) - copies

    def extend(
        left: frozenset[int], copies_left: frozenset[int], phases: tuple[tuple[int, ...], ...]
    ) -> Iterator[tuple[tuple[int, ...], ...]]:
        ended = True
        for group in combinations(sorted(left), count):
            rest = left - {*group}
            if any(n > m for n in group for m in rest if events[n].thread == events[m].thread):
                continue
            expected = sum(events[n].expect_tx for n in group)
            for landed in combinations(sorted(copies_left), expected):
                ended = False
                yield from extend(rest, copies_left - {*landed}, (*phases, (*group, *landed)))
        if ended:
            yield phases

    for phases in extend(arrivals, copies, ()):
        completed = all((events[n].phase or 0) < len(phases) for n in waits if n not in blocked)
        stuck = all((events[n].phase or 0) >= len(phases) for n in waits if n in blocked)
        if completed and stuck:
            yield tuple(
                Meeting(
                    group,
                    tuple(n for n in waits if (events[n].phase or 0) >= i and n not in blocked),
                )
                for i, group in enumerate(phases)
            )


def _is_possible(meetings: tuple[Meeting, ...], po: Relation, counted: list[bool]) -> bool:
    """Whether nobody waits for an arrival that only comes after the wait."""
    representative = list(range(len(po)))
    for meeting in meetings:
        both = [n for n in meeting.arrivals if n in meeting.waits and counted[n]]
        for number in both:
            representative[number] = both[0]
    order = [0] * len(po)
    for source, row in enumerate(po):
        for target in bits(row):
            order[representative[source]] |= 1 << representative[target]
    for meeting in meetings:
        for arrival in meeting.arrivals:
            for wait in meeting.waits:
                source, target = representative[arrival], representative[wait]
                if source != target and counted[arrival]:
                    order[source] |= 1 << target
    return is_acyclic(order)
