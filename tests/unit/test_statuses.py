"""The exit statuses of the four programs are alike, whatever is wrong with what they are given."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fencewright.tools.programs import PROGRAMS
from fencewright.tools.statuses import HOLDS, INCOMPLETE, USAGE

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
    run = f"import sys; from fencewright.tools.programs import {name.replace('-', '_')} as run; "
    start = f"{run}sys.argv[0] = {name!r}; sys.exit(run())"
    command = [sys.executable, "-c", start, *COMMANDS[name], *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


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


def test_a_fault_of_a_program_is_3(program: tuple[str, Path]) -> None:
    """Neither what it judges nor its user is wrong then."""
    name, folder = program
    (entry,) = (each for each in PROGRAMS if each.name == name)
    script = (
        "import sys; from importlib import import_module\n"
        "from fencewright.tools import diagnostics\n"
        "def broken(): raise AssertionError('broken on purpose')\n"
        "diagnostics._status_of = lambda body: broken()\n"
        f"sys.exit(import_module({entry.module!r}).main(['--no-such']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "internal error" in done.stderr) == (INCOMPLETE, True)
