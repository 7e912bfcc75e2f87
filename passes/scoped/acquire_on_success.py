"""The pass ``acquire-on-success``: a compare-exchange acquires where it succeeded."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.mlir_dialects.leaf_operation import walk
from fencewright.mlir_dialects.scoped import CmpxchgOp, FenceOp, LoadOp, StoreOp
from fencewright.passes.analysis.caches import IN_MEMORY
from fencewright.passes.analysis.exchanges import exchanged, is_conditional
from fencewright.passes.analysis.split_edges import Edges, first_in
from fencewright.passes.scoped.merge_fences import is_silent


@dataclass(frozen=True)
class AcquireOnSuccessPass(ModulePass):
    """Put the acquire of a compare-exchange, if its failure is relaxed, on the edge of its success.

    Runs on ``scoped``, in LLVM IR too, best before ``merge-fences``. What acquires on success
    becomes relaxed, what is acq_rel becomes release, and an acquire fence of the same scope stands
    where the branch on the result goes if the value was exchanged. A failed attempt then pays for
    no acquire, whatever it does next. Left alone: an operation with no such branch at the end of
    its block, one with a memory operation before that branch (invariant loads and private memory
    aside), seq_cst, and one that orders some address spaces only. Source: C++20 [atomics.fences] 4,
    an acquire fence after a relaxed read; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "acquire-on-success"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edges = Edges()
        for each in [each for each in walk(op) if type(each) is CmpxchgOp]:
            if (edge := success_edge(each)) is not None:
                _acquire_on(edge, each, edges)


@dataclass(frozen=True, slots=True)
class SuccessEdge:
    """One of the two edges out of a block."""

    block: Block
    index: int


_WITHOUT_ACQUIRE: Mapping[Ordering, Ordering] = MappingProxyType(
    {Ordering.ACQUIRE: Ordering.RELAXED, Ordering.ACQ_REL: Ordering.RELEASE}
)


def success_edge(op: CmpxchgOp) -> SuccessEdge | None:
    """The edge on which the acquire of ``op`` keeps its effect; None if there is none."""
    if not acquires_on_success_only(op):
        return None
    block = op.parent
    branch = None if block is None else block.last_op
    if block is None or branch is None or not is_conditional(branch):
        return None
    if branch.successors[0] is branch.successors[1] or not nothing_between(op, branch):
        return None
    index = exchanged(op, branch.operands[0])
    return None if index is None else SuccessEdge(block, index)


def acquires_on_success_only(op: CmpxchgOp) -> bool:
    """True if a failure of ``op`` needs no acquire, and its success one that a fence can do."""
    if op.space not in IN_MEMORY or op.ordering.data not in _WITHOUT_ACQUIRE:
        return False
    everything = op.spaces is None and op.one_as is None
    available = op.availability is None or op.availability.data is Availability.FULL
    return everything and available and op.failure_ordering.data is Ordering.RELAXED


def nothing_between(op: Operation, branch: Operation) -> bool:
    """True if nothing between ``op`` and the end of its block takes part in ordering."""
    between = op.next_op
    while between is not None and between is not branch:
        if not is_silent(between) and not _is_alone(between):
            return False
        between = between.next_op
    return True


def _is_alone(op: Operation) -> bool:
    """True if an access is of memory that no other thread sees."""
    return isinstance(op, LoadOp | StoreOp) and op.space is AddressSpace.PRIVATE


_METADATA = "llvm_ir.metadata"
"""The attribute of operations that LLVM IR made; its dialect is not imported for others."""


def _acquire_on(edge: SuccessEdge, op: CmpxchgOp, edges: Edges) -> None:
    assert op.scope is not None
    fence = FenceOp(Ordering.ACQUIRE, op.scope.data)
    fence.location = op.location
    if _METADATA in op.attributes:
        from fencewright.mlir_dialects.llvm_ir.dialect import debug_attributes

        fence.attributes |= debug_attributes(op)
    op.ordering = ORDERINGS[_WITHOUT_ACQUIRE[op.ordering.data]]
    branch = edge.block.last_op
    assert branch is not None
    target = branch.successors[edge.index]
    alone = len(target.predecessors()) == 1
    place = first_in(target) if alone else edges.end_of(edge.block, edge.index)
    assert place.parent is not None
    place.parent.insert_op_before(fence, place)
