"""fence-sim run-gpu, with an interpreter or a script in the place of a GPU."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from gpu_interpreter import Interpreter
from litmus_modules import MESSAGE_PASSING

from fencewright import gpu
from fencewright.simulator.gpu import kernels as gpu_kernels
from fencewright.simulator.gpu.litmus import GpuResult, run_litmus_on_gpu
from fencewright.tools import fence_sim
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, NO_GPU, USAGE

LITMUS = Path(__file__).parents[1] / "litmus" / "gpu"
FAST = ["--instances", "64", "--launches", "2", "--block-sizes", "32,64"]


@pytest.fixture
def mp(tmp_path: Path) -> str:
    path = tmp_path / "mp.mlir"
    path.write_text(MESSAGE_PASSING)
    return str(path)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Interpreter:
    interpreter = Interpreter()

    def opened(index: int) -> Interpreter:
        return interpreter

    monkeypatch.setattr(gpu, "Device", opened)
    return interpreter


def counted(monkeypatch: pytest.MonkeyPatch, counts: Mapping[tuple[int | None, ...], int]) -> None:
    """Have the GPU end in these states; they show what the test's outcomes record."""

    def run(*arguments: object, **options: object) -> GpuResult:
        result = run_litmus_on_gpu(*arguments, **options)  # pyright: ignore[reportArgumentType]  # as they came
        return GpuResult(
            result.name,
            sum(counts.values()),
            result.observables,
            {state: n for state, n in counts.items() if n},
            result.allowed,
        )

    monkeypatch.setattr("fencewright.simulator.gpu.litmus.run_litmus_on_gpu", run)


def test_a_scoped_test_is_lowered_run_and_told(
    mp: str, device: Interpreter, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run-gpu", mp, "--sm", "90", *FAST]) == HOLDS
    out = capsys.readouterr().out.splitlines()
    assert out[:-2] == [
        "Test mp (Interpreter, sm_90)",
        "Histogram (1 state, 1 of 1 that the model allows)",
        "128 *> P1:r0=1; x=1; f=1;",
        "Ok",
        "Forbidden: 0 of 128",
        "Condition forall (P1:r0 == 1): holds here",
        "Observation mp Always 128 0",
    ]


@pytest.mark.parametrize("chip", [["--mcpu", "sm_90"], ["--sm", "90"], []])
def test_ways_to_say_the_chip(
    chip: list[str], mp: str, device: Interpreter, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run-gpu", mp, *chip, *FAST]) == HOLDS
    assert "Test mp (Interpreter, sm_90)" in capsys.readouterr().out


def test_an_older_gpu_is_compiled_for(
    device: Interpreter, capsys: pytest.CaptureFixture[str]
) -> None:
    device.compute_capability = (8, 5)
    assert fence_sim.main(["run-gpu", str(LITMUS / "MP.litmus"), *FAST]) == HOLDS
    assert "(Interpreter, sm_80)" in capsys.readouterr().out
    device.compute_capability = (6, 1)
    assert fence_sim.main(["run-gpu", str(LITMUS / "MP.litmus"), *FAST]) == USAGE
    assert "older than any chip that is known: sm_70" in capsys.readouterr().err


def test_a_gpu_that_is_too_old_for_the_chip(
    mp: str, device: Interpreter, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run-gpu", mp, "--sm", "120", *FAST]) == USAGE
    assert "Interpreter is of sm_90 and runs nothing for sm_120" in capsys.readouterr().err


ACROSS = """PTX across
{ x=0; f=0; }
 P0@cta 0,gpu 0      | P1@cta 1,gpu 1       ;
 st.weak x, 1        | ld.acquire.sys r0, f ;
 st.release.sys f, 1 | ld.weak r1, x        ;
~exists (P1:r0 == 1 /\\ P1:r1 == 0)
"""


def test_agents_run_on_gpus_of_their_own(
    device: Interpreter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The interpreter runs one GPU after the other: who waits for the other gives up.
    impatient = (line.replace("4096", "1") for line in gpu_kernels.GATE)
    monkeypatch.setattr(gpu_kernels, "GATE", tuple(impatient))
    path = tmp_path / "across.litmus"
    path.write_text(ACROSS)
    command = ["run-gpu", str(path), "--sm", "90", "--instances", "32", "--launches", "1"]
    command += ["--block-sizes", "32"]
    assert fence_sim.main(command) == USAGE
    said = f"{path}: error: the threads of 'across' are on different GPUs: pass --gpus 2"
    assert said in capsys.readouterr().err
    assert fence_sim.main([*command, "--gpus", "2", "--emit-ptx"]) == HOLDS
    assert capsys.readouterr().out.count(".entry stress(") == 2
    assert fence_sim.main([*command, "--gpus", "2"]) == HOLDS
    out = capsys.readouterr().out
    assert "Test across (2 of Interpreter, sm_90)" in out
    assert "Forbidden: 0 of 32" in out


def test_a_forbidden_outcome_is_told_and_fails(
    mp: str,
    device: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counted(monkeypatch, {(1, 1, 1): 1000, (0, 1, 1): 2, (None, 1, 1): 1})
    assert fence_sim.main(["run-gpu", mp, *FAST]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert "1,000 *> P1:r0=1; x=1; f=1;\n" in out
    assert "    2 :> P1:r0=0; x=1; f=1; forbidden\n" in out
    assert "    1 :> P1:r0=?; x=1; f=1; forbidden\n" in out
    assert "No\nForbidden: 3 of 1,003\n" in out
    assert "Condition forall (P1:r0 == 1): does not hold here" in out
    assert fence_sim.main(["run-gpu", mp, *FAST, "--json"]) == DOES_NOT_HOLD
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["verdict"], found["forbidden"], found["instances"]) == ("fails", 3, 1003)
    assert found["histogram"][1] == {
        "state": {"P1:r0": 0, "x": 1, "f": 1},
        "count": 2,
        "forbidden": True,
    }


def test_what_is_weakened_is_judged_as_if_it_were_whole(
    mp: str,
    device: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counted(monkeypatch, {(1, 1, 1): 7, (0, 1, 1): 1})
    weak = ["--without", "ld.acquire=ld.relaxed"]
    assert fence_sim.main(["run-gpu", mp, *FAST, *weak]) == DOES_NOT_HOLD
    assert "1 :> P1:r0=0; x=1; f=1; forbidden" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("quantifier", "seen", "holds"),
    [
        ("exists", 1, True),
        ("exists", 0, False),
        ("~exists", 1, False),
        ("~exists", 0, True),
        ("forall", 1, False),
    ],
)
def test_the_condition_is_told_but_the_model_decides(
    quantifier: str,
    seen: int,
    holds: bool,
    tmp_path: Path,
    device: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (LITMUS / "MP.litmus").read_text().replace("exists", quantifier)
    path = tmp_path / "mp.litmus"
    path.write_text(text)
    counted(monkeypatch, {(1, 0, 1, 1): seen, (1, 1, 1, 1): 5})
    assert fence_sim.main(["run-gpu", str(path), *FAST, "--json"]) == HOLDS
    found = json.loads(capsys.readouterr().out)
    assert found["condition_holds"] is holds
    assert (found["positive"], found["negative"]) == (seen, 5)


def test_where_no_instance_ends_nothing_is_decided(
    tmp_path: Path,
    device: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(gpu_kernels, "MOST_PASSES", 1)
    path = tmp_path / "spin.litmus"
    path.write_text(
        "PTX t { f=0; } P0@cta 0,gpu 0 ; L: ; ld.weak r0, f ; beq r0, 0, L ; forall (true)"
    )
    # The model allows no end of it at all; with another to write, it has one.
    assert fence_sim.main(["run-gpu", str(path), *FAST]) == USAGE
    assert "wait for ever" in capsys.readouterr().err
    path.write_text(
        "PTX t { f=0; } P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ; L: | st.weak f, 1 ; "
        "ld.weak r0, f | ; bne r0, 5, L | ; forall (true)".replace("bne r0, 5", "beq r0, 0")
    )
    assert fence_sim.main(["run-gpu", str(path), *FAST]) in (HOLDS, INCOMPLETE)
    assert "Gave up: " in capsys.readouterr().out


def test_locations_in_local_memory_are_in_shared_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Path(__file__).parents[2] / "examples" / "litmus" / "work_group_barrier.mlir"
    arguments = ["run-gpu", str(example), "--sm", "90", "--test", "local_memory", "--emit-ptx"]
    assert fence_sim.main(arguments) == HOLDS
    assert "st.weak.shared::cta.b32 [%at_tile], 5;" in capsys.readouterr().out


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_without_a_gpu(
    json_flag: list[str],
    mp: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def none(index: int) -> None:
        raise gpu.NoGpuError("no GPU", "the driver sees no device; needs an NVIDIA GPU")

    monkeypatch.setattr(gpu, "Device", none)
    assert fence_sim.main(["run-gpu", mp, "--sm", "90", *json_flag]) == NO_GPU
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.count("\n") == 1
    assert "no GPU: the driver sees no device; needs an NVIDIA GPU" in captured.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.mlir", "litmus.tes @t {\n}\n", "x.mlir:1:1: error: "),
        ("x.litmus", "PTX T\n{ x=0; }\n P0@cta 0,gpu 0 ;\n nonsense ;\n", "x.litmus:5:1: error: "),
    ],
)
def test_what_cannot_be_read_is_told_without_a_gpu(
    name: str,
    text: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def none(index: int) -> None:
        raise gpu.NoGpuError("no GPU", "the driver sees no device; needs an NVIDIA GPU")

    monkeypatch.setattr(gpu, "Device", none)
    path = tmp_path / name
    path.write_text(text)
    assert fence_sim.main(["run-gpu", str(path)]) == USAGE
    assert f"{tmp_path}/{said}" in capsys.readouterr().err


def test_a_gpu_that_fails_decides_nothing(
    mp: str,
    device: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(ptx: str) -> None:
        raise gpu.GpuError("PTX not loaded", "CUDA_ERROR_INVALID_PTX")

    monkeypatch.setattr(device, "load", fail)
    assert fence_sim.main(["run-gpu", mp, *FAST]) == INCOMPLETE
    assert "'mp': PTX not loaded: CUDA_ERROR_INVALID_PTX" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mcpu", "gfx942"], "a GPU runs PTX: pass --mcpu sm_90"),
        (["--sm", "42"], "sm_42"),
        (["--spacing", "6"], "spacings must be powers of two"),
        (["--spacing", "wide"], "expected numbers with commas between, found 'wide'"),
        (["--instances", "100"], "instances must be a power of two"),
        (["--without", "nothing"], "no synchronising instruction is called so"),
        (["--shared"], "'mp' cannot be run on a GPU: its threads are in different CTAs"),
    ],
)
def test_usage(
    arguments: list[str],
    message: str,
    mp: str,
    device: Interpreter,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fence_sim.main(["run-gpu", mp, *arguments]) == USAGE
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_a_campaign_runs_each_file_on_a_workers_gpu(
    mp: str,
    device: Interpreter,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task of a worker, here in this process; what is wrong with a file is told with the rest."""

    def here(arguments: object) -> nullcontext[None]:
        return nullcontext()

    monkeypatch.setattr("fencewright.tools.workers.open_workers", here)
    alone = fence_sim.main(["run-gpu", mp, *FAST]), capsys.readouterr().out
    command = ["run-gpu", mp, mp, *FAST, "--cluster", "tcp://workers:8786"]
    assert (fence_sim.main(command), alone[0]) == (HOLDS, HOLDS)
    told = [line for line in alone[1].splitlines() if not line.startswith("Time")]
    out = capsys.readouterr().out.splitlines()
    assert [line for line in out if not line.startswith("Time")] == 2 * told

    def none(index: int) -> Interpreter:
        raise gpu.NoGpuError("no GPU", "there is none")

    monkeypatch.setattr(gpu, "Device", none)
    assert fence_sim.main(command) == NO_GPU
    assert "there is none" in capsys.readouterr().err
