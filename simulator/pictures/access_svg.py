"""One access drawn as SVG: its lanes against the banks of LDS and shared memory, or against lines.

Drawn with the package drawsvg (``pip install 'fencewright[pictures]'``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencewright.simulator.performance.accesses.access import AccessCounts, Model
from fencewright.simulator.performance.accesses.bank_conflicts import Cell, PlaceRow, Places, ranges
from fencewright.simulator.pictures.missing import MissingLibraryError

if TYPE_CHECKING:
    from drawsvg import Drawing

_FONT = "DejaVu Sans Mono,Menlo,Consolas,monospace"
_TEXT = 12
"""The size of all text: what is smaller cannot be read at 100 %."""
_LEFT = 170
_ADVANCE = 7.7
"""The width of a character in pixels."""
_CELL, _ROW, _LINE, _MARGIN = 27, 21, 13, 14
_MOST_ROWS = 34
"""Rows that are drawn of an access; the number of the others is printed."""

_INK, _GREY, _FRAME, _PALE = "#1f2328", "#57606a", "#8c959f", "#eaeef2"


@dataclass(frozen=True, slots=True)
class _Look:
    """A kind of cell: its colours, and its meaning."""

    fill: str
    stroke: str
    meaning: str


_GIVEN = _Look("#dafbe1", "#4ac26b", "a word that a bank gives to these lanes")
_CONFLICT = _Look("#cf222e", "#a40e26", "a further word of the same bank: a conflict")
_USED = _Look("#ddf4ff", "#54aeff", "a word that lanes access")
_MOVED = _Look("#fff8c5", "#d4a72c", "moved with it, and not used")


def access_svg(model: Model, places: Places, counts: AccessCounts) -> str:
    """The picture. Raises ``MissingLibraryError`` without drawsvg."""
    try:
        from drawsvg import Drawing
    except ImportError as missing:
        raise MissingLibraryError("drawsvg") from missing
    shown = places.rows[:_MOST_ROWS]
    said = [f"{each} = {value}" for each, value in counts.values.items() if value]
    top = 30 + 16 * len(said) + 30
    height_of_row = _ROW + _LINE * any(len(_label(e)) > 1 for row in shown for e in row.cells)
    width = max(_LEFT + places.columns * _CELL + _MARGIN, 900)
    below = top + height_of_row * len(shown)
    height = below + (16 if len(shown) < len(places.rows) else 0) + 58
    page = Drawing(width, height, font_family=_FONT)
    _box(page, 0, 0, width, height, "white", "white")
    title = f"{model.instruction} on {model.target}, {model.lanes} lanes of {model.width} bytes"
    page.append_title(title)
    _text(page, title, _MARGIN, 22, _INK, weight="bold")
    for number, words in enumerate(said):
        _text(page, words, _MARGIN, 42 + 16 * number, _GREY)
    _text(page, places.unit, _LEFT - 8, top - 8, _GREY, anchor="end")
    for column in range(places.columns):
        middle = _LEFT + (column + 0.5) * _CELL
        _text(page, str(column), middle, top - 8, _GREY, anchor="middle")
    for number, row in enumerate(shown):
        _draw_row(page, places, row, top + number * height_of_row, height_of_row - 3)
    below += 14
    if len(shown) < len(places.rows):
        left_out = f"and {len(places.rows) - len(shown)} more rows"
        _text(page, left_out, _LEFT, below, _GREY)
        below += 16
    numbers = f"numbers: lanes; frames: {places.moves}" if places.moves else "numbers: lanes"
    _text(page, numbers, _MARGIN, below + 11, _GREY)
    at, below = _MARGIN, below + 22
    for look in _looks(places):
        _box(page, at, below, 14, 12, look.fill, look.stroke)
        _text(page, look.meaning, at + 20, below + 11, _INK)
        at += 20 + _ADVANCE * len(look.meaning) + 24
    return page.as_svg() + "\n"


def _looks(places: Places) -> Iterator[_Look]:
    if places.block == 1:
        yield _GIVEN
        if any(cell.is_conflict for row in places.rows for cell in row.cells):
            yield _CONFLICT
    else:
        yield _USED
        if any(len(row.moved) * places.block > len(row.cells) for row in places.rows):
            yield _MOVED


def _draw_row(page: "Drawing", places: Places, row: PlaceRow, top: float, height: float) -> None:
    _text(page, row.label, _LEFT - 8, top + 13, _INK, anchor="end")
    for column in range(places.columns):
        is_moved = column // places.block in row.moved
        fill, stroke = (_MOVED.fill, _MOVED.stroke) if is_moved else ("white", _PALE)
        _box(page, _LEFT + column * _CELL + 1, top, _CELL - 2, height, fill, stroke)
    for cell in row.cells:
        look = _look_of(places, cell)
        left = _LEFT + cell.column * _CELL
        _box(page, left + 1, top, _CELL - 2, height, look.fill, look.stroke)
        colour = "white" if cell.is_conflict else _INK
        for number, label in enumerate(_label(cell)):
            at = top + 13 + _LINE * number
            _text(page, label, left + _CELL / 2, at, colour, anchor="middle")
    if places.block > 1:
        for first in range(0, places.columns, places.block):
            _frame(page, _LEFT + first * _CELL, top - 1, places.block * _CELL, height + 2)


def _look_of(places: Places, cell: Cell) -> _Look:
    if places.block > 1:
        return _USED
    return _CONFLICT if cell.is_conflict else _GIVEN


def _label(cell: Cell) -> tuple[str, ...]:
    """The lanes of a cell, in one line or two that are as wide as it: ``0``, ``0`` ``-3``."""
    first, *others = cell.lanes
    if not others:
        return (str(first),)
    if ranges(cell.lanes) == f"{first}-{others[-1]}":
        return str(first), f"-{others[-1]}"
    return str(first), f"+{len(others)}"


def _text(
    page: "Drawing", words: str, x: float, y: float, colour: str,
    anchor: str = "start", weight: str = "normal",
) -> None:  # fmt: skip
    from drawsvg import Text

    page.append(Text(words, _TEXT, x, y, fill=colour, text_anchor=anchor, font_weight=weight))


def _box(
    page: "Drawing", x: float, y: float, width: float, height: float, fill: str, stroke: str
) -> None:
    from drawsvg import Rectangle

    page.append(Rectangle(x, y, width, height, fill=fill, stroke=stroke, stroke_width=0.8))


def _frame(page: "Drawing", x: float, y: float, width: float, height: float) -> None:
    from drawsvg import Rectangle

    page.append(Rectangle(x, y, width, height, fill="none", stroke=_FRAME, stroke_width=1.2))
