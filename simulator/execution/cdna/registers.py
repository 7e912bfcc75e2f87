"""Registers of 32 bits as values: a pair is one number, the low register below; more are several
such."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import low

_HALF = np.uint64(32)


def words(value: Values, count: int) -> list[Values]:
    """The registers of a value of ``count`` registers, the lowest first."""
    pieces = [value] if count <= 2 else list(value)
    halves = [half for piece in pieces for half in (low(piece, 32), piece >> _HALF)]
    return halves[:count]


def join(registers: Sequence[Values]) -> Values:
    """The value of consecutive registers, the lowest first."""
    pairs = [
        reduce(lambda below, above: below | above << _HALF, registers[first : first + 2])
        for first in range(0, len(registers), 2)
    ]
    if len(pairs) == 1:
        return pairs[0]
    return np.stack(np.broadcast_arrays(*[np.atleast_2d(each) for each in pairs]))
