"""Which waits for the cluster barrier may be of the phase of which arrivals.

Every thread of a cluster runs the function, each on a path of its own, and arrives and waits in
turn: what is the n-th arrival of one thread is complete when the n-th wait of another returns.
Source: PTX ISA, "barrier.cluster".
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from xdsl.ir import Block, Operation

from fencewright.lowering.code.graph import postorder
from fencewright.mlir_dialects.scoped_async import ClusterArriveOp, ClusterWaitOp
from fencewright.passes.proxies.first_operations import first_after, first_from

_Barriers: TypeAlias = frozenset[Operation]


def waits_for_arrivals(blocks: Sequence[Block]) -> Mapping[Operation, _Barriers]:
    """For every ``cluster_arrive`` of a function the waits of other threads that it may complete.

    Two threads are followed from phase to phase, on all pairs of paths, since nothing says that
    they take the same one. Where a path does not arrive and wait in turn, a phase may have begun
    elsewhere: then every wait is one for every arrival. A barrier of the cluster, at which all
    threads meet, is a phase of its own and changes nothing. ``blocks`` begin with the entry.
    """
    at_end = first_after(blocks, _is_barrier)
    after: dict[Operation, _Barriers] = {
        op: first_from(op.next_op, block, at_end, _is_barrier)
        for block in blocks
        for op in block.ops
        if _is_barrier(op)
    }
    begin = first_from(blocks[0].first_op, blocks[0], at_end, _is_barrier)
    if not _alternate(begin, after):
        waits = frozenset(op for op in after if isinstance(op, ClusterWaitOp))
        return {op: waits for op in after if isinstance(op, ClusterArriveOp)}
    return _in_step(begin, after)


def _is_barrier(op: Operation) -> bool:
    return isinstance(op, ClusterArriveOp | ClusterWaitOp)


def _in_step(begin: _Barriers, after: Mapping[Operation, _Barriers]) -> dict[Operation, _Barriers]:
    """The waits at which one thread may be for the phase that another arrives in."""

    def in_next_phase(both: tuple[Operation, Operation]) -> Iterator[tuple[Operation, Operation]]:
        for one, other in product(*map(after.__getitem__, both)):
            yield from product(after[one], after[other])

    waits_of: dict[Operation, _Barriers] = {}
    for one, other in postorder(product(begin, begin), in_next_phase):
        waits_of[one] = waits_of.get(one, frozenset()) | after[other]
    return waits_of


def _alternate(begin: _Barriers, after: Mapping[Operation, _Barriers]) -> bool:
    """Whether every path arrives first, and then waits and arrives in turn."""
    return all(isinstance(op, ClusterArriveOp) for op in begin) and all(
        type(later) is not type(op) for op, following in after.items() for later in following
    )
