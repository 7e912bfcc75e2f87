"""Explorations end incomplete when their process holds too much, and never with the process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from litmus_modules import programs

from fencewright.simulator.core.exploration import LimitReached, WorkBudget, explore
from fencewright.simulator.core.processes import memory_limit
from fencewright.simulator.core.processes.memory_limit import (
    SHARE,
    VARIABLE,
    MemoryWatch,
    default_limit,
    limited_to,
    parse_size,
    share_among,
    size_text,
)
from fencewright.simulator.litmus_run import Limits, RunnableTest, progress, run
from fencewright.tools import fence_sim
from fencewright.tools.inputs.litmus.lowered import Lowering
from fencewright.tools.statuses import HOLDS, INCOMPLETE, USAGE

BOTH = """litmus.test @both {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    %r0 = scoped.load relaxed agent %y : !llvm.ptr<1> -> i32
    litmus.observe "r0", %r0 : i32
    litmus.end
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    cf.br ^again
  ^again:
    %r0 = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    %zero = arith.constant 0 : i32
    %is = arith.cmpi eq, %r0, %zero : i32
    cf.cond_br %is, ^again, ^over
  ^over:
    scoped.store relaxed agent %one, %y : i32, !llvm.ptr<1>
    litmus.end
  }
  litmus.condition "forall (x = 1)"
}
"""
MODELS = (None, "gfx942", "gfx1250", "sm_90")


def of_chip(chip: str | None) -> RunnableTest:
    (found,) = programs(BOTH, None if chip is None else Lowering(chip)).values()
    return found


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look finds the memory full."""
    monkeypatch.setenv(VARIABLE, "1M")
    monkeypatch.setattr(memory_limit, "_EVERY", 1)


@pytest.mark.parametrize("chip", MODELS)
def test_a_run_ends_incomplete(chip: str | None, full: None) -> None:
    found = run(of_chip(chip))
    assert found.incomplete.startswith("memory limit of 1 MiB reached after ")


@pytest.mark.parametrize("chip", MODELS)
def test_a_run_is_complete_where_memory_is_enough(
    chip: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The looks alone change nothing."""
    monkeypatch.setenv(VARIABLE, "1T")
    monkeypatch.setattr(memory_limit, "_EVERY", 1)
    found = run(of_chip(chip))
    assert not found.incomplete
    assert found.outcomes is not None


@pytest.mark.parametrize("chip", MODELS)
def test_whether_it_ends_is_not_decided(chip: str | None, full: None) -> None:
    with limited_to("1T"):
        found = run(of_chip(chip))
    assert "memory limit of 1 MiB" in progress(of_chip(chip), found, Limits()).why


def test_the_search_for_an_execution_gives_up(full: None) -> None:
    test = of_chip("gfx942")
    with pytest.raises(LimitReached, match="memory limit of 1 MiB reached after"):
        test.execution(test.condition.formula, Limits())


def test_parts_of_a_budget_share_the_memory(full: None) -> None:
    whole = WorkBudget()
    assert not whole.part().part().take()
    assert whole.is_spent
    assert whole.note() == "memory limit of 1 MiB reached after 0 steps"


def test_it_ends_near_the_limit() -> None:
    """Of a system without end the process holds no more than was allowed, and a little."""

    class Endless:
        observables = ()

        def initial(self) -> tuple[int, ...]:
            return (0,) * 40

        def successors(self, state: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
            return [((state[0] + 1, *range(state[0], state[0] + 39)), 0)]

        def final(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
            return []

        def errors(self, state: tuple[int, ...]) -> list[str]:
            return []

    allowed = memory_limit.held() + (30 << 20)
    with limited_to(str(allowed)):
        found = explore(Endless(), limit=1 << 40)
    assert found.note.startswith("memory limit of ")
    assert memory_limit.held() < allowed + (30 << 20)


LARGE = """
import resource

from fencewright.simulator.core.exploration import explore


class Large:
    observables = ()

    def initial(self):
        return 0, bytes(100_000)

    def successors(self, state):
        number = state[0] + 1
        return [((number, bytes([number % 256]) * 100_000), 0)]

    def final(self, state):
        return []

    def errors(self, state):
        return []


print(explore(Large(), limit=1 << 40).note)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_a_program_obeys_the_default_limit() -> None:
    """A process that explores states of 100 KB without end never holds an eighth more."""
    command = [sys.executable, "-c", LARGE]
    environment = {name: each for name, each in os.environ.items() if name != VARIABLE}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    note, peak = done.stdout.splitlines()
    limit = default_limit()
    assert limit is not None
    assert note.startswith(f"memory limit of {size_text(limit)} reached after ")
    assert limit < int(peak) < limit * 9 // 8


def test_garbage_is_collected_before_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([2 << 20, 0, 0])
    monkeypatch.setattr(memory_limit, "held", lambda: next(sizes))
    monkeypatch.setattr(memory_limit, "_EVERY", 1)
    monkeypatch.setenv(VARIABLE, "1M")
    watch = MemoryWatch()
    assert not watch.count()
    assert not watch.count()


@pytest.mark.parametrize(
    ("text", "size"),
    [("5", 5), ("2k", 2048), ("1.5M", 3 << 19), ("2G", 2 << 30), ("1 GiB", 1 << 30)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "2X", "-1", "G", "1e9"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is no size in bytes; write it as 512M or 2G"):
        parse_size(text)


def test_size_text() -> None:
    assert [size_text(each) for each in (2048, 3 << 19, 5 << 30)] == ["2 KiB", "1.5 MiB", "5 GiB"]


def test_a_container_may_hold_less_than_the_machine(tmp_path: Path) -> None:
    """The least of its own limit and of those around it, in either version of control groups."""
    membership = tmp_path / "cgroup"
    membership.write_text("4:memory:/old/mine\n2:cpu:/old\n0::/new/mine\n")
    for name, text in (
        ("new/memory.max", "900\n"),
        ("new/mine/memory.max", "max\n"),
        ("memory/old/memory.limit_in_bytes", "700\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sorted(memory_limit.cgroup_limits(membership, tmp_path)) == [700, 900]
    assert not [*memory_limit.cgroup_limits(tmp_path / "none", tmp_path)]


def test_the_default_is_a_share_of_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(name: str, *sizes: int) -> None:
        def given(*_: object) -> Iterator[int]:
            return iter(sizes)

        monkeypatch.setattr(memory_limit, name, given)

    known("_physical", 1000)
    known("cgroup_limits", 800, 4000)
    known("_process")
    assert default_limit.__wrapped__() == 800 // SHARE
    known("cgroup_limits", 1 << 40)
    known("_physical", 1 << 40)
    assert default_limit.__wrapped__() == 2 << 30
    known("_physical")
    known("cgroup_limits")
    assert default_limit.__wrapped__() is None


def test_workers_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_WORKERS", [1])
    monkeypatch.setenv(VARIABLE, "4M")
    share_among(4)
    assert memory_limit.memory_limit() == 1 << 20


GREEDY = """
from fencewright.simulator.core.processes import memory_limit
from fencewright.tools.diagnostics import run_tool

memory_limit._physical = lambda: iter([1 << 29])
raise SystemExit(run_tool("greedy", lambda: len(bytearray({size}))))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA of Linux")
def test_no_program_takes_the_whole_machine() -> None:
    """Whatever it does; three quarters of 512 MiB hold a small array and no large one."""

    def run_with(size: int) -> tuple[int, str]:
        command = [sys.executable, "-c", GREEDY.format(size=size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert run_with(1 << 30) == (3, "greedy: error: out of memory\n")
    status, errors = run_with(1 << 20)
    assert (status, errors) == ((1 << 20) % 256, "")


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.mlir"
    file.write_text(BOTH)
    asked = ["run", str(file), "--mcpu", "gfx942"]
    assert fence_sim.main([*asked, "--memory-limit", "1T"]) == HOLDS
    assert fence_sim.main([*asked, "--memory-limit", "2X"]) == USAGE
    assert "'2X' is no size in bytes" in capsys.readouterr().err
    assert VARIABLE not in os.environ


@pytest.mark.parametrize("chip", MODELS)
def test_an_incomplete_run_has_its_status(
    chip: str | None, tmp_path: Path, full: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "both.mlir"
    file.write_text(BOTH.replace("forall (x = 1)", "exists (x = 3)"))
    asked = ["run", str(file), *(() if chip is None else ("--mcpu", chip))]
    assert fence_sim.main(asked) == INCOMPLETE
    assert "memory limit of 1 MiB reached" in capsys.readouterr().out


def test_an_environment_without_a_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "much")
    assert fence_sim.main(["run", "nosuch.mlir"]) == USAGE
    assert capsys.readouterr().err.startswith(f"{VARIABLE}: error: 'much' is no size")


@pytest.mark.parametrize("platform", memory_limit.WITHOUT_LIMITS)
def test_a_platform_without_limits(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page that runs the programs in a browser."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    memory_limit.limit_process()
    assert memory_limit.default_limit.__wrapped__() is not None
    assert memory_limit.held() >= 0
