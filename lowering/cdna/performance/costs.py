"""Costs of CDNA instructions: estimates, and measurements of the write-back of the L2.

The figures are classes, from what an instruction is and how far it reaches: each a few times the
one below it. They are good for an order, not for a time. A unit is about ``UNIT`` nanoseconds: a
load from the L2 and the wait for it are 10 units and take 208 to 224 cycles on MI300X.
"""

from functools import cache

from fencewright.lowering.cdna.caches import (
    ACCESS_KINDS,
    Caches,
    Effect,
    Visibility,
    access_effect,
    maintenance_effect,
)
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.waits import counters_of, read_wait
from fencewright.lowering.cdna.instructions import either_form, has_instruction
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.costs import Cost, Unit
from fencewright.lowering.evidence import Figure
from fencewright.lowering.sequence import Line, UnsupportedError, WaitCounts
from fencewright.lowering.table import Table, row
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum


class Work(FastStrEnum):
    """The work of an instruction in the hardware; the value is its name in the documentation."""

    NONE = "nothing outside the wave"
    ISSUE = "an access that a cache of the compute unit, or LDS, may serve"
    PAST_L1 = "a load that misses the L1"
    PAST_L2 = "a load that bypasses the L2"
    STORE_THROUGH = "a store that goes past an L2 of many"
    STORE_TO_SYSTEM = "a store that goes past the L2 to memory"
    ATOMIC = "a read-modify-write at the agent"
    ATOMIC_AT_SYSTEM = "a read-modify-write at the system"
    BARRIER = "a barrier of the work-group"
    WAIT_LDS = "a wait for LDS and scalar loads"
    WAIT_SOME = "a wait for the older ones of the outstanding accesses"
    WAIT_ALL = "a wait for all outstanding accesses"
    INVALIDATE_L1 = "an invalidate of the L1"
    INVALIDATE_L2 = "an invalidate of lines of the L2"
    INVALIDATE_BOTH = "an invalidate of the L1 and of lines of the L2"
    WRITE_BACK = "a write-back of the L2 to the agent"
    WRITE_BACK_TO_SYSTEM = "a write-back of the L2 to the system"


_W = Work
_ESTIMATED = "estimated"
_CONTROL = f"{_ESTIMATED} from CDNA4 ISA, load and store control by sc1 sc0"
_WAITS = f"{_ESTIMATED} from MI300 ISA 4.4"
_MAINTENANCE = f"{_ESTIMATED} from MI300 ISA, buffer_wbl2 and buffer_inv"

UNIT = 10
"""Nanoseconds, about."""

_WAVES = 4
"""Those of a work-group of 256 threads: a release of every wave makes each execute a write-back."""

_WRITE_BACKS = {row.chip: row.write_back for row in HIERARCHIES if row.write_back is not None}
_TIMES = ", ".join(f"{time} ns on {chip}" for chip, time in _WRITE_BACKS.items())
_WRITE_BACK = round(_WAVES * next(iter(_WRITE_BACKS.values())).high / UNIT)
_IN_SERIES = (
    f"{_ESTIMATED} from what was measured, for {_WAVES} waves: {_TIMES} for each wave that "
    "executes it, one after another on an XCD, hardly more for more dirty lines"
)


def write_back_time(chip: str) -> Figure | None:
    """Nanoseconds of a wave's write-back on ``chip``, one after another on an XCD.

    None where nobody has published it.
    """
    return _WRITE_BACKS.get(chip)


def time_after_stores(target: str, line: Line, stores: int, sectors: int) -> Figure | None:
    """Nanoseconds of a write-back, independent of outstanding or dirty data; None for all else."""
    writes_back = work_of(target, line) in (Work.WRITE_BACK, Work.WRITE_BACK_TO_SYSTEM)
    return write_back_time(target) if writes_back else None


COSTS: Table[int] = Table(
    "CDNA cost",
    {"work": Work},
    (
        row(0, f"{_ESTIMATED}: other instructions hide it", work=_W.NONE),
        row(1, f"{_ESTIMATED}: the unit", work=_W.ISSUE),
        row(2, f"{_CONTROL}: a trip to the L2", work=_W.PAST_L1),
        row(4, f"{_CONTROL}: a trip to memory", work=_W.PAST_L2),
        row(2, f"{_CONTROL}: one line written through, nobody waits", work=_W.STORE_THROUGH),
        row(3, f"{_CONTROL}: one line to memory, nobody waits", work=_W.STORE_TO_SYSTEM),
        row(4, f"{_CONTROL}: a trip to the L2, which does it", work=_W.ATOMIC),
        row(8, f"{_CONTROL}: a trip past the L2", work=_W.ATOMIC_AT_SYSTEM),
        row(4, f"{_ESTIMATED}: the slowest wave of the work-group", work=_W.BARRIER),
        row(2, f"{_WAITS}: LDS and scalar caches are near", work=_W.WAIT_LDS),
        row(4, f"{_WAITS}: younger trips to the L2 stay on their way", work=_W.WAIT_SOME),
        row(8, f"{_WAITS}: the whole trip of the youngest access", work=_W.WAIT_ALL),
        row(12, f"{_MAINTENANCE}: what the compute unit's waves load again misses the L1",
            work=_W.INVALIDATE_L1),
        row(12, f"{_ESTIMATED} from LLVM AMDGPUUsage, Memory Model GFX90A: lines of an L2",
            work=_W.INVALIDATE_L2),
        row(24, f"{_MAINTENANCE}: both caches lose lines", work=_W.INVALIDATE_BOTH),
        row(_WRITE_BACK, _IN_SERIES, work=_W.WRITE_BACK),
        row(128, f"{_MAINTENANCE}: walks the L2, and its lines go to memory",
            work=_W.WRITE_BACK_TO_SYSTEM),
    ),
)  # fmt: skip
"""(work) -> cost, in units of the cheapest access."""


_IN_MEMORY = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})


@cache
def read_line(text: str) -> Line:
    """A line of assembly, as far as its price depends on it: registers are left out."""
    mnemonic, *words = text.replace(",", " ").split()
    if counters_of(mnemonic):
        return Line(mnemonic, wait=read_wait(mnemonic, int(words[-1], 0)))
    if mnemonic != "s_waitcnt":
        return Line(mnemonic, modifiers=tuple(word for word in words if word in _BITS))
    counts = {name: int(count) for name, count in map(_read_count, words)}
    return Line(mnemonic, wait=WaitCounts(**counts))


_BITS = frozenset({"sc0", "sc1", "nt", "glc", "slc"})


def _read_count(word: str) -> tuple[str, str]:
    name, _, count = word.removesuffix(")").partition("(")
    return name, count


def cost_of(target: str, line: Line) -> Cost:
    """The cost of an instruction on a chip; always an estimate.

    Raises ``UnsupportedError`` for one that the chip does not have.
    """
    found = COSTS[work_of(target, line),]
    return Cost(found.value, Unit.RELATIVE, found.source)


def together(target: str, lines: tuple[Line, ...]) -> tuple[int, Cost] | None:
    """Always None: waits have prices of their own, and no instructions one as a whole."""
    return None


def work_of(chip: str, line: Line) -> Work:
    """The work that an instruction makes ``chip`` do.

    Raises ``UnsupportedError`` for one that the chip does not have.
    """
    return _work(chip, line.mnemonic, line.modifiers, line.wait)


@cache
def _work(chip: str, mnemonic: str, bits: tuple[str, ...], wait: WaitCounts | None) -> Work:
    if wait is not None:
        return _wait(wait)
    row = either_form(mnemonic)
    if row is None or not has_instruction(chip, row):
        raise UnsupportedError(f"cost of {mnemonic}", f"{chip} has no such instruction")
    if row.kind is Kind.CACHE:
        return _maintenance(maintenance_effect(chip, mnemonic, bits))
    if row.kind is Kind.BARRIER:
        return Work.BARRIER
    if row.kind not in ACCESS_KINDS:
        return Work.NONE
    if row.space not in _IN_MEMORY:
        return Work.ISSUE
    return _access(chip, row.kind, bits)


def _wait(counts: WaitCounts) -> Work:
    of_memory = [count for name, count in counts.given.items() if name not in _NEAR]
    if not of_memory:
        return Work.WAIT_LDS
    return Work.WAIT_SOME if all(of_memory) else Work.WAIT_ALL


_NEAR = frozenset({Counter.LGKMCNT, Counter.DSCNT, Counter.KMCNT, Counter.XCNT})
"""Counters without memory accesses: xcnt is of addresses that are being translated."""


def _maintenance(effect: Effect) -> Work:
    if effect.writes_back is not None:
        at_system = effect.writes_back is Visibility.SYSTEM
        return Work.WRITE_BACK_TO_SYSTEM if at_system else Work.WRITE_BACK
    if not effect.invalidates:
        return Work.NONE
    if not effect.invalidates & Caches.L1:
        return Work.INVALIDATE_L2
    return Work.INVALIDATE_L1 if effect.invalidates is Caches.L1 else Work.INVALIDATE_BOTH


def _access(chip: str, access: Kind, bits: tuple[str, ...]) -> Work:
    effect = access_effect(chip, access, bits)
    at_system = effect.stores is Visibility.SYSTEM
    if access is Kind.RMW:
        return Work.ATOMIC_AT_SYSTEM if at_system else Work.ATOMIC
    if effect == access_effect(chip, access, ()):
        return Work.ISSUE
    if access is Kind.STORE:
        return Work.STORE_TO_SYSTEM if at_system else Work.STORE_THROUGH
    return Work.PAST_L1 if effect.reads else Work.PAST_L2
