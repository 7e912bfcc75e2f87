"""What a kernel is launched with: its grid, its arguments, and the memory that they are.

Buffers lie at multiples of 1 GiB, the first at 1 GiB; shared memory is a space of its own, from 0.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fencewright.simulator.memory.program import KernelParameter, LaneProgram, SourcePlace

BASE = 1 << 30
"""Buffers are aligned to so many bytes, and nothing lies below."""

MAX_THREADS = 1024
"""Threads of a work-group. Source: CUDA C++ Programming Guide, 16.2; LLVM AMDGPUUsage, 1024."""


class LaunchError(ValueError):
    """A launch or an execution that cannot be: where, what is wrong, and what to give instead."""

    def __init__(self, reason: str, place: SourcePlace | None = None):
        self.reason = reason
        self.place = place
        where = "" if place is None else f"{place.file}:{place.line}:{place.column}: "
        super().__init__(f"{where}{reason}")


@dataclass(frozen=True, slots=True)
class BufferOfSize:
    """A buffer of which only the size is known: its bytes are 0, but no address may come of them.

    What an atomic reads there counts as known: counters begin at 0.
    """

    bytes: int


ArgumentValue: TypeAlias = int | float | BufferOfSize | NDArray[Any]
"""A number, or a buffer: so many bytes, or an array with what is in it."""

Size: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """``grid``: work-groups in x, y and z; ``block``: threads of each.

    ``sample``: only so many work-groups are run, the first ones; None: all. ``shared``: bytes of
    shared memory beyond those of the kernel's own variables.
    """

    grid: Size
    block: Size
    arguments: tuple[ArgumentValue, ...]
    sample: int | None = None
    shared: int = 0

    @property
    def groups(self) -> int:
        """Work-groups that are run."""
        x, y, z = self.grid
        return x * y * z if self.sample is None else min(self.sample, x * y * z)

    @property
    def threads(self) -> int:
        """Threads of a work-group."""
        x, y, z = self.block
        return x * y * z


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes of one argument: ``size`` of them from ``address``, in ``Memory.bytes`` from ``start``.

    ``is_known``: they are data, not only room for it.
    """

    name: str
    address: int
    size: int
    start: int
    is_known: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """The global memory of a launch: the buffers, and all their bytes one buffer after another.

    ``values``: of each argument its value as bits, of a buffer its address. ``arguments``: the
    address where the kernel's arguments lie (CDNA), in a buffer of their own.
    """

    buffers: tuple[Buffer, ...]
    bytes: NDArray[np.uint8]
    values: tuple[int, ...]
    arguments: int

    def copy(self) -> "Memory":
        """The same bytes in an array of their own."""
        return Memory(self.buffers, self.bytes.copy(), self.values, self.arguments)

    def contents(self, name: str, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """What is in the buffer of the parameter ``name``."""
        found = next(each for each in self.buffers if each.name == name)
        return self.bytes[found.start : found.start + found.size].view(dtype)


def allocate(program: LaneProgram, launch: Launch) -> Memory:
    """The memory that a launch begins with. Raises ``LaunchError`` for a launch that cannot be."""
    _check_sizes(program, launch)
    if len(launch.arguments) != len(program.parameters):
        names = ", ".join(each.name for each in program.parameters)
        raise LaunchError(
            f"{program.name} takes {len(program.parameters)} arguments ({names}), "
            f"not {len(launch.arguments)}"
        )
    buffers: list[Buffer] = []
    parts: list[NDArray[np.uint8]] = []
    values: list[int] = []
    for parameter, argument in zip(program.parameters, launch.arguments, strict=True):
        data = _data(parameter, argument)
        if data is None:
            values.append(_number(parameter, argument))
            continue
        values.append(_add(buffers, parts, parameter.name, data, argument))
    segment = np.frombuffer(_segment(program.parameters, values), dtype=np.uint8)
    place = _add(buffers, parts, "the arguments", segment, segment)
    room = buffers[-1].start + _padded(buffers[-1].size)
    memory = np.zeros(room, dtype=np.uint8)
    for buffer, part in zip(buffers, parts, strict=True):
        memory[buffer.start : buffer.start + buffer.size] = part
    return Memory(tuple(buffers), memory, tuple(values), place)


_PADDING = 256


def _padded(size: int) -> int:
    return -(-size // _PADDING) * _PADDING


def _add(
    buffers: list[Buffer],
    parts: list[NDArray[np.uint8]],
    name: str,
    data: NDArray[np.uint8],
    argument: ArgumentValue,
) -> int:
    """The address of a new buffer after the others."""
    address, start = BASE, 0
    if buffers:
        last = buffers[-1]
        address = last.address + max(-(-last.size // BASE), 1) * BASE
        start = last.start + _padded(last.size)
    is_known = not isinstance(argument, BufferOfSize)
    buffers.append(Buffer(name, address, len(data), start, is_known))
    parts.append(data)
    return address


def _check_sizes(program: LaneProgram, launch: Launch) -> None:
    if min(*launch.grid, *launch.block) < 1:
        raise LaunchError(
            f"a grid of {_sized(launch.grid)} work-groups of {_sized(launch.block)} threads: "
            "each has to be at least 1"
        )
    if program.block_size is not None and program.block_size != launch.block:
        raise LaunchError(
            f"{program.name} is compiled for work-groups of {_sized(program.block_size)} threads, "
            f"not {_sized(launch.block)}"
        )
    if launch.threads > MAX_THREADS:
        raise LaunchError(
            f"a work-group of {launch.threads} threads does not fit: at most {MAX_THREADS}"
        )
    if launch.sample is not None and launch.sample < 1:
        raise LaunchError(f"a sample of {launch.sample} work-groups: at least 1")


def _sized(size: Size) -> str:
    return "x".join(map(str, size))


def _data(parameter: KernelParameter, argument: ArgumentValue) -> NDArray[np.uint8] | None:
    """The bytes of a buffer; None for a number. A parameter is a buffer if it gets one."""
    if isinstance(argument, BufferOfSize):
        data: NDArray[np.uint8] = np.zeros(argument.bytes, dtype=np.uint8)
    elif isinstance(argument, np.ndarray) and argument.ndim:
        data = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
    else:
        return None
    if parameter.bits != 64:
        raise LaunchError(
            f"argument '{parameter.name}' is a number of {parameter.bits} bits, not a buffer"
        )
    return data


def _number(parameter: KernelParameter, argument: ArgumentValue) -> int:
    """The bits of a number."""
    if parameter.is_buffer:
        raise LaunchError(
            f"argument '{parameter.name}' is a buffer: give its size in bytes or an array"
        )
    if isinstance(argument, int | np.integer):
        if not -(1 << parameter.bits - 1) <= int(argument) < 1 << parameter.bits:
            raise LaunchError(
                f"argument '{parameter.name}' has {parameter.bits} bits: {argument} does not fit"
            )
        return int(argument) & (1 << parameter.bits) - 1
    formats = {16: "<e", 32: "<f", 64: "<d"}
    if parameter.bits not in formats or not isinstance(argument, float | np.floating):
        raise LaunchError(f"argument '{parameter.name}' is not a number of {parameter.bits} bits")
    return int.from_bytes(struct.pack(formats[parameter.bits], float(argument)), "little")


def _segment(parameters: Sequence[KernelParameter], values: Sequence[int]) -> bytes:
    """The arguments as they lie in memory."""
    size = max((each.offset + max(each.bits // 8, 1) for each in parameters), default=0)
    found = bytearray(_padded(max(size, 1)))
    for each, value in zip(parameters, values, strict=True):
        found[each.offset : each.offset + max(each.bits // 8, 1)] = value.to_bytes(
            max(each.bits // 8, 1), "little"
        )
    return bytes(found)
