"""Messages of launches that cannot be, and of accesses that end one: the same of every executor.

A place is named by the byte of its memory, as the addresses of an executor are its own.
"""

import struct
from collections.abc import Sequence
from typing import Literal

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import MOST_BLOCK, MOST_GRID, MOST_THREADS
from fencewright.lowering.wording import counted

Size = tuple[int, int, int]
MOST_CLUSTER = 16
"""Blocks of a cluster, where more than 8 need an attribute. Source: CUDA Programming Guide,
"Compute Capabilities"."""
NUMBERS = {16: "<e", 32: "<f", 64: "<d"}
"""By bits, the format of a number with a fraction."""
_ROOM = {"global": "; give it {0} or more", "shared": "; a launch may give it more"}


class LaunchError(ValueError):
    """A launch or an execution that cannot be: the place, the fault, and the advice."""

    def __init__(self, reason: str, place: SourceLocation | None = None):
        self.reason = reason
        self.place = place
        column = f":{place.column}" if place and place.column else ""
        where = "" if place is None else f"{place}{column}: "
        super().__init__(f"{where}{reason}")


def refuse(fault: str | Literal[False]) -> None:
    """Raise ``LaunchError`` for a fault."""
    if fault:
        raise LaunchError(fault)


# Accesses


def nowhere(address: int, size: int) -> str:
    """An access to an address that no memory has."""
    return f"out of bounds: {counted(size, 'byte')} at {address:#x}, where there is nothing"


def outside(space: str, name: str, at: int, size: int, room: int) -> str:
    """An access beyond a memory of ``room`` bytes."""
    return (
        f"out of bounds: {counted(size, 'byte')} at byte {at} of {name}, which has "
        f"{counted(room, 'byte')}{_ROOM.get(space, '').format(at + size)}"
    )


def unaligned(name: str, at: int, size: int, alignment: int) -> str:
    """An access at no multiple of its alignment."""
    return (
        f"unaligned: {counted(size, 'byte')} at byte {at} of {name}, which is no multiple of "
        f"{alignment}"
    )


def thread(number: int, block: int) -> str:
    """A thread as messages name it."""
    return f"thread {number} of block {block}"


def line(fault: str, place: object, name: str, who: object) -> str:
    """A fault with its place, its instruction and its thread, those that are known."""
    at = f", at {place}" if place is not None else ""
    parts = (fault, at, f" ({name})" if name else "", f", {who}" if who is not None else "")
    return "".join(parts)


def endless(count: int, unit: str) -> str:
    """More than a limit was executed."""
    return (
        f"{count} {unit} are not enough: a loop does not end, or the launch is too large; give "
        "fewer blocks or a greater --limit"
    )


# Launches; "" where nothing is wrong


def of_sizes(
    kernel: str, grid: Size, block: Size, cluster: Size, *, declared: Size | None,
    most: int | None, clusters: Size | None, has_limits: bool,
) -> str:  # fmt: skip
    """The fault of sizes. ``declared``, ``most``, ``clusters``: the kernel's own block, threads of
    a block, and cluster; ``has_limits``: of NVIDIA's, in each dimension."""
    threads, blocks = block[0] * block[1] * block[2], cluster[0] * cluster[1] * cluster[2]
    if min(*grid, *block) < 1:
        return f"a grid of {_sized(grid)} blocks of {_sized(block)} threads: 1 is the least of each"
    if threads > MOST_THREADS:
        return f"a block of {threads} threads: {MOST_THREADS} are the most"
    own = f"{kernel} is compiled for"
    if declared not in (None, block):
        return f"{own} blocks of {_sized(declared)} threads, not {_sized(block)}"
    if most is not None and threads > most:
        return f"{own} blocks of up to {most} threads, not {threads}"
    for sizes, limits, unit in ((grid, MOST_GRID, "grid"), (block, MOST_BLOCK, "block")):
        if has_limits and any(map(int.__gt__, sizes, limits)):
            return f"a {unit} of {_sized(sizes)}: {_sized(limits)} are the most"
    if clusters not in (None, cluster):
        return f"{own} clusters of {_sized(clusters)} blocks, not {_sized(cluster)}"
    if blocks > MOST_CLUSTER:
        return f"a cluster of {blocks} blocks: {MOST_CLUSTER} are the most"
    if any(map(int.__mod__, grid, cluster)):
        return (
            f"a grid of {_sized(grid)} blocks is no whole number of clusters of {_sized(cluster)}"
        )
    return ""


def of_shared(needed: int, most: int) -> str:
    """The fault of shared memory."""
    return f"{needed} bytes of shared memory: {most} are the most" if needed > most else ""


def of_arguments(kernel: str, parameters: Sequence[tuple[str, int]], given: int) -> str:
    """The fault of a number of arguments; ``parameters``: their names and bits."""
    if len(parameters) == given:
        return ""
    names = ", ".join(f"{name} of {_width(bits)}" for name, bits in parameters)
    takes = f"{counted(len(parameters), 'argument')}{f' ({names})' if names else ''}"
    return f"{kernel} takes {takes}, not {given}: give a value for each"


def of_number(name: str, bits: int, given: float, *, is_integer: bool) -> str:
    """The fault of a number for a parameter."""
    if bits > 64:
        return f"{name} has {_width(bits)}, not a number: give b8[{bits // 8}]"
    if isinstance(given, int):
        least, greatest = -(1 << bits - 1), (1 << bits) - 1
        advice = f"give a number from {least} to {greatest}"
        fits = least <= given <= greatest
        return "" if fits else f"{name} has {bits} bits: {given} does not fit; {advice}"
    if is_integer or bits not in NUMBERS:
        return f"{name} is an integer: {given} is none"
    try:
        struct.pack(NUMBERS[bits], given)
    except OverflowError:
        return f"{name} has {bits} bits: {given} does not fit"
    return ""


def of_buffer(name: str, bits: int) -> str:
    """The fault of an array for a parameter that has no address."""
    if bits > 64:
        return f"{name} has {_width(bits)}, not a buffer: give b8[{bits // 8}]"
    return "" if bits == 64 else f"{name} is a number of {bits} bits, not a buffer: give a number"


def of_struct(name: str, size: int, room: int) -> str:
    """The fault of a struct of ``size`` bytes."""
    return f"{name} has {room} bytes: a struct of {size} does not fit" if size > room else ""


def parameter_name(kernel: str, name: str, number: int) -> str:
    """A parameter's name, or its place where a compiler named it after the kernel."""
    return f"argument {number}" if name == f"{kernel}_param_{number}" else name


def _width(bits: int) -> str:
    return f"{bits} bits" if bits <= 64 else f"{bits // 8} bytes"


def _sized(size: Size | None) -> str:
    return "x".join(map(str, size or ()))
