"""The policy of an instruction at each cache, from its words or bits and its target's rows."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from fencewright.lowering.cache_policy import CachePolicy, Lookup
from fencewright.lowering.cdna.caches import ACCESS_NOUNS
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance.accesses import (
    CONTROL,
    NO_REUSE,
    CacheControl,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.performance.accesses import (
    ATOMIC_POLICIES,
    LOAD_POLICIES,
    STORE_POLICIES,
    PolicyRow,
)
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.program import MemoryAccessKind

# AMD

_OPERATIONS: Mapping[MemoryAccessKind, Kind] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: Kind.LOAD,
        MemoryAccessKind.STORE: Kind.STORE,
        MemoryAccessKind.ATOMIC: Kind.RMW,
        MemoryAccessKind.REDUCTION: Kind.RMW,
    }
)


def cdna_policy(
    chip: str,
    kind: MemoryAccessKind,
    modifiers: Iterable[str],
    l2_per_agent: L2PerAgent | None = None,
    *,
    tgsplit: bool = False,
) -> CachePolicy:
    """The policy at each cache of a vector access with these policy bits (sc0 sc1 nt, glc slc).

    Modifiers that are no policy bits are of no account. Without ``l2_per_agent`` the chip's.
    Raises ``UnsupportedError`` for an unknown chip and for bits that it does not have.
    """
    return cdna_control(chip, kind, modifiers, l2_per_agent, tgsplit=tgsplit).policy


def cdna_control(
    chip: str,
    kind: MemoryAccessKind,
    modifiers: Iterable[str],
    l2_per_agent: L2PerAgent | None = None,
    *,
    tgsplit: bool = False,
) -> CacheControl:
    """The row that ``cdna_policy`` takes: with the scope that the bits say, and how it is known."""
    bits = frozenset(modifiers) & _POLICY_BITS
    return _cdna_control(chip, _OPERATIONS[kind], bits, l2_per_agent, tgsplit)


_POLICY_BITS = frozenset({"sc0", "sc1", "glc"}) | NO_REUSE


@cache
def _cdna_control(
    chip: str,
    access: Kind,
    bits: frozenset[str],
    l2_per_agent: L2PerAgent | None,
    tgsplit: bool,
) -> CacheControl:
    requested = f"{ACCESS_NOUNS[access]} with '{' '.join(sorted(bits))}' on {chip}"
    row = CHIPS.get(chip)
    if row is None:
        raise UnsupportedError(requested, "unknown chip", tuple(CHIPS))
    scope = " ".join(sorted(bits - NO_REUSE))
    foreign = bits & ({"slc"} if row.scope_bits else {"nt"})
    if foreign or scope not in CONTROL.columns["bits"]:
        accepted = ("sc0", "sc1", "nt") if row.scope_bits else ("glc", "slc")
        raise UnsupportedError(requested, "the chip has no such bits", accepted)
    l2s = l2_per_agent or row.l2_per_agent
    found = CONTROL[row.generation, access, scope, not bits & NO_REUSE, l2s, tgsplit].value
    if isinstance(found, Illegal):
        raise UnsupportedError(requested, found.reason, found.accepted)
    return found


# NVIDIA

_ROWS: Mapping[MemoryAccessKind, tuple[PolicyRow, ...]] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: LOAD_POLICIES,
        MemoryAccessKind.STORE: STORE_POLICIES,
        MemoryAccessKind.ATOMIC: ATOMIC_POLICIES,
        MemoryAccessKind.REDUCTION: ATOMIC_POLICIES,
    }
)
_FARTHER = tuple(Lookup)
"""From a plain hit to none."""


def ptx_policy(kind: MemoryAccessKind, words: Iterable[str]) -> CachePolicy:
    """The policy at each cache of an access to global memory, by the words of its name.

    ``words``: as ``("ld", "relaxed", "gpu", "global", "b32")``; those without a row are of no
    account.
    """
    return _ptx_policy(kind, frozenset(words))


@cache
def _ptx_policy(kind: MemoryAccessKind, words: frozenset[str]) -> CachePolicy:
    rows = [each for each in _ROWS[kind] if words.issuperset(each.words)]
    l1 = max((each.l1 for each in rows), key=_FARTHER.index)
    l2 = max((each.l2 for each in rows), key=_FARTHER.index)
    return CachePolicy(l1, l2, Lookup.HIT_LRU)
