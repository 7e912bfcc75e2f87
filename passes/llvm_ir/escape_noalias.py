"""The pass ``escape-noalias``: machine code that orders reaches the memory of ``noalias``
arguments."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.ptx.code.llvm_asm import REGISTERS
from fencewright.lowering.skeleton import merged_ordering
from fencewright.lowering.vocabulary import Ordering
from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp, TopLevelOp, text_of
from fencewright.mlir_dialects.scoped import CmpxchgOp, ScopedOperation
from fencewright.passes.llvm_ir.data_layout import pointer_widths, width_of_pointer
from fencewright.passes.llvm_ir.optimiser import escape, noalias_arguments


@dataclass(frozen=True)
class EscapeNoaliasPass(ModulePass):
    """Let ``noalias`` arguments escape where functions of LLVM IR for PTX begin that order
    accesses.

    Runs before whatever takes fences away. LLVM moves nothing past its own fences and ordered
    atomics. Past assembly and intrinsics, ours and the program's own, it moves accesses through
    ``noalias`` arguments that have not escaped: only then may those stand for what LLVM has. A
    pointer that a ``noalias`` call returns needs none of it: nobody else has it before this
    function gives it away, which lets it escape. What the program orders by its own assembly alone
    stays as it is. Source: LLVM 22, AliasAnalysis getModRefInfo of a FenceInst and of a CallBase;
    tests/unit/test_escape_noalias.py.
    """

    name = "escape-noalias"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        widths = pointer_widths(each.text.data for each in op.ops if isinstance(each, TopLevelOp))
        for function in op.ops:
            if isinstance(function, FuncOp):
                escape_noalias(function, widths)


def escape_noalias(function: FuncOp, widths: Mapping[int, int]) -> None:
    """Let the ``noalias`` arguments of one function escape, if it orders; ``widths`` of
    pointers."""
    arguments = noalias_arguments(function)
    if arguments and any(_orders(op) for block in function.body.blocks for op in block.ops):
        constraints = {
            each: REGISTERS[width_of_pointer(each.type, widths)].constraint
            for each in arguments
            if isinstance(each.type, LLVMPointerType)
        }
        escape(function, constraints)


def _orders(op: Operation) -> bool:
    """True if ``op`` is LLVM's own, and orders other accesses."""
    if not isinstance(op, ScopedOperation) or op.scope is None or text_of(op) is not None:
        return False
    ordering = op.ordering.data
    if isinstance(op, CmpxchgOp):
        ordering = merged_ordering(ordering, op.failure_ordering.data)
    return ordering is not Ordering.RELAXED
