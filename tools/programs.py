"""The programs that the project installs, and how they start."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its name, its entry point as ``function`` of ``module``, and what it does.

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
        gc.disable()
        entry = cast(Callable[[], int], getattr(import_module(self.module), self.function))
        gc.freeze()
        gc.enable()
        return entry()

    @property
    def short_name(self) -> str:
        """What it is called as a command of ``fencewright``."""
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
        "says what the synchronisation of assembly or PTX provides, lacks and wastes",
    ),
    Program(
        "fence-translate",
        "fencewright.tools.fence_translate",
        "main",
        "translates LLVM IR to MLIR and back",
    ),
)

fence_opt, fence_sim, fence_check, fence_translate = (each.run for each in PROGRAMS)
