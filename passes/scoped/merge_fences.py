"""The pass ``merge-fences``: fences whose work another one does, before or after them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

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
_EachT = TypeVar("_EachT")


def _picture(op: Operation) -> Operation:
    """An operation like ``op`` in all that the rules look at."""
    return type(op).create(properties=op.properties, attributes=op.attributes)


class _Rules:
    """The rules of this pass, each applied once to all operations that are alike."""

    def __init__(self) -> None:
        self.past = {way: cache(partial(past, forwards=way)) for way in _WAYS}
        self.redundant = {way: cache(partial(redundant, forwards=way)) for way in _WAYS}
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
            for forwards in _WAYS:
                _merge(graph, lines, rules, whole, forwards=forwards)


_WAYS = (True, False)
"""Forwards, by earlier fences, and backwards, by later ones."""


def _merge(
    graph: Graph[Block], lines: _Heard, rules: _Rules, whole: bool, *, forwards: bool
) -> None:
    """Take from fences what earlier ones (``forwards``) or later ones do."""
    found = _solve(graph, lines, rules, forwards=forwards)
    for block in graph.nodes:
        done = found[block]
        left: list[_Line] = []
        for line in _ordered(lines[block], forwards=forwards):
            op, like = line
            if type(op) is scoped.FenceOp and is_plain(op):
                if any(half := rules.redundant[forwards](like, done)):
                    if _weaken(op, half, whole):
                        continue
                    _, like = line = rules.line(op)
            done = rules.past[forwards](like, done)
            left.append(line)
        lines[block] = [*_ordered(left, forwards=forwards)]


def _ordered(lines: Sequence[_EachT], *, forwards: bool) -> Iterable[_EachT]:
    return lines if forwards else reversed(lines)


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


# The ordering done before and after


class Done(NamedTuple):
    """The lattice of both directions: ranks of scopes, joined by the smaller one.

    Forwards, ``released``: of the last release fence, with no memory operation since;
    ``acquired``: at which all atomic reads so far have been acquired. Backwards, ``released``: at
    which whatever could publish is released, by fences or by itself; ``acquired``: of the acquire
    fence that comes before any memory operation. ``sequential``: of the nearest seq_cst fence,
    with no memory operation between.
    """

    released: int
    acquired: int
    sequential: int

    def join(self, other: "Done") -> "Done":
        """The join of two paths."""
        return Done(*map(min, zip(self, other, strict=True)))


NONE_DONE = Done(_NOTHING, _NOTHING, _NOTHING)
_EVERYTHING_DONE = Done(EVERYTHING, EVERYTHING, EVERYTHING)
_OUTSIDE: Mapping[bool, Done] = MappingProxyType(
    {
        True: Done(_NOTHING, EVERYTHING, _NOTHING),
        False: Done(EVERYTHING, _NOTHING, _NOTHING),
    }
)
"""Before a thread begins, by whether it is forwards, and after it has ended: it has no read that
could still be acquired, and publishes nothing; a function's caller may."""


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


def redundant(op: scoped.FenceOp, done: Done, *, forwards: bool) -> Half:
    """The parts of ``op`` that an earlier fence has done (``forwards``), or a later one will do.

    No earlier fence has released what it acquires itself, and it does not release what a later
    fence acquires.
    """
    scope, ordering = rank_of(op), op.ordering.data
    released, acquired = done.released >= scope, done.acquired >= scope
    if forwards:
        released = released and (acquired or not ordering.acquires)
    else:
        acquired = acquired and (released or not ordering.releases)
    return Half(released, acquired, done.sequential >= scope)


def past(op: Operation, done: Done, *, forwards: bool) -> Done:
    """Carry the ordering done so far (``forwards``), or yet to be done, over ``op``."""
    if type(op) is scoped.FenceOp:
        if not is_plain(op):
            return done
        scope, ordering = rank_of(op), op.ordering.data
        released, acquired, sequential = done
        if forwards and ordering.acquires and acquired < scope:
            # Its acquired values have not been released since.
            released = sequential = _NOTHING
        if not forwards and ordering.releases:
            # It releases what has been acquired before it, not what is acquired after it.
            acquired = sequential = _NOTHING
        return Done(
            max(released, scope if ordering.releases else _NOTHING),
            max(acquired, scope if ordering.acquires else _NOTHING),
            max(sequential, scope if ordering is Ordering.SEQ_CST else _NOTHING),
        )
    if is_silent(op):
        return done
    if forwards:
        return Done(_NOTHING, min(done.acquired, acquired_by(op)), _NOTHING)
    return Done(min(done.released, released_by(op)), _NOTHING, _NOTHING)


def _solve(
    graph: Graph[Block], lines: _Heard, rules: _Rules, *, forwards: bool
) -> dict[Block, Done]:
    """The states at the beginnings of blocks, or at their ends: there the greatest fixpoint.

    Greatest, so that a loop that is never left, which needs nothing, does not hide what comes after
    it.
    """

    def carry(block: Block, done: Done) -> Done:
        for _, like in _ordered(lines[block], forwards=forwards):
            done = rules.past[forwards](like, done)
        return done

    entry = graph.nodes[0]
    outside = _OUTSIDE[forwards] if _begins_thread(entry) else NONE_DONE
    if forwards:
        return solve(graph, {entry: outside}, carry, Done.join)
    following = graph.successors.items()
    ends = {block: _EVERYTHING_DONE if targets else outside for block, targets in following}
    return solve(graph.backward, ends, carry, Done.join)


def _done_at(
    ops: Set[Operation], blocks: Sequence[Block], *, forwards: bool
) -> Iterator[tuple[Operation, Done]]:
    """The state at each of ``ops``."""
    rules = _Rules()
    found = _solve(block_graph(blocks), rules.heard(blocks), rules, forwards=forwards)
    for block in blocks:
        done = found[block]
        for op in _ordered(operations(block), forwards=forwards):
            if op in ops:
                yield op, done
            done = past(op, done, forwards=forwards)


def acquired_before(ops: Set[Operation], blocks: Sequence[Block]) -> dict[Operation, int]:
    """For each of ``ops`` the rank at which all atomic reads before it have been acquired."""
    return {op: done.acquired for op, done in _done_at(ops, blocks, forwards=True)}


def released_after(ops: Set[Operation], blocks: Sequence[Block]) -> dict[Operation, int]:
    """For each of ``ops`` the rank at which all later publications are released."""
    return {op: done.released for op, done in _done_at(ops, blocks, forwards=False)}


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
