"""Runs the benchmarks and writes docs/benchmarks.md: ``python benchmarks/run.py [NAME ...]``."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from harness import machine

_NAMES = ("lowering_rate", "end_to_end", "llvm_ir_rate", "start_up")
_PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    """Run the named benchmarks, or all; the page is written only when all were run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*_NAMES, []], help="all where none is named")
    names = parser.parse_args().names or _NAMES
    sections: list[str] = []
    for name in names:
        for result in import_module(name).results():
            sections.append(result.markdown())
            print(sections[-1], flush=True)
    if len(names) == len(_NAMES):
        page = ["# Benchmarks", "", "Written by `make bench`.", "", machine(), "", *sections]
        _PAGE.write_text("\n".join(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
