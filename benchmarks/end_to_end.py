"""fence-opt from MLIR text to assembly beside llc from LLVM IR, the same operations in one run."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import inputs
from harness import Result, process_seconds

from fencewright.tools.llvm_tools import find_llvm_tool

_PER_FUNCTION = 10
_LLC_LIMIT = 10_000
"""The most operations in one function that llc -O2 is given: its time grows with the square."""
_SHAPES = tuple(
    (size, own) for size in (100, 1_000, 10_000, 100_000) for own in (_PER_FUNCTION, size)
)
"""Operations, and operations in a function."""


def _chips(operations: int, per_function: int) -> Sequence[str]:
    is_large = operations >= 10_000 and per_function < operations
    return ("gfx942", "gfx1250", "sm_90") if is_large else ("gfx942",)


def _fence_opt(source: Path, *arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "fencewright", "opt", str(source), *arguments]


def _rows(folder: Path, operations: int, per_function: int) -> Iterator[tuple[str, ...]]:
    """A row for each chip; what is parsed and printed is the same for all of them."""
    mlir, llvm = folder / "input.mlir", folder / "input.ll"
    mlir.write_text(inputs.mlir(operations, per_function))
    llvm.write_text(inputs.llvm_ir(operations, per_function))
    runs = 3 if operations < 10_000 else 1
    one_function = per_function >= operations
    shape = "one function" if one_function else f"{operations // per_function:,} functions"
    printed = process_seconds(_fence_opt(mlir), runs)
    for chip in _chips(operations, per_function):
        ours = process_seconds(_fence_opt(mlir, "--mcpu", chip, "-t", "asm"), runs)
        peers = ["not measured", "not measured"]
        if chip.startswith("sm_"):
            peers = ["", ""]  # Its text is LLVM IR for AMD.
        elif llc := find_llvm_tool("llc"):
            skip = one_function and operations > _LLC_LIMIT
            command = [llc, f"-mcpu={chip}", "-o", "-", str(llvm)]
            peers = [
                f"{process_seconds([*command, level], runs):.2f} s"
                if not (skip and level == "-O2")
                else "not run: it grows with the square"
                for level in ("-O2", "-O0")
            ]
        yield chip, f"{operations:,}", shape, f"{ours:.2f} s", *peers, f"{printed:.2f} s"


def results() -> list[Result]:
    """CPU seconds at each size, in functions of ten operations and in one function."""
    with tempfile.TemporaryDirectory() as name:
        rows = [row for shape in _SHAPES for row in _rows(Path(name), *shape)]
    return [
        Result(
            "fence-opt beside llc",
            ("chip", "operations", "in", "fence-opt", "llc -O2", "llc -O0", "parsed and printed"),
            tuple(rows),
            "CPU seconds (user and system) of the whole process, text in, assembly out. A quarter "
            "each of acquire loads, release stores, acq_rel read-modify-writes and seq_cst fences "
            "over four scopes. Parsed and printed: by fence-opt, without a chip.",
        )
    ]
