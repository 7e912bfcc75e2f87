"""The programs that the project installs, and how they start."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import current_thread, main_thread
from typing import NoReturn, cast

from fencewright.tools.statuses import INCOMPLETE
from fencewright.tools.streams import print_or_fail
from fencewright.tools.version import VERSION

_NEW_OBJECTS = 50_000
"""The new objects after which garbage is looked for: a long function is a million objects that
live, and Python's 700 made that a sixth of the time of fence-check."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its name, its entry point as ``function`` of ``module``, and its description.

    ``module`` has also ``main(argv)``, which returns the exit status.
    """

    name: str
    module: str
    function: str
    purpose: str

    def run(self) -> int:
        """Import the program and run it on the command line; returns its exit status.

        Nothing that is imported ever goes: collecting meanwhile would be a twentieth of a short
        run, and to look through it again later is no use either.
        """
        if sys.argv[1:] in (["-v"], ["--version"]):
            return print_or_fail(self.name, VERSION.format)
        gc.disable()
        with self._ends_at_once():
            entry = cast(Callable[[], int], getattr(import_module(self.module), self.function))
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()
        return entry()

    @contextmanager
    def _ends_at_once(self) -> Generator[None]:
        """An interrupt meanwhile ends the process with one line: nothing is begun yet."""

        def end(number: int, _frame: object) -> NoReturn:
            os.write(2, f"{self.name}: error: interrupted\n".encode())
            os._exit(INCOMPLETE)

        usual = signal.default_int_handler
        is_ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is usual
        if is_ours:
            signal.signal(signal.SIGINT, end)
        yield
        if is_ours:
            signal.signal(signal.SIGINT, usual)

    @property
    def short_name(self) -> str:
        """Its name as a command of ``fencewright``."""
        return self.name.removeprefix("fence-")


PROGRAMS = (
    Program(
        "fence-opt",
        "fencewright.tools.fence_opt",
        "command",
        "lowers MLIR or LLVM IR to assembly, PTX or LLVM IR",
    ),
    Program(
        "fence-sim",
        "fencewright.tools.fence_sim",
        "main",
        "runs litmus tests, counts what memory accesses cost, makes certificates",
    ),
    Program(
        "fence-check",
        "fencewright.tools.fence_check",
        "main",
        "finds missing and redundant synchronisation in assembly and PTX",
    ),
    Program(
        "fence-translate",
        "fencewright.tools.fence_translate",
        "main",
        "translates LLVM IR to MLIR and back",
    ),
)

fence_opt, fence_sim, fence_check, fence_translate = (each.run for each in PROGRAMS)
