"""Verdicts of kernels in ``OWNER+NAME@COMMIT/FILE.ptx`` or ``.s``: rows of production.tsv.

Errors and warnings go to stderr, to be judged by hand. The rows of ``tests/data/verdicts`` are
those of the sources and compilers that docs/false-alarms.md names.
"""

import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Level
from fencewright.checker.nvidia.findings import JudgedFunction as JudgedPtx
from fencewright.checker.nvidia.findings import judged as judge_ptx
from fencewright.checker.verdicts.amd.judge import JudgedFunction as JudgedAmd
from fencewright.checker.verdicts.amd.judge import judged as judge_amd
from fencewright.checker.verdicts.solver import Steps
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools.dev.campaigns.labelled_kernels import WORDS, evidence
from fencewright.tools.reports.function_names import demangled

HEAD = ("project", "file", "kernel", "verdict", "evidence", "seconds")
_MOST_ARGUMENTS, _MOST_NAME = 24, 64


def rows_of(path: Path, project: str) -> Iterator[tuple[str, ...]]:
    """The rows of a file, one a kernel. Prints errors and warnings to stderr."""
    text = path.read_text(encoding="utf-8")
    results = _of_ptx(text, path) if path.suffix == ".ptx" else _of_amd(text, path)
    begin = time.process_time()
    for found in results:
        seconds = f"{time.process_time() - begin:.1f}"
        name = short(found.function.name)
        for each in found.findings:
            if each.level in (Level.ERROR, Level.WARNING):
                print(f"{path}:{each.line}: {each.level} [{each.rule}] {name}: {each.message}",
                      file=sys.stderr, flush=True)  # fmt: skip
        yield project, path.stem, name, WORDS[found.verdict.kind], _reason(found), seconds
        begin = time.process_time()


def _of_ptx(text: str, path: Path) -> Iterator[JudgedPtx]:
    file = read_ptx(text, str(path))
    steps = Steps(len(file.functions))
    for function in file.functions.values():
        # ``ret`` alone: CUB asks a device for its version with it.
        if function.is_entry and len([*function.instructions]) > 1:
            yield judge_ptx(file, function, steps=steps)


def _of_amd(text: str, path: Path) -> Iterator[JudgedAmd]:
    file = read_assembly(text, str(path))
    steps = Steps(len(file.functions))
    for function in file.functions.values():
        if function.descriptor:
            yield judge_amd(check(file, function), steps=steps)


def _reason(found: JudgedPtx | JudgedAmd) -> str:
    shown = re.sub(r"one as --launch .*", "a launch that was executed", evidence(found))
    return re.sub(r"\b_Z\w+_param_(\d+)", r"parameter \1", shown)


def short(name: str) -> str:
    """A kernel's name as a reader knows it: without parameters, with few template arguments."""
    text = demangled(name).replace("(anonymous namespace)", "anonymous")
    text = re.sub(r"^(?:void|int) |\b_V_\d+_SM_\d+::|\bdetail::", "", text)
    before, _, arguments = text.partition("(")[0].partition("<")
    cut = arguments[:_MOST_ARGUMENTS].rstrip(">")
    return f"{before}<{cut}>" if arguments else before[:_MOST_NAME]


def main() -> None:
    """Print the rows of all files of a folder, in the order of their paths."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="the beginning of a path in the folder")
    arguments = parser.parse_args()
    print(*HEAD, sep="\t")
    for path in sorted((*arguments.folder.glob("*/*.ptx"), *arguments.folder.glob("*/*.s"))):
        if not str(path.relative_to(arguments.folder)).startswith(arguments.only):
            continue
        project = path.parent.name.replace("+", "/").replace("@", " ")
        for row in rows_of(path, project):
            print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
