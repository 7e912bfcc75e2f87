"""CDNA machine instructions as the simulator executes them: pure data, named by their effects.

``bits`` are the cache policy bits as in the assembly (``sc0 sc1 nt``, on gfx908 and gfx90a
``glc slc``, on gfx1250 ``scope:SCOPE_DEV``). What they reach on which chip is in ``rows``, and
so is what flat accesses, which go where their location is, count in. Sources: MI300 ISA
manual, chapters 4.4, 9, 10; LLVM 24 AMDGPUUsage, Memory Model GFX125x.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.named_barriers import of_m0
from fencewright.lowering.vocabulary import FastStrEnum, RmwKind
from fencewright.simulator.core.program import Branch, Common, Label, Operand, Program, Thread

Bits = tuple[str, ...]


def _text(*parts: str) -> str:
    return " ".join(part for part in parts if part)


class Segment(FastStrEnum):
    """The memory that an access is of, as mnemonics begin; FLAT: global or LDS, by its address."""

    GLOBAL = "global"
    FLAT = "flat"
    LDS = "ds"


def _mnemonic(segment: Segment, word: str, in_lds: str) -> str:
    return f"{segment}_{in_lds if segment is Segment.LDS else word}"


@dataclass(frozen=True, slots=True)
class VectorLoad:
    """``dst = location`` through the vector L1, or from LDS."""

    dst: str
    location: str
    bits: Bits = ()
    segment: Segment = Segment.GLOBAL

    def __str__(self) -> str:
        name = _mnemonic(self.segment, "load", "read")
        return _text(f"{name} {self.dst}, {self.location}", *self.bits)


@dataclass(frozen=True, slots=True)
class VectorStore:
    """``location = value`` through the vector L1, or to LDS."""

    location: str
    value: Operand
    bits: Bits = ()
    segment: Segment = Segment.GLOBAL

    def __str__(self) -> str:
        name = _mnemonic(self.segment, "store", "write")
        return _text(f"{name} {self.location}, {self.value}", *self.bits)


@dataclass(frozen=True, slots=True)
class Atomic:
    """A read-modify-write at the L2 or beyond, or in LDS. ``dst`` takes the old value if there is
    one.

    On gfx942 and gfx950 bit sc0, on gfx908 and gfx90a bit glc goes with ``dst``.
    """

    kind: RmwKind
    location: str
    value: Operand
    dst: str | None = None
    bits: Bits = ()
    segment: Segment = Segment.GLOBAL

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        name = _mnemonic(self.segment, f"atomic_{self.kind}", self.kind)
        return _text(f"{name} {place}, {self.value}", *self.bits)


@dataclass(frozen=True, slots=True)
class CompareSwap:
    """Writes ``new`` if ``location`` holds ``compare``; ``dst`` takes the old value."""

    location: str
    compare: Operand
    new: Operand
    dst: str | None = None
    bits: Bits = ()
    segment: Segment = Segment.GLOBAL

    def __str__(self) -> str:
        place = f"{self.dst}, {self.location}" if self.dst else self.location
        values = (self.new, self.compare)
        one, other = values[::-1] if self.segment is Segment.LDS else values
        name = _mnemonic(self.segment, "atomic_cmpswap", "cmpst")
        return _text(f"{name} {place}, {one}, {other}", *self.bits)


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """``destination = source``, one of them in LDS, by an agent beside the wave (``copies``).

    ``counter`` says when it is done: asynccnt, or tensorcnt for a copy with a descriptor.
    """

    destination: str
    source: str
    bits: Bits = ()
    counter: Counter = Counter.ASYNCCNT

    def __str__(self) -> str:
        name = "tensor_copy" if self.counter is Counter.TENSORCNT else "async_copy"
        return _text(f"{name} {self.destination}, {self.source}", *self.bits)


@dataclass(frozen=True, slots=True)
class AsyncWait:
    """``s_wait_asynccnt``: until no more of the wave's copies than these are outstanding."""

    count: int
    counter: Counter = Counter.ASYNCCNT

    def __str__(self) -> str:
        return f"s_wait_{self.counter} {self.count:#x}"


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
    """``s_waitcnt``, ``s_wait_loadcnt`` and so on: until no more operations than these are
    outstanding; None: any number.

    ``vscnt``: of ``s_waitcnt_vscnt``, which chips with that counter have for it.
    """

    vmcnt: int | None = None
    lgkmcnt: int | None = None
    vscnt: int | None = None
    loadcnt: int | None = None
    storecnt: int | None = None
    dscnt: int | None = None
    kmcnt: int | None = None

    def counts(self) -> Mapping[Counter, int]:
        """The requested bounds of counters."""
        given = {counter: getattr(self, counter) for counter in _COUNTERS}
        return {counter: n for counter, n in given.items() if n is not None}

    def __str__(self) -> str:
        counts = self.counts()
        joint = [f"{name}({counts[name]})" for name in _JOINT if name in counts]
        parts = [_text("s_waitcnt", *joint)] if joint or not counts else []
        for name, n in counts.items():
            if name is Counter.VSCNT:
                parts.append(f"s_waitcnt_vscnt null, {n:#x}")
            elif name not in _JOINT:
                parts.append(f"s_wait_{name} {n:#x}")
        return "; ".join(parts)


_COUNTERS = tuple(Counter(each.name) for each in fields(Wait))
_JOINT = (Counter.VMCNT, Counter.LGKMCNT)


def wait_instruction(counts: Mapping[str, int]) -> Wait | None:
    """The wait until no more operations than these are outstanding, by the names of counters.

    None where the machine has none of the counters: the others order nothing that it executes.
    """
    known = {name: n for name, n in counts.items() if name in _COUNTERS}
    return Wait(**known) if known else None


def wait_instructions(counts: Mapping[str, int]) -> tuple[AsyncWait | Wait, ...]:
    """The waits of ``wait_instruction``, those for copies before it."""
    copies = (AsyncWait(counts[each], each) for each in _OF_COPIES if each in counts)
    made = wait_instruction(counts)
    return (*copies, *(() if made is None else (made,)))


_OF_COPIES = (Counter.ASYNCCNT, Counter.TENSORCNT)


@dataclass(frozen=True, slots=True)
class WorkgroupBarrier:
    """``s_barrier``: until every wave of the work-group that has not ended is here."""

    def __str__(self) -> str:
        return "s_barrier"


class BarrierUnit(FastStrEnum):
    """The unit that arrives at a split barrier: each wave of a work-group, or one wave for each."""

    WAVE = "-1"
    WORKGROUP = "-3"


@dataclass(frozen=True, slots=True)
class CopyPoint:
    """The meeting of a wave and the agent of its copy: at its start, and at the wait for it."""

    wave: int
    agent: int
    is_end: bool = False

    def __str__(self) -> str:
        return f"{'end' if self.is_end else 'start'} of copy P{self.agent}"


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """A barrier of the work-group with a number, from 1; each signalling wave is counted."""

    number: int

    def __str__(self) -> str:
        return str(self.number)


BarrierName = BarrierUnit | CopyPoint | NamedBarrier


@dataclass(frozen=True, slots=True)
class BarrierSignal:
    """``s_barrier_signal``: arrives. ``first`` becomes 1 if nothing had arrived before, else 0.

    ``count``: how many signals a named barrier is complete with from now on; None: as before.
    """

    barrier: BarrierName
    first: str | None = None
    count: int | None = None

    def __str__(self) -> str:
        count = "" if self.count is None else f" of {self.count}"
        if self.first is None:
            return f"s_barrier_signal {self.barrier}{count}"
        return f"s_barrier_signal_isfirst {self.barrier}{count} ({self.first})"


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """``s_barrier_wait``: until the phase that the wave has not yet waited for is complete."""

    barrier: BarrierName

    def __str__(self) -> str:
        return f"s_barrier_wait {self.barrier}"


@dataclass(frozen=True, slots=True)
class BarrierInit:
    """``s_barrier_init``: a named barrier is complete with ``count`` signals; none has come."""

    barrier: NamedBarrier
    count: int

    def __str__(self) -> str:
        return f"s_barrier_init {self.barrier} of {self.count}"


@dataclass(frozen=True, slots=True)
class BarrierJoin:
    """``s_barrier_join``: the wave can wait at this named barrier, and at no other."""

    barrier: NamedBarrier

    def __str__(self) -> str:
        return f"s_barrier_join {self.barrier}"


@dataclass(frozen=True, slots=True)
class BarrierLeave:
    """``s_barrier_leave``: the barrier that was joined last counts one signal less."""

    def __str__(self) -> str:
        return "s_barrier_leave"


_SCC = "scc"
"""The register of the machine for the bit of that name, which scalar instructions write."""


def barrier_instruction(
    mnemonic: str, operands: tuple[str, ...], m0: int | None = None
) -> "WorkgroupBarrier | SplitBarrier | None":
    """The instruction of a barrier as it is assembled; None if the machine does not have it."""
    match mnemonic, operands:
        case "s_barrier", ():
            return WorkgroupBarrier()
        case "s_barrier_signal", (("-1" | "-3") as unit,):
            return BarrierSignal(BarrierUnit(unit))
        case "s_barrier_signal_isfirst", (("-1" | "-3") as unit,):
            return BarrierSignal(BarrierUnit(unit), _SCC)
        case "s_barrier_wait", (("-1" | "-3") as unit,):
            return BarrierWait(BarrierUnit(unit))
        case "s_barrier_leave", ():
            return BarrierLeave()
        case _, (operand,):
            return _named(mnemonic, operand, m0)
        case _:
            return None


def _named(mnemonic: str, operand: str, m0: int | None) -> "SplitBarrier | None":
    """An instruction of a named barrier; m0 has a count where it is there, not 0."""
    number, count = of_m0(m0 or 0)
    if operand != "m0":
        number = int(operand) if operand.isdigit() else 0
    barrier = NamedBarrier(number)
    match mnemonic, operand:
        case _ if number == 0:
            return None
        case "s_barrier_init", _:
            return BarrierInit(barrier, count)
        case "s_barrier_join", _:
            return BarrierJoin(barrier)
        case "s_barrier_signal", "m0":
            return BarrierSignal(barrier, count=count or None)
        case "s_barrier_signal_isfirst", "m0":
            return BarrierSignal(barrier, _SCC, count or None)
        case "s_barrier_signal", _:
            return BarrierSignal(barrier)
        case "s_barrier_signal_isfirst", _:
            return BarrierSignal(barrier, _SCC)
        case "s_barrier_wait", _:
            return BarrierWait(barrier)
        case _:
            return None


VectorAccess = VectorLoad | VectorStore | Atomic | CompareSwap
NamedBarrierStep = BarrierInit | BarrierJoin | BarrierLeave
SplitBarrier = BarrierSignal | BarrierWait | NamedBarrierStep
CdnaInstruction = (
    VectorAccess
    | AsyncCopy
    | AsyncWait
    | ScalarLoad
    | CacheInstruction
    | Wait
    | WorkgroupBarrier
    | SplitBarrier
    | Common
)


class BarrierCode:
    """Instructions of barriers for one thread, ``add``ed as the machine's.

    One of them steps over those after it by the value of SCC: ``passed`` is to be called for every
    instruction, so that the label comes where it leads to.
    """

    __slots__ = ("add", "label", "labels", "left")

    def __init__(self, add: Callable[[CdnaInstruction], None]):
        self.add = add
        self.label = ""
        self.labels = 0
        self.left = 0

    def instruction(self, mnemonic: str, operands: tuple[str, ...], m0: int | None = None) -> bool:
        """Add one, executed with ``m0`` if that is known; False if the machine does not have it."""
        if mnemonic == "s_cbranch_scc0":
            (count,) = operands
            self.labels += 1
            self.label, self.left = f"{_SCC}.{self.labels}", int(count) + 1
            self.add(Branch(self.label, _SCC, unless=True))
            return True
        made = barrier_instruction(mnemonic, operands, m0)
        if made is not None:
            self.add(made)
        return made is not None

    def passed(self) -> None:
        """An instruction has been added, of a barrier or not."""
        self.left -= 1
        if self.label and not self.left:
            self.add(Label(self.label))
            self.label = ""


CdnaThread = Thread[CdnaInstruction]
CdnaProgram = Program[CdnaInstruction]
