"""Tables of HTML, as notebooks show results (``_repr_html_``)."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; every cell is text."""
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join(
        f"<tr>{''.join(f'<td><code>{escape(str(cell))}</code></td>' for cell in row)}</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(heading)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
