"""The project's tools, and the Python FileCheck, as functions: no process, no start-up."""

import io
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module

from fencewright.tools.programs import PROGRAMS

TOOLS = {each.name: each.module for each in PROGRAMS}
"""The project's own commands and the modules whose ``main(argv)`` they are."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command's exit status and its output."""

    status: int
    stdout: str
    stderr: str


def call(module: str, argv: Sequence[str], stdin: str = "") -> Finished:
    """Call ``main(argv)`` of a module as if it were a program of its own."""
    main = import_module(module).main
    with _standard_streams(stdin) as (stdout, stderr):
        try:
            returned = main(list(argv))
            status = returned if isinstance(returned, int) else 0
        except SystemExit as request:
            status = request.code if isinstance(request.code, int) else int(bool(request.code))
        return Finished(status, stdout.getvalue().decode(), stderr.getvalue().decode())


def filecheck(argv: Sequence[str], stdin: str) -> Finished:
    """The Python FileCheck on a text."""
    return call("filecheck.main", ["filecheck", *argv], stdin)


@contextmanager
def _standard_streams(stdin: str) -> Generator[tuple[io.BytesIO, io.BytesIO]]:
    """Give the process other standard streams for a while."""
    saved = sys.stdin, sys.stdout, sys.stderr
    stdout, stderr = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(stdout, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(stderr, encoding="utf-8", write_through=True)
    try:
        yield stdout, stderr
    finally:
        wrappers = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = saved
        for wrapper in wrappers:
            wrapper.detach()
