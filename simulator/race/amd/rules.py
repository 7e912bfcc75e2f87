"""Rules of the ways to memory: the order that each keeps by itself, and coherent threads.

What bits of an access and cache instructions reach, and which counters count them, are the
machine's rows (``simulator.cdna.rows``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.cdna.rows import CacheEffect, Counted


class Path(FastStrEnum):
    """The way of an access to memory.

    COPY: to LDS by a load without a register (LDS DMA). BESIDE: to memory, by the agent of a copy
    beside the wave.
    """

    VECTOR = "vector"
    LDS = "lds"
    SCALAR = "scalar"
    COPY = "copy"
    BESIDE = "beside"


class OrderedBy(FastStrEnum):
    """The unit whose accesses to one place are performed in the order of issue without a wait."""

    CU = "cu"
    WAVE = "wave"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class PathRow:
    """The order that a way to memory keeps by itself, with its source."""

    ordered_by: OrderedBy
    source: str


_COPIES = "machine, rule 8: a copy is carried out beside the wave; its counter alone sees its end"
PATHS: Mapping[Path, PathRow] = {
    Path.VECTOR: PathRow(
        OrderedBy.CU, "machine, rule 3: one queue for each line and CU; MI300 ISA 4.4"
    ),
    Path.LDS: PathRow(OrderedBy.WAVE, "machine, rule 7: MI300 ISA 4.4, 11.1"),
    Path.SCALAR: PathRow(OrderedBy.NOBODY, "machine, rule 6: MI300 ISA 4.4, out of order"),
    Path.COPY: PathRow(OrderedBy.WAVE, "MI300 ISA 9.1.9: counted in vmcnt, which retires in order"),
    Path.BESIDE: PathRow(OrderedBy.NOBODY, _COPIES),
}
"""Every way to memory."""

_OVERTAKING = PathRow(
    OrderedBy.WAVE, "machine, rule 7: GFX125x, requests of a wave to one line alone are in order"
)


def paths_of(*, requests_in_order: bool) -> Mapping[Path, PathRow]:
    """The ways to memory of a chip; ``requests_in_order``: as the machine's ``Hierarchy``."""
    own = {Path.VECTOR: _OVERTAKING, Path.COPY: PathRow(OrderedBy.NOBODY, _COPIES)}
    return PATHS if requests_in_order else {**PATHS, **own}


@dataclass(frozen=True, slots=True)
class Access:
    """The effect of an instruction on memory.

    ``l1``: it may hit the L1 or leaves its line there; ``past_l2``: it is performed at memory.
    ``is_scoped``: its bits name a scope. ``counted``: its counters.
    """

    path: Path
    reads: bool
    writes: bool
    counted: Counted
    l1: bool = False
    past_l2: bool = False
    is_scoped: bool = False

    @property
    def is_atomic(self) -> bool:
        """True of a read-modify-write."""
        return self.reads and self.writes

    @property
    def column(self) -> "Column":
        """The operations of a wave that are over in the same order."""
        if len(self.counted.counters) > 1:
            return Column.FLAT
        if self.path is Path.VECTOR and self.counted.counters in _OF_STORES:
            return Column.STORE
        return Column.FROM_LDS if (self.path, self.writes) in _FROM_LDS else _COLUMNS[self.path]


class Column(IntEnum):
    """A clock of a wave: of its issued operations, or of those that complete in one order."""

    ISSUED = 0
    VECTOR = 1
    STORE = 2
    FLAT = 3
    LDS = 4
    SCALAR = 5
    COPY = 6
    FROM_LDS = 7


VECTOR_COLUMNS = (Column.VECTOR, Column.STORE, Column.FLAT)
_OF_STORES = ((Counter.VSCNT,), (Counter.STORECNT,))
_COLUMNS = {
    Path.VECTOR: Column.VECTOR,
    Path.LDS: Column.LDS,
    Path.SCALAR: Column.SCALAR,
    Path.COPY: Column.COPY,
    Path.BESIDE: Column.COPY,
}
_FROM_LDS = frozenset({(Path.COPY, False), (Path.BESIDE, True)})
"""The sides of a copy from LDS to memory: its way, and whether it writes there."""

COPIES: Mapping[Column, bool] = {Column.COPY: False, Column.FROM_LDS: True}
"""The columns of copies: to LDS, and outwards."""

ORDERED_APART = frozenset({Counter.ASYNCCNT})
"""The counters that count down in the order of issue within each column alone.

Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, ASYNCcnt: loads and stores are not in order.
"""

OF_MEMORY = frozenset({Path.VECTOR, Path.BESIDE})
"""The ways to memory through the vector caches."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache instruction; ``counted`` is None where nothing counts it."""

    effect: CacheEffect
    counted: Counted | None


@dataclass(frozen=True, slots=True)
class Wait:
    """The most operations that may be outstanding on each counter after it."""

    counts: tuple[tuple[Counter, int], ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """The barrier of the work-group."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The first part of a split barrier of the work-group, at which nobody waits."""


@dataclass(frozen=True, slots=True)
class Meet:
    """The second part, which waits for the signals of the others."""


Rule = Access | Cache | Wait | Barrier | Signal | Meet
