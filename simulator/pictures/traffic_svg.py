"""The traffic of a kernel as SVG: lanes against sectors or banks, flows, dirty data over time.

Drawn with the package drawsvg (``pip install 'fencewright[pictures]'``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.wording import counted
from fencewright.simulator.execution.program import LaneProgram, MemorySpace
from fencewright.simulator.performance.accesses.bank_conflicts import ranges
from fencewright.simulator.performance.machine import Machine
from fencewright.simulator.performance.traffic import Flow, InstructionTraffic, Moment, Traffic
from fencewright.simulator.pictures.missing import MissingLibraryError

if TYPE_CHECKING:
    from drawsvg import Element

_FONT = "DejaVu Sans Mono,Menlo,Consolas,monospace"
_TEXT = 12
"""The size of text: what is smaller cannot be read at 100 %."""
_WIDTH = 940
_LEFT = 20
_CELL = 12
_LINE, _WORD = 128, 4
_MOST_ROWS = 8
"""Lines or rows of banks that are drawn of one instruction."""
_MOST_INSTRUCTIONS = 6

_INK, _GREY, _PALE = "#1f2328", "#57606a", "#d0d7de"
_USED, _UNUSED, _CONFLICT, _EMPTY = "#4ac26b", "#dafbe1", "#cf222e", "#ffffff"
_READ, _WRITTEN, _DIRTY = "#54aeff", "#d4a72c", "#fff8c5"


@dataclass(slots=True)
class _Page:
    """A drawing that grows downwards; ``top`` is where it goes on."""

    elements: "list[Element]" = field(default_factory=list["Element"])
    top: float = 0

    def text(
        self,
        words: str,
        x: float,
        y: float,
        colour: str = _INK,
        anchor: str = "start",
        weight: str = "normal",
        size: int = _TEXT,
    ) -> None:
        from drawsvg import Text

        self.elements.append(
            Text(words, size, x, y, fill=colour, text_anchor=anchor, font_weight=weight)
        )

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = _PALE
    ) -> None:
        from drawsvg import Rectangle

        self.elements.append(
            Rectangle(x, y, width, height, fill=fill, stroke=stroke, stroke_width=0.7)
        )

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str, width: float) -> None:
        from drawsvg import Line

        self.elements.append(Line(x, y, to_x, to_y, stroke=colour, stroke_width=width))

    def heading(self, words: str) -> None:
        self.top += 26
        self.text(words, _LEFT, self.top, size=13, weight="bold")
        self.top += 12


def traffic_svg(program: LaneProgram, machine: Machine, traffic: Traffic) -> str:
    """The picture. Raises ``MissingLibraryError`` without drawsvg."""
    try:
        from drawsvg import Drawing, Rectangle
    except ImportError as error:
        raise MissingLibraryError("drawsvg") from error
    page = _Page()
    page.heading(f"{program.name} on {machine.target} ({machine.device})")
    _draw_instructions(page, machine, traffic.instructions)
    _draw_flows(page, traffic.flows)
    _draw_timeline(page, program, traffic.timeline)
    height = page.top + 16
    svg = Drawing(_WIDTH, height, font_family=_FONT)
    svg.append_title(f"{program.name} on {machine.target} ({machine.device})")
    svg.append(Rectangle(0, 0, _WIDTH, height, fill="white"))
    for element in page.elements:
        svg.append(element)
    return svg.as_svg() + "\n"


# Lanes against sectors or banks


def _draw_instructions(
    page: _Page, machine: Machine, instructions: Sequence[InstructionTraffic]
) -> None:
    shown = [each for each in instructions if _is_shown(each)]
    for each in shown[:_MOST_INSTRUCTIONS]:
        page.top += 22
        page.text(f"{_at(each.instruction.place)}{each.instruction.text}", _LEFT, page.top)
        page.top += 8
        if each.instruction.space is MemorySpace.SHARED:
            _draw_banks(page, each)
        else:
            _draw_lines(page, machine, each)
    if len(shown) > _MOST_INSTRUCTIONS:
        page.top += 18
        left_out = f"and {len(shown) - _MOST_INSTRUCTIONS} more instructions"
        page.text(left_out, _LEFT, page.top, _GREY)


def _is_shown(each: InstructionTraffic) -> bool:
    is_vector = each.instruction.space in (MemorySpace.GLOBAL, MemorySpace.SHARED)
    return is_vector and any(offset is not None for offset in each.pattern)


def _at(place: SourceLocation | None) -> str:
    return "" if place is None else f"line {place.line}: "


def _words(each: InstructionTraffic, lanes: Iterable[int] | None = None) -> list[int]:
    """The words that lanes of the usual pattern touch, each once."""
    width = each.instruction.width
    chosen = each.pattern if lanes is None else [each.pattern[lane] for lane in lanes]
    return sorted(
        {
            word
            for offset in chosen
            if offset is not None
            for word in range(offset // _WORD, (offset + width - 1) // _WORD + 1)
        }
    )


def _draw_lines(page: _Page, machine: Machine, each: InstructionTraffic) -> None:
    """A row for each line: its words that are used, those that come with them."""
    per_line = _LINE // _WORD
    unit = machine.request(each.instruction) // _WORD
    words = {*_words(each)}
    lines = sorted({word // per_line for word in words})
    moved = {word // unit for word in words}
    left = _LEFT + 84
    for number, line in enumerate(lines[:_MOST_ROWS]):
        y = page.top + number * (_CELL + 2)
        page.text(f"+{line * _LINE}", left - 8, y + 10, _GREY, "end")
        for place in range(per_line):
            word = line * per_line + place
            comes = word // unit in moved
            fill = _USED if word in words else _UNUSED if comes else _EMPTY
            page.box(left + place * _CELL, y, _CELL, _CELL, fill)
        for place in range(0, per_line + 1, unit):
            page.line(left + place * _CELL, y, left + place * _CELL, y + _CELL, _GREY, 1.4)
    said = left + per_line * _CELL + 14
    used = f"{100 * len(words) / (len(moved) * unit):.3g}%"
    what = counted(len(moved), "sector" if machine.is_nvidia else "request")
    page.text(f"{what} of {unit * _WORD} bytes, {used} used", said, page.top + 10)
    rest = len(lines) - _MOST_ROWS
    if rest > 0:
        page.text(f"and {counted(rest, 'more line')}", said, page.top + 26, _GREY)
    page.top += min(len(lines), _MOST_ROWS) * (_CELL + 2)


def _draw_banks(page: _Page, each: InstructionTraffic) -> None:
    """A row for each row of all banks, the words in it that lanes want; conflicts in red.

    Of the lanes that are served together, those that need the most words of one bank.
    """
    banks = each.banks or 32
    phases = each.phases or (tuple(range(len(each.pattern))),)
    words, wanted, number = max(
        (
            (words, _wanted(words, banks), -number)
            for number, words in enumerate(_words(each, lanes) for lanes in phases)
        ),
        key=lambda found: (max(found[1]), found[2]),
    )
    lanes = phases[-number]
    cell = _CELL * 32 / banks
    rows = sorted({word // banks for word in words})
    left = _LEFT + 84
    page.text("bank 0", left, page.top + 8, _GREY)
    page.text(f"{banks - 1}", left + banks * cell, page.top + 8, _GREY, "end")
    top = page.top + 12
    for place, row in enumerate(rows[:_MOST_ROWS]):
        y = top + place * (_CELL + 2)
        page.text(f"+{row * banks * _WORD}", left - 8, y + 10, _GREY, "end")
        for bank in range(banks):
            is_wanted = row * banks + bank in words
            fill = (_CONFLICT if wanted[bank] > 1 else _USED) if is_wanted else _EMPTY
            page.box(left + bank * cell, y, cell, _CELL, fill)
    said = left + banks * cell + 14
    most = max(wanted)
    page.text(f"lanes {ranges(lanes)}: {counted(most, 'word')} of a bank", said, top + 10)
    rest = len(rows) - _MOST_ROWS
    if rest > 0:
        page.text(f"and {counted(rest, 'more row')}", said, top + 26, _GREY)
    page.top = top + min(len(rows), _MOST_ROWS) * (_CELL + 2)


def _wanted(words: Sequence[int], banks: int) -> list[int]:
    """The number of words that each bank has to give."""
    return [sum(word % banks == bank for word in words) for bank in range(banks)]


# Flows


def _draw_flows(page: _Page, flows: Sequence[Flow]) -> None:
    page.heading("bytes between the levels")
    most = max((size for flow in flows for size in (flow.read, flow.written)), default=0)
    levels = [flow.near for flow in flows] + [flow.far for flow in flows[-1:]]
    box, gap = 120, 0.0
    gap = (_WIDTH - 2 * _LEFT - box * len(levels)) / max(1, len(levels) - 1)
    top = page.top + 14
    for number, level in enumerate(levels):
        x = _LEFT + number * (box + gap)
        page.box(x, top, box, 62, "#f6f8fa", _GREY)
        page.text(level, x + box / 2, top + 35, anchor="middle")
    for number, flow in enumerate(flows):
        near = _LEFT + number * (box + gap) + box
        _arrow(page, near + gap, near, top + 18, flow.read, most, _READ, "read")
        _arrow(page, near, near + gap, top + 46, flow.written, most, _WRITTEN, "written")
    page.top = top + 74


def _arrow(
    page: _Page, x: float, to_x: float, y: float, size: int, most: int, colour: str, what: str
) -> None:
    from drawsvg import Lines

    middle = (x + to_x) / 2
    page.text(f"{_bytes(size)} {what}", middle, y - 9, _GREY, "middle")
    if not size:
        return
    half = max(0.7, 5 * size / most)
    head = 9 if to_x > x else -9
    page.line(x, y, to_x - head, y, colour, 2 * half)
    page.elements.append(
        Lines(to_x, y, to_x - head, y - 6, to_x - head, y + 6, close=True, fill=colour)
    )


def _bytes(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


# Dirty bytes


def _draw_timeline(page: _Page, program: LaneProgram, timeline: Sequence[Moment]) -> None:
    page.heading("dirty bytes in L2, and the fences that write them back or drop lines")
    if not timeline:
        page.top += 14
        page.text("nothing is written", _LEFT, page.top, _GREY)
        return
    from drawsvg import Lines

    left, right = _LEFT + 84, _WIDTH - _LEFT - 10
    height = 120.0
    most = max(each.dirty for each in timeline) or 1
    last = max(timeline[-1].step, 1)
    fences = {each.fence for each in timeline if each.fence is not None}
    names = {fence: number for number, fence in enumerate(sorted(fences), 1)}
    top = page.top + 18
    bottom = top + height

    def x_of(step: int) -> float:
        return left + (right - left) * step / last

    points: list[float] = [x_of(0), bottom]
    level = bottom
    for each in _thinned(timeline):
        points += [x_of(each.step), level]
        level = bottom - height * each.dirty / most
        points += [x_of(each.step), level]
    points += [right, level, right, bottom]
    page.elements.append(Lines(*points, close=True, fill=_DIRTY, stroke=_WRITTEN, stroke_width=1))
    page.line(left, bottom, right, bottom, _GREY, 1)
    page.text(_bytes(most), left - 8, top + 8, _GREY, "end")
    page.text("0", left - 8, bottom, _GREY, "end")
    page.text("instructions of all waves, in the order of execution", left, bottom + 15, _GREY)
    free = 0.0
    for each in timeline:
        if each.fence is None:
            continue
        x = x_of(each.step)
        page.line(x, top - 4, x, bottom, _CONFLICT, 0.7)
        if x >= free:
            page.text(str(names[each.fence]), x, top - 7, _CONFLICT, "middle")
            free = x + 24
    page.top = bottom + 18
    for fence, number in names.items():
        instruction = program.instructions[fence]
        page.top += 16
        page.text(f"{number}  {_at(instruction.place)}{instruction.text}", left, page.top)


_MOST_POINTS = 4000


def _thinned(timeline: Sequence[Moment]) -> Iterable[Moment]:
    """As many moments as can be seen, the last among them."""
    step = -(-len(timeline) // _MOST_POINTS)
    return [*timeline[:-1:step], timeline[-1]]
