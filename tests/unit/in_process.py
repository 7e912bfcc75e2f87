"""The project's tools called in this process, where only what they print is wanted."""

import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from fencewright.tools.embedded.in_process import TOOLS, call


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
