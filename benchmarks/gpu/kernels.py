"""Runs kernels written in ``scoped`` beside their twins in CUDA C++ with libcu++, on one GPU.

``python benchmarks/gpu/kernels.py --out DIR`` lowers examples/kernels/*.mlir at every level of
``LEVELS``, compiles the twins of benchmarks/gpu/kernels/*.cu with nvcc, runs all, checks what they
compute, and writes DIR/gpu-kernels.md and DIR/gpu-kernels.json. One ptxas, nvcc's, assembles
both. Where the GPU's machine lacks nvcc or xDSL, ``--build DIR`` makes the binaries elsewhere, and
``--built DIR`` takes them from there. Exit status: 1 if a result is wrong, or a kernel at the
highest level slower than at another or than its twin by more than ``TOLERANCE``; 2 if nothing
could be built or run.
"""

import argparse
import json
import operator
import random
import re
import shutil
import struct
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from itertools import accumulate, product
from pathlib import Path
from statistics import median
from typing import ClassVar, Literal, Protocol, TypeAlias

from fencewright.gpu import Addressed, Argument, Device, GpuError, Kernel, description
from fencewright.tools.reports.markdown import markdown_row, markdown_table

_ROOT = Path(__file__).parents[2]
KERNELS = _ROOT / "examples" / "kernels"
TWINS = Path(__file__).parent / "kernels"
ARCHITECTURE = "sm_90a"
Level: TypeAlias = Literal[0, 2]

LEVELS: tuple[Level, ...] = (0, 2)
"""The levels of optimisation (``fence-opt -O``); the last is compared with the others."""

TOLERANCE = 0.01
"""How much slower than its twin, or than at a lower level, a kernel may seem.

The ratio of one pair moved by up to 0.007 from run to run on an H200.
"""

RUNS, SAMPLES = 3, 15
_POISON = 0xDEADBEEF
_SECONDS = 30.0
"""How long a sample may take before it counts as hanging."""


# Building


class BuildError(Exception):
    """A tool is missing, or said no."""


def lower_kernel(source: Path, level: Level) -> str:
    """The PTX of a kernel written in ``scoped``.

    A reader of a stage owes the next bulk copy into it a proxy fence only by the letter of the
    memory model (``fence_reads``); the twin, like every TMA pipeline in use, has none.
    """
    # The machine with the GPU may have no xDSL.
    from fencewright.passes.pipelines import PTXPipeline
    from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass

    steps = [
        replace(step, fence_reads=False) if isinstance(step, InsertProxyFencesPass) else step
        for step in PTXPipeline(ARCHITECTURE, opt_level=level).passes()
    ]
    passes = ",".join(str(step.pipeline_pass_spec()) for step in steps)
    command = [sys.executable, "-m", "fencewright.tools.fence_opt", str(source)]
    return _output([*command, "-p", passes, "-t", "ptx"])


def assemble(ptx: Path, cubin: Path) -> None:
    """Assemble PTX with the ptxas that nvcc uses, at its default level (-O3)."""
    _output([_tool("ptxas"), f"-arch={ARCHITECTURE}", str(ptx), "-o", str(cubin)])


def compile_twin(twin: "Twin", cubin: Path) -> None:
    """Compile a twin as a release build does."""
    flags = [f"-arch={ARCHITECTURE}", "-O3", "-std=c++17", "-cubin", *twin.flags]
    _output([_tool("nvcc"), *flags, str(TWINS / f"{twin.source}.cu"), "-o", str(cubin)])


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"{name} is not on the PATH; it comes with NVIDIA's CUDA toolkit")
    return found


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stderr or done.stdout}")
    return done.stdout


def _release(tool: str) -> str:
    found = re.search(r"V([\d.]+)", _output([_tool(tool), "--version"]))
    return found[1] if found else "unknown"


def build(cases: Iterable["Case"], directory: Path) -> None:
    """Write the binaries of both sides, the PTX that was lowered, and the versions of the tools."""
    directory.mkdir(parents=True, exist_ok=True)
    for program, level in product(sorted({case.program for case in cases}), LEVELS):
        ptx = directory / f"{program}.O{level}.ptx"
        ptx.write_text(lower_kernel(KERNELS / f"{program}.mlir", level))
        assemble(ptx, ptx.with_suffix(".cubin"))
    for twin in {twin: None for case in cases for twin in case.twins}:
        compile_twin(twin, directory / twin.cubin)
    versions = {tool: _release(tool) for tool in ("nvcc", "ptxas")}
    (directory / "versions.json").write_text(json.dumps(versions))


# Workloads


class Memory(Addressed, Protocol):
    """What workloads need of a buffer on the GPU."""

    def read(self, size: int | None = None, offset: int = 0) -> bytes: ...
    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None: ...


class Allocator(Protocol):
    """What workloads need of the GPU."""

    def allocate(self, size: int) -> Memory: ...
    def upload(self, data: bytes) -> Memory: ...


@dataclass(frozen=True, slots=True)
class Workload:
    """What a kernel is run on.

    ``arguments(n)`` are those of the launch number n of a sample, ``reset`` prepares the memory
    for all of them, ``problem`` says what is wrong with the results of the last sample, if
    anything, and ``bytes_moved`` how much one launch reads and writes if that is what takes time.
    """

    arguments: Callable[[int], Sequence[Argument]]
    reset: Callable[[], None]
    problem: Callable[[], str | None]
    bytes_moved: int = 0


@dataclass(frozen=True, slots=True)
class Twin:
    """One form of the kernel in CUDA C++: ``form`` says which, ``flags`` select it."""

    source: str
    form: str
    flags: tuple[str, ...] = ()

    @property
    def cubin(self) -> str:
        """The name of the binary."""
        return f"{self.source}{''.join(self.flags)}.twin.cubin"


def polling_twins(source: str) -> tuple[Twin, ...]:
    """Both forms of a wait: which is faster differs from kernel to kernel."""
    return (
        Twin(source, "acquire poll"),
        Twin(source, "relaxed poll, fence", ("-DFENCE_AFTER_POLL",)),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """One row: a kernel and its twins, how they are launched, and what is counted.

    ``launches`` is how many a sample has, one after the other, ``units`` how many of ``unit``
    happen in each. ``form`` is what the program is called besides the kernel, if anything.
    """

    title: str
    kernel: str
    twins: tuple[Twin, ...]
    grid: tuple[int, int, int]
    block: int
    workload: Callable[[Allocator], Workload]
    unit: str
    units: int = 1
    launches: int = 1
    form: str = ""

    @property
    def program(self) -> str:
        """The name of its file in examples/kernels."""
        return "_".join(filter(None, (self.kernel, self.form)))

    def binary(self, level: int) -> str:
        """The name of what is assembled of it at a level."""
        return f"{self.program}.O{level}.cubin"


def difference(wanted: "array[int] | array[float]", found: bytes) -> str | None:
    """Where ``found`` first differs; None if it does not."""
    if wanted.tobytes() == found:
        return None
    values = array(wanted.typecode, found)
    for index, (want, got) in enumerate(zip(wanted, values, strict=True)):
        if want != got:
            return f"word {index} is {got}, not {want}"
    return "the words are equal, but not bit by bit"


def _words(values: Iterable[int]) -> "array[int]":
    # Not array("I", values): it would take bytes for the words themselves.
    return array("I", iter(values))


_LINE = 128
"""Bytes between words that different work-groups wait for."""

LOCK_THREADS = 128


def lock_workload(groups: int, rounds: int, words: int) -> Callable[[Allocator], Workload]:
    """A lock of ``words`` words: ``groups`` work-groups add 1 to 128 words under it, in rounds."""

    def make(device: Allocator) -> Workload:
        lock, data = device.allocate(_LINE * words), device.allocate(4 * LOCK_THREADS)
        places = [struct.pack("<Q", lock.address + _LINE * n) for n in range(words)]

        def reset() -> None:
            lock.fill(0)
            data.fill(0)

        def problem() -> str | None:
            return difference(_words([groups * rounds] * LOCK_THREADS), data.read())

        return Workload(lambda _: [*places, data, rounds], reset, problem)

    return make


BARRIER_THREADS = 256


def barrier_workload(groups: int, rounds: int) -> Callable[[Allocator], Workload]:
    """Every thread adds up the rounds' numbers as the next work-group wrote them."""

    def make(device: Allocator) -> Workload:
        count, slots = device.allocate(_LINE), device.allocate(8 * groups)
        out = device.allocate(4 * groups * BARRIER_THREADS)

        def reset() -> None:
            count.fill(0)
            slots.fill(_POISON)
            out.fill(_POISON)

        def problem() -> str | None:
            total = rounds * (rounds - 1) // 2 % (1 << 32)
            return difference(_words([total] * (groups * BARRIER_THREADS)), out.read())

        return Workload(lambda _: [count, slots, out, rounds], reset, problem)

    return make


SCAN_TILE = 4096


def scan_workload(tiles: int, launches: int) -> Callable[[Allocator], Workload]:
    """Inclusive sums of ``tiles`` x 4096 words; each launch has tile states of its own."""

    def make(device: Allocator) -> Workload:
        count = tiles * SCAN_TILE
        numbers = random.Random(1).randbytes(count).translate(bytes(n & 31 for n in range(256)))
        wanted = _words(accumulate(numbers))
        source = device.upload(_words(numbers).tobytes())
        out = device.allocate(4 * count)
        stride = _LINE + 8 * tiles
        states = device.allocate(stride * launches)

        def arguments(launch: int) -> Sequence[Argument]:
            drawn = states.address + stride * launch
            return [struct.pack("<Q", drawn), struct.pack("<Q", drawn + _LINE), source, out]

        def reset() -> None:
            states.fill(0)
            out.fill(_POISON)

        return Workload(
            arguments, reset, lambda: difference(wanted, out.read()), bytes_moved=8 * count
        )

    return make


SPLITS, SPLIT_ROWS, SPLIT_COLUMNS, SPLIT_SLABS = 4, 8, 256, 16


def split_k_workload(tiles: int, rounds: int) -> Callable[[Allocator], Workload]:
    """A vector times a matrix of small whole numbers, ``rounds`` / 16 times: exact in floats."""

    def make(device: Allocator) -> Workload:
        generator = random.Random(2)
        rows, columns = SPLITS * SPLIT_ROWS * SPLIT_SLABS, tiles * SPLIT_COLUMNS
        small = bytes(n & 3 for n in range(256))
        x = generator.randbytes(rows).translate(small)
        a = generator.randbytes(rows * columns).translate(small)
        dot = [0] * columns
        for row, factor in enumerate(x):
            if factor:
                line = a[row * columns : (row + 1) * columns]
                dot = [s + factor * n for s, n in zip(dot, line, strict=True)]
        wanted = array("f", (rounds // SPLIT_SLABS * each for each in dot))
        semaphores, y = device.allocate(4 * tiles), device.allocate(4 * columns)
        device_x = device.upload(array("f", iter(x)).tobytes())
        device_a = device.upload(array("f", iter(a)).tobytes())

        def reset() -> None:
            semaphores.fill(0)
            y.fill(0)

        return Workload(
            lambda _: [semaphores, device_x, device_a, y, tiles, rounds],
            reset,
            lambda: difference(wanted, y.read()),
        )

    return make


READERS, TILE_WORDS, SLAB_TILES = 128, 2048, 16


def pipeline_workload(groups: int, tiles: int) -> Callable[[Allocator], Workload]:
    """Every work-group's readers add up its 16 tiles, again and again, ``tiles`` in all."""

    def make(device: Allocator) -> Workload:
        slab = SLAB_TILES * TILE_WORDS
        words = array("I", random.Random(3).randbytes(4 * groups * slab))
        wanted = array("I")
        for start in range(0, len(words), slab):
            # Reader t reads the vectors of four words at t, t + 128 and so on.
            columns = [
                words[first + word : first + 4 * READERS : 4]
                for first in range(start, start + slab, 4 * READERS)
                for word in range(4)
            ]
            sums = reduce(lambda a, b: list(map(operator.add, a, b)), columns, [0] * READERS)
            wanted.extend(tiles // SLAB_TILES * each % (1 << 32) for each in sums)
        source, out = device.upload(words.tobytes()), device.allocate(4 * groups * READERS)
        return Workload(
            lambda _: [source, out, tiles],
            lambda: out.fill(_POISON),
            lambda: difference(wanted, out.read()),
            bytes_moved=4 * groups * TILE_WORDS * tiles,
        )

    return make


def _with_fences(case: Case) -> Case:
    """The same with relaxed atomics and full fences, beside the twin that is written so."""
    return replace(
        case,
        title=f"{case.title}, full fences",
        twins=(Twin(case.kernel, "full fences", ("-DFULL_FENCES",)),),
        form="fences",
    )


def _lock_cases(title: str, kernel: str, words: int) -> list[Case]:
    total = 6400
    return [
        Case(
            f"{title}, {groups} work-group{'s' if groups > 1 else ''}",
            kernel,
            polling_twins(kernel),
            (groups, 1, 1),
            LOCK_THREADS,
            lock_workload(groups, total // groups, words),
            "acquisition",
            total,
        )
        for groups in (1, 8, 64)
    ]


_SCAN_TILES, _SCAN_LAUNCHES = 8192, 64
_PIPELINE_GROUPS, _PIPELINE_TILES = 264, 4096

_CASES = (
    *_lock_cases("spin lock", "spin_lock", 1),
    *_lock_cases("ticket lock", "ticket_lock", 2),
    Case(
        "grid barrier, 132 x 256 threads",
        "grid_barrier",
        polling_twins("grid_barrier"),
        (132, 1, 1),
        BARRIER_THREADS,
        barrier_workload(132, 4000),
        "barrier",
        4000,
    ),
    Case(
        "decoupled look-back scan, 2^25 words",
        "look_back_scan",
        (Twin("look_back_scan", "relaxed"),),
        (_SCAN_TILES, 1, 1),
        256,
        scan_workload(_SCAN_TILES, _SCAN_LAUNCHES),
        "scan",
        launches=_SCAN_LAUNCHES,
    ),
    Case(
        "split-K semaphore, 4 x 32 work-groups",
        "split_k_semaphore",
        polling_twins("split_k_semaphore"),
        (32, SPLITS, 1),
        SPLIT_COLUMNS,
        split_k_workload(32, 1600),
        "hand-on",
        1600 * SPLITS,
    ),
    Case(
        "mbarrier pipeline, 264 work-groups",
        "mbarrier_pipeline",
        (Twin("mbarrier_pipeline", "cuda::ptx"), Twin("barrier_pipeline", "cuda::barrier")),
        (_PIPELINE_GROUPS, 1, 1),
        READERS + 32,
        pipeline_workload(_PIPELINE_GROUPS, _PIPELINE_TILES),
        "tile",
        _PIPELINE_TILES,
        launches=4,
    ),
)

CASES = (
    *_CASES,
    *(
        _with_fences(case)
        for case in _CASES
        if case.kernel in ("spin_lock", "ticket_lock", "grid_barrier", "split_k_semaphore")
    ),
)
"""What is measured."""


# Measuring


@dataclass(frozen=True, slots=True)
class Row:
    """A case as measured: seconds per unit in each run, and what was wrong with the results.

    ``ours`` has a tuple of runs for each level, ``twins`` for each twin of the case; ``enqueue``
    is the longest that the host took to launch a sample, in seconds, all of which the hold-up has
    to cover. ``is_same``: the levels gave the same PTX.
    """

    case: Case
    ours: tuple[tuple[float, ...], ...]
    twins: tuple[tuple[float, ...], ...]
    problems: tuple[str, ...]
    bytes_moved: int
    enqueue: float
    is_same: bool

    @property
    def best(self) -> int:
        """Which twin is compared with: the fastest."""
        return min(range(len(self.twins)), key=lambda n: median(self.twins[n]))

    @property
    def ratios(self) -> list[float]:
        """Ours at the highest level over the fastest twin's, each run."""
        return _over(self.ours[-1], self.twins[self.best])

    @property
    def gains(self) -> list[float]:
        """Ours at the highest level over ours at the lowest, each run."""
        return _over(self.ours[-1], self.ours[0])

    def failures(self) -> list[str]:
        """What is wrong with the results, and what is slower in every run than it may be."""
        slower = {"its twin": self.ratios, f"at -O{LEVELS[0]}": self.gains}
        return [
            *self.problems,
            *(
                f"slower than {what}: {_decimals(each)}"
                for what, each in slower.items()
                if min(each) > 1 + TOLERANCE
            ),
        ]

    def record(self) -> dict[str, object]:
        """The row as JSON; seconds."""
        forms = [twin.form for twin in self.case.twins]
        return {
            "title": self.case.title,
            "program": self.case.program,
            "grid": self.case.grid,
            "block": self.case.block,
            "unit": self.case.unit,
            "scoped": {f"O{level}": each for level, each in zip(LEVELS, self.ours, strict=True)},
            "same PTX": self.is_same,
            "libcu++": dict(zip(forms, self.twins, strict=True)),
            "ratio": self.ratios,
            "gain": self.gains,
            "enqueue": self.enqueue,
            "problems": self.problems,
        }

    def cells(self) -> list[str]:
        """The row of the Markdown table."""
        rate = (
            self.bytes_moved and self.bytes_moved / self.case.units / median(self.ours[-1]) / 1e12
        )
        others = [
            f"{twin.form} {_microseconds(runs)}"
            for n, (twin, runs) in enumerate(zip(self.case.twins, self.twins, strict=True))
            if n != self.best
        ]
        return [
            self.case.title,
            self.case.unit,
            *map(_microseconds, self.ours),
            _decimals(self.gains) + (" (same PTX)" if self.is_same else ""),
            _microseconds(self.twins[self.best]),
            _decimals(self.ratios),
            self.case.twins[self.best].form,
            "; ".join(others),
            f"{rate:.2f}" if rate else "",
            "; ".join(self.problems) or "right",
        ]


def _over(ours: Iterable[float], theirs: Iterable[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def _decimals(ratios: Iterable[float]) -> str:
    return ", ".join(f"{each:.3f}" for each in ratios)


def _microseconds(runs: Iterable[float]) -> str:
    return ", ".join(f"{1e6 * each:.4g}" for each in runs)


@dataclass(frozen=True, slots=True)
class Holdup:
    """Keeps the GPU busy while a sample's launches are queued.

    So the time from the first event to the first launch is none of the host's.
    """

    kernel: Kernel
    lock: Memory
    data: Memory

    ROUNDS: ClassVar[int] = 20000

    def start(self) -> None:
        """About 12 ms of an uncontended lock on an H200."""
        self.lock.fill(0)
        self.kernel.launch(1, LOCK_THREADS, [self.lock, self.data, self.ROUNDS])


def hold_up(device: Device, directory: Path) -> Holdup:
    """One on ``device``."""
    module = device.load((directory / f"spin_lock.O{LEVELS[-1]}.cubin").read_bytes())
    return Holdup(
        module.kernel("spin_lock"), device.allocate(_LINE), device.allocate(4 * LOCK_THREADS)
    )


def measure(case: Case, device: Device, directory: Path, holdup: Holdup) -> Row:
    """Check all sides, time their samples in turn, and check again."""
    workload = case.workload(device)
    names = {f"-O{level}": case.binary(level) for level in LEVELS}
    names |= {twin.form: twin.cubin for twin in case.twins}
    kernels = {
        side: device.load((directory / name).read_bytes()).kernel(case.kernel)
        for side, name in names.items()
    }
    problems: list[str] = []
    enqueued: list[float] = []

    def launch(kernel: Kernel) -> None:
        start = time.perf_counter()
        _launch(case, kernel, workload)
        enqueued.append(time.perf_counter() - start)

    def sample(kernel: Kernel) -> float:
        workload.reset()
        holdup.start()
        seconds = device.time(lambda: launch(kernel), repeats=1, warm_up=0)
        return seconds / case.launches / case.units

    def check() -> None:
        for side, kernel in kernels.items():
            sample(kernel)
            problem = workload.problem()
            if problem is not None:
                problems.append(f"{side}: {problem}")

    check()
    medians: list[list[float]] = []
    for _ in range(RUNS):
        samples: dict[str, list[float]] = {side: [] for side in kernels}
        for turn in range(SAMPLES):
            # None is always the first, or always after the same other.
            for side in random.Random(turn).sample(list(kernels), len(kernels)):
                samples[side].append(sample(kernels[side]))
        medians.append([median(each) for each in samples.values()])
    check()
    sides = list(zip(*medians, strict=True))
    texts = {(directory / case.binary(level)).with_suffix(".ptx").read_text() for level in LEVELS}
    return Row(
        case,
        tuple(sides[: len(LEVELS)]),
        tuple(sides[len(LEVELS) :]),
        tuple(problems),
        workload.bytes_moved,
        max(enqueued),
        is_same=len(texts) == 1,
    )


def _launch(case: Case, kernel: Kernel, workload: Workload) -> None:
    for launch in range(case.launches):
        kernel.launch(case.grid, case.block, workload.arguments(launch))


# Reporting

_COLUMNS = (
    "kernel",
    "per",
    *(f"-O{level} (us)" for level in LEVELS),
    f"-O{LEVELS[-1]} / -O{LEVELS[0]}",
    "fastest twin (us)",
    f"-O{LEVELS[-1]} / twin",
    "its form",
    "other twins (us)",
    "TB/s",
    "results",
)


def markdown(rows: Sequence[Row], machine: str) -> str:
    """The table of docs/gpu-kernels.md, with the machine that it belongs to."""
    return f"{machine}\n\n{markdown_table(_COLUMNS, [row.cells() for row in rows])}"


def machine_text(device: Device, versions: dict[str, str]) -> str:
    """Where and with what was measured."""
    tools = ", ".join(f"{tool} {release}" for tool, release in versions.items())
    return (
        f"Measured {date.today().isoformat()} on {description(device)}; both sides built for "
        f"{ARCHITECTURE} with {tools}."
    )


def report(rows: Sequence[Row], machine: str, directory: Path) -> int:
    """Write gpu-kernels.md and gpu-kernels.json; the exit status, 1 if a row is not right."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "gpu-kernels.md").write_text(markdown(rows, machine))
    data = {"machine": machine, "rows": [row.record() for row in rows]}
    (directory / "gpu-kernels.json").write_text(json.dumps(data, indent=1) + "\n")
    wrong = [row for row in rows if row.failures()]
    for row in wrong:
        print(f"FAILED: {row.case.title}: {'; '.join(row.failures())}", file=sys.stderr)
    print(f"{len(rows)} kernels, {len(wrong)} failed; see {directory / 'gpu-kernels.md'}")
    return 1 if wrong else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/gpu-kernels"), metavar="DIR")
    parser.add_argument("--build", type=Path, metavar="DIR", help="only build, into DIR")
    parser.add_argument("--built", type=Path, metavar="DIR", help="take binaries from DIR")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The benchmark as a command; gives the exit status."""
    wanted = _arguments(arguments)
    directory: Path = wanted.build or wanted.built or wanted.out
    try:
        device = Device(patience=_SECONDS) if wanted.build is None else None
        if wanted.built is None:
            build(CASES, directory)
        if device is None:
            return 0
        holdup = hold_up(device, directory)
        rows: list[Row] = []
        for case in CASES:
            rows.append(measure(case, device, directory, holdup))
            print(markdown_row(rows[-1].cells()), flush=True)
        versions = json.loads((directory / "versions.json").read_text())
    except (BuildError, GpuError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return report(rows, machine_text(device, versions), wanted.out)


if __name__ == "__main__":
    sys.exit(main())
