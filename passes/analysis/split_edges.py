"""Edges from block to block, and blocks of their own on them, in any of the dialects here."""

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter

from fencewright.passes.analysis.control_flow import block_of

if TYPE_CHECKING:
    from fencewright.mlir_dialects.llvm_ir.dialect import InstOp, LabelOp

NAME = "edge"
"""The name of blocks that are inserted on edges, in dialects whose blocks have names."""


class Edges:
    """Puts blocks on edges out of blocks; ``made`` are those that it has put there."""

    def __init__(self) -> None:
        self.made: set[Block] = set()
        self._names: dict[Region, Iterator[str]] = {}

    def end_of(self, block: Block, index: int) -> Operation:
        """The branch before which to put operations for the edge ``index`` out of ``block`` alone.

        That of ``block`` itself if it has no other edge out, or of a block on the edge.
        """
        last = _last(block)
        if len(last.successors) == 1:
            return last
        target = last.successors[index]
        return _last(target if target in self.made else self._split(last, index))

    def _split(self, branch: Operation, index: int) -> Block:
        target, region = branch.successors[index], _region_of(block_of(branch))
        if branch.name == "llvm_ir.terminator":
            made = self._split_llvm_ir(branch, index, region)
        else:
            made = _split_conditional(branch, index)
        self.made.add(made)
        region.insert_block_before(made, target)
        return made

    def _split_llvm_ir(self, branch: Operation, index: int, region: Region) -> Block:
        """Other operations than the new block's know blocks by name: the phis of the target."""
        from fencewright.mlir_dialects.llvm_ir.dialect import LabelOp, TerminatorOp

        target = branch.successors[index]
        if region not in self._names:
            self._names[region] = _free_names(region)
        name = next(self._names[region])
        go_on = TerminatorOp.create(
            properties={"text": StringAttr("br label {^0}")}, successors=[target]
        )
        made = Block([LabelOp(name), go_on])
        branch.successors = [*branch.successors[:index], made, *branch.successors[index + 1 :]]
        came_from = f", %{cast('LabelOp', block_of(branch).first_op).text.data} ]"
        for op in target.ops:
            if op.name == "llvm_ir.inst" and (phi := cast("InstOp", op)).opcode == "phi":
                text = phi.text.data.replace(came_from, f", %{name} ]", 1)
                phi.properties["text"] = StringAttr(text)
        return made


def first_in(block: Block) -> Operation:
    """The first operation of a block that others may be put before: after labels and phis."""
    return next(op for op in block.ops if not _comes_first(op))


def _comes_first(op: Operation) -> bool:
    if op.name == "llvm_ir.inst":
        instruction = cast("InstOp", op)
        return instruction.opcode == "phi" or instruction.is_debug_record
    return op.name == "llvm_ir.label"


_ARGUMENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "cf.cond_br": ("then_arguments", "else_arguments"),
        "cdna.s_cbranch": ("true_arguments", "false_arguments"),
    }
)
"""Names of the values that conditional branches pass on; the condition stands before them."""


def _split_conditional(branch: Operation, index: int) -> Block:
    """The new block passes on the values that the branch passed on."""
    assert isinstance(branch, IRDLOperation)
    arguments = [list(getattr(branch, name)) for name in _ARGUMENTS[branch.name]]
    go_on = _go_on(branch).create(operands=arguments[index], successors=[branch.successors[index]])
    made = Block([go_on])
    arguments[index] = []
    targets = [*branch.successors[:index], made, *branch.successors[index + 1 :]]
    made_branch = type(branch).build(operands=[branch.operands[0], *arguments], successors=targets)
    made_branch.location = branch.location
    block = block_of(branch)
    block.insert_op_before(made_branch, branch)
    Rewriter.erase_op(branch)
    return made


def _go_on(branch: Operation) -> type[Operation]:
    """The unconditional branch of a dialect, which is only imported where it is used."""
    if branch.name.startswith("cdna."):
        from fencewright.mlir_dialects.cdna import BranchOp

        return BranchOp
    from xdsl.dialects import cf

    return cf.BranchOp


def _free_names(region: Region) -> Iterator[str]:
    """Names that no block of a function in LLVM IR has."""
    from fencewright.mlir_dialects.llvm_ir.dialect import LabelOp

    firsts = [block.first_op for block in region.blocks]
    taken = {op.text.data for op in firsts if isinstance(op, LabelOp)}
    names = (f"{NAME}{number or ''}" for number in count())
    return (name for name in names if name not in taken)


def _last(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def _region_of(block: Block) -> Region:
    assert block.parent is not None
    return block.parent
