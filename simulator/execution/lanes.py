"""Counting over the lanes of many instructions at once: a row of an array for each instruction."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
"""Whole numbers; addresses in bytes where not said otherwise."""
LaneFlags: TypeAlias = NDArray[np.bool_]

_NOTHING = np.iinfo(np.int64).max
"""The number that stands for an inactive lane among numbers that are sorted."""


def lane_bits(lanes: LaneFlags) -> NDArray[np.uint64]:
    """The flags of each row as one number, a bit for each lane: of shape (rows, 1)."""
    octets = np.packbits(lanes, axis=1, bitorder="little")
    whole = np.zeros((len(lanes), 8), dtype=np.uint8)
    whole[:, : octets.shape[1]] = octets
    return whole.view(np.uint64)


def none(addresses: Numbers) -> Numbers:
    """A count of 0 for each row."""
    return np.zeros(len(addresses), dtype=np.int64)


def total(parts: Sequence[Numbers]) -> Numbers:
    """The sum of several counts, row by row."""
    return np.sum(parts, axis=0)


def how_many(flags: LaneFlags) -> Numbers:
    """The number of flags of each row that are set."""
    return np.count_nonzero(flags, axis=1)


def firsts(values: Numbers, active: LaneFlags) -> tuple[Numbers, LaneFlags]:
    """The values of each row in order, and which of them are the first of their kind."""
    ordered = np.sort(np.where(active, values, _NOTHING), axis=1)
    first = np.ones(ordered.shape, dtype=np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return ordered, first & (ordered != _NOTHING)


def distinct(values: Numbers, active: LaneFlags) -> Numbers:
    """The number of different values that the active lanes of each row have."""
    return how_many(firsts(values, active)[1])


def fullest(values: Numbers, active: LaneFlags, bins: Numbers, count: int) -> Numbers:
    """The most different values that fall into one of ``count`` bins, for each row.

    ``bins`` has the bin of each value, from 0; equal values have to have equal bins.
    """
    keyed = np.where(active, values * count + bins, _NOTHING)
    ordered, first = firsts(keyed, active)
    rows = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    places = (rows * count + ordered % count)[first]
    return np.bincount(places, minlength=len(values) * count).reshape(-1, count).max(axis=1)


def rank_among_equals(values: Numbers, active: LaneFlags) -> Numbers:
    """For each active lane how many lanes before it have its value."""
    lanes = values.shape[1]
    same = (values[:, :, None] == values[:, None, :]) & active[:, None, :]
    earlier = np.tri(lanes, k=-1, dtype=np.bool_)
    return (same & earlier).sum(axis=2)


def words_of(addresses: Numbers, width: int, word: int) -> Numbers:
    """The words that each lane touches, side by side: as many columns for each lane."""
    count = -(-width // word)
    parts = np.arange(count, dtype=np.int64)
    return (addresses[:, :, None] // word + parts).reshape(len(addresses), -1)
