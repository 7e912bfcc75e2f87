"""The part of ``loosen-waits`` for chips where each kind of access has its own counter (gfx1250).

The rules are those of ``loosen-waits``, for each counter by itself: within one completion is told
in order of issue, so that a count leaves the younger ones alone; a flat access may finish out of
order with either of its counters, beside which nothing is loosened but left out.
Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, counters.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import Block

from fencewright.lowering.cdna.chips import ChipRow, Counter
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, CounterEventKind
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects.cdna import WaitOp
from fencewright.passes.analysis.control_flow import block_graph
from fencewright.passes.cdna.waits.decision import set_counts
from fencewright.passes.cdna.waits.loosen_waits import Duty, WaitLine, WaitLines, lds_matters_at


class CounterAge(NamedTuple):
    """The number of operations surely younger than the youngest on a counter that a wait covers.

    ``acquired``: of those that the wait of an acquire covers; ``released``: of a release; None:
    none is outstanding. ``unordered``: whether a flat access may be.
    """

    acquired: int | None = None
    released: int | None = None
    unordered: bool = False

    def join(self, other: "CounterAge") -> "CounterAge":
        """The join of two paths: the fewer younger ones."""
        return CounterAge(
            _fewer(self.acquired, other.acquired),
            _fewer(self.released, other.released),
            self.unordered or other.unordered,
        )

    def issue(self, event: CounterEvent, duty: Duty, limit: int) -> "CounterAge":
        """One more operation; ages stop growing at ``limit``."""
        return CounterAge(
            0 if duty.acquired else _older(self.acquired, limit),
            0 if duty.released else _older(self.released, limit),
            self.unordered or event.kind is CounterEventKind.FLAT,
        )

    def wait(self, count: int) -> "CounterAge":
        """After a wait."""
        if count == 0:
            return _NONE
        if self.unordered:
            return self
        return CounterAge(_left(self.acquired, count), _left(self.released, count))


_NONE = CounterAge()


def _fewer(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _older(age: int | None, limit: int) -> int | None:
    return None if age is None else min(age + 1, limit)


def _left(age: int | None, count: int) -> int | None:
    return None if age is None or age >= count else age


SplitAges: TypeAlias = Mapping[str, CounterAge]
"""The lattice: the age of each counter that accesses of the wave's own are in."""

_NOTHING: SplitAges = MappingProxyType(
    {str(c): _NONE for c in (Counter.LOADCNT, Counter.STORECNT, Counter.DSCNT)}
)


def _join(one: SplitAges, other: SplitAges) -> SplitAges:
    return {name: age.join(other[name]) for name, age in one.items()}


def loosen_split_waits(code: WaitLines, chip: ChipRow) -> None:
    """Loosen the waits of one kernel."""
    lds_matters = lds_matters_at(code)
    limits = {str(counter): most - 1 for counter, most in chip.counters.items()}

    def after(line: WaitLine, ages: SplitAges) -> tuple[SplitAges, WaitCounts | None]:
        """The ages after an operation as it will be, and the counts of a wait that remain."""
        duty = line.duty
        if duty.counts is not None:
            counts = _loosened(duty, ages, lds_matters[line.op]) if duty.orders else duty.counts
            waited = {n: ages[n].wait(count) for n, count in counts.given.items() if n in ages}
            return {**ages, **waited}, counts
        changed = {
            name: ages[name].issue(event, duty, limits[name])
            for event in duty.events
            if (name := str(event.counter)) in ages
        }
        return {**ages, **changed} if changed else ages, None

    def carry(block: Block, ages: SplitAges) -> SplitAges:
        for line in code[block]:
            ages, _ = after(line, ages)
        return ages

    order = list(code)
    entry = solve(block_graph(order), {order[0]: _NOTHING}, carry, _join)
    for block, lines in code.items():
        ages = entry[block]
        for line in lines:
            ages, counts = after(line, ages)
            if counts is not None and counts != line.duty.counts:
                set_counts(cast(WaitOp, line.op), counts)


def _loosened(duty: Duty, ages: SplitAges, lds_matters: bool) -> WaitCounts:
    """The remaining counts of an ordering wait. ``lds_matters``: others can see LDS by a later
    operation."""
    assert duty.counts is not None
    left: dict[str, int] = {}
    for name, count in duty.counts.given.items():
        if name not in ages:
            left[name] = count
            continue
        age = ages[name]
        covered = age.released if duty.releases else age.acquired
        if covered is None or _is_only_in_lds(name, age, duty, lds_matters):
            continue
        left[name] = count if age.unordered else max(count, covered)
    return duty.counts if left == duty.counts.given else WaitCounts(**left)


def _is_only_in_lds(name: str, age: CounterAge, duty: Duty, lds_matters: bool) -> bool:
    """True where a release need not wait for LDS: LDS alone can tell, which a wave accesses in
    order."""
    return name == Counter.DSCNT and duty.releases and not (age.unordered or lds_matters)
