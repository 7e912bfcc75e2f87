"""fence-sim access --suggest: paddings and XOR swizzles of a tile, with their counts."""

import re
import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import groupby

from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.addresses import AddressError
from fencewright.simulator.performance.accesses.suggest import (
    Candidate,
    Tile,
    TilePattern,
    pattern_of,
    suggest,
    tile_of,
)
from fencewright.tools.diagnostics import Diagnostic, ToolError, error

_HEAD = ("layout", "bytes", "conflicts", "cycles")


def layouts_text(arguments: Namespace) -> str:
    """The layouts as a table, then the address of each."""
    if arguments.tile is None or arguments.element is None:
        raise error("--suggest needs --tile, as 64x32, and --element, as 2", "fence-sim")
    if not arguments.write and not arguments.read:
        raise error("--suggest needs a pattern: --write, --read or both", "fence-sim")
    text = arguments.tile
    try:
        tile = tile_of(text, arguments.element)
        patterns: list[tuple[str, TilePattern]] = []
        for verb in ("write", "read"):
            for text in getattr(arguments, verb):
                pattern = pattern_of(text, arguments.mcpu, tile)
                _ = pattern.elements
                patterns.append((verb, pattern))
        found = suggest(tile, [each for _, each in patterns])
    except UnsupportedError as problem:
        raise error(str(problem), "fence-sim") from problem
    except AddressError as problem:
        raise ToolError((Diagnostic(f"{problem}", f"<{text}>"),)) from problem
    return "".join(_lines(tile, patterns, found))


def _lines(
    tile: Tile, patterns: Sequence[tuple[str, TilePattern]], found: Sequence[Candidate]
) -> Iterator[str]:
    target = patterns[0][1].model.target
    yield f"{tile.rows} x {tile.columns} elements of {tile.element} bytes on {target}\n\n"
    head = (*_HEAD, *(f"{verb} {each.model.instruction}" for verb, each in patterns))
    rows = [
        (
            each.layout.describe(tile), str(each.size), str(each.conflicts), str(each.cycles),
            *(_runs(counts.conflicts) for counts in each.counts),
        )
        for each in found
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        aligned = (
            cell.rjust(width) if 0 < number < len(_HEAD) else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(aligned).rstrip() + "\n"
    yield from _verdict(found)
    for candidate in found[1:]:
        yield f"\n{candidate.layout.describe(tile)}\n"
        yield f"  address  {candidate.layout.expression('row', 'col', tile.element)}\n"
        for verb, pattern in patterns:
            yield f"  {verb:7}  {_command(candidate, pattern)}\n"
    known = ", ".join(f"{each.evidence} ({each.model.instruction})" for _, each in patterns)
    yield "\n4 x 14: four instructions with 14 conflicts each. The counts are "
    yield f"{known}.\n"


def _verdict(found: Sequence[Candidate]) -> Iterator[str]:
    if not found[0].conflicts:
        yield "\nrow by row has no conflicts\n"
    elif len(found) == 1:
        yield "\nno padding and no XOR swizzle is better\n"
    elif all(each.conflicts for each in found):
        yield "\nnone is without conflicts; the best are:\n"


def _runs(counts: Sequence[int]) -> str:
    """As ``24 x 14, 8 x 6``: so many instructions with so many conflicts each."""
    return ", ".join(f"{len(list(run))} x {count}" for count, run in groupby(sorted(counts)))


_NUMBER = re.compile(r"\bn\b")


def _command(candidate: Candidate, pattern: TilePattern) -> str:
    """The command that counts the first instruction by itself."""
    row, column = (_NUMBER.sub("0", each) for each in (pattern.row, pattern.column))
    address = candidate.layout.expression(row, column, pattern.tile.element)
    words = ("fence-sim", "access", "--mcpu", pattern.model.target, pattern.model.instruction)
    return shlex.join((*words, address))
