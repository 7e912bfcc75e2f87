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
from fencewright.lowering.vocabulary import FastStrEnum, Ordering, Scope

SCOPES = (Scope.SYSTEM, Scope.AGENT, Scope.CLUSTER, Scope.WORKGROUP)
"""Scopes of fences, the widest first."""


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

    ``is_named``: the phase is one of a named barrier; ``is_barrier``: one of the CTA that all come
    to; ``is_next``: none, the thread itself goes on. ``update``: of an
    atomic, "add" and the like; "" for a load, a store, an arrival or a wait.
    """

    ordering: Ordering
    scope: Scope
    update: str = ""
    is_phase: bool = False
    is_named: bool = False
    is_cluster: bool = False
    is_barrier: bool = False
    is_next: bool = False

    @property
    def waits(self) -> bool:
        """True where a thread that sees the signal has waited for it, for any result."""
        return self.is_phase or self.is_cluster or self.is_barrier or self.is_next


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a pattern. ``fence``: its scope, between the signal and the ordered accesses.

    ``barrier``: one of the CTA stands between access and signal, which are of two threads; the
    fence is in the thread of the signal, between signal and barrier. ``proxy``: a fence between the
    generic and the async proxy is there too. ``counts``: the arrival expects the bytes of a copy.
    ``sequential``: the scope of a fence.sc in the thread of the access, next to that.
    """

    signal: Signal
    fence: Scope | None = None
    barrier: bool = False
    proxy: bool = False
    counts: bool = True
    sequential: Scope | None = None


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


def _violation(lemma: Lemma) -> tuple[str, str] | None:
    # Here, for lemmas of other vendors need nothing of the PTX model.
    from fencewright.checker.verdicts.order.litmus import violation

    return violation(lemma)


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
    return Outcome(missing, *found)


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
