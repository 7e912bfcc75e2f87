"""The pass ``loosen-waits``: an ordering wait covers the operations that it must and no younger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.chips import CHIPS, ChipRow, Counter
from fencewright.lowering.cdna.counters.scoreboard import LIMITS, CounterEvent, CounterEventKind
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects.cdna import (
    INVARIANT,
    PHASES,
    BarrierOp,
    KernelOp,
    MemoryOp,
    StoreOp,
    WaitOp,
    chip_of,
)
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.passes.analysis.caches import SHARED, counted_on
from fencewright.passes.analysis.control_flow import (
    block_graph,
    reachable_blocks,
    top_level,
)
from fencewright.passes.cdna.caches.kernel_caches import ACCESS_KIND, is_atomic, meaning_on
from fencewright.passes.cdna.dataflow import COUNTED, events_at
from fencewright.passes.cdna.waits.decision import set_counts

_ACQUIRES = PHASES[Phase.WAIT]
RELEASES = PHASES[Phase.RELEASE]
ORDER = (_ACQUIRES, RELEASES)
"""The phases of waits that order memory, and that of a release among them."""

_VECTOR = CounterEventKind.VECTOR
_LAST = LIMITS[Counter.VMCNT] - 1
"""The greatest count that waits; one more means "do not wait"."""


@dataclass(frozen=True)
class LoosenWaitsPass(ModulePass):
    """Raise the counts of ordering waits as far as they still cover enough, or take counts away.

    Runs on ``cdna.kernel`` before ``insert-waits``. The wait of an acquire or of a seq_cst load
    covers earlier atomic accesses, not the plain ones issued after them; the wait of a release
    covers everything but private, constant and invariant memory. A release need not wait for LDS
    if only LDS operations can observe it: a wave's are in order. Waits for data (no phase) are not
    touched.
    A forward analysis of ages and a backward one of who can observe; see ``Ages``.
    Source: MI300 ISA 4.4; LLVM AMDGPUUsage, Memory Model GFX942 (load atomic seq_cst, fence
    acquire); certified by tests/unit/test_minimise_cdna.py.
    """

    name = "loosen-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        duties = cache(_duties)
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                duty_of = duties(kernel.chip.data, tgsplit=kernel.tgsplit is not None)
                code = {
                    block: [
                        WaitLine(op, duty_of(op))
                        for op in operations(block)
                        if type(op) in RELEVANT
                    ]
                    for block in reachable_blocks(kernel.body)
                }
                if any(line.duty.orders for lines in code.values() for line in lines):
                    _LOOSEN[chip_of(kernel).splits_counters](code, chip_of(kernel))


class Age(NamedTuple):
    """The youngest operation that a wait has to cover.

    ``vmcnt``: how many certainly counted operations are younger, at least; None: nothing is
    outstanding. ``lgkmcnt``: whether there is one. ``unordered``: whether a flat access may be
    outstanding, covered or not: with one, nothing retires in order. ``invalidate``: whether an
    invalidate may be in flight that others count on: only a wait for everything sees its end.
    """

    vmcnt: int | None = None
    lgkmcnt: bool = False
    unordered: bool = False
    invalidate: bool = False

    def join(self, other: "Age") -> "Age":
        """The join of two paths: the fewer younger ones."""
        ages = [each for each in (self.vmcnt, other.vmcnt) if each is not None]
        return Age(
            min(ages, default=None),
            self.lgkmcnt or other.lgkmcnt,
            self.unordered or other.unordered,
            self.invalidate or other.invalidate,
        )

    def issue(self, event: CounterEvent, *, covered: bool) -> "Age":
        """One more operation; ``covered``: a wait has to cover it."""
        kind = event.kind
        vmcnt, lgkmcnt, unordered, invalidate = self
        if not covered:
            if kind is CounterEventKind.FLAT:
                return Age(vmcnt, lgkmcnt, True, invalidate)
            if kind is not _VECTOR or vmcnt is None or vmcnt == _LAST or not event.certain:
                return self
            return Age(vmcnt + 1, lgkmcnt, unordered, invalidate)
        if kind is _VECTOR:
            return Age(0, lgkmcnt, unordered, invalidate)
        if kind is CounterEventKind.FLAT:
            return Age(0, True, True, invalidate)
        if kind is CounterEventKind.LDS:
            return Age(vmcnt, True, unordered, invalidate)
        return Age(vmcnt, lgkmcnt, unordered, invalidate or kind is CounterEventKind.INVALIDATE)

    @property
    def greatest(self) -> int | None:
        """The greatest count that covers it; None: there is nothing to wait for."""
        return 0 if self.invalidate else self.vmcnt

    def wait(self, counts: WaitCounts) -> "Age":
        """After a wait."""
        vmcnt, lgkmcnt, unordered, invalidate = self
        if counts.vmcnt == 0 and counts.lgkmcnt == 0:
            return Age()
        if counts.vmcnt == 0:
            vmcnt, invalidate = None, False
        elif counts.vmcnt is not None and vmcnt is not None and not unordered:
            vmcnt = None if vmcnt >= counts.vmcnt else vmcnt
        return Age(vmcnt, lgkmcnt and counts.lgkmcnt != 0, unordered, invalidate)


class Ages(NamedTuple):
    """The lattice of the forward analysis: the operations that each kind of wait has to cover."""

    atomics: Age = Age()
    everything: Age = Age()

    def join(self, other: "Ages") -> "Ages":
        """The join of two paths."""
        return Ages(self.atomics.join(other.atomics), self.everything.join(other.everything))


class Duty(NamedTuple):
    """The part that an operation has in ordering waits.

    ``events``: what it adds to counters. ``acquired``, ``released``: whether
    the wait of an acquire, or of a release, has to cover it. ``signals``: whether others may know
    by it that earlier operations on LDS are done. ``counts``: what a wait waits for; ``orders``:
    whether it is that of an acquire or a release; ``releases``: which.
    """

    events: tuple[CounterEvent, ...] = ()
    acquired: bool = False
    released: bool = False
    signals: bool = False
    counts: WaitCounts | None = None
    orders: bool = False
    releases: bool = False


Events: TypeAlias = Callable[[Operation], tuple[CounterEvent, ...]]


class WaitLine(NamedTuple):
    """An operation that ordering waits, or the operations that these cover, depend on."""

    op: Operation
    duty: Duty


def after(duty: Duty, ages: Ages) -> Ages:
    """Carry the ages over an operation."""
    if duty.counts is not None:
        return _after_wait(duty.counts, ages)
    if not duty.events:
        return ages
    event, atomics, everything = duty.events[0], ages.atomics, ages.everything
    return Ages(
        atomics.issue(event, covered=duty.acquired), everything.issue(event, covered=duty.released)
    )


def _duties(chip: str, tgsplit: bool) -> OfAlike[Duty]:
    events_of = _EVENTS_AT[CHIPS[chip].splits_counters]
    return OfAlike(partial(_duty_of, chip, counted_on(tgsplit=tgsplit), events_of))


def _duty_of(chip: str, counted: int, events_of: Events, op: Operation) -> Duty:
    if isinstance(op, WaitOp):
        phase = op.phase
        return Duty(counts=op.counts, orders=phase in ORDER, releases=phase == RELEASES)
    events = events_of(op) if type(op) in COUNTED else ()
    signals = signals_lds(op)
    if not events:
        return Duty(signals=signals)
    ordered = takes_part(op)
    released = ordered and (events[0].awaited or _is_counted_on(op, chip, counted))
    return Duty(events, ordered and must_be_acquired(op), released, signals)


def must_be_acquired(op: Operation) -> bool:
    """True if the wait of an acquire or a seq_cst load has to cover an operation.

    Atomic accesses; and those that may be volatile, whose own waits look the same: on chips
    whose stores have no policy bits, all stores.
    """
    if type(op) not in ACCESS_KIND:
        return False
    access = cast(MemoryOp, op)
    if is_atomic(access):
        return True
    return type(op) is StoreOp and not CHIPS[_chip_of(op)].scope_bits


def _chip_of(op: Operation) -> str:
    kernel = op.parent_op()
    assert isinstance(kernel, KernelOp)
    return kernel.chip.data


def _is_counted_on(op: Operation, chip: str, counted: int) -> bool:
    """True if waves that acquire from this one may rely on the completion of an invalidate."""
    meaning = meaning_on(chip, op)
    assert meaning is not None
    return bool(meaning.invalidates & counted)


def takes_part(op: Operation) -> bool:
    """True if others can observe the time at which ``op`` is performed."""
    if type(op) not in ACCESS_KIND:
        return True
    access = cast(MemoryOp, op)
    space = access.row.space
    if INVARIANT in access.attributes and space is not AddressSpace.GENERIC:
        return False
    return space is None or space in SHARED or is_atomic(access)


RELEVANT = COUNTED | {WaitOp, BarrierOp}
"""The operations that ordering waits, or the operations that these cover, depend on."""

WaitLines: TypeAlias = dict[Block, list[WaitLine]]
"""The relevant operations of the blocks that control can reach, in reverse postorder."""


def lds_matters_at(code: WaitLines) -> dict[Operation, bool]:
    """For each wait: whether something that is not in LDS signals after it."""
    signalled = _outside_signals(code)
    found: dict[Operation, bool] = {}
    for block, lines in code.items():
        found.update(_backwards(lines, signalled[block]))
    return found


def loosen_waits(code: WaitLines, chip: ChipRow) -> None:
    """Loosen the waits of one kernel for a ``chip`` that counts accesses together."""
    lds_matters = lds_matters_at(code)

    def carry(block: Block, ages: Ages) -> Ages:
        for line in code[block]:
            ages, _ = loosely_after(line, ages, lds_matters)
        return ages

    blocks = list(code)
    entry = solve(block_graph(blocks), {blocks[0]: Ages()}, carry, Ages.join)
    for block in blocks:
        ages = entry[block]
        for line in code[block]:
            ages, counts = loosely_after(line, ages, lds_matters)
            if counts is not None and counts != line.duty.counts:
                set_counts(cast(WaitOp, line.op), counts)


def _loosen_split(code: WaitLines, chip: ChipRow) -> None:
    """The same for a chip that has a counter for each kind of access."""
    from fencewright.passes.cdna.waits.loosen_split_waits import loosen_split_waits

    # That file has these types by this file's other name, fencewright.passes: two for a checker.
    cast("Callable[[Any, ChipRow], None]", loosen_split_waits)(code, chip)


def _split_events_at(op: Operation) -> tuple[CounterEvent, ...]:
    from fencewright.passes.cdna.waits.insert_split_waits import split_events_at

    return split_events_at(op)


_LOOSEN = MappingProxyType({False: loosen_waits, True: _loosen_split})
_EVENTS_AT: Mapping[bool, Events] = MappingProxyType({False: events_at, True: _split_events_at})
"""By whether each kind of access has a counter of its own."""


def loosely_after(
    line: WaitLine, ages: Ages, lds_matters: dict[Operation, bool]
) -> tuple[Ages, WaitCounts | None]:
    """The ages after an operation as it will be, and the counts that an ordering wait needs."""
    if not line.duty.orders:
        return after(line.duty, ages), None
    counts = _loosened(line, ages, lds_matters)
    return _after_wait(counts, ages), counts


def _after_wait(counts: WaitCounts, ages: Ages) -> Ages:
    return Ages(ages.atomics.wait(counts), ages.everything.wait(counts))


def _loosened(line: WaitLine, ages: Ages, lds_matters: dict[Operation, bool]) -> WaitCounts:
    """The counts that an ordering wait needs."""
    counts, releases = line.duty.counts, line.duty.releases
    assert counts is not None
    age = ages.everything if releases else ages.atomics
    vmcnt = counts.vmcnt
    if vmcnt is not None:
        in_order = not ages.everything.unordered
        greatest = age.greatest
        vmcnt = None if greatest is None else max(vmcnt, greatest if in_order else 0)
    lgkmcnt = counts.lgkmcnt
    if lgkmcnt is not None and not age.lgkmcnt:
        lgkmcnt = None
    only_lds = not ages.everything.unordered
    if lgkmcnt is not None and releases and only_lds and not lds_matters[line.op]:
        lgkmcnt = None
    return _pair(vmcnt, lgkmcnt)


_pair = cache(WaitCounts)


def signals_lds(op: Operation) -> bool:
    """True where ``op`` may signal to others, not through LDS, that earlier LDS operations are
    done."""
    if type(op) is BarrierOp:
        return True
    if type(op) not in ACCESS_KIND:
        return False
    access = cast(MemoryOp, op)
    return access.row.space is not AddressSpace.LOCAL and is_atomic(access)


def _before(duty: Duty, signalled: bool) -> bool:
    if duty.counts is not None:
        return signalled and (not duty.releases or not _is_for_lds(duty.counts))
    return signalled or duty.signals


def _is_for_lds(counts: WaitCounts) -> bool:
    return 0 in (counts.lgkmcnt, counts.dscnt)


def _outside_signals(code: WaitLines) -> dict[Block, bool]:
    """For the end of each block: true if something signals before the next release that waits."""

    def carry(block: Block, signalled: bool) -> bool:
        for line in reversed(code[block]):
            signalled = _before(line.duty, signalled)
        return signalled

    return solve(block_graph(code).backward, dict.fromkeys(code, False), carry, bool.__or__)


def _backwards(lines: Sequence[WaitLine], signalled: bool) -> dict[Operation, bool]:
    """For each wait of a block: whether something signals after it, ``signalled`` at the end."""
    result: dict[Operation, bool] = {}
    for line in reversed(lines):
        if line.duty.counts is not None:
            result[line.op] = signalled
        signalled = _before(line.duty, signalled)
    return result
