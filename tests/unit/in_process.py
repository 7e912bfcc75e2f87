"""The project's tools called in this process, where only what they print is wanted."""

import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from fencewright.tools.dev.lit_runner import TOOLS, find_command


@contextmanager
def tools_in_process() -> Generator[None]:
    """Have ``subprocess.run`` call a tool that it would start with ``python -m``."""
    start = cast("Callable[..., subprocess.CompletedProcess[str]]", subprocess.run)
    names = {module: name for name, module in TOOLS.items()}

    def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        *started, module = command[:3]
        if started != [sys.executable, "-m"] or module not in names:
            return start(command, **options)
        finished = find_command(names[module])(command[3:], b"")
        out, err = finished.stdout.decode(), finished.stderr.decode()
        return subprocess.CompletedProcess(list(command), finished.status, out, err)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        yield
