"""Masks of the 4-byte words of a line: a bit of a ``uint32`` each, the lowest address first."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import Numbers

WORD = 4
"""Bytes of a word."""

LINE = 128
"""The longest line: as many words as a mask has bits."""

Words: TypeAlias = NDArray[np.uint32]
"""Masks of words."""

_LOWEST = {
    size: np.uint32(sum(1 << bit for bit in range(0, 32, size))) for size in (1, 2, 4, 8, 16, 32)
}
_FULL = {size: np.uint32((1 << size) - 1) for size in _LOWEST}
_STEPS = tuple((step, np.uint32(step)) for step in (1, 2, 4, 8, 16))
_HALF, _HALF_BITS = np.uint32(0xFFFF), np.uint32(16)
_HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
_SET = np.unpackbits(_HALVES, axis=1).sum(axis=1, dtype=np.int64)
"""The number of set bits of each half of a mask."""


def touched(words: Words, unit: int) -> Words:
    """The lowest word of each unit of so many bytes that has one of ``words``."""
    size = unit // WORD
    folded = words
    for step, bits in _STEPS:
        if step < size:
            folded = folded | folded >> bits
    return folded & _LOWEST[size]


def widened(words: Words, unit: int) -> Words:
    """All words of the units that have one of ``words``."""
    return touched(words, unit) * _FULL[unit // WORD]


def how_many_set(words: Words) -> Numbers:
    """The number of set bits of each mask."""
    return _SET[words & _HALF] + _SET[words >> _HALF_BITS]


def count_units(words: Words, unit: int) -> int:
    """The number of units of so many bytes that have one of ``words``, of all masks together."""
    return int(how_many_set(touched(words, unit)).sum())
