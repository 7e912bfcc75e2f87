"""The pass ``acquire-on-success``: a compare-exchange acquires where it succeeded."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.mlir_dialects.scoped import CmpxchgOp, FenceOp, LoadOp
from fencewright.passes.merge_fences import is_silent


@dataclass(frozen=True)
class AcquireOnSuccessPass(ModulePass):
    """Put the acquire of a compare-exchange, if its failure is relaxed, on the edge of its success.

    Runs on ``scoped``, best before ``merge-fences``. What acquires on success becomes relaxed,
    what is acq_rel becomes release, and an acquire fence of the same scope stands where the
    branch on the result goes if the value was exchanged. A failed attempt then pays for no
    acquire, whatever it does next. Left alone: an operation with no such branch at the end of
    its block, one with a memory operation before that branch (invariant loads aside), seq_cst,
    and one that orders some address spaces only. Source: C++20 [atomics.fences] 4, an acquire
    fence behind a relaxed read; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "acquire-on-success"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, CmpxchgOp) and (edge := success_edge(each)) is not None:
                _acquire_on(edge, each)


@dataclass(frozen=True, slots=True)
class Edge:
    """One of the two ways out of a block."""

    branch: cf.ConditionalBranchOp
    index: int

    @property
    def target(self) -> Block:
        """Where it leads."""
        return self.branch.successors[self.index]


_WITHOUT_ACQUIRE: Mapping[Ordering, Ordering] = MappingProxyType(
    {Ordering.ACQUIRE: Ordering.RELAXED, Ordering.ACQ_REL: Ordering.RELEASE}
)
_IN_MEMORY = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})


def success_edge(op: CmpxchgOp) -> Edge | None:
    """The edge on which the acquire of ``op`` does what it did before; None if there is none."""
    if not acquires_on_success_only(op):
        return None
    block = op.parent
    branch = None if block is None else block.last_op
    if not isinstance(branch, cf.ConditionalBranchOp):
        return None
    if branch.then_block is branch.else_block or not nothing_between(op, branch):
        return None
    index = _exchanged(op, branch.cond)
    return None if index is None else Edge(branch, index)


def acquires_on_success_only(op: CmpxchgOp) -> bool:
    """Whether a failure of ``op`` needs no acquire, and its success one that a fence can do."""
    if op.space not in _IN_MEMORY or op.ordering.data not in _WITHOUT_ACQUIRE:
        return False
    everything = op.spaces is None and op.one_as is None
    available = op.availability is None or op.availability.data is Availability.FULL
    return everything and available and op.failure_ordering.data is Ordering.RELAXED


def nothing_between(op: Operation, branch: Operation) -> bool:
    """Whether nothing between ``op`` and the end of its block takes part in ordering."""
    between = op.next_op
    while between is not None and between is not branch:
        invariant = isinstance(between, LoadOp) and between.invariant is not None
        if not invariant and not is_silent(between):
            return False
        between = between.next_op
    return True


def _exchanged(op: CmpxchgOp, condition: SSAValue) -> int | None:
    """The number of the successor that is taken if ``op`` exchanged; None if that is not known."""
    if condition is op.success:
        return 0
    made_by = condition.owner
    if isinstance(made_by, arith.XOrIOp):
        operands = (made_by.lhs, made_by.rhs)
        if any(_is_true(each) for each in operands):
            inner = operands[0] if _is_true(operands[1]) else operands[1]
            index = _exchanged(op, inner)
            return None if index is None else 1 - index
    if isinstance(made_by, arith.CmpiOp) and op.weak is None:
        if {made_by.lhs, made_by.rhs} == {op.old, op.compare}:
            return _EQUAL_GOES_TO.get(made_by.predicate.value.data)
    return None


_EQUAL_GOES_TO: Mapping[int, int] = MappingProxyType({0: 0, 1: 1})
"""By the predicate of arith.cmpi: eq and ne."""


def _is_true(value: SSAValue) -> bool:
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp) or not isinstance(constant.value, IntegerAttr):
        return False
    return bool(constant.value.value.data & 1)


def _acquire_on(edge: Edge, op: CmpxchgOp) -> None:
    assert op.scope is not None
    fence = FenceOp(Ordering.ACQUIRE, op.scope.data)
    fence.location = op.location
    op.ordering = ORDERINGS[_WITHOUT_ACQUIRE[op.ordering.data]]
    target = edge.target
    first = target.first_op
    if len(target.predecessors()) == 1 and first is not None:
        target.insert_op_before(fence, first)
    else:
        _split(edge, fence)


def _split(edge: Edge, fence: FenceOp) -> None:
    """A block of its own on the edge, which hands on what the branch handed on."""
    branch, index = edge.branch, edge.index
    block, target = branch.parent, edge.target
    assert block is not None
    region = block.parent
    assert region is not None
    arguments = [list(branch.then_arguments), list(branch.else_arguments)]
    made = Block([fence, cf.BranchOp(target, *arguments[index])])
    region.insert_block_before(made, target)
    arguments[index] = []
    targets = [branch.then_block, branch.else_block]
    targets[index] = made
    replacement = cf.ConditionalBranchOp(
        branch.cond, targets[0], arguments[0], targets[1], arguments[1]
    )
    block.insert_op_before(replacement, branch)
    branch.detach()
    branch.erase()
