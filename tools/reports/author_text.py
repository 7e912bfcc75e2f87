"""The author's text of code that was compiled: its lines, and comments that ignore a finding.

``// fence-check: ignore[RULE, ..] reason`` at the end of a line is about that line, on a line of
its own about the next one with code. It may stand in the source or in the assembly, after the
language's mark of a comment.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from fencewright.checker.findings.finding import Rule
from fencewright.lowering.code.source_location import SourceLine, SourceLocation, places_of
from fencewright.simulator.race.rules import RULES
from fencewright.tools.diagnostics import error

MARK = "fence-check:"
_COMMENT = re.compile(r"(?://+|;+|#+|/\*+|--)\s*fence-check:\s*(.*?)\s*(?:\*/)?\s*$")
_IGNORE = re.compile(r"ignore\s*\[([^\]]*)\]\s*(.*)", re.DOTALL)
_NO_CODE = re.compile(r"\s*(?:$|//|;|#|/\*.*\*/\s*$|\.loc\b|\.file\b)")
_MOST = 1 << 24
"""The bytes of a source that is read for its lines."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment that ignores findings of some rules, with its ``reason``, at its own ``line``."""

    rules: frozenset[str]
    reason: str
    line: int


def ignores_in(text: str, file: str) -> Mapping[int, Ignore]:
    """The comments that ignore findings, by the lines that they are about.

    Raises ``ToolError`` for a comment that names no rule or gives no reason.
    """
    if MARK not in text:
        return {}
    lines = text.splitlines()
    return {_about(lines, each.line): each for each in _ignores(lines, file)}


def _about(lines: Sequence[str], line: int) -> int:
    """The line that a comment at ``line`` is about: the next one with code, if it has none."""
    if not _NO_CODE.match(lines[line - 1]):
        return line
    following = range(line, len(lines))
    return next((each + 1 for each in following if not _NO_CODE.match(lines[each])), line)


def _ignores(lines: Sequence[str], file: str) -> Iterator[Ignore]:
    for number, line in enumerate(lines, 1):
        if MARK not in line or (comment := _COMMENT.search(line)) is None:
            continue
        if (found := _IGNORE.fullmatch(comment[1])) is None:
            raise error("a comment of fence-check is 'ignore[RULE] reason'", file, number, 1)
        rules = frozenset(each.strip() for each in found[1].split(","))
        if unknown := sorted(rules - set(map(str, Rule)) - RULES):
            problem = f"'{unknown[0]}' is no rule: fence-check --list-rules lists them"
            raise error(problem, file, number, 1)
        if not found[2]:
            problem = f"no reason to ignore {', '.join(sorted(rules))}: write it after the bracket"
            raise error(problem, file, number, 1)
        yield Ignore(rules, found[2], number)


def _path_of(file: str, folder: str) -> str:
    """The path of a source that code names: as it stands, or from the ``folder`` of the code; from
    the current folder if it is below that.

    The name itself where neither can be read, as on another machine than the compiler's.
    """
    for path in (file, os.path.join(folder, file), os.path.join(folder, os.path.basename(file))):
        if os.path.isfile(path) and os.access(path, os.R_OK):
            below = os.path.relpath(path)
            return path if below.startswith(os.pardir) else below
    return file and os.path.normpath(file)


def paths_of(files: Mapping[int, str], code: str) -> Mapping[int, str]:
    """The paths of the sources that the ``code`` of a file names, by their numbers."""
    folder = os.path.dirname(code)
    return {number: _path_of(name, folder) for number, name in files.items()}


def sources_of(paths: Iterable[str], code: str) -> tuple[str, ...]:
    """The sources in which names of the author are looked for: those that the ``code`` names, and
    those beside it; Triton's cache has its IR there."""
    stem = os.path.splitext(code)[0]
    return tuple(dict.fromkeys((*paths, *(f"{stem}{end}" for end in (".ttir", ".cu", ".hip")))))


class Compiled(Protocol):
    """An instruction at a line of a text, with the source that it was compiled from."""

    @property
    def line(self) -> int:
        """The line of the text."""
        ...

    @property
    def source(self) -> SourceLine | None:
        """The place of the source, as the text numbers its files."""
        ...


def author_lines(
    instructions: Iterable[Compiled], files: Mapping[int, str], file: str
) -> Mapping[int, tuple[SourceLocation, ...]]:
    """The places that the lines of ``file`` were compiled from, the innermost first.

    ``files``: names of sources by their numbers.
    """
    paths = paths_of(files, file)
    return {
        each.line: places_of(each.source, paths) for each in instructions if each.source is not None
    }


def source_ignores(path: str) -> Mapping[int, Ignore]:
    """The comments of a source that ignore findings. Raises ``ToolError``."""
    return _source_of(path).ignores


def line_of(path: str, line: int) -> str:
    """A line of a source, without its end; none where it is not there to be read."""
    lines = _source_of(path).lines
    return lines[line - 1] if 0 < line <= len(lines) else ""


def text_of(path: str) -> str:
    """The text of a source; none where it is not there to be read."""
    return "\n".join(_source_of(path).lines)


@dataclass(frozen=True, slots=True)
class _Source:
    lines: Sequence[str]
    ignores: Mapping[int, Ignore]


_NO_SOURCE = _Source((), {})


def _source_of(path: str) -> _Source:
    """The lines and comments of a source as it is now; none where it cannot be read."""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return _NO_SOURCE
    status = os.stat(path)
    if status.st_size > _MOST:
        return _NO_SOURCE
    return _read(os.path.abspath(path), path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read(absolute: str, path: str, changed: int, size: int) -> _Source:
    """The source of that ``path``; read again once it has ``changed``, or has another ``size``."""
    with open(absolute, encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    return _Source(text.splitlines(), ignores_in(text, path))
