"""Rows: the effect of each kind of fence on knowledge, and the rule that each race breaks.

What accesses, barriers, mbarriers and copies do is a function of ``detector`` each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fencewright.lowering.vocabulary import FastStrEnum

_MODEL = "PTX ISA, Memory Consistency Model"


class FenceRule(Enum):
    """The effect of a fence: order, sight of the async proxy, or publication of mbarriers."""

    ORDERS = "orders"
    PROXY = "proxy"
    INITS = "inits"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class FenceRow:
    """The rule of an operation, with its source."""

    rule: FenceRule
    source: str


FENCES: Mapping[str, FenceRow] = {
    "fence": FenceRow(FenceRule.ORDERS, f"{_MODEL}, Release and Acquire Patterns; Fence-SC"),
    "membar": FenceRow(FenceRule.ORDERS, "PTX ISA, membar: fence.sc at its scope"),
    "fence proxy async": FenceRow(FenceRule.PROXY, f"{_MODEL}, Proxy-preserved Base Causality"),
    "fence proxy async::generic": FenceRow(FenceRule.PROXY, "PTX ISA, fence.proxy"),
    "fence mbarrier_init": FenceRow(FenceRule.INITS, "PTX ISA, fence.mbarrier_init"),
    "fence proxy alias": FenceRow(FenceRule.NOTHING, "PTX ISA, fence.proxy.alias"),
    "fence proxy tensormap::generic": FenceRow(FenceRule.NOTHING, "PTX ISA, fence.proxy.tensormap"),
}
"""The fences by the words of their rows; one that is not here orders nothing."""


class Fault(FastStrEnum):
    """The kind of a finding."""

    WRITE_READ = "write-read"
    READ_WRITE = "read-write"
    WRITE_WRITE = "write-write"
    SAME_VALUE = "write-write of the same value"
    SCOPE = "scope"
    SIZE = "size"
    PROXY = "proxy"
    COPY = "copy not waited for"
    SOURCE = "source reused too early"
    READ_ONLY = "read-only"
    INITIALISATION = "initialisation"
    PEER_BEGIN = "peer-begin"
    PEER_EXIT = "peer-exit"
    HANG = "hang"
    DIVERGENCE = "barrier divergence"
    UNWRITTEN = "shared memory that nobody wrote"

    @property
    def rule(self) -> str:
        """The stable name of its rule in reports."""
        row = KINDS[self]
        return f"race-{row.rule}" if row.words.startswith("race") else row.rule


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind of finding: its words, those where nothing nearly orders the two, and its source.

    ``rule``: the last part of its name in reports. ``needs_launch``: as of findings, where there is
    no order that nearly exists.
    """

    rule: str
    words: str
    lacks: str
    source: str
    needs_launch: bool = True


_RACE = f"{_MODEL}, Data Races"
_UNORDERED = "nothing in this execution orders them"

KINDS: Mapping[Fault, KindRow] = {
    Fault.WRITE_READ: KindRow("write-read", "race (write-read)", _UNORDERED, _RACE),
    Fault.READ_WRITE: KindRow("read-write", "race (read-write)", _UNORDERED, _RACE),
    Fault.WRITE_WRITE: KindRow("write-write", "race (write-write)", _UNORDERED, _RACE),
    Fault.SAME_VALUE: KindRow("same-value", "race (write-write)", _UNORDERED, _RACE),
    Fault.COPY: KindRow(
        "copy",
        "race (copy not waited for)",
        "the copy has not been waited for: wait for it (cp.async.wait_all, "
        "cp.async.bulk.wait_group, or at its mbarrier) and meet at a barrier before",
        "PTX ISA, Asynchronous Copy Completion Mechanisms",
        needs_launch=False,
    ),
    Fault.SOURCE: KindRow(
        "copy-source",
        "race (source reused too early)",
        "the copy may still read its source: wait for it before",
        "PTX ISA, cp.async.bulk.wait_group",
        needs_launch=False,
    ),
    Fault.SCOPE: KindRow(
        "scope",
        "race (scope)",
        "the scope of one of them does not include the other's thread, and nothing orders them: "
        "widen it, as from .cta to .gpu (atomicAdd_block() to atomicAdd())",
        f"{_MODEL}, Morally Strong Operations",
        needs_launch=False,
    ),
    Fault.SIZE: KindRow(
        "size",
        "race (size)",
        "they overlap without being of the same place and size, and nothing orders them",
        f"{_MODEL}, Conflict and Data Races",
    ),
    Fault.PROXY: KindRow(
        "proxy",
        "race (proxy)",
        "the write is ordered before the copy, but no fence.proxy.async stands between them: "
        "put one after the write, in the thread that wrote",
        f"{_MODEL}, Proxies",
        needs_launch=False,
    ),
    Fault.READ_ONLY: KindRow(
        "read-only",
        "race (read-only path)",
        "ld.global.nc needs memory that nobody writes while the kernel runs: use ld.global",
        "PTX ISA, ld.global.nc",
        needs_launch=False,
    ),
    Fault.INITIALISATION: KindRow(
        "initialisation",
        "race (initialisation)",
        "the mbarrier.init is not known there: put a barrier between them, and for a peer of the "
        "cluster fence.mbarrier_init and a barrier of the cluster",
        "PTX ISA, mbarrier.init",
        needs_launch=False,
    ),
    Fault.PEER_BEGIN: KindRow(
        "peer-begin",
        "race (peer not begun)",
        "nothing says that the peer has begun: put a barrier of the cluster before the access",
        "PTX ISA, State Spaces: shared::cluster; CUDA Programming Guide, Distributed Shared Memory",
    ),
    Fault.PEER_EXIT: KindRow(
        "peer-exit",
        "race (peer gone)",
        "the peer may have ended by then: put a barrier of the cluster between the access and "
        "its end",
        "CUDA Programming Guide, Distributed Shared Memory",
    ),
    Fault.HANG: KindRow(
        "hang", "hang", "nothing changes any more", "PTX ISA, Forward progress of PTX threads"
    ),
    Fault.DIVERGENCE: KindRow(
        "barrier-divergence",
        "barrier divergence",
        "an aligned barrier is for all lanes of a warp",
        "PTX ISA, barrier{.cta}: .aligned",
    ),
    Fault.UNWRITTEN: KindRow(
        "uninitialised-shared",
        "shared memory that nobody wrote",
        "on a GPU it has any value, and here zero",
        "PTX ISA, State Spaces: .shared",
    ),
}  # fmt: skip
"""Every kind of finding."""

RULES = frozenset(kind.rule for kind in Fault)
"""The names of all rules of launches."""
