"""The format of lit's tests here: a fork for each, with the project's tools imported and called.

Tests start them eight hundred times, and most of that would be Python's own start.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import IO, Any, cast

from fencewright.tools.dev.fork_server import with_streams
from fencewright.tools.embedded.in_process import TOOLS

# lit has no types.
_FORMATS, _RESULTS, _RUNNER = cast(
    tuple[Any, ...], tuple(map(import_module, ("lit.formats", "lit.Test", "lit.TestRunner")))
)

MAINS: Mapping[str, tuple[str, Sequence[str]]] = {
    **{module: (module, ()) for module in TOOLS.values()},
    "filecheck": ("filecheck.main", ("filecheck",)),
}
"""By what follows ``python -m``: the module of its ``main``, and the first words for that."""


_FOUND = ("requires", "unsupported", "xfails")
"""The attributes of a test that lit reads from its file."""


class Called:
    """A call in the place of a ``subprocess.Popen`` of ``python -m MODULE ..``; it has ended.

    Its output is in files where that would have pipes.
    """

    def __init__(
        self,
        args: list[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: int | IO[str],
        stdout: int | IO[str],
        stderr: int | IO[str],
        **_: object,
    ):
        given, out = _file(stdin), _file(stdout)
        err = out if stderr == subprocess.STDOUT else _file(stderr)
        descriptors = [stream.fileno() for stream in (given, out, err)]
        self.pid = os.getpid()
        module, first = MAINS[args[2]]
        main = import_module(module).main
        self.returncode = with_streams(
            descriptors, cwd, env, lambda: int(main([*first, *args[3:]]) or 0)
        )
        self.stdin = given if stdin == subprocess.PIPE else None
        self.stdout = out if stdout == subprocess.PIPE else None
        self.stderr = err if stderr == subprocess.PIPE else None
        for stream in filter(None, (self.stdout, self.stderr)):
            stream.seek(0)

    def communicate(self) -> tuple[str, str]:
        """Read its output."""
        out, err = (stream.read() if stream else "" for stream in (self.stdout, self.stderr))
        return out, err

    def wait(self) -> int:
        """Return its status, as ``subprocess.Popen`` has it."""
        return self.returncode


def _file(stream: int | IO[str]) -> IO[str]:
    if isinstance(stream, int):
        return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
    return stream


def _start(args: list[str], **options: Any) -> Any:
    """Start a process for lit."""
    if args[:2] == [sys.executable, "-m"] and args[2] in MAINS:
        return Called(args, **options)
    return subprocess.Popen(args, **options)


class InFork(_FORMATS.ShTest):
    """lit's own format of shell commands, with calls in the place of the project's tools."""

    def execute(self, test: Any, lit_config: Any) -> Any:
        """Run one test in a fork, which has its streams, its folder and its modules to itself."""
        receiver, sender = os.pipe()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                answer = pickle.dumps(self._run(test, lit_config))
                with open(sender, "wb") as stream:
                    stream.write(answer)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(sender)
        with open(receiver, "rb") as stream:
            answer = stream.read()
        _, status = os.waitpid(process, 0)
        if status:
            ended = f"its process ended with status {os.waitstatus_to_exitcode(status)}"
            return _RESULTS.Result(_RESULTS.FAIL, ended)
        result, found = cast(tuple[object, Mapping[str, object]], pickle.loads(answer))
        for name, value in found.items():
            setattr(test, name, value)
        return result

    def _run(self, test: Any, lit_config: Any) -> tuple[Any, Mapping[str, object]]:
        """The result of a test, and what lit has read from its file."""
        _RUNNER.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": _start})
        result = _FORMATS.ShTest.execute(self, test, lit_config)
        return result, {name: getattr(test, name) for name in _FOUND}
