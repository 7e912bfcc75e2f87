"""The threads, blocks and clusters of a launch, and its mbarriers."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.mbarriers import PARITY
from fencewright.simulator.threads.memory import Allocation

WARP = 32
Size = tuple[int, int, int]


@dataclass(slots=True)
class Mbarrier:
    """An mbarrier object: its ``word`` is that of ``mbarriers``, its phases are counted."""

    memory: Allocation
    at: int
    word: int
    phase: int = 0
    order: Any = None

    def become(self, word: int) -> None:
        """Take the bits that an instruction leaves."""
        self.phase += (word ^ self.word) >> PARITY
        self.word = word


class Thread:
    """A lane: its place in the launch, its generator, and what it waits for.

    ``region``: the last block that it has come to of those after a barrier, as of ``Site``.
    """

    __slots__ = (
        "block", "bulk_group", "copies", "copy_group",
        "done", "generator", "index", "is_lazy", "lane", "local", "locals", "matrix_group",
        "number", "order", "polls", "rank", "region", "result", "shared", "stop", "stops", "tx",
        "ty", "tz", "waits", "warp",
    )  # fmt: skip

    def __init__(self, number: int, index: int, block: "Block", place: Size):
        self.number, self.index, self.block = number, index, block
        self.tx, self.ty, self.tz = place
        self.lane = index % WARP
        self.rank, self.shared = block.rank, block.shared
        self.warp: Any = None
        self.generator: Generator[Any, Any, None] | None = None
        self.local: Allocation | None = None
        self.order: Any = None
        self.polls: dict[Any, Any] = {}
        self.locals: Any = None
        self.is_lazy = self.done = False
        self.region = -1
        self.result: Any = None
        self.waits: Any = None
        self.copies: list[tuple[int, Callable[[], None]]] = []
        self.copy_group = self.bulk_group = self.matrix_group = self.stop = 0
        self.stops: dict[int, tuple[int, int]] = {}

    def advance(self) -> None:
        """Notice that it does something for the first time."""
        self.polls.clear()
        self.is_lazy = False

    def __str__(self) -> str:
        return faults.thread(self.index, self.block.number)


class Block:
    """A CTA."""

    def __init__(self, number: int, place: Size, rank: int, shared: Allocation):
        self.number, self.rank, self.shared = number, rank, shared
        self.cx, self.cy, self.cz = place
        self.threads: list[Thread] = []
        self.live = 0
        self.barriers: dict[int, Any] = {}
        self.cluster: Any = None


@dataclass(slots=True)
class Cluster:
    """The blocks of a cluster, and its barrier."""

    number: int
    blocks: list[Block] = field(default_factory=list[Block])
    phase: int = 0
    arrived: int = 0
    of: dict[Thread, int] = field(default_factory=dict[Thread, int])
