"""The exit statuses of the four programs are alike, whatever is wrong with what they are given."""

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest
from in_process import in_fork

from fencewright.tools import diagnostics
from fencewright.tools.programs import PROGRAMS
from fencewright.tools.statuses import HOLDS, INCOMPLETE, USAGE

PROGRAM_OF = {each.name: each for each in PROGRAMS}
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "fence-opt": (),
    "fence-sim": ("run",),
    "fence-check": (),
    "fence-translate": ("--import-llvm",),
}
"""What each program is given before its input."""

GOOD: Mapping[str, str] = {
    "fence-opt": "func.func private @f()\n",
    "fence-sim": "PTX T\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
    "fence-check": ".version 8.0\n.target sm_90\n.entry k()\n{\n ret;\n}\n",
    "fence-translate": "define void @f() {\n  ret void\n}\n",
}
SUFFIXES = {"fence-sim": "litmus", "fence-check": "ptx", "fence-translate": "ll"}


BAD = {
    "an unknown option": ("in", "--no-such-option"),
    "no value of an option": ("in", "-o"),
    "a file that is not there": ("none",),
    "a folder with nothing": ("folder",),
    "an empty file": ("empty",),
    "a text of no language": ("garbage",),
    "bytes that are no text": ("bytes",),
    "an output in no folder": ("in", "-o", "none/out"),
}
"""What is wrong, as the arguments after the command."""


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    name = request.param.name
    (tmp_path / "folder").mkdir()
    suffix = SUFFIXES.get(name, "mlir")
    contents = {
        "in": GOOD[name].encode(),
        "empty": b"",
        "garbage": b"?! no program {{{\n",
        "bytes": b"\xff\xfe\x00\x01",
    }
    for stem, content in contents.items():
        (tmp_path / f"{stem}.{suffix}").write_bytes(content)
    return name, tmp_path


def ended(name: str, folder: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    suffix = SUFFIXES.get(name, "mlir")
    files = {"in", "empty", "garbage", "bytes", "none"}
    words = tuple(f"{each}.{suffix}" if each in files else each for each in words)
    entry = PROGRAM_OF[name]

    def run() -> int:
        sys.argv[:] = [name, *COMMANDS[name], *words]
        return entry.run()

    return in_fork(folder, run)


def test_what_is_right_is_0(program: tuple[str, Path]) -> None:
    done = ended(*program, ("in",))
    assert done.returncode == HOLDS, done.stderr


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_used_is_2_and_one_line(program: tuple[str, Path], what: str) -> None:
    done = ended(*program, BAD[what])
    assert done.returncode == USAGE, done.stderr
    assert done.stderr.count("\n") == 1
    assert ": error: " in done.stderr
    counts_folder = program[0] == "fence-check" and what == "a folder with nothing"
    assert bool(done.stdout) == counts_folder


def test_an_output_that_cannot_be_written_is_2(program: tuple[str, Path]) -> None:
    name, folder = program
    done = ended(name, folder, ("in", "-o", "/dev/full"))
    assert done.returncode == USAGE


def test_a_fault_of_a_program_is_3(
    program: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what it judges nor its user is wrong then."""
    name, folder = program

    def broken(_body: object) -> int:
        raise AssertionError("broken on purpose")

    def run() -> int:
        monkeypatch.setattr(diagnostics, "_status_of", broken)
        return import_module(PROGRAM_OF[name].module).main(["--no-such"])

    done = in_fork(folder, run)
    assert (done.returncode, "internal error" in done.stderr) == (INCOMPLETE, True)
