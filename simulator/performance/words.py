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


def touched(words: Words, unit: int) -> Words:
    """The lowest word of each unit of so many bytes that has one of ``words``."""
    size = unit // WORD
    folded = words
    step = 1
    while step < size:
        folded = folded | folded >> np.uint32(step)
        step *= 2
    return folded & _LOWEST[size]


def widened(words: Words, unit: int) -> Words:
    """All words of the units that have one of ``words``."""
    return touched(words, unit) * _FULL[unit // WORD]


def how_many_set(words: Words) -> Numbers:
    """The number of set bits of each mask."""
    pairs = words - (words >> np.uint32(1) & np.uint32(0x55555555))
    fours = (pairs & np.uint32(0x33333333)) + (pairs >> np.uint32(2) & np.uint32(0x33333333))
    eights = fours + (fours >> np.uint32(4)) & np.uint32(0x0F0F0F0F)
    return (eights * np.uint32(0x01010101) >> np.uint32(24)).astype(np.int64)


def count_units(words: Words, unit: int) -> int:
    """The number of units of so many bytes that have one of ``words``, of all masks together."""
    return int(how_many_set(touched(words, unit)).sum())
