"""Costs of PTX instructions: cycles on an H200 if measured, else an estimate.

A row holds for every instruction that begins with its words, unless a longer one does. Figures
were taken on one chip, sm_90a: for other chips they are estimates, of the same ratios.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product

from fencewright.lowering.costs import Cost, Unit
from fencewright.lowering.evidence import Figure, inferred, measured
from fencewright.lowering.ptx.code.statements import opcode_of
from fencewright.lowering.ptx.instructions import ROWS as INSTRUCTIONS
from fencewright.lowering.ptx.performance.accesses import FENCE_COSTS
from fencewright.lowering.ptx.select import chip_named
from fencewright.lowering.ptx.text import read_line as read_line
from fencewright.lowering.sequence import Line, UnsupportedError
from fencewright.lowering.table import TableError
from fencewright.lowering.vocabulary import FastStrEnum

_H200 = 90
"""The number of the chips that the measurements hold for: an H200 is sm_90 and sm_90a."""

MEASURED_HOW = "measured on an H200 (CUDA 13.0), cycles of one lane group in a loop of 1000"


class Basis(FastStrEnum):
    """The origin of an amount."""

    MEASURED = "measured"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class CostRow:
    """The price of consecutive instructions, by the first words of each: mostly of one.

    ``note``: the executed code or the spread of a measurement, the basis of an estimate.
    """

    instructions: tuple[str, ...]
    amount: int
    basis: Basis
    note: str

    @property
    def source(self) -> str:
        """The source of the cost, in one line."""
        said = MEASURED_HOW if self.basis is Basis.MEASURED else self.basis.value
        return f"{said}: {self.note}" if self.note else said


def _measured(amount: int, *instructions: str, note: str = "") -> CostRow:
    return CostRow(instructions, amount, Basis.MEASURED, note)


def _estimated(amount: int, *instructions: str, why: str) -> CostRow:
    return CostRow(instructions, amount, Basis.ESTIMATED, why)


_AS_GPU = "as at .gpu scope, of which it has the instructions"
_AS_CTA_FENCE = "the relaxed access and MEMBAR.ALL.CTA"
_TRIP = "as at .gpu scope, and the difference of the two scopes' fences"
_LOCAL = "shared memory is in the SM: as bar.sync"
_LOCAL_FENCED = "shared memory is in the SM: as bar.sync, and the fence of its scope"
_MEMBAR = "MEMBAR.ALL.GPU; ERRBAR; CGAERRBAR"

FENCES = (
    _measured(13, "fence.acq_rel.cta", note="MEMBAR.ALL.CTA"),
    _measured(272, "fence.acq_rel.cluster", note="269 to 275; the instructions of .gpu"),
    _measured(272, "fence.acq_rel.gpu", note=f"269 to 275; {_MEMBAR}; CCTL.IVALL"),
    _measured(1032, "fence.acq_rel.sys", note="MEMBAR.ALL.SYS and what .gpu has"),
    _estimated(0, "fence.acquire.cta", why="no instruction at all"),
    _estimated(16, "fence.acquire.cluster", why=_AS_GPU),
    _measured(16, "fence.acquire.gpu", note="CCTL.IVALL only"),
    _measured(16, "fence.acquire.sys", note="CCTL.IVALL only"),
    _estimated(13, "fence.release.cta", why="as fence.acq_rel.cta"),
    _estimated(263, "fence.release.cluster", why=_AS_GPU),
    _measured(263, "fence.release.gpu", note=_MEMBAR),
    _measured(1020, "fence.release.sys", note="MEMBAR.ALL.SYS and what .gpu has"),
    _measured(12, "fence.sc.cta", note="MEMBAR.SC.CTA"),
    _estimated(269, "fence.sc.cluster", why=_AS_GPU),
    _measured(269, "fence.sc.gpu", note="MEMBAR.SC.GPU; CCTL.IVALL"),
    _measured(1032, "fence.sc.sys", note="MEMBAR.SC.SYS; CCTL.IVALL"),
    _estimated(12, "membar.cta", why="as fence.sc.cta, which it is (PTX ISA, membar)"),
    _estimated(269, "membar.gl", why="as fence.sc.gpu, which it is (PTX ISA, membar)"),
    _estimated(1032, "membar.sys", why="as fence.sc.sys, which it is (PTX ISA, membar)"),
    _measured(2, "fence.acquire.sync_restrict::shared::cluster", note="no instruction at all"),
    _measured(
        17, "fence.release.sync_restrict::shared::cta", note="MEMBAR.ALL.CTA; FENCE.VIEW.ASYNC.S"
    ),
    _measured(2, "fence.mbarrier_init", note="no instruction at all"),
    _measured(146, "fence.proxy.async", note="MEMBAR.ALL.GPU; FENCE.VIEW.ASYNC.S"),
    _measured(10, "fence.proxy.async.shared::cta", note="MEMBAR.ALL.CTA; FENCE.VIEW.ASYNC.S"),
    _estimated(146, "fence.proxy.async.shared::cluster", why="as fence.proxy.async"),
    _estimated(10, "fence.proxy.async.global", why="one FENCE.VIEW.ASYNC.G, and no MEMBAR"),
    _estimated(13, "fence.proxy.alias", why="as fence.acq_rel.cta"),
    _estimated(2, "fence.proxy.async::generic.acquire", why="as fence.acquire.sync_restrict"),
    _estimated(17, "fence.proxy.async::generic.release", why="as fence.release.sync_restrict"),
    _estimated(16, "fence.proxy.tensormap::generic.acquire", why="as fence.acquire.gpu"),
    _estimated(13, "fence.proxy.tensormap::generic.release.cta", why="as fence.acq_rel.cta"),
    _estimated(263, "fence.proxy.tensormap::generic.release", why="as fence.release.gpu"),
    _estimated(1020, "fence.proxy.tensormap::generic.release.sys", why="as fence.release.sys"),
)

ACCESSES = (
    _measured(8, "st.weak.global", note="8 of them 57 to 70"),
    _estimated(8, "st", why="as st.weak.global"),
    _estimated(8, "st.relaxed.cluster", why="as st.weak.global"),
    _estimated(8, "st.relaxed.gpu", why="as st.weak.global"),
    _estimated(8, "st.relaxed.sys", why="as st.weak.global"),
    _estimated(21, "st.release.cta", why=_AS_CTA_FENCE),
    _estimated(579, "st.release.cluster", why=_AS_GPU),
    _measured(579, "st.release.gpu", note="564 to 594; MEMBAR.ALL.GPU; STG.STRONG.GPU"),
    _estimated(1336, "st.release.sys", why=_TRIP),
    _estimated(24, "ld", why="as ld.relaxed.gpu"),
    _estimated(24, "ld.relaxed.cluster", why=_AS_GPU),
    _measured(24, "ld.relaxed.gpu", note="LDG.E.STRONG.GPU"),
    _estimated(24, "ld.relaxed.sys", why="as ld.relaxed.gpu"),
    _estimated(24, "ld.acquire.cta", why="as ld.relaxed; fence.acquire.cta is nothing"),
    _estimated(304, "ld.acquire.cluster", why=_AS_GPU),
    _measured(304, "ld.acquire.gpu", note="293 to 315; LDG.STRONG.GPU, waited for; CCTL.IVALL"),
    _estimated(304, "ld.acquire.sys", why="as at .gpu scope, since their fences cost the same"),
    _estimated(144, "multimem.ld_reduce", why="as atom.relaxed.gpu: the switch computes"),
    _estimated(8, "multimem.st", why="as st.weak.global"),
    _estimated(81, "multimem.red", why="as red.relaxed.gpu"),
    *(
        _estimated(
            8 + amount, f"multimem.{kind}.release.{scope}", why="the relaxed one, and the fence"
        )
        for kind in ("st", "red")
        for scope, amount in (("cta", 13), ("cluster", 263), ("gpu", 263), ("sys", 1020))
    ),
    *(
        _estimated(
            144 + 16, f"multimem.ld_reduce.acquire.{scope}", why="the relaxed one, and the fence"
        )
        for scope in ("cluster", "gpu", "sys")
    ),
    _estimated(8, "prefetch", why="as st.weak.global: nothing waits for it"),
    _estimated(144, "atom", why="as atom.relaxed.gpu"),
    _estimated(144, "atom.relaxed.cluster", why=_AS_GPU),
    _measured(144, "atom.relaxed.gpu"),
    _estimated(144, "atom.relaxed.sys", why="as atom.relaxed.gpu"),
    _estimated(144, "atom.acquire.cta", why="as atom.relaxed; fence.acquire.cta is nothing"),
    _estimated(543, "atom.acquire.cluster", why=_AS_GPU),
    _measured(543, "atom.acquire.gpu"),
    _estimated(543, "atom.acquire.sys", why="as at .gpu scope, since their fences cost the same"),
    _estimated(157, "atom.release.cta", why=_AS_CTA_FENCE),
    _estimated(766, "atom.release.cluster", why=_AS_GPU),
    _measured(766, "atom.release.gpu"),
    _estimated(1523, "atom.release.sys", why=_TRIP),
    _estimated(157, "atom.acq_rel.cta", why=_AS_CTA_FENCE),
    _estimated(1096, "atom.acq_rel.cluster", why=_AS_GPU),
    _measured(1096, "atom.acq_rel.gpu", note="1072 to 1120"),
    _estimated(1853, "atom.acq_rel.sys", why=_TRIP),
    _estimated(81, "red", why="as red.relaxed.gpu"),
    _estimated(81, "red.relaxed.cluster", why=_AS_GPU),
    _measured(81, "red.relaxed.gpu", note="16 to 146"),
    _estimated(81, "red.relaxed.sys", why="as red.relaxed.gpu"),
    _estimated(94, "red.release.cta", why=_AS_CTA_FENCE),
    _estimated(573, "red.release.cluster", why=_AS_GPU),
    _measured(573, "red.release.gpu"),
    _estimated(1330, "red.release.sys", why=_TRIP),
)

_IN_SM = 15
"""An access to shared memory."""

_RELEASE = {"cta": 13, "cluster": 263}
_ACQUIRE = {"cta": 0, "cluster": 16}
"""The one-sided fences of each scope that reaches shared memory."""

_SHARED = (
    ("cta", "shared"),
    ("cluster", "shared"),
    ("cluster", "shared::cluster"),
    ("cta", "shared::cluster"),
)


def _shared_accesses() -> Iterable[CostRow]:
    """Accesses to shared memory: the fence of the scope, if any, and a trip inside the SM."""
    for scope, space in _SHARED:
        place = f"{scope}.{space}"
        release, acquire = _RELEASE[scope], _ACQUIRE[scope]
        for kind in ("ld", "st", "atom", "red"):
            yield _estimated(_IN_SM, f"{kind}.relaxed.{place}", why=_LOCAL)
        for kind in ("atom", "ld"):
            yield _estimated(_IN_SM + acquire, f"{kind}.acquire.{place}", why=_LOCAL_FENCED)
        for kind in ("atom", "st", "red"):
            yield _estimated(_IN_SM + release, f"{kind}.release.{place}", why=_LOCAL_FENCED)
        both = _IN_SM + release + acquire
        yield _estimated(both, f"atom.acq_rel.{place}", why=_LOCAL_FENCED)


_OBJECT = "an access to shared memory, as bar.sync"
_STARTED = "other units do the work"
_ARRIVAL = f"{_OBJECT}, and the fence of the scope"

BARRIERS = (
    _measured(15, "barrier.sync", note="bar.sync"),
    _measured(15, "bar.sync"),
    _estimated(15, "bar.arrive", why="not more than bar.sync"),
    _estimated(15, "barrier.arrive", why="not more than bar.sync"),
    _estimated(15, "bar.warp.sync", why="not more than bar.sync"),
    _estimated(278, "barrier.cluster.arrive", why="as bar.sync and fence.release.cluster"),
    _estimated(15, "barrier.cluster.arrive.relaxed", why="as bar.sync"),
    _estimated(31, "barrier.cluster.wait", why="as bar.sync and fence.acquire.cluster"),
    _estimated(15, "mbarrier", why=_OBJECT),
)


def _mbarriers() -> Iterable[CostRow]:
    """Arrivals and waits: the object's access, and the fence of the scope."""
    for arrive in ("arrive", "arrive.expect_tx", "arrive_drop", "arrive_drop.expect_tx"):
        for scope, fence in _RELEASE.items():
            yield _estimated(_IN_SM + fence, f"mbarrier.{arrive}.release.{scope}", why=_ARRIVAL)
    for arrive in ("arrive", "arrive_drop"):
        yield _estimated(_IN_SM + _RELEASE["cta"], f"mbarrier.{arrive}.shared", why=_ARRIVAL)
    for wait in ("test_wait", "test_wait.parity", "try_wait", "try_wait.parity"):
        amount = _IN_SM + _ACQUIRE["cluster"]
        yield _estimated(amount, f"mbarrier.{wait}.acquire.cluster", why=_ARRIVAL)


OTHERS = (
    *(
        _estimated(8, name, why=f"as a store; {_STARTED}")
        for name in ("cp", "wgmma", "tcgen05", "tensormap")
    ),
    *(
        _estimated(0, name, why="not a memory operation")
        for name in (
            *"mapa elect mov neg bfi cvta bra".split(),
            *(name for name, each in INSTRUCTIONS.items() if each.noun == "alu"),
        )
    ),
)

SINGLE = (*FENCES, *ACCESSES, *_shared_accesses(), *BARRIERS, *_mbarriers(), *OTHERS)


def index(rows: Iterable[CostRow]) -> dict[tuple[str, ...], CostRow]:
    """The rows by their instructions. Raises ``TableError`` for two of the same."""
    found: dict[tuple[str, ...], CostRow] = {}
    for each in rows:
        if each.instructions in found:
            raise TableError(f"PTX cost: two rows for {'; '.join(each.instructions)}")
        found[each.instructions] = each
    return found


_SINGLE = index(SINGLE)


def _amount(instruction: str) -> int:
    return _SINGLE[instruction,].amount


_AS_ONE = "as the ordered access, which is the same instructions"
_TWO_SIDED = "as the ordered access, which has the same MEMBAR, and CCTL.IVALL"
_BEHIND = "as the access that acquires, and MEMBAR.ALL.GPU, as for ld.relaxed.gpu"
_AS_GPU_PAIR = "as the pair at .gpu scope, since their fences cost the same"

_LOAD_ACQUIRED = _measured(287, "ld.relaxed.gpu", "fence.acquire.gpu", note="282 to 292")
_LOAD_FENCED = _measured(572, "ld.relaxed.gpu", "fence.acq_rel.gpu")

_MEASURED_TOGETHER = (
    _LOAD_ACQUIRED,
    _LOAD_FENCED,
    _measured(587, "fence.acq_rel.gpu", "st.relaxed.gpu", note="573 to 602"),
    _measured(885, "fence.sc.gpu", "ld.acquire.gpu"),
    _measured(1413, "fence.acq_rel.gpu", "atom.relaxed.gpu", "fence.acq_rel.gpu"),
)

_PAIRED_WITH = ("cluster", "gpu", "sys")
"""The scopes at which a fence waits for the access next to it."""


def _pairs() -> Iterable[CostRow]:
    """A fence and an access that are together one ordered access, or that and more."""
    invalidate = _amount("fence.acquire.gpu")
    membar = _LOAD_FENCED.amount - _amount("ld.acquire.gpu")
    for scope in _PAIRED_WITH:
        load = f"ld.relaxed.{scope}", f"fence.acquire.{scope}"
        yield _estimated(_LOAD_ACQUIRED.amount, *load, why=_AS_GPU_PAIR)
    for scope in _PAIRED_WITH:
        amount = _amount(f"atom.acquire.{scope}")
        yield _estimated(amount, f"atom.relaxed.{scope}", f"fence.acquire.{scope}", why=_AS_ONE)
    for access, scope in product(("st", "atom", "red"), _PAIRED_WITH):
        amount = _amount(f"{access}.release.{scope}")
        pair = f"fence.release.{scope}", f"{access}.relaxed.{scope}"
        yield _estimated(amount, *pair, why=_AS_ONE)
    # Versions without one-sided fences.
    for (access, ordered), scope in product(_RELEASED.items(), _PAIRED_WITH):
        amount = _amount(f"{ordered}.{scope}") + invalidate
        yield _estimated(amount, f"fence.acq_rel.{scope}", f"{access}.{scope}", why=_TWO_SIDED)
    for (access, ordered), scope in product(_ACQUIRED.items(), ("cluster", "gpu")):
        amount = _amount(f"{ordered}.{scope}") + membar
        yield _estimated(amount, f"{access}.{scope}", f"fence.acq_rel.{scope}", why=_BEHIND)


_RELEASED = {
    "st.relaxed": "st.release",
    "atom.relaxed": "atom.release",
    "red.relaxed": "red.release",
    "atom.acquire": "atom.acq_rel",
}
_ACQUIRED = {
    "ld.relaxed": "ld.acquire",
    "atom.relaxed": "atom.acquire",
    "atom.release": "atom.acq_rel",
}
"""Accesses, and their equivalents with a fence before or after them."""

_MEASURED_PAIRS = index(_MEASURED_TOGETHER)

TOGETHER = (
    *_MEASURED_TOGETHER,
    *(each for each in _pairs() if each.instructions not in _MEASURED_PAIRS),
)
"""Instructions that wait for one another: their price is not the sum of theirs."""

_TOGETHER = index(TOGETHER)
_MOST_TOGETHER = max(len(each.instructions) for each in TOGETHER)


def cost_of(target: str, line: Line) -> Cost:
    """The cost of an instruction on a chip: cycles if measured on such a one.

    Raises ``UnsupportedError`` for one without a row.
    """
    return _cost(target, _row_of(line.mnemonic))


def together(target: str, lines: tuple[Line, ...]) -> tuple[int, Cost] | None:
    """The number of leading instructions with a price as a whole, and the price; None if none."""
    names = tuple(_row_of(each.mnemonic).instructions[0] for each in lines[:_MOST_TOGETHER])
    for count in range(len(names), 1, -1):
        found = _TOGETHER.get(names[:count])
        if found is not None:
            return count, _cost(target, found)
    return None


def time_after_stores(target: str, line: Line, stores: int, sectors: int) -> Figure | None:
    """Cycles of a fence after stores of its warp; None if not measured.

    Measured of acq_rel fences with one warp on one SM of an H200; all else is inferred from that.
    """
    opcode = opcode_of(line.mnemonic)
    found = next((each for each in FENCE_COSTS if each.scope in opcode.words), None)
    if opcode.head not in ("fence", "membar") or found is None:
        return None
    was_measured = chip_named(target).number == _H200 and "acq_rel" in opcode.words
    of = measured if was_measured else inferred
    return of(found.idle.source, *found.cycles(stores, sectors))


def _cost(target: str, row: CostRow) -> Cost:
    if row.basis is Basis.ESTIMATED:
        return Cost(row.amount, Unit.RELATIVE, row.source)
    if chip_named(target).number == _H200:
        return Cost(row.amount, Unit.CYCLES, row.source)
    return Cost(row.amount, Unit.RELATIVE, f"{Basis.ESTIMATED}: as on sm_90a; {row.source}")


@cache
def _row_of(mnemonic: str) -> CostRow:
    opcode = opcode_of(mnemonic)
    # A label or a directive does nothing, as a branch.
    for beginning in opcode.beginnings if opcode.head else ("bra",):
        found = _SINGLE.get((beginning,))
        if found is not None:
            return found
    raise UnsupportedError(f"cost of {mnemonic}", "there is no row for it")
