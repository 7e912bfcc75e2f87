"""What a CDNA chip is to the lowering: a name and a handful of rule tables.

Each table answers one question; its columns are spelled out here once, its rows stand
in one file per chip (gfx908.py, gfx90a.py, gfx942.py, gfx950.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.table import Illegal, Row, Table
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Compat,
    L2PerAgent,
    Operation,
    Scope,
    Word,
)

TGSPLIT = "tgsplit"
"""The feature name of threadgroup split mode: waves of a work-group may sit on different CUs."""

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
class CacheOp:
    """A cache maintenance instruction or a barrier: mnemonic and modifiers."""

    mnemonic: str
    modifiers: tuple[str, ...] = ()


Barrier = tuple[CacheOp | WaitCounts, ...]


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
    write_back: Table[tuple[CacheOp, ...]]
    invalidate: Table[tuple[CacheOp, ...]]
    wait: Table[WaitCounts]
    policy: Table[tuple[str, ...]]
    returning: Table[tuple[str, ...]]
    barrier: Table[Barrier | Illegal]
    legal: Table[Illegal | None]


def write_back_table(chip: str, rows: Iterable[Row[tuple[CacheOp, ...]]]):
    """Which write-back makes this wave's earlier stores available to a scope."""
    columns = {
        "scope": Scope,
        "tgsplit": (False, True),
        "l2_per_agent": L2PerAgent,
        "compat": (None, *Compat),
    }
    return Table(f"{chip} write-back", columns, rows)


def invalidate_table(chip: str, rows: Iterable[Row[tuple[CacheOp, ...]]]):
    """Which invalidate makes what a scope released visible to this wave's later loads."""
    columns = {"scope": Scope, "tgsplit": (False, True)}
    return Table(f"{chip} invalidate", columns, rows)


def wait_table(chip: str, rows: Iterable[Row[WaitCounts]]):
    """Which counters say that accesses to an address space are done as far as a scope can tell."""
    columns = {
        "space": SPACES,
        "scope": Scope,
        "tgsplit": (False, True),
        "compat": (None, *Compat),
    }
    return Table(f"{chip} wait", columns, rows)


def policy_table(chip: str, rows: Iterable[Row[tuple[str, ...]]]):
    """Which cache policy bits a vector-memory access carries at a scope."""
    columns = {
        "operation": [op for op in Operation if op.is_access],
        "hint": Hint,
        "scope": Scope,
        "tgsplit": (False, True),
    }
    return Table(f"{chip} cache policy", columns, rows)


def returning_table(chip: str, rows: Iterable[Row[tuple[str, ...]]]):
    """Which bit asks an atomic for the old value."""
    return Table(f"{chip} returned value", {"returns": (False, True)}, rows)


def legal_table(chip: str, rows: Iterable[Row[Illegal | None]]):
    """Which accesses there are at all."""
    columns = {
        "operation": [op for op in Operation if op.is_access],
        "atomic": (False, True),
        "space": SPACES,
        "tgsplit": (False, True),
    }
    return Table(f"{chip} legal accesses", columns, rows)


def barrier_table(chip: str, rows: Iterable[Row[Barrier | Illegal]]):
    """Which instructions make an execution barrier across a scope."""
    return Table(f"{chip} barrier", {"scope": Scope}, rows)
