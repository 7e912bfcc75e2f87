"""Operations that forbid LLVM's optimiser to move accesses, and cost no instruction."""

from collections.abc import Mapping
from itertools import pairwise

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.control_flow import block_of


def compiler_fence(op: Operation, ordering: Ordering) -> scoped.FenceOp:
    """A fence for LLVM's optimiser alone, at the debug location of ``op``."""
    properties = {"ordering": ORDERINGS[ordering], "scope": SCOPES[Scope.SINGLETHREAD]}
    return scoped.FenceOp.create(properties=properties, attributes=llvm_ir.debug_attributes(op))


def clobber(op: Operation) -> llvm_ir.ClobberOp:
    """An operation that makes LLVM take memory for changed, at the debug location of ``op``."""
    made = llvm_ir.ClobberOp.create(attributes=llvm_ir.debug_attributes(op))
    made.location = op.location
    return made


def noalias_arguments(
    function: llvm_ir.FuncOp, but: frozenset[str] = frozenset()
) -> tuple[SSAValue, ...]:
    """The pointers that LLVM takes no call to reach that does not have them as operands.

    Without those that have an attribute of ``but``. Source: LLVM LangRef, noalias.
    """
    pieces = llvm_ir.parse_template(function.text.data).pieces
    arguments = function.body.blocks[0].args
    return tuple(
        arguments[place]
        for before, place in pairwise(pieces)
        if isinstance(before, str) and isinstance(place, int)
        if "noalias" in (words := before.split()) and but.isdisjoint(words)
    )


_ESCAPE = (
    'call void asm sideeffect "", "{constraints}"({operands}) memory(inaccessiblemem: readwrite)'
)


def escape(function: llvm_ir.FuncOp, pointers: Mapping[SSAValue, str]) -> None:
    """Let arguments escape where ``function`` begins, so that later assembly reaches their memory.

    ``pointers``: each with the constraint of the register that it is in. They escape to memory of
    nobody's, so that accesses before the first clobber stay as they are.
    """
    if not pointers:
        return
    text = _ESCAPE.format(
        constraints=",".join(pointers.values()),
        operands=", ".join(
            f"{llvm_ir.type_to_text(each.type)} {{{number}}}"
            for number, each in enumerate(pointers)
        ),
    )
    made = llvm_ir.InstOp.create(
        operands=[*pointers],
        properties={"text": StringAttr(text)},
        attributes={llvm_ir.NO_ACCESS: UnitAttr()},
    )
    made.location = function.location
    first = function.body.blocks[0].first_op
    first = first.next_op if isinstance(first, llvm_ir.LabelOp) else first
    assert first is not None
    if not (isinstance(first, llvm_ir.InstOp) and first.text.data.startswith(_begin_of(text))):
        block_of(first).insert_op_before(made, first)


def _begin_of(escape: str) -> str:
    """The part that LLVM prints unchanged with the assembly: attributes get a number."""
    return escape.partition(" memory(")[0]
