"""Runs the benchmarks and writes docs/benchmarks.md: ``python benchmarks/run.py [NAME ...]``.

Where some are named, only their sections of the page are written anew.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from harness import Result, machine

_NAMES = (
    "lowering_rate",
    "end_to_end",
    "llvm_ir_rate",
    "llvm_ir_edit",
    "start_up",
    "simulator",
    "many_waves",
    "spin_peer",
    "memory",
    "triton_counts",
    "fence_check",
    "execution_rate",
    "race_rate",
    "certificate",
)
_ONLY_WHERE_NAMED = ("checks", "fence_check_large")
"""Benchmarks that take minutes to half an hour, and are no promise to users."""

_PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
_HEAD = "# Benchmarks\n\nWritten by `make bench`.\n\n"


def sections_of(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def updated(page: str, results: Iterable[Result], where: str) -> str:
    """``page`` with new sections in the place of the old, each saying where if it does not."""
    head = page.partition("\n## ")[0].rstrip()
    sections = sections_of(page)
    for result in results:
        text = result.markdown()
        sections[result.title] = text if where in head else f"{text}\n{where}\n"
    return _joined(head, sections)


def _joined(head: str, sections: Mapping[str, str]) -> str:
    return "\n".join([f"{head}\n", *sections.values()])


def main() -> int:
    """Run the named benchmarks, or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*_NAMES, *_ONLY_WHERE_NAMED, []],
        help=f"all but {' and '.join(_ONLY_WHERE_NAMED)} where none is named",
    )
    names = parser.parse_args().names
    results: list[Result] = []
    for name in names or _NAMES:
        for result in import_module(name).results():
            results.append(result)
            print(result.markdown(), flush=True)
    page = _PAGE.read_text() if names and _PAGE.exists() else f"{_HEAD}{machine()}\n"
    _PAGE.write_text(updated(page, results, machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
