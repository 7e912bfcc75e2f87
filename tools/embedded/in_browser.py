"""The project's programs for a page in a browser, where Python is WebAssembly."""

import json
import os
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fencewright.tools.embedded.in_process import TOOLS, call

PICTURES = ".svg"
USAGE = 2
"""The exit status of a name that is none of the programs."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A file that a command has drawn."""

    name: str
    svg: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended: its exit status, its output, and its time in seconds."""

    status: int
    stdout: str
    stderr: str
    pictures: tuple[Picture, ...]
    seconds: float


def run(command: str, file: str, text: str) -> Ran:
    """Run a command line of one program in an empty folder that has ``file`` with ``text``."""
    try:
        program, *words = shlex.split(command) or [""]
    except ValueError as problem:
        return Ran(USAGE, "", f"error: {problem}\n", (), 0.0)
    if program not in TOOLS:
        known = ", ".join(TOOLS)
        return Ran(USAGE, "", f"error: no program '{program}'; there are {known}\n", (), 0.0)
    before = os.getcwd()
    with TemporaryDirectory(prefix="fencewright-") as folder:
        Path(folder, file).write_text(text, encoding="utf-8")
        os.chdir(folder)
        start = time.perf_counter()
        try:
            done = call(TOOLS[program], words)
        finally:
            os.chdir(before)
        seconds = time.perf_counter() - start
        drawn = tuple(
            Picture(each.name, each.read_text(encoding="utf-8"))
            for each in sorted(Path(folder).glob(f"*{PICTURES}"))
        )
    return Ran(done.status, done.stdout, done.stderr, drawn, seconds)


def run_as_json(command: str, file: str, text: str) -> str:
    """``run``, as text that JavaScript reads."""
    return json.dumps(asdict(run(command, file, text)))
