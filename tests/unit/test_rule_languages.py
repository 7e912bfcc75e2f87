"""The kernels of the rules' pages are CUDA and HIP: compilers take them."""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import which

import pytest

from fencewright.checker.findings.advice import ADVICE, Advice, Pair

_CUDA = """#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/ptx>
#include <cuda_pipeline.h>
"""
_HIP = """#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct Index { unsigned x; };
static __attribute__((device)) inline Index thread() { return {__builtin_amdgcn_workitem_id_x()}; }
static __attribute__((device)) inline Index block() { return {__builtin_amdgcn_workgroup_id_x()}; }
static __attribute__((device)) inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define threadIdx thread()
#define blockIdx block()
"""
_NVCC = ("nvcc", "-std=c++17", "-arch=sm_90a", "-ptx", "-lineinfo")
_CLANG = (
    "clang-22", "-x", "hip", "--offload-device-only", "-nogpulib", "-nogpuinc",
    "--offload-arch=gfx942", "-O2", "-S",
)  # fmt: skip
_LANGUAGES = {"cuda": (_CUDA, _NVCC, ".cu"), "hip": (_HIP, _CLANG, ".hip")}

_PAIRS: Mapping[str, Callable[[Advice], Pair | None]] = {
    "cuda": lambda advice: advice.cuda,
    "hip": lambda advice: advice.hip,
}
BODIES = {
    language: {
        f"{rule}_{kind}".replace("-", "_"): body
        for rule, advice in ADVICE.items()
        if (pair := pair_of(advice)) is not None
        for kind, body in (("bad", pair.bad), ("good", pair.good))
    }
    for language, pair_of in _PAIRS.items()
}


def _kernel(name: str, body: str) -> str:
    """A kernel whose errors have its name in place of the file's."""
    head = f'extern "C" __global__ void {name}(int *data, int *flag, int *out) {{'
    return f'{head}\n#line 1 "{name}"\n{body}}}\n'


def compiled(language: str, bodies: Mapping[str, str], folder: Path) -> tuple[str, str]:
    """The assembly of kernels in one file, "" where the compiler refuses it, and its errors."""
    head, (compiler, *options), suffix = _LANGUAGES[language]
    if which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, made = folder / f"kernels{suffix}", folder / "kernels.s"
    source.write_text(head + "".join(_kernel(name, body) for name, body in bodies.items()))
    command = (compiler, *options, str(source), "-o", str(made))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (made.read_text() if done.returncode == 0 else ""), done.stderr


@pytest.mark.parametrize("language", BODIES)
def test_a_compiler_takes_the_kernels(language: str, tmp_path: Path) -> None:
    text, errors = compiled(language, BODIES[language], tmp_path)
    assert text, errors
    made = re.findall(r"(?m)^(?:\.visible \.entry )?(\w+)[:(]", text)
    assert BODIES[language].keys() <= {*made}


@pytest.mark.parametrize("language", BODIES)
def test_a_kernel_that_is_no_code_is_named(language: str, tmp_path: Path) -> None:
    text, errors = compiled(
        language, {"right": "  *out = 1;\n", "wrong": "  *out = x;\n"}, tmp_path
    )
    assert not text
    assert "wrong" in errors
