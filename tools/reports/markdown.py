"""Markdown for the generated documentation pages."""

from collections.abc import Iterable, Sequence


def markdown_row(cells: Iterable[str]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def markdown_table(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; an empty cell is written as one blank."""
    lines = [markdown_row(columns), "|" + " --- |" * len(columns)]
    lines += [markdown_row(str(cell) or " " for cell in row) for row in rows]
    return "\n".join(lines) + "\n"
