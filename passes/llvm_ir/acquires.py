"""Acquires in LLVM IR for CDNA, and the clobbers that keep LLVM from stale reads after them.

LLVM loads through the scalar cache what all lanes load from one address and nothing in the kernel
may have changed before. Nothing empties that cache while a kernel runs, and fences and barriers
are no changes to LLVM. So ``llvm_ir.clobber``, an empty inline assembly that may change memory,
stands after whatever acquires. It could not change what a ``noalias`` argument points to, as far
as LLVM knows, were it not that these pointers escape where the function begins. What LLVM knows
that nobody changes stays free to be loaded so: constant and invariant memory, and what the
``readonly noalias`` arguments of a kernel point to.
Source: LLVM 22, AMDGPUMemoryUtils (isClobberedInFunction, isReallyAClobber) and
AMDGPUAliasAnalysis; certified by tests/unit/test_llvm_ir_scalar_loads.py.
"""

import re

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fencewright.lowering.code.graph import postorder
from fencewright.lowering.skeleton import merged_ordering
from fencewright.lowering.vocabulary import AddressSpace, Scope
from fencewright.mlir_dialects.attributes import SCOPES
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.mlir_dialects.llvm_ir.text import unquote_name
from fencewright.mlir_dialects.scoped import AccessOperation, CmpxchgOp, ScopedOperation, StoreOp
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.analysis.llvm_ir_memory import ANYTHING, is_kernel, memory_of
from fencewright.passes.llvm_ir.optimiser import clobber, escape, noalias_arguments

_SINGLETHREAD = SCOPES[Scope.SINGLETHREAD]
_CALL = re.compile(
    r'(?:(?:tail|musttail|notail) )?call (?![^@"{]*\basm )[^@"{]*(?:@("[^"]*"|[^(]+))?'
)
_INTRINSIC = "llvm."


class Acquirers:
    """The acquirers in a module: operations of ``scoped``, and calls of functions that may acquire.

    A function that is not in the module may, unless it is LLVM's own, and so may one that is
    called by its address.
    """

    def __init__(self, module: ModuleOp):
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm_ir.FuncOp)}
        callers: dict[str, list[str]] = {name: [] for name in functions}
        found: set[str] = set()
        self._calls: dict[str, list[tuple[Operation, str]]] = {name: [] for name in functions}
        for name, function in functions.items():
            ops = (op for block in function.body.blocks for op in operations(block))
            for op in ops:
                callee = _callee(op)
                if callee is not None:
                    self._calls[name].append((op, callee))
                if callee in callers:
                    callers[callee].append(name)
                elif callee is not None or _acquires(op):
                    found.add(name)
        self._harmless = functions.keys() - set(postorder(found, callers.__getitem__))

    def are_in(self, function: llvm_ir.FuncOp) -> bool:
        """True if ``function`` acquires, or may."""
        return function.sym_name.data not in self._harmless

    def calls_in(self, function: llvm_ir.FuncOp) -> list[Operation]:
        """The calls by which ``function`` may acquire."""
        called = self._calls[function.sym_name.data]
        return [op for op, name in called if name not in self._harmless]


def _acquires(op: Operation) -> bool:
    if not isinstance(op, ScopedOperation) or isinstance(op, StoreOp):
        return False
    if op.scope in (None, _SINGLETHREAD):
        return False
    if isinstance(op, AccessOperation) and op.space is AddressSpace.PRIVATE:
        return False
    ordering = op.ordering.data
    if isinstance(op, CmpxchgOp):
        ordering = merged_ordering(ordering, op.failure_ordering.data)
    return ordering.acquires


def _callee(op: Operation) -> str | None:
    """The function that ``op`` calls, "" if it is not named; None for no call, or one of LLVM's."""
    if type(op) is not llvm_ir.InstOp or memory_of(op) != ANYTHING:
        return None
    call = _CALL.match(op.text.data)
    if call is None:
        return None
    name = unquote_name(call[1] or "")
    return None if name.startswith(_INTRINSIC) else name


def clobber_after(call: Operation) -> None:
    """Let LLVM take memory for changed after a call, in spite of its knowledge of the function.

    Not where only a return follows, lest a tail call be none; nor where it does so already.
    """
    following = call.next_op
    if isinstance(following, llvm_ir.TerminatorOp) and following.opcode == "ret":
        return
    if not (isinstance(following, llvm_ir.InstOp) and following.text.data.startswith(_CLOBBER)):
        block_of(call).insert_op_after(clobber(call), call)


_CLOBBER = 'call void asm sideeffect "", "~{memory}"()'
"""The text of a clobber that stands by itself."""


# Pointers that LLVM takes no assembly to reach

_IN_MEMORY = frozenset({"ptr", "ptr addrspace(1)"})
"""The pointers to memory that LLVM may load through the scalar cache, though it may change."""
_READ_ONLY = frozenset({"readonly", "readnone"})


def let_escape(function: llvm_ir.FuncOp) -> None:
    """Let ``noalias`` arguments escape where ``function`` begins, that later assembly reaches them.

    A kernel's arguments are in scalar registers, a function's in vector registers.
    """
    kernel = is_kernel(function)
    found = noalias_arguments(function, _READ_ONLY if kernel else frozenset())
    pointers = [each for each in found if llvm_ir.type_to_text(each.type) in _IN_MEMORY]
    escape(function, dict.fromkeys(pointers, "s" if kernel else "v"))
