"""The pass ``loosen-waits``: an ordering wait covers the operations that it must and no younger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.chips import CHIPS, ChipRow, Counter
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, CounterEventKind
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
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks, top_level
from fencewright.passes.cdna.caches.kernel_caches import ACCESS_KIND, is_atomic, meaning_on
from fencewright.passes.cdna.dataflow import COUNTED, Events, events_on
from fencewright.passes.cdna.waits.decision import set_counts

_ACQUIRES = PHASES[Phase.WAIT]
RELEASES = PHASES[Phase.RELEASE]
ORDER = (_ACQUIRES, RELEASES)
"""The phases of waits that order memory, and that of a release among them."""


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
                    loosen_waits(code, chip_of(kernel))


class Age(NamedTuple):
    """The number of operations surely younger than the youngest on a counter that a wait covers.

    ``acquired``: of those that the wait of an acquire covers; ``released``: of a release; None:
    none is outstanding. ``unordered``: whether a flat access may be, with which nothing retires in
    order. ``uncertain``: whether an invalidate may be in flight that a release covers and that
    perhaps is not counted: only a wait for everything sees its end.
    """

    acquired: int | None = None
    released: int | None = None
    unordered: bool = False
    uncertain: bool = False

    def join(self, other: "Age") -> "Age":
        """The join of two paths: the fewer younger ones."""
        return Age(
            _fewer(self.acquired, other.acquired),
            _fewer(self.released, other.released),
            self.unordered or other.unordered,
            self.uncertain or other.uncertain,
        )

    def issue(self, event: CounterEvent, duty: "Duty", limit: int) -> "Age":
        """One more operation; ages stop growing at ``limit``."""
        if not event.certain:
            return self._replace(uncertain=self.uncertain or duty.released)
        return Age(
            0 if duty.acquired else _older(self.acquired, limit),
            0 if duty.released else _older(self.released, limit),
            self.unordered or event.kind is CounterEventKind.FLAT,
            self.uncertain,
        )

    def wait(self, count: int) -> "Age":
        """After a wait."""
        if count == 0:
            return _NONE
        if self.unordered:
            return self
        return self._replace(
            acquired=_left(self.acquired, count), released=_left(self.released, count)
        )

    def greatest(self, *, releases: bool) -> int | None:
        """The greatest count that covers what it must; None: there is nothing to wait for."""
        if not releases:
            return self.acquired
        return 0 if self.uncertain else self.released


_NONE = Age()


def _fewer(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _older(age: int | None, limit: int) -> int | None:
    return None if age is None else min(age + 1, limit)


def _left(age: int | None, count: int) -> int | None:
    return None if age is None or age >= count else age


Ages: TypeAlias = Mapping[str, Age]
"""The lattice of the forward analysis: the age of each counter that accesses of the wave's own are
in."""

_LOOSENED = (Counter.VMCNT, Counter.LGKMCNT, Counter.LOADCNT, Counter.STORECNT, Counter.DSCNT)
_OF_LDS = (Counter.LGKMCNT, Counter.DSCNT)


def _limits(chip: ChipRow) -> Mapping[str, int]:
    """The greatest age on each counter: the greatest count that waits; one more means "do not
    wait".

    Scalar loads are in lgkmcnt too, in no order with LDS: beside them only 0 covers anything.
    """
    return {
        counter: 0 if counter is Counter.LGKMCNT else chip.counters[counter] - 1
        for counter in _LOOSENED
        if counter in chip.counters
    }


def _join(one: Ages, other: Ages) -> Ages:
    return {name: age.join(other[name]) for name, age in one.items()}


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


class WaitLine(NamedTuple):
    """An operation that ordering waits, or the operations that these cover, depend on."""

    op: Operation
    duty: Duty


def _duties(chip: str, tgsplit: bool) -> OfAlike[Duty]:
    events_at = events_on(CHIPS[chip])
    return OfAlike(partial(_duty_of, chip, counted_on(tgsplit=tgsplit), events_at))


def _duty_of(chip: str, counted: int, events_at: Events, op: Operation) -> Duty:
    if isinstance(op, WaitOp):
        phase = op.phase
        return Duty(counts=op.counts, orders=phase in ORDER, releases=phase == RELEASES)
    events = events_at(op) if type(op) in COUNTED else ()
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


class Loosening(NamedTuple):
    """The facts about a kernel and its chip by which its waits are loosened.

    ``limits``: the greatest age on each counter; ``lds_matters``: for each wait, whether others can
    tell of LDS by a later operation that is not in LDS.
    """

    limits: Mapping[str, int]
    lds_matters: Mapping[Operation, bool]

    def after(self, line: WaitLine, ages: Ages) -> tuple[Ages, WaitCounts | None]:
        """The ages after an operation as it will be, and the counts of a wait that remain."""
        duty = line.duty
        if duty.counts is not None:
            counts = self.loosened(line, ages) if duty.orders else duty.counts
            waited = {n: ages[n].wait(count) for n, count in counts.given.items() if n in ages}
            return {**ages, **waited}, counts
        changed = {
            event.counter: ages[event.counter].issue(event, duty, self.limits[event.counter])
            for event in duty.events
            if event.counter in ages
        }
        return {**ages, **changed} if changed else ages, None

    def loosened(self, line: WaitLine, ages: Ages) -> WaitCounts:
        """The counts that an ordering wait needs."""
        counts, releases = line.duty.counts, line.duty.releases
        assert counts is not None
        left: dict[str, int] = {}
        for name, count in counts.given.items():
            if name not in ages:
                left[name] = count
                continue
            age = ages[name]
            covered = age.greatest(releases=releases)
            if covered is None or (releases and self.is_only_in_lds(name, age, line.op)):
                continue
            left[name] = count if age.unordered else max(count, covered)
        return counts if left == counts.given else WaitCounts(**left)

    def is_only_in_lds(self, name: str, age: Age, wait: Operation) -> bool:
        """True where LDS alone can tell, which a wave accesses in order: no release waits for
        it."""
        return name in _OF_LDS and not (age.unordered or self.lds_matters[wait])


def loosen_waits(code: WaitLines, chip: ChipRow) -> None:
    """Loosen the waits of one kernel."""
    limits = _limits(chip)
    loosening = Loosening(limits, lds_matters_at(code))

    def carry(block: Block, ages: Ages) -> Ages:
        for line in code[block]:
            ages, _ = loosening.after(line, ages)
        return ages

    blocks = list(code)
    start: Ages = dict.fromkeys(limits, _NONE)
    entry = solve(block_graph(blocks), {blocks[0]: start}, carry, _join)
    for block in blocks:
        ages = entry[block]
        for line in code[block]:
            ages, counts = loosening.after(line, ages)
            if counts is not None and counts != line.duty.counts:
                set_counts(cast(WaitOp, line.op), counts)


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
