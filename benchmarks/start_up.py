"""How long the tools take to do next to nothing."""

import sys
import tempfile
from pathlib import Path

from harness import Result, least_seconds

_MODULE = """func.func @k(%p: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  scoped.fence release agent
  func.return
}
"""
_LLVM_IR = """define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") acquire, align 4
  fence syncscope("agent") release
  ret void
}
"""
_EXAMPLE = Path(__file__).parent.parent / "examples" / "litmus" / "message_passing.mlir"


def results() -> list[Result]:
    """Least of nine, warm."""
    with tempfile.TemporaryDirectory() as name:
        mlir, llvm_ir = Path(name, "input.mlir"), Path(name, "input.ll")
        mlir.write_text(_MODULE)
        llvm_ir.write_text(_LLVM_IR)
        lowered = ["--mcpu", "gfx942", "-t"]
        cases = {
            "python -c pass": ["-c", "pass"],
            "import fencewright.lower": ["-c", "from fencewright import lower"],
            "fence-opt --version": _tool("opt", "--version"),
            "fence-opt x.mlir": _tool("opt", str(mlir)),
            "fence-opt x.mlir --mcpu gfx942 -t asm": _tool("opt", str(mlir), *lowered, "asm"),
            "fence-opt x.ll --mcpu gfx942 -t llvm": _tool("opt", str(llvm_ir), *lowered, "llvm"),
            "fence-check --version": _tool("check", "--version"),
            "fence-sim --version": _tool("sim", "--version"),
            "fence-sim run message_passing.mlir --mcpu gfx942": _tool(
                "sim", "run", str(_EXAMPLE), *lowered[:2]
            ),
        }
        measured = {what: least_seconds([sys.executable, *run]) for what, run in cases.items()}
    rows = [
        (what, *(f"{1000 * seconds:.0f} ms" for seconds in both)) for what, both in measured.items()
    ]
    return [
        Result(
            "Start-up",
            ("command", "CPU time", "wall time"),
            tuple(rows),
            "Modules of two operations, caches warm; the last one also explores every state.",
        )
    ]


def _tool(*arguments: str) -> list[str]:
    return ["-m", "fencewright", *arguments]
