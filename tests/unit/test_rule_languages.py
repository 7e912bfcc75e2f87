"""The kernels of the rules' pages are CUDA and HIP: compilers take them."""

import subprocess
from pathlib import Path
from shutil import which

import pytest
from campaigns import some_of

from fencewright.checker.findings.advice import ADVICE

_CUDA = """#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/ptx>
#include <cuda_pipeline.h>
extern "C" __global__ void kernel(int *data, int *flag, int *out) {
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
extern "C" __global__ void kernel(int *data, int *flag, int *out) {
"""
_NVCC = ("nvcc", "-std=c++17", "-arch=sm_90a", "-ptx", "-lineinfo")
_CLANG = (
    "clang-22", "-x", "hip", "--offload-device-only", "-nogpulib", "-nogpuinc",
    "--offload-arch=gfx942", "-O2", "-S",
)  # fmt: skip
_LANGUAGES = {"cuda": (_CUDA, _NVCC), "hip": (_HIP, _CLANG)}

BODIES = {
    f"{rule}-{language}-{kind}": (language, body)
    for rule, advice in ADVICE.items()
    for language, pair in (("cuda", advice.cuda), ("hip", advice.hip))
    if pair is not None
    for kind, body in (("bad", pair.bad), ("good", pair.good))
}


@pytest.mark.parametrize("name", some_of(sorted(BODIES), 4))
def test_a_compiler_takes_the_kernel(name: str, tmp_path: Path) -> None:
    language, body = BODIES[name]
    head, (compiler, *options) = _LANGUAGES[language]
    if which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / f"kernel.{language}"
    source.write_text(f"{head}{body}}}\n")
    if language == "cuda":
        source = source.rename(source.with_suffix(".cu"))
    command = (compiler, *options, str(source), "-o", str(tmp_path / "kernel.s"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "kernel" in (tmp_path / "kernel.s").read_text()
