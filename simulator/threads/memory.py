"""Memory of a launch: allocations that are zero until they are written, and their addresses.

An address of global memory has the number of its allocation in its upper 32 bits, so that no
overflow of one reaches another. Shared, local and parameter memory have windows of generic
addresses. An address of shared memory has the rank of its block in the cluster above 24 bits.
Source: PTX ISA, "State Spaces"; "Generic Addressing".
"""

from mmap import mmap
from typing import Any

from fencewright.simulator.semantics import faults
from fencewright.simulator.semantics.tensors import RANK_BITS
from fencewright.simulator.threads.unknown import OutOfBounds, Unknown

SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, CODE_WINDOW = 1, 2, 3, 4
"""The upper halves of generic addresses of other spaces than global, and of functions."""
_FIRST = 0x7F00
OFFSET = 0xFFFFFFFF
SHARED_OFFSET = (1 << RANK_BITS) - 1
_SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3}
WIDE = 16
"""The bytes of an access in two words."""
SIZES = (*_SHIFTS, WIDE)
"""The bytes that an access has."""


_PAGES = 1 << 16
"""Bytes from which memory is mapped: untouched memory takes none."""


def zeros(size: int) -> "bytearray | mmap":
    """Bytes that are zero until they are written."""
    return bytearray(size) if size < _PAGES else mmap(-1, size)


class Allocation:
    """Bytes that were given a name: an argument, a variable, the shared memory of a block.

    ``element``: the bytes of an element, by which places in it are named. ``unknown``: the values
    that are not known, by where they begin. ``shadow``: what an observer keeps of it.
    """

    __slots__ = (
        "base", "data", "element", "home", "mbarriers", "name", "shadow", "size", "space",
        "unknown", "variables", "views",
    )  # fmt: skip

    def __init__(self, name: str, size: int, space: str, base: int = 0, element: int = 4):
        self.name, self.size, self.space, self.base, self.element = name, size, space, base, element
        self.data = zeros(size + 15 & ~15)
        view = memoryview(self.data)
        self.views = (view, view.cast("H"), view.cast("I"), view.cast("Q"))
        self.unknown: dict[int, tuple[Unknown, int]] = {}
        self.shadow: Any = None
        self.home: Any = None
        self.mbarriers: dict[int, Any] = {}
        self.variables: list[tuple[int, str, int]] = []

    def get(self, at: int, size: int) -> Any:
        """The value at a place."""
        if self.unknown and (found := self._unknown_at(at, size)) is not None:
            return found
        if size == WIDE:
            return self.views[3][at >> 3] | self.views[3][(at >> 3) + 1] << 64
        return self.views[_SHIFTS[size]][at >> _SHIFTS[size]]

    def _unknown_at(self, at: int, size: int) -> Unknown | None:
        for begin in range(at - 15, at + size):
            found = self.unknown.get(begin)
            if found is not None and begin + found[1] > at:
                return found[0]
        return None

    def put(self, at: int, size: int, value: Any) -> None:
        """Write a value, of which the bits that are too many do not count."""
        if self.unknown:
            for begin in range(at - 15, at + size):
                if (found := self.unknown.get(begin)) is not None and begin + found[1] > at:
                    del self.unknown[begin]
        if isinstance(value, Unknown):
            self.unknown[at] = value, size
            return
        if size == WIDE:
            self.put(at + 8, 8, value >> 64)
            size = 8
        self.views[_SHIFTS[size]][at >> _SHIFTS[size]] = value & (1 << 8 * size) - 1

    def place(self, at: int) -> str:
        """A place as a message names it: ``data[3]``, ``byte 2 of tile``."""
        name, begin, element = self.name, 0, self.element
        for offset, variable, size in self.variables:
            if offset <= at:
                name, begin, element = variable, offset, size
        if element == 1:
            return f"byte {at - begin} of {name}"
        index, rest = divmod(at - begin, element)
        return f"{name}[{index}]" + (f"+{rest}" if rest else "")


class Memory:
    """The global memory of a launch."""

    def __init__(self) -> None:
        self.allocations: dict[int, Allocation] = {}
        self.shared_by_grid: Allocation | None = None

    def allocate(self, name: str, size: int, element: int = 4, space: str = "global") -> Allocation:
        """New memory, zero. Raises ``OutOfBounds`` above 4 GiB."""
        if size > OFFSET:
            raise OutOfBounds(f"{name} has {size} bytes: 4 GiB are the most that an argument has")
        index = _FIRST + len(self.allocations)
        found = self.allocations[index] = Allocation(name, size, space, index << 32, element)
        return found


def outside(
    allocation: Allocation | None, address: int, at: int, size: int, alignment: int = 0
) -> OutOfBounds:
    """The error of an access that is not within an allocation, or not at a multiple of its size."""
    if allocation is None:
        return OutOfBounds(faults.nowhere(address, size))
    space, room = allocation.space, allocation.size
    name = allocation.name if space in ("global", "const") else f"{space} memory"
    if at + size <= room:
        return OutOfBounds(faults.unaligned(name, at, size, alignment or size))
    return OutOfBounds(faults.outside(space, name, at, size, room))
