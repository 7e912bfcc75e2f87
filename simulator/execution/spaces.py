"""The spaces of lanes' addresses: a buffer, shared memory of a work-group, or a lane's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.byte_access import Bytes
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.launch import BASE, LOCAL, Buffer, Memory
from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.tensors import RANK_BITS

_PADDING = 16
_ADDRESS = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Places in ``bytes`` of each lane's address; ``wrong``: active lanes that have none."""

    bytes: Bytes
    at: Numbers
    wrong: LaneFlags | None


class Buffers:
    """Global memory: the buffers of a launch."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        pages = max(each.address + each.size for each in memory.buffers) // BASE + 2
        self._buffers: list[Buffer | None] = [None] * pages
        self._end: Numbers = np.zeros(pages, dtype=np.int64)
        self._shift: Numbers = np.zeros(pages, dtype=np.int64)
        for each in memory.buffers:
            first = each.address // BASE
            for page in range(first, first + max(-(-each.size // BASE), 1)):
                self._buffers[page] = each
                self._end[page] = each.address + each.size
                self._shift[page] = each.address - each.start

    def locate(self, addresses: Numbers, active: LaneFlags, width: Numbers | int) -> Located:
        """The places of accesses of ``width`` bytes; inactive lanes have any address."""
        page = addresses // BASE
        first = min(max(int(page.flat[0]), 0), len(self._buffers) - 1)
        if bool((page == first).all()):
            end, shift = self._end[first], self._shift[first]
        else:
            page = np.minimum(np.maximum(page, 0), len(self._buffers) - 1)
            end, shift = self._end[page], self._shift[page]
        wrong = active & ((addresses + width > end) | (addresses < BASE))
        at = addresses - shift
        if not active.all():
            at = np.where(active, at, 0)
        return Located(self.memory.bytes, at, wrong if wrong.any() else None)

    def describe(self, address: int, width: int) -> str:
        """The reason that there is nothing at an address, and the advice for its user."""
        buffer = self.buffer_at(address)
        if address >= LOCAL:
            return (
                f"byte {address - LOCAL} of local memory, of which only the pointer knows that it "
                "is local: waves do not execute it; fence-check --launch does"
            )
        if buffer is None:
            return faults.nowhere(address & _ADDRESS, width)
        at = address - buffer.address
        return faults.outside("global", buffer.name, at, width, buffer.size)

    def buffer_at(self, address: int) -> Buffer | None:
        """The buffer that has an address."""
        page = address // BASE
        return self._buffers[page] if 0 <= page < len(self._buffers) else None

    def place(self, address: int) -> tuple[str, int]:
        """The name of the memory of an address, and the byte there."""
        buffer = self.buffer_at(address)
        assert buffer is not None
        return buffer.name, address - buffer.address


class OwnMemory:
    """Memory of which each owner, a work-group or a lane, has ``size`` bytes from 0."""

    def __init__(self, owners: int, size: int, space: str) -> None:
        self.size = size
        self.space = space
        self._room = -(-size // _PADDING) * _PADDING
        self.bytes: Bytes = np.zeros(max(owners * self._room, _PADDING), dtype=np.uint8)

    def clear(self, owners: Numbers) -> None:
        """New owners find zeros."""
        if self._room:
            self.rows(self.bytes)[owners] = 0

    def rows(self, bytes: Bytes) -> Bytes:
        """Bytes that lie as these do, a row for each owner."""
        return bytes.reshape(-1, self._room)

    def locate(
        self, addresses: Numbers, active: LaneFlags, width: Numbers | int, owners: Numbers
    ) -> Located:
        """The places of accesses; ``owners``: the number of each lane's owner."""
        wrong = active & ((addresses < 0) | (addresses + width > self.size))
        at = addresses + owners * self._room
        if not active.all():
            at = np.where(active, at, 0)
        return Located(self.bytes, at, wrong if wrong.any() else None)

    def describe(self, address: int, width: int) -> str:
        """The reason that there is nothing at an address."""
        if address < 0 or address >> RANK_BITS:
            return faults.nowhere(address & 0xFFFFFFFF, width)
        return faults.outside(self.space, *self.place(address), width, self.size)

    def place(self, address: int) -> tuple[str, int]:
        """The name of the memory of an address, and the byte there."""
        return f"{self.space} memory", address & (1 << RANK_BITS) - 1


@dataclass(frozen=True, slots=True)
class UnwrittenRead:
    """A read of shared memory that nobody wrote: the place of a wave, and the address."""

    group: int
    wave: int
    address: int


class Unwritten:
    """The bytes of shared memory that were written; ``reads``: by instruction the first of
    others."""

    def __init__(self) -> None:
        self.reads: dict[int, UnwrittenRead] = {}
        self._marks: Bytes = np.zeros(0, dtype=np.uint8)
        self._of: OwnMemory | None = None

    def watch(self, memory: OwnMemory) -> None:
        """Begin with this memory, of which nothing is written."""
        self._of, self._marks = memory, np.zeros(len(memory.bytes), dtype=np.uint8)

    def clear(self, owners: Numbers) -> None:
        """New owners have written nothing."""
        if self._of is not None and self._of.size:
            self._of.rows(self._marks)[owners] = 0

    def wrote(self, bytes: Bytes, at: Numbers, width: int) -> None:
        """Take note of a write."""
        if self._of is not None and bytes is self._of.bytes:
            for marks, places in self._pieces(at, width):
                marks[places] = _EVERY[marks.dtype.itemsize]

    def first_missing(self, bytes: Bytes, at: Numbers, width: int) -> int | None:
        """The first of places from which bytes are read that nobody wrote."""
        if self._of is None or bytes is not self._of.bytes:
            return None
        missing = np.zeros(len(at), dtype=np.bool_)
        for marks, places in self._pieces(at, width):
            missing |= marks[places] != _EVERY[marks.dtype.itemsize]
        return int(np.argmax(missing)) if missing.any() else None

    def _pieces(self, at: Numbers, width: int) -> Iterator[tuple[NDArray[Any], Numbers]]:
        unit = next(each for each in (8, 4, 2, 1) if not (width % each or (at % each).any()))
        marks = self._marks.view(f"u{unit}")
        for first in range(0, width, unit):
            yield marks, (at + first) // unit


_EVERY = {each: (1 << 8 * each) - 1 for each in (1, 2, 4, 8)}
