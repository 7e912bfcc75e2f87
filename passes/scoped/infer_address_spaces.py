"""The pass ``infer-address-spaces``: generic pointers from the host are global."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IntAttr, ModuleOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.control_flow import (
    is_mlir_function,
    is_named,
    reachable_blocks,
    top_level,
)
from fencewright.passes.kernels.accept import Function

if TYPE_CHECKING:
    from xdsl.dialects import cf


@dataclass(frozen=True)
class InferAddressSpacesPass(ModulePass):
    """Make pointers to global memory of the generic ones that a kernel gets as arguments.

    Runs on ``scoped`` in kernels. The host fills a kernel's arguments, and knows neither LDS nor
    private memory: what is computed of them alone, and used as a pointer only, is global. Flat
    accesses become global ones, which count in vmcnt alone and in order, so that no wait has to
    cover LDS because of them. Kernels of litmus tests with locations in LDS stay as they are. In
    LLVM IR for NVIDIA ordered accesses get a cast of their pointer, for LLVM sees none in assembly,
    also to shared memory where the pointer was cast from it.
    Source: LLVM AMDGPUTargetMachine, getAssumedAddrSpace; MI300 ISA 10.2.2 (flat).
    """

    name = "infer-address-spaces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with_lds = kernels_with_lds_arguments(op)
        for each in top_level(op):
            if is_mlir_function(each) and each.sym_name.data not in with_lds:
                _infer(each)
        for each in op.ops:
            if each.name == _LLVM_IR_FUNCTION:
                _infer_in_llvm_ir(each)


_LLVM_IR_FUNCTION = "llvm_ir.func"


def _infer_in_llvm_ir(function: Operation) -> None:
    # That dialect is not imported for others.
    from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp
    from fencewright.passes.scoped.llvm_ir_address_spaces import infer_spaces

    assert isinstance(function, FuncOp)
    infer_spaces(function)


def kernels_with_lds_arguments(module: ModuleOp) -> frozenset[str]:
    """The kernels that a litmus test may give the address of a location in LDS."""
    found: set[str] = set()
    for test in module.ops:
        if test.name != "litmus.test":
            continue
        from fencewright.mlir_dialects.litmus import TestOp

        assert isinstance(test, TestOp)
        spaces = {location.address_space for location in test.locations}
        if AddressSpace.LOCAL in spaces:
            kernels = [thread.kernel for thread in test.threads]
            found.update(each.string_value() for each in kernels if each is not None)
    return frozenset(found)


_COMPUTE_POINTERS = frozenset({"llvm.getelementptr", "arith.select"})
_GLOBAL = LLVMPointerType(IntAttr(AddressSpace.GLOBAL.number))
_GENERIC = (LLVMPointerType(), LLVMPointerType(IntAttr(AddressSpace.GENERIC.number)))


def _infer(function: Function) -> None:
    if not function.body.blocks:
        return
    blocks = reachable_blocks(function.body)
    if next(_candidates(blocks), None) is None:
        return
    values = _known(blocks)
    for value in values:
        Rewriter.replace_value_with_new_type(value, _GLOBAL)
    if values:
        inputs = [argument.type for argument in function.body.blocks[0].args]
        function.function_type = FunctionType.from_lists(
            inputs, function.function_type.outputs.data
        )


def _known(blocks: list[Block]) -> list[SSAValue]:
    """The greatest set of generic pointers that come of arguments and are used as pointers only."""
    found = dict.fromkeys(_candidates(blocks))
    incoming = _incoming(blocks)
    while left := [value for value in found if not _holds(value, found.keys(), incoming)]:
        for value in left:
            del found[value]
    return list(found)


def _candidates(blocks: Iterable[Block]) -> Iterator[SSAValue]:
    for block in blocks:
        yield from filter(_is_generic, block.args)
        for op in operations(block):
            if op.name in _COMPUTE_POINTERS:
                yield from filter(_is_generic, op.results)


def _is_generic(value: SSAValue) -> bool:
    return isinstance(value.type, LLVMPointerType) and value.type in _GENERIC


def _incoming(blocks: Iterable[Block]) -> dict[SSAValue, list[SSAValue]]:
    """The values that branches pass to the arguments of blocks."""
    found: dict[SSAValue, list[SSAValue]] = {}
    for block in blocks:
        for target, values in _edges(block.last_op):
            for argument, value in zip(target.args, values, strict=True):
                found.setdefault(argument, []).append(value)
    return found


def _edges(branch: Operation | None) -> list[tuple[Block, list[SSAValue]]]:
    if is_named(branch, "cf.br"):
        return [(branch.successors[0], list(branch.operands))]
    if is_named(branch, "cf.cond_br"):
        conditional = cast("cf.ConditionalBranchOp", branch)
        return [
            (conditional.then_block, list(conditional.then_arguments)),
            (conditional.else_block, list(conditional.else_arguments)),
        ]
    return []


def _holds(
    value: SSAValue, found: Iterable[SSAValue], incoming: dict[SSAValue, list[SSAValue]]
) -> bool:
    """True if ``value`` comes from ``found`` or is a kernel's argument, and goes there only.

    No branch leads to a kernel's first block, so that nothing is incoming to its arguments.
    """
    sources: list[SSAValue] = []
    if isinstance(value, OpResult):
        sources = [each for each in value.op.operands if _is_generic(each)]
    elif isinstance(value, BlockArgument):
        sources = incoming.get(value, [])
        if len(sources) != len(value.block.predecessors()):
            return False
    return all(each in found for each in sources) and all(
        _may_be_global(use, found) for use in value.uses
    )


def _may_be_global(use: Use, found: Iterable[SSAValue]) -> bool:
    op = use.operation
    operand = op.operands[use.index]
    if isinstance(op, scoped.AccessOperation):
        others = [each for index, each in enumerate(op.operands) if index != use.index]
        return operand is op.pointer and operand not in others
    if op.name == "llvm.ptrtoint":
        return True
    if op.name in _COMPUTE_POINTERS:
        return op.results[0] in found
    return bool(_edges(op)) and all(
        argument in found
        for target, values in _edges(op)
        for argument, each in zip(target.args, values, strict=True)
        if each is operand
    )


class Obstacle(NamedTuple):
    """The reason that a pointer stays generic: ``by`` ``makes`` it, or gets it as a value.

    Or one that is computed of it or it of; without ``by`` nothing makes it.
    """

    by: Operation | None
    makes: bool


def obstacles(function: Function) -> Iterator[tuple[scoped.AccessOperation, Obstacle]]:
    """The accesses that stay generic, and the nearest cause for each."""
    blocks = reachable_blocks(function.body)
    known, candidates = {*_known(blocks)}, dict.fromkeys(_candidates(blocks))
    incoming = _incoming(blocks)
    for op in (op for block in blocks for op in operations(block)):
        if not isinstance(op, scoped.AccessOperation) or not _is_generic(op.pointer):
            continue
        if op.pointer not in known:
            yield op, _obstacle(op.pointer, candidates, incoming)


def _obstacle(
    pointer: SSAValue,
    candidates: Mapping[SSAValue, None],
    incoming: Mapping[SSAValue, list[SSAValue]],
) -> Obstacle:
    """The obstacle nearest to ``pointer`` along the pointers that are computed from one another."""
    left, seen = deque([pointer]), {pointer}
    while left:
        value = left.popleft()
        if value not in candidates:
            return Obstacle(value.owner if isinstance(value.owner, Operation) else None, True)
        for use in value.uses:
            if not _may_be_global(use, candidates):
                return Obstacle(use.operation, makes=False)
        related = [*incoming.get(value, ()), *_made_of(value)]
        if isinstance(value, OpResult):
            related += filter(_is_generic, value.op.operands)
        left += (each for each in related if each not in seen)
        seen.update(related)
    return Obstacle(None, makes=True)


def _made_of(value: SSAValue) -> Iterator[SSAValue]:
    """The pointers that are computed of one, and the arguments that it is handed to."""
    for use in value.uses:
        if use.operation.name in _COMPUTE_POINTERS:
            yield use.operation.results[0]
        for target, values in _edges(use.operation):
            for argument, each in zip(target.args, values, strict=True):
                if each is value:
                    yield argument
