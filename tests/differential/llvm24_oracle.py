"""LLVM 24's own lowering of one scoped operation, by the LLVM that Triton's wheel has in it.

At -O0, which is Triton's ``DISABLE_LLVM_OPT``; for chips that an older LLVM gets wrong. In a process
of its own: what LLVM cannot compile ends it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby

from llvm_oracle import TRIPLE, Point, Tokens, function_alone, matrix, split_points

from fencewright.lowering.cdna.counters.waits import read_wait
from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Scope

_COMPILE = """
import sys
from triton._C.libtriton import llvm
llvm.init_targets()
print(llvm.translate_to_asm(sys.stdin.read(), *sys.argv[1:3], "", [], False, False, False, False))
"""


def has_llvm24() -> bool:
    """Whether Triton 3.9 is installed, whose LLVM is 24."""
    try:
        return version("triton").startswith("3.9.")
    except PackageNotFoundError:
        return False


def points() -> Iterator[Point]:
    """The points of ``llvm_oracle.matrix``, and those that make nothing available."""
    yield from matrix()
    for point in matrix():
        ordered = point.ordering not in (Ordering.WEAK, Ordering.RELAXED)
        if ordered and not point.one_as and not point.volatile:
            yield replace(point, availability=Availability.NONE)


def is_private_atomic(point: Point) -> bool:
    """Whether LLVM makes a flat access of it, at an address that it works out first."""
    return point.space is AddressSpace.PRIVATE and point.ordering is not Ordering.WEAK


def barrier_sequence(chip: str, scope: Scope) -> Tokens:
    """LLVM's execution barrier of a work-group of two waves, or of a cluster of two such."""
    name = {
        Scope.WORKGROUP: "llvm.amdgcn.s.barrier",
        Scope.CLUSTER: "llvm.amdgcn.s.cluster.barrier",
    }
    call = f"call void @{name[scope]}()"
    text = f"""declare void @{name[scope]}()
define amdgpu_kernel void @f() #0 {{
  call void asm sideeffect "; begin", ""()
  {call}
  call void asm sideeffect "; end", ""()
  ret void
}}
attributes #0 = {{ "amdgpu-cluster-dims"="2,1,1" "amdgpu-flat-work-group-size"="64,64" }}
"""
    return tuple(line for (lines,) in [_compiled(text, chip)] for line in lines)


def sequences(asked: Sequence[Point], chip: str) -> list[Tokens]:
    """LLVM's sequence for each point, as ``written`` has them, each in a function of its own."""
    functions = "".join(function_alone(number, point) for number, point in enumerate(asked))
    found = _compiled(functions + "\n!0 = !{i32 1}\n!1 = !{i32 5, i32 6}\n", chip)
    assert len(found) == len(asked)
    return list(map(written, found))


def _compiled(text: str, chip: str) -> list[tuple[str, ...]]:
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE, TRIPLE, chip],
        input=f'target triple = "{TRIPLE}"\n{text}',
        env={**os.environ, "DISABLE_LLVM_OPT": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return split_points(done.stdout, lambda lines: tuple(lines))


_MATTERS = re.compile(r"(global|flat|scratch|ds)_|s_wait_|s_barrier")
_REGISTER = re.compile(r"\{\w+[^{}]*\}|\b[vs](\d+|\[\d+:\d+\])")


def written(lines: Iterable[str]) -> Tokens:
    """Memory, cache, wait and barrier instructions as they are written, without registers."""
    return tuple(
        _REGISTER.sub("R", line).replace(" offset:0", "") for line in lines if _MATTERS.match(line)
    )


def tokens(lines: Iterable[str]) -> Tokens:
    """The same, with each counter as a wait of its own: ``loadcnt(0)``.

    Waits next to each other are one wait for all their counters, in the order of the alphabet.
    """
    found: list[str] = []
    for waits, group in groupby(lines, key=lambda line: line.startswith("s_wait_")):
        together = tuple(group)
        found += sorted({n for line in together for n in _counts(line)}) if waits else together
    return tuple(found)


def _counts(line: str) -> Iterator[str]:
    mnemonic, _, operand = line.partition(" ")
    counts = read_wait(mnemonic, int(operand, 0))
    assert counts is not None, line
    yield from (f"{name}({count})" for name, count in counts.given.items())
