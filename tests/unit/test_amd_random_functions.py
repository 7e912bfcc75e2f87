"""Random functions in LLVM IR, compiled for AMD chips and run lane by lane, and by this machine's CPU.

All shares are 336 functions for each chip; seeds are kept.
"""

import ctypes
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from campaigns import Share, shares
from ir_functions import THREADS, WORDS, module_of

from fencewright.lowering.cdna.code.flow import CALLS
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.kernels.amd.calls import with_calls
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

CHIPS = ("gfx942", "gfx90a", "gfx950", "gfx908", "gfx1100", "gfx1200", "gfx1250")
FUNCTIONS = 12
"""In a module."""


def compiled(text: str, output: Path, *options: str) -> Path:
    llc = find_llvm_tool("llc")
    assert llc is not None
    subprocess.run([llc, "-O2", *options, "-o", output, "-"], input=text, text=True, check=True)
    return output


def host_library(text: str, folder: Path) -> ctypes.CDLL:
    linker = find_llvm_tool("ld.lld")
    assert linker is not None
    options = ("-filetype=obj", "-relocation-model=pic", "-mcpu=native")
    made = compiled(text, folder / "host.o", *options)
    library = folder / "host.so"
    subprocess.run([linker, "-shared", "-o", library, made], check=True)
    return ctypes.CDLL(str(library))


def inputs_of(seed: str) -> np.ndarray:
    """Words that are small, large, or numbers of each precision."""
    chance = random.Random(seed)
    given = np.array(
        [chance.getrandbits(chance.choice((4, 8, 16, 32, 64))) for _ in range(THREADS * WORDS)],
        dtype=np.uint64,
    )
    for n in range(0, len(given), 3):
        number = chance.choice(
            (0.0, 1.0, -1.5, 3e38, 1e-40, chance.gauss(0, 100), chance.gauss(0, 1))
        )
        types = {3: np.float16, 4: np.float32, 5: np.float64}
        with np.errstate(over="ignore"):
            given[n] = types.get(n % WORDS % 6, np.float32)(number).view(
                {3: np.uint16, 5: np.uint64}.get(n % WORDS % 6, np.uint32)
            )
    return given


def compared(
    seed: str, chip: str, folder: Path, count: int = FUNCTIONS, *, calls: bool = False
) -> list[str]:
    """The functions of a module that differ; ``calls``: kernels call them."""
    kernels, functions = module_of(seed, count)
    if calls:
        assert "alwaysinline" in kernels
        kernels = kernels.replace("alwaysinline", "noinline")
    library = host_library(functions, folder)
    options = (
        "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-fp-contract=off",
        "-disable-promote-alloca-to-vector", "-disable-promote-alloca-to-lds",
    )  # fmt: skip
    text = compiled(kernels, folder / "kernels.s", *options).read_text()
    found = read_assembly(text, "kernels.s").functions
    chance, wrong = random.Random(f"{seed} arguments"), list[str]()
    for n in range(count):
        given = inputs_of(f"{seed} {n}")
        a, b, c = (
            chance.getrandbits(chance.choice((3, 32))),
            chance.getrandbits(64),
            chance.choice((0.5, -7.0, 1e9)),
        )
        kernel = with_calls(found[f"f{n}"], found)
        assert any(each.mnemonic in CALLS for each in found[f"f{n}"].instructions) == calls
        program = program_of(kernel)
        launch = Launch((1, 1, 1), (THREADS, 1, 1), (given, np.zeros_like(given), a, b, c))
        memory = execute(
            program, launch, allocate(program, launch), lambda _: None, needs_results=True
        )
        results = memory.contents("out", np.uint64)
        expected = np.zeros_like(given)
        function = getattr(library, f"f{n}")
        function.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64,
            ctypes.c_float,
        ]  # fmt: skip
        for thread in range(THREADS):
            function(given.ctypes.data, expected.ctypes.data, thread, a, b, c)
        if (results != expected).any():
            place = int(np.flatnonzero(results != expected)[0])
            wrong.append(
                f"f{n}: output {place % WORDS} of thread {place // WORDS}: "
                f"{int(results[place]):#x}, not {int(expected[place]):#x}"
            )
    return wrong


needs_llvm = pytest.mark.skipif(
    find_llvm_tool("llc") is None or find_llvm_tool("ld.lld") is None, reason=LLVM_HINT
)


FAULTS_OF_LLVM_22 = {
    ("gfx1250 14", "f1"): "v_fma_mixlo_f16 adds +0 to a product that was -0",
    ("gfx1250 15", "f4"): "of two ways to a case that computes fabs, one leaves it out",
}
"""The functions that LLVM 22 miscompiles on every chip, by seed; read in the assembly."""


@needs_llvm
@pytest.mark.parametrize("share", shares(28))
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
