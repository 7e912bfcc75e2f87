"""The museum's exhibits repaired by ``fence-check --fix``, and assembled.

``python -m fencewright.tools.dev.pages.museum_repairs > tests/museum/repairs.tsv`` takes two
minutes; the page docs/fix.md is written from it. Needs a checkout, ptxas and llvm-mc.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools import fence_check
from fencewright.tools.dev.pages.fix_page import NO_REPAIR, Row
from fencewright.tools.dev.pages.museum_page import Exhibit, Kind, exhibits
from fencewright.tools.llvm_tools import find_llvm_tool
from fencewright.tools.repair.fix import FINDINGS, SURPLUS, Fixer, notes_of


def repaired(exhibit: Exhibit) -> tuple[str, str]:
    """The repair of an exhibit in words, ``NO_REPAIR`` if its finding stays, and the new text."""
    file = f"wrong{exhibit.suffix}"
    what = SURPLUS if exhibit.kind is Kind.REDUNDANT else FINDINGS
    with _inside(exhibit.folder):
        arguments = fence_check.arguments_of(["--fix", what, *exhibit.options(), file])
        fixer = Fixer(file, file, Path(file).read_bytes(), arguments)
        place_of = fixer.places()
        done = list(fixer.fixed())
        found = {each.rule for each in fixer.report().findings if each.is_shown}
    said = [text for each in done if each.repair for text in notes_of(each, place_of)]
    if not said or exhibit.rule in found:
        return NO_REPAIR, fixer.text
    return "; ".join(each.removeprefix("repair: ") for each in said), fixer.text


@contextmanager
def _inside(folder: Path) -> Generator[None]:
    here = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def assembler_of(exhibit: Exhibit) -> str | None:
    """The program that assembles an exhibit, if it is installed."""
    return which("ptxas") if exhibit.suffix == ".ptx" else find_llvm_tool("llvm-mc")


def problem_of(exhibit: Exhibit, text: str, assembler: str) -> str:
    """The assembler's error for a text, "" if there is none."""
    with TemporaryDirectory() as folder:
        code = Path(folder, f"code{exhibit.suffix}")
        code.write_text(text, encoding="utf-8")
        to = ["-o", str(Path(folder, "object"))]
        if exhibit.suffix == ".ptx":
            command = [assembler, f"-arch={read_ptx(text).target}", str(code), *to]
        else:
            options = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={read_assembly(text).chip}"]
            command = [assembler, *options, "-filetype=obj", str(code), *to]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stderr.strip() or "it failed") if done.returncode else ""


def row_of(exhibit: Exhibit) -> Row:
    """The row of an exhibit. Raises ``RuntimeError`` without its assembler."""
    words, text = repaired(exhibit)
    assembler = assembler_of(exhibit)
    if assembler is None:
        raise RuntimeError(f"{exhibit.name}: ptxas or llvm-mc is not installed")
    problem = problem_of(exhibit, text, assembler)
    name = "ptxas" if exhibit.suffix == ".ptx" else "llvm-mc"
    return Row(exhibit.name, exhibit.rule, words, problem.splitlines()[0] if problem else name)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rows of the exhibits that are named, or of all."""
    names = sys.argv[1:] if argv is None else argv
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    for exhibit in exhibits():
        if not names or exhibit.name in names:
            writer.writerow(astuple(row_of(exhibit)))
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
