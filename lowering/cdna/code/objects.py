"""The chip of a code object, those of its symbols that are functions, and its kernels' descriptors.

Sources: LLVM AMDGPUUsage, "ELF Code Object" and "Kernel Descriptor"; ELF-64 Object File Format,
"Symbol Table".
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.code.source_location import AssemblyError

MAGIC = b"\x7fELF"
_AMDGPU = 224
"""``EM_AMDGPU``, the machine."""

_CHIPS = {each.elf_machine: each.name for each in KNOWN_CHIPS.values()}
"""Chips by the lowest byte of the flags."""


_HEADER = struct.Struct("<18xH28xI")
_ADVICE = (
    "take the GPU's code out of it: cuobjdump -xptx all FILE, or llvm-objdump --offloading FILE"
)


def is_amd_object(content: bytes) -> bool:
    """True if a file that begins with ``content`` is an ELF file for one of AMD's GPUs."""
    if not content.startswith(MAGIC) or len(content) < _HEADER.size:
        return False
    machine, _ = _HEADER.unpack_from(content)
    return machine == _AMDGPU


def chip_of_object(content: bytes, file: str) -> str:
    """The chip of an ELF file; raises ``AssemblyError`` for one that is no code of such a chip."""
    if len(content) < _HEADER.size or content[4] != 2:
        raise AssemblyError(f"{file}:1: error: not a whole 64-bit ELF file")
    machine, flags = _HEADER.unpack_from(content)
    if machine != _AMDGPU:
        raise AssemblyError(
            f"{file}:1: error: an object for another machine than AMD's GPUs: {_ADVICE}"
        )
    chip = _CHIPS.get(flags & 0xFF)
    if chip is None:
        known = ", ".join(_CHIPS.values())
        raise AssemblyError(f"{file}:1: error: a code object for a chip that is none of {known}")
    return chip


_SECTIONS = struct.Struct("<40xQ10xHH")
_SECTION = struct.Struct("<4xI16xQQI12xQ")
_ADDRESS = struct.Struct("<16xQQ")
"""Of a section: its address, and where it is in the file."""
_SYMBOL = struct.Struct("<IBxHQQ")
_FLAGS = struct.Struct("<8xQ")
_EXECUTABLE = 4
_SYMBOL_TABLES = (2, 11)
_FUNCTIONS = (2, 10)
"""``STT_FUNC`` and ``STT_AMDGPU_HSA_KERNEL``, which assembly calls ``@gnu_indirect_function``."""
_KERNEL = ".kd"
"""A kernel's descriptor is called as it, with this after it."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    is_function: bool
    place: tuple[int, int]
    """Section and address."""
    offset: int
    """Its offset in the file."""
    size: int
    is_untyped: bool
    """It has a name and no type, in a section of code."""
    is_seen: bool
    """Other files see it."""


def functions_of_object(content: bytes) -> dict[str, str]:
    """The symbols of an ELF file at which functions begin, with the names of those.

    Others are labels, which hand-written assembly leaves in the object, but for
    ``untyped_functions``. Empty if it has no symbols.
    """
    symbols = list(_symbols(content))
    kernels = {each.name.removesuffix(_KERNEL) for each in symbols if each.name.endswith(_KERNEL)}
    functions = {
        each.place: each.name for each in symbols if each.is_function or each.name in kernels
    }
    return {each.name: functions[each.place] for each in symbols if each.place in functions}


def untyped_functions(content: bytes) -> frozenset[str]:
    """The symbols without a type at which functions begin if nothing else leads there.

    Other files see them, or they lie where the function before them has ended.
    """
    symbols = list(_symbols(content))
    return frozenset(
        each.name for each in symbols if each.is_untyped and _is_outside(each, symbols)
    )


def _is_outside(symbol: _Symbol, symbols: Sequence[_Symbol]) -> bool:
    """True of a symbol that other files see, or that lies after the end of the function before
    it."""
    if symbol.is_seen:
        return True
    section, address = symbol.place
    before = [
        each
        for each in symbols
        if each.is_function and each.place[0] == section and each.place[1] <= address
    ]
    last = max(before, key=lambda each: each.place[1], default=None)
    return last is None or (last.size > 0 and address >= last.place[1] + last.size)


Fields = Mapping[str, tuple[int, int, int]]
"""By directive of ``.amdhsa_kernel``, the byte of its word, its first bit, and its bits."""
_FIELDS: Fields = MappingProxyType(
    {"workgroup_processor_mode": (48, 29, 1), "tg_split": (44, 16, 1),
     "wavefront_size32": (56, 10, 1)}
)  # fmt: skip
_DESCRIPTOR_BYTES = 64


def descriptors_of_object(content: bytes, fields: Fields = _FIELDS) -> dict[str, dict[str, int]]:
    """By kernel of an ELF file, fields of its descriptor, those for fence-check, as directives."""
    return {
        each.name.removesuffix(_KERNEL): {
            name: int.from_bytes(content[each.offset + byte : each.offset + byte + 4], "little")
            >> bit
            & (1 << bits) - 1
            for name, (byte, bit, bits) in fields.items()
        }
        for each in _symbols(content)
        if each.name.endswith(_KERNEL) and each.offset + _DESCRIPTOR_BYTES <= len(content)
    }


def sections_of(content: bytes) -> Iterator[tuple[int, int, int]]:
    """The type, place and size of each section of an ELF file; none where it is cut short."""
    with suppress(struct.error):
        yield from ((kind, offset, length) for kind, offset, length, _, _ in _sections(content))


def _sections(content: bytes) -> list[tuple[int, int, int, int, int]]:
    """Type, place, size, link and size of an entry of each section. Raises ``struct.error``."""
    start, size, count = _SECTIONS.unpack_from(content)
    return [_SECTION.unpack_from(content, start + n * size) for n in range(count)]


_TYPE = struct.Struct("<16xH")
_SHARED = 3
"""``ET_DYN``: linked, with an address for all that is loaded."""
_PROGRAM = struct.Struct("<32xQ14xHH")
_SEGMENT = struct.Struct("<I4xQQ8xQQ")
"""Of a segment: its type, place and address, and its bytes in the file and in memory."""
_LOADED = 1
_RELOCATION = struct.Struct("<QIIq")
_RELOCATIONS = 4
_WORD, _RELATIVE = 3, 13
"""``SHT_RELA``, ``R_AMDGPU_ABS64`` and ``R_AMDGPU_RELATIVE64``."""
_MOST_LOADED = 256 << 20


def image_of(content: bytes) -> tuple[bytes, dict[int, int]] | None:
    """The memory of a linked ELF file as it is loaded at 0, and the addresses in it by place.

    None for one that is not linked, is cut short, has more than 256 MiB or other relocations.
    """
    try:
        (kind,) = _TYPE.unpack_from(content)
        start, size, count = _PROGRAM.unpack_from(content)
        found = [_SEGMENT.unpack_from(content, start + n * size) for n in range(count)]
        segments = [each for type, *each in found if type == _LOADED]
        end = max((address + max(both) for _, address, *both in segments), default=0)
        is_cut = any(offset + length > len(content) for offset, _, length, _ in segments)
        if kind != _SHARED or is_cut or end > _MOST_LOADED:
            return None
        image = bytearray(end)
        for offset, address, length, _ in segments:
            image[address : address + length] = content[offset : offset + length]
        return bytes(image), dict(_relocated(content, end))
    except (struct.error, OverflowError, ValueError, IndexError):
        return None


def _relocated(content: bytes, end: int) -> Iterator[tuple[int, int]]:
    sections = _sections(content)
    for kind, offset, length, link, _ in sections:
        if kind != _RELOCATIONS:
            continue
        _, symbols, _, _, each = sections[link]
        for at in range(offset, offset + length, _RELOCATION.size):
            place, type, symbol, addend = _RELOCATION.unpack_from(content, at)
            if type == _WORD:
                _, _, section, value, _ = _SYMBOL.unpack_from(content, symbols + symbol * each)
                if not section:
                    continue  # Of another object.
                addend += value
            elif type != _RELATIVE:
                raise ValueError(f"a relocation of type {type}")
            if place + 8 <= end:
                yield place, addend


def _flags(content: bytes) -> Iterator[int]:
    """The flags of the sections."""
    start, size, count = _SECTIONS.unpack_from(content)
    for number in range(count):
        yield _FLAGS.unpack_from(content, start + number * size)[0]


def _symbols(content: bytes) -> Iterator[_Symbol]:
    try:
        start, size, count = _SECTIONS.unpack_from(content)
        sections = _sections(content)
        starts = {
            number: _ADDRESS.unpack_from(content, start + number * size) for number in range(count)
        }
        code = {number for number, flags in enumerate(_flags(content)) if flags & _EXECUTABLE}
        for kind, offset, length, link, each in sections:
            if kind not in _SYMBOL_TABLES:
                continue
            names = sections[link][1]
            for place in range(offset, offset + length, each):
                name_at, info, section, address, extent = _SYMBOL.unpack_from(content, place)
                first, at = starts.get(section, (0, 0))
                begin = names + int(name_at)
                name = content[begin : content.index(b"\0", begin)].decode(errors="replace")
                is_function = info & 0xF in _FUNCTIONS
                is_untyped = bool(name) and info & 0xF == 0 and section in code
                yield _Symbol(
                    name, is_function, (section, address), at + address - first, extent, is_untyped,
                    bool(info >> 4),
                )  # fmt: skip
    except (struct.error, IndexError, ValueError):
        # A file that is cut short is llvm-objdump's to refuse.
        return
