"""Random functions in LLVM IR, compiled for NVIDIA's chips and run thread by thread, and by this machine's CPU.

The functions of ``ir_functions``, which AMD's chips execute too; seeds are kept.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from campaigns import Share, draws
from ir_functions import THREADS, modules_of
from random_functions import (
    FUNCTIONS,
    Case,
    cases_of,
    compiled,
    differences,
    kernels_of,
    needs_llvm,
)

import fencewright
from fencewright.tools.llvm_tools import find_llvm_tool

CHIPS = ("sm_90", "sm_100", "sm_70")


def ptx_of(kernels: str, chip: str, folder: Path) -> str:
    """The kernels by ``opt``, which puts bodies into them, and ``llc``."""
    opt = find_llvm_tool("opt")
    assert opt is not None
    inline = subprocess.run(
        [opt, "-S", "-passes=always-inline", "-o", "-", "-"],
        input=kernels, text=True, check=True, capture_output=True,
    ).stdout  # fmt: skip
    options = ("-mtriple=nvptx64-nvidia-cuda", f"-mcpu={chip}", "-fp-contract=off")
    return compiled(inline, folder / "kernels.ptx", *options).read_text()


def compared(
    seed: str, chip: str, folder: Path, count: int = FUNCTIONS, *, calls: bool = False
) -> list[str]:
    """The functions of a module that differ; ``calls``: kernels call them."""
    modules = modules_of(seed, count)
    text = ptx_of(kernels_of(modules.nvidia, calls=calls), chip, folder)
    assert ("call.uni" in text) == calls

    def outputs(case: Case) -> np.ndarray:
        return fencewright.execute(text, case.name, block=THREADS, args=case.arguments)[1]

    return differences(cases_of(seed, count, modules.host, folder), outputs)


@needs_llvm
@pytest.mark.parametrize("share", draws(28))
@pytest.mark.parametrize("chip", CHIPS)
def test_random_functions_compute_what_the_cpu_does(
    chip: str, share: Share, tmp_path: Path
) -> None:
    assert compared(f"{chip} {share.number}", chip, tmp_path) == []


@needs_llvm
@pytest.mark.parametrize("chip", CHIPS)
def test_called_functions_compute_what_the_cpu_does(chip: str, tmp_path: Path) -> None:
    assert compared(f"{chip} calls", chip, tmp_path, 4, calls=True) == []
