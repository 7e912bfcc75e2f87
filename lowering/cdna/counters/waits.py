"""Encodings of the waits of a sequence: in one ``s_waitcnt``, or one instruction for each counter.

Chips that count stores apart have both: ``s_waitcnt`` for loads and LDS, ``s_waitcnt_vscnt`` for
stores. Source: LLVM 24 SIInsertWaitcnts, WaitcntGeneratorGFX12Plus, whose order at -O0 the second
has; WaitcntGeneratorPreGFX12 for the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import groupby
from types import MappingProxyType

from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.sequence import Instruction, WaitCounts, operands

_ORDER = (
    ("s_wait_bvhcnt", ("bvhcnt",), ()),
    ("s_wait_samplecnt", ("samplecnt",), ()),
    ("s_wait_storecnt_dscnt", ("storecnt", "dscnt"), ("loadcnt",)),
    ("s_wait_loadcnt", ("loadcnt",), ("dscnt",)),
    ("s_wait_storecnt", ("storecnt",), ()),
    ("s_wait_xcnt", ("xcnt",), ()),
    ("s_wait_loadcnt_dscnt", ("loadcnt", "dscnt"), ()),
    ("s_wait_loadcnt", ("loadcnt",), ()),
    ("s_wait_dscnt", ("dscnt",), ()),
    ("s_wait_kmcnt", ("kmcnt",), ()),
    ("s_wait_asynccnt", ("asynccnt",), ()),
    ("s_wait_tensorcnt", ("tensorcnt",), ()),
)
"""(mnemonic, the counters that it waits for, those that must not be waited for as well), the
first that fits first; a counter that an earlier one has waited for is done with.
"""

COUNTERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {mnemonic: counters for mnemonic, counters, _ in _ORDER}
)
"""The counters that an instruction waits for, by its name."""

_DS_SHIFT = 0
_OTHER_SHIFT = 8
"""The shift of the second of two counts in the operand of one wait (LLVM encodeLoadcntDscnt)."""


def as_they_are(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The encoding of chips with ``s_waitcnt``, which waits for several counters."""
    return instructions


def split(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The encoding of chips with an instruction a counter: waits next to each other are merged."""
    found: list[Instruction] = []
    for waits, group in groupby(instructions, key=lambda each: each.wait is not None):
        together = tuple(group)
        found += _merged(together) if waits else together
    return tuple(found)


def _merged(waits: tuple[Instruction, ...]) -> Iterator[Instruction]:
    counts = WaitCounts()
    for each in waits:
        counts |= each.wait or counts
    for mnemonic, part in split_counts(counts):
        of = [each for each in waits if each.wait is not None and each.wait.only(part.given)]
        source = "; ".join(dict.fromkeys(each.source for each in of))
        yield replace(
            of[0], mnemonic=mnemonic, operands=operands(operand_of(part)), wait=part, source=source
        )


@cache
def split_counts(counts: WaitCounts) -> tuple[tuple[str, WaitCounts], ...]:
    """The instructions that wait for ``counts``, each with its share of them, in LLVM's order."""
    return tuple(_split(counts))


def _split(counts: WaitCounts) -> Iterator[tuple[str, WaitCounts]]:
    left = dict(counts.given)
    for mnemonic, counters, without in _ORDER:
        if left.keys() >= set(counters) and not left.keys() & set(without):
            yield mnemonic, WaitCounts(**{name: left.pop(name) for name in counters})


def operand_of(part: WaitCounts) -> str:
    """The operand of a wait of one counter or two: the counts as one number."""
    counts = part.given
    if len(counts) == 1:
        (count,) = counts.values()
        return f"{count:#x}"
    (other,) = (count for name, count in counts.items() if name != "dscnt")
    return f"{counts['dscnt'] << _DS_SHIFT | other << _OTHER_SHIFT:#x}"


@cache
def wait_lines(counts: WaitCounts, splits_counters: bool) -> tuple[str, ...]:
    """The instructions that wait for ``counts`` on a chip with or without one a counter."""
    if splits_counters:
        return tuple(f"{name} {operand_of(part)}" for name, part in split_counts(counts))
    together = counts.only(("vmcnt", "lgkmcnt"))
    lines = (f"s_waitcnt {together}",) if together or counts.vscnt is None else ()
    return lines if counts.vscnt is None else (*lines, f"s_waitcnt_vscnt null, {counts.vscnt:#x}")


def wait_text(chip: ChipRow, counts: WaitCounts) -> str:
    """The instructions that wait for ``counts`` on a chip, as assembly has them."""
    return " and ".join(wait_lines(counts, chip.splits_counters))


def read_wait(mnemonic: str, operand: int) -> WaitCounts | None:
    """The counts of ``s_wait_*cnt operand`` or ``s_waitcnt_*cnt null, operand``, else None."""
    counters = _COUNTERS.get(mnemonic)
    if counters is None:
        return None
    return WaitCounts(**dict(_counts(counters, operand)))


def counters_of(mnemonic: str) -> frozenset[str]:
    """The counters that ``s_wait_*cnt`` or ``s_waitcnt_*cnt`` waits for; none for others."""
    return frozenset(_COUNTERS.get(mnemonic, ()))


def _counts(counters: tuple[str, ...], operand: int) -> Iterable[tuple[str, int]]:
    if len(counters) == 1:
        return ((counters[0], operand),)
    other, ds = counters
    mask = (1 << _OTHER_SHIFT) - 1
    return (other, operand >> _OTHER_SHIFT & mask), (ds, operand >> _DS_SHIFT & mask)


_OF_ONE = ("vmcnt", "lgkmcnt", "vscnt")
"""The counters with an instruction ``s_waitcnt_<counter>`` (gfx10, gfx11: RDNA2 ISA, RDNA3 ISA)."""

_COUNTERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {mnemonic: counters for mnemonic, counters, _ in _ORDER}
    | {f"s_waitcnt_{name}": (name,) for name in _OF_ONE}
)
