"""Rows: what each kind of fence does to what a thread knows, and what each kind of race breaks.

What accesses, barriers, mbarriers and copies do is a function of ``detector`` each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

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


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind of finding: its words, those where nothing nearly orders the two, and its source.

    ``needs_launch``: as of findings, where there is no order that nearly exists.
    """

    words: str
    lacks: str
    source: str
    needs_launch: bool = True


_RACE = f"{_MODEL}, Data Races"
_UNORDERED = "nothing in this execution orders them"

KINDS: Mapping[str, KindRow] = {
    "write-read": KindRow("race (write-read)", _UNORDERED, _RACE),
    "read-write": KindRow("race (read-write)", _UNORDERED, _RACE),
    "write-write": KindRow("race (write-write)", _UNORDERED, _RACE),
    "scope": KindRow(
        "race (scope)",
        "the scope of one of them does not include the other's thread, and nothing orders them",
        f"{_MODEL}, Morally Strong Operations",
        needs_launch=False,
    ),
    "size": KindRow(
        "race (size)",
        "they overlap without being of the same place and size, and nothing orders them",
        f"{_MODEL}, Conflict and Data Races",
    ),
    "proxy": KindRow(
        "race (proxy)",
        "the write is ordered before the copy, but no fence.proxy.async stands between them: "
        "put one after the write, in the thread that wrote",
        f"{_MODEL}, Proxies",
        needs_launch=False,
    ),
    "read-only": KindRow(
        "race (read-only path)",
        "ld.global.nc needs memory that nobody writes while the kernel runs: use ld.global",
        "PTX ISA, ld.global.nc",
        needs_launch=False,
    ),
    "initialisation": KindRow(
        "race (initialisation)",
        "the mbarrier.init is not known there: put a barrier between them, and for a peer of the "
        "cluster fence.mbarrier_init and a barrier of the cluster",
        "PTX ISA, mbarrier.init",
        needs_launch=False,
    ),
    "peer-begin": KindRow(
        "race (peer not begun)",
        "nothing says that the peer has begun: put a barrier of the cluster before the access",
        "PTX ISA, State Spaces: shared::cluster; CUDA Programming Guide, Distributed Shared Memory",
    ),
    "peer-exit": KindRow(
        "race (peer gone)",
        "the peer may have ended by then: put a barrier of the cluster between the access and "
        "its end",
        "CUDA Programming Guide, Distributed Shared Memory",
    ),
}  # fmt: skip
"""Every kind of race."""
