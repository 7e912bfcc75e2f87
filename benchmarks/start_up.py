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
_NVIDIA_IR = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  fence syncscope("device") release
  ret void
}
"""
_PLAIN = """func.func @k(%p: !llvm.ptr<1>) {
  func.return
}
"""
_XDSL_OPT = "import sys; from xdsl.tools.xdsl_opt import main; sys.exit(main())"
_EXAMPLE = Path(__file__).parent.parent / "examples" / "litmus" / "message_passing.mlir"


def results() -> list[Result]:
    """Least of nine, warm."""
    with tempfile.TemporaryDirectory() as name:
        mlir, llvm_ir = Path(name, "input.mlir"), Path(name, "input.ll")
        nvidia_ir, plain = Path(name, "nvidia.ll"), Path(name, "plain.mlir")
        plain.write_text(_PLAIN)
        mlir.write_text(_MODULE)
        llvm_ir.write_text(_LLVM_IR)
        nvidia_ir.write_text(_NVIDIA_IR)
        cases = {
            "python -c pass": ["-c", "pass"],
            "import fencewright.lower": ["-c", "from fencewright import lower"],
            "xdsl-opt plain.mlir": ["-c", _XDSL_OPT, str(plain)],
            "fence-opt --version": _tool("opt", "--version"),
            "fence-opt plain.mlir": _tool("opt", str(plain)),
            "fence-opt x.mlir": _tool("opt", str(mlir)),
            **{
                f"fence-opt x.mlir --mcpu {chip} -t asm": _lowered(mlir, chip, "asm")
                for chip in ("gfx942", "gfx1250", "sm_90")
            },
            "fence-opt x.ll --mcpu gfx942 -t llvm": _lowered(llvm_ir, "gfx942", "llvm"),
            "fence-opt x.ll --mcpu sm_90 -t llvm": _lowered(nvidia_ir, "sm_90", "llvm"),
            "fence-check --version": _tool("check", "--version"),
            "fence-sim --version": _tool("sim", "--version"),
            "fence-sim run message_passing.mlir --mcpu gfx942": _tool(
                "sim", "run", str(_EXAMPLE), "--mcpu", "gfx942"
            ),
        }
        measured = {what: least_seconds([sys.executable, *run]) for what, run in cases.items()}
    rows = [(what, f"{1000 * seconds:.0f} ms") for what, seconds in measured.items()]
    return [
        Result(
            "Start-up",
            ("command", "CPU time"),
            tuple(rows),
            "Modules of two operations, caches warm; plain.mlir has none of ours. The last one "
            "also explores every state.",
        )
    ]


def _lowered(source: Path, chip: str, output: str) -> list[str]:
    return _tool("opt", str(source), "--mcpu", chip, "-t", output)


def _tool(*arguments: str) -> list[str]:
    return ["-m", "fencewright", *arguments]
