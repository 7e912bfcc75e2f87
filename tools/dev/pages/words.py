"""Counts the prose of the documentation: ``python -m fencewright.tools.dev.pages.words``.

Prose is everything except quoted programs and output, comments, generated pages of reference
tables, and tables that a program writes.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

_WRITTEN = re.compile(r"^<!-- begin: \w+ -->$.*?^<!-- end -->$", re.M | re.S)
_QUOTED = re.compile(r"^```.*?^```$|<pre>.*?</pre>|<!--.*?-->", re.M | re.S)
_QUOTED_LINES = re.compile(r"^>.*$|(?<=\n\n)(?: {4}.*\n?)+", re.M)
_TABLE = re.compile(r"^\|.*\n?", re.M)
_LISTED = re.compile(r"^- `[a-z].*\.py .*\n?", re.M)

MEASURED = frozenset(
    {"benchmarks.md", "gpu-async.md", "gpu-kernels.md", "gpu-litmus.md", "gpu-memory.md"}
)
"""Pages whose tables are the output of a benchmark."""


def prose_of(page: Path) -> str:
    """The prose of a page, with its hand-written tables."""
    text = page.read_text(encoding="utf-8")
    generated = text.startswith("<!-- Written by") or page.name in MEASURED
    text = _WRITTEN.sub(lambda part: _TABLE.sub("", part[0]), text)
    text = _QUOTED_LINES.sub("", _QUOTED.sub("", text))
    return _LISTED.sub("", _TABLE.sub("", text)) if generated else text


def words_of(docs: Path) -> dict[str, int]:
    """The number of words of prose of each page below ``docs``, tables of reference apart."""
    pages = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    return {
        name: sum(any(c.isalnum() for c in word) for word in prose_of(path).split())
        for name, path in pages.items()
        if not (
            name.startswith("reference/") and path.read_text("utf-8").startswith("<!-- Written")
        )
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the words of every page, the longest last, and their sum."""
    (docs,) = sys.argv[1:] if argv is None else argv
    counts = words_of(Path(docs))
    for name, count in sorted(counts.items(), key=lambda item: item[1]):
        print(f"{count:6,} {name}")
    print(f"{sum(counts.values()):6,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
