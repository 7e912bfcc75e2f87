"""Random functions of ``ir_functions`` with their inputs, and the outputs of this machine's CPU."""

import ctypes
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ir_functions import THREADS, WORDS

from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

FUNCTIONS = 12
"""In a module."""

needs_llvm = pytest.mark.skipif(
    find_llvm_tool("llc") is None or find_llvm_tool("ld.lld") is None, reason=LLVM_HINT
)


def compiled(text: str, output: Path, *options: str) -> Path:
    llc = find_llvm_tool("llc")
    assert llc is not None
    subprocess.run([llc, "-O2", *options, "-o", output, "-"], input=text, text=True, check=True)
    return output


def host_library(text: str, folder: Path) -> ctypes.CDLL:
    linker = find_llvm_tool("ld.lld")
    assert linker is not None
    options = ("-filetype=obj", "-relocation-model=pic", "-mcpu=native")
    made = compiled(text, folder / "host.o", *options)
    library = folder / "host.so"
    subprocess.run([linker, "-shared", "-o", library, made], check=True)
    return ctypes.CDLL(str(library))


def inputs_of(seed: str) -> np.ndarray:
    """Words that are small, large, or numbers of each precision."""
    chance = random.Random(seed)
    given = np.array(
        [chance.getrandbits(chance.choice((4, 8, 16, 32, 64))) for _ in range(THREADS * WORDS)],
        dtype=np.uint64,
    )
    for n in range(0, len(given), 3):
        number = chance.choice(
            (0.0, 1.0, -1.5, 3e38, 1e-40, chance.gauss(0, 100), chance.gauss(0, 1))
        )
        types = {3: np.float16, 4: np.float32, 5: np.float64}
        with np.errstate(over="ignore"):
            given[n] = types.get(n % WORDS % 6, np.float32)(number).view(
                {3: np.uint16, 5: np.uint64}.get(n % WORDS % 6, np.uint32)
            )
    return given


@dataclass(frozen=True)
class Case:
    """The arguments of a function, and the outputs of all threads."""

    name: str
    given: np.ndarray
    a: int
    b: int
    c: float
    expected: np.ndarray

    @property
    def arguments(self) -> tuple[np.ndarray, np.ndarray, int, int, float]:
        """Those of a kernel, with no output yet."""
        return self.given, np.zeros_like(self.given), self.a, self.b, self.c

    def difference(self, results: np.ndarray) -> str | None:
        """The first output that is another, None for none."""
        if not (results != self.expected).any():
            return None
        place = int(np.flatnonzero(results != self.expected)[0])
        return (
            f"{self.name}: output {place % WORDS} of thread {place // WORDS}: "
            f"{int(results[place]):#x}, not {int(self.expected[place]):#x}"
        )


def cases_of(seed: str, count: int, host: str, folder: Path) -> Iterator[Case]:
    """A case for each function of a module: ``host`` has them for this machine."""
    library = host_library(host, folder)
    chance = random.Random(f"{seed} arguments")
    for n in range(count):
        given = inputs_of(f"{seed} {n}")
        a, b, c = (
            chance.getrandbits(chance.choice((3, 32))),
            chance.getrandbits(64),
            chance.choice((0.5, -7.0, 1e9)),
        )
        expected = np.zeros_like(given)
        function = getattr(library, f"f{n}")
        function.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64,
            ctypes.c_float,
        ]  # fmt: skip
        for thread in range(THREADS):
            function(given.ctypes.data, expected.ctypes.data, thread, a, b, c)
        yield Case(f"f{n}", given, a, b, c, expected)


def kernels_of(text: str, *, calls: bool) -> str:
    """Kernels that have the bodies inside or, with ``calls``, call them."""
    assert "alwaysinline" in text
    return text.replace("alwaysinline", "noinline") if calls else text


def differences(cases: Iterable[Case], execute: Callable[[Case], np.ndarray]) -> list[str]:
    """The functions of which a kernel leaves other outputs than this machine."""
    found = (case.difference(execute(case)) for case in cases)
    return [each for each in found if each is not None]
