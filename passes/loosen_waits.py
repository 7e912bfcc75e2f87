"""The pass ``loosen-waits``: an ordering wait covers what it must and nothing younger."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.instructions import Counter
from fencewright.lowering.cdna.scoreboard import LIMITS, EventKind
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    BarrierOp,
    KernelOp,
    MemoryOp,
    StoreOp,
    WaitOp,
    count_attr,
)
from fencewright.passes.cdna_caches import (
    ACCESS_KIND,
    INVARIANT,
    counted_on,
    is_atomic,
    step_of,
)
from fencewright.passes.cdna_dataflow import COUNTED, events_at
from fencewright.passes.kernel_frontend import reachable_blocks, successors, top_level

_ACQUIRES = PHASES[Phase.WAIT]
_RELEASES = PHASES[Phase.RELEASE]
_LAST = LIMITS[Counter.VMCNT] - 1
"""The greatest count that waits; one more means "do not wait"."""


@dataclass(frozen=True)
class LoosenWaitsPass(ModulePass):
    """Raise the counts of ordering waits to what they have to cover, or take counts away.

    Runs on ``cdna.kernel`` before ``insert-waits``. The wait of an acquire or of a seq_cst load
    covers earlier atomic accesses, not the plain ones issued after them; the wait of a release
    covers everything but private, constant and invariant memory. A release need not wait for LDS
    if only LDS operations can tell: a wave's are in order. Waits for data (no phase) are not
    touched.
    A forward analysis of ages and a backward one of who can tell; see ``Ages``.
    Source: MI300 ISA 4.4; LLVM AMDGPUUsage, Memory Model GFX942 (load atomic seq_cst, fence
    acquire); certified by tests/unit/test_minimise_cdna.py.
    """

    name = "loosen-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                loosen_waits(kernel)


class Age(NamedTuple):
    """The youngest operation that a wait has to cover.

    ``vmcnt``: how many certainly counted operations are younger, at least; None: nothing is
    outstanding. ``lgkmcnt``: whether there is one. ``unordered``: whether one may be a flat
    access, which retires out of order; ``invalidate``: whether an invalidate may be on its way
    that others count on: only a wait for everything sees its end.
    """

    vmcnt: int | None = None
    lgkmcnt: bool = False
    unordered: bool = False
    invalidate: bool = False

    def join(self, other: "Age") -> "Age":
        """What holds on either path: the fewer younger ones."""
        ages = [each for each in (self.vmcnt, other.vmcnt) if each is not None]
        return Age(
            min(ages, default=None),
            self.lgkmcnt or other.lgkmcnt,
            self.unordered or other.unordered,
            self.invalidate or other.invalidate,
        )

    def issue(self, kind: EventKind, *, certain: bool, covered: bool) -> "Age":
        """One more operation; ``covered``: a wait has to cover it."""
        age = self
        if kind in (EventKind.VECTOR, EventKind.FLAT) and certain and age.vmcnt is not None:
            age = age._replace(vmcnt=min(age.vmcnt + (kind is EventKind.VECTOR), _LAST))
        if not covered:
            return age
        vector = kind in (EventKind.VECTOR, EventKind.FLAT)
        lds = kind in (EventKind.LDS, EventKind.FLAT)
        return Age(
            0 if vector else age.vmcnt,
            age.lgkmcnt or lds,
            age.unordered or kind is EventKind.FLAT,
            age.invalidate or kind is EventKind.INVALIDATE,
        )

    @property
    def greatest(self) -> int | None:
        """The greatest count that covers it; None: there is nothing to wait for."""
        return 0 if self.invalidate else self.vmcnt

    def wait(self, counts: WaitCounts) -> "Age":
        """Behind a wait."""
        age = self
        if counts.vmcnt == 0 and counts.lgkmcnt == 0:
            return Age()
        if counts.vmcnt is not None and age.vmcnt is not None:
            in_order = not age.unordered and age.vmcnt >= counts.vmcnt
            if counts.vmcnt == 0 or in_order:
                age = age._replace(vmcnt=None)
        if counts.vmcnt == 0:
            age = age._replace(invalidate=False)
        if counts.lgkmcnt == 0:
            age = age._replace(lgkmcnt=False)
        return age


class Ages(NamedTuple):
    """The lattice of the forward analysis: what each kind of wait has to cover."""

    atomics: Age = Age()
    everything: Age = Age()

    def join(self, other: "Ages") -> "Ages":
        """What holds on either path."""
        return Ages(self.atomics.join(other.atomics), self.everything.join(other.everything))


def after(op: Operation, ages: Ages) -> Ages:
    """Carry the ages over ``op``."""
    kind = type(op)
    if kind is WaitOp:
        counts = cast(WaitOp, op).counts
        return Ages(ages.atomics.wait(counts), ages.everything.wait(counts))
    if kind not in COUNTED:
        return ages
    atomics, everything = ages
    ordered = takes_part(op)
    synchronises = ordered and must_be_acquired(op)
    events = events_at(op)
    for event in events[:1]:
        atomics = atomics.issue(event.kind, certain=event.certain, covered=synchronises)
        owed = ordered and (event.owed or _is_counted_on(op))
        everything = everything.issue(event.kind, certain=event.certain, covered=owed)
    return Ages(atomics, everything)


def must_be_acquired(op: Operation) -> bool:
    """Whether the wait of an acquire or a seq_cst load has to cover an operation.

    Atomic accesses; and those that may be volatile, whose own waits look the same: on chips
    whose stores have no policy bits, all stores.
    """
    if type(op) not in ACCESS_KIND:
        return False
    access = cast(MemoryOp, op)
    if is_atomic(access):
        return True
    return type(op) is StoreOp and _chip_of(op) in ("gfx908", "gfx90a")


def _chip_of(op: Operation) -> str:
    return _kernel_of(op).chip.data


def _kernel_of(op: Operation) -> KernelOp:
    kernel = op.parent_op()
    assert isinstance(kernel, KernelOp)
    return kernel


def _is_counted_on(op: Operation) -> bool:
    """Whether waves that this one hands on to may count on an invalidate being over."""
    kernel = _kernel_of(op)
    step = step_of(op, kernel.chip.data)
    assert step is not None
    return bool(step.effect.invalidates & counted_on(tgsplit=kernel.tgsplit is not None))


_UNSHARED = frozenset({AddressSpace.PRIVATE, AddressSpace.CONSTANT})


def takes_part(op: Operation) -> bool:
    """Whether others can tell when ``op`` is performed."""
    if type(op) not in ACCESS_KIND:
        return True
    access = cast(MemoryOp, op)
    space = access.row.space
    if INVARIANT in access.attributes and space is not AddressSpace.GENERIC:
        return False
    return space not in _UNSHARED or is_atomic(access)


_RELEVANT = COUNTED | {WaitOp, BarrierOp}

Code: TypeAlias = dict[Block, list[Operation]]
"""The relevant operations of the blocks that control can reach, in reverse postorder."""


def loosen_waits(kernel: KernelOp) -> None:
    """Loosen the waits of one kernel."""
    code = {
        block: [op for op in block.ops if type(op) in _RELEVANT]
        for block in reachable_blocks(kernel.body)
    }
    told = _outside_tells(code)
    lds_matters: dict[Operation, bool] = {}
    for block, ops in code.items():
        lds_matters.update(_backwards(block, ops, told))
    entry = _solve(code, lds_matters)
    for block, ops in code.items():
        ages = entry[block]
        for op in ops:
            counts = _loosened(op, ages, lds_matters)
            ages = loosely_after(op, ages, lds_matters)
            if counts is not None:
                assert isinstance(op, WaitOp)
                _carry_out(op, counts)


def loosely_after(op: Operation, ages: Ages, lds_matters: dict[Operation, bool]) -> Ages:
    """Carry the ages over ``op`` as it will be: what follows is as the looser wait leaves it."""
    counts = _loosened(op, ages, lds_matters)
    return after(op, ages) if counts is None else _after_wait(counts, ages)


def _after_wait(counts: WaitCounts, ages: Ages) -> Ages:
    return Ages(ages.atomics.wait(counts), ages.everything.wait(counts))


def _loosened(op: Operation, ages: Ages, lds_matters: dict[Operation, bool]) -> WaitCounts | None:
    """The counts that an ordering wait needs; None for anything else."""
    if not isinstance(op, WaitOp):
        return None
    if op.phase not in (_ACQUIRES, _RELEASES):
        return None
    releases = op.phase == _RELEASES
    age = ages.everything if releases else ages.atomics
    counts = op.counts
    vmcnt = counts.vmcnt
    if vmcnt is not None:
        in_order = not ages.everything.unordered
        greatest = age.greatest
        vmcnt = None if greatest is None else max(vmcnt, greatest if in_order else 0)
    lgkmcnt = counts.lgkmcnt
    if lgkmcnt is not None and not age.lgkmcnt:
        lgkmcnt = None
    only_lds = not ages.everything.unordered
    if lgkmcnt is not None and releases and only_lds and not lds_matters[op]:
        lgkmcnt = None
    return WaitCounts(vmcnt, lgkmcnt)


def _carry_out(wait: WaitOp, counts: WaitCounts) -> None:
    if not counts:
        wait.detach()
        wait.erase()
        return
    for name, count in (("vmcnt", counts.vmcnt), ("lgkmcnt", counts.lgkmcnt)):
        if count is None:
            wait.properties.pop(name, None)
        else:
            wait.properties[name] = count_attr(count)


def _solve(code: Code, lds_matters: dict[Operation, bool]) -> dict[Block, Ages]:
    """The ages where every block begins, a fixpoint: they only shrink or appear."""
    entry = {next(iter(code)): Ages()}
    changed = True
    while changed:
        changed = False
        for block, ops in code.items():
            ages = entry.get(block)
            targets = successors(block)
            if ages is None or not targets:
                continue
            for op in ops:
                ages = loosely_after(op, ages, lds_matters)
            for target in targets:
                known = entry.get(target)
                joined = ages if known is None else known.join(ages)
                if joined != known:
                    entry[target] = joined
                    changed = True
    return entry


def tells_of_lds(op: Operation) -> bool:
    """Whether ``op`` may tell others, not through LDS, that earlier LDS operations are done."""
    if type(op) is BarrierOp:
        return True
    if type(op) not in ACCESS_KIND:
        return False
    access = cast(MemoryOp, op)
    return access.row.space is not AddressSpace.LOCAL and is_atomic(access)


def _before(op: Operation, told: bool) -> bool:
    if isinstance(op, WaitOp) and op.phase == _RELEASES:
        return told and op.counts.lgkmcnt != 0
    return told or tells_of_lds(op)


def _outside_tells(code: Code) -> dict[Block, bool]:
    """Where each block begins: whether something tells before the next release that waits."""
    begin = dict.fromkeys(code, False)
    changed = len(code) > 1
    while changed:
        changed = False
        for block, ops in reversed(code.items()):
            told = any(begin[target] for target in successors(block))
            for op in reversed(ops):
                told = _before(op, told)
            if told != begin[block]:
                begin[block] = told
                changed = True
    return begin


def _backwards(
    block: Block, ops: Sequence[Operation], begin: dict[Block, bool]
) -> dict[Operation, bool]:
    """For each wait of a block: whether something tells behind it."""
    told = any(begin[target] for target in successors(block))
    result: dict[Operation, bool] = {}
    for op in reversed(ops):
        if type(op) is WaitOp:
            result[op] = told
        told = _before(op, told)
    return result
