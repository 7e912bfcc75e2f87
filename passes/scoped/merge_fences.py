"""The pass ``merge-fences``: fences whose work another one does, before or after them."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.vocabulary import Availability, Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import AVAILABILITIES, ORDERINGS
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.passes.analysis.acquire_fences import SILENT
from fencewright.passes.analysis.control_flow import (
    block_graph,
    is_mlir_function,
    reachable_blocks,
)

if TYPE_CHECKING:
    from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp

_RANK = {scope: rank for rank, scope in enumerate(Scope, 1)}
_NOTHING = 0
"""Below every scope."""
EVERYTHING = len(_RANK) + 1
"""Above every scope."""


@dataclass(frozen=True)
class MergeFencesPass(ModulePass):
    """Remove fences that add nothing to other synchronisation, and halves of acq_rel fences.

    Runs on ``scoped``, for any target. A *release* fence goes if one of at least its scope was
    passed on every path here and no memory operation since; or if whatever could publish after
    it, up to the thread's end, releases at its scope itself or has another one before it. An
    *acquire* fence goes if on every path here all atomic reads have been acquired at its scope
    already, by fences or by themselves; or if one follows on every path before any memory
    operation. A *seq_cst* fence goes next to another of at least its scope with no memory operation
    between. Fences that order some address spaces only, or do not make available, stay and prove
    nothing; calls and operations that the pass does not know are taken for anything. Source: C++20
    [atomics.fences], [atomics.order]; LLVM LangRef.
    """

    name = "merge-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = _Rules()
        for region in list(_regions(op)):
            if _has_fence(region):
                _merge_fences(region, rules)


def _regions(op: Operation) -> Iterator[Region]:
    for region in op.regions:
        yield region
        for block in region.blocks:
            for each in operations(block):
                if each.regions:
                    yield from _regions(each)


_KINDS = scoped.ACCESSES | {scoped.FenceOp, scoped.BarrierOp}
_Line: TypeAlias = tuple[Operation, Operation]
"""An operation that is not silent, and a like one that nothing changes."""
_Heard: TypeAlias = dict[Block, list[_Line]]


def _picture(op: Operation) -> Operation:
    """An operation like ``op`` in all that the rules look at."""
    return type(op).create(properties=op.properties, attributes=op.attributes)


class _Rules:
    """The rules of this pass, each applied once to all operations that are alike."""

    def __init__(self) -> None:
        self.after, self.ahead = cache(after), cache(ahead)
        self.redundant_after = cache(redundant_after)
        self.redundant_before = cache(redundant_before)
        self._picture = OfAlike(_picture)

    def line(self, op: Operation) -> _Line:
        """``op``, and the operation to apply the rules to."""
        return op, self._picture(op) if type(op) in _KINDS else op

    def heard(self, blocks: Iterable[Block]) -> _Heard:
        """The operations that are not silent, listed once: the fixpoints look at each several
        times."""
        return {
            block: [self.line(op) for op in operations(block) if not is_silent(op)]
            for block in blocks
        }


def _merge_fences(body: Region, rules: _Rules) -> None:
    """Merge the fences of one function, or of any region with control flow of its own.

    Whole fences first: one acq_rel fence is less than an acquire and a release fence.
    """
    graph = block_graph(reachable_blocks(body))
    lines = rules.heard(graph.nodes)
    for whole in (True, False):
        if whole or _has_two_sided_fence(lines):
            _merge_into_earlier(graph, lines, rules, whole)
            _merge_into_later(graph, lines, rules, whole)


def _merge_into_earlier(graph: Graph[Block], lines: _Heard, rules: _Rules, whole: bool) -> None:
    passed = _solve_forward(graph, lines, rules)
    for block in graph.nodes:
        state = passed[block]
        left: list[_Line] = []
        for line in lines[block]:
            op, like = line
            if type(op) is scoped.FenceOp and is_plain(op):
                if any(done := rules.redundant_after(like, state)):
                    if _weaken(op, done, whole):
                        continue
                    _, like = line = rules.line(op)
            state = rules.after(like, state)
            left.append(line)
        lines[block] = left


def _merge_into_later(graph: Graph[Block], lines: _Heard, rules: _Rules, whole: bool) -> None:
    coming = _solve_backward(graph, lines, rules)
    for block in graph.nodes:
        future = coming[block]
        left: list[_Line] = []
        for line in reversed(lines[block]):
            op, like = line
            if type(op) is scoped.FenceOp and is_plain(op):
                if any(done := rules.redundant_before(like, future)):
                    if _weaken(op, done, whole):
                        continue
                    _, like = line = rules.line(op)
            future = rules.ahead(like, future)
            left.append(line)
        lines[block] = left[::-1]


def _has_fence(region: Region) -> bool:
    return any(type(op) is scoped.FenceOp for block in region.blocks for op in operations(block))


def _has_two_sided_fence(lines: _Heard) -> bool:
    """True if there is a fence that can lose one of its halves."""
    fences = (op for each in lines.values() for op, _ in each if type(op) is scoped.FenceOp)
    return any(op.ordering.data is Ordering.ACQ_REL for op in fences)


def is_plain(op: scoped.ScopedOperation) -> bool:
    """True if an operation orders everything: only such fences are compared."""
    properties = op.properties
    if "spaces" in properties or "one_as" in properties:
        return False
    return "availability" not in properties or properties["availability"] == _FULL


class Half(NamedTuple):
    """The parts of a fence that others supply."""

    releases: bool
    acquires: bool
    sequential: bool


def _weaken(op: scoped.FenceOp, done: Half, whole: bool) -> bool:
    """Leave the parts of a fence that no other does, ``whole``: all or nothing; True if nothing."""
    ordering = op.ordering.data
    releases = ordering.releases and not done.releases
    acquires = ordering.acquires and not done.acquires
    if ordering is Ordering.SEQ_CST:
        releases = acquires = not done.sequential
    if not releases and not acquires:
        Rewriter.erase_op(op)
        return True
    if ordering is Ordering.ACQ_REL and not (whole or (releases and acquires)):
        op.ordering = ORDERINGS[Ordering.RELEASE if releases else Ordering.ACQUIRE]
    return False


# The ordering done before


class Passed(NamedTuple):
    """The forward lattice: ranks of scopes, joined by the smaller one.

    ``released``: of the last release fence, with no memory operation since. ``acquired``: at
    which all atomic reads so far have been acquired. ``sequential``: of the last seq_cst
    fence, with no memory operation since.
    """

    released: int
    acquired: int
    sequential: int

    def join(self, other: "Passed") -> "Passed":
        """The join of two paths."""
        return Passed(*map(min, zip(self, other, strict=True)))


AT_ENTRY = Passed(_NOTHING, _NOTHING, _NOTHING)
IN_A_KERNEL = Passed(_NOTHING, EVERYTHING, _NOTHING)
"""A thread begins with no read that could still be acquired; a function's caller may have some."""


def _begins_thread(entry: Block) -> bool:
    """True if nothing runs before and after this function: it is marked as a kernel.

    A public function that returns nothing is a kernel for the kernel paths, but this pass also
    runs by itself, where a caller may do something before and after it.
    """
    owner = entry.parent_op()
    if is_mlir_function(owner):
        from fencewright.passes.kernels.accept import is_marked_kernel

        return is_marked_kernel(owner)
    if owner is not None and owner.name == "llvm_ir.func":
        # That dialect is not imported for others.
        from fencewright.passes.analysis.llvm_ir_memory import is_kernel

        return is_kernel(cast("FuncOp", owner))
    return owner is not None and owner.name == "litmus.thread"


def redundant_after(op: scoped.FenceOp, passed: Passed) -> Half:
    """The parts of ``op`` that an earlier fence has done.

    No earlier fence has released what it acquires itself.
    """
    scope = rank_of(op)
    acquired = passed.acquired >= scope
    released = passed.released >= scope and (acquired or not op.ordering.data.acquires)
    return Half(released, acquired, passed.sequential >= scope)


def after(op: Operation, passed: Passed) -> Passed:
    """Carry the ordering done so far over ``op``."""
    if type(op) is scoped.FenceOp:
        if not is_plain(op):
            return passed
        scope, ordering = rank_of(op), op.ordering.data
        released, acquired, sequential = passed
        if ordering.acquires and acquired < scope:
            # Its acquired values have not been released since.
            released = sequential = _NOTHING
        return Passed(
            max(released, scope if ordering.releases else _NOTHING),
            max(acquired, scope if ordering.acquires else _NOTHING),
            max(sequential, scope if ordering is Ordering.SEQ_CST else _NOTHING),
        )
    if is_silent(op):
        return passed
    return Passed(_NOTHING, min(passed.acquired, acquired_by(op)), _NOTHING)


def acquired_by(op: Operation) -> int:
    """The rank up to which a read of ``op`` acquires by itself; above all if it reads no flag."""
    kind = type(op)
    if kind is scoped.StoreOp or _is_weak_load(op) or _is_whole_barrier(op):
        return EVERYTHING
    if (access := _access_of_text(op)) is not None:
        return _ordered_at(access, access[0].acquires)
    if kind not in _READS:
        return _NOTHING
    access = cast(scoped.AccessOperation, op)
    acquires = access.ordering.data.acquires
    if kind is scoped.CmpxchgOp:
        acquires = acquires and cast(scoped.CmpxchgOp, op).failure_ordering.data.acquires
    return rank_of(access) if acquires and is_plain(access) else _NOTHING


def _solve_forward(graph: Graph[Block], lines: _Heard, rules: _Rules) -> dict[Block, Passed]:
    def carry(block: Block, state: Passed) -> Passed:
        for _, like in lines[block]:
            state = rules.after(like, state)
        return state

    entry = graph.nodes[0]
    at_entry = IN_A_KERNEL if _begins_thread(entry) else AT_ENTRY
    return solve(graph, {entry: at_entry}, carry, Passed.join)


def acquired_before(ops: Set[Operation], blocks: Sequence[Block]) -> dict[Operation, int]:
    """For each of ``ops`` the rank at which all atomic reads before it have been acquired."""
    found: dict[Operation, int] = {}
    rules = _Rules()
    passed = _solve_forward(block_graph(blocks), rules.heard(blocks), rules)
    for block in blocks:
        state = passed[block]
        for op in operations(block):
            if op in ops:
                found[op] = state.acquired
            state = after(op, state)
    return found


# The ordering done after


class Coming(NamedTuple):
    """The backward lattice: ranks of scopes, joined by the smaller one.

    ``released``: at which whatever could publish is released, by fences or by itself.
    ``acquired``, ``sequential``: of the acquire and the seq_cst fence that come before any
    memory operation.
    """

    released: int
    acquired: int
    sequential: int

    def join(self, other: "Coming") -> "Coming":
        """The join of two paths."""
        return Coming(*map(min, zip(self, other, strict=True)))


AT_END = Coming(_NOTHING, _NOTHING, _NOTHING)
AT_A_KERNELS_END = Coming(EVERYTHING, _NOTHING, _NOTHING)
"""A thread that has ended publishes nothing; a function's caller may."""


def _end_of(entry: Block) -> Coming:
    return AT_A_KERNELS_END if _begins_thread(entry) else AT_END


def redundant_before(op: scoped.FenceOp, coming: Coming) -> Half:
    """The parts of ``op`` that a later fence will do in time.

    This one does not release what a later fence acquires.
    """
    scope = rank_of(op)
    released = coming.released >= scope
    acquired = coming.acquired >= scope and (released or not op.ordering.data.releases)
    return Half(released, acquired, coming.sequential >= scope)


def ahead(op: Operation, coming: Coming) -> Coming:
    """Carry the ordering yet to be done over ``op``, backwards."""
    if type(op) is scoped.FenceOp:
        if not is_plain(op):
            return coming
        scope, ordering = rank_of(op), op.ordering.data
        released, acquired, sequential = coming
        if ordering.releases:
            # It releases what has been acquired before it, not what is acquired after it.
            acquired = sequential = _NOTHING
        return Coming(
            max(released, scope if ordering.releases else _NOTHING),
            max(acquired, scope if ordering.acquires else _NOTHING),
            max(sequential, scope if ordering is Ordering.SEQ_CST else _NOTHING),
        )
    if is_silent(op):
        return coming
    return Coming(min(coming.released, released_by(op)), _NOTHING, _NOTHING)


def released_by(op: Operation) -> int:
    """The rank up to which a write of ``op`` releases by itself; above all if it writes no flag."""
    if not may_publish(op):
        return EVERYTHING
    if (access := _access_of_text(op)) is not None:
        return _ordered_at(access, access[0].releases)
    if not isinstance(op, scoped.ScopedOperation) or not op.ordering.data.releases:
        return _NOTHING
    return rank_of(op) if is_plain(op) else _NOTHING


def may_publish(op: Operation) -> bool:
    """True if a release fence before ``op`` may matter to it."""
    kind = type(op)
    if kind is scoped.LoadOp or _is_whole_barrier(op):
        return False
    return kind is not scoped.StoreOp or not _is_weak(op)


def _solve_backward(graph: Graph[Block], lines: _Heard, rules: _Rules) -> dict[Block, Coming]:
    """The states at the ends of blocks, the greatest fixpoint.

    Greatest, so that a loop that is never left, which needs nothing, does not hide what comes after
    it.
    """
    end, everything = _end_of(graph.nodes[0]), Coming(EVERYTHING, EVERYTHING, EVERYTHING)

    def carry(block: Block, state: Coming) -> Coming:
        for _, like in reversed(lines[block]):
            state = rules.ahead(like, state)
        return state

    ends = {block: everything if targets else end for block, targets in graph.successors.items()}
    return solve(graph.backward, ends, carry, Coming.join)


def released_after(ops: Set[Operation], blocks: Sequence[Block]) -> dict[Operation, int]:
    """For each of ``ops`` the rank at which all later publications are released."""
    found: dict[Operation, int] = {}
    rules = _Rules()
    coming = _solve_backward(block_graph(blocks), rules.heard(blocks), rules)
    for block in blocks:
        state = coming[block]
        for op in reversed(operations(block)):
            if op in ops:
                found[op] = state.released
            state = ahead(op, state)
    return found


# Operations


def rank_of(op: scoped.ScopedOperation) -> int:
    """The rank of an operation's scope, above every scope's that it includes."""
    return _NOTHING if op.scope is None else _RANK[op.scope.data]


def _access_of_text(op: Operation) -> "tuple[Ordering, Scope | None] | None":
    """The ordering of inline PTX that is an access, perhaps predicated; None for all else."""
    if _ACCESS not in op.attributes:
        return None
    # That dialect is not imported for others.
    from fencewright.mlir_dialects.llvm_ir.inline_ptx import access_of

    return access_of(op)


def _ordered_at(access: "tuple[Ordering, Scope | None]", ordered: bool) -> int:
    """The rank up to which an access orders as a fence would; above all if it is weak."""
    ordering, scope = access
    if ordering is Ordering.WEAK:
        return EVERYTHING
    return _RANK[scope] if ordered and scope is not None else _NOTHING


_ACCESS = "llvm_ir.access"
_UNORDERED = "llvm_ir.unordered"
"""Attributes of ``mlir_dialects/llvm_ir/dialect.py``, which is not imported for others."""


def _is_weak(op: Operation) -> bool:
    """True of an access through which no fences synchronise: it is neither an atomic nor
    volatile."""
    properties = op.properties
    plain = "volatile" not in properties and _UNORDERED not in op.attributes
    return properties["ordering"] == _WEAK and plain


def _is_weak_load(op: Operation) -> bool:
    return type(op) is scoped.LoadOp and _is_weak(op)


def _is_whole_barrier(op: Operation) -> bool:
    """True if ``op`` is a barrier that needs no fences: it releases by itself.

    Fences meet through atomic accesses, of which it is none (C++20 [atomics.fences]).
    """
    return type(op) is scoped.BarrierOp and op.ordering.data.releases and is_plain(op)


def is_silent(op: Operation) -> bool:
    """True if ``op`` does not access memory, or only memory that no thread stores to."""
    kind = type(op)
    if kind in scoped.ACCESSES:
        return "invariant" in op.properties
    if kind is scoped.FenceOp:
        return False
    # Operations of llvm_ir know it of themselves; that dialect is not imported for others.
    accesses: bool | None = getattr(op, "may_access_memory", None)
    if accesses is not None:
        return not accesses
    return op.name in SILENT or is_side_effect_free(op)


_WEAK = ORDERINGS[Ordering.WEAK]
_FULL = AVAILABILITIES[Availability.FULL]
_READS = frozenset({scoped.LoadOp, scoped.AtomicRmwOp, scoped.CmpxchgOp})
