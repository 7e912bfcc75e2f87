"""Long work shows how far it is on a terminal, nothing in a pipe, and ends soon after Ctrl-C."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from fencewright.simulator.core.exploration import Meter, WorkBudget
from fencewright.simulator.litmus_run import CdnaTest, Limits, PtxTest, run
from fencewright.tools import fence_sim, progress
from fencewright.tools.inputs.litmus.lowered import Lowering, read
from fencewright.tools.programs import PROGRAMS, Program
from fencewright.tools.statuses import INCOMPLETE, USAGE

ROOT = Path(__file__).parents[2]
MESSAGES = str(ROOT / "tests/litmus/ptx/MP.litmus")
BUFFERS = str(ROOT / "tests/litmus/ptx/SB.litmus")
EXAMPLE = str(ROOT / "examples/litmus/message_passing.mlir")


class Terminal:
    """The stderr of a command that takes it for a terminal."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))

    def text(self) -> str:
        """What was written until the last writer closed it."""
        os.close(self.slave)
        parts: list[bytes] = []
        try:
            while part := os.read(self.master, 1 << 16):
                parts.append(part)
        except OSError:  # Linux's word for the end.
            pass
        os.close(self.master)
        return b"".join(parts).decode()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fencewright.tools.fence_sim", *arguments]


def test_a_terminal_shows_how_far_and_a_pipe_nothing():
    files = [MESSAGES, BUFFERS, MESSAGES]
    terminal = Terminal()
    done = subprocess.run(
        command("run", *files), stdout=subprocess.PIPE, stderr=terminal.slave, check=False,
        env={**os.environ, "TERM": "xterm"}, text=True,
    )  # fmt: skip
    shown = terminal.text()
    assert re.search(r"3 of 3 files, \d failed, [\d.,]+ a second, 0:00:00 left", shown)
    piped = subprocess.run(command("run", *files), capture_output=True, check=False, text=True)
    assert piped.stderr == ""
    times = re.compile("^Time .*", re.MULTILINE)
    assert times.sub("", done.stdout) == times.sub("", piped.stdout)


def test_the_words_of_progress():
    words = progress._counts  # pyright: ignore[reportPrivateUsage]  # the text, without a terminal
    assert words(0, 2_000, "programs", 0, 1.0) == "0 of 2,000 programs, 0 failed"
    assert words(500, 2_000, "programs", 3, 10.0) == (
        "500 of 2,000 programs, 3 failed, 50 a second, 0:00:30 left"
    )
    searched = progress._searched  # pyright: ignore[reportPrivateUsage]  # likewise
    assert searched(9, 0.5) == ""
    assert searched(12_000, 4.0) == "12,000 states or steps, 3,000 a second, 4 s"


def test_a_meter_says_how_far_a_run_is():
    for chip, kind in (("gfx942", CdnaTest), ("sm_90", PtxTest)):
        (test,) = read(EXAMPLE, Lowering(chip))
        assert isinstance(test, kind)
        meter = Meter()
        found = run(test, Limits(meter=meter))
        assert meter.done == (found.states or found.steps) > 0


def test_a_budget_counts_its_parts_as_they_go():
    work = WorkBudget(100)
    work.take(5)
    part = work.part(10)
    part.take(4)
    assert (work.done, work.progress) == (5, 9)
    work.take(part.done)
    assert (work.done, work.progress) == (9, 9)
    one, other = work.part(), work.part()
    for number in range(1, 4):
        one.take(3)
        other.take(2)
        assert (work.done, work.progress) == (9, 9 + 5 * number)


def heed_interrupts() -> None:
    """Whoever started the tests in the background had them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_ctrl_c_ends_a_certificate_and_keeps_what_is_done(tmp_path: Path):
    stream = tmp_path / "results.jsonl"
    process = subprocess.Popen(
        command("certify", "gfx908", "--jobs", "2", "--stream", str(stream)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    while not stream.exists() or len(stream.read_text().splitlines()) < 2:
        time.sleep(0.02)
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # A second; on a machine that does other things somewhat more.
    assert time.monotonic() - start < 5
    assert (process.returncode, err) == (INCOMPLETE, "fence-sim: error: interrupted\n")
    assert len(stream.read_text().splitlines()) >= 2


def test_sigterm_leaves_the_page_as_it_was_and_nothing_beside_it(tmp_path: Path):
    """As ``timeout`` and a batch system send it: to the one process that they know."""
    page = tmp_path / "page.md"
    page.write_text("before\n")
    campaign = ("--programs", "1000000", "--jobs", "2", "--page", str(page))
    process = subprocess.Popen(
        command("fuzz", "--async", *campaign),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len([*tmp_path.iterdir()]) < 2:
        time.sleep(0.02)
    process.terminate()
    # Its workers have its stderr: all of them have ended when that does.
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (INCOMPLETE, "fence-sim: error: terminated\n")
    assert [*tmp_path.iterdir()] == [page]
    assert page.read_text() == "before\n"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals):
    """Whatever ends it: they would keep its stderr open, and go on for hours."""
    process = subprocess.Popen(
        command(
            "fuzz", "--async", "--programs", "1000000", "--jobs", "2", "--results", str(tmp_path)
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    while not any(each.read_text().count("\n") > 2 for each in tmp_path.iterdir()):
        time.sleep(0.02)
    process.send_signal(number)
    # All of them have ended when this does.
    _, err = process.communicate(timeout=60)
    is_killed = number == signal.SIGKILL
    assert process.returncode == (-number if is_killed else INCOMPLETE)
    told = "" if is_killed else "fence-sim: error: terminated: the terminal is gone\n"
    assert err == told


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (signal.SIGHUP, "terminated: the terminal is gone"),
    ],
)
def test_the_status_is_ours_while_classes_are_made(tmp_path: Path, number: int, word: str):
    """Dataclasses are made by ``exec``, as at imports: CPython would end by SIGINT after that."""
    (tmp_path / "made.py").write_text(
        "import os, sys, time\n"
        "from fencewright.tools.diagnostics import run_tool\n"
        f"body = lambda: exec('os.kill(os.getpid(), {int(number)})\\ntime.sleep(60)')\n"
        "sys.exit(run_tool('tool', body))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "made"], cwd=tmp_path, capture_output=True, check=False, text=True,
        timeout=30, preexec_fn=heed_interrupts,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, f"tool: error: {word}\n")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_interrupt_while_a_program_is_imported_is_one_line(program: Program, tmp_path: Path):
    """Also where classes are made, which is most of the time that imports take."""
    (tmp_path / "made.py").write_text(
        f"import os, time\nexec('os.kill(os.getpid(), {int(signal.SIGINT)})\\ntime.sleep(60)')\n"
    )
    text = (
        "from dataclasses import replace\n"
        "from fencewright.tools.programs import PROGRAMS\n"
        f"(program,) = (each for each in PROGRAMS if each.name == {program.name!r})\n"
        "replace(program, module='made').run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, check=False, text=True,
        timeout=30, preexec_fn=heed_interrupts,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, f"{program.name}: error: interrupted\n")


def test_an_interrupt_of_many_files_prints_those_that_are_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from fencewright.tools import workers

    def results(*_: object):
        text = workers.FileResult(("second\n",), (0,))
        yield 1, text
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_results", results)
    assert fence_sim.main(["run", MESSAGES, BUFFERS, "--jobs", "2"]) == INCOMPLETE
    assert capsys.readouterr() == ("second\n\n", "fence-sim: error: interrupted\n")


def test_a_harness_is_read_here_alone(capsys: pytest.CaptureFixture[str]):
    command = ["run", "x.ptx", "--litmus", "harness.mlir", "--cluster", "local"]
    assert fence_sim.main(command) == USAGE
    assert "--litmus reads files of this machine: use --jobs" in capsys.readouterr().err
