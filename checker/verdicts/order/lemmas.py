"""Lemmas: whether a pattern of synchronisation orders two accesses, decided by the PTX model.

A rule of order finds which instructions hand an access over: the one that signals, the one that
sees the signal, fences and barriers around them. With the kernel's own qualifiers and scopes they
are a litmus test of two to four threads, and every outcome that the axioms allow it is looked at.
So no rule has an opinion of its own about scopes, or about the side of a barrier that a fence
stands on. Source: PTX ISA, "Memory Consistency Model".
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.model import ASYNCHRONOUS, Access, Agent, Relation
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.vocabulary import FastStrEnum, Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Memory, Register
from fencewright.simulator.core.program import Location, Placement, Thread
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    Ld,
    MbarrierArrive,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
)
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    ClusterBarrier,
    CommitGroup,
    CrossingFence,
    Unit,
    WaitGroup,
)
from fencewright.simulator.ptx.outcomes import outcomes

SCOPES = (Scope.SYSTEM, Scope.AGENT, Scope.CLUSTER, Scope.WORKGROUP)
"""Scopes of fences, the widest first."""
_EARLIER, _LATER = 1, 2
"""The values that the earlier and the later access write; 0 is there before."""


@dataclass(frozen=True, slots=True)
class Payload:
    """One of the two accesses: a read or a write, by a thread or by a unit that copies for it.

    ``proxy``: a unit may work through that of threads, too.
    """

    writes: bool
    agent: Agent = Agent.THREAD
    proxy: Proxy = Proxy.GENERIC

    @classmethod
    def of(cls, access: Access) -> "Payload":
        """The part of an access that a lemma keeps: it is taken for a weak one."""
        is_copied = access.agent in ASYNCHRONOUS
        return cls(access.writes, access.agent, access.proxy if is_copied else Proxy.GENERIC)


@dataclass(frozen=True, slots=True)
class Signal:
    """An instruction that signals or sees: of a flag, an mbarrier (``is_phase``) or a cluster
    barrier.

    ``is_barrier``: one of the CTA; ``is_next``: none, the thread itself goes on. ``update``: of an
    atomic, "add" and the like; "" for a load, a store, an arrival or a wait.
    """

    ordering: Ordering
    scope: Scope
    update: str = ""
    is_phase: bool = False
    is_cluster: bool = False
    is_barrier: bool = False
    is_next: bool = False

    @property
    def waits(self) -> bool:
        """True where who sees the signal has waited for it, whatever it returns."""
        return self.is_phase or self.is_cluster or self.is_barrier or self.is_next


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a pattern. ``fence``: of what scope, between the signal and what the side orders.

    ``barrier``: one of the CTA stands between access and signal, which are of two threads; the
    fence is in the thread of the signal, between signal and barrier. ``proxy``: a fence between the
    generic and the async proxy is there too. ``counts``: the arrival expects the bytes of a copy.
    """

    signal: Signal
    fence: Scope | None = None
    barrier: bool = False
    proxy: bool = False
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Lemma:
    """A pattern that is to order ``earlier`` before ``later``, by threads that stand in
    ``relation``."""

    relation: Relation
    earlier: Payload
    release: Half
    acquire: Half
    later: Payload


class Missing(FastStrEnum):
    """The piece that a lemma lacks, the least by which it holds."""

    RELEASE = "nothing releases before the signal"
    ACQUIRE = "nothing acquires after the signal is seen"
    BOTH = "nothing releases before the signal, and nothing acquires after it is seen"
    SIGNAL_SCOPE = "the scope of the signal is too narrow"
    WAIT_SCOPE = "the scope of the wait is too narrow"
    SCOPES = "the scopes of the signal and of the wait are too narrow"
    ALL = "the scope is narrower, and nothing releases or acquires"
    BYTES = "no arrival expects the bytes of the copy"
    PROXY = "no fence between the proxies"
    ORDER = "no such order"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome that the model allows though the lemma forbids it, with its program and the
    remedy."""

    missing: Missing
    program: str
    values: str

    @property
    def reason(self) -> str:
        """The missing piece, and the counterexample."""
        return f"{self.missing}: the PTX model allows {self.values} of [{self.program}]"


class VendorLemma(ABC):
    """A lemma that another vendor's model decides, with its own instructions.

    ``finding``: the rule of the registry that it is a finding of where it fails.
    """

    @abstractmethod
    def holds(self) -> bool:
        """True where the model allows no outcome in which the order fails."""

    @abstractmethod
    def by_execution(self) -> bool:
        """True of a read before a write that execution alone orders."""

    @abstractmethod
    def reason(self) -> str:
        """The missing piece, and the counterexample."""

    @property
    @abstractmethod
    def finding(self) -> Rule: ...


def holds(lemma: Lemma | VendorLemma) -> bool:
    """True where the model allows no outcome in which the order fails."""
    return lemma.holds() if isinstance(lemma, VendorLemma) else _violation(lemma) is None


def by_execution(lemma: Lemma | VendorLemma) -> bool:
    """True of a read before a write whose signal is morally strong: execution orders them.

    A phase that does not count a copy's bytes says nothing of the copy.
    """
    if isinstance(lemma, VendorLemma):
        return lemma.by_execution()
    needed = lemma.relation.scope
    halves = (lemma.release, lemma.acquire)
    are_done = all(half.counts and half.signal.scope.includes(needed) for half in halves)
    return not lemma.earlier.writes and are_done


@cache
def counterexample(lemma: Lemma) -> Outcome:
    """The reason why a lemma fails: the least that mends it, by the model, and an outcome that it
    allows.

    Raises ``ValueError`` for a lemma that holds.
    """
    found = _violation(lemma)
    if found is None:
        raise ValueError("the lemma holds")
    missing = next((name for name, other in _remedies(lemma) if holds(other)), Missing.ORDER)
    program = " || ".join(
        "; ".join(instruction_text(each) for each in thread.instructions)
        for thread in found[0].threads
    )
    return Outcome(missing, program, found[1])


def _remedies(lemma: Lemma) -> Iterator[tuple[Missing, Lemma]]:
    """The pieces that may be missing, each with the lemma that has it."""
    widest = Scope.SYSTEM
    released = replace(lemma, release=_mended(lemma.release, Ordering.RELEASE))
    acquired = replace(lemma, acquire=_mended(lemma.acquire, Ordering.ACQUIRE))
    yield Missing.RELEASE, released
    yield Missing.ACQUIRE, acquired
    both = replace(released, acquire=acquired.acquire)
    yield Missing.BOTH, both
    wide = replace(lemma, release=_wide(lemma.release), acquire=_wide(lemma.acquire))
    yield Missing.SIGNAL_SCOPE, replace(lemma, release=wide.release)
    yield Missing.WAIT_SCOPE, replace(lemma, acquire=wide.acquire)
    yield Missing.SCOPES, wide
    yield (
        Missing.ALL,
        replace(
            wide,
            release=replace(wide.release, fence=widest),
            acquire=replace(wide.acquire, fence=widest),
        ),
    )
    counted = replace(lemma, release=replace(lemma.release, counts=True))
    yield Missing.BYTES, counted
    fenced = replace(lemma.release, proxy=True), replace(lemma.acquire, proxy=True)
    for release, acquire in ((fenced[0], lemma.acquire), (lemma.release, fenced[1]), fenced):
        yield Missing.PROXY, replace(lemma, release=release, acquire=acquire)
    crossed = replace(both.release, proxy=True), replace(both.acquire, proxy=True)
    yield Missing.BOTH, replace(both, release=crossed[0], acquire=crossed[1])


def _mended(half: Half, ordering: Ordering) -> Half:
    """A half that orders: by its signal's own ordering, where no fence stands before an
    mbarrier."""
    signal = half.signal
    if signal.waits:
        return replace(half, signal=replace(signal, ordering=ordering))
    return replace(half, fence=signal.scope)


def _wide(half: Half) -> Half:
    scope = Scope.CLUSTER if half.signal.is_phase else Scope.SYSTEM
    fence = None if half.fence is None else Scope.SYSTEM
    return replace(half, signal=replace(half.signal, scope=scope), fence=fence)


@cache
def _violation(lemma: Lemma) -> tuple[PtxProgram, str] | None:
    """A program of a lemma, and an outcome in which the order fails; None if there is none."""
    program, seen = program_of(lemma)
    found = outcomes(program)
    if not found.complete:
        return program, "outcomes that were not all looked at"
    for state in found.as_mappings():
        if seen is not None and state[seen] != 1:
            continue
        if _fails(lemma, state):
            shown = (f"{name}={value}" for name, value in state.items() if not _is_scratch(name))
            return program, " ".join(shown)
    return None


def _is_scratch(name: Register | Memory) -> bool:
    return isinstance(name, Memory) and name.location in ("one", "two")


def _fails(lemma: Lemma, state: dict[Register | Memory, int | None]) -> bool:
    """True of a final state in which the later access comes before the earlier one."""
    if not lemma.earlier.writes:
        return _LATER in _values(state, "x_before", "out_before")
    if lemma.later.writes:
        return state[Memory("x")] == _EARLIER
    return 0 in _values(state, "x_after", "out_after")


def _values(
    state: dict[Register | Memory, int | None], register: str, location: str
) -> set[int | None]:
    return {
        value
        for name, value in state.items()
        if (isinstance(name, Register) and name.name == register)
        or (isinstance(name, Memory) and name.location == location)
    }


def program_of(lemma: Lemma) -> tuple[PtxProgram, Register | None]:
    """The litmus test of a lemma, and the register that is 1 where the signal is seen."""
    here, there = _placements(lemma.relation)
    release, acquire = lemma.release, lemma.acquire
    is_one = lemma.relation is Relation.THREAD
    before = _earlier(lemma)
    signalling = [*_fence(Ordering.RELEASE, release, lemma), *_signalled(release.signal)]
    seeing = [*_seen(acquire.signal), *_fence(Ordering.ACQUIRE, acquire, lemma)]
    after = _later(lemma)
    if lemma.earlier.agent is Agent.TRANSACTION:
        # The completion of the copy signals; the arrival comes before it.
        arrive = MbarrierArrive("b", expect_tx=1 if release.counts else 0)
        before, signalling = [arrive, *before], []
    threads: list[tuple[Placement, list[PtxInstruction]]] = []
    position = 0
    if is_one:
        threads.append((here, [*before, *signalling, *seeing, *after]))
    else:
        if release.barrier:
            meeting = Bar(BarrierRole.SYNC, 0)
            threads += [(here, [*before, meeting]), (here, [meeting, *signalling])]
        else:
            threads += [(here, [*before, *signalling])]
        position = len(threads)
        if acquire.barrier:
            meeting = Bar(BarrierRole.SYNC, 1)
            threads += [(there, [*seeing, meeting]), (there, [meeting, *after])]
        else:
            threads += [(there, [*seeing, *after])]
    seen = None if acquire.signal.waits else Register(position, "seen")
    program = PtxProgram(
        (Location("x"), Location("one", _EARLIER), Location("two", _LATER)),
        tuple(Thread(place, tuple(code)) for place, code in threads),
        mbarriers={"b": 1, "later": 1},
    )
    return program, seen


def _placements(relation: Relation) -> tuple[Placement, Placement]:
    match relation:
        case Relation.GRID:
            return Placement(0, cluster=0), Placement(1, cluster=1)
        case Relation.CLUSTER:
            return Placement(0, cluster=0), Placement(1, cluster=0)
        case _:
            return Placement(0, cluster=0), Placement(0, cluster=0)


def _earlier(lemma: Lemma) -> list[PtxInstruction]:
    payload = lemma.earlier
    code: list[PtxInstruction]
    match payload.agent:
        case Agent.TRANSACTION if payload.writes:
            is_copy = payload.proxy is Proxy.ASYNC
            return [AsyncCopy("x", "one" if is_copy else None, _EARLIER, mbarrier="b")]
        case Agent.TRANSACTION:
            return [AsyncCopy("out_before", "x", mbarrier="b")]
        case Agent.THREAD:
            code = [St("x", _EARLIER) if payload.writes else Ld("x_before", "x")]
        case _:
            # Of a product what counts is that it reads by the async proxy until it is waited for.
            unit = Unit.CORE if payload.agent is Agent.COPY else Unit.BULK
            pair = ("x", "one") if payload.writes else ("out_before", "x")
            wait = WaitGroup(unit is Unit.BULK and not payload.writes, unit=unit)
            code = [AsyncCopy(*pair, unit=unit), CommitGroup(unit), wait]
    if lemma.release.proxy and lemma.release.barrier:
        code.append(_proxy_fence(lemma, Ordering.RELEASE))
    return code


def _later(lemma: Lemma) -> list[PtxInstruction]:
    payload = lemma.later
    code: list[PtxInstruction] = []
    if lemma.acquire.proxy:
        code.append(_proxy_fence(lemma, Ordering.ACQUIRE))
    if payload.proxy is Proxy.TENSORMAP:
        return [*code, Ld("x_after", "x", proxy=PtxProxy.TENSORMAP)]
    match payload.agent:
        case Agent.THREAD:
            return [*code, St("x", _LATER) if payload.writes else Ld("x_after", "x")]
        case Agent.TRANSACTION if payload.writes and payload.proxy is Proxy.GENERIC:
            return [*code, AsyncCopy("x", None, _LATER, mbarrier="later")]
        case _:
            unit = Unit.CORE if payload.agent is Agent.COPY else Unit.BULK
            pair = ("x", "two") if payload.writes else ("out_after", "x")
            copy = AsyncCopy(*pair, unit=unit)
            return [*code, copy, CommitGroup(unit), WaitGroup(reads_only=False, unit=unit)]


def _proxy_fence(lemma: Lemma, ordering: Ordering) -> PtxInstruction:
    """A fence between the generic proxy and that of the copies of a lemma."""
    if lemma.later.proxy is not Proxy.TENSORMAP:
        return ProxyFence(PtxProxy.ASYNC)
    map_ = "x" if ordering is Ordering.ACQUIRE else None
    return CrossingFence(ordering, Scope.AGENT, PtxProxy.TENSORMAP, map_)


def _fence(ordering: Ordering, half: Half, lemma: Lemma) -> list[PtxInstruction]:
    code: list[PtxInstruction] = []
    if half.proxy and ordering is Ordering.RELEASE and not half.barrier:
        code.append(_proxy_fence(lemma, ordering))
    if half.fence is not None:
        code.append(PtxFence(ordering, half.fence))
    return code


def _signalled(signal: Signal) -> list[PtxInstruction]:
    """The instruction that raises the flag from 0 to 1, or arrives."""
    ordering, scope = signal.ordering, signal.scope
    if signal.is_barrier or signal.is_next:
        return [Bar(BarrierRole.SYNC, 2)] if signal.is_barrier else []
    if signal.is_cluster:
        return [
            ClusterBarrier(BarrierRole.ARRIVE, ordering),
            ClusterBarrier(BarrierRole.WAIT, Ordering.ACQUIRE),
        ]
    if signal.is_phase:
        return [MbarrierArrive("b", ordering, scope)]
    if not signal.update:
        return [St("f", 1, ordering, scope)]
    kind = RmwKind.XCHG if signal.update in ("exch", "cas") else RmwKind.ADD
    return [Atom(None, "f", kind, 1, None, ordering, scope)]


def _seen(signal: Signal) -> list[PtxInstruction]:
    """The instruction that finds 1 in the flag, or waits."""
    ordering, scope = signal.ordering, signal.scope
    if signal.is_barrier or signal.is_next:
        return [Bar(BarrierRole.SYNC, 2)] if signal.is_barrier else []
    if signal.is_cluster:
        return [
            ClusterBarrier(BarrierRole.ARRIVE, Ordering.RELEASE),
            ClusterBarrier(BarrierRole.WAIT, ordering),
        ]
    if signal.is_phase:
        return [MbarrierWait("b", 0, ordering, scope)]
    if not signal.update:
        return [Ld("seen", "f", ordering, scope)]
    if signal.update == "cas":
        return [Atom("seen", "f", RmwKind.XCHG, 2, 1, ordering, scope)]
    kind = RmwKind.XCHG if signal.update == "exch" else RmwKind.ADD
    return [Atom("seen", "f", kind, 2, None, ordering, scope)]
