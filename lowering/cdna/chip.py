"""A CDNA chip as the lowering sees it: a name and a handful of rule tables.

Each table answers one question; its columns are spelled out here once, its rows stand
in one file per generation (gfx908.py, gfx90a.py, gfx942.py, gfx1250.py), and in common.py those
that several share.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from fencewright.lowering.sequence import Instruction, WaitCounts
from fencewright.lowering.skeleton import Steps
from fencewright.lowering.table import Illegal, Row, Table
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum

SPACES = (
    AddressSpace.GENERIC,
    AddressSpace.GLOBAL,
    AddressSpace.LOCAL,
    AddressSpace.CONSTANT,
    AddressSpace.PRIVATE,
)
"""The address spaces that CDNA has."""


class Hint(FastStrEnum):
    """The cache hint of a weak access."""

    NONE = "none"
    VOLATILE = "volatile"
    NONTEMPORAL = "nontemporal"
    VOLATILE_NONTEMPORAL = "volatile nontemporal"


VOLATILE = (Hint.VOLATILE, Hint.VOLATILE_NONTEMPORAL)
"""Before gfx1250 a volatile access is never nontemporal as well: no bits say both."""


@dataclass(frozen=True, slots=True)
class BareInstruction:
    """A cache maintenance instruction or a barrier: mnemonic and modifiers."""

    mnemonic: str
    modifiers: tuple[str, ...] = ()


Code = tuple[BareInstruction | WaitCounts, ...]
"""The instructions and waits that a rule emits, in order."""


class Covers(FastStrEnum):
    """The accesses whose completion a wait covers: all, those that return data, or those that do
    not. They count in different counters where those are split.
    """

    ALL = "all"
    READS = "reads"
    WRITES = "writes"


Encoding = Callable[[tuple[Instruction, ...]], tuple[Instruction, ...]]
"""The encoding of the waits of a sequence on a chip."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One CDNA chip as rule tables.

    ``steps``: (step, compat) -> the steps that the chip takes for one of the skeleton.
    ``fence``: (scope, tgsplit, compat) -> the steps of an acq_rel fence that writes back.
    ``write_back``: (scope, tgsplit, l2_per_agent, compat) -> instructions.
    ``invalidate``: (scope, tgsplit) -> instructions.
    ``wait``: (space, scope, tgsplit, compat, covers) -> counters to bring to zero.
    ``before``: (operation, atomic, volatile, space) -> waits right before an access.
    ``policy``: (operation, hint, scope, tgsplit, compat) -> modifiers of a vector-memory access.
    ``returning``: (returns,) -> further modifiers of an atomic that returns the old value.
    ``barrier``: (scope,) -> waits and instructions, or why there is no such barrier.
    ``legal``: (operation, atomic, space, tgsplit) -> None, or why there is no such access.
    ``encode`` writes the waits of a sequence.
    """

    name: str
    features: frozenset[str]
    steps: Table[Steps]
    fence: Table[Steps]
    write_back: Table[Code]
    invalidate: Table[Code]
    wait: Table[WaitCounts]
    before: Table[Code]
    policy: Table[tuple[str, ...]]
    returning: Table[tuple[str, ...]]
    barrier: Table[Code | Illegal]
    legal: Table[Illegal | None]
    encode: Encoding


class GenerationRows(Protocol):
    """The rows in the file of a generation; the legal accesses are rows of ``common`` alone.

    Of ``STEP_ROWS``, ``FENCE_ROWS``, ``WAIT_ROWS``, ``BEFORE_ROWS`` and ``ENCODE`` those of
    ``common`` hold where the file has none (``common.OWN``).
    """

    WRITE_BACK_ROWS: Iterable[Row[Code]]
    INVALIDATE_ROWS: Iterable[Row[Code]]
    POLICY_ROWS: Iterable[Row[tuple[str, ...]]]
    RETURNING_ROWS: Iterable[Row[tuple[str, ...]]]
    BARRIERS: Iterable[Row[Code | Illegal]]
