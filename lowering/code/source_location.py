"""Places in files, lines of a source that code was compiled from, and errors in code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fencewright.lowering.code.records import record


class AssemblyError(ValueError):
    """Assembly that cannot be read: ``file:line: error: ..``, with the instruction or name
    concerned."""


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A place in a file; ``line`` and ``column`` count from 1, a column that is not known is 0.

    Prints as messages name it.
    """

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@record()
class SourceLine:
    """A place in a source file, by the number that ``.file`` gave it (``.loc``).

    ``inlined_at``: the call in whose place it is. Source: PTX ISA, Debugging Directives: .loc.
    """

    file: int
    line: int
    column: int
    inlined_at: "SourceLine | None" = field(default=None, compare=False)

    @property
    def in_kernel(self) -> "SourceLine":
        """The innermost place in the file of the outermost call: the line that its author wrote."""
        places: list[SourceLine] = [self]
        while (place := places[-1].inlined_at) is not None:
            places.append(place)
        return next(each for each in places if each.file == places[-1].file)


def place_text(source: SourceLine, files: Mapping[int, str]) -> str:
    """The line of the author that a place was compiled from, and that of the function within it."""

    def named(line: SourceLine) -> str:
        return f"{files.get(line.file, '').rpartition('/')[2]}:{line.line}"

    written = source.in_kernel
    return named(written) if written == source else f"{named(written)}, in {named(source)}"


_FILE = re.compile(r'^[^\S\n]*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?(?:.*?\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")


def files_in(text: str) -> Mapping[int, str]:
    """The names of source files by the numbers that ``.loc`` has.

    Assemblers take a folder and a name in it, nvcc a path alone, with a date and a size after it.
    """
    if ".file" not in text:
        return {}
    return {int(number): _joined(folder, name) for number, folder, name in _FILE.findall(text)}


def _joined(folder: str, name: str) -> str:
    if not name or name.startswith("/"):
        return name or folder
    return f"{folder.rstrip('/')}/{name}"


class SourceLines:
    """The ``.loc`` directives of a text in their order, with the calls that code was inlined at."""

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int, int], SourceLine] = {}

    def read(self, directive: str) -> SourceLine | None:
        """The place that a directive names; none if it is no ``.loc``."""
        if (found := _LOC.match(directive)) is None:
            return None
        file, line, column, *call = map(int, found.groups("0"))
        caller = None
        if found[4]:
            # A call that was inlined itself has been named by a directive of its own.
            at = (call[0], call[1], call[2])
            caller = self._calls.get(at) or SourceLine(*at)
        place = self._calls[file, line, column] = SourceLine(file, line, column, caller)
        return place


def places_of(source: SourceLine | None, files: Mapping[int, str]) -> tuple[SourceLocation, ...]:
    """The places that an instruction was compiled from, the innermost first.

    After it the calls in whose place it is. Places without a line, and in files without a name,
    are left out; so is code of installed headers and packages that is inlined in the author's.
    """
    places: list[SourceLocation] = []
    while source is not None:
        file = files.get(source.file)
        if file and source.line:
            places.append(SourceLocation(file, source.line, source.column))
        source = source.inlined_at
    own = next((n for n, each in enumerate(places) if not _INSTALLED.search(each.file)), 0)
    return tuple(places[own:])


_INSTALLED = re.compile(r"^/(usr|opt)/|/site-packages/|/dist-packages/")
"""Folders of toolkits, compilers and packages."""
