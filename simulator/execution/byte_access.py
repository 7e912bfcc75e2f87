"""Bytes of memory that many lanes read, write and update at once.

Where lanes have the same address they come in the order of waves, then of lanes.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import WORD, Fold, low

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

Bytes = NDArray[np.uint8]

_MANY = 16
"""From so many lanes at one address on, those of a fold come all at once."""


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
    """The values that a store of ``width`` bytes writes, by words of 64 bits, from registers."""
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
) -> tuple[Values, bool]:
    """Update values one lane after another: those from before, and whether any changed."""
    places = at[active]
    operands = [
        np.broadcast_to(each, (*each.shape[: each.ndim - 2],
                               *at.shape))[..., active] if each.ndim > 2
        else np.broadcast_to(each, at.shape)[active]
        for each in data
    ]  # fmt: skip
    old = np.zeros((width // 8, *at.shape) if width > 8 else at.shape, dtype=np.uint64)
    found = old[..., active]
    unit = min(width, 8)
    order, rank = _order(places)
    if isinstance(compute, Fold) and width <= 8 and rank.max() >= _MANY:
        (values,) = operands
        found[order], changes = _folded(memory, places[order], rank, values[order], compute, width)
        old[active] = found
        return old, changes
    changes = False
    for turn in _turns(order, rank):
        before = read(memory, places[turn], width, unit)
        new = compute(before, *(each[..., turn] for each in operands))
        everyone = np.ones(len(turn), dtype=np.bool_)
        pieces = list(new) if width > 8 else [np.broadcast_to(new, turn.shape)]
        write(memory, places[turn], everyone, pieces, width, unit)
        changes = changes or bool((new != before).any())
        found[..., turn] = before
    old[..., active] = found
    return old, changes


def _folded(
    memory: Bytes, places: Numbers, rank: Numbers, data: Values, fold: Fold, width: int
) -> tuple[Values, bool]:
    """Update places that are in order: each lane's old value, and True if any place changes."""
    sums, distance = data, 1
    while distance <= rank.max():
        joins = rank[distance:] >= distance
        further = sums.copy()
        both = fold(sums[:-distance], sums[distance:])
        further[distance:] = np.where(joins, both, sums[distance:])
        sums, distance = further, 2 * distance
    before = read(memory, places, width, width)
    others = np.concatenate([sums[:1], fold(before[1:], sums[:-1])])
    last = np.append(rank[1:] == 0, True)
    new = fold(before[last], sums[last])
    write(memory, places[last], np.ones(len(new), dtype=np.bool_), [new], width, width)
    return np.where(rank == 0, before, others), bool((new != before[last]).any())


def _order(places: Numbers) -> tuple[NDArray[np.intp], Numbers]:
    """Equal places one after another, and how many of the same are before each."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.ones(len(places), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=len(places))
    return order, np.arange(len(places), dtype=np.int64) - np.repeat(starts, lengths)


def _turns(order: NDArray[np.intp], rank: Numbers) -> list[NDArray[np.intp]]:
    """The accesses that come at once: the first at each place, then the second ones."""
    by_rank = np.argsort(rank, kind="stable")
    cuts = np.cumsum(np.bincount(rank))[:-1]
    return [order[each] for each in np.split(by_rank, cuts)]
