"""Which generic pointers of a kernel in LLVM IR for NVIDIA are global.

Source: LLVM NVPTXLowerArgs: what a CUDA kernel's pointer arguments point to is global memory,
but for those that are copies of structs (``byval``).
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.control_flow import block_of

_KERNEL = re.compile(r"define (?:[a-z_]+ )*ptx_kernel ")
_GLOBAL = LLVMPointerType(IntAttr(AddressSpace.GLOBAL.number))
_GENERIC = LLVMPointerType()
_FROM_GLOBAL = re.compile(r"addrspacecast ptr addrspace\(1\) \{0\} to ptr\b")
_SAME = re.compile(r"(?:freeze ptr|bitcast ptr) \{0\}|getelementptr [^{]*, ptr \{0\}")
_SELECT = re.compile(r"select i1 [^,]*, ptr \{([0-9]+)\}, ptr \{([0-9]+)\}")
_PHI = re.compile(r"phi ptr ")
_INCOMING = re.compile(r"\[ (\{[0-9]+\})?")


def infer_global(function: llvm_ir.FuncOp) -> None:
    """Let ordered accesses of a kernel have global pointers where these come of its arguments alone.

    Weak accesses are left to LLVM, which infers the same of them.
    """
    if _KERNEL.match(function.text.data) is None:
        return
    ordered = [op for op in _accesses(function) if op.scope is not None and _is_generic(op.pointer)]
    if not ordered:
        return
    known = _global_pointers(function)
    for op in ordered:
        if op.pointer in known and _KEPT_TEXT not in op.attributes:
            _cast_pointer(op)


_KEPT_TEXT = "llvm_ir.asm"
"""The attribute of what was inline PTX, whose text says the address space by itself."""


def _accesses(function: llvm_ir.FuncOp) -> Iterator[scoped.AccessOperation]:
    for block in function.body.blocks:
        yield from (op for op in block.ops if isinstance(op, scoped.AccessOperation))


def _is_generic(value: SSAValue) -> bool:
    return value.type == _GENERIC


def _cast_pointer(op: scoped.AccessOperation) -> None:
    pointer = op.pointer
    made = llvm_ir.InstOp("addrspacecast ptr {0} to ptr addrspace(1)", [pointer], _GLOBAL)
    made.location = op.location
    made.results[0].name_hint = f"{pointer.name_hint}.global" if pointer.name_hint else "global"
    block_of(op).insert_op_before(made, op)
    place = next(n for n, each in enumerate(op.operands) if each is pointer)
    op.operands[place] = made.results[0]


def _global_pointers(function: llvm_ir.FuncOp) -> set[SSAValue]:
    """The greatest set of generic pointers that come of arguments and of one another alone."""
    found: set[SSAValue] = set(_pointer_arguments(function))
    sources: dict[SSAValue, list[SSAValue]] = {}
    for block in function.body.blocks:
        for op in block.ops:
            made_of = _sources(op)
            if made_of is not None:
                sources[op.results[0]] = made_of
    found.update(sources)
    while left := [
        value for value in sources if value in found and not found.issuperset(sources[value])
    ]:
        found.difference_update(left)
    return found


def _pointer_arguments(function: llvm_ir.FuncOp) -> Iterator[SSAValue]:
    pieces = llvm_ir.parse_template(function.text.data).pieces
    arguments = function.body.blocks[0].args
    for before, place in pairwise(pieces):
        if isinstance(before, str) and isinstance(place, int) and "byval" not in before:
            if _is_generic(arguments[place]):
                yield arguments[place]


def _sources(op: Operation) -> list[SSAValue] | None:
    """The pointers that ``op`` makes its own of; None if it makes none, or of something else too."""
    if not isinstance(op, llvm_ir.InstOp) or not op.results or not _is_generic(op.results[0]):
        return None
    text = op.text.data
    if _FROM_GLOBAL.match(text):
        return []
    if _SAME.match(text):
        return [op.operands[0]]
    if found := _SELECT.match(text):
        return [op.operands[int(found[1])], op.operands[int(found[2])]]
    if _PHI.match(text):
        incoming = _INCOMING.findall(text)
        return list(op.operands) if all(incoming) and len(incoming) == len(op.operands) else None
    return None
