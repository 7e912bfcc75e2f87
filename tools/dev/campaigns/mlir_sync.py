"""The share of the synchronisation in a folder of MLIR files that ``--mlir-sync`` understands.

``python -m fencewright.tools.dev.campaigns.mlir_sync FOLDER..`` splits every ``.mlir`` file as
``mlir-opt
--split-input-file`` does, has ``mlir-opt`` print each piece in generic form and imports that; with
``--refused`` it also prints what is refused, by name and reason. Pieces that ``mlir-opt`` does not
take, as the tests of its errors, are left out.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from fencewright.mlir_dialects.llvm_ir.dialect import ACCESS
from fencewright.passes.scoped.import_mlir_sync import FOREIGN, Refusal, import_sync, name_of
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.tools.inputs.mlir_sync import generic_mlir
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)
_MLIR_OPT = ("--mlir-print-op-generic", "--allow-unregistered-dialect")


@dataclass
class Found:
    """The kinds of the pieces of a folder, and their operations by name."""

    pieces: Counter[str] = field(default_factory=Counter[str])
    understood: Counter[str] = field(default_factory=Counter[str])
    noted: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])

    def take(self, piece: str, mlir_opt: str) -> None:
        """Count a piece of a file."""
        done = subprocess.run(
            [mlir_opt, *_MLIR_OPT], input=piece, capture_output=True, text=True, check=False
        )
        if done.returncode:
            self.pieces["not MLIR 22"] += 1
            return
        try:
            module = LocatedParser(generic_mlir(), done.stdout, "-").parse_module()
        except (ParseError, VerifyException, DiagnosticException, NotImplementedError):
            # Files that xDSL cannot parse are a figure of the table.
            self.pieces["not read"] += 1
            return
        refused = import_sync(module)
        self.refused.update(name_of(each.op) for each in refused)
        self.reasons.update(f"{name_of(each.op)}: {each.reason}" for each in refused)
        understood = [was for op in module.walk() if (was := _was(op))]
        noted = [name_of(op) for op in module.walk() if ACCESS in op.attributes]
        self.understood.update(understood)
        self.noted.update(noted)
        self.pieces[_kind_of([*understood, *noted], refused)] += 1


def _kind_of(understood: list[str], refused: list[Refusal]) -> str:
    if refused:
        return "refused by name"
    return "understood" if understood else "without synchronisation"


def _was(op: Operation) -> str:
    kept = op.attributes.get(FOREIGN)
    return "" if kept is None else str(cast(Any, kept).data["name"].data)


def pieces_of(folder: Path) -> Iterator[str]:
    """The pieces of the files in a folder."""
    for path in sorted(folder.rglob("*.mlir")):
        yield from _SPLIT.split(path.read_text(errors="replace"))


def main(arguments: list[str]) -> int:
    """Print a line for each folder."""
    mlir_opt = find_llvm_tool("mlir-opt")
    if mlir_opt is None:
        print(f"needs mlir-opt: {LLVM_HINT}", file=sys.stderr)
        return 1
    for folder in (each for each in arguments if each != "--refused"):
        found = Found()
        for piece in pieces_of(Path(folder)):
            found.take(piece, mlir_opt)
        pieces = ", ".join(f"{count} {kind}" for kind, count in sorted(found.pieces.items()))
        print(f"{folder}: pieces: {pieces}")
        print(
            f"  operations: {found.understood.total()} understood of {len(found.understood)} "
            f"names, {found.noted.total()} noted, {found.refused.total()} refused of "
            f"{len(found.refused)} names"
        )
        if "--refused" in arguments:
            print(*(f"  {count:5} {why}" for why, count in found.reasons.most_common()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
