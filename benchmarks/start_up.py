"""How long the tools take to do next to nothing."""

import sys
import tempfile
from pathlib import Path

from harness import Result, wall_seconds

_MODULE = """func.func @k(%p: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  scoped.fence release agent
  func.return
}
"""


def results() -> list[Result]:
    """Best of nine, warm."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "input.mlir"
        source.write_text(_MODULE)
        opt = [sys.executable, "-m", "fencewright.tools.fence_opt", str(source)]
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import fencewright.lower": [sys.executable, "-c", "from fencewright import lower"],
            "fence-opt, parse and print": opt,
            "fence-opt --mcpu gfx942 -t asm": [*opt, "--mcpu", "gfx942", "-t", "asm"],
        }
        rows = [(what, f"{1000 * wall_seconds(run):.0f} ms") for what, run in cases.items()]
    return [
        Result(
            "Start-up",
            ("command", "wall time"),
            tuple(rows),
            "On a module of two operations, caches warm.",
        )
    ]
