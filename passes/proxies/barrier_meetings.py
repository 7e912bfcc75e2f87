"""Barriers of a work-group that meet though its threads are on different paths, or that are named.

Threads that meet at a barrier as a rule execute the same operation. Where a function gives its
threads different parts to play, each on a path of its own, they meet at different ones: the n-th
of one thread with the n-th of another. Source: PTX ISA, "bar, barrier".
"""

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation

from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.meetings import barriers_of
from fencewright.lowering.vocabulary import Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.passes.analysis.control_flow import block_graph, block_of, successors
from fencewright.passes.proxies.edges import Sync


def barriers_met(blocks: Sequence[Block]) -> Mapping[Operation, Sequence[Operation]]:
    """For every barrier of a work-group the others that other threads may be at when one is at it.

    Those are on paths apart from it, in step with it: no path leads from the one to the other,
    other than around a loop. Two threads are followed on all pairs of paths.
    ``blocks`` are in reverse postorder, the entry first.
    """
    barriers = {block: [op for op in block.ops if _is_of_work_group(op)] for block in blocks}
    order = [op for found in barriers.values() for op in found]
    if len(order) < 2:
        return {}
    apart = _Apart(blocks)
    return {
        one: [other for other in order if other in others and apart.are(one, other)]
        for one, others in barriers_of(block_graph(blocks), blocks[0], barriers).in_step().items()
    }


def is_named(op: Operation) -> bool:
    """True if it is at a barrier that has a number of its own."""
    return isinstance(op, ops.NamedBarrierOp)


def named_sync_of(op: Operation) -> Sync | None:
    """The synchronisation of an operation at a named barrier; None for any other."""
    if not isinstance(op, ops.NamedBarrierOp):
        return None
    return Sync(op, Scope.WORKGROUP, True, op.part.data is ops.BarrierPart.SYNC)


def meet_by_name(one: Sync, other: Sync) -> bool:
    """True if ``other`` waits at the named barrier of ``one``."""
    return other.acquires and one.op.properties["number"] == other.op.properties["number"]


def _is_of_work_group(op: Operation) -> bool:
    if not isinstance(op, scoped.BarrierOp) or op.scope is None:
        return False
    return op.scope.data is Scope.WORKGROUP


class _Apart:
    """Pairs of operations that no path connects in either direction, except around a loop."""

    def __init__(self, blocks: Sequence[Block]):
        number = {block: n for n, block in enumerate(blocks)}
        onward = Graph(
            tuple(blocks),
            {
                block: [target for target in successors(block) if number[target] > number[block]]
                for block in blocks
            },
        )
        self.after = {block: onward.reachable([block]) for block in blocks}

    def are(self, one: Operation, other: Operation) -> bool:
        here, there = block_of(one), block_of(other)
        return there not in self.after[here] and here not in self.after[there]
