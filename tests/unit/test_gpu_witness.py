"""Races shown on a GPU: what is launched is accepted by ptxas, and a delay shows what it aims at."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from scripts import load_script

from fencewright import gpu
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.gpu.delays import CYCLES, Delay, EarlyRead, Reach, delayed, twin_of
from fencewright.simulator.gpu.witness import Case, Variant, case_of, count_wrong
from fencewright.simulator.threads.launch import (
    Array,
    Launch,
    LaunchError,
    Module,
    Size,
    execute,
    parse_launch,
)
from fencewright.simulator.threads.schedule import Schedule
from fencewright.tools import fence_sim
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, USAGE

witnesses = load_script(Path(__file__).parents[2] / "benchmarks" / "gpu" / "witnesses.py")
PTXAS = shutil.which("ptxas")
EXHIBITS = sorted(witnesses.EXHIBITS.glob("*.ptx.in"))
HIDDEN = {
    *("message", "message-volatile", "message-acquire", "message-release", "message-cta-acquire"),
    *("read-only", "last-block", "lock", "grid-barrier", "look-back", "atomic-scope"),
    *("proxy-fence", "cluster-exit"),
}
"""Of which every order of the threads gives the right values: a cache or an engine is wrong."""


@dataclass
class Words:
    """A buffer of the simulated GPU."""

    data: bytearray

    def write(self, data: bytes) -> None:
        self.data[:] = data

    def read(self, size: int) -> bytes:
        return bytes(self.data[:size])


@dataclass
class Simulated:
    """The executor in the place of a GPU: it runs the loops of delays, and hides caches."""

    ptx: str = ""
    name: str = ""
    fails_at: int = 0
    launches: int = 0

    def allocate(self, size: int) -> Words:
        return Words(bytearray(size))

    def load(self, ptx: str) -> "Simulated":
        self.ptx = ptx
        return self

    def kernel(self, name: str) -> "Simulated":
        self.name = name
        return self

    def launch(
        self, grid: Size, block: Size, arguments: list[Words], *, cluster: Size, shared_bytes: int
    ) -> None:
        self.launches += 1
        if self.launches == self.fails_at:
            raise OSError("a launch failed: ILLEGAL_ADDRESS")
        module = Module(read_ptx(self.ptx, "k.ptx"))
        arrays = tuple(Array("b8", len(each.data)) for each in arguments)
        launch = Launch(self.name, grid, block, shared_bytes, arrays, cluster)
        given = {at: bytes(each.data) for at, each in enumerate(arguments)}
        run = execute(module, launch, schedule=Schedule(is_late=True), given=given)
        if not run.outcome.is_done:
            raise OSError(run.outcome.problem or "it hangs")
        for each, left in zip(arguments, run.arguments, strict=True):
            assert left is not None
            each.data[:] = left.data[: len(each.data)]


@cache
def case(path: Path) -> Case:
    """The case of an exhibit."""
    return witnesses.exhibit_case(path)[1]


def wrong(made: Case, variant: Variant) -> bool:
    """True where a variant gives a wrong result in the simulated GPU."""
    return count_wrong(Simulated(), made, variant, 1, OSError).wrong > 0


@pytest.mark.parametrize("path", EXHIBITS, ids=lambda each: each.name.partition(".")[0])
def test_an_exhibit_is_wrong_under_a_delay_and_its_twin_never(path: Path) -> None:
    made = case(path)
    shown = {each.aim for each in made.variants if not each.is_twin and wrong(made, each)}
    twins = {each.aim for each in made.variants if each.is_twin and wrong(made, each)}
    assert not twins
    assert bool(shown) is (made.name not in HIDDEN)


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("path", EXHIBITS, ids=lambda each: each.name.partition(".")[0])
def test_ptxas_accepts_what_is_launched(path: Path, tmp_path: Path) -> None:
    made = case(path)
    for each in {each.aim: each for each in made.variants}.values():
        code = tmp_path / "k.ptx"
        code.write_text(each.ptx)
        command = ["ptxas", "-arch=sm_90", str(code), "-o", str(tmp_path / "k.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stdout + done.stderr


HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
KERNEL = (
    HEAD
    + """.visible .entry k(.param .u64 a)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
L: @%p1 st.global.u32 [%rd1], %r1; st.global.u32 [%rd1], %r1; // st.global.u32 [%rd1], %r1;
ret;
}
"""
)


def test_a_delay_stands_before_its_instruction_whatever_else_is_on_the_line() -> None:
    file = read_ptx(KERNEL, "k.ptx")
    function = file.functions["k"]
    guarded, plain = (each for each in function.instructions if each.text.startswith(("@", "st")))
    for held, after in ((guarded, "@%p1 st.global"), (plain, "st.global")):
        text = delayed(file, function, Delay(held.number, Reach.WARP, 0, 40))
        assert f"}}\n{after}" in text
        assert f"{CYCLES};" in text
        assert "shr.u32 %fence_r, %fence_r, 5; setp.ne.u32 %fence_p, %fence_r, 1;" in text
        again = read_ptx(text, "k.ptx").functions["k"]
        own = [each.text for each in function.instructions]
        assert [each.text for each in again.instructions if "fence_" not in each.text] == own


def test_a_lane_does_its_access_in_a_branch_of_its_own() -> None:
    file = read_ptx(KERNEL, "k.ptx")
    function = file.functions["k"]
    held = next(each for each in function.instructions if "st.global" in each.text)
    text = delayed(file, function, Delay(held.number, Reach.LANE, 0, 5))
    assert text.count("@%p1 st.global.u32 [%rd1], %r1;") == 2
    assert "setp.ne.u32 %fence_p, %fence_r, 5;" in text


def test_an_early_read_comes_before_the_delay_at_one_place() -> None:
    file = read_ptx(KERNEL, "k.ptx")
    function = file.functions["k"]
    text = delayed(file, function, Delay(0, Reach.BLOCK, 3, 0), EarlyRead("a", 6, 3))
    assert text.index("ld.global.ca.u32 %fence_r, [%fence_d+4]") < text.index("%clock64")
    assert text.index("%clock64") < text.index("ld.param.u64 %rd1")


def test_the_same_instruction_of_a_twin_may_be_weaker() -> None:
    function = read_ptx(KERNEL, "k.ptx").functions["k"]
    other = KERNEL.replace("; st.global.u32", "; st.relaxed.gpu.global.u32")
    twin = read_ptx(other, "k.ptx").functions["k"]
    stores = [each for each in function.instructions if "st.global" in each.text]
    for each in stores:
        same = twin_of(function, each, twin)
        assert same is not None
        assert same.number == each.number
    without = read_ptx(KERNEL.replace("st.global.u32", "// "), "k.ptx").functions["k"]
    assert twin_of(function, stores[1], without) is None


def test_what_is_no_pair_is_refused() -> None:
    _, launch, text = witnesses.exhibit(witnesses.EXHIBITS / "barrier.ptx.in")

    def refused(text: str, kernel: str, twin: str) -> str:
        module = Module(read_ptx(text, "k.ptx"))
        asked = parse_launch(launch.replace("wrong", kernel, 1))
        with pytest.raises(LaunchError) as problem:
            case_of("k", module, asked, module, twin)
        return str(problem.value)

    assert "right has no race" in refused(text, "right", "right")
    assert "the twin has a race" in refused(text, "wrong", "wrong")
    assert "no kernel 'other'" in refused(text, "wrong", "other")
    variable = text.replace(".visible", ".global .u32 count;\n.visible", 1)
    assert "not reset" in refused(variable, "wrong", "right")


def test_a_launch_that_fails_is_wrong_and_the_last() -> None:
    made = case(witnesses.EXHIBITS / "barrier.ptx.in")
    right = next(each for each in made.variants if each.is_twin)
    count = count_wrong(Simulated(fails_at=3), made, right, 10, OSError)
    assert (count.launches, count.wrong, count.first) == (3, 1, 3)
    assert "ILLEGAL_ADDRESS" in count.problem
    count = count_wrong(Simulated(), made, right, 2, OSError)
    assert (count.launches, count.wrong, count.first, count.problem) == (2, 0, 0, "")


def run_witness(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exhibit: str, *more: str, fails_at: int = 0
) -> int:
    """``fence-sim run-gpu --witness`` of an exhibit, on a simulated GPU."""
    _, launch, text = witnesses.exhibit(witnesses.EXHIBITS / f"{exhibit}.ptx.in")
    path = tmp_path / "k.ptx"
    path.write_text(text)

    def opened(*, patience: float) -> Simulated:
        return Simulated(fails_at=fails_at)

    def described(device: Simulated) -> str:
        return "simulated"

    monkeypatch.setattr(gpu, "Device", opened)
    monkeypatch.setattr(gpu, "GpuError", OSError)
    monkeypatch.setattr(gpu, "description", described)
    return fence_sim.main(
        ["run-gpu", str(path), "--witness", launch, "--fixed", "right", "--launches", "1", *more]
    )


def test_the_command_shows_a_race(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_witness(monkeypatch, tmp_path, "barrier") == DOES_NOT_HOLD
    said = capsys.readouterr().out
    assert "race (read-write)" in said
    assert "wrong, line 16 (st.shared.u32), warp held up: 1 of 1 launches wrong" in said
    assert "right, line 16 (st.shared.u32), warp held up: 0 of 1 launches wrong" in said
    assert run_witness(monkeypatch, tmp_path, "atomic-scope", "--json") == HOLDS
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["kernel"] for row in rows} == {"wrong", "right"}
    assert not any(row["wrong"] for row in rows)


def test_what_a_failed_launch_leaves_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_witness(monkeypatch, tmp_path, "barrier", fails_at=1) == DOES_NOT_HOLD
    said = capsys.readouterr()
    assert "ILLEGAL_ADDRESS" in said.out
    assert "not run: right" in said.err


def test_the_command_prints_what_it_would_run_and_refuses_what_is_no_pair(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_witness(monkeypatch, tmp_path, "barrier", "--emit-ptx") == HOLDS
    assert "%clock64" in capsys.readouterr().out
    path = str(tmp_path / "k.ptx")
    assert fence_sim.main(["run-gpu", path, "--fixed", "right"]) == USAGE
    assert fence_sim.main(["run-gpu", path, "--witness", "wrong", "--fixed", "right"]) == USAGE
    assert "is no launch" in capsys.readouterr().err
    (tmp_path / "bad.ptx").write_text("nothing")
    bad = str(tmp_path / "bad.ptx")
    asked = ["--witness", "k<<<1, 1>>>()", "--fixed", "k"]
    assert fence_sim.main(["run-gpu", bad, *asked]) == USAGE
