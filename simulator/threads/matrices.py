"""Places of matrices in memory: those of wmma, and those that the descriptors of wgmma name.

PTX does not say which lane has an element, or when wgmma reads one. Each is one lane's, and two
schedules give it to two lanes, so that no lane's own order hides that of another.

Source: PTX ISA, "Matrix Storage for WMMA"; "Asynchronous Warpgroup Level Matrix Shared Memory
Layout"; "Matrix Descriptor Format"; CUTLASS, mma_sm90_desc.hpp, "Canonical GMMA layouts".
"""

import re
from collections.abc import Iterator

from fencewright.lowering.ptx.code.statements import Opcode
from fencewright.simulator.threads.memory import SHARED_OFFSET

WARPGROUP = 128
_LANES = 32
_CHUNK, _ROWS, _DEPTH = 16, 8, 32
"""Bytes that lie together, rows of a core matrix, and bytes of each row that one wgmma takes."""
_SWIZZLES = {0: 16, 1: 128, 2: 64, 3: 32}
"""The bytes of a row of a swizzle by its number in a descriptor: without one, of a chunk."""
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def shape_of(opcode: Opcode) -> tuple[int, int, int]:
    """The rows, the columns and the depth of a matrix operation. Raises ``StopIteration``."""
    m, n, k = next(found for each in opcode.words if (found := _SHAPE.fullmatch(each))).groups()
    return int(m), int(n), int(k)


def wmma_lines(opcode: Opcode) -> tuple[int, int]:
    """The lines of a matrix of wmma that lie in memory one after another, and their elements."""
    m, n, k = shape_of(opcode)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(opcode.words[2], (m, n))
    return (rows, columns) if "row" in opcode.words else (columns, rows)


def share(lines: int, length: int, pitch: int, size: int, lane: int) -> Iterator[int]:
    """The places of a lane's elements in a matrix; ``pitch``: bytes from one line to the next."""
    for number in range(lane % _LANES, lines * length, _LANES):
        line, at = divmod(number, length)
        yield line * pitch + at * size


def chunks(descriptor: int, extent: int, is_transposed: bool, lane: int) -> Iterator[int]:
    """The places in shared memory of a lane's chunks of an operand of wgmma, of 16 bytes each.

    ``extent``: its rows, or its columns if it is the second. ``is_transposed``: those lie together,
    of 16 bits each.
    """
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    width = _SWIZZLES[descriptor >> 62 & 3]
    is_plain = width == _CHUNK
    across = _DEPTH // _CHUNK
    for number in range(lane % WARPGROUP, extent * across, WARPGROUP):
        if not is_transposed:
            row, chunk = divmod(number, across)
            at = row % _ROWS * width + row // _ROWS * stride
            at += chunk * (leading if is_plain else _CHUNK)
        else:
            depth, chunk = divmod(number, extent // 8)
            atom, inside = divmod(chunk, width // _CHUNK)
            next_atom, next_depth = (stride, leading) if is_plain else (leading, stride)
            at = inside * _CHUNK + atom * next_atom
            at += depth % _ROWS * width + depth // _ROWS * next_depth
        at += start
        yield (at ^ (at >> 7) % (width // _CHUNK) * _CHUNK) & SHARED_OFFSET
