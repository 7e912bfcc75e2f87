"""Occupancy: what llc says of random kernels, what the manuals say, and what does not fit."""

import random
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES
from fencewright.lowering.cdna.performance.occupancy import RESERVED_SCALARS, SIMDS
from fencewright.lowering.ptx.performance.accesses import HIERARCHIES as PTX_HIERARCHIES
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.launch import LaunchError
from fencewright.simulator.execution.program import KernelResources
from fencewright.simulator.performance.occupancy import (
    Limit,
    groups_by_places,
    occupancy,
    vector_registers,
    waves_by_registers,
)
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

CDNA_CHIPS = tuple(each.chip for each in HIERARCHIES)
GRANULES = {each.chip: each.lds_granule for each in HIERARCHIES}


def resources(
    vector: int | None = 1, accumulation: int = 0, scalar: int = 0, shared: int = 0
) -> KernelResources:
    return KernelResources(vector, accumulation, scalar, shared, 0)


# llc


@dataclass(frozen=True)
class Drawn:
    """A kernel: how many registers of each kind it uses, its LDS, the sizes that its work-groups may have."""

    vector: int
    accumulation: int
    scalar: int
    lds: int
    sizes: tuple[int, int]


def drawn(chip: str, count: int, seed: int) -> Iterator[Drawn]:
    chance = random.Random(f"{chip} {seed}")
    for _ in range(count):
        largest = chance.choice((1, 63, 64, 65, 128, 192, 256, 300, 512, 640, 1024, 1000))
        yield Drawn(
            vector=chance.choice(
                (0, chance.randrange(1, 257), chance.choice((24, 25, 64, 65, 128)))
            ),
            accumulation=chance.choice((0, 0, chance.randrange(1, 257))),
            scalar=chance.choice((0, chance.randrange(70, 103))),
            lds=chance.choice((0, chance.randrange(1, CHIPS[chip].lds_bytes + 1), 4096, 33000)),
            sizes=(chance.choice((1, largest)), largest),
        )


def kernel_text(number: int, kernel: Drawn) -> str:
    last = (("v", kernel.vector), ("a", kernel.accumulation), ("s", kernel.scalar))
    clobbers = ",".join(f"~{{{file}{count - 1}}}" for file, count in last if count)
    lines = [f"define amdgpu_kernel void @k{number}() #{number} {{"]
    if clobbers:
        lines.append(f'  call void asm sideeffect "", "{clobbers}"()')
    if kernel.lds:
        lines.insert(0, f"@l{number} = internal addrspace(3) global [{kernel.lds} x i8] poison")
        lines.append(f"  store volatile i8 1, ptr addrspace(3) @l{number}")
    least, most = kernel.sizes
    lines += ["  ret void", "}"]
    lines.append(f'attributes #{number} = {{ "amdgpu-flat-work-group-size"="{least},{most}" }}')
    return "\n".join(lines)


PRINTED = re.compile(
    r"; TotalNumSgprs: (\d+)\n; NumVgprs: (\d+)\n; NumAgprs: (\d+)\n; TotalNumVgprs: (\d+)\n"
    r"(?:; .*\n)*?; LDSByteSize: (\d+)(?:.*\n; .*)*?\n; Occupancy: (\d+)"
)


def as_llc_says(chip: str, kernel: Drawn, scalar: int, vector: int, accumulation: int) -> int:
    """Waves of a SIMD for the better of the smallest and the largest work-group; LDS without granules."""

    def by_size(size: int) -> int:
        waves = -(-size // 64)
        groups = min(groups_by_places(chip, waves, kernel.lds).values())
        return max(-(-groups * waves // SIMDS), 1)

    used = resources(vector, accumulation, scalar - RESERVED_SCALARS)
    registers = min(waves_by_registers(chip, used).values())
    return max(min(registers, max(map(by_size, kernel.sizes))), 1)


def disagreements(chip: str, count: int, seed: int) -> tuple[int, list[tuple[object, ...]]]:
    """How many kernels llc was asked of, and those of which it says something else."""
    llc = find_llvm_tool("llc")
    if llc is None:
        pytest.skip(f"needs llc: {LLVM_HINT}")
    kernels = list(drawn(chip, count, seed))
    module = "\n".join(kernel_text(n, kernel) for n, kernel in enumerate(kernels))
    text = subprocess.run(
        [llc, "-O0", "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}"],
        input=module, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = PRINTED.findall(text)
    assert len(found) == len(kernels)
    wrong: list[tuple[object, ...]] = []
    for kernel, printed in zip(kernels, found, strict=True):
        scalar, vector, accumulation, together, lds, waves = map(int, printed)
        assert lds == kernel.lds
        granule = CHIPS[chip].vector_registers.granule
        expected = -(-max(together, 1) // granule) * granule
        ours = as_llc_says(chip, kernel, scalar, vector, accumulation)
        if (ours, vector_registers(chip, vector, accumulation)) != (waves, expected):
            wrong.append((kernel, ours, waves))
    return len(found), wrong


@pytest.mark.parametrize("chip", CDNA_CHIPS)
def test_llc_says_the_same(chip: str) -> None:
    assert disagreements(chip, 80, seed=0) == (80, [])


@pytest.mark.parametrize("chip", CDNA_CHIPS)
def test_lds_is_given_out_in_granules_which_llc_does_not_count(chip: str) -> None:
    size, granule = CHIPS[chip].lds_bytes, GRANULES[chip]
    lds = (size // 10 - 1) // granule * granule + 1
    groups = groups_by_places(chip, 1, lds)[Limit.SHARED_MEMORY]
    assert occupancy(resources(24, shared=lds), chip, 64).groups == groups - 1


# NVIDIA's header

HEADER = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/include/cuda_occupancy.h"

ASK = """
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
  int major, minor, threads, registers, fixed, dynamic, block, reserved, size;
  while (std::scanf("%d %d %d %d %d %d %d %d %d", &major, &minor, &threads, &size, &reserved,
                    &registers, &fixed, &dynamic, &block) == 9) {
    cudaOccDeviceProp chip{};
    chip.computeMajor = major; chip.computeMinor = minor; chip.warpSize = 32;
    chip.maxThreadsPerBlock = 1024; chip.maxThreadsPerMultiprocessor = threads;
    chip.regsPerBlock = chip.regsPerMultiprocessor = 65536; chip.numSms = 1;
    chip.sharedMemPerBlock = 48 * 1024; chip.sharedMemPerMultiprocessor = size;
    chip.reservedSharedMemPerBlock = reserved; chip.sharedMemPerBlockOptin = size - reserved;
    cudaOccFuncAttributes kernel{};
    kernel.maxThreadsPerBlock = 1024; kernel.numRegs = registers;
    kernel.sharedSizeBytes = fixed; kernel.maxDynamicSharedSizeBytes = dynamic;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    cudaOccDeviceState state{};
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &chip, &kernel, &state, block, dynamic);
    std::printf("%d\\n", error ? -error : result.activeBlocksPerMultiprocessor);
  }
}
"""


@dataclass(frozen=True)
class Block:
    """A launch on an SM; bytes of shared memory that the kernel has and that the launch adds."""

    number: int
    registers: int
    fixed: int
    dynamic: int
    threads: int


def blocks(count: int, seed: int) -> Iterator[Block]:
    chance = random.Random(seed)
    for chip in PTX_HIERARCHIES:
        for _ in range(count):
            yield Block(
                chip.number,
                registers=chance.choice((chance.randrange(16, 256), 32, 40, 64, 128, 255)),
                fixed=chance.choice((0, 0, chance.randrange(48 * 1024 + 1))),
                dynamic=chance.choice((0, chance.randrange(chip.shared_block), 16384)),
                threads=chance.choice((chance.randrange(1, 1025), 32, 96, 128, 256, 1024)),
            )


def what_the_header_says(asked: list[Block], folder: Path) -> list[int]:
    source, program = folder / "ask.cpp", folder / "ask"
    source.write_text(ASK)
    subprocess.run(["g++", f"-I{HEADER.parent}", source, "-o", program], check=True)
    rows = {each.number: each for each in PTX_HIERARCHIES}
    lines: list[str] = []
    for each in asked:
        row = rows[each.number]
        numbers = (
            each.number // 10, each.number % 10, row.threads.low, row.shared.low,
            row.shared_reserved.low, each.registers, each.fixed, each.dynamic, each.threads,
        )  # fmt: skip
        lines.append(" ".join(str(int(number)) for number in numbers))
    answer = subprocess.run(
        program, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [int(line) for line in answer.stdout.split()]


def as_we_say(each: Block) -> int:
    try:
        used = resources(each.registers, shared=each.fixed)
        return occupancy(used, f"sm_{each.number}", each.threads, each.dynamic).groups
    except LaunchError:
        return 0


@pytest.mark.skipif(
    not HEADER.is_file() or shutil.which("g++") is None, reason="needs g++ and NVIDIA's headers"
)
def test_nvidias_header_says_the_same(tmp_path: Path) -> None:
    asked = list(blocks(100, seed=0))
    said = what_the_header_says(asked, tmp_path)
    assert len(said) == len(asked) == 100 * len(PTX_HIERARCHIES)
    wrong = [(each, ours, theirs) for each, theirs in zip(asked, said, strict=True)
             if (ours := as_we_say(each)) != theirs]  # fmt: skip
    assert not wrong


# What the manuals say


@pytest.mark.parametrize(
    ("chip", "lds", "groups", "waves"),
    [
        # 64 KiB of CDNA 3 and 160 KiB of CDNA 4: three times the work-groups, and what never fit.
        ("gfx942", 32 * 1024, 2, 8),
        ("gfx950", 32 * 1024, 5, 20),
        ("gfx942", 48 * 1024, 1, 4),
        ("gfx950", 48 * 1024, 3, 12),
        ("gfx942", 64 * 1024, 1, 4),
        ("gfx950", 64 * 1024, 2, 8),
        ("gfx950", 160 * 1024, 1, 4),
    ],
)
def test_more_lds_is_more_waves(chip: str, lds: int, groups: int, waves: int) -> None:
    found = occupancy(resources(32, shared=lds), chip, 256)
    assert (found.groups, found.waves) == (groups, waves)
    assert found.limited_by == (Limit.SHARED_MEMORY,)


@pytest.mark.parametrize(
    ("target", "used", "threads", "text"),
    [
        ("gfx942", resources(128), 256,
         "4 work-groups, 16 of 32 waves of each CU: limited by vector registers"),
        ("gfx90a", resources(100, 28), 256,
         "4 work-groups, 16 of 32 waves of each CU: limited by vector registers"),
        ("gfx908", resources(64, 64), 256,
         "4 work-groups, 16 of 40 waves of each CU: limited by vector registers"),
        ("gfx908", resources(24, scalar=90), 64,
         "32 work-groups, 32 of 40 waves of each CU: limited by scalar registers"),
        ("gfx942", resources(24), 128,
         "16 work-groups, 32 of 32 waves of each CU: limited by places of waves and places of "
         "work-groups"),
        ("gfx942", resources(24), 1024,
         "2 work-groups, 32 of 32 waves of each CU: limited by places of waves"),
        ("sm_90", resources(64), 1024,
         "1 work-group, 32 of 64 waves of each SM: limited by vector registers"),
        ("sm_90", resources(None), 256,
         "at most 8 work-groups, 64 of 64 waves of each SM: limited by places of waves"),
        ("sm_120", resources(32), 32,
         "24 work-groups, 24 of 48 waves of each SM: limited by places of work-groups"),
    ],
)  # fmt: skip
def test_what_limits_it(target: str, used: KernelResources, threads: int, text: str) -> None:
    assert str(occupancy(used, target, threads)) == text


def test_memory_of_the_launch_counts_too() -> None:
    assert occupancy(resources(32, shared=16 * 1024), "gfx942", 64).groups == 4
    assert occupancy(resources(32, shared=16 * 1024), "gfx942", 64, 16 * 1024).groups == 2
    assert occupancy(resources(32), "sm_90", 32, 100 * 1024).groups == 2


def test_shared_memory_is_given_out_in_granules() -> None:
    """With the 1,024 bytes of the driver 165 granules of 128 bytes: eleven fit, of 256 bytes ten."""
    assert occupancy(resources(32, shared=20096), "sm_90", 32).groups == 11
    assert occupancy(resources(32, shared=20097), "sm_90", 32).groups == 10


# What does not fit


@pytest.mark.parametrize(
    ("target", "used", "threads", "message"),
    [
        ("gfx942", resources(32, shared=65537), 64,
         "a work-group with 65537 bytes of LDS does not fit a CU of gfx942: at most 65536"),
        ("gfx950", resources(32), 1025,
         "a work-group with 1025 threads does not fit a CU of gfx950: at most 1024"),
        ("gfx942", resources(136), 1024,
         "a work-group of 1024 threads does not fit a CU of gfx942: its vector registers let a SIMD "
         "hold 3 waves and it needs 4; give 768 threads or fewer, or compile for fewer registers"),
        ("gfx908", resources(24, 129), 512,
         "a work-group of 512 threads does not fit a CU of gfx908: its vector registers let a SIMD "
         "hold 1 waves and it needs 2; give 256 threads or fewer, or compile for fewer registers"),
        ("sm_90", resources(32, shared=228 * 1024), 64,
         "a work-group with 233472 bytes of shared memory does not fit an SM of sm_90: at most "
         "232448"),
        ("sm_75", resources(32), 1025,
         "a work-group with 1025 threads does not fit an SM of sm_75: at most 1024"),
        ("sm_90", resources(80), 1024,
         "a work-group of 1024 threads of 80 registers does not fit an SM of sm_90: give 768 threads "
         "or fewer, or compile for fewer registers"),
        ("sm_90", resources(256), 32,
         "a work-group with 256 registers a thread does not fit an SM of sm_90: at most 255"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line_that_says_what_to_give(
    target: str, used: KernelResources, threads: int, message: str
) -> None:
    with pytest.raises(LaunchError) as error:
        occupancy(used, target, threads)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gfx906", "unknown chip"),
        ("sm_50", "unknown chip"),
        ("gfx9-4-generic", "code for several chips"),
        ("gfx1250", "nothing public says how its caches"),
    ],
)
def test_a_chip_without_rows(target: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        occupancy(resources(), target, 64)
