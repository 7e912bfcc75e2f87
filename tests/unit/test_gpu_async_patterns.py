"""The asynchronous patterns that run on a GPU: what is launched, checked on any machine."""

import shutil
from functools import cache
from pathlib import Path

import pytest
from in_process import tools_in_process
from ptxas import find_assemblers
from scripts import GPU_BENCHMARKS, load_script
from test_ptx_assembly import complaints

from fencewright import gpu

ROOT = Path(__file__).parents[2]


patterns = load_script(GPU_BENCHMARKS / "async_patterns.py")
NAMES = [each.name for each in patterns.PATTERNS]
BY_NAME = dict(zip(NAMES, patterns.PATTERNS, strict=True))


@cache
def lowered(name: str) -> str:
    with tools_in_process():
        return patterns.lower_pattern(name)


def test_the_tool_is_started() -> None:
    """Where none of these tests is."""
    assert patterns.lower_pattern(NAMES[0]) == lowered(NAMES[0])


@pytest.mark.parametrize("name", NAMES)
def test_lowers_and_takes_an_argument_for_every_role(name: str) -> None:
    ptx = lowered(name)
    assert f".entry {name}(" in ptx
    assert ptx.count("ld.param") == len(BY_NAME[name].roles)


@pytest.mark.parametrize("name", NAMES)
def test_weakening_changes_one_instruction(name: str) -> None:
    ptx = lowered(name)
    for weakening in BY_NAME[name].weakenings:
        before, after = ptx.splitlines(), weakening.apply(ptx).splitlines()
        at = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
        assert before[at].strip().startswith(weakening.first)
        if weakening.instead:
            assert before[at + 1 :] == after[at + 1 :]
            continue
        # A wait is a loop, a cluster barrier an arrival and a wait; all else is one line.
        second = {"mbarrier.try_wait": "@!$", "barrier.cluster.arrive": "barrier.cluster.wait"}
        assert weakening.lines == (2 if weakening.first in second else 1)
        if weakening.lines == 2:
            assert before[at + 1].strip().startswith(second[weakening.first])
        assert before[at + weakening.lines :] == after[at:]


@pytest.mark.parametrize("name", NAMES)
def test_instrumented_ptx_keeps_every_lowered_instruction_in_order(name: str) -> None:
    kept = iter(patterns.instrument(BY_NAME[name], lowered(name)).splitlines())
    body = lowered(name).split("{", 1)[1].splitlines()
    assert all(line in kept for line in body)


@pytest.mark.skipif(not find_assemblers(), reason="needs ptxas (make oracles)")
@pytest.mark.parametrize("name", NAMES)
def test_ptxas_accepts_what_is_launched(name: str, tmp_path: Path) -> None:
    pattern = BY_NAME[name]
    rewritten = [w.title for w in pattern.weakenings if w.instead and ";" in w.instead[1]]
    for title, ptx in patterns.variants(pattern, lowered(name)):
        if title in ("", *rewritten):
            assert complaints(tmp_path, ptx, patterns.ARCHITECTURE) == []


@pytest.mark.skipif(not find_assemblers(), reason="needs ptxas (make oracles)")
def test_ptxas_accepts_the_kernels_that_fill_and_check(tmp_path: Path) -> None:
    assert complaints(tmp_path, patterns.CHECKER, patterns.ARCHITECTURE) == []
    for filling in patterns.Filling:
        assert not filling.value or f".entry {filling.value}(" in patterns.CHECKER


def test_an_instance_has_a_float_of_its_own_in_most_launches() -> None:
    """Or what an earlier work-group left in its tile would go for the result."""
    halves = patterns._HALF + 1
    assert len({salt % halves for salt in range(0, 512 * patterns.GRID, patterns.GRID)}) >= 4
    assert float(16 * halves**2).is_integer()
    assert 16 * halves**2 <= 1 << 24


def test_a_copy_of_a_map_without_its_release_keeps_the_operands() -> None:
    weakening = BY_NAME["tensormap_update"].weakenings[-1]
    ptx = lowered("tensormap_update")
    before = next(line for line in ptx.splitlines() if "cp_fenceproxy" in line)
    after = weakening.apply(ptx)
    assert "cp_fenceproxy" not in after
    target = before.split("[")[1].split("]")[0]
    assert f"add.s64 %h_place, {target}, %h_offset;" in after


def test_weakening_that_finds_nothing_is_an_error() -> None:
    ptx = lowered("tma_to_core")
    with pytest.raises(ValueError, match=r"no instruction 0 begins fence\.absent"):
        patterns.Weakening("none", "fence.absent").apply(ptx)
    with pytest.raises(ValueError, match=r"has no \.nowhere"):
        patterns.Weakening("none", "ret", instead=(".nowhere", "")).apply(ptx)


@pytest.mark.parametrize(
    ("name", "instance", "value"),
    [("tma_to_core", 3, 103), ("cluster_dsmem_bulk", 3, 102), ("cluster_st_async", 4, 105)],
)
def test_expected_results(name: str, instance: int, value: int) -> None:
    assert BY_NAME[name].expected(100, instance) == value


def test_wrong_result_fails_only_as_lowered() -> None:
    assert patterns.Run("p", "", 10, 0).is_right
    assert not patterns.Run("p", "", 10, 1).is_right
    assert not patterns.Run("p", "", 0, 0, "did not end").is_right
    assert patterns.Run("p", "no proxy fence", 10, 9).is_right


def test_without_a_gpu_the_benchmark_says_so_before_it_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(gpu, "import_module", missing)
    assert patterns.main(["--output", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("no GPU: needs an NVIDIA GPU")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_what_changes_no_machine_code_is_known() -> None:
    pattern = BY_NAME["mbarrier_core_to_core_sm80"]
    same = patterns.unchanged(pattern, lowered(pattern.name))
    assert "no wait on the mbarrier" not in same
    assert "wait relaxed" in same


def test_table_says_where_nothing_was_taken_out_of_the_machine_code() -> None:
    run = patterns.Run("p", "wait relaxed", 1000, 0, is_same=True)
    assert "|  | wait relaxed | 1,000 | 0 (same machine code) |" in patterns.markdown([run], "m")


def test_table_names_what_was_taken_out() -> None:
    table = patterns.markdown([patterns.Run("p", "no proxy fence", 1000, 9)], "machine")
    assert "|  | no proxy fence | 1,000 | 9 |" in table
