"""Every program with a stdout that is closed or full, or a pipe that nobody reads any more."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fencewright.tools.embedded.in_process import TOOLS
from fencewright.tools.streams import CLOSED_PIPE

ROOT = Path(__file__).parents[2]
LITMUS = ROOT / "examples" / "litmus" / "message_passing.mlir"
LL = "define void @f() {\n  ret void\n}\n"

ENTRIES = {
    name: f"from fencewright.tools.programs import {name.replace('-', '_')} as run"
    for name in TOOLS
} | {"fencewright": "from fencewright.__main__ import main as run"}
"""How each program is started by what pip installs."""

COMMANDS = (
    "fence-opt {mlir}",
    "fence-opt --help",
    "fence-translate {ll} --import-llvm",
    "fence-sim run {litmus}",
    "fence-sim run {litmus} --jobs 2",
    "fence-sim --help",
    "fence-check {ptx} --lift",
    "fence-check --help",
    *(f"{name} --version" for name in ENTRIES),
    "fence-opt --verify-each --version",
    "fencewright --help",
)
"""The status of what could not be written, where it is not 1."""


@pytest.fixture(autouse=True)
def buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As most users have it: what cannot be written may show only when Python ends."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def words(command: str, folder: Path) -> list[str]:
    """The command as words, with the files that it names in ``folder``."""
    mlir, ll, ptx = (folder / name for name in ("x.mlir", "x.ll", "x.ptx"))
    mlir.write_text("".join(f"func.func private @f{number}()\n" for number in range(1000)))
    ll.write_text(LL)
    ptx.write_text(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n  ret;\n}\n")
    filled = (word.format(mlir=mlir, ll=ll, ptx=ptx, litmus=LITMUS) for word in command.split())
    program, *arguments = filled
    start = f"import sys; {ENTRIES[program]}; sys.argv[0] = {program!r}; sys.exit(run())"
    return [sys.executable, "-c", start, *arguments]


def ended(command: str, folder: Path, redirection: str) -> tuple[int, str, str]:
    """The status, stdout and stderr of a command whose streams are redirected by the shell."""
    script = f"{shlex.join(words(command, folder))} {redirection}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout_is_an_error(command: str, tmp_path: Path) -> None:
    status = 2
    assert ended(command, tmp_path, ">&-") == (status, "", "<stdout>: error: is closed\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_device_is_an_error(command: str, tmp_path: Path) -> None:
    name = command.split()[0]
    said = f"{name}: error: No space left on device\n"
    assert ended(command, tmp_path, "> /dev/full") == (2, "", said)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_ends_every_program_silently(command: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            words(command, tmp_path), stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, "")


@pytest.mark.parametrize(
    "command", ["fence-opt nothing", "fence-sim run nothing", "fence-check nothing", "fence-opt -x"]
)
def test_messages_that_nobody_reads(command: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            words(command, tmp_path), stdout=subprocess.PIPE, stderr=writer, text=True, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode in (1, 2, CLOSED_PIPE)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("redirection", "status"), [("2> /dev/full", 2), ("2>&-", 2), ("> /dev/full 2>&1", 2)]
)
def test_messages_that_cannot_be_written(redirection: str, status: int, tmp_path: Path) -> None:
    assert ended("fence-opt nothing", tmp_path, redirection) == (status, "", "")


def test_an_error_of_another_pipe_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: not every broken pipe is that of stdout."""
    script = (
        "from fencewright.tools.diagnostics import run_tool\n"
        "def body():\n  raise BrokenPipeError(32, 'Broken pipe')\n"
        "raise SystemExit(run_tool('tool', body))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "tool: error: Broken pipe\n")
