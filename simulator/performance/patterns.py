"""The different ways in which many waves address memory: most have the same offsets from their
bases.

What an access counts does not change when all of its lanes move by a multiple of ``MOVES``, so that
each pattern is looked at once. Tag banks of an NVIDIA chip are the exception: they change with
carries, so that loads move by what no lane's offset reaches.
"""

from dataclasses import dataclass

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.performance.words import LINE, WORD, Words

_MIX, _PRIME = 1_000_003, (1 << 31) - 1

_OWNER_SHIFT = 42
"""Lines of ``LINE`` bytes, of addresses below 2**48, are below an owner."""

MOVES = 256
"""Bytes that no count depends on: as much as all banks of shared memory have, and two lines."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """``offsets`` and ``active`` lanes of each pattern; of each row its pattern and its base."""

    offsets: Numbers
    active: LaneFlags
    of_row: Numbers
    bases: Numbers

    @property
    def times(self) -> Numbers:
        """The number of rows with each pattern."""
        return np.bincount(self.of_row, minlength=len(self.offsets))


def patterns(addresses: Numbers, active: LaneFlags, *, carries: bool = False) -> Patterns:
    """The patterns of many rows; ``carries``: a base has no bit that an offset has."""
    anyone = active.any(axis=1)
    lowest = np.where(active, addresses, np.iinfo(np.int64).max).min(axis=1)
    lowest = np.where(anyone, lowest, 0)
    steps = np.full(len(addresses), MOVES, dtype=np.int64)
    if carries:
        highest = np.where(active, addresses, 0).max(axis=1)
        steps = np.maximum(steps, _above(np.bitwise_xor(lowest, np.where(anyone, highest, 0))))
    bases = lowest - lowest % steps
    offsets = np.where(active, addresses - bases[:, None], -1)
    _, chosen, of_row = np.unique(_hashes(offsets), return_index=True, return_inverse=True)
    if not np.array_equal(offsets[chosen][of_row], offsets):
        chosen = of_row = np.arange(len(offsets))
    found = active[chosen]
    return Patterns(np.where(found, offsets[chosen], 0), found, of_row, bases)


def _above(values: Numbers) -> Numbers:
    """The lowest power of two above each value."""
    return np.ldexp(1.0, np.frexp(values.astype(np.float64))[1]).astype(np.int64)


def _hashes(offsets: Numbers) -> Numbers:
    """A number for each row, by which equal rows are found."""
    odd = 2 * np.arange(offsets.shape[1], dtype=np.int64) + 1
    mixed: Numbers = offsets * odd * _MIX % _PRIME * odd
    return np.add.reduce(mixed, axis=1)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Ranges of bytes cut at lines: of each piece the number of its range, its line and its
    words."""

    owners: Numbers
    lines: Numbers
    words: Words


def pieces(addresses: Numbers, sizes: Numbers) -> Pieces:
    """The lines of ``LINE`` bytes that ranges of at least a byte touch."""
    first, last = addresses // WORD, (addresses + sizes - 1) // WORD
    per_line = LINE // WORD
    first_line = first // per_line
    counts = last // per_line - first_line + 1
    owners = np.repeat(np.arange(len(addresses)), counts)
    lines = first_line[owners] + places_in_runs(counts)
    low = np.maximum(first[owners] - lines * per_line, 0)
    high = np.minimum(last[owners] - lines * per_line, per_line - 1)
    return Pieces(owners, lines, ((2 << high) - (1 << low)).astype(np.uint32))


def places_in_runs(counts: Numbers) -> Numbers:
    """For runs of so many each: 0, 1, ... of each run."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def merged(found: Pieces) -> Pieces:
    """One piece for each owner and line."""
    keys = found.owners << _OWNER_SHIFT | found.lines
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    differs = np.ones(len(keys), dtype=np.bool_)
    differs[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(differs)
    if not len(starts):
        return found
    words = np.bitwise_or.reduceat(found.words[order], starts)
    return Pieces(keys[starts] >> _OWNER_SHIFT, keys[starts] & (1 << _OWNER_SHIFT) - 1, words)


def lines_of_patterns(found: Patterns, width: int, *, combined: bool = True) -> Pieces:
    """The lines that each pattern touches with ``width`` bytes a lane, from its base.

    ``combined``: one piece for each line; else one for each lane and line.
    """
    rows, _ = np.nonzero(found.active)
    cut = pieces(found.offsets[found.active], np.full(len(rows), width))
    made = Pieces(rows[cut.owners], cut.lines, cut.words)
    return merged(made) if combined else made


def lines_of_rows(found: Patterns, width: int, *, combined: bool = True) -> Pieces:
    """The lines that each row touches, in the order of rows; ``combined``: of a row each once."""
    of_patterns = lines_of_patterns(found, width, combined=combined)
    counts = np.bincount(of_patterns.owners, minlength=len(found.offsets))
    starts = np.cumsum(counts) - counts
    of_rows = counts[found.of_row]
    rows = np.repeat(np.arange(len(found.of_row)), of_rows)
    chosen = starts[found.of_row[rows]] + places_in_runs(of_rows)
    lines = of_patterns.lines[chosen] + found.bases[rows] // LINE
    return Pieces(rows, lines, of_patterns.words[chosen])


def lines_of_ranges(addresses: Numbers, sizes: Numbers, active: LaneFlags) -> Pieces:
    """The lines that each row touches where each lane has a number of bytes of its own."""
    some = active & (sizes > 0)
    rows, _ = np.nonzero(some)
    cut = pieces(addresses[some], sizes[some])
    return merged(Pieces(rows[cut.owners], cut.lines, cut.words))
