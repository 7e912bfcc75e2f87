"""Timelines of the CDNA machine drawn as SVG: a column for each step, a lane for each wave and
cache, in bands of a page's width.

What every renderer draws is used: text stands on a plate of its own where an arrow would cross it.
Drawn with the package drawsvg (``pip install 'fencewright[pictures]'``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
_BAND_GAP = 44
"""Between bands, with the numbers of the steps."""
_PAGE = 1000
"""The width of a page in pixels: a longer timeline goes on below."""
_TOP = 72
_NARROWEST = 34
_EXPLANATION = 110
"""The characters of a line of the explanation."""
_ARROW_FROM_LEFT = 9


class _Layout:
    """The positions of the columns ``first`` to before ``last`` and of all rows, in pixels.

    The columns of the steps ``left_out`` are empty: the next one starts where they do. ``bars``:
    their parts that are in it.
    """

    def __init__(
        self, drawn: Timeline, left_out: frozenset[int], first: int, last: int, top: float
    ):
        self.steps = [n for n in range(first, last) if n not in left_out]
        self.bars = [
            replace(bar, start=max(bar.start, first), end=min(bar.end, last))
            for bar in drawn.bars
            if any(bar.start <= n < bar.end for n in self.steps)
        ]
        self.arrows = [each for each in drawn.arrows if first <= each.step < last]
        headings = [heading for lane in drawn.lanes for heading in lane.rows]
        names = _width([lane.name for lane in drawn.lanes], _TEXT)
        places = _width([lane.place for lane in drawn.lanes], _TEXT)
        self.left = max(names, places) + _width(headings, _TEXT) + 4 * _PAD
        self.columns = self._columns(first, last)
        self.right = self.columns[last]
        self.top = top
        self.rows: list[float] = []
        self.lanes: list[float] = []
        for lane in drawn.lanes:
            self.lanes.append(top)
            self.rows += [top + _ROW * row for row in range(len(lane.rows))]
            top += _ROW * len(lane.rows) + _LANE_GAP
        self.bottom = top

    def arrow(self, arrow: Arrow) -> float:
        """The position at which an arrow goes down or up."""
        return self.columns[arrow.step] + _ARROW_FROM_LEFT

    def _columns(self, first: int, last: int) -> dict[int, float]:
        """The left edge of each column, and the right edge of the last: every text fits its bar."""
        widths = dict.fromkeys(self.steps, float(_NARROWEST))
        for bar in sorted(self.bars, key=lambda bar: bar.end - bar.start):
            kept = [n for n in self.steps if bar.start <= n < bar.end]
            missing = _width(bar.lines, _TEXT) + 2 * _PAD + 2 - sum(widths[n] for n in kept)
            widths[kept[-1]] += max(0.0, missing)
        edges = {first: self.left}
        for n in range(first, last):
            edges[n + 1] = round(edges[n] + widths.get(n, 0.0), 1)
        return edges


def _bands(drawn: Timeline, left_out: frozenset[int], top: float) -> list[_Layout]:
    """The parts of a timeline, one below another, each as wide as fits the page."""
    bands: list[_Layout] = []
    first = 0
    while first < drawn.end:
        last = first + 1
        band = _Layout(drawn, left_out, first, last, top)
        while last < drawn.end:
            wider = _Layout(drawn, left_out, first, last + 1, top)
            if wider.right > _PAGE and band.steps:
                break
            band, last = wider, last + 1
        bands.append(band)
        first, top = last, band.bottom + _BAND_GAP
    return bands


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
    notes = [
        *wrap(drawn.explanation, _EXPLANATION),
        *(
            line
            for step, text in drawn.stale_reads
            for line in wrap(f"step {step}: {text}", _EXPLANATION)
        ),
    ]
    bands = _bands(drawn, left_out, _TOP + 14.0 * len(notes))
    right, bottom = max(band.right for band in bands), bands[-1].bottom
    legend = _legend_rows(drawn, right)
    width = max(right, _width([f"ends with {drawn.outcome}", *notes], _TEXT)) + 2 * _PAD
    height = bottom + 24 * len(legend) + 2 * _PAD + (18 if left_out else 0)
    svg = Drawing(width, height, font_family=_FONT)
    svg.append_title(f"{drawn.name}: ends with {drawn.outcome}")
    svg.append(Rectangle(0, 0, width, height, fill="white"))
    _text(svg, [drawn.name], _PAD, 20, size=15, weight="bold")
    _text(svg, [f"ends with {drawn.outcome}"], _PAD, 38)
    _text(svg, notes, _PAD, 55, colour=PAINTS[BarLook.STALE].stroke)
    heads = _arrow_heads()
    for band in bands:
        _add_band(svg, drawn, band, heads)
    _add_legend(svg, legend, bottom)
    if left_out:
        count = "1 step" if len(left_out) == 1 else f"{len(left_out)} steps"
        below = bottom + 24 * len(legend) + 14
        _text(svg, [f"left out: {count} that only touch registers"], _PAD, below, _TEXT, _GREY)
    return svg.as_svg() + "\n"


def _add_band(
    svg: "Drawing", drawn: Timeline, layout: _Layout, heads: "dict[bool, tuple[str, Marker]]"
) -> None:
    _add_columns(svg, drawn, layout)
    for lane, top in zip(drawn.lanes, layout.lanes, strict=True):
        _add_lane(svg, lane, top, layout)
    for bar in layout.bars:
        _add_bar(svg, bar, layout)
    for arrow in layout.arrows:
        _add_arrow(svg, arrow, layout, heads)
    # Texts last: an arrow may cross the bars of other lanes, but no text.
    for bar in layout.bars:
        _add_bar_text(svg, bar, layout)


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
    for column in layout.steps:
        left, right = layout.columns[column], layout.columns[column + 1]
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

    edge = top - _LANE_GAP / 2
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


def _add_bar_text(svg: "Drawing", bar: TimelineBar, layout: _Layout) -> None:
    paint = PAINTS[bar.look]
    y = layout.rows[bar.row] + (20 if len(bar.lines) == 1 else 13)
    x = layout.columns[bar.start] + 1 + _PAD
    if any(_crosses(arrow, bar) for arrow in layout.arrows):
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


def _legend_rows(drawn: Timeline, right: float) -> list[list[BarLook]]:
    """The looks that occur, as many to a row as fit."""
    present = {bar.look for bar in drawn.bars}
    rows: list[list[BarLook]] = [[]]
    used = 0.0
    for look in PAINTS:
        if look not in present:
            continue
        needed = _legend_width(look)
        if rows[-1] and used + needed > right:
            rows.append([])
            used = 0.0
        rows[-1].append(look)
        used += needed
    return rows


def _legend_width(look: BarLook) -> float:
    return 24 + _width([look.value], _TEXT) + 20


def _add_legend(svg: "Drawing", rows: list[list[BarLook]], bottom: float) -> None:
    from drawsvg import Rectangle

    for row, looks in enumerate(rows):
        x, y = float(_PAD), bottom + 24 * row + 4
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
