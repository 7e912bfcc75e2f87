"""Bytes of memory that many lanes read, write and update at once.

Where lanes have the same address they come in the order of waves, then of lanes.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.memory.lanes import LaneFlags, Numbers
from fencewright.simulator.memory.program import Values
from fencewright.simulator.memory.values import WORD, low

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

Bytes = NDArray[np.uint8]


def unit_of(width: int, alignment: int) -> int:
    """The bytes that are read or written at once, of an access of ``width`` bytes."""
    return next(each for each in (8, 4, 2, 1) if width % each == 0 and alignment % each == 0)


def read(memory: Bytes, at: Numbers, width: int, unit: int) -> Values:
    """The values of ``width`` bytes at the places ``at`` of ``memory``."""
    view = memory.view(_UNSIGNED[unit])
    first = at // unit
    units = [view[first + n].astype(np.uint64) for n in range(width // unit)]
    pieces = [_joined(units[n : n + 8 // unit], unit) for n in range(0, len(units), 8 // unit)]
    return pieces[0] if width <= 8 else np.stack(pieces)


def _joined(units: Sequence[Values], unit: int) -> Values:
    found = units[0]
    for n, each in enumerate(units[1:], 1):
        found = found | each << np.uint64(8 * unit * n)
    return found


def pieces_of(data: Sequence[Values], width: int) -> list[Values]:
    """What a store of ``width`` bytes writes, by words of 64 bits, from one or more registers."""
    share = width // len(data)
    if share > 8:
        return [piece for value in data for piece in value]
    each_word = 8 // share
    return [
        _joined([low(value, 8 * share) for value in data[n : n + each_word]], share)
        for n in range(0, len(data), each_word)
    ]


def write(
    memory: Bytes, at: Numbers, active: LaneFlags, data: Sequence[Values], width: int, unit: int
) -> None:
    """Write values of active lanes; of lanes with the same place the last one's stays."""
    dtype = _UNSIGNED[unit]
    view = memory.view(dtype)
    all_active = bool(active.all())
    places = at if all_active else at[active]
    first = places // unit
    for n in range(width // unit):
        piece, shift = divmod(8 * unit * n, WORD)
        value = np.broadcast_to(data[piece], at.shape)
        chosen = value if all_active else value[active]
        view[first + n] = (chosen >> np.uint64(shift)).astype(dtype)


def update(
    memory: Bytes,
    at: Numbers,
    active: LaneFlags,
    data: Sequence[Values],
    compute: Callable[..., Values],
    width: int,
) -> Values:
    """Update values one lane after another, and give those from before."""
    places = at[active]
    operands = [
        np.broadcast_to(each, (*each.shape[: each.ndim - 2], *at.shape))[..., active] if each.ndim > 2
        else np.broadcast_to(each, at.shape)[active]
        for each in data
    ]  # fmt: skip
    old = np.zeros((width // 8, *at.shape) if width > 8 else at.shape, dtype=np.uint64)
    found = old[..., active]
    unit = min(width, 8)
    for turn in _turns(places):
        before = read(memory, places[turn], width, unit)
        new = compute(before, *(each[..., turn] for each in operands))
        everyone = np.ones(len(turn), dtype=np.bool_)
        pieces = list(new) if width > 8 else [np.broadcast_to(new, turn.shape)]
        write(memory, places[turn], everyone, pieces, width, unit)
        found[..., turn] = before
    old[..., active] = found
    return old


def _turns(places: Numbers) -> list[NDArray[np.intp]]:
    """Which come at once: the first at each place, then the second ones."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.ones(len(places), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    if len(starts) == len(places):
        return [np.arange(len(places))]
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(starts, append=len(places)))
    by_rank = np.argsort(rank, kind="stable")
    cuts = np.cumsum(np.bincount(rank))[:-1]
    return [order[each] for each in np.split(by_rank, cuts)]
