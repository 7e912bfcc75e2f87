"""Runs lit tests inside one process: the development loop's answer to lit's 150 ms a test.

It understands ``RUN:`` lines with ``|``, ``&&``, ``>``, ``<``, ``2>&1`` and ``not``, the
substitutions ``%s %S %t %%``, and ``REQUIRES:``, ``UNSUPPORTED:`` and ``XFAIL:``. The
project's tools and the Python ``filecheck`` are called as functions, LLVM's tools as
programs. A command that it does not know fails the test and says so. lit itself
(``--canonical``, or ``make lit``) has the last word: it has a process for every command.
"""

import io
import re
import shlex
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path

from fencewright.tools.diagnostics import diagnose, error, run_tool
from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_TOOLS, LLVM_VERSION, find_llvm_tool

SUFFIXES = frozenset({".mlir", ".ll"})
"""What a test file's name ends with."""

EXCLUDED = frozenset({"Inputs", "Output"})
"""Folders that hold no tests."""

TOOLS = {
    "fence-opt": "fencewright.tools.fence_opt",
    "fence-translate": "fencewright.tools.fence_translate",
    "fence-sim": "fencewright.tools.fence_sim",
}
"""The project's own commands and the modules whose ``main(argv)`` they are."""

SERVER = "server"
"""The parameter of lit that has the address of a ``fork_server``."""


class Outcome(StrEnum):
    """What became of a test; lit's names."""

    PASS = "pass"
    FAIL = "fail"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a test and what there is to say about it."""

    outcome: Outcome
    output: str


class CommandError(Exception):
    """A RUN line that this runner cannot run, and why."""


@cache
def features() -> frozenset[str]:
    """The words that ``REQUIRES:`` may ask for on this machine."""
    return frozenset(name for name in LLVM_TOOLS if find_llvm_tool(name))


def discover(paths: Iterable[Path]) -> list[Path]:
    """The test files among and below ``paths``, sorted."""
    found = set[Path]()
    for path in paths:
        files = path.rglob("*") if path.is_dir() else (path,)
        found.update(f.resolve() for f in files if f.suffix in SUFFIXES)
    return sorted(f for f in found if not EXCLUDED.intersection(f.parts))


# What a test file says


def keyword_lines(text: str, keyword: str) -> list[str]:
    """What follows ``keyword:`` on each line that has it; a trailing backslash joins lines."""
    lines: list[str] = []
    joining = False
    for match in re.finditer(rf"\b{keyword}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
        line = match[1]
        if joining:
            lines[-1] += " " + line.removesuffix("\\")
        else:
            lines.append(line.removesuffix("\\"))
        joining = line.endswith("\\")
    return lines


def holds(expression: str, have: frozenset[str]) -> bool:
    """Whether a feature expression (names, ``!``, ``&&``, ``||``, commas, brackets) holds."""
    words = re.findall(r"&&|\|\||[!(),]|[^\s!&|(),]+", expression)
    python = {"&&": " and ", "||": " or ", "!": " not ", ",": ") and (", "(": "(", ")": ")"}
    terms = (python.get(word, str(word in have or word == "*")) for word in words)
    return bool(eval(f"({''.join(terms)})", {"__builtins__": {}}))


# Running commands


@dataclass(frozen=True, slots=True)
class Finished:
    """A command's exit status and what it wrote."""

    status: int
    stdout: bytes
    stderr: bytes


Command = Callable[[Sequence[str], bytes], Finished]


@contextmanager
def _standard_streams(stdin: bytes) -> Generator[tuple[io.BytesIO, io.BytesIO]]:
    """Give the process other standard streams for a while."""
    saved = sys.stdin, sys.stdout, sys.stderr
    stdout, stderr = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(stdout, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(stderr, encoding="utf-8", write_through=True)
    try:
        yield stdout, stderr
    finally:
        wrappers = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = saved
        for wrapper in wrappers:
            wrapper.detach()


def _call(main: Callable[[list[str]], object], argv: list[str], stdin: bytes) -> Finished:
    """Call a tool's ``main`` as if it were a program of its own."""
    with _standard_streams(stdin) as (stdout, stderr):
        try:
            returned = main(argv)
            status = returned if isinstance(returned, int) else 0
        except SystemExit as request:
            status = request.code if isinstance(request.code, int) else int(bool(request.code))
        return Finished(status, stdout.getvalue(), stderr.getvalue())


def _filecheck(argv: Sequence[str], stdin: bytes) -> Finished:
    from filecheck.main import main

    return _call(main, ["filecheck", *argv], stdin)


def _not(argv: Sequence[str], stdin: bytes) -> Finished:
    finished = find_command(argv[0])(argv[1:], stdin)
    return Finished(int(finished.status == 0), finished.stdout, finished.stderr)


def _cat(argv: Sequence[str], stdin: bytes) -> Finished:
    return Finished(0, b"".join(Path(name).read_bytes() for name in argv) or stdin, b"")


BUILTINS: dict[str, Command] = {"filecheck": _filecheck, "not": _not, "cat": _cat}


def find_command(name: str) -> Command:
    """What to call for the command ``name``; raises :class:`CommandError` for an unknown one."""
    if name in BUILTINS:
        return BUILTINS[name]
    if name in TOOLS:
        main = import_module(TOOLS[name]).main
        return lambda argv, stdin: _call(main, list(argv), stdin)
    tool = name.removesuffix(f"-{LLVM_VERSION}")
    if tool in LLVM_TOOLS and (path := find_llvm_tool(tool)):

        def run(argv: Sequence[str], stdin: bytes) -> Finished:
            done = subprocess.run([path, *argv], input=stdin, capture_output=True, check=False)
            return Finished(done.returncode, done.stdout, done.stderr)

        return run
    known = ", ".join([*BUILTINS, *TOOLS, *LLVM_TOOLS])
    raise CommandError(f"unknown command '{name}'; this runner knows {known}")


def _tokens(line: str) -> list[str]:
    """The words and operators of a RUN line, quotes removed."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&<>;")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    """``tokens`` cut at each ``separator``."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


@dataclass(frozen=True, slots=True)
class Simple:
    """One command of a pipeline with its redirections."""

    argv: tuple[str, ...]
    stdin: str | None = None
    stdout: str | None = None
    merge_stderr: bool = False

    @classmethod
    def parse(cls, tokens: list[str]) -> "Simple":
        """Raises :class:`CommandError` for an operator that this runner does not know."""
        argv: list[str] = []
        stdin = stdout = None
        merge_stderr = False
        rest = iter(tokens)
        for token in rest:
            match token:
                case ">" if argv[-1:] == ["2"]:
                    raise CommandError("unknown operator '2>'")
                case ">":
                    stdout = next(rest, "")
                case "<":
                    stdin = next(rest, "")
                case ">&" if argv[-1:] == ["2"] and next(rest, None) == "1":
                    argv.pop()
                    merge_stderr = True
                case str() if set(token) <= set("|&<>;"):
                    raise CommandError(f"unknown operator '{token}'")
                case _:
                    argv.append(token)
        if not argv:
            raise CommandError("a command is missing")
        return cls(tuple(argv), stdin, stdout, merge_stderr)


def substitute(line: str, path: Path, folder: Path) -> str:
    """A RUN line of the test ``path`` with ``%s %S %t %%`` filled in; ``%t`` is in ``folder``.

    Paths are quoted, where a shell needs it.
    """
    substitutions = {
        "%s": shlex.quote(str(path)),
        "%S": shlex.quote(str(path.parent)),
        "%t": shlex.quote(str(folder / f"{path.name}.tmp")),
        "%%": "%",
    }
    return re.sub(r"%[sSt%]", lambda match: substitutions[match[0]], line)


def parse_line(line: str) -> list[list[Simple]]:
    """The pipelines that ``&&`` joins; raises :class:`CommandError` for unknown syntax."""
    return [
        [Simple.parse(tokens) for tokens in _split(part, "|")]
        for part in _split(_tokens(line), "&&")
    ]


def run_pipeline(pipeline: list[Simple], log: list[str]) -> bool:
    """Run commands joined by ``|``; whether all of them succeeded.

    ``log`` gets what the last one wrote, what went to stderr, and who failed.
    """
    data = b""
    succeeded = True
    for simple in pipeline:
        name, *argv = simple.argv
        stdin = Path(simple.stdin).read_bytes() if simple.stdin else data
        finished = find_command(name)(argv, stdin)
        data, unseen = finished.stdout, finished.stderr
        if simple.merge_stderr:
            data, unseen = finished.stderr + finished.stdout, b""
        if simple.stdout:
            Path(simple.stdout).write_bytes(data)
            data = b""
        if finished.status:
            succeeded = False
            log.append(f"{shlex.join(simple.argv)}: exit status {finished.status}")
        if unseen:
            log.append(unseen.decode(errors="replace"))
    if data:
        log.append(data.decode(errors="replace"))
    return succeeded


def run_file(path: Path) -> Result:
    """Run the test in ``path``; its working directory is a new, empty one."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        return Result(Outcome.FAIL, str(diagnose(problem, str(path))))
    have = features()
    missing = [need for need in keyword_lines(text, "REQUIRES") if not holds(need, have)]
    if missing:
        return Result(Outcome.UNSUPPORTED, f"needs {', '.join(missing)}")
    if any(holds(term, have) for term in keyword_lines(text, "UNSUPPORTED")):
        return Result(Outcome.UNSUPPORTED, "marked UNSUPPORTED")
    lines = keyword_lines(text, "RUN")
    if not lines:
        return Result(Outcome.FAIL, "no RUN: line")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        passed, output = _run_lines(lines, path.resolve(), Path(folder))
    if any(holds(term, have) for term in keyword_lines(text, "XFAIL")):
        passed, output = not passed, "" if not passed else "passed, but is marked XFAIL"
    return Result(Outcome.PASS if passed else Outcome.FAIL, output)


def _run_lines(lines: list[str], path: Path, folder: Path) -> tuple[bool, str]:
    """Whether every RUN line succeeded, and the log up to the first that did not."""
    for line in lines:
        line = substitute(line, path, folder)
        log = [f"RUN: {line}"]
        try:
            if not all(run_pipeline(pipeline, log) for pipeline in parse_line(line)):
                return False, "\n".join(log)
        except (CommandError, OSError, ValueError) as problem:
            return False, "\n".join([*log, str(problem)])
    return True, ""


# The command line


def run_canonical(paths: Sequence[Path]) -> int:
    """Run lit itself on ``paths``; fails if lit did not run every test that is there.

    Each of the project's tools is a process of its own, forked by ``fork_server``.
    """
    from fencewright.tools.dev.fork_server import fork_server

    lit = "import sys; from lit.main import main; sys.argv[0] = 'lit'; main()"
    command = [sys.executable, "-c", lit, "-v", "--show-unsupported", *map(str, paths)]
    with fork_server() as address:
        command += ["-D", f"{SERVER}={address}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    tests = len(discover(paths))
    ran = re.search(r"^Total Discovered Tests: (\d+)", done.stdout, re.MULTILINE)
    if done.returncode == 0 and (
        ran is None or int(ran[1]) != tests or "Passed" not in done.stdout
    ):
        print(f"lit did not run the {tests} tests that are there", file=sys.stderr)
        return 1
    if "Unsupported" in done.stdout:
        print(f"Unsupported tests need tools that are missing here; {LLVM_HINT}")
    return done.returncode


def main(argv: Sequence[str] | None = None) -> int:
    """Run lit tests; returns 1 if one failed or none was found."""
    parser = ArgumentParser(prog="lit_runner", description="Runs lit tests in one process.")
    parser.add_argument("paths", nargs="+", type=Path, help="test files or folders of them")
    parser.add_argument("--canonical", action="store_true", help="through lit itself")

    def body() -> int:
        args = parser.parse_args(argv)
        for path in args.paths:
            if not path.exists():
                raise error("No such file or directory", str(path))
        return run_canonical(args.paths) if args.canonical else _run_files(args.paths)

    return run_tool(parser.prog, body)


def _run_files(paths: Sequence[Path]) -> int:
    """Run the tests here and print what they came to."""
    counts = dict.fromkeys(Outcome, 0)
    for path in discover(paths):
        result = run_file(path)
        counts[result.outcome] += 1
        if result.outcome is not Outcome.PASS:
            print(f"{result.outcome.upper()}: {path}\n{result.output}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return int(counts[Outcome.FAIL] > 0 or counts[Outcome.PASS] == 0)


if __name__ == "__main__":
    sys.exit(main())
