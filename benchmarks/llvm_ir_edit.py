"""LLVM IR edited by ``lower_llvm_ir`` and by ``fence-opt``, beside llc -O2 on the same text."""

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import inputs
from harness import Result, process_seconds

from fencewright.tools.llvm_tools import find_llvm_tool

_KERNELS = Path(__file__).parent.parent / "tests" / "data" / "triton" / "seven_kernels.py"
_PRODUCT = "large_split_k.gfx950"
_MADE = {
    "200,000 instructions, a tenth of the functions synchronise": partial(
        inputs.llvm_ir_kernels, functions=2_000, instructions=100, every=10, of_functions=10
    ),
    "200,000 instructions, each function synchronises once": partial(
        inputs.llvm_ir_kernels, functions=2_000, instructions=100, every=100
    ),
    "5,000 blocks in one function": partial(
        inputs.llvm_ir_kernels, blocks=5_000, instructions=10, every=10
    ),
    "2,000 atomics in one function": partial(inputs.llvm_ir_kernels, instructions=2_000, every=1),
    "8,000 atomics in one function": partial(inputs.llvm_ir_kernels, instructions=8_000, every=1),
}
_LLC_WITHOUT = ("5,000 blocks in one function", "8,000 atomics in one function")
"""What llc -O2 is not given: its time grows with the square, here to minutes."""


def _product(folder: Path) -> str | None:
    """Triton's matrix product, in the constants of LLVM 22; None without Triton."""
    from fencewright.mlir_dialects.llvm_ir.newer import in_older_words

    command = [sys.executable, "-W", "ignore", str(_KERNELS), "write", str(folder), _PRODUCT]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        return None
    text = (folder / f"{_PRODUCT}.ll").read_text()
    return in_older_words(text).replace('"amdgpu9.50-amd-amdhsa"', '"amdgcn-amd-amdhsa"')


def _modules(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each module with its name and chip."""
    if product := _product(folder):
        yield "matrix product of Triton 3.9, split-K, 256 x 256 x 128", "gfx950", product
    for name, make in _MADE.items():
        yield name, "gfx942", make()


def _seconds(text: str, chip: str) -> float:
    """CPU seconds of one call in a process that has made another one before."""
    from fencewright import lower_llvm_ir

    small = inputs.llvm_ir_kernels(instructions=2, every=1)
    lower_llvm_ir(small, chip, edit=True)
    gc.collect()
    start = time.process_time()
    lower_llvm_ir(text, chip, edit=True)
    return time.process_time() - start


def results() -> list[Result]:
    """CPU seconds of the function, of the command and of llc."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "input.ll")
        for title, chip, text in _modules(Path(name)):
            source.write_text(text)
            command = [sys.executable, "-m", "fencewright", "opt", str(source)]
            command += ["--mcpu", chip, "-t", "llvm"]
            llc = find_llvm_tool("llc")
            peer = "not run" if llc else "not measured"
            if llc and title not in _LLC_WITHOUT:
                llc_command = [llc, "-O2", f"-mcpu={chip}", "-o", "-", str(source)]
                peer = f"{process_seconds(llc_command, 1):.2f} s"
            ours = min(_seconds(text, chip) for _ in range(2))
            instructions = sum(line.startswith("  ") for line in text.splitlines())
            command_seconds = process_seconds(command, 1)
            rows.append(
                (title, f"{instructions:,}", f"{ours:.2f} s", f"{command_seconds:.2f} s", peer)
            )
    return [
        Result(
            "LLVM IR as an edit, beside llc",
            (
                "module",
                "instructions",
                "`lower_llvm_ir(edit=True)`",
                "fence-opt -t llvm",
                "llc -O2",
            ),
            tuple(rows),
            "CPU seconds (user and system), -O2: of one call in a warm process, and of whole "
            "processes, which read the text twice lest LLVM ends them. llc makes assembly of it.",
        )
    ]
