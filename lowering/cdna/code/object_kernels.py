"""Kernels of code objects as their launches need them: descriptors and metadata.

Source: LLVM AMDGPUUsage, "Kernel Descriptor", "Note Records" and "Code Object V5 Metadata"; the
MessagePack specification.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from fencewright.lowering.cdna.code.objects import Fields, descriptors_of_object, sections_of
from fencewright.lowering.cdna.code.text import Assembly, KernelArgument
from fencewright.lowering.code.source_location import AssemblyError

_FIELDS: Fields = MappingProxyType(
    {
        "group_segment_fixed_size": (0, 0, 32), "private_segment_fixed_size": (4, 0, 32),
        "kernarg_size": (8, 0, 32), "tg_split": (44, 16, 1),
        "float_denorm_mode_32": (48, 16, 2), "user_sgpr_count": (52, 1, 5),
        "system_sgpr_workgroup_id_x": (52, 7, 1), "system_sgpr_workgroup_id_y": (52, 8, 1),
        "system_sgpr_workgroup_id_z": (52, 9, 1), "system_sgpr_workgroup_info": (52, 10, 1),
        "system_vgpr_workitem_id": (52, 11, 2), "user_sgpr_private_segment_buffer": (56, 0, 1),
        "user_sgpr_dispatch_ptr": (56, 1, 1), "user_sgpr_queue_ptr": (56, 2, 1),
        "user_sgpr_kernarg_segment_ptr": (56, 3, 1), "user_sgpr_dispatch_id": (56, 4, 1),
        "user_sgpr_flat_scratch_init": (56, 5, 1), "user_sgpr_private_segment_size": (56, 6, 1),
        "uses_dynamic_stack": (56, 11, 1),
    }
)  # fmt: skip
_NOTES, _METADATA = 7, 32
"""``SHT_NOTE`` and ``NT_AMDGPU_METADATA``."""


def with_descriptors(assembly: Assembly, content: bytes, file: str) -> Assembly:
    """The assembly of a code object, whose kernels have all that the object says of them.

    Raises ``AssemblyError`` for metadata that cannot be read.
    """
    described = descriptors_of_object(content, _FIELDS)
    try:
        metadata = {_text(each.get(".name")): each for each in _kernels(content)}
    except (ValueError, TypeError, AttributeError, RecursionError, struct.error) as problem:
        raise AssemblyError(f"{file}:1: error: its metadata cannot be read") from problem
    functions = {
        name: replace(
            each,
            descriptor={**each.descriptor, **described[name]},
            arguments=tuple(_arguments(metadata.get(name, {}))),
            metadata=_numbers(metadata.get(name, {})),
        )
        if name in described
        else each
        for name, each in assembly.functions.items()
    }
    return replace(assembly, functions=functions)


def _arguments(kernel: Mapping[str, Any]) -> Iterator[KernelArgument]:
    """The arguments; those without a name have their number."""
    for number, each in enumerate(cast("list[dict[str, Any]]", kernel.get(".args", []))):
        name = _text(each.get(".name")) or f"argument {number}"
        kind = _text(each.get(".value_kind"))
        yield KernelArgument(name, int(each[".offset"]), int(each[".size"]), kind)


def _numbers(kernel: Mapping[str, Any]) -> dict[str, int]:
    lists = {
        f"{key}_{place}": value
        for key, values in kernel.items()
        if isinstance(values, list)
        for place, value in enumerate(cast("list[object]", values))
    }
    return {
        key.removeprefix("."): value
        for key, value in (*kernel.items(), *lists.items())
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _kernels(content: bytes) -> list[dict[str, Any]]:
    """The metadata of the kernels; none where a note is cut short."""
    for kind, offset, size in sections_of(content):
        at, end = offset, min(offset + size, len(content))
        while kind == _NOTES and at + 12 <= end:
            name_size, data_size, type = struct.unpack_from("<III", content, at)
            begin = at + 12 + (name_size + 3 & ~3)
            if type == _METADATA and begin + data_size <= end:
                found: dict[str, Any] = _Packed(content[begin : begin + data_size]).read()
                return cast("list[dict[str, Any]]", found.get("amdhsa.kernels", []))
            at = begin + (data_size + 3 & ~3)
    return []


_FIXED = MappingProxyType(
    {
        0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
        0xD3: ">q", 0xCA: ">f", 0xCB: ">d",
    }
)  # fmt: skip
_LENGTHS = MappingProxyType(
    {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xC4: ">B", 0xC5: ">H", 0xC6: ">I",
     0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
)  # fmt: skip
_CONSTANTS = MappingProxyType({0xC0: None, 0xC2: False, 0xC3: True})


class _Packed:
    """A reader of MessagePack. Raises ``ValueError`` or ``struct.error`` for other data."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def _take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def read(self) -> Any:
        """The next value."""
        first = self._take(">B")
        if first < 0x80 or first >= 0xE0:
            return first - (0x100 if first >= 0xE0 else 0)
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _FIXED:
            return self._take(_FIXED[first])
        if first in _LENGTHS:
            count = self._take(_LENGTHS[first])
        elif first < 0xC0:
            count = first & (0x1F if first >= 0xA0 else 0x0F)
        else:
            raise ValueError(f"a value that begins with {first:#x}")
        if first < 0x90 or first in (0xDE, 0xDF):
            return {self.read(): self.read() for _ in range(count)}
        if first < 0xA0 or first in (0xDC, 0xDD):
            return [self.read() for _ in range(count)]
        begin = self.at
        self.at += count
        if self.at > len(self.data):
            raise ValueError("a string that is cut short")
        return self.data[begin : self.at].decode(errors="replace")
