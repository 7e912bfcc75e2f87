"""The launch of a kernel: its grid, its arguments, and their memory.

Buffers lie at multiples of 1 GiB, the first at 1 GiB; shared memory is a space of its own, from 0.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.performance import accesses as ptx_rows
from fencewright.lowering.sequence import is_ptx
from fencewright.simulator.execution.program import (
    KernelParameter,
    LaneProgram,
    LaneValue,
    TensorStep,
)
from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.arguments import (
    Argument,
    Array,
    File,
    Same,
    Struct,
    Tensor,
    array_bytes,
    file_bytes,
    struct_bytes,
    tensor_map,
)
from fencewright.simulator.semantics.faults import LaunchError, Size, refuse

BASE = 1 << 30
"""Buffers are aligned to so many bytes, and nothing lies below."""

VARIABLES = 1 << 42
"""The address at which the variables of a module begin, each at a multiple of ``BASE``."""
LOCAL = 1 << 45
"""The generic address at which the local memory of a lane begins."""

MAX_BYTES = 16 << 30
"""All buffers together: the capacity of a machine that runs this."""

MOST_ITEMS = (1 << 32) - 1
"""Work-items of a dispatch in one dimension. Source: HSA Platform System Architecture, 2.9.6."""


class FaultError(LaunchError):
    """The end of an execution at an instruction of a thread, in the words of every executor."""

    def __init__(self, fault: str, place: SourceLocation | None, name: str, thread: str):
        super().__init__(faults.line(fault, None, name, thread), place)
        self.args = (faults.line(fault, place, name, thread),)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Waves, by work-group and number, that wait at an instruction: ``polls``: for memory."""

    instruction: int
    polls: bool
    waves: tuple[tuple[int, int], ...]

    def text(self, name: str) -> str:
        """The waves and their place, of which ``name`` tells."""
        group, wave = self.waves[0]
        count = len(self.waves) - 1
        others = f" and {count} other{'s' if count > 1 else ''}" if count else ""
        verb = "poll" if self.polls else "wait"
        return f"wave {wave} of work-group {group}{others} {verb}{'' if count else 's'} at {name}"


class Hang(LaunchError):
    """A launch in which nothing changes any more: where each of its waves waits, the first at
    ``place``."""

    def __init__(
        self,
        waiting: Sequence[Waiting],
        names: Callable[[int], str],
        place: SourceLocation | None = None,
    ):
        self.waiting = tuple(waiting)
        parts = "; ".join(each.text(names(each.instruction)) for each in waiting)
        super().__init__(f"hang: {parts}; nothing changes any more", place)


@dataclass(frozen=True, slots=True)
class BufferOfSize:
    """A buffer of which only the size is known: its bytes are 0, but no address may come of them.

    What an atomic reads there counts as known: counters begin at 0.
    """

    bytes: int


ArgumentValue: TypeAlias = Argument | BufferOfSize | NDArray[Any]
"""An argument of a launch line, so many bytes, or an array with its contents."""


@dataclass(frozen=True, slots=True)
class Launch:
    """``grid``: work-groups in x, y and z; ``block``: threads of each; ``cluster``: work-groups of
    each cluster.

    ``sample``: only so many work-groups are run, the first ones; None: all. ``shared``: bytes of
    shared memory beyond those of the kernel's own variables.
    """

    grid: Size
    block: Size
    arguments: tuple[ArgumentValue, ...]
    sample: int | None = None
    shared: int = 0
    cluster: Size = (1, 1, 1)

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

    def order_of_groups(self) -> NDArray[np.int64]:
        """The numbers of the work-groups, those of a cluster one after another by their ranks."""
        if self.cluster == (1, 1, 1):
            return np.arange(self.groups)
        sizes = [
            part
            for each, of in zip(reversed(self.grid), reversed(self.cluster), strict=True)
            for part in (each // of, of)
        ]
        numbers = np.arange(math.prod(self.grid)).reshape(sizes)
        return numbers.transpose(0, 2, 4, 1, 3, 5).reshape(-1)[: self.groups]


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

    @property
    def packet(self) -> int:
        """The address of the packet that has started the launch: it ends the arguments (CDNA)."""
        found = next(each for each in self.buffers if each.address == self.arguments)
        return found.address + found.size - _PACKET.size

    def copy(self) -> "Memory":
        """The same bytes in an array of their own, which takes no room for zeros."""
        found = np.zeros(len(self.bytes), dtype=np.uint8)
        _fill(found, self.bytes)
        return Memory(self.buffers, found, self.values, self.arguments)

    def contents(self, name: str, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """The contents of the buffer of the parameter ``name``."""
        found = next(each for each in self.buffers if each.name == name)
        return self.bytes[found.start : found.start + found.size].view(dtype)


_CHUNK = 1 << 20


def _fill(zeros: NDArray[np.uint8], data: NDArray[np.uint8]) -> None:
    """Copy ``data`` to as many zeros. What is 0 is not written: pages of zeros take no memory."""
    for first in range(0, len(data), _CHUNK):
        chunk = data[first : first + _CHUNK]
        if chunk.any():
            zeros[first : first + len(chunk)] = chunk


def allocate(program: LaneProgram, launch: Launch) -> Memory:
    """The memory that a launch begins with. Raises ``LaunchError`` for a launch that cannot be."""
    _check_sizes(program, launch)
    parameters = [(each.name, each.bits) for each in program.given]
    refuse(faults.of_arguments(program.name, parameters, len(launch.arguments)))
    values: list[int] = []
    found: dict[str, _Contents] = {}
    address = BASE

    def place(name: str, contents: _Contents) -> int:
        nonlocal address
        found[name] = replace(contents, address=address)
        address += max(-(-contents.size // BASE), 1) * BASE
        return found[name].address

    def address_of(name: str, buffer: Array | Same) -> int:
        if isinstance(buffer, Same):
            return values[buffer.argument]
        data = _given(buffer)
        return place(name, _Contents(len(data), data))

    def address_in(name: str, at: int, buffer: Array | Same) -> int:
        return address_of(f"{name} at byte {at}", buffer)

    takes_maps = any(isinstance(step, TensorStep) for each in program.blocks for step in each.steps)
    for parameter, argument in zip(program.given, launch.arguments, strict=True):
        if isinstance(argument, Same):
            refuse(faults.of_buffer(parameter.name, parameter.bits))
            values.append(values[argument.argument])
            continue
        if isinstance(argument, Struct):
            if parameter.is_buffer:
                raise LaunchError(f"{parameter.name} is a buffer, not a struct: give an array")
            content = struct_bytes(argument, partial(address_in, parameter.name))
            refuse(faults.of_struct(parameter.name, len(content), parameter.bits // 8))
            values.append(int.from_bytes(content, "little"))
            continue
        if isinstance(argument, Tensor):
            if not takes_maps:
                raise LaunchError(
                    f"{parameter.name} is no tensor map: {program.name} copies by none; "
                    "give an array"
                )
            tensor = address_of(f"the tensor of {parameter.name}", argument.array)
            encoded = tensor_map(argument, tensor).encoded()
            argument = np.frombuffer(encoded, dtype=np.uint8)
        elif isinstance(argument, Array | File):
            argument = _given(argument)
        contents = _contents(parameter, argument)
        if contents is None:
            values.append(_number(parameter, argument))
            continue
        values.append(place(parameter.name, contents))
    segment = np.frombuffer(_segment(program, values, launch), dtype=np.uint8)
    found["the arguments"] = _Contents(len(segment), segment, address)
    for each in program.variables:
        data = np.frombuffer(each.initial, dtype=np.uint8)
        found[each.name] = _Contents(len(data), data, each.address)
    return _laid_out(found, tuple(values), address)


@dataclass(frozen=True, slots=True)
class _Contents:
    """The contents of a buffer; None: so many zeros."""

    size: int
    data: NDArray[np.uint8] | None
    address: int = 0


_PADDING = 256


def _padded(size: int) -> int:
    return -(-size // _PADDING) * _PADDING


def _laid_out(contents: Mapping[str, _Contents], values: tuple[int, ...], last: int) -> Memory:
    """The buffers one after another; the arguments are at ``last``."""
    room = sum(_padded(each.size) for each in contents.values())
    if room > MAX_BYTES:
        raise LaunchError(f"buffers of {room} bytes in all: at most {MAX_BYTES} can be executed")
    memory = np.zeros(room, dtype=np.uint8)
    buffers: list[Buffer] = []
    start = 0
    for name, each in contents.items():
        buffers.append(Buffer(name, each.address, each.size, start, each.data is not None))
        if each.data is not None:
            _fill(memory[start : start + each.size], each.data)
        start += _padded(each.size)
    return Memory(tuple(buffers), memory, values, last)


def _check_sizes(program: LaneProgram, launch: Launch) -> None:
    cluster = math.prod(launch.cluster)
    if cluster > 1 and program.target in KNOWN_CHIPS and not KNOWN_CHIPS[program.target].clusters:
        raise LaunchError(f"{program.target} has no clusters: leave the cluster out")
    refuse(
        faults.of_sizes(
            program.name, launch.grid, launch.block, launch.cluster, declared=program.block_size,
            most=program.most_threads, clusters=program.cluster, has_limits=is_ptx(program.target),
        )
    )  # fmt: skip
    items = tuple(a * b for a, b in zip(launch.grid, launch.block, strict=True))
    if program.target in KNOWN_CHIPS and max(items) > MOST_ITEMS:
        raise LaunchError(f"{max(items)} work-items in one dimension: {MOST_ITEMS} are the most")
    if launch.groups % cluster:
        raise LaunchError(
            f"{launch.groups} work-groups are no whole number of clusters of {cluster}"
        )
    if launch.sample is not None and launch.sample < 1:
        raise LaunchError(f"a sample of {launch.sample} work-groups: at least 1")
    most = _shared_limit(program.target)
    needed = program.resources.shared_bytes + launch.shared
    refuse(faults.of_shared(needed, needed if most is None else most))


def _shared_limit(target: str) -> int | None:
    """The shared memory that a work-group may have; None where that is not known."""
    if is_ptx(target):
        return ptx_rows.hierarchy_of(target, f"a launch on {target}").shared_block
    return KNOWN_CHIPS[target].lds_bytes if target in KNOWN_CHIPS else None


def _contents(parameter: KernelParameter, argument: ArgumentValue) -> _Contents | None:
    """The contents of a buffer; None for a number. A parameter is a buffer if it gets one."""
    if isinstance(argument, BufferOfSize):
        if argument.bytes < 1:
            raise LaunchError(f"{parameter.name}: a buffer of {argument.bytes} bytes: at least 1")
        found = _Contents(argument.bytes, None)
    elif isinstance(argument, np.ndarray) and argument.ndim:
        if argument.dtype.hasobject:
            raise LaunchError(f"{parameter.name}: an array of {argument.dtype}, not of numbers")
        data = _bytes_of(argument)
        if parameter.is_struct and 8 * len(data) == parameter.bits:
            # What is passed by value is given as its bytes.
            return None
        found = _Contents(len(data), data)
    else:
        return None
    refuse(faults.of_buffer(parameter.name, parameter.bits))
    return found


def _given(argument: Array | File) -> NDArray[np.uint8]:
    """The bytes of an array of a launch line."""
    is_file = isinstance(argument, File)
    data = file_bytes(argument.path)[0] if is_file else array_bytes(argument)
    return np.frombuffer(data, dtype=np.uint8)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _number(parameter: KernelParameter, argument: ArgumentValue) -> int:
    """The bits of a number."""
    if isinstance(argument, np.ndarray) and argument.ndim:
        return int.from_bytes(argument.tobytes(), "little")
    if parameter.is_buffer and not (isinstance(argument, int) and argument == 0):
        raise LaunchError(
            f"{parameter.name} is a buffer: give its size in bytes or an array, or 0 for none"
        )
    if not isinstance(argument, int | float | np.integer | np.floating):
        raise LaunchError(
            f"{parameter.name} is a number of {parameter.bits} bits, not {argument!r}"
        )
    number = int(argument) if isinstance(argument, int | np.integer) else float(argument)
    bits, is_integer = parameter.bits, parameter.is_integer
    refuse(faults.of_number(parameter.name, bits, number, is_integer=is_integer))
    if isinstance(number, int):
        return number & (1 << bits) - 1
    return int.from_bytes(struct.pack(faults.NUMBERS[bits], number), "little")


def _segment(program: LaneProgram, values: Sequence[int], launch: Launch) -> bytes:
    """The arguments as they lie in memory, with those that the launch itself fills in."""
    size = max((each.offset + max(each.bits // 8, 1) for each in program.parameters), default=0)
    found = bytearray(_padded(max(size, 1)))
    given = iter(values)
    for each in program.parameters:
        value = _hidden(each, launch) if each.is_hidden else next(given)
        found[each.offset : each.offset + max(each.bits // 8, 1)] = value.to_bytes(
            max(each.bits // 8, 1), "little"
        )
    return bytes(found) + _packet(launch)


_PACKET = struct.Struct("<2x5H3I40x")
"""The dimensions, the sizes of a work-group and of all work-items of a packet. Source: HSA Platform
System Architecture 2.9.6, kernel dispatch packet."""


def _packet(launch: Launch) -> bytes:
    items = [groups * size for groups, size in zip(launch.grid, launch.block, strict=True)]
    dimensions = max((n for n, each in enumerate(items, 1) if each > 1), default=1)
    return _PACKET.pack(dimensions, *launch.block, 0, *(each & 0xFFFFFFFF for each in items))


_BLOCK = (LaneValue.BLOCK_X, LaneValue.BLOCK_Y, LaneValue.BLOCK_Z)
_GRID = (LaneValue.GRID_X, LaneValue.GRID_Y, LaneValue.GRID_Z)


def _hidden(parameter: KernelParameter, launch: Launch) -> int:
    sizes: dict[LaneValue, int] = dict(
        zip((*_BLOCK, *_GRID), (*launch.block, *launch.grid), strict=True)
    )
    return 0 if parameter.hidden is None else sizes[parameter.hidden]
