"""Timelines of the CDNA machine drawn as SVG: a column for each step, a lane for each wave and
cache.

What every renderer draws is used: text stands on a plate of its own where an arrow would cross it.
Drawn with the package drawsvg (``pip install 'fencewright[pictures]'``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from fencewright.simulator.pictures.missing import MissingLibraryError
from fencewright.simulator.pictures.timeline import Arrow, BarLook, Lane, Timeline, TimelineBar

if TYPE_CHECKING:
    from drawsvg import Drawing, Marker


@dataclass(frozen=True, slots=True)
class Paint:
    """The colours of a bar."""

    fill: str
    stroke: str
    text: str = "#1f2328"
    dash: str = "none"


_GREY = "#57606a"

PAINTS: dict[BarLook, Paint] = {
    BarLook.INSTRUCTION: Paint("#ddf4ff", "#54aeff"),
    BarLook.RESULT: Paint("#dafbe1", "#4ac26b"),
    BarLook.STALE_RESULT: Paint("#cf222e", "#a40e26", text="#ffffff"),
    BarLook.QUEUED: Paint("#f6f8fa", "#8c959f", text=_GREY, dash="3 2"),
    BarLook.CLEAN: Paint("#ffffff", _GREY),
    BarLook.DIRTY: Paint("#fff8c5", "#d4a72c"),
    BarLook.STALE: Paint("#ffebe9", "#cf222e", text="#a40e26"),
    BarLook.MEMORY: Paint("#eaeef2", "#8c959f"),
}
"""Every look of a bar, in the order of the legend."""

_FONT = "DejaVu Sans Mono,Menlo,Consolas,monospace"
_TEXT = 12
"""The size of text: what is smaller cannot be read at 100 %."""
_CHARACTER = 0.64
"""The width of a character in ems: monospaced fonts agree on 0.6, and some renderers round up."""
_PAD = 5
_ROW = 34
_LANE_GAP = 8
_NAME_GAP = 20
"""Between lanes, and where their names stand between them."""
_REPEAT = 900
"""In how many pixels the names of lanes come again."""
_STEP = 10
"""By how many pixels a name is moved to make room for an arrow."""
_TOP = 72
_NARROWEST = 34
_EXPLANATION = 110
"""The characters of a line of the explanation."""
_ARROW_FROM_LEFT = 9


class _Layout:
    """The positions of columns and rows, in pixels.

    The columns of the steps ``left_out`` are empty: the next one starts where they do.
    """

    def __init__(self, drawn: Timeline, left_out: frozenset[int]):
        self.left_out = left_out
        headings = [heading for lane in drawn.lanes for heading in lane.rows]
        self.heading_width = _width(headings, _TEXT) + 2 * _PAD
        names = _width([lane.name for lane in drawn.lanes], _TEXT)
        places = _width([lane.place for lane in drawn.lanes], _TEXT)
        self.left = max(names, places) + 2 * _PAD + self.heading_width
        self.columns = self._columns(drawn)
        self.right = self.columns[-1]
        self.names = self._repeated_names()
        gap = _NAME_GAP if self.names else _LANE_GAP
        self.rows: list[float] = []
        self.lanes: list[float] = []
        self.top = _TOP + 14.0 * len(_notes(drawn))
        below = self.top
        for number, lane in enumerate(drawn.lanes):
            below += gap if number else 0
            self.lanes.append(below)
            self.rows += [below + _ROW * row for row in range(len(lane.rows))]
            below += _ROW * len(lane.rows)
        self.bottom = below + _LANE_GAP
        # The first lane's names are below the numbers of the steps.
        shift = gap - _LANE_GAP
        self.lanes = [at + shift for at in self.lanes]
        self.rows = [at + shift for at in self.rows]
        self.bottom += shift

    def arrow(self, arrow: Arrow) -> float:
        """The position at which an arrow goes down or up."""
        return self.columns[arrow.step] + _ARROW_FROM_LEFT

    def _repeated_names(self) -> list[float]:
        """The positions of repetitions of the names of the lanes: not close to the right end."""
        count = int((self.right - self.left) / _REPEAT - 0.5)
        return [self.left + _REPEAT * number for number in range(1, count + 1)]

    def _columns(self, drawn: Timeline) -> list[float]:
        """The left edge of each column, and the right edge of the last: every text fits its bar."""
        widths = [0.0 if n in self.left_out else float(_NARROWEST) for n in range(drawn.end)]
        for bar in sorted(drawn.bars, key=lambda bar: bar.end - bar.start):
            kept = [n for n in range(bar.start, bar.end) if n not in self.left_out]
            if kept:
                missing = _width(bar.lines, _TEXT) + 2 * _PAD + 2 - sum(widths[n] for n in kept)
                widths[kept[-1]] += max(0.0, missing)
        edges = [self.left]
        for width in widths:
            edges.append(round(edges[-1] + width, 1))
        return edges


def _width(lines: Sequence[str], size: int) -> float:
    return round(max(map(len, lines), default=0) * _CHARACTER * size, 1)


def timeline_svg(drawn: Timeline, *, registers: bool = False) -> str:
    """The timeline as SVG, with ``registers`` the steps that touch only registers as well.

    Raises ``MissingLibraryError`` without drawsvg.
    """
    try:
        from drawsvg import Drawing, Rectangle
    except ImportError as error:
        raise MissingLibraryError("drawsvg") from error
    left_out = frozenset[int]() if registers else drawn.register_steps
    layout = _Layout(drawn, left_out)
    bars = [bar for bar in drawn.bars if not {*range(bar.start, bar.end)} <= left_out]
    legend = _legend_rows(drawn, layout)
    notes = _notes(drawn)
    title = [f"ends with {drawn.outcome}", *notes]
    width = max(layout.right, _width(title, _TEXT)) + 2 * _PAD
    height = layout.bottom + 24 * len(legend) + 2 * _PAD + (18 if left_out else 0)
    svg = Drawing(width, height, font_family=_FONT)
    svg.append_title(f"{drawn.name}: ends with {drawn.outcome}")
    svg.append(Rectangle(0, 0, width, height, fill="white"))
    _text(svg, [drawn.name], _PAD, 20, size=15, weight="bold")
    _text(svg, [f"ends with {drawn.outcome}"], _PAD, 38)
    _text(svg, notes, _PAD, 55, colour=PAINTS[BarLook.STALE].stroke)
    _add_columns(svg, drawn, layout)
    for lane, top in zip(drawn.lanes, layout.lanes, strict=True):
        _add_lane(svg, lane, top, layout)
    for bar in bars:
        _add_bar(svg, bar, layout)
    heads = _arrow_heads()
    for arrow in drawn.arrows:
        _add_arrow(svg, arrow, layout, heads)
    # Texts last: an arrow may cross the bars of other lanes, but no text.
    for bar in bars:
        _add_bar_text(svg, bar, drawn.arrows, layout)
    first_row = 0
    for lane, top in zip(drawn.lanes, layout.lanes, strict=True):
        arrows = [
            layout.arrow(arrow)
            for arrow in drawn.arrows
            if min(arrow.source, arrow.target) < first_row <= max(arrow.source, arrow.target)
        ]
        _add_repeated_names(svg, lane, top, arrows, layout)
        first_row += len(lane.rows)
    _add_legend(svg, legend, layout)
    if left_out:
        count = "1 step" if len(left_out) == 1 else f"{len(left_out)} steps"
        below = layout.bottom + 24 * len(legend) + 14
        _text(svg, [f"left out: {count} that only touch registers"], _PAD, below, _TEXT, _GREY)
    return svg.as_svg() + "\n"


def _notes(drawn: Timeline) -> list[str]:
    """The text above the columns: the explanation, and the steps that show it."""
    return [
        *wrap(drawn.explanation, _EXPLANATION),
        *(f"step {step}: {text}" for step, text in drawn.stale_reads),
    ]


def _text(
    svg: "Drawing",
    lines: Sequence[str],
    x: float,
    y: float,
    size: int = _TEXT,
    colour: str = "#1f2328",
    weight: str = "normal",
    anchor: str = "start",
) -> None:
    from drawsvg import Text

    svg.append(
        Text(
            list(lines),
            size,
            x,
            y,
            fill=colour,
            font_weight=weight,
            text_anchor=anchor,
            pointer_events="none",
            line_height=1.15,
        )
    )


def _add_columns(svg: "Drawing", drawn: Timeline, layout: _Layout) -> None:
    """Step numbers and thin lines between columns."""
    from drawsvg import Line, Rectangle

    _text(svg, ["step"], layout.left - _PAD, layout.top - 8, _TEXT, _GREY, anchor="end")
    for column, (left, right) in enumerate(zip(layout.columns, layout.columns[1:], strict=False)):
        if column in layout.left_out:
            continue
        svg.append(Line(left, layout.top - 4, left, layout.bottom, stroke="#eaeef2"))
        name = str(column) if column else "start"
        middle = (left + right) / 2
        _text(svg, [name], middle, layout.top - 8, _TEXT, _GREY, anchor="middle")
        if column:
            hover = Rectangle(left, layout.top - 20, right - left, 18, fill_opacity=0)
            hover.append_title(drawn.steps[column - 1])
            svg.append(hover)


def _add_lane(svg: "Drawing", lane: Lane, top: float, layout: _Layout) -> None:
    from drawsvg import Line

    edge = top - (_NAME_GAP - 2 if layout.names else _LANE_GAP / 2)
    svg.append(Line(0, edge, layout.right, edge, stroke="#d0d7de"))
    _text(svg, [lane.name], _PAD, top + 13, weight="bold")
    if lane.place:
        _text(svg, [lane.place], _PAD, top + 28, _TEXT, _GREY)
    for row, heading in enumerate(lane.rows):
        y = top + _ROW * row + 18
        _text(svg, [heading], layout.left - _PAD, y, _TEXT, _GREY, anchor="end")


def _add_bar(svg: "Drawing", bar: TimelineBar, layout: _Layout) -> None:
    from drawsvg import Rectangle

    paint = PAINTS[bar.look]
    left, right = layout.columns[bar.start] + 1, layout.columns[bar.end] - 1
    top = layout.rows[bar.row] + 1
    box = Rectangle(
        left,
        top,
        round(right - left, 1),
        _ROW - 3,
        rx=3,
        fill=paint.fill,
        stroke=paint.stroke,
        stroke_dasharray=paint.dash,
    )
    box.append_title(bar.detail)
    svg.append(box)


def _add_bar_text(
    svg: "Drawing", bar: TimelineBar, arrows: Sequence[Arrow], layout: _Layout
) -> None:
    paint = PAINTS[bar.look]
    y = layout.rows[bar.row] + (20 if len(bar.lines) == 1 else 13)
    x = layout.columns[bar.start] + 1 + _PAD
    if any(_crosses(arrow, bar) for arrow in arrows):
        _add_plate(svg, bar.lines, x, y, _TEXT, paint.fill)
    _text(svg, bar.lines, x, y, colour=paint.text)


def _crosses(arrow: Arrow, bar: TimelineBar) -> bool:
    """True if an arrow between other rows passes over a bar."""
    rows = sorted((arrow.source, arrow.target))
    return rows[0] < bar.row < rows[1] and bar.start <= arrow.step < bar.end


def _add_plate(
    svg: "Drawing", lines: Sequence[str], x: float, y: float, size: int, fill: str
) -> None:
    """A plate that keeps arrows from crossing lines of text, the first of which stands on ``y``."""
    from drawsvg import Rectangle

    height = round(size * (1.15 * len(lines) + 0.1), 1)
    width = _width(lines, size) + 4
    plate = Rectangle(round(x - 2, 1), y - size, width, height, fill=fill, class_="plate")
    svg.append(plate)


def _add_repeated_names(
    svg: "Drawing", lane: Lane, top: float, arrows: Sequence[float], layout: _Layout
) -> None:
    """The lane's name above it again and again, where none of the ``arrows`` into it is."""
    name = [f"{lane.name}: {lane.place}" if lane.place else lane.name]
    width = _width(name, _TEXT)
    for start in layout.names:
        most = int(_REPEAT / 3 / _STEP)
        places = [start + _STEP * n for n in sorted(range(-most, most + 1), key=abs)]
        free = (x for x in places if not any(x - 8 < at < x + width + 8 for at in arrows))
        x = next(free, start)
        _add_plate(svg, name, x, top - 4, _TEXT, "white")
        _text(svg, name, x, top - 4, _TEXT, _GREY)


def _arrow_heads() -> "dict[bool, tuple[str, Marker]]":
    """The colour and the head of an arrow, by whether its value is stale."""
    from drawsvg import Lines, Marker

    heads: dict[bool, tuple[str, Marker]] = {}
    for is_stale, colour in ((False, "#24292f"), (True, "#cf222e")):
        head = Marker(-1, -0.6, 0.1, 0.6, scale=6, orient="auto")
        head.append(Lines(-1, 0.5, -1, -0.5, 0, 0, fill=colour, close=True))
        heads[is_stale] = colour, head
    return heads


def _add_arrow(
    svg: "Drawing", arrow: Arrow, layout: _Layout, heads: "dict[bool, tuple[str, Marker]]"
) -> None:
    from drawsvg import Line

    colour, head = heads[arrow.is_stale]
    downwards = arrow.target > arrow.source
    x = layout.arrow(arrow)
    start = layout.rows[arrow.source] + (_ROW - 2 if downwards else 1)
    end = layout.rows[arrow.target] + (1 if downwards else _ROW - 2)
    width = 2 if arrow.is_stale else 1.3
    svg.append(Line(x, start, x, end, stroke=colour, stroke_width=width, marker_end=head))


def _legend_rows(drawn: Timeline, layout: _Layout) -> list[list[BarLook]]:
    """The looks that occur, as many to a row as fit."""
    present = {bar.look for bar in drawn.bars}
    rows: list[list[BarLook]] = [[]]
    used = 0.0
    for look in PAINTS:
        if look not in present:
            continue
        needed = _legend_width(look)
        if rows[-1] and used + needed > layout.right:
            rows.append([])
            used = 0.0
        rows[-1].append(look)
        used += needed
    return rows


def _legend_width(look: BarLook) -> float:
    return 24 + _width([look.value], _TEXT) + 20


def _add_legend(svg: "Drawing", rows: list[list[BarLook]], layout: _Layout) -> None:
    from drawsvg import Rectangle

    for row, looks in enumerate(rows):
        x, y = float(_PAD), layout.bottom + 24 * row + 4
        for look in looks:
            paint = PAINTS[look]
            svg.append(
                Rectangle(
                    round(x, 1),
                    y,
                    18,
                    14,
                    rx=3,
                    fill=paint.fill,
                    stroke=paint.stroke,
                    stroke_dasharray=paint.dash,
                )
            )
            _text(svg, [look.value], round(x + 24, 1), y + 11, _TEXT)
            x += _legend_width(look)
