"""Which chip a code object is for, and which of its symbols are functions.

Sources: LLVM AMDGPUUsage, "ELF Code Object"; ELF-64 Object File Format, "Symbol Table".
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.checker.cdna_text import AssemblyError
from fencewright.lowering.cdna.chips import CHIPS

MAGIC = b"\x7fELF"
_AMDGPU = 224
"""``EM_AMDGPU``, the machine."""

_CHIPS = {each.elf_machine: each.name for each in CHIPS.values()}
"""Chips by the lowest byte of the flags."""


_HEADER = struct.Struct("<18xH28xI")


def is_amd_object(content: bytes) -> bool:
    """Whether a file that begins so is an ELF file for one of AMD's GPUs."""
    if not content.startswith(MAGIC) or len(content) < _HEADER.size:
        return False
    machine, _ = _HEADER.unpack_from(content)
    return machine == _AMDGPU


def chip_of_object(content: bytes, file: str) -> str:
    """The chip of an ELF file; raises ``AssemblyError`` for what is no code of such a chip."""
    if len(content) < _HEADER.size or content[4] != 2:
        raise AssemblyError(f"{file}:1: error: not a whole 64-bit ELF file")
    machine, flags = _HEADER.unpack_from(content)
    if machine != _AMDGPU:
        raise AssemblyError(f"{file}:1: error: an object for another machine than AMD's GPUs")
    chip = _CHIPS.get(flags & 0xFF)
    if chip is None:
        known = ", ".join(_CHIPS.values())
        raise AssemblyError(f"{file}:1: error: a code object for a chip that is none of {known}")
    return chip


_SECTIONS = struct.Struct("<40xQ10xHH")
_SECTION = struct.Struct("<4xI16xQQI12xQ")
_SYMBOL = struct.Struct("<IBxHQ8x")
_SYMBOL_TABLES = (2, 11)
_FUNCTION = 2
_KERNEL = ".kd"
"""A kernel's descriptor is called as it, with this after it."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    is_function: bool
    place: tuple[int, int]
    """Section and address."""


def functions_of_object(content: bytes) -> dict[str, str]:
    """The symbols of an ELF file at which functions begin, with the names of those.

    Others are labels, which hand-written assembly leaves in the object. Empty if it has no symbols.
    """
    symbols = list(_symbols(content))
    kernels = {each.name.removesuffix(_KERNEL) for each in symbols if each.name.endswith(_KERNEL)}
    functions = {
        each.place: each.name for each in symbols if each.is_function or each.name in kernels
    }
    return {each.name: functions[each.place] for each in symbols if each.place in functions}


def _symbols(content: bytes) -> Iterator[_Symbol]:
    try:
        start, size, count = _SECTIONS.unpack_from(content)
        sections: list[tuple[int, int, int, int, int]] = [
            _SECTION.unpack_from(content, start + n * size) for n in range(count)
        ]
        for kind, offset, length, link, each in sections:
            if kind not in _SYMBOL_TABLES:
                continue
            names = sections[link][1]
            for place in range(offset, offset + length, each):
                name_at, info, section, address = _SYMBOL.unpack_from(content, place)
                begin = names + int(name_at)
                name = content[begin : content.index(b"\0", begin)].decode(errors="replace")
                yield _Symbol(name, info & 0xF == _FUNCTION, (section, address))
    except (struct.error, IndexError, ValueError):
        # What is cut short is llvm-objdump's to refuse.
        return
