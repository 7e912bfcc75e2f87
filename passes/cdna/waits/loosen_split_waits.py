"""The part of ``loosen-waits`` for chips where each kind of access has its own counter (gfx1250).

The rules are those of ``loosen-waits``, for each counter by itself: within one completion is told
in order of issue, so that a count leaves the younger ones alone; a flat access may finish out of
order with either of its counters, beside which nothing is loosened but left out.
Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, counters.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, CounterEventKind
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects.cdna import KernelOp, WaitOp, chip_of, count_attr
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks
from fencewright.passes.cdna.dataflow import COUNTED
from fencewright.passes.cdna.waits.insert_split_waits import split_events_at
from fencewright.passes.cdna.waits.loosen_waits import (
    ORDER,
    RELEASES,
    RELEVANT,
    Duty,
    WaitLine,
    lds_matters_at,
    must_be_acquired,
    signals_lds,
    takes_part,
)


class SplitDuty(NamedTuple):
    """The effect of an operation on the counters: its events, and the waits that cover them."""

    events: tuple[CounterEvent, ...] = ()
    acquired: bool = False
    released: bool = False


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

    def issue(self, event: CounterEvent, duty: SplitDuty, limit: int) -> "CounterAge":
        """One more operation; ages stop growing at ``limit``."""
        return CounterAge(
            0 if duty.acquired else _older(self.acquired, limit),
            0 if duty.released else _older(self.released, limit),
            self.unordered or event.kind is CounterEventKind.FLAT,
        )

    def wait(self, count: int) -> "CounterAge":
        """After a wait."""
        if count == 0:
            return CounterAge()
        if self.unordered:
            return self
        return CounterAge(_left(self.acquired, count), _left(self.released, count))


def _fewer(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _older(age: int | None, limit: int) -> int | None:
    return None if age is None else min(age + 1, limit)


def _left(age: int | None, count: int) -> int | None:
    return None if age is None or age >= count else age


SplitAges: TypeAlias = Mapping[str, CounterAge]
"""The lattice: the age of each counter that accesses of the wave's own are in."""

_NOTHING: SplitAges = MappingProxyType(
    {str(c): CounterAge() for c in (Counter.LOADCNT, Counter.STORECNT, Counter.DSCNT)}
)


def _join(one: SplitAges, other: SplitAges) -> SplitAges:
    return {name: age.join(other[name]) for name, age in one.items()}


class OrderingWait(NamedTuple):
    """An ordering wait: of a release or an acquire, and True if others can see LDS by a later
    operation."""

    releases: bool
    lds_matters: bool


def loosen_split_waits(kernel: KernelOp) -> None:
    """Loosen the waits of one kernel."""
    code = {
        block: [WaitLine(op, _duty_of(op)) for op in block.ops if type(op) in RELEVANT]
        for block in reachable_blocks(kernel.body)
    }
    lines = [line for of_block in code.values() for line in of_block]
    if not any(line.duty.orders for line in lines):
        return
    lds_matters = lds_matters_at(code)
    waits = {
        line.op: OrderingWait(line.duty.releases, lds_matters[line.op])
        for line in lines
        if line.duty.orders
    }
    blocks = {block: [line.op for line in of_block] for block, of_block in code.items()}
    _loosen(kernel, blocks, waits)


def _duty_of(op: Operation) -> Duty:
    """The duty of an operation with waits and signals, independent of its counter."""
    if type(op) is WaitOp:
        phase = op.phase
        return Duty(counts=op.counts, orders=phase in ORDER, releases=phase == RELEASES)
    return Duty(signals=signals_lds(op))


def _split_duty_of(op: Operation) -> SplitDuty:
    """The duties of an operation; a release covers cache maintenance, whose end others may count
    on."""
    events = split_events_at(op) if type(op) in COUNTED else ()
    ordered = takes_part(op)
    return SplitDuty(events, ordered and must_be_acquired(op), ordered)


def _loosen(
    kernel: KernelOp,
    blocks: Mapping[Block, list[Operation]],
    waits: Mapping[Operation, OrderingWait],
) -> None:
    duties = {
        op: _split_duty_of(op) for ops in blocks.values() for op in ops if type(op) is not WaitOp
    }
    limits = {str(counter): most - 1 for counter, most in chip_of(kernel).counters.items()}

    def after(op: Operation, ages: SplitAges) -> SplitAges:
        if type(op) is WaitOp:
            given = _loosened(op, ages, waits.get(op)).given
            return {n: age.wait(given[n]) if n in given else age for n, age in ages.items()}
        duty = duties[op]
        changed = {
            name: ages[name].issue(event, duty, limits[name])
            for event in duty.events
            if (name := str(event.counter)) in ages
        }
        return {**ages, **changed}

    def carry(block: Block, ages: SplitAges) -> SplitAges:
        for op in blocks[block]:
            ages = after(op, ages)
        return ages

    order = list(blocks)
    entry = solve(block_graph(order), {order[0]: _NOTHING}, carry, _join)
    for block, ops in blocks.items():
        ages = entry[block]
        for op in ops:
            later = after(op, ages)
            if isinstance(op, WaitOp) and op in waits:
                _carry_out(op, _loosened(op, ages, waits[op]))
            ages = later


def _loosened(op: WaitOp, ages: SplitAges, wait: OrderingWait | None) -> WaitCounts:
    """The remaining counts of a wait; of one that orders nothing, all."""
    if wait is None:
        return op.counts
    left: dict[str, int] = {}
    for name, count in op.counts.given.items():
        if name not in ages:
            left[name] = count
            continue
        age = ages[name]
        covered = age.released if wait.releases else age.acquired
        if covered is None or _is_only_in_lds(name, age, wait):
            continue
        left[name] = count if age.unordered else max(count, covered)
    return WaitCounts(**left)


def _is_only_in_lds(name: str, age: CounterAge, wait: OrderingWait) -> bool:
    """True where a release need not wait for LDS: LDS alone can tell, which a wave accesses in
    order."""
    return name == Counter.DSCNT and wait.releases and not (age.unordered or wait.lds_matters)


def _carry_out(op: WaitOp, counts: WaitCounts) -> None:
    if not counts:
        Rewriter.erase_op(op)
        return
    given = counts.given
    for name in op.counts.given:
        if name in given:
            op.properties[name] = count_attr(given[name])
        else:
            del op.properties[name]
