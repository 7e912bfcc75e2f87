"""Values as lanes hold them: bits in ``uint64``, and their meanings as numbers.

Functions take arrays of any shape, and 0-dimensional ones for what all lanes have alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values

WORD = 64
"""Bits of a piece of a value."""


def mask(bits: int) -> np.uint64:
    """Ones in the lowest ``bits``."""
    return np.uint64((1 << bits) - 1)


def low(value: Values, bits: int) -> Values:
    """The lowest ``bits`` of a value, zeros above."""
    return value if bits == WORD else value & mask(bits)


def signed(value: Values, bits: int) -> Numbers:
    """The lowest ``bits`` as a number in two's complement."""
    if bits == WORD:
        return np.asarray(value).view(np.int64)
    shift = WORD - bits
    return np.asarray(value << np.uint64(shift)).view(np.int64) >> np.int64(shift)


def unsigned(number: Numbers, bits: int) -> Values:
    """A number's lowest ``bits``."""
    return low(np.asarray(number, dtype=np.int64).view(np.uint64), bits)


def flags(predicate: LaneFlags) -> Values:
    """A predicate's value: 0 or 1."""
    return np.asarray(predicate).astype(np.uint64)


_FLOATS: dict[int, tuple[type[np.unsignedinteger[Any]], type[np.floating[Any]]]] = {
    16: (np.uint16, np.float16),
    32: (np.uint32, np.float32),
    64: (np.uint64, np.float64),
}


def floats(value: Values, bits: int) -> NDArray[Any]:
    """The lowest ``bits`` as a number of IEEE 754."""
    integer, number = _FLOATS[bits]
    return np.asarray(value).astype(integer).view(number)


def float_bits(number: NDArray[Any], bits: int) -> Values:
    """The bits of floating-point numbers, rounded to nearest even to as many."""
    integer, to = _FLOATS[bits]
    return np.asarray(number).astype(to).view(integer).astype(np.uint64)


def constant(value: int, bits: int) -> Callable[[], Values]:
    """A function that gives the same in every lane; up to 64 bits."""
    found = np.array(value & (1 << bits) - 1, dtype=np.uint64)
    return lambda: found


@dataclass(frozen=True, slots=True)
class Fold:
    """An associative update of an atomic: lanes with one address need not come one by one."""

    combine: Callable[[Values, Values], Values]

    def __call__(self, old: Values, data: Values) -> Values:
        """The new value."""
        return self.combine(old, data)
