"""NVIDIA's assembler as an oracle: where it is, what it accepts, and what to ask it."""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import starmap
from pathlib import Path

from fencewright.lowering.lower import lower
from fencewright.lowering.ptx.atomics import HALVES
from fencewright.lowering.ptx.chip import CHIPS, PtxChip, Version
from fencewright.lowering.ptx.select import NO_ACQUIRE_FENCE_AFTER, NO_RELAXED_BARRIER
from fencewright.lowering.ptx.text import fill_places
from fencewright.lowering.sequence import Sequence as Lowered
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.skeleton import SKELETON
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Operation,
    Ordering,
    RmwKind,
    Scope,
    ValueType,
)

_WHEELS = ("nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas")


def find_assemblers() -> tuple[str, ...]:
    """Every ``ptxas`` at hand: those in FENCEWRIGHT_PTXAS, on the PATH, and in NVIDIA's wheels."""
    named = os.environ.get("FENCEWRIGHT_PTXAS", "").split(os.pathsep)
    packages = Path(sysconfig.get_path("purelib"))
    found = [*named, shutil.which("ptxas"), *(str(packages / wheel) for wheel in _WHEELS)]
    return tuple(dict.fromkeys(path for path in found if path and Path(path).is_file()))


_DISASSEMBLER = "triton/backends/nvidia/bin/nvdisasm"
_MACHINE_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9]*)")


def find_disassembler() -> str | None:
    """``nvdisasm``: on the PATH, or Triton's own."""
    bundled = Path(sysconfig.get_path("purelib")) / _DISASSEMBLER
    return shutil.which("nvdisasm") or (str(bundled) if bundled.is_file() else None)


def machine_instructions(ptxas: str, nvdisasm: str, chip: str, text: str) -> Counter[str]:
    """How many instructions of each name a module has in machine code."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "module.ptx", Path(folder) / "module.cubin"
        source.write_text(text)
        subprocess.run([ptxas, f"-arch={chip}", str(source), "-o", str(binary)], check=True)
        command = [nvdisasm, "-c", str(binary)]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Counter(_MACHINE_INSTRUCTION.findall(listing))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a module was accepted, and the first lines of what was said."""

    accepted: bool
    message: str


def assemble(ptxas: str, chip: str, version: Version, body: str) -> Verdict:
    """Assemble a module that consists of ``body``."""
    header = f".version {version[0]}.{version[1]}\n.target {chip}\n.address_size 64\n"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "module.ptx"
        source.write_text(header + body)
        command = [ptxas, f"-arch={chip}", "-O0", str(source), "-o", str(Path(folder) / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Verdict(done.returncode == 0, (done.stdout + done.stderr)[:2000])


@cache
def knows(ptxas: str, chip: str, version: Version) -> bool:
    """Whether this assembler is of an age to know the chip and the version at all."""
    return assemble(ptxas, chip, version, ".visible .entry k() { ret; }\n").accepted


@dataclass(frozen=True, slots=True)
class Point:
    """One request; the names are those of ``lower``."""

    op: Operation
    ordering: Ordering
    scope: Scope = Scope.SYSTEM
    space: AddressSpace | None = None
    failure_ordering: Ordering | None = None
    returns: bool = True
    kind: RmwKind = RmwKind.ADD
    width: int = 32
    volatile: bool = False
    nontemporal: bool = False
    spaces: tuple[AddressSpace, ...] | None = None
    features: tuple[str, ...] = ()
    type: ValueType | None = None
    elementwise: bool = False


WIDTHS = (8, 16, 32, 64, 128)
_FAILURES = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST)


@cache
def every_point() -> tuple[Point, ...]:
    """The whole product of what can be asked of a target."""
    return tuple(_points())


def _points() -> Iterator[Point]:
    for op, ordering in SKELETON:
        for scope in Scope:
            point = Point(op, ordering, scope)
            yield from _accesses(point) if op.is_access else (point,)
            if op is Operation.FENCE:
                for each in AddressSpace:
                    yield replace(point, spaces=(each,))
                    yield replace(point, spaces=(each,), features=(NO_RELAXED_BARRIER,))


def _accesses(point: Point) -> Iterator[Point]:
    for space in AddressSpace:
        if point.op is Operation.ATOMIC_RMW:
            yield from _of_halves(replace(point, space=space))
        for width in WIDTHS:
            sized = replace(point, space=space, width=width)
            if point.op is Operation.ATOMIC_RMW:
                yield from _read_modify_writes(sized, RmwKind)
            elif point.op is Operation.CMPXCHG:
                yield from (replace(sized, failure_ordering=each) for each in _FAILURES)
            else:
                yield sized
                yield replace(sized, volatile=True)
                yield replace(sized, nontemporal=True)


def _of_halves(point: Point) -> Iterator[Point]:
    for type_ in HALVES:
        typed = replace(point, type=type_, width=type_.bits)
        yield from _read_modify_writes(typed, sorted(FLOAT_KINDS))
        if type_.is_packed:
            yield from _read_modify_writes(replace(typed, elementwise=True), sorted(FLOAT_KINDS))


def _read_modify_writes(point: Point, kinds: Iterable[RmwKind]) -> Iterator[Point]:
    for kind in kinds:
        yield replace(point, kind=kind)
        yield replace(point, kind=kind, returns=False)
        yield replace(point, kind=kind, returns=False, features=(NO_ACQUIRE_FENCE_AFTER,))


def lowered(point: Point, chip: PtxChip, version: Version) -> Lowered | None:
    """Our sequence, or None where we refuse."""
    try:
        return lower(
            op=point.op,
            ordering=point.ordering,
            scope=point.scope,
            space=point.space,
            failure_ordering=point.failure_ordering,
            returns=point.returns,
            kind=point.kind,
            width=point.width,
            volatile=point.volatile,
            nontemporal=point.nontemporal,
            spaces=point.spaces,
            features=point.features,
            type=point.type,
            elementwise=point.elementwise,
            target=chip.name,
            ptx_version=f"{version[0]}.{version[1]}",
        )
    except UnsupportedError:
        return None


def covering(
    points: Iterable[Point], chip: PtxChip, version: Version
) -> list[tuple[Point, Lowered]]:
    """Sequences in which every instruction that is ever emitted occurs, at every width."""
    seen: set[tuple[str, int]] = set()
    chosen: list[tuple[Point, Lowered]] = []
    for point in points:
        sequence = lowered(point, chip, version)
        if sequence is None:
            continue
        instructions = {(each.text, point.width) for each in sequence.instructions}
        if instructions <= seen:
            continue
        seen |= instructions
        chosen.append((point, sequence))
    return chosen


TOGETHER = 32
"""Sequences of one kernel: the assembler spends most of its time on what surrounds one alone."""


def module(sequences: Sequence[tuple[Point, Lowered]]) -> str:
    """Kernels of all sequences."""
    starts = range(0, len(sequences), TOGETHER)
    return "\n".join(kernel(f"k{n}", *sequences[n : n + TOGETHER]) for n in starts)


def kernel(name: str, *sequences: tuple[Point, Lowered]) -> str:
    """A kernel of one sequence after another, each with registers of the right widths."""
    body = "".join(starmap(_block, sequences))
    return f".visible .entry {name}(.param .u64 p) {{\n{body}ret;\n}}\n"


def _block(point: Point, sequence: Lowered) -> str:
    bits = max(16, point.width)
    places = {"dst": "%dst", "addr": "%addr", "data": "%data", "compare": "%compare"}
    if not point.returns:
        del places["dst"]
    body = "\n".join(fill_places(sequence.instructions, places, "s"))
    return (
        f"{{\n.reg .b64 %addr; .reg .b{bits} %dst, %data, %compare;\n"
        f"ld.param.u64 %addr, [p];\n{body}\n}}\n"
    )


def versions_of(chip: PtxChip, versions: Iterable[Version]) -> list[Version]:
    """Those of ``versions`` that a chip can be assembled with."""
    return [v for v in versions if chip.first <= v <= (chip.last or v)]


def chip_named(name: str) -> PtxChip:
    """One of the table's chips."""
    return next(chip for chip in CHIPS if chip.name == name)
