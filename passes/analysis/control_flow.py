"""Control flow of a function: its graph, the blocks that are reached, the operations of a module."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from fencewright.lowering.code.graph import Graph
from fencewright.mlir_dialects.leaf_operation import successors_of

if TYPE_CHECKING:
    from xdsl.dialects import func, gpu

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
    """Whether ``op`` is a function of one of MLIR's own dialects."""
    return op is not None and op.name in _FUNCTIONS


def is_named(op: Operation | None, name: str) -> TypeGuard[Operation]:
    """Whether there is an operation of this name: how those of MLIR's own dialects are told apart."""
    return op is not None and op.name == name


def reachable_blocks(body: Region) -> list[Block]:
    """The blocks that control can reach, in reverse postorder: definitions come before uses."""
    return postorder([body.blocks[0]], successors)[::-1]


def postorder(
    entries: Iterable[Block], following: Callable[[Block], Iterable[Block]]
) -> list[Block]:
    """The blocks that ``following`` leads to from ``entries``, each after those that it leads to."""
    seen, found = set[Block](), list[Block]()
    for entry in entries:
        seen.add(entry)
        stack = [(entry, iter(following(entry)))]
        while stack:
            block, rest = stack[-1]
            for each in rest:
                if each not in seen:
                    seen.add(each)
                    stack.append((each, iter(following(each))))
                    break
            else:
                found.append(block)
                stack.pop()
    return found


def successors(block: Block) -> list[Block]:
    """Where control goes from the end of ``block``."""
    last = block.last_op
    return [] if last is None else list(successors_of(last))


def block_graph(blocks: Iterable[Block]) -> Graph[Block]:
    """The control-flow graph of ``blocks`` (best in reverse postorder), which go nowhere else."""
    nodes = tuple(blocks)
    return Graph(nodes, {block: successors(block) for block in nodes})


def block_of(op: Operation) -> Block:
    """The block that ``op`` is in."""
    assert op.parent is not None
    return op.parent
