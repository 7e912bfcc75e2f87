"""Whether edited LLVM IR goes back into the Triton that it came from.

``python -m fencewright.tools.dev.campaigns.triton_texts [--python PYTHON] [--chips CHIP ...]``:
seven kernels of the Triton that PYTHON has, for each chip, are lowered as edits of their text, and
Triton's own LLVM makes machine code of what comes out. A line each says how many of its lines went
and came, and whether Triton reads it. The status is 1 if it does not read one of them. Needs a
checkout.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from fencewright.lowering.cdna.chips import GFX942, GFX950
from fencewright.passes.pipelines import lower_llvm_ir

SCRIPT = Path(__file__).resolve().parents[3] / "tests" / "data" / "triton" / "seven_kernels.py"
KERNELS = "split_k stream_k flash layer_norm_backward look_back histogram softmax_grid".split()
CHIPS = (GFX942.name, GFX950.name, "sm_90", "sm_100")


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The round trip of one text: lines gone and come; whether it is the same string, and read."""

    name: str
    gone: int
    come: int
    same: bool
    read: bool

    @property
    def line(self) -> str:
        """One line that says so."""
        changes = "the same string" if self.same else f"{self.gone} lines gone, {self.come} come"
        return f"{self.name}: {changes}; {'read' if self.read else 'NOT READ'}"


def round_trips(python: str, names: Sequence[str]) -> list[RoundTrip]:
    """Each of ``names``, as ``split_k.gfx942``, through the Triton of ``python``.

    Raises ``CalledProcessError`` if that has no Triton which makes them.
    """
    with tempfile.TemporaryDirectory() as folder:
        _run(python, "write", folder, names)
        edits = {name: _edit(Path(folder, f"{name}.ll"), name.partition(".")[2]) for name in names}
        read = _run(python, "read", folder, names).split()
    return [
        RoundTrip(
            name,
            sum(line.startswith("-") for line in lines),
            sum(line.startswith("+") for line in lines),
            same,
            name in read,
        )
        for name, (lines, same) in edits.items()
    ]


def _run(python: str, command: str, folder: str, names: Sequence[str]) -> str:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(Path(folder, "cache"))}
    arguments = [python, "-W", "ignore", str(SCRIPT), command, folder, *names]
    done = subprocess.run(arguments, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _edit(path: Path, chip: str) -> tuple[list[str], bool]:
    """Lower the text of a file in place: the lines that differ; True for the same string."""
    text = path.read_text()
    edited = lower_llvm_ir(text, chip, edit=True, file=str(path))
    path.write_text(edited)
    same = edited is text
    changes = unified_diff(text.splitlines(), edited.splitlines(), n=0, lineterm="")
    return [] if same else [*changes][2:], same


def main() -> int:
    """Print a line for each kernel and chip, and how many Triton reads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python that has Triton")
    parser.add_argument("--chips", nargs="+", default=CHIPS, choices=(*CHIPS, "sm_80"))
    asked = parser.parse_args()
    found = round_trips(
        asked.python, [f"{name}.{chip}" for chip in asked.chips for name in KERNELS]
    )
    for each in found:
        print(each.line)
    read = sum(each.read for each in found)
    print(f"{read} of {len(found)} go back, {sum(each.same for each in found)} the same string")
    return read < len(found)


if __name__ == "__main__":
    sys.exit(main())
