"""Waits for groups of asynchronous copies, as counts of those that may still be outstanding.

A wait leaves the newest groups alone, whose copies have to be counted: asynccnt goes down in order
of issue, within loads and within stores. Where paths join, the fewest on any path count.
Source: LLVM 24 AMDGPUAsyncOperations, asyncmark; AMDGPUUsage, Memory Model GFX125x, ASYNCcnt.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    AsyncMarkOp,
    AsyncOp,
    AsyncWaitOp,
    KernelOp,
    WaitOp,
    chip_of,
)
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.control_flow import block_graph, reachable_blocks

Ages: TypeAlias = tuple[int, ...]
"""For each mark, the newest first, at least how many copies have been issued since."""


def resolve_async_waits(kernel: KernelOp) -> None:
    """Make each ``cdna.async_wait`` a wait of asynccnt, or nothing, and take the marks away."""
    blocks = reachable_blocks(kernel.body)
    ops = {block: [op for op in operations(block) if type(op) in _RELEVANT] for block in blocks}
    waits = [op for block in blocks for op in ops[block] if isinstance(op, AsyncWaitOp)]
    if waits:
        _resolve(kernel, ops, most=1 + max(each.pending.value.data for each in waits))
    for block in blocks:
        for op in ops[block]:
            if isinstance(op, AsyncMarkOp | AsyncWaitOp):
                Rewriter.erase_op(op)


_RELEVANT = frozenset({AsyncOp, AsyncMarkOp, AsyncWaitOp})


def _resolve(kernel: KernelOp, ops: Mapping[Block, Sequence[Operation]], most: int) -> None:
    limit = chip_of(kernel).counters[Counter.ASYNCCNT] - 1
    in_order = len(_directions(ops)) <= 1

    def after(op: Operation, ages: Ages) -> Ages:
        if isinstance(op, AsyncOp):
            return tuple(min(age + 1, limit) for age in ages)
        return (0, *ages)[:most] if isinstance(op, AsyncMarkOp) else ages

    def carry(block: Block, ages: Ages) -> Ages:
        for op in ops[block]:
            ages = after(op, ages)
        return ages

    blocks = list(ops)
    entry = solve(block_graph(blocks), {blocks[0]: ()}, carry, _join)
    for block in blocks:
        ages = entry[block]
        for op in ops[block]:
            if isinstance(op, AsyncWaitOp) and op.pending.value.data < len(ages):
                count = ages[op.pending.value.data] if in_order else 0
                wait = WaitOp.of(WaitCounts(asynccnt=count), PHASES[Phase.WAIT], _SOURCE)
                wait.location = op.location
                block.insert_op_before(wait, op)
            ages = after(op, ages)


_SOURCE = StringAttr("LLVM 24 AMDGPUAsyncOperations: a wait leaves the newest groups alone")


def _directions(ops: Mapping[Block, Sequence[Operation]]) -> set[bool]:
    """The directions of the copies: whether they write LDS."""
    return {op.row.into_lds for block in ops.values() for op in block if isinstance(op, AsyncOp)}


def _join(one: Ages, other: Ages) -> Ages:
    """The join of two paths; a mark that only one has counts as it does there."""
    longer = max(one, other, key=len)
    shorter = min(one, other, key=len)
    return (*map(min, one, other), *longer[len(shorter) :])
