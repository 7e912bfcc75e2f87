"""The campaign of litmus tests on a GPU: its table, its exit status, with a device of this file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from scripts import GPU_BENCHMARKS, ScriptedDevice, load_script

from fencewright.simulator.gpu.kernels import prepare
from fencewright.simulator.ptx.formats.columns import read_litmus
from fencewright.simulator.ptx.outcomes import outcomes

ROOT = Path(__file__).parents[2]
LITMUS = ROOT / "tests" / "litmus" / "gpu"
GOOD, STALE = (1, 1, 1, 1), (1, 0, 1, 1)


@pytest.fixture(scope="module")
def campaign() -> ModuleType:
    return load_script(GPU_BENCHMARKS / "litmus_campaign.py")


def code(name: str, state: tuple[int, ...]) -> int:
    program = read_litmus(LITMUS / f"{name}.litmus").program
    return prepare(program, outcomes(program)).encoding.encode(state)


def weak_is_stale(ptx: str) -> Mapping[int, int]:
    """Weak flags let data be stale, ordered ones do not."""
    stale = {} if "ld.acquire" in ptx else {code("MP", STALE): 7}
    return {code("MP", GOOD): 1024 - sum(stale.values()), **stale}


def run(
    campaign: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    output: Path,
    counts: Callable[[str], Mapping[int, int]],
    *names: str,
) -> int:
    monkeypatch.setattr(campaign, "Device", ScriptedDevice(counts))
    files = [str(LITMUS / f"{name}.litmus") for name in names]
    return campaign.main(
        ["--output", str(output), "--launches", "1", "--instances", "1024", *files]
    )


def test_a_gpu_that_keeps_to_the_model(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run(campaign, monkeypatch, tmp_path, weak_is_stale, "MP", "MP+rel+acq") == 0
    table = (tmp_path / "litmus.md").read_text()
    formula = "`P1:r0 == 1 and P1:r1 == 0`"
    assert f"| MP | {formula} | yes | 1,024 | 7 | 0 | ok |" in table
    assert f"| MP+rel+acq | {formula} | no | 1,024 | 0 | 0 | ok |" in table
    assert f"| planted: MP as MP+rel+acq | {formula} | no | 1,024 | 7 | 7 | ok |" in table
    assert "on Scripted, driver" in table
    rows = json.loads((tmp_path / "litmus.json").read_text())["rows"]
    assert [row["name"] for row in rows] == ["MP", "MP+rel+acq", "planted: MP as MP+rel+acq"]
    assert rows[0]["outcomes"] == {"P1:r0=1 P1:r1=0 x=1 y=1": 7, "P1:r0=1 P1:r1=1 x=1 y=1": 1017}
    assert rows[0]["forbidden"] == {}


def test_a_forbidden_outcome_is_a_failure(
    campaign: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def always_stale(ptx: str) -> Mapping[int, int]:
        return {code("MP", STALE): 1024}

    assert run(campaign, monkeypatch, tmp_path, always_stale, "MP+rel+acq") == 1
    said = "FAILED: MP+rel+acq: forbidden outcome P1:r0=1 P1:r1=0 x=1 y=1: 1024"
    assert said in capsys.readouterr().err
    assert "| 1,024 | 1,024 | 1,024 | FAILED |" in (tmp_path / "litmus.md").read_text()


def test_a_stress_that_notices_nothing_is_a_failure(
    campaign: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def never_stale(ptx: str) -> Mapping[int, int]:
        return {code("MP", GOOD): 1024}

    assert run(campaign, monkeypatch, tmp_path, never_stale, "MP", "MP+rel+acq") == 1
    assert "planted: MP as MP+rel+acq: not noticed" in capsys.readouterr().err


def test_a_test_in_one_cta_also_runs_in_shared_memory(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded: list[str] = []

    def counts(ptx: str) -> Mapping[int, int]:
        loaded.append(ptx)
        return {code("MP", GOOD): 1024}

    assert run(campaign, monkeypatch, tmp_path, counts, "MP.one-cta") == 0
    assert ["ld.weak.shared" in ptx for ptx in loaded] == [False, True]
    assert "| MP.one-cta (shared) |" in (tmp_path / "litmus.md").read_text()


def test_what_was_run_before_an_error_is_kept(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def counts(ptx: str) -> Mapping[int, int]:
        if "ld.acquire" in ptx:
            raise campaign.GpuError("cuLaunchKernelEx", "CUDA_ERROR_LAUNCH_FAILED")
        return weak_is_stale(ptx)

    assert run(campaign, monkeypatch, tmp_path, counts, "MP", "MP+rel+acq") == 2
    table = (tmp_path / "litmus.md").read_text()
    assert "| MP |" in table
    assert "| MP+rel+acq |" not in table


def test_without_a_gpu_it_says_so(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_device() -> None:
        raise campaign.GpuError("no GPU", "the driver sees no device")

    monkeypatch.setattr(campaign, "Device", no_device)
    assert campaign.main([]) == 2
    assert capsys.readouterr().err == "no GPU: the driver sees no device\n"


def test_a_test_that_cannot_be_read_is_named(
    campaign: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.litmus"
    bad.write_text("PTX t { } P0@cta 0,gpu 0 ; nonsense ; exists (true)")
    assert campaign.main([str(bad)]) == 2
    assert "bad.litmus:1:28: error: unknown instruction" in capsys.readouterr().err


def test_planted_bugs_name_tests_that_are_there(campaign: ModuleType) -> None:
    names = {name for pair in campaign.PLANTED for name in pair}
    assert {path.stem for path in LITMUS.glob("*.litmus")} >= names
    for weakened, right in campaign.PLANTED:
        allowed = [outcomes(read_litmus(LITMUS / f"{n}.litmus").program) for n in (weakened, right)]
        assert allowed[0].observables == allowed[1].observables
        assert allowed[1].states < allowed[0].states
