"""The arrivals whose phase each wait for the cluster barrier may be of.

Every thread of a cluster runs the function, each on a path of its own, and arrives and waits in
turn: what is the n-th arrival of one thread is complete when the n-th wait of another returns.
Source: PTX ISA, "barrier.cluster".
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Operation

from fencewright.lowering.code.meetings import barriers_of
from fencewright.mlir_dialects.scoped_async import ClusterArriveOp, ClusterWaitOp
from fencewright.passes.analysis.control_flow import block_graph

_Barriers: TypeAlias = frozenset[Operation]


def waits_for_arrivals(blocks: Sequence[Block]) -> Mapping[Operation, _Barriers]:
    """For every ``cluster_arrive`` of a function the waits of other threads that it may complete.

    Two threads are followed from phase to phase, on all pairs of paths, since nothing says that
    they take the same one. Where a path does not arrive and wait in turn, a phase may have begun
    elsewhere: then every wait is one for every arrival. A barrier of the cluster, at which all
    threads meet, is a phase of its own and changes nothing. ``blocks`` begin with the entry.
    """
    halves = {block: [op for op in block.ops if _is_barrier(op)] for block in blocks}
    barriers = barriers_of(block_graph(blocks), blocks[0], halves)
    begin, after = barriers.first, barriers.after
    if not _alternate(begin, after):
        waits = frozenset(op for op in after if isinstance(op, ClusterWaitOp))
        return {op: waits for op in after if isinstance(op, ClusterArriveOp)}
    return {
        op: frozenset(wait for other in others for wait in after[other])
        for op, others in barriers.in_step().items()
        if isinstance(op, ClusterArriveOp)
    }


def _is_barrier(op: Operation) -> bool:
    return isinstance(op, ClusterArriveOp | ClusterWaitOp)


def _alternate(begin: _Barriers, after: Mapping[Operation, _Barriers]) -> bool:
    """True if every path arrives first, and then waits and arrives in turn."""
    return all(isinstance(op, ClusterArriveOp) for op in begin) and all(
        type(later) is not type(op) for op, following in after.items() for later in following
    )
