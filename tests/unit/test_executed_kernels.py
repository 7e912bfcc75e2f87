"""The campaign that holds kernels executed here against a GPU: its launches, and its comparison."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from campaigns import first_of

from fencewright import gpu
from fencewright.gpu import GpuError
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race.waves import launch as waves_launch
from fencewright.simulator.threads.launch import Module, execute, parse_launch
from fencewright.tools.dev.campaigns import executed_kernels
from fencewright.tools.dev.campaigns.executed_kernels import (
    PLAN,
    SOURCES,
    Plan,
    by_waves,
    compare_counters,
    compiled,
    launch_from,
    launches_of,
    planned,
)

BY_WAVES = {"ordinary": 26, "cub_block": 5}
"""So many of their kernels are executed by whole waves."""
TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 in, .param .u64 out, .param .u32 by) {
.reg .b64 %a<5>; .reg .b32 %r<5>;
ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; ld.param.u32 %r1, [by];
mov.u32 %r2, %tid.x; mul.wide.u32 %a3, %r2, 4; add.s64 %a1, %a1, %a3; add.s64 %a2, %a2, %a3;
ld.global.u32 %r3, [%a1]; add.s32 %r3, %r3, %r1; st.global.u32 [%a2], %r3; ret;
}
"""
LAUNCH = "add<<<1, 32>>>(i32[32]=random(7, 100), i32[32], 5)"


def module_of(text: str) -> Module:
    return Module(read_ptx(text, "k.ptx"))


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.cu")), ids=lambda each: each.stem)
def test_every_kernel_has_a_launch(source: Path) -> None:
    text = source.read_text()
    kernels = re.findall(r'^extern "C" __global__ void (\w+)\(', text, re.MULTILINE)
    assert kernels
    assert [parse_launch(each).kernel for each in launches_of(text)] == kernels


def test_there_are_kernels_enough() -> None:
    assert sum(len(launches_of(each.read_text())) for each in SOURCES.glob("*.cu")) >= 90


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc of CUDA")
@pytest.mark.parametrize("name", ["halves", "asynchronous"])
def test_both_executors_compute_the_same(name: str, tmp_path: Path) -> None:
    source = SOURCES / f"{name}.cu"
    text = compiled(source, tmp_path / "kernels.ptx")
    for line in launches_of(source.read_text()):
        plan = planned(module_of(text), line)
        assert plan["problem"] == ""
        after = [executed_kernels.unpacked(each["after"]) for each in plan["buffers"]]
        assert by_waves(text, plan["kernel"], parse_launch(line), after)["equal"], line


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc of CUDA")
@pytest.mark.parametrize("name", first_of(BY_WAVES))
def test_whole_waves_leave_what_threads_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waves_launch, "_LEAST_THREADS", 1)
    source = SOURCES / f"{name}.cu"
    text = compiled(source, tmp_path / "kernels.ptx")
    module, count = module_of(text), 0
    for line in launches_of(source.read_text()):
        launch = parse_launch(line)
        found = waves_launch.executed(module, launch, {})
        if found is None:
            continue
        count += 1
        run = execute(module, launch)
        expected = tuple(
            None if each is None else bytes(each.data[: each.size]) for each in run.arguments
        )
        assert found == expected, line
    assert count >= BY_WAVES[name]


def test_a_plan_has_what_is_before_and_after() -> None:
    plan = planned(module_of(TEXT), LAUNCH)
    assert plan["problem"] == ""
    assert plan["arguments"] == [0, 1, (5).to_bytes(4, "little").hex()]
    before, after = (
        memoryview(executed_kernels.unpacked(plan["buffers"][number][when])).cast("i").tolist()
        for number, when in ((0, "before"), (1, "after"))
    )
    assert max(before) < 100
    assert len(set(before)) > 10
    assert after == [each + 5 for each in before]


def test_waves_compute_and_count_the_same() -> None:
    plan = planned(module_of(TEXT), LAUNCH)
    after = [executed_kernels.unpacked(each["after"]) for each in plan["buffers"]]
    found = by_waves(TEXT, "add", parse_launch(LAUNCH), after)
    assert found["equal"]
    assert found["counters"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 4
    assert not by_waves(TEXT, "add", parse_launch(LAUNCH), [after[0], bytes(128)])["equal"]


class Memory:
    """A buffer of a GPU that is none."""

    address = 64

    def __init__(self) -> None:
        self.bytes = b""

    def write(self, data: bytes, offset: int = 0) -> None:
        assert (self.address + offset) % executed_kernels.GIB == 0
        self.bytes = bytes(data)

    def read(self, size: int, offset: int = 0) -> bytes:
        return self.bytes[:size]

    def free(self) -> None:
        """Nothing is held."""


class Card:
    """A GPU that adds a number to 32 words, or fails."""

    by = 5
    fails = False
    buffers: list[Memory]

    def __init__(self, *, patience: float) -> None:
        type(self).buffers = []

    name, cuda_version, compute_capability = "Card", (13, 0), (9, 0)

    def load(self, text: str) -> "Card":
        assert ".entry" in text
        return self

    def kernel(self, name: str) -> "Card":
        assert name == "add"
        return self

    def allocate(self, size: int) -> Memory:
        self.buffers.append(Memory())
        return self.buffers[-1]

    def launch(self, grid: Any, block: Any, arguments: Sequence[Any], **_: Any) -> None:
        first, second = self.buffers[-2:]
        words = memoryview(first.bytes).cast("i").tolist()
        second.bytes = b"".join((each + self.by).to_bytes(4, "little") for each in words)

    def synchronize(self) -> None:
        if self.fails:
            raise GpuError("a launch failed", "CUDA_ERROR_LAUNCH_FAILED")


def plan_in(folder: Path, **more: object) -> Plan:
    plan = {**planned(module_of(TEXT), LAUNCH), "file": "k.ptx", **more}
    (folder / "k.ptx").write_text(TEXT)
    (folder / PLAN).write_text(json.dumps([plan, plan]))
    return plan


def launched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    **card: object,
) -> tuple[int, list[Plan]]:  # fmt: skip
    plan_in(folder)
    monkeypatch.setattr(gpu, "Device", type("Other", (Card,), card))
    monkeypatch.setattr(gpu, "description", str)
    status = launch_from(folder, 0, counted=False)
    return status, [json.loads(each) for each in capsys.readouterr().out.splitlines()]


def test_the_same_bytes_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = launched(tmp_path, monkeypatch, capsys)
    assert status == 0
    assert [each.get("different") for each in lines] == [None, 0, 0]
    assert lines[1]["bytes"] == 256


def test_another_sum_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines = launched(tmp_path, monkeypatch, capsys, by=6)
    assert lines[1]["different"] == 32
    assert lines[1]["first"]["buffer"] == 1


def test_a_failed_launch_ends_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = launched(tmp_path, monkeypatch, capsys, fails=True)
    assert status == 1
    assert [each.get("number") for each in lines] == [None, 0]
    assert "CUDA_ERROR_LAUNCH_FAILED" in lines[1]["failed"]


def test_counters_beside_those_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    counters = dict.fromkeys(executed_kernels.METRICS, 0) | {name: 4}
    plan_in(tmp_path, launch=LAUNCH.replace("add", "transpose"), waves={"counters": counters})
    rows = '"ID","Metric Name","Metric Value"\n' + "".join(
        f'"{at}","{name}","{value}"\n' for at, value in enumerate(("4", "1,005"))
    )
    assert compare_counters(tmp_path, rows) == 1
    first, second = json.loads(capsys.readouterr().out)
    assert (first["exact"], first["of"], first["different"]) == (1, 1, {})
    assert second["different"] == {name: [4, 1005]}
