"""CDNA machine instructions as the simulator executes them: pure data, named by what they do.

``bits`` are the cache policy bits as in the assembly (``sc0 sc1 nt``, on gfx908 and gfx90a
``glc slc``, on gfx1250 ``scope:SCOPE_DEV``). What they reach on which chip is in ``rows``, and
so is what ``flat`` accesses, which go where their location is, count in. Sources: MI300 ISA
manual, chapters 4.4, 9, 10; LLVM 24 AMDGPUUsage, Memory Model GFX125x.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.vocabulary import RmwKind, Word
from fencewright.simulator.core.program import Common, Operand, Program, Thread

Bits = tuple[str, ...]


def _text(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _segment(flat: bool) -> str:
    return "flat" if flat else "global"


@dataclass(frozen=True, slots=True)
class VectorLoad:
    """``dst = location`` through the vector L1 (``flat``: or LDS)."""

    dst: str
    location: str
    bits: Bits = ()
    flat: bool = False

    def __str__(self) -> str:
        return _text(f"{_segment(self.flat)}_load {self.dst}, {self.location}", *self.bits)


@dataclass(frozen=True, slots=True)
class VectorStore:
    """``location = value`` through the vector L1 (``flat``: or LDS)."""

    location: str
    value: Operand
    bits: Bits = ()
    flat: bool = False

    def __str__(self) -> str:
        return _text(f"{_segment(self.flat)}_store {self.location}, {self.value}", *self.bits)


@dataclass(frozen=True, slots=True)
class Atomic:
    """A read-modify-write at the L2 or beyond. ``dst`` takes the old value if there is one.

    On gfx942 and gfx950 bit sc0, on gfx908 and gfx90a bit glc goes with ``dst``.
    """

    kind: RmwKind
    location: str
    value: Operand
    dst: str | None = None
    bits: Bits = ()
    flat: bool = False

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        return _text(f"{_segment(self.flat)}_atomic_{self.kind} {place}, {self.value}", *self.bits)


@dataclass(frozen=True, slots=True)
class CompareSwap:
    """Writes ``new`` if ``location`` holds ``compare``; ``dst`` takes the old value."""

    location: str
    compare: Operand
    new: Operand
    dst: str | None = None
    bits: Bits = ()
    flat: bool = False

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        operands = f"{place}, {self.new}, {self.compare}"
        return _text(f"{_segment(self.flat)}_atomic_cmpswap {operands}", *self.bits)


@dataclass(frozen=True, slots=True)
class LdsLoad:
    """``dst = location`` in LDS."""

    dst: str
    location: str

    def __str__(self) -> str:
        return f"ds_read {self.dst}, {self.location}"


@dataclass(frozen=True, slots=True)
class LdsStore:
    """``location = value`` in LDS."""

    location: str
    value: Operand

    def __str__(self) -> str:
        return f"ds_write {self.location}, {self.value}"


@dataclass(frozen=True, slots=True)
class LdsAtomic:
    """A read-modify-write in LDS; ``dst`` takes the old value if there is one."""

    kind: RmwKind
    location: str
    value: Operand
    dst: str | None = None

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        return f"ds_{self.kind} {place}, {self.value}"


@dataclass(frozen=True, slots=True)
class LdsCompareSwap:
    """Writes ``new`` if ``location`` in LDS holds ``compare``; ``dst`` takes the old value."""

    location: str
    compare: Operand
    new: Operand
    dst: str | None = None

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        return f"ds_cmpst {place}, {self.compare}, {self.new}"


@dataclass(frozen=True, slots=True)
class ScalarLoad:
    """``dst = location`` through the scalar cache, which nothing keeps coherent."""

    dst: str
    location: str

    def __str__(self) -> str:
        return f"s_load {self.dst}, {self.location}"


@dataclass(frozen=True, slots=True)
class CacheInstruction:
    """Cache maintenance: ``buffer_wbl2``, ``buffer_inv``, ``buffer_wbinvl1_vol`` and so on."""

    mnemonic: str
    bits: Bits = ()

    def __str__(self) -> str:
        return _text(self.mnemonic, *self.bits)


@dataclass(frozen=True, slots=True)
class Wait:
    """``s_waitcnt``: until no more operations than these are outstanding; None: any number."""

    vmcnt: int | None = None
    lgkmcnt: int | None = None

    def counts(self) -> Mapping[Counter, int | None]:
        """What is asked of each counter."""
        return {Counter.VMCNT: self.vmcnt, Counter.LGKMCNT: self.lgkmcnt}

    def __str__(self) -> str:
        asked = self.counts().items()
        return _text("s_waitcnt", *(f"{name}({n})" for name, n in asked if n is not None))


@dataclass(frozen=True, slots=True)
class SplitWait:
    """``s_wait_loadcnt`` and its like: until no more than these are outstanding; None: any number."""

    loadcnt: int | None = None
    storecnt: int | None = None
    dscnt: int | None = None

    def counts(self) -> Mapping[Counter, int | None]:
        """What is asked of each counter."""
        return {
            Counter.LOADCNT: self.loadcnt,
            Counter.STORECNT: self.storecnt,
            Counter.DSCNT: self.dscnt,
        }

    def __str__(self) -> str:
        asked = {name: n for name, n in self.counts().items() if n is not None}
        return "; ".join(f"s_wait_{name} {n:#x}" for name, n in asked.items()) or "s_nop 0"


@dataclass(frozen=True, slots=True)
class WorkgroupBarrier:
    """``s_barrier``: until every wave of the work-group that has not ended is here."""

    def __str__(self) -> str:
        return "s_barrier"


class BarrierUnit(Word):
    """What arrives at a split barrier: each wave of a work-group, or one wave for each of them."""

    WAVE = "-1"
    WORKGROUP = "-3"


@dataclass(frozen=True, slots=True)
class BarrierSignal:
    """``s_barrier_signal``: arrives. ``first`` becomes 1 if nothing had arrived before, else 0."""

    barrier: BarrierUnit
    first: str | None = None

    def __str__(self) -> str:
        if self.first is None:
            return f"s_barrier_signal {self.barrier}"
        return f"s_barrier_signal_isfirst {self.barrier} ({self.first})"


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """``s_barrier_wait``: until the phase that the wave has not yet waited for is complete."""

    barrier: BarrierUnit

    def __str__(self) -> str:
        return f"s_barrier_wait {self.barrier}"


VectorAccess = VectorLoad | VectorStore | Atomic | CompareSwap
LdsAccess = LdsLoad | LdsStore | LdsAtomic | LdsCompareSwap
SplitBarrier = BarrierSignal | BarrierWait
CdnaInstruction = (
    VectorAccess
    | LdsAccess
    | ScalarLoad
    | CacheInstruction
    | Wait
    | SplitWait
    | WorkgroupBarrier
    | SplitBarrier
    | Common
)
CdnaThread = Thread[CdnaInstruction]
CdnaProgram = Program[CdnaInstruction]
