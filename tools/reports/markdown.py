"""Markdown for the generated documentation pages."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def markdown_row(cells: Iterable[str]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def markdown_table(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; an empty cell is written as one blank."""
    lines = [markdown_row(columns), "|" + " --- |" * len(columns)]
    lines += [markdown_row(str(cell) or " " for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


_PART = re.compile(r"(?<=^<!-- begin: )(?P<name>\w+)( -->\n).*?(?=^<!-- end -->$)", re.M | re.S)


class FrameError(Exception):
    """Parts of a page and its marks that do not fit together."""


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with its parts as they are now: ``<!-- begin: NAME -->`` to ``<!-- end -->``.

    Raises ``FrameError`` where it has marks of others.
    """
    marks = [found["name"] for found in _PART.finditer(page)]
    if sorted(marks) != sorted(parts):
        wanted, there = (", ".join(sorted(each)) or "nothing" for each in (parts, marks))
        raise FrameError(f"a page has marks for {there}: give it those for {wanted}")
    return _PART.sub(lambda found: f"{found['name']}{found[2]}\n{parts[found['name']]}\n", page)


def written(path: Path, parts: Mapping[str, str], *, check: bool) -> int:
    """Write the parts of a page; with ``check`` only compare. The exit status: 1 if it differed."""
    page = path.read_text(encoding="utf-8")
    now = filled(page, parts)
    if check and now != page:
        print(f"{path} is out of date: run this without --check", file=sys.stderr)
    elif now != page:
        path.write_text(now, encoding="utf-8")
    return int(check and now != page)
