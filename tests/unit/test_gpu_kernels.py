"""The kernels of examples/kernels: they lower and assemble, and wrong results are noticed.

Nothing here needs a GPU. What the kernels compute there is checked by benchmarks/gpu/kernels.py,
with the checks that are tested here.
"""

import re
import shutil
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from in_process import tools_in_process
from scripts import GPU_BENCHMARKS, load_script

from fencewright import gpu

ROOT = Path(__file__).parents[2]
PTXAS = shutil.which("ptxas")
NVCC = shutil.which("nvcc")
SOURCES = sorted((ROOT / "examples" / "kernels").glob("*.mlir"))


BENCHMARK = load_script(GPU_BENCHMARKS / "kernels.py")


@pytest.fixture(scope="module")
def levels() -> dict[int, dict[str, str]]:
    """The PTX of every program at every level."""
    with tools_in_process():
        return {
            level: {path.stem: BENCHMARK.lower_kernel(path, level) for path in SOURCES}
            for level in BENCHMARK.LEVELS
        }


@pytest.fixture(scope="module")
def lowered(levels: dict[int, dict[str, str]]) -> dict[str, str]:
    return levels[max(levels)]


def test_the_tool_is_started(levels: dict[int, dict[str, str]]) -> None:
    """Where none of these tests is."""
    level, texts = next(iter(levels.items()))
    assert BENCHMARK.lower_kernel(SOURCES[0], level) == texts[SOURCES[0].stem]


def test_every_kernel_has_a_case() -> None:
    assert {case.program for case in BENCHMARK.CASES} == {path.stem for path in SOURCES}
    for case in BENCHMARK.CASES:
        assert f"@{case.kernel}(" in (BENCHMARK.KERNELS / f"{case.program}.mlir").read_text()
        assert case.twins


def test_every_twin_has_a_source() -> None:
    for case in BENCHMARK.CASES:
        for twin in case.twins:
            text = (BENCHMARK.TWINS / f"{twin.source}.cu").read_text()
            assert f"{case.kernel}(" in text


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", [path.stem for path in SOURCES])
@pytest.mark.parametrize("level", BENCHMARK.LEVELS)
def test_kernels_assemble(
    level: int, name: str, levels: dict[int, dict[str, str]], tmp_path: Path
) -> None:
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(levels[level][name])
    BENCHMARK.assemble(ptx, tmp_path / "kernel.cubin")
    assert (tmp_path / "kernel.cubin").stat().st_size > 0


def test_a_reader_owes_no_proxy_fence_at_any_level(levels: dict[int, dict[str, str]]) -> None:
    """The twin has none, and the pipeline by itself would insert one."""
    for texts in levels.values():
        assert "fence.proxy" not in texts["mbarrier_pipeline"]


SYNCHRONISES = re.compile(r"fence\.|\.(?:acquire|release|acq_rel)\.")


@pytest.mark.parametrize("name", [path.stem for path in SOURCES])
def test_optimisation_adds_no_synchronisation(name: str, levels: dict[int, dict[str, str]]) -> None:
    first, *others = (len(SYNCHRONISES.findall(texts[name])) for texts in levels.values())
    assert all(each <= first for each in others)


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
def test_what_ptxas_rejects_is_an_error(lowered: dict[str, str], tmp_path: Path) -> None:
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(lowered["spin_lock"].replace("atom.", "atomic."))
    with pytest.raises(BENCHMARK.BuildError, match="ptxas"):
        BENCHMARK.assemble(ptx, tmp_path / "kernel.cubin")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("spin_lock", ["atom.acquire.gpu.global.exch.b32", "st.release.gpu.global.b32"]),
        (
            "ticket_lock",
            ["atom.relaxed.gpu.global.add.u32", "ld.relaxed.gpu.global.b32", "fence.acquire.gpu"],
        ),
        (
            "grid_barrier",
            ["atom.release.gpu.global.add.u32", "ld.relaxed.gpu.global.b32", "fence.acquire.gpu"],
        ),
        ("split_k_semaphore", ["ld.acquire.gpu.global.b32", "st.release.gpu.global.b32"]),
        ("look_back_scan", ["st.relaxed.gpu.global.b64", "ld.relaxed.gpu.global.b64"]),
        (
            "mbarrier_pipeline",
            ["fence.mbarrier_init.release.cluster", "mbarrier.try_wait.parity.acquire.cta"],
        ),
    ],
)
def test_synchronisation_is_what_was_measured(
    name: str, wanted: list[str], lowered: dict[str, str]
) -> None:
    assert all(each in lowered[name] for each in wanted)


def test_every_work_group_barrier_is_aligned(lowered: dict[str, str]) -> None:
    for name, text in lowered.items():
        assert re.findall(r"barrier\.sync[.a-z]* 0", text), name
        assert "barrier.sync 0" not in text, name


def test_ids_are_compared_as_they_were_read(lowered: dict[str, str]) -> None:
    """Otherwise ptxas does not see that one thread adds, and combines the additions of a warp."""
    for name, text in lowered.items():
        found = re.search(r"mov\.u32 (%r\d+), %tid\.x;", text)
        assert found is not None
        assert re.search(rf"setp\.\w+\.\w+ %p\d+, {re.escape(found[1])}, ", text), name


@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
def test_a_twin_compiles_in_every_form(tmp_path: Path) -> None:
    twins = {t for case in BENCHMARK.CASES for t in case.twins if t.source == "grid_barrier"}
    for twin in twins:
        BENCHMARK.compile_twin(twin, tmp_path / twin.cubin)
    assert len({(tmp_path / twin.cubin).read_bytes() for twin in twins}) == len(twins) == 3


# Results


class Buffer:
    """Memory of the host, where the GPU's would be."""

    def __init__(self, data: bytes):
        self.data = bytearray(data)
        self.address = id(self)

    def read(self, size: int | None = None, offset: int = 0) -> bytes:
        return bytes(self.data[offset : None if size is None else offset + size])

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        count = (len(self.data) - offset) // 4 if words is None else words
        self.data[offset : offset + 4 * count] = struct.pack("<I", word) * count


class Host:
    def allocate(self, size: int) -> Buffer:
        return Buffer(bytes(size))

    def upload(self, data: bytes) -> Buffer:
        return Buffer(data)


def words(buffer: Buffer, kind: str = "I") -> list[Any]:
    return [each for (each,) in struct.iter_unpack(f"<{kind}", buffer.data)]


def put(buffer: Buffer, values: list[Any], kind: str = "I") -> None:
    buffer.data[:] = struct.pack(f"<{len(values)}{kind}", *values)


def check(workload: Any, out: Buffer, right: list[Any], kind: str = "I") -> None:
    """The right words pass, and any one of them changed does not; nor do unwritten ones."""
    workload.reset()
    assert workload.problem() is not None
    put(out, right, kind)
    assert workload.problem() is None
    for index in (0, len(right) // 2, len(right) - 1):
        wrong = list(right)
        wrong[index] += 1
        put(out, wrong, kind)
        assert f"word {index} is" in workload.problem()


def test_lock_results() -> None:
    workload = BENCHMARK.lock_workload(3, 5, 2)(Host())
    *_, data, rounds = workload.arguments(0)
    assert rounds == 5
    check(workload, data, [15] * 128)


def test_barrier_results() -> None:
    workload = BENCHMARK.barrier_workload(3, 4)(Host())
    _, _, out, _ = workload.arguments(0)
    check(workload, out, [0 + 1 + 2 + 3] * (3 * 256))


def test_scan_results() -> None:
    workload = BENCHMARK.scan_workload(2, 3)(Host())
    _, _, source, out = workload.arguments(0)
    numbers = words(source)
    assert len(numbers) == 2 * 4096
    total, right = 0, list[int]()
    for number in numbers:
        total += number
        right.append(total)
    check(workload, out, right)


def test_launches_of_a_scan_share_no_states() -> None:
    workload = BENCHMARK.scan_workload(2, 3)(Host())
    places = [struct.unpack("<Q", each)[0] for n in range(3) for each in workload.arguments(n)[:2]]
    assert places == sorted(places)
    assert all(b - a >= 8 * 2 for a, b in pairwise(places))


def test_split_k_results() -> None:
    workload = BENCHMARK.split_k_workload(1, 32)(Host())
    _, x, a, y, _, _ = workload.arguments(0)
    vector, matrix = words(x, "f"), words(a, "f")
    assert (len(vector), len(matrix)) == (512, 512 * 256)
    right = [
        2 * sum(factor * matrix[row * 256 + column] for row, factor in enumerate(vector))
        for column in range(256)
    ]
    check(workload, y, right, "f")


def test_pipeline_results() -> None:
    workload = BENCHMARK.pipeline_workload(1, 32)(Host())
    source, out, _ = workload.arguments(0)
    numbers = words(source)
    assert len(numbers) == 16 * 2048
    right = [0] * 128
    for index, number in enumerate(numbers):
        right[index // 4 % 128] += 2 * number
    check(workload, out, [each % (1 << 32) for each in right])


# The command


def test_without_a_gpu_the_benchmark_says_so_before_it_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "import_module", missing)
    assert BENCHMARK.main(["--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("no GPU: needs an NVIDIA GPU")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def missing(name: str) -> object:
    raise ImportError(name)


# Verdicts


def row(
    best: tuple[float, ...],
    *twins: tuple[float, ...],
    first: tuple[float, ...] = (2.0, 2.0),
    problems: tuple[str, ...] = (),
) -> Any:
    """One of a kernel that takes ``first`` at the lowest level, ``best`` at the highest."""
    return BENCHMARK.Row(BENCHMARK.CASES[0], (first, best), twins, problems, 0, 0.0, False)


def test_the_ratio_is_to_the_fastest_twin() -> None:
    measured = row((1.0, 1.0), (2.0, 2.0), (0.5, 0.5))
    assert measured.ratios == [2.0, 2.0]
    assert measured.gains == [0.5, 0.5]


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        (row((1.0, 1.0), (1.0, 1.0), (2.0, 2.0)), None),
        (row((1.2, 1.2), (1.0, 1.0), (2.0, 2.0)), "slower than its twin: 1.200, 1.200"),
        (row((1.2, 1.0), (1.0, 1.0), (2.0, 2.0)), None),
        (
            row((1.0, 1.0), (1.0, 1.0), (2.0, 2.0), first=(0.8, 0.8)),
            "slower than at -O0: 1.250, 1.250",
        ),
        (row((1.0, 1.0), (1.0, 1.0), (2.0, 2.0), first=(0.8, 1.0)), None),
        (row((0.5, 0.5), (1.0, 1.0), (2.0, 2.0), problems=("-O2: wrong",)), "-O2: wrong"),
    ],
)
def test_verdict(
    measured: Any, reason: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured.failures() == ([] if reason is None else [reason])
    assert BENCHMARK.report([measured], "a machine", tmp_path) == (0 if reason is None else 1)
    assert (reason or "") in capsys.readouterr().err


def test_a_row_has_a_cell_for_every_column() -> None:
    table = BENCHMARK.markdown([row((1.0, 1.0), (1.0, 1.0), (2.0, 2.0))], "a machine")
    *_, names, lines, cells = table.splitlines()
    assert names.count("|") == lines.count("|") == cells.count("|")
    assert "-O0 (us) | -O2 (us) | -O2 / -O0" in names


def test_a_kernel_with_full_fences_is_compared_with_a_twin_that_has_them() -> None:
    fenced = [case for case in BENCHMARK.CASES if case.form == "fences"]
    waiting = {case.kernel for case in BENCHMARK.CASES if len(case.twins) == 2}
    assert {case.kernel for case in fenced} == waiting - {"mbarrier_pipeline"}
    for case in fenced:
        assert [twin.flags for twin in case.twins] == [("-DFULL_FENCES",)]
