"""The campaign across two GPUs: its programs, its table, with a device of this directory."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scripts import GPU_BENCHMARKS, ScriptedDevice, load_script

from fencewright.simulator.gpu.kernels import prepare
from fencewright.simulator.ptx.formats.columns import instruction_text, read_litmus
from fencewright.simulator.ptx.outcomes import outcomes

sys.path.append(str(GPU_BENCHMARKS))

LITMUS = Path(__file__).parents[1] / "litmus" / "gpu"


@pytest.fixture(scope="module")
def across() -> ModuleType:
    return load_script(GPU_BENCHMARKS / "across_gpus.py")


def test_threads_of_other_ctas_are_on_another_gpu(across: ModuleType) -> None:
    program = across.widened(
        across.apart(read_litmus(LITMUS / "ISA2+cta+gpu.apart.litmus").program)
    )
    assert [thread.placement.agent for thread in program.threads] == [0, 1, 0]
    scopes = [instruction_text(each) for thread in program.threads for each in thread.instructions]
    assert scopes
    assert not any(".gpu" in text or ".cta" in text for text in scopes)
    assert len(prepare(program, outcomes(program)).modules) == 2


@pytest.mark.parametrize("name", ["MP+bar", "MP+mbarrier.cluster", "async.load", "CoRR.one-cta"])
def test_what_needs_one_gpu_is_left_out(name: str, across: ModuleType) -> None:
    assert not across.can_be_apart(read_litmus(LITMUS / f"{name}.litmus").program)


def test_the_right_form_decides(
    across: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = across.apart(read_litmus(LITMUS / "MP+rel+acq.litmus").program)
    encoding = prepare(program, outcomes(across.widened(program))).encoding
    files = [str(LITMUS / f"{name}.litmus") for name in ("MP+rel+acq", "MP+bar")]
    good, stale = encoding.encode((1, 1, 1, 1)), encoding.encode((1, 0, 1, 1))

    def run(wrong: str) -> int:
        """Have the form with ``wrong`` in it show stale data."""

        def counts(ptx: str) -> dict[int, int]:
            return {stale if wrong in ptx else good: 1024}

        device = ScriptedDevice(counts)

        def opened(count: int) -> list[ScriptedDevice]:
            return [device] * count

        monkeypatch.setattr(across, "open_devices", opened)
        return across.main(
            ["--output", str(tmp_path), "--launches", "1", "--instances", "1024", *files]
        )

    assert run("ld.acquire.gpu") == 0
    formula = "`P1:r0 == 1 and P1:r1 == 0`"
    row = f"| MP+rel+acq | {formula} | no | 0 | 0 | 1,024 | 0 |"
    assert row in (tmp_path / "across.md").read_text()
    (record,) = json.loads((tmp_path / "across.json").read_text())["rows"]
    assert record["forms"]["as on one GPU"]["forbidden"] == {"P1:r0=1 P1:r1=0 x=1 y=1": 1024}
    assert run("ld.acquire.sys") == 1
    said = "FAILED: MP+rel+acq: forbidden outcome P1:r0=1 P1:r1=0 x=1 y=1: 1024"
    assert said in capsys.readouterr().err
