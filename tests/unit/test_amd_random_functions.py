"""Random functions in LLVM IR, compiled for AMD chips and run lane by lane, and by this machine's CPU.

All shares are 336 functions for each chip; seeds are kept.
"""

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

from fencewright.lowering.cdna.code.flow import CALLS
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.kernels.amd.kernel import program_of, with_calls

CHIPS = ("gfx942", "gfx90a", "gfx950", "gfx908", "gfx1030", "gfx1100", "gfx1200", "gfx1250")


def compared(
    seed: str, chip: str, folder: Path, count: int = FUNCTIONS, *, calls: bool = False
) -> list[str]:
    """The functions of a module that differ; ``calls``: kernels call them."""
    modules = modules_of(seed, count)
    options = (
        "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-fp-contract=off",
        "-disable-promote-alloca-to-vector", "-disable-promote-alloca-to-lds",
    )  # fmt: skip
    kernels = kernels_of(modules.amd, calls=calls)
    text = compiled(kernels, folder / "kernels.s", *options).read_text()
    found = read_assembly(text, "kernels.s").functions

    def outputs(case: Case) -> np.ndarray:
        kernel = with_calls(found[case.name], found)
        assert any(each.mnemonic in CALLS for each in found[case.name].instructions) == calls
        program = program_of(kernel)
        launch = Launch((1, 1, 1), (THREADS, 1, 1), case.arguments)
        memory = execute(
            program, launch, allocate(program, launch), lambda _: None, needs_results=True
        )
        return memory.contents("out", np.uint64)

    return differences(cases_of(seed, count, modules.host, folder), outputs)


FAULTS_OF_LLVM_22 = {
    ("gfx1250 14", "f1"): "v_fma_mixlo_f16 adds +0 to a product that was -0",
    ("gfx1250 15", "f4"): "of two ways to a case that computes fabs, one leaves it out",
    ("gfx1030 24", "f3"): "of two ways to a case that negates, one leaves it out",
}
"""The functions that LLVM 22 miscompiles on every chip, by seed; read in the assembly."""


@needs_llvm
@pytest.mark.parametrize("share", draws(28))
@pytest.mark.parametrize("chip", CHIPS)
def test_random_functions_compute_what_the_cpu_does(
    chip: str, share: Share, tmp_path: Path
) -> None:
    seed = f"{chip} {share.number}"
    found = {each.partition(":")[0]: each for each in compared(seed, chip, tmp_path)}
    assert [each for name, each in found.items() if (seed, name) not in FAULTS_OF_LLVM_22] == []


@needs_llvm
@pytest.mark.parametrize("chip", CHIPS)
def test_called_functions_compute_what_the_cpu_does(chip: str, tmp_path: Path) -> None:
    assert compared(f"{chip} calls", chip, tmp_path, 4, calls=True) == []
