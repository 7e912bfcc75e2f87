"""Which chip a code object is for. Source: LLVM AMDGPUUsage, "ELF Code Object", Header."""

import struct

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
