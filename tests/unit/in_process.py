"""The project's tools called in this process, or in a fork of it, where no new Python has to start."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from fencewright.tools.dev.fork_server import with_streams
from fencewright.tools.embedded.in_process import TOOLS, call


def in_fork(folder: Path, run: Callable[[], int]) -> subprocess.CompletedProcess[str]:
    """The text that a process prints which does nothing but run a function in a folder."""
    with (
        open(os.devnull) as empty,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        streams = [each.fileno() for each in (empty, out, err)]
        if (process := os.fork()) == 0:
            try:
                os._exit(with_streams(streams, str(folder), dict(os.environ), run))
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([], status, out.read().decode(), err.read().decode())


@contextmanager
def tools_in_process() -> Generator[None]:
    """Have ``subprocess.run`` call a tool that it would start with ``python -m``."""
    start = cast("Callable[..., subprocess.CompletedProcess[str]]", subprocess.run)

    def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        *started, module = command[:3]
        if started != [sys.executable, "-m"] or module not in TOOLS.values():
            return start(command, **options)
        done = call(module, command[3:])
        return subprocess.CompletedProcess(list(command), done.status, done.stdout, done.stderr)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        yield
