"""Campaigns: results come from any executor, are written down at once, and are resumed from."""

import json
import operator
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from multiprocessing import active_children
from pathlib import Path

import pytest

from fencewright.simulator.core.processes import campaign
from fencewright.simulator.core.processes.campaign import (
    CampaignError,
    DaskExecutor,
    Task,
    TaskError,
    open_dask,
    open_executor,
    run,
)
from fencewright.tools import fence_sim
from fencewright.tools.statuses import USAGE

MESSAGES = Path(__file__).parents[1] / "litmus/ptx/MP.litmus"


def square(number: int) -> int:
    return number * number


def mark(folder: str, number: int) -> int:
    """Leaves a trace of every call."""
    path = Path(folder) / f"call-{number}"
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    if number == 13:
        raise ValueError("thirteen")
    return number


def squares(count: int = 10) -> list[Task]:
    return [Task(str(number), square, (number,)) for number in range(count)]


EXPECTED = {str(number): number * number for number in range(10)}


def test_without_an_executor_tasks_run_in_order():
    assert list(run(squares())) == list(EXPECTED.items())


@pytest.mark.parametrize("open_any", [open_executor, ThreadPoolExecutor])
@pytest.mark.parametrize("window", [1, 3, 64])
def test_executors(open_any: Callable[[int], AbstractContextManager[Executor]], window: int):
    with open_any(2) as executor:
        assert dict(run(squares(), executor, window=window)) == EXPECTED


def needs_dask():
    pytest.importorskip("distributed", reason="dask.distributed is not installed")


def products(count: int = 10) -> list[Task]:
    """What workers need no file of the tests for."""
    return [Task(str(n), operator.mul, (n, n)) for n in range(count)]


def test_dask_on_a_local_cluster():
    needs_dask()
    with open_dask(1) as executor:
        assert dict(run(products(), executor)) == EXPECTED


def without_times(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("Time ")]


@contextmanager
def cluster(folder: Path) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process of its own; the address and the workers."""
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard")
    commands = [
        ("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show", *common),
        *[("dask_worker", "--nthreads", "1", "--no-nanny", *common)] * 2,
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *options],
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        for name, *options in commands
    ]
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_worker_that_is_killed_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    needs_dask()
    with cluster(tmp_path) as (address, workers):
        tasks = [Task(f"nap {n}", time.sleep, (0.02,)) for n in range(40)]
        tasks += products()
        found: dict[str, int | None] = {}
        with open_dask(1, address) as executor:
            assert isinstance(executor, DaskExecutor)
            while executor.width < 2:
                time.sleep(0.05)
            for key, result in run(tasks, executor, window=8):
                found[key] = result
                if len(found) == 10:
                    workers[0].kill()
        assert found == {f"nap {n}": None for n in range(40)} | EXPECTED
        files = [str(MESSAGES), "nowhere.mlir", str(MESSAGES.with_name("SB.litmus"))]
        assert fence_sim.main(["run", *files]) == USAGE
        alone = capsys.readouterr()
        assert fence_sim.main(["run", *files, "--cluster", address]) == USAGE
        together = capsys.readouterr()
        assert without_times(together.out) == without_times(alone.out)
        assert together.err == alone.err == "nowhere.mlir: error: No such file or directory\n"
        monkeypatch.setattr(campaign, "code_digest", lambda: "of other code")
        with (
            open_dask(1, address) as executor,
            pytest.raises(TaskError, match="the campaign of other code: install the same"),
        ):
            list(run(products(), executor))


def test_a_scheduler_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    needs_dask()
    monkeypatch.setattr(campaign, "_CONNECT", 0.2)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        assert fence_sim.main(["certify", "gfx908", "--cluster", address]) == USAGE
    assert f"no scheduler answers at {address}" in capsys.readouterr().err
    assert fence_sim.main(["certify", "gfx908", "--cluster", "somewhere"]) == USAGE


def test_tasks_are_taken_as_they_are_needed():
    taken: list[int] = []

    def endless() -> Iterator[Task]:
        for number in count():
            taken.append(number)
            yield Task(str(number), square, (number,))

    with ThreadPoolExecutor(1) as executor:
        results = run(endless(), executor, window=3)
        assert len({next(results)[1] for _ in range(5)}) == 5
    assert len(taken) < 12


def test_dask_is_named_when_absent(monkeypatch: pytest.MonkeyPatch):
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with (
        pytest.raises(CampaignError, match=r"pip install fencewright\[dask\]"),
        open_dask(1),
    ):
        pass


def calls(folder: Path) -> dict[str, int]:
    return {path.name: len(path.read_text()) for path in folder.glob("call-*")}


def marks(folder: Path, *numbers: int) -> list[Task]:
    return [Task(str(number), mark, (str(folder), number)) for number in numbers]


def test_results_are_written_as_they_come(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    results = run(marks(tmp_path, 1, 2), stream=stream, name="marks")
    next(results)
    lines = [json.loads(line) for line in stream.read_text().splitlines()]
    assert lines == [
        {"format": "fencewright-campaign", "version": 1, "name": "marks"},
        {"key": "1", "result": 1},
    ]


def test_resume_runs_nothing_twice(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    with pytest.raises(TaskError, match="13: ValueError: thirteen"):
        list(run(marks(tmp_path, 1, 2, 13, 3), stream=stream, name="marks"))
    results = dict(run(marks(tmp_path, 1, 2, 3), stream=stream, name="marks"))
    assert results == {"1": 1, "2": 2, "3": 3}
    assert calls(tmp_path) == {"call-1": 1, "call-2": 1, "call-3": 1, "call-13": 1}


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    list(run(marks(tmp_path, 1, 2), stream=stream, name="marks"))
    stream.write_text(stream.read_text()[:-5])
    assert dict(run(marks(tmp_path, 1, 2), stream=stream, name="marks")) == {"1": 1, "2": 2}
    assert calls(tmp_path) == {"call-1": 1, "call-2": 2}
    assert dict(run(marks(tmp_path, 1, 2), stream=stream, name="marks")) == {"1": 1, "2": 2}
    assert calls(tmp_path) == {"call-1": 1, "call-2": 2}


@pytest.mark.parametrize("damage", ["{}", '{"key": "1"}', "[1]", "{", "", '{"result": 1}'])
def test_a_damaged_line_is_named_and_nothing_is_lost(damage: str, tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    list(run(squares(), stream=stream, name="squares"))
    lines = stream.read_text().splitlines()
    lines[2] = damage
    before = "\n".join([*lines, '{"key": "cut'])
    stream.write_text(before)
    with pytest.raises(CampaignError, match=r"results.jsonl:3: not a result: remove this line"):
        list(run(squares(), stream=stream, name="squares"))
    assert stream.read_text() == before
    stream.write_text("\n".join([*lines[:2], *lines[3:], '{"key": "cut']))
    assert dict(run(squares(), stream=stream, name="squares")) == EXPECTED


def test_two_campaigns_never_write_to_one_file(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    results = run(squares(), stream=stream, name="squares")
    next(results)
    before = stream.read_text()
    with pytest.raises(CampaignError, match="is written by another campaign that runs"):
        list(run(squares(), stream=stream, name="squares"))
    assert stream.read_text() == before
    assert len(list(results)) == len(EXPECTED) - 1
    assert dict(run(squares(), stream=stream, name="squares")) == EXPECTED


def test_results_of_another_campaign_are_refused(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    list(run(marks(tmp_path, 1), stream=stream, name="marks"))
    with pytest.raises(CampaignError, match="not of this campaign") as refused:
        list(run(marks(tmp_path, 1), stream=stream, name="others"))
    assert not isinstance(refused.value, TaskError)


def test_a_failing_task_is_named():
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(TaskError, match="bad: TypeError"),
    ):
        list(run([Task("bad", square, ("a",))], executor))


SLOW = """\
import signal, sys, time
from pathlib import Path
from fencewright.simulator.core.processes.campaign import Task, open_executor, run

def nap(number):
    time.sleep(600 if number else 0)
    return number

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tasks = [Task(str(number), nap, (number,)) for number in range(100)]
    with open_executor(2) as executor:
        for key, _ in run(tasks, executor, Path(sys.argv[1]), "naps"):
            print(key, flush=True)
"""
PROMPT = 10
"""Seconds that an end may take on a machine that does other things: tasks take sixty times as long."""


def test_ctrl_c_ends_what_runs_and_what_is_queued(tmp_path: Path):
    """As from a terminal: every process of the group gets the signal."""
    script, stream = tmp_path / "slow.py", tmp_path / "results.jsonl"
    script.write_text(SLOW)
    process = subprocess.Popen(
        [sys.executable, str(script), str(stream)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    # Its workers have its stderr: all of them have ended when that does.
    _, err = process.communicate(timeout=300)
    assert time.monotonic() - start < PROMPT
    assert err.count("Traceback") == 1
    assert err.endswith("KeyboardInterrupt\n")
    lines = [json.loads(line) for line in stream.read_text().splitlines()]
    assert lines[1:] == [{"key": "0", "result": 0}]


def test_a_task_that_fails_ends_the_others():
    tasks = [Task("nap", time.sleep, (600,)), Task("bad", square, ("a",)), *squares()]
    start = time.monotonic()
    with pytest.raises(TaskError, match="bad: TypeError"), open_executor(2) as executor:
        list(run(tasks, executor))
    assert time.monotonic() - start < PROMPT
    assert not active_children()
