"""Runs lit, and fails where that did not run all tests."""

import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from fencewright.tools.diagnostics import error, run_tool
from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_TOOLS, find_llvm_tool

SUFFIXES = frozenset({".mlir", ".ll", ".ptx", ".s"})
"""The suffixes of test files."""

EXCLUDED = frozenset({"Inputs", "Output"})
"""Folders that hold no tests."""


@cache
def features() -> frozenset[str]:
    """The words that ``REQUIRES:`` may ask for on this machine."""
    return frozenset(name for name in LLVM_TOOLS if find_llvm_tool(name))


def discover(paths: Iterable[Path]) -> list[Path]:
    """The test files among and below ``paths``, sorted."""
    found = set[Path]()
    for path in paths:
        files = path.rglob("*") if path.is_dir() else (path,)
        found.update(f.resolve() for f in files if f.suffix in SUFFIXES)
    return sorted(f for f in found if not EXCLUDED.intersection(f.parts))


def run_lit(paths: Sequence[Path]) -> int:
    """Run lit on ``paths``; fails if lit did not run every test that is there."""
    lit = "import sys; from lit.main import main; sys.argv[0] = 'lit'; main()"
    command = [sys.executable, "-c", lit, "-v", "--show-unsupported", *map(str, paths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    tests = len(discover(paths))
    ran = re.search(r"^Total Discovered Tests: (\d+)", done.stdout, re.MULTILINE)
    if done.returncode == 0 and (
        ran is None or int(ran[1]) != tests or "Passed" not in done.stdout
    ):
        print(f"lit did not run the {tests} tests that are there", file=sys.stderr)
        return 1
    if "Unsupported" in done.stdout:
        print(f"Unsupported tests need tools that are missing here; {LLVM_HINT}")
    return done.returncode


def main(argv: Sequence[str] | None = None) -> int:
    """Run lit tests; returns 1 if one failed or none was found."""
    parser = ArgumentParser(prog="lit_runner", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="test files or folders of them")

    def body() -> int:
        args = parser.parse_args(argv)
        for path in args.paths:
            if not path.exists():
                raise error("No such file or directory", str(path))
        return run_lit(args.paths)

    return run_tool(parser.prog, body)


if __name__ == "__main__":
    sys.exit(main())
