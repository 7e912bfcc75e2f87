"""The counts of waits: of an ``s_waitcnt`` by generation, and of an instruction for a counter."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cdna.chips import ChipRow, Generation
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    Operand,
    Registers,
    read_integer,
)
from fencewright.lowering.cdna.counters.waits import read_wait

_COUNTS = re.compile(r"(\w+)\((\w+)\)")


@dataclass(frozen=True, slots=True)
class WaitLayout:
    """The packing of counts in the number of an ``s_waitcnt``: (first bit, width) of each part by
    counter.

    The lowest part comes first. The largest count of a counter waits for nothing.
    """

    parts: Mapping[str, tuple[tuple[int, int], ...]]
    source: str

    def most(self, counter: str) -> int:
        """The largest count of a counter."""
        return (1 << sum(bits for _, bits in self.parts[counter])) - 1

    def unpacked(self, number: int) -> dict[str, int]:
        """The counts by counter."""
        found: dict[str, int] = {}
        for counter, parts in self.parts.items():
            count = place = 0
            for first, bits in parts:
                count |= (number >> first & (1 << bits) - 1) << place
                place += bits
            found[counter] = count
        return found


_FIELDS = "LLVM AMDGPUBaseInfo, getVmcntBitShiftLo and so on"
_VMCNT_APART = ((0, 4), (14, 2))
_GFX9_LAYOUT = WaitLayout(
    MappingProxyType({"vmcnt": _VMCNT_APART, "expcnt": ((4, 3),), "lgkmcnt": ((8, 4),)}),
    "MI300 ISA 4.4",
)
WAIT_LAYOUTS: Mapping[Generation, WaitLayout] = MappingProxyType(
    {
        Generation.GFX908: _GFX9_LAYOUT,
        Generation.GFX90A: _GFX9_LAYOUT,
        Generation.GFX942: _GFX9_LAYOUT,
        Generation.GFX1030: WaitLayout(
            MappingProxyType({"vmcnt": _VMCNT_APART, "expcnt": ((4, 3),), "lgkmcnt": ((8, 6),)}),
            f"{_FIELDS}: gfx10",
        ),
        Generation.GFX1100: WaitLayout(
            MappingProxyType({"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)}),
            f"{_FIELDS}: gfx11",
        ),
    }
)
"""The generations with ``s_waitcnt``."""


def wait_counts(
    words: Iterable[Operand], generation: Generation = Generation.GFX942
) -> dict[str, int]:
    """The counts of an ``s_waitcnt`` that waits for something; ValueError for other words."""
    layout = WAIT_LAYOUTS.get(generation)
    if layout is None:
        raise ValueError(f"unknown wait: {generation} has no s_waitcnt")
    counts: dict[str, int] = {}
    for word in words:
        if isinstance(word, int):
            counts |= layout.unpacked(word)
            continue
        found = _COUNTS.fullmatch(str(word))
        count = read_integer(found[2]) if found else None
        if found is None or count is None or found[1] not in layout.parts:
            raise ValueError(f"unknown wait '{word}'")
        counts[found[1]] = count
    return {name: n for name, n in counts.items() if n < layout.most(name)}


_OF_SEVERAL = "s_waitcnt"
_OF_ALL = "s_wait_idle"
_OF_NO_DATA = ("s_waitcnt_expcnt", "s_wait_expcnt")


def counts_of(instruction: AssemblyInstruction, chip: ChipRow) -> dict[str, int]:
    """The counts that a wait leaves outstanding; ValueError if they are not known.

    A count at its maximum waits for nothing. An instruction of gfx10 and gfx11 for one counter has
    a register first, to whose value the count is added, or ``null``.
    """
    words = (*instruction.operands, *instruction.modifiers)
    limits = {str(name): most for name, most in chip.counters.items()}
    unknown = ValueError(f"unknown wait: {instruction.text}")
    if instruction.mnemonic == _OF_ALL:
        return dict.fromkeys(limits, 0)
    if instruction.mnemonic in _OF_NO_DATA:
        return {}
    if instruction.mnemonic != _OF_SEVERAL:
        *registers, operand = instruction.operands or (None,)
        found = None
        if isinstance(operand, int) and registers in ([], ["null"]):
            found = read_wait(instruction.mnemonic, operand)
        if found is None:
            raise unknown
        return {name: n for name, n in found.given.items() if n < limits[name]}
    if not words or words[-1] == "&":
        raise unknown
    try:
        return wait_counts(
            (each for each in words if not isinstance(each, Registers) and each != "&"),
            chip.generation,
        )
    except ValueError as problem:
        raise ValueError(f"{problem}: {instruction.text}") from None
