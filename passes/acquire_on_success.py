"""The pass ``acquire-on-success``: a compare-exchange acquires where it succeeded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.mlir_dialects.scoped import CmpxchgOp, FenceOp, LoadOp, StoreOp
from fencewright.passes.cdna_caches import IN_MEMORY
from fencewright.passes.edges import Edges, first_in
from fencewright.passes.merge_fences import is_silent


@dataclass(frozen=True)
class AcquireOnSuccessPass(ModulePass):
    """Put the acquire of a compare-exchange, if its failure is relaxed, on the edge of its success.

    Runs on ``scoped``, in LLVM IR too, best before ``merge-fences``. What acquires on success becomes relaxed,
    what is acq_rel becomes release, and an acquire fence of the same scope stands where the
    branch on the result goes if the value was exchanged. A failed attempt then pays for no
    acquire, whatever it does next. Left alone: an operation with no such branch at the end of
    its block, one with a memory operation before that branch (invariant loads and private memory aside), seq_cst,
    and one that orders some address spaces only. Source: C++20 [atomics.fences] 4, an acquire
    fence behind a relaxed read; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "acquire-on-success"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edges = Edges()
        for each in [each for each in op.walk() if type(each) is CmpxchgOp]:
            if (edge := success_edge(each)) is not None:
                _acquire_on(edge, each, edges)


@dataclass(frozen=True, slots=True)
class Edge:
    """One of the two ways out of a block."""

    block: Block
    index: int


_WITHOUT_ACQUIRE: Mapping[Ordering, Ordering] = MappingProxyType(
    {Ordering.ACQUIRE: Ordering.RELAXED, Ordering.ACQ_REL: Ordering.RELEASE}
)


def success_edge(op: CmpxchgOp) -> Edge | None:
    """The edge on which the acquire of ``op`` does what it did before; None if there is none."""
    if not acquires_on_success_only(op):
        return None
    block = op.parent
    branch = None if block is None else block.last_op
    if block is None or branch is None or not is_conditional(branch):
        return None
    if branch.successors[0] is branch.successors[1] or not nothing_between(op, branch):
        return None
    index = exchanged(op, branch.operands[0])
    return None if index is None else Edge(block, index)


_CONDITIONAL = "cf.cond_br"
_IN_LLVM_IR = "br i1 {0}, label {^0}, label {^1}"


def is_conditional(branch: Operation) -> bool:
    """Whether a branch goes to its first successor if its first operand is true, else to its second."""
    return branch.name == _CONDITIONAL or _text(branch).startswith(_IN_LLVM_IR)


def _text(op: object) -> str:
    """The text of an instruction of LLVM IR, but for its metadata; empty for other operations."""
    text = op.properties.get("text") if isinstance(op, Operation) else None
    return text.data.partition(", !")[0] if isinstance(text, StringAttr) else ""


def acquires_on_success_only(op: CmpxchgOp) -> bool:
    """Whether a failure of ``op`` needs no acquire, and its success one that a fence can do."""
    if op.space not in IN_MEMORY or op.ordering.data not in _WITHOUT_ACQUIRE:
        return False
    everything = op.spaces is None and op.one_as is None
    available = op.availability is None or op.availability.data is Availability.FULL
    return everything and available and op.failure_ordering.data is Ordering.RELAXED


def nothing_between(op: Operation, branch: Operation) -> bool:
    """Whether nothing between ``op`` and the end of its block takes part in ordering."""
    between = op.next_op
    while between is not None and between is not branch:
        if not is_silent(between) and not _is_alone(between):
            return False
        between = between.next_op
    return True


def _is_alone(op: Operation) -> bool:
    """Whether an access is of what no other thread sees."""
    return isinstance(op, LoadOp | StoreOp) and op.space is AddressSpace.PRIVATE


def exchanged(op: CmpxchgOp, condition: SSAValue) -> int | None:
    """The number of the successor that is taken if ``op`` exchanged; None if that is not known."""
    if condition is op.success:
        return 0
    made_by = condition.owner
    if _takes_out(made_by, op, 1):
        return 0
    negated = _negated(made_by)
    if negated is not None:
        index = exchanged(op, negated)
        return None if index is None else 1 - index
    equal = None if op.weak is not None else _compared_old(op, made_by)
    return None if equal is None else _EQUAL_GOES_TO[equal]


def _takes_out(made_by: object, op: CmpxchgOp, index: int) -> bool:
    """Whether that is a member of the struct that LLVM's compare-exchange returns."""
    if not _text(made_by).startswith("extractvalue ") or not isinstance(made_by, Operation):
        return False
    if not _text(made_by).endswith(f" {{0}}, {index}"):
        return False
    pack = made_by.operands[0].owner
    return isinstance(pack, Operation) and pack.name == _PACK and pack.operands[0] is op.old


_PACK, _METADATA = "llvm_ir.pack", "llvm_ir.metadata"
"""Names of the dialect that carries LLVM IR, which is not imported for others."""


def _negated(made_by: object) -> SSAValue | None:
    """What a value is the opposite of."""
    if _NOT.fullmatch(_text(made_by)) and isinstance(made_by, Operation):
        return made_by.operands[0]
    if not isinstance(made_by, arith.XOrIOp):
        return None
    for value, other in ((made_by.lhs, made_by.rhs), (made_by.rhs, made_by.lhs)):
        if _is_true(other):
            return value
    return None


_NOT = re.compile(r"xor i1 (?:\{0\}, true|true, \{0\})")


def _compared_old(op: CmpxchgOp, made_by: object) -> str | None:
    """How the old value is compared with what it was expected to be: eq, ne; None if it is not."""
    if isinstance(made_by, arith.CmpiOp):
        same = {made_by.lhs, made_by.rhs} == {op.old, op.compare}
        return _PREDICATES.get(made_by.predicate.value.data) if same else None
    compared = _ICMP.fullmatch(_text(made_by))
    if compared is None or not isinstance(made_by, Operation):
        return None
    old, expected = False, False
    for each in compared.group(2, 3):
        value = made_by.operands[int(each[1:-1])] if each in _PLACES else None
        if value is not None and (value is op.old or _takes_out(value.owner, op, 0)):
            old = True
        elif value is op.compare or (value is None and each == _text(op.compare.owner)):
            expected = True
    return compared[1] if old and expected else None


_ICMP = re.compile(r"icmp (eq|ne) \S+(?: addrspace\([0-9]+\))? (\S+), (\S+)")
_PLACES = ("{0}", "{1}")
_PREDICATES: Mapping[int, str] = MappingProxyType({0: "eq", 1: "ne"})
"""The predicates of arith.cmpi."""


_EQUAL_GOES_TO: Mapping[str, int] = MappingProxyType({"eq": 0, "ne": 1})


def _is_true(value: SSAValue) -> bool:
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp) or not isinstance(constant.value, IntegerAttr):
        return False
    return bool(constant.value.value.data & 1)


def _acquire_on(edge: Edge, op: CmpxchgOp, edges: Edges) -> None:
    assert op.scope is not None
    fence = FenceOp(Ordering.ACQUIRE, op.scope.data)
    fence.location = op.location
    if _METADATA in op.attributes:
        from fencewright.passes.llvm_ir_accesses import debug_location

        line = debug_location(op)
        fence.attributes |= {_METADATA: StringAttr(line)} if line else {}
    op.ordering = ORDERINGS[_WITHOUT_ACQUIRE[op.ordering.data]]
    branch = edge.block.last_op
    assert branch is not None
    target = branch.successors[edge.index]
    alone = len(target.predecessors()) == 1
    place = first_in(target) if alone else edges.end_of(edge.block, edge.index)
    assert place.parent is not None
    place.parent.insert_op_before(fence, place)
