"""Read-modify-writes that no acquire fence follows, so that PTX's ``red`` can stand for them.

A read-modify-write whose result nobody uses, and an acquire fence after it, synchronise with
the release that it has read from (C++20 [atomics.fences]); ``red`` and a fence do not (PTX ISA,
Release and Acquire Patterns). Where no path to the thread's end has such a fence, the two
cannot be told apart. Barriers are no fences here: what a read-modify-write has seen reaches
nobody through one, neither in the source's model nor in PTX's, and ptxas 13.5 makes ``red`` of
an ``atom`` before ``barrier.sync`` and ``barrier.cluster``, but of none before a fence.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from fencewright.lowering.code.graph import Graph
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.control_flow import block_graph

_ACCESS = "llvm_ir.access"
"""On inline PTX that is an access (mlir_dialects/llvm_ir/inline_ptx.py): that is imported for no
others."""
_CALL = re.compile(r"(?:(?:tail |musttail |notail )?call|invoke|callbr)\b")
_FENCELESS_CALL = re.compile(r"[^\"]*?@llvm\.(?:nvvm\.read\.|(?!nvvm\.))")
"""A call of one of LLVM's own intrinsics, or of one that reads an id: no inline assembly."""


def unfenced_updates(blocks: Sequence[Block], *, ends_thread: bool) -> frozenset[Operation]:
    """The ``scoped.atomic_rmw`` of unused result that no acquire fence can follow."""

    def is_unused(op: Operation) -> bool:
        return type(op) is scoped.AtomicRmwOp and op.old.first_use is None

    return frozenset(unfenced(blocks, is_unused, ends_thread=ends_thread))


def unfenced(
    blocks: Sequence[Block], wanted: Callable[[Operation], bool], *, ends_thread: bool
) -> list[Operation]:
    """The operations that are ``wanted`` and that no acquire fence can follow.

    ``blocks``: all that control can reach; ``ends_thread``: no caller continues after their end.
    Calls and operations that are not known are taken for fences.
    """
    graph = block_graph(blocks)
    branches = any(graph.successors.values())
    fenced = _blocks_before_fences(graph, ends_thread) if branches else set[Block]()
    found: list[Operation] = []
    for block in blocks:
        follows = block in fenced if graph.successors[block] else not ends_thread
        for op in reversed(operations(block)):
            follows = follows or may_be_acquire_fence(op)
            if not follows and wanted(op):
                found.append(op)
    return found


def may_be_acquire_fence(op: Operation) -> bool:
    """True if an earlier relaxed read can be acquired by ``op``."""
    if type(op) is scoped.FenceOp:
        return op.ordering.data.acquires
    if _is_no_fence(type(op)):
        return False
    if op.name in SILENT or is_side_effect_free(op):
        return False
    text = op.properties.get("text")
    if _ACCESS in op.attributes:
        return False
    if op.name in ("llvm_ir.inst", "llvm_ir.terminator") and isinstance(text, StringAttr):
        call = _CALL.match(text.data)
        return call is not None and _FENCELESS_CALL.match(text.data, call.end()) is None
    return op.name != "llvm_ir.label"


@cache
def _is_no_fence(kind: type[Operation]) -> bool:
    return issubclass(kind, (scoped.ScopedOperation, llvm.AllocaOp))


def _blocks_before_fences(graph: Graph[Block], ends_thread: bool) -> set[Block]:
    """The blocks with an edge from which some path leads to an acquire fence, maybe a caller's."""
    fences = (
        block
        for block in graph.nodes
        if any(map(may_be_acquire_fence, block.ops)) or not (graph.successors[block] or ends_thread)
    )
    return graph.backward.reachable_after(fences)


SILENT = frozenset(
    {
        "arith.constant",
        "cf.br",
        "cf.cond_br",
        "func.return",
        "gpu.return",
        "gpu.thread_id",
        "gpu.block_id",
        "gpu.block_dim",
        "gpu.grid_dim",
        "llvm_ir.constant",
        "llvm_ir.label",
        "llvm_ir.pack",
        "llvm_ir.slice",
    }
)
"""Operations that have nothing to do with memory, though they are no pure values, and those of
which LLVM IR has so many that their traits take long to ask. By name: no dialect is imported for
others."""
