"""The width of the pointers of a module. Source: LLVM LangRef, Data Layout."""

import re
from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.llvm import LLVMPointerType

_DATA_LAYOUT = re.compile(r'target datalayout = "([^"]*)"')
_POINTER_WIDTH = re.compile(r"\bp([0-9]*):([0-9]+)")
_POINTER_BITS = 64
"""The width if the layout does not give one."""


def pointer_widths(lines: Iterable[str]) -> dict[int, int]:
    """The bits of a pointer by the number of its space, as far as the module's layout says."""
    layouts = [found[1] for found in map(_DATA_LAYOUT.fullmatch, lines) if found]
    found = (each for layout in layouts for each in _POINTER_WIDTH.findall(layout))
    return {int(space or 0): int(bits) for space, bits in found}


def width_of_pointer(type_: LLVMPointerType, widths: Mapping[int, int]) -> int:
    """The bits of a pointer; ``widths``: those of the layout."""
    space = type_.addr_space.data if isinstance(type_.addr_space, IntAttr) else 0
    return widths.get(space, _POINTER_BITS)
