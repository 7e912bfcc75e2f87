"""Runs the examples of documentation pages and writes their output anew where it has changed.

An example is a fenced block. What it is run as follows from its language:

- ``console``: lines that begin with ``$`` are commands of a shell, the others what they print. One
  line ``...`` in an output stands for any number of lines.
- ``sh``: commands whose output the page does not show; each has to succeed.
- ``python``: a session with ``>>>``, as of ``doctest``, or a script that has to succeed.
- ``mlir``: a module that ``fence-opt`` has to accept.
- ``toml``, ``yaml``: a configuration that has to be read as such.

Blocks of a page run in their order, in one folder that has the project's examples and tests. A
comment of HTML in the line above a block says more about it:

- ``<!-- not run: REASON -->``: nothing of it runs; its commands are only parsed.
- ``<!-- needs: PROGRAM -->``: one of LLVM's programs; without it the block is not run.
- ``<!-- before: COMMAND -->``: what a shell does first, as to copy a file.
- ``<!-- file: NAME -->``: the block is the file of this name for those that come later.
- ``<!-- body of: func.func @f(..) -->``: what the operations of an ``mlir`` block stand in.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Generator, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from fencewright.tools.dev.fork_server import fork_server, replacement
from fencewright.tools.embedded.in_process import TOOLS
from fencewright.tools.llvm_tools import LLVM_TOOLS, find_llvm_tool

LANGUAGES = ("console", "sh", "python", "mlir", "toml", "yaml")
DIRECTIVES = ("not run", "needs", "before", "file", "body of")
ELLIPSIS = "..."

_FENCE = re.compile(r"^```(\w*)$")
_DIRECTIVE = re.compile(r"^<!-- ([a-z ]+): (.*) -->$")
_VOLATILE = re.compile(r"\b\d+\.\d+ s\b")
"""The text that differs from run to run: seconds."""

ROOT = Path(__file__).resolve().parents[3]
SHARED = ("examples", "tests")
"""Folders of the repository that examples may read from."""


class ExampleError(Exception):
    """An example that cannot be run, or that fails: where and why."""

    def __init__(self, place: str, reason: str):
        super().__init__(" ".join(reason.split()))
        self.place = place


@dataclass(frozen=True, slots=True)
class Example:
    """A block of a page: its lines without the fences, the first of which is ``line``, from 1."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    directives: dict[str, str]

    @property
    def place(self) -> str:
        """Its position, as in an error."""
        return f"{self.page}:{self.line}"

    @property
    def reason_not_to_run(self) -> str | None:
        """The reason that it does not run on this machine; None if it does."""
        program = self.directives.get("needs")
        if program is not None and find_llvm_tool(program) is None:
            return f"needs {program}"
        return self.directives.get("not run")

    def commands(self) -> Iterator[str]:
        """The commands of a shell in it, with their continuations."""
        for command, _ in _calls(self):
            yield command


def examples_of(page: Path, text: str) -> list[Example]:
    """The examples of a page. Raises ``ExampleError`` for a block that is none."""
    found: list[Example] = []
    lines = text.splitlines()
    rest = iter(enumerate(lines))
    for start, line in rest:
        if not (fence := _FENCE.match(line)):
            continue
        body = tuple(each for _, each in takewhile(lambda item: item[1] != "```", rest))
        directives: dict[str, str] = {}
        for above in reversed(lines[:start]):
            if not (match := _DIRECTIVE.match(above)):
                break
            directives[match[1]] = match[2]
        example = Example(page, start + 2, fence[1], body, directives)
        if unknown := directives.keys() - set(DIRECTIVES):
            raise ExampleError(example.place, f"unknown directive '{min(unknown)}'")
        if example.language not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ExampleError(example.place, f"a block of none of the languages {known}")
        found.append(example)
    return found


def updated(page: Path, text: str, programs: Path | None = None) -> str:
    """The text of a page with the outputs of its examples as they are now.

    Programs of the folder ``programs`` are run in place of installed ones of their names.
    Raises ``ExampleError`` for an example that fails.
    """
    lines = text.splitlines()
    with _workplace(programs) as folder:
        changes = [(example, _run(example, folder)) for example in examples_of(page, text)]
    for example, after in reversed(changes):
        first = example.line - 1
        lines[first : first + len(example.lines)] = after
    return "\n".join(lines) + "\n"


@contextmanager
def quick_programs() -> Generator[Path]:
    """A folder with the project's programs, which start in no time: each is a fork of a server."""
    with TemporaryDirectory(prefix="fencewright-") as folder, fork_server() as address:
        for name, module in TOOLS.items():
            words = shlex.join((*replacement(address), module))
            program = Path(folder, name)
            program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            program.chmod(0o755)
        yield Path(folder)


@contextmanager
def _workplace(programs: Path | None) -> Generator[Path]:
    """A folder for a page's files."""
    with TemporaryDirectory(prefix="fencewright-") as name:
        folder = Path(name, "page")
        folder.mkdir()
        for each in SHARED:
            (folder / each).symlink_to(ROOT / each)
        tools = Path(name, "tools")
        tools.mkdir()
        for tool in LLVM_TOOLS:
            if path := find_llvm_tool(tool):
                (tools / tool).symlink_to(path)
        for program in programs.iterdir() if programs else ():
            (tools / program.name).symlink_to(program)
        yield folder


def _run(example: Example, folder: Path) -> tuple[str, ...]:
    """The lines of ``example`` with its output now."""
    if example.reason_not_to_run is not None:
        return example.lines
    if (before := example.directives.get("before")) is not None:
        status, output = _shell(before, folder)
        if status:
            raise ExampleError(example.place, f"before it: {before}: {output}")
    if (name := example.directives.get("file")) is not None:
        (folder / name).write_text("\n".join((*example.lines, "")))
    match example.language:
        case "console":
            return _run_console(example, folder)
        case "sh":
            return _run_commands(example, folder)
        case "python":
            with chdir(folder):
                return _run_python(example)
        case "mlir":
            return _run_module(example, folder)
        case _:
            return _read_configuration(example)


def _read_configuration(example: Example) -> tuple[str, ...]:
    text = "\n".join(example.lines)
    try:
        tomllib.loads(text) if example.language == "toml" else yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as problem:
        raise ExampleError(example.place, f"no {example.language}: {problem}") from problem
    return example.lines


# Commands


def _calls(example: Example) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command of a block with its output, or of ``sh`` with nothing."""
    rest = list(example.lines)
    shows_output = example.language == "console"
    while rest:
        command = [rest.pop(0)]
        if shows_output and not command[0].startswith("$ "):
            raise ExampleError(example.place, f"begins with no command: '{command[0]}'")
        while command[-1].endswith("\\") and rest:
            command.append(rest.pop(0))
        output = tuple(takewhile(lambda line: not line.startswith("$ "), rest))
        if not shows_output:
            output = ()
        del rest[: len(output)]
        yield "\n".join(command).removeprefix("$ "), output


def _run_console(example: Example, folder: Path) -> tuple[str, ...]:
    lines: list[str] = []
    status = 0
    for command, before in _calls(example):
        status, output = _shell(command, folder, status)
        if status > 4:
            raise ExampleError(example.place, f"{command}: status {status}: {output}")
        lines += f"$ {command}".splitlines()
        lines += _shortened(before, tuple(output.splitlines()))
    return tuple(lines)


def _run_commands(example: Example, folder: Path) -> tuple[str, ...]:
    for command, _ in _calls(example):
        status, output = _shell(command, folder)
        if status:
            raise ExampleError(example.place, f"{command}: status {status}: {output}")
    return example.lines


def _shell(command: str, folder: Path, last_status: int = 0) -> tuple[int, str]:
    """The status and output of a command after one that ended with ``last_status``."""
    path = [str(folder.parent / "tools"), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-c", f"(exit {last_status})\n{command}"],
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join(path), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _shortened(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """An output as a page shows it: as before if nothing changed, as short as before if it did."""
    # A page has no blank line at the end of an output.
    while now and not now[-1].strip():
        now = now[:-1]
    if ELLIPSIS not in before:
        return before if _same(before, now) else now
    at = before.index(ELLIPSIS)
    head, tail = before[:at], before[at + 1 :]
    end = len(now) - len(tail)
    if len(head) <= end and _same(head, now[: len(head)]) and _same(tail, now[end:]):
        return before
    return (*now[: len(head)], ELLIPSIS, *now[max(end, len(head)) :])


def _same(before: Sequence[str], now: Sequence[str]) -> bool:
    return [_VOLATILE.sub("", each) for each in before] == [_VOLATILE.sub("", each) for each in now]


# Python


def _run_python(example: Example) -> tuple[str, ...]:
    source = "\n".join(example.lines) + "\n"
    if ">>> " not in source:
        try:
            exec(compile(source, example.place, "exec"), {"__name__": "example"})
        except Exception as problem:
            raise ExampleError(example.place, f"{type(problem).__name__}: {problem}") from problem
        return example.lines
    test = doctest.DocTestParser().get_doctest(source, {}, example.place, None, 0)
    session = _Session()
    session.run(test, out=lambda _: None)
    lines = list(example.lines)
    for each, got in reversed(session.changed):
        first = each.lineno + each.source.count("\n")
        lines[first : first + each.want.count("\n")] = got.splitlines()
    return tuple(lines)


class _Session(doctest.DocTestRunner):
    """Keeps the actual output instead of the page's."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.changed: list[tuple[doctest.Example, str]] = []

    def report_failure(
        self, out: object, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        self.changed.append((example, got))

    def report_unexpected_exception(
        self,
        out: object,
        test: doctest.DocTest,
        example: doctest.Example,
        exc_info: tuple[type[BaseException], BaseException, object],
    ) -> None:
        raise ExampleError(test.name, f"{example.source.strip()}: {exc_info[1]!r}")


# Modules


def _run_module(example: Example, folder: Path) -> tuple[str, ...]:
    text = "\n".join(example.lines)
    if (header := example.directives.get("body of")) is not None:
        text = f"{header} {{\n{text}\nfunc.return\n}}"
    path = folder / "block.mlir"
    path.write_text(text + "\n")
    status, output = _shell(f"fence-opt {shlex.quote(path.name)} >/dev/null", folder)
    if status:
        raise ExampleError(example.place, output)
    return example.lines
