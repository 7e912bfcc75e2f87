"""The pass ``show-waits``: waits become instructions that LLVM's own wait insertion sees."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.counters.wait_field import wait_field
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.cdna import WaitOp
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.caches import LGKMCNT, waits_of
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.analysis.llvm_ir_memory import lowered_functions

_NAME = "llvm.amdgcn.s.waitcnt"
_DECLARATION = f"declare void @{_NAME}(i32 immarg)"


@dataclass(frozen=True)
class ShowWaitsPass(ModulePass):
    """Give LLVM waits as instructions that it knows, and not in assembly.

    Runs last on functions in LLVM IR for CDNA. LLVM does not look into assembly, and waits again
    for what has been waited for there. A wait for LDS and scalar loads alone becomes LLVM's release
    fence of the work-group, which is that wait and may be left out where LLVM finds nothing in
    flight; not in tgsplit, where that fence waits for more. Another one becomes the intrinsic
    ``llvm.amdgcn.s.waitcnt``, which LLVM merges with its own but never leaves out: it does not know
    that write-backs and invalidates, which stay assembly, count. Source: LLVM SIInsertWaitcnts
    (soft and other waits), SIMemoryLegalizer; certified on what llc makes of it by ``fence-sim fuzz
    --llvm-ir``.
    """

    name = "show-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        called = False
        for function, target in lowered_functions(op):
            for block in function.body.blocks:
                for each in operations(block):
                    if type(each) is WaitOp:
                        called |= _show(each, target)
        lines = (each.text.data for each in op.ops if isinstance(each, llvm_ir.TopLevelOp))
        if called and not any(f"@{_NAME}(" in line for line in lines):
            op.body.block.add_op(llvm_ir.TopLevelOp(_DECLARATION))


def _show(wait: WaitOp, target: Target) -> bool:
    """Replace ``wait``; whether the intrinsic is called for it."""
    field = wait_field(target.chip, wait.counts.vmcnt, wait.counts.lgkmcnt)
    if field is None:
        return False
    by_fence = wait.counts.vmcnt is None and waits_of(wait) == LGKMCNT and not target.tgsplit
    made = _fence(wait) if by_fence else _call(wait, field)
    made.location = wait.location
    block_of(wait).insert_op_before(made, wait)
    Rewriter.erase_op(wait)
    return not by_fence


def _fence(wait: WaitOp) -> Operation:
    properties = {"ordering": ORDERINGS[Ordering.RELEASE], "scope": SCOPES[Scope.WORKGROUP]}
    return scoped.FenceOp.create(properties=properties, attributes=llvm_ir.debug_attributes(wait))


def _call(wait: WaitOp, field: int) -> Operation:
    line = llvm_ir.debug_location(wait)
    ending = f", {line}" if line else ""
    text = f"call void @{_NAME}(i32 {field}){ending}"
    return llvm_ir.InstOp.create(properties={"text": StringAttr(text)})
