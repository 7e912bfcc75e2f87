"""Which chip a code object is for. Source: LLVM AMDGPUUsage, "ELF Code Object", Header."""

import struct

from fencewright.checker.cdna_text import AssemblyError

MAGIC = b"\x7fELF"
_AMDGPU = 224
"""``EM_AMDGPU``, the machine."""

_CHIPS = {0x30: "gfx908", 0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x5F: "gfx9-4-generic"}
"""``EF_AMDGPU_MACH``, the lowest byte of the flags."""


def chip_of_object(content: bytes, file: str) -> str:
    """The chip of an ELF file; raises ``AssemblyError`` for what is no code of such a chip."""
    header = struct.Struct("<18xH28xI")
    if len(content) < header.size or content[4] != 2:
        raise AssemblyError(f"{file}:1: error: not a whole 64-bit ELF file")
    machine, flags = header.unpack_from(content)
    if machine != _AMDGPU:
        raise AssemblyError(f"{file}:1: error: an object for another machine than AMD's GPUs")
    chip = _CHIPS.get(flags & 0xFF)
    if chip is None:
        known = ", ".join(_CHIPS.values())
        raise AssemblyError(f"{file}:1: error: a code object for a chip that is none of {known}")
    return chip
