"""Whole kernels on the GPU at hand, counted by Nsight Compute, beside what ``fence-sim traffic``
says.

Four steps, since the profiler starts the third:

``python memory_kernels.py compile FOLDER``
``python memory_kernels.py metrics``
``ncu --csv --clock-control none --metrics METRICS
python memory_kernels.py launch FOLDER > COUNTED``
``python memory_kernels.py compare COUNTED``

``launch`` needs neither numpy nor xDSL. It ends with status 1 if a kernel computes something
wrong.
"""

import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from operator import mul
from pathlib import Path

from fencewright import gpu
from fencewright.tools.dev.campaigns.executed_kernels import Placed, placed

ROOT = Path(__file__).parents[2]
CHIP = "sm_90"
MASK = 0xFFFFFFFF

Words = list[int]


def scattered(count: int) -> Words:
    """Words that look random and are the same everywhere."""
    return [*_scattered(count)]


@cache
def _scattered(count: int) -> tuple[int, ...]:
    return tuple([index * 2654435761 >> 9 & MASK for index in range(count)])


def small(count: int) -> Words:
    """Words whose products and sums stay small."""
    return [each & 15 for each in scattered(count)]


def zeros(count: int) -> Words:
    """Words of 0."""
    return [0] * count


@dataclass(frozen=True, slots=True)
class Buffer:
    """An argument in memory: ``count`` words of 32 bits that ``fill`` makes."""

    count: int
    fill: Callable[[int], Words] = zeros


Argument = Buffer | int
Result = Callable[[list[Words]], Words]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel of examples/ and what it is started with.

    ``output``: which buffer has what ``result`` says of the others.
    """

    name: str
    file: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    output: int
    result: Result = field(repr=False)

    @property
    def kernel(self) -> str:
        """The name of the kernel: that of its file."""
        return Path(self.file).stem


N = 1024
SIDE = 256
PITCH = N + 2
LINES = 64
TILES = 64
ROUNDS = 4
THREADS = 262144


def _copied(stride: int) -> Result:
    return lambda given: [given[0][each * stride] for each in range(THREADS)]


def _transposed(given: list[Words]) -> Words:
    return [given[0][row * N + column] for column in range(N) for row in range(N)]


def _histogram(given: list[Words]) -> Words:
    found = zeros(256)
    for word in given[0]:
        found[word & 255] += 1
    return found


def _sum(given: list[Words]) -> Words:
    return [sum(given[0]) & MASK]


def _product(given: list[Words]) -> Words:
    a, b = given[0], given[1]
    columns = [b[each::SIDE] for each in range(SIDE)]
    rows = [a[each * SIDE : (each + 1) * SIDE] for each in range(SIDE)]
    return [sum(map(mul, row, column)) & MASK for row in rows for column in columns]


def _stencil(given: list[Words]) -> Words:
    words, found = given[0], zeros(PITCH * (LINES + 2))
    for line in range(1, LINES + 1):
        for column in range(1, N + 1):
            here = line * PITCH + column
            near = (here, here - PITCH, here + PITCH, here - 1, here + 1)
            found[here] = sum(words[each] for each in near) & MASK
    return found


def _sums(given: list[Words]) -> Words:
    total, found = 0, Words()
    for word in given[2]:
        total = total + word & MASK
        found.append(total)
    return found


def _transpose(kind: str) -> Launch:
    arguments = (Buffer(N * N, scattered), Buffer(N * N), N)
    file = f"memory/transpose_{kind}.mlir"
    return Launch(f"transpose, {kind}", file, (32, 32, 1), (32, 8, 1), arguments, 1, _transposed)


def _copy(stride: int) -> Launch:
    arguments = (Buffer(THREADS * stride, scattered), Buffer(THREADS), stride)
    return Launch(
        f"copy, stride {stride}", "memory/copy.mlir", (1024, 1, 1), (256, 1, 1), arguments, 1,
        _copied(stride),
    )  # fmt: skip


LAUNCHES = (
    *map(_copy, (1, 2, 8, 32)),
    *map(_transpose, ("naive", "padded", "swizzled")),
    Launch(
        "histogram", "memory/histogram.mlir", (1024, 1, 1), (256, 1, 1),
        (Buffer(THREADS, scattered), Buffer(256)), 1, _histogram,
    ),
    Launch(
        "reduction", "memory/reduction.mlir", (1024, 1, 1), (256, 1, 1),
        (Buffer(THREADS, scattered), Buffer(1)), 1, _sum,
    ),
    Launch(
        "matrix product", "memory/matrix_product.mlir", (16, 16, 1), (16, 16, 1),
        (Buffer(SIDE * SIDE, small), Buffer(SIDE * SIDE, small), Buffer(SIDE * SIDE), SIDE), 2,
        _product,
    ),
    Launch(
        "stencil", "memory/stencil.mlir", (N // 256, LINES, 1), (256, 1, 1),
        (Buffer(PITCH * (LINES + 2), scattered), Buffer(PITCH * (LINES + 2)), PITCH), 1, _stencil,
    ),
    Launch(
        "look-back scan", "kernels/look_back_scan.mlir", (TILES, 1, 1), (256, 1, 1),
        (Buffer(1), Buffer(2 * TILES), Buffer(TILES * 4096, small), Buffer(TILES * 4096)), 3,
        _sums,
    ),
    Launch(
        "spin lock", "kernels/spin_lock.mlir", (16, 1, 1), (128, 1, 1),
        (Buffer(1), Buffer(128), ROUNDS), 1, lambda _: [16 * ROUNDS] * 128,
    ),
)  # fmt: skip

_WAVES = (
    Launch(
        "reduction", "memory/reduction_waves.mlir", (1024, 1, 1), (256, 1, 1),
        (Buffer(THREADS, scattered), Buffer(1)), 1, _sum,
    ),
    Launch(
        "look-back scan", "memory/look_back_scan_waves.mlir", (TILES, 1, 1), (256, 1, 1),
        (Buffer(64), Buffer(2 * (TILES + 64)), Buffer(TILES * 256, small), Buffer(TILES * 256),
         TILES), 3, _sums,
    ),
    Launch(
        "spin lock", "memory/spin_lock_waves.mlir", (16, 1, 1), (128, 1, 1),
        (Buffer(64), Buffer(128), ROUNDS), 1, lambda _: [16 * ROUNDS] * 128,
    ),
)  # fmt: skip
"""Kernels whose branches diverge, in a form in which each wave of 64 lanes branches as a whole."""
CDNA_LAUNCHES = tuple({each.name: each for each in (*LAUNCHES, *_WAVES)}.values())
"""The same kernels as the CDNA path of MLIR takes them."""

METRICS = (
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__m_l1tex2xbar_write_sectors.sum",
    *(f"lts__t_sectors_srcunit_tex_op_{op}.sum" for op in ("read", "write", "red", "atom")),
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
    "smsp__inst_executed.sum",
    "gpu__time_duration.sum",
)


def assembly_of(launch: Launch, folder: Path) -> Path:
    """Where the PTX of a kernel is."""
    return folder / f"{launch.kernel}.ptx"


def compile_all(folder: Path) -> int:
    """Write every kernel's PTX."""
    from fencewright.tools.fence_opt import main as fence_opt

    folder.mkdir(parents=True, exist_ok=True)
    for launch in LAUNCHES:
        file, to = str(ROOT / "examples" / launch.file), str(assembly_of(launch, folder))
        status = fence_opt([file, "--mcpu", CHIP, "-t", "asm", "-o", to])
        if status:
            return status
    return 0


def counted(file: Path) -> dict[str, dict[str, int]]:
    """What Nsight Compute counted of each launch, from a file of its counters."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            counter, value = line.split()
            found[name][counter] = int(value)
        elif not line.startswith("#"):
            name = line
            found[name] = {}
    return found


def launch_all(folder: Path) -> int:
    """Launch each kernel once; status 1 if one computes something wrong."""
    device = gpu.Device()
    wrong = 0
    for launch in LAUNCHES:
        kernel = device.load(assembly_of(launch, folder).read_text()).kernel(launch.kernel)
        given = [each.fill(each.count) for each in launch.arguments if isinstance(each, Buffer)]
        memories = [placed(device, 4 * len(words)) for words in given]
        for memory, words in zip(memories, given, strict=True):
            memory.buffer.write(array("I", words), memory.offset)
        left = iter(memories)
        values = [next(left) if isinstance(each, Buffer) else each for each in launch.arguments]
        kernel.launch(launch.grid, launch.block, values)
        wanted = array("I", launch.result(given)).tobytes()
        place = values[launch.output]
        assert isinstance(place, Placed)
        if place.buffer.read(len(wanted), place.offset) != wanted:
            print(f"{launch.name}: wrong", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("step", choices=("compile", "metrics", "launch"))
    parser.add_argument("place", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "metrics":
        print(",".join(METRICS))
        return 0
    if arguments.step == "compile":
        return compile_all(arguments.place)
    return launch_all(arguments.place)


if __name__ == "__main__":
    sys.exit(main())
