"""Control flow of a function: its graph, the blocks that are reached, the operations of a
module."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeGuard, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from fencewright.lowering.code.graph import Graph, postorder
from fencewright.mlir_dialects.leaf_operation import successors_of

if TYPE_CHECKING:
    from xdsl.dialects import cf, func, gpu

_MODULE = "gpu.module"
_FUNCTIONS = ("func.func", "gpu.func")
"""Names of MLIR's own dialects, which are imported where a module has something of them: each is a
twentieth of a short run. Whoever asks for an operation of theirs asks for its name."""


def top_level(module: ModuleOp) -> Iterator[Operation]:
    """The operations of a module and of the ``gpu.module`` in it."""
    for op in module.ops:
        if op.name == _MODULE:
            yield from op.regions[0].ops
        else:
            yield op


def is_mlir_function(op: Operation | None) -> "TypeGuard[func.FuncOp | gpu.FuncOp]":
    """True if ``op`` is a function of one of MLIR's own dialects."""
    return op is not None and op.name in _FUNCTIONS


def is_named(op: Operation | None, name: str) -> TypeGuard[Operation]:
    """True if ``op`` has this name: the test for operations of MLIR's own dialects."""
    return op is not None and op.name == name


def reachable_blocks(body: Region) -> list[Block]:
    """The blocks that control can reach, in reverse postorder: definitions come before uses."""
    return postorder([body.blocks[0]], successors)[::-1]


def successors(block: Block) -> list[Block]:
    """The successors of ``block``."""
    last = block.last_op
    return [] if last is None else list(successors_of(last))


def block_graph(blocks: Iterable[Block]) -> Graph[Block]:
    """The control-flow graph of ``blocks`` (best in reverse postorder), which go nowhere else."""
    nodes = tuple(blocks)
    return Graph(nodes, {block: successors(block) for block in nodes})


def fed_by(user: Operation, operand: int) -> Iterable[SSAValue]:
    """The values that operand ``operand`` of ``user`` flows into: arguments of blocks, or
    results."""
    if user.name == "cf.br":
        return (user.successors[0].args[operand],)
    if user.name == "cf.cond_br":
        branch = cast("cf.ConditionalBranchOp", user)
        if operand == 0:
            return ()
        split = operand - 1 - len(branch.then_arguments)
        into_then = split < 0
        return (
            branch.then_block.args[operand - 1] if into_then else branch.else_block.args[split],
        )
    return user.results


def block_of(op: Operation) -> Block:
    """The block that ``op`` is in."""
    assert op.parent is not None
    return op.parent
