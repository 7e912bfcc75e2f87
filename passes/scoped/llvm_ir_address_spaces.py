"""Generic pointers in LLVM IR for NVIDIA that are global or shared.

Source: LLVM NVPTXLowerArgs: what a CUDA kernel's pointer arguments point to is global memory,
but for those that are copies of structs (``byval``); LLVM InferAddressSpaces for casts.
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
_GENERIC = LLVMPointerType()
_SPACES = tuple(
    LLVMPointerType(IntAttr(each.number)) for each in (AddressSpace.GLOBAL, AddressSpace.LOCAL)
)
_GLOBAL = _SPACES[0]
_CAST = re.compile(r"addrspacecast ptr addrspace\((\d+)\) .* to ptr\b")
_OF_CONSTANT = re.compile(
    r"(?:getelementptr [^{(]*, ptr |getelementptr [^{(]*\([^{(]*, ptr )*"
    r"addrspacecast \(ptr addrspace\((\d+)\) "
)
_SAME = re.compile(r"(?:freeze ptr|bitcast ptr) \{0\}|getelementptr [^{]*, ptr \{0\}")
_SELECT = re.compile(r"select i1 [^,]*, ptr \{([0-9]+)\}, ptr \{([0-9]+)\}")
_PHI = re.compile(r"phi ptr ")
_INCOMING = re.compile(r"\[ (\{[0-9]+\})?")


def infer_spaces(function: llvm_ir.FuncOp) -> None:
    """Let ordered accesses have pointers to the one space that these come of.

    Global are a kernel's arguments; what is cast from a space is in that one. Weak accesses are
    left to LLVM, which infers the same of them.
    """
    ordered = [
        op
        for op in _accesses(function)
        if op.scope is not None and _is_generic(op.pointer) and _KEPT_TEXT not in op.attributes
    ]
    if not ordered:
        return
    seeds, sources = _seeds(function)
    for space in _SPACES:
        known = _pointers_to(space, seeds, sources)
        for op in ordered:
            if op.pointer in known:
                _cast_pointer(op, space)


_KEPT_TEXT = "llvm_ir.asm"
"""The attribute of operations from inline PTX, whose text says the address space by itself."""


def _accesses(function: llvm_ir.FuncOp) -> Iterator[scoped.AccessOperation]:
    for block in function.body.blocks:
        yield from (op for op in block.ops if isinstance(op, scoped.AccessOperation))


def _is_generic(value: SSAValue) -> bool:
    return value.type == _GENERIC


def _cast_pointer(op: scoped.AccessOperation, space: LLVMPointerType) -> None:
    pointer = op.pointer
    made = llvm_ir.InstOp(
        f"addrspacecast ptr {{0}} to {llvm_ir.type_to_text(space)}", [pointer], space
    )
    made.location = op.location
    name = "global" if space == _GLOBAL else "shared"
    made.results[0].name_hint = f"{pointer.name_hint}.{name}" if pointer.name_hint else name
    block_of(op).insert_op_before(made, op)
    place = next(n for n, each in enumerate(op.operands) if each is pointer)
    op.operands[place] = made.results[0]


_Seeds = dict[SSAValue, LLVMPointerType]
_Sources = dict[SSAValue, list[SSAValue]]


def _seeds(function: llvm_ir.FuncOp) -> tuple[_Seeds, _Sources]:
    """The generic pointers of which the space is known by themselves; the operands of others."""
    seeds: _Seeds = {}
    if _KERNEL.match(function.text.data):
        seeds = dict.fromkeys(_pointer_arguments(function), _GLOBAL)
    sources: _Sources = {}
    for block in function.body.blocks:
        for op in block.ops:
            if len(op.results) != 1 or not _is_generic(op.results[0]):
                continue
            space = _space_cast_from(op)
            if space is not None:
                seeds[op.results[0]] = space
            elif isinstance(op, llvm_ir.InstOp) and (made_of := _sources(op)) is not None:
                sources[op.results[0]] = made_of
    return seeds, sources


def _space_cast_from(op: Operation) -> LLVMPointerType | None:
    """The space that a value, or an element of a constant, is cast from."""
    if isinstance(op, llvm_ir.InstOp):
        found = _CAST.match(op.text.data) or _OF_CONSTANT.match(op.text.data)
    elif isinstance(op, llvm_ir.ConstantOp):
        found = _OF_CONSTANT.match(op.text.data)
    else:
        return None
    return LLVMPointerType(IntAttr(int(found[1]))) if found else None


def _pointers_to(space: LLVMPointerType, seeds: _Seeds, sources: _Sources) -> set[SSAValue]:
    """The greatest set of generic pointers to ``space`` that come of one another alone."""
    found = {value for value, each in seeds.items() if each == space}
    if not found:
        return found
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


def _sources(op: llvm_ir.InstOp) -> list[SSAValue] | None:
    """The pointers that ``op`` makes its own of; None if it makes none, or of something else
    too."""
    text = op.text.data
    if _SAME.match(text):
        return [op.operands[0]]
    if found := _SELECT.match(text):
        return [op.operands[int(found[1])], op.operands[int(found[2])]]
    if _PHI.match(text):
        incoming = _INCOMING.findall(text)
        return list(op.operands) if all(incoming) and len(incoming) == len(op.operands) else None
    return None
