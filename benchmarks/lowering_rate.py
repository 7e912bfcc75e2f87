"""Sequences a second through ``lower``, the first time each is asked for and every time after."""

import re
import subprocess

import inputs
from harness import Result, rate

from fencewright.lowering.lower import forget_sequences, lower
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.tools.llvm_tools import find_llvm_tool

_MIX = [
    (op, ordering, scope, space)
    for op, ordering in (
        ("load", Ordering.ACQUIRE),
        ("store", Ordering.RELEASE),
        ("atomic_rmw", Ordering.ACQ_REL),
        ("load", Ordering.RELAXED),
    )
    for scope in Scope
    for space in (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC)
]


def _warm(target: str, rounds: int) -> int:
    for _ in range(rounds):
        for op, ordering, scope, space in _MIX:
            lower(op=op, ordering=ordering, scope=scope, space=space, target=target)
    return rounds * len(_MIX)


def _cold(target: str) -> int:
    forget_sequences()
    return _warm(target, 1)


_LLVM_PASSES = ("SI Memory Legalizer", "SI insert wait instructions")
_LLVM_OPERATIONS = 10_000


def _llvm_rate() -> str:
    """Operations a second through the two LLVM passes that do what ``lower`` does."""
    llc = find_llvm_tool("llc")
    if llc is None:
        return "not measured"
    run = subprocess.run(
        [llc, "-O2", "-mcpu=gfx942", "-time-passes", "-o", "-", "-"],
        input=inputs.llvm_ir(_LLVM_OPERATIONS, 10),
        capture_output=True,
        check=True,
        text=True,
    )
    # Each line has user, system, their sum and wall time as `seconds (percent)`, then the pass.
    seconds = [
        float(re.findall(r"([\d.]+) \(", line)[-2])
        for line in run.stderr.splitlines()
        if line.rstrip().endswith(_LLVM_PASSES)
    ]
    assert len(seconds) == len(_LLVM_PASSES), "llc -time-passes names its passes otherwise"
    return f"{_LLVM_OPERATIONS / sum(seconds) / 1e6:.2f} M/s"


def results() -> list[Result]:
    """The rates for each target."""
    rows = [
        (
            target,
            f"{rate(lambda target=target: _warm(target, 3000)) / 1e6:.2f} M/s",
            f"{rate(lambda target=target: _cold(target)) / 1e3:.0f} k/s",
        )
        for target in ("gfx908", "gfx90a", "gfx942", "gfx950")
    ]
    return [
        Result(
            "Sequences through `lower`",
            ("target", "asked for before", "first time"),
            (*rows, ("LLVM's passes, gfx942", "", _llvm_rate())),
            "One core. LLVM's passes are its memory legaliser and its wait insertion alone, as "
            "`llc -O2 -time-passes` gives them for the 10,000 operations of the next table.",
        )
    ]
