"""The pass ``infer-address-spaces``: what the host passes as generic pointers is global."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, gpu, llvm
from xdsl.dialects.builtin import FunctionType, IntAttr, ModuleOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.passes.kernel_frontend import Function, reachable_blocks, top_level


@dataclass(frozen=True)
class InferAddressSpacesPass(ModulePass):
    """Make pointers to global memory of the generic ones that a kernel gets as arguments.

    Runs on ``scoped`` in kernels. The host fills a kernel's arguments, and knows neither LDS nor
    private memory: what is computed of them alone, and used as a pointer only, is global. Flat
    accesses become global ones, which count in vmcnt alone and in order, so that no wait has to
    cover LDS because of them. Kernels of litmus tests with locations in LDS stay as they are.
    Source: LLVM AMDGPUTargetMachine, getAssumedAddrSpace; MI300 ISA 10.2.2 (flat).
    """

    name = "infer-address-spaces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with_lds = kernels_with_lds_arguments(op)
        for each in top_level(op):
            if isinstance(each, func.FuncOp | gpu.FuncOp) and each.sym_name.data not in with_lds:
                _infer(each)


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


_GLOBAL = LLVMPointerType(IntAttr(AddressSpace.GLOBAL.number))
_GENERIC = (LLVMPointerType(), LLVMPointerType(IntAttr(AddressSpace.GENERIC.number)))


def _infer(function: Function) -> None:
    if not function.body.blocks:
        return
    blocks = reachable_blocks(function.body)
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
    changed = True
    while changed:
        left = [value for value in found if not _holds(value, found.keys(), incoming, blocks[0])]
        for value in left:
            del found[value]
        changed = bool(left)
    return list(found)


def _candidates(blocks: Iterable[Block]) -> Iterator[SSAValue]:
    for block in blocks:
        yield from filter(_is_generic, block.args)
        for op in block.ops:
            if isinstance(op, llvm.GEPOp | arith.SelectOp):
                yield from filter(_is_generic, op.results)


def _is_generic(value: SSAValue) -> bool:
    return isinstance(value.type, LLVMPointerType) and value.type in _GENERIC


def _incoming(blocks: Iterable[Block]) -> dict[SSAValue, list[SSAValue]]:
    """What the branches hand to the arguments of blocks."""
    found: dict[SSAValue, list[SSAValue]] = {}
    for block in blocks:
        for target, values in _edges(block.last_op):
            for argument, value in zip(target.args, values, strict=True):
                found.setdefault(argument, []).append(value)
    return found


def _edges(branch: Operation | None) -> list[tuple[Block, list[SSAValue]]]:
    if isinstance(branch, cf.BranchOp):
        return [(branch.successor, list(branch.arguments))]
    if isinstance(branch, cf.ConditionalBranchOp):
        return [
            (branch.then_block, list(branch.then_arguments)),
            (branch.else_block, list(branch.else_arguments)),
        ]
    return []


def _holds(
    value: SSAValue,
    found: Iterable[SSAValue],
    incoming: dict[SSAValue, list[SSAValue]],
    entry: Block,
) -> bool:
    """Whether ``value`` comes of ``found`` or is a kernel's argument, and goes there only."""
    sources: list[SSAValue] = []
    if isinstance(value, OpResult):
        sources = [each for each in value.op.operands if _is_generic(each)]
    elif isinstance(value, BlockArgument) and value.block is not entry:
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
    if isinstance(op, llvm.PtrToIntOp):
        return True
    if isinstance(op, llvm.GEPOp | arith.SelectOp):
        return op.results[0] in found
    return bool(_edges(op)) and all(
        argument in found
        for target, values in _edges(op)
        for argument, each in zip(target.args, values, strict=True)
        if each is operand
    )
