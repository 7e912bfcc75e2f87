"""Layouts of a tile in LDS or shared memory, by the bank conflicts of its writes and reads.

A layout is a padding of the rows, an XOR swizzle of the address, or both. ``suggest`` tries them
and gives the cheapest of each kind; each has the counts of every instruction of the tile.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.sequence import UnsupportedError, is_ptx
from fencewright.simulator.execution.addresses import AddressError
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.performance.accesses import cdna, ptx
from fencewright.simulator.performance.accesses.access import BATCH, Model, model_of
from fencewright.simulator.performance.accesses.expression import addresses_of

MOST_INSTRUCTIONS = 1024
"""Instructions of a tile that are tried; a tile that takes more has to be given in part."""

MOST_PADDING = 128
"""Bytes: more padding than this repeats the banks."""

MOST_PITCHES = 8
"""Paddings that are tried with swizzles: the cheapest by themselves."""


@dataclass(frozen=True, slots=True)
class Tile:
    """``rows`` by ``columns`` elements of ``element`` bytes."""

    rows: int
    columns: int
    element: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row without padding."""
        return self.columns * self.element


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Chunks of ``chunk`` bytes change places: by XOR with the address' number of ``period`` bytes.

    All are powers of two; ``chunks`` of them take part, and together are at most a period, so that
    no two addresses become one.
    """

    chunk: int
    chunks: int
    period: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The position of an element: in rows of ``pitch`` bytes, and swizzled."""

    pitch: int
    swizzle: Swizzle | None = None

    def addresses(self, rows: Numbers, columns: Numbers, element: int) -> Numbers:
        """The byte address of each element."""
        plain = rows * self.pitch + columns * element
        if self.swizzle is None:
            return plain
        at = self.swizzle
        return plain ^ (plain // at.period % at.chunks * at.chunk)

    def expression(self, row: str, column: str, element: int) -> str:
        """The same as an expression, as ``access`` takes it."""
        scaled = _term(column) if element == 1 else f"{_term(column)}*{element}"
        plain = f"{_term(row)}*{self.pitch} + {scaled}"
        if self.swizzle is None:
            return plain
        at = self.swizzle
        if at.period % self.pitch == 0:
            rows = at.period // self.pitch
            number = _term(row) if rows == 1 else f"{_term(row)}//{rows}"
        else:
            number = f"({plain})//{at.period}"
        return f"({plain}) ^ ({number}%{at.chunks}*{at.chunk})"

    def size(self, tile: Tile) -> int:
        """Bytes that the tile takes."""
        last = (tile.rows - 1) * self.pitch + tile.row_bytes
        if self.swizzle is None:
            return last
        block = self.swizzle.chunk * self.swizzle.chunks
        return -(-last // block) * block

    def describe(self, tile: Tile) -> str:
        """In words."""
        padding = (self.pitch - tile.row_bytes) // tile.element
        more = "an element" if padding == 1 else f"{padding} elements"
        parts = [f"rows padded by {more}"] if padding else []
        if self.swizzle is not None:
            at = self.swizzle
            parts.append(
                f"XOR of {at.chunk}-byte chunks, {at.chunks} of them, every {at.period} bytes"
            )
        return ", ".join(parts) or "row by row"


def _term(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


@dataclass(frozen=True)
class TilePattern:
    """An instruction that writes or reads the tile: the element at which each lane begins.

    ``row`` and ``column`` are expressions over ``lane`` and, of the instructions of the tile, the
    number ``n``; ``instructions`` are how many there are.
    """

    model: Model
    row: str
    column: str
    instructions: int
    tile: Tile

    @cached_property
    def elements(self) -> tuple[Numbers, Numbers, LaneFlags]:
        """Row, column and whether it is active, of every lane of every instruction."""
        rows, columns = self._values(self.row), self._values(self.column)
        active = np.array(
            [
                [one is not None and other is not None for one, other in zip(a, b, strict=True)]
                for a, b in zip(rows, columns, strict=True)
            ]
        )
        self._check(rows, columns)
        return _filled(rows), _filled(columns), active

    def _values(self, text: str) -> list[tuple[int | None, ...]]:
        return [
            addresses_of(text, self.model.lanes, {"n": number})
            for number in range(self.instructions)
        ]

    def _check(
        self, rows: Sequence[Sequence[int | None]], columns: Sequence[Sequence[int | None]]
    ) -> None:
        tile = self.tile
        for number, lane in product(range(self.instructions), range(self.model.lanes)):
            row, column = rows[number][lane], columns[number][lane]
            if row is None or column is None:
                continue
            last = column + self.reach - 1
            if not (0 <= row < tile.rows and 0 <= column <= last < tile.columns):
                raise AddressError(
                    f"{self.model.instruction}: lane {lane} of n = {number} is at row {row}, "
                    f"columns {column} to {last}, outside the {tile.rows} x {tile.columns} elements"
                    f"{_with_fewer(number)}"
                )

    @property
    def alignment(self) -> int:
        """Bytes that each pass has to be aligned to: less is no bank conflict, but costs too."""
        return cdna.alignment_of(self.model.width)

    @property
    def reach(self) -> int:
        """Elements from a lane's first to its last."""
        return (max(self.model.shifts) + self.model.width) // self.tile.element

    def counts(self, layouts: Sequence[Layout]) -> list["InstructionCounts | None"]:
        """The counts of each instruction under each layout; None if no longer one access."""
        rows, columns, active = self.elements
        element = self.tile.element
        places = [layout.addresses(rows, columns, element) for layout in layouts]
        fits = [
            self._stays_whole(layout, at, rows, columns, active)
            for layout, at in zip(layouts, places, strict=True)
        ]
        kept = [at for at, good in zip(places, fits, strict=True) if good]
        counted = iter(self._counted(kept, active))
        return [next(counted) if good else None for good in fits]

    def _counted(
        self, places: Sequence[Numbers], active: LaneFlags
    ) -> Iterable["InstructionCounts"]:
        together = max(1, BATCH // self.instructions)
        for first in range(0, len(places), together):
            batch = places[first : first + together]
            found = self.model.count(np.concatenate(batch), np.concatenate([active] * len(batch)))
            conflicts, cycles = (
                found[each].reshape(len(batch), -1).tolist() for each in self.counters
            )
            yield from map(InstructionCounts, map(tuple, conflicts), map(tuple, cycles))

    def _stays_whole(
        self,
        layout: Layout,
        at: Numbers,
        rows: Numbers,
        columns: Numbers,
        active: LaneFlags,
    ) -> bool:
        """True if the elements of each lane are where the instruction accesses them."""
        for shift in self.model.shifts:
            if np.any((at + shift)[active] % self.alignment):
                return False
        element = self.tile.element
        for step in range(1, self.reach):
            there = layout.addresses(rows, columns + step, element)
            if np.any((there - at)[active] != step * element):
                return False
        return True

    @property
    def counters(self) -> tuple[str, str]:
        """The profiler's names of the conflicts and of the cycles (NVIDIA: wavefronts)."""
        if not is_ptx(self.model.target):
            return cdna.CONFLICTS, cdna.ACTIVE
        found = ptx.parse(self.model.instruction, self.model.target)
        return ptx.CONFLICTS[found.operation], ptx.WAVEFRONTS[found.operation]

    @property
    def evidence(self) -> Evidence:
        """The evidence for the conflicts."""
        return self.model.evidence(self.counters[0], self.elements[0])


def _filled(values: Sequence[Sequence[int | None]]) -> Numbers:
    return np.array([[each or 0 for each in row] for row in values], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """Of each instruction of a tile: conflicts, and the cycles (NVIDIA: wavefronts) that it
    takes."""

    conflicts: tuple[int, ...]
    cycles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout with its cost: counts of each pattern, in the order that they were given in."""

    layout: Layout
    size: int
    counts: tuple[InstructionCounts, ...]

    @property
    def conflicts(self) -> int:
        """Of all instructions of the tile."""
        return sum(sum(each.conflicts) for each in self.counts)

    @property
    def cycles(self) -> int:
        """Of all instructions of the tile."""
        return sum(sum(each.cycles) for each in self.counts)


# Reading


_PATTERN = re.compile(
    r"(?P<instruction>[^=]+?)\s+row\s*=(?P<row>.+?),\s*col\s*=(?P<column>.+?)(?:,\s*n\s*=\s*(?P<n>\d{1,6}))?\s*"
)
_TILE = re.compile(r"(\d{1,6})[xX](\d{1,6})")
_NUMBER = re.compile(r"\bn\b")


def tile_of(text: str, element: int) -> Tile:
    """A tile of elements of so many bytes, given as ``64x32``. Raises ``AddressError``."""
    found = _TILE.fullmatch(text)
    rows, columns = (int(each) for each in found.groups()) if found else (0, 0)
    if not rows or not columns:
        raise AddressError(f"no tile: '{text}'; give rows and columns, as 64x32")
    if element not in (1, 2, 4, 8, 16):
        raise AddressError(f"an element of {element} bytes; give 1, 2, 4, 8 or 16")
    return Tile(rows, columns, element)


def pattern_of(text: str, target: str, tile: Tile) -> TilePattern:
    """A pattern given as ``ds_read_u16 row=lane%8*8 + n, col=lane//8, n=8``.

    Without ``n=`` as many instructions as the tile has room for if an expression has an ``n``, else
    one. Raises ``AddressError`` and ``UnsupportedError``.
    """
    found = _PATTERN.fullmatch(text.strip())
    if found is None:
        raise AddressError(
            f"no pattern: '{text}'; give an instruction and what each lane begins with, as "
            "'ds_read_u16 row=lane%8*8 + n, col=lane//8'"
        )
    model = model_of(found["instruction"], target)
    if model.size is None:
        raise UnsupportedError(
            f"a layout for '{model.instruction}'", "not an instruction of LDS or shared memory"
        )
    if model.width % tile.element:
        raise AddressError(
            f"{model.instruction} has {model.width} bytes a lane, no whole elements of "
            f"{tile.element}"
        )
    row, column = found["row"].strip(), found["column"].strip()
    once = model.lanes * model.width * len(model.shifts)
    whole = -(-tile.rows * tile.row_bytes // once)
    many = _NUMBER.search(row) or _NUMBER.search(column)
    instructions = int(found["n"]) if found["n"] else whole if many else 1
    if not 1 <= instructions <= MOST_INSTRUCTIONS:
        raise AddressError(
            f"{model.instruction}: {instructions} instructions; give at least 1 and at most "
            f"{MOST_INSTRUCTIONS} with n=, or a part of the tile"
        )
    return TilePattern(model, row, column, instructions, tile)


# Finding


def suggest(tile: Tile, patterns: Sequence[TilePattern]) -> list[Candidate]:
    """The tile row by row, then better ones: the cheapest padding, the cheapest swizzle, and both.

    Only layouts that keep each access in one piece, naturally aligned, and that fit the memory.
    Raises ``AddressError`` where not even the plain tile fits.
    """
    room = min(each.model.size or 0 for each in patterns)
    plain = Layout(tile.row_bytes)
    if plain.size(tile) > room:
        raise AddressError(f"the tile has {plain.size(tile)} bytes, and there are {room}")
    banks = MOST_PADDING // tile.element
    padded = [Layout(tile.row_bytes + each * tile.element) for each in range(1, banks + 1)]
    swizzled = [Layout(tile.row_bytes, each) for each in swizzles(tile)]
    found = _tried(tile, patterns, [plain], room)
    if not found:
        raise AddressError(
            "an access crosses rows or is not naturally aligned though the tile is row by row"
        )
    paddings = sorted(_tried(tile, patterns, padded, room), key=_price)
    found += _better(paddings, found[0])
    found += _better(_tried(tile, patterns, swizzled, room), found[0])
    if all(each.conflicts for each in found):
        pitches = [each.layout.pitch for each in paddings[:MOST_PITCHES]]
        both = [Layout(one, other.swizzle) for one, other in product(pitches, swizzled)]
        found += _better(_tried(tile, patterns, both, room), min(found, key=_price))
    return found


def _better(candidates: Sequence[Candidate], than: Candidate) -> list[Candidate]:
    """The cheapest, if it takes fewer cycles."""
    return [each for each in sorted(candidates, key=_price)[:1] if each.cycles < than.cycles]


def swizzles(tile: Tile) -> Iterable[Swizzle]:
    """All that move whole chunks by a number that changes within the tile."""
    sizes = [1 << bit for bit in range(tile.element.bit_length() - 1, 8)]
    for chunk, chunks in product(sizes, (2, 4, 8, 16, 32)):
        period = chunk * chunks
        while period < tile.rows * tile.row_bytes and chunk * chunks <= 512:
            yield Swizzle(chunk, chunks, period)
            period *= 2


def _price(candidate: Candidate) -> tuple[int, int, int]:
    """By cycles, then by bytes; of equal ones the swizzle with the largest chunks, which is nearest
    the tile."""
    swizzle = candidate.layout.swizzle
    return (candidate.cycles, candidate.size, 0 if swizzle is None else -swizzle.chunk)


def _tried(
    tile: Tile, patterns: Sequence[TilePattern], layouts: Sequence[Layout], room: int
) -> list[Candidate]:
    fitting = [each for each in layouts if each.size(tile) <= room]
    counts = [pattern.counts(fitting) for pattern in patterns]
    found: list[Candidate] = []
    for layout, row in zip(fitting, zip(*counts, strict=True), strict=True):
        known = tuple(each for each in row if each is not None)
        if len(known) == len(patterns):
            found.append(Candidate(layout, layout.size(tile), known))
    return found


def _with_fewer(number: int) -> str:
    """The advice if the first ``number`` instructions of a pattern are within the tile."""
    return f"; end the pattern with n={number} if a wave executes no more" if number else ""
