"""What a CDNA chip is to the lowering: a name and a handful of rule tables.

Each table answers one question; its columns are spelled out here once, its rows stand
in one file per generation (gfx908.py, gfx90a.py, gfx942.py), and in common.py those of all.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.table import Illegal, Row, Table
from fencewright.lowering.vocabulary import AddressSpace, Word

SPACES = (
    AddressSpace.GENERIC,
    AddressSpace.GLOBAL,
    AddressSpace.LOCAL,
    AddressSpace.CONSTANT,
    AddressSpace.PRIVATE,
)
"""The address spaces that CDNA has."""


class Hint(Word):
    """What a weak access asks of the caches; a volatile one is never merely nontemporal."""

    NONE = "none"
    VOLATILE = "volatile"
    NONTEMPORAL = "nontemporal"


@dataclass(frozen=True, slots=True)
class CacheMaintenance:
    """A cache maintenance instruction or a barrier: mnemonic and modifiers."""

    mnemonic: str
    modifiers: tuple[str, ...] = ()


Barrier = tuple[CacheMaintenance | WaitCounts, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """One CDNA chip as rule tables.

    ``write_back``: (scope, tgsplit, l2_per_agent, compat) -> instructions.
    ``invalidate``: (scope, tgsplit) -> instructions.
    ``wait``: (space, scope, tgsplit, compat) -> counters to bring to zero.
    ``policy``: (operation, hint, scope, tgsplit) -> modifiers of a vector-memory access.
    ``returning``: (returns,) -> further modifiers of an atomic that returns the old value.
    ``barrier``: (scope,) -> waits and instructions, or why there is no such barrier.
    ``legal``: (operation, atomic, space, tgsplit) -> None, or why there is no such access.
    """

    name: str
    features: frozenset[str]
    write_back: Table[tuple[CacheMaintenance, ...]]
    invalidate: Table[tuple[CacheMaintenance, ...]]
    wait: Table[WaitCounts]
    policy: Table[tuple[str, ...]]
    returning: Table[tuple[str, ...]]
    barrier: Table[Barrier | Illegal]
    legal: Table[Illegal | None]


class GenerationRows(Protocol):
    """What the file of a generation has; the other tables have rows of ``common`` alone."""

    WRITE_BACK_ROWS: Iterable[Row[tuple[CacheMaintenance, ...]]]
    INVALIDATE_ROWS: Iterable[Row[tuple[CacheMaintenance, ...]]]
    POLICY_ROWS: Iterable[Row[tuple[str, ...]]]
    RETURNING_ROWS: Iterable[Row[tuple[str, ...]]]
    BARRIERS: Iterable[Row[Barrier | Illegal]]
