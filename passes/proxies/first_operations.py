"""Which of chosen operations, such as barriers, a thread comes to next."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, Operation

from fencewright.lowering.code.dataflow import solve
from fencewright.passes.analysis.control_flow import block_graph

_Chosen = Callable[[Operation], bool]


def first_after(blocks: Sequence[Block], chosen: _Chosen) -> dict[Block, frozenset[Operation]]:
    """The ``chosen`` operations that come first on the paths from the end of each block."""
    ends = dict.fromkeys(blocks, frozenset[Operation]())

    def carry(block: Block, after: frozenset[Operation]) -> frozenset[Operation]:
        return first_from(block.first_op, block, {block: after}, chosen)

    return solve(block_graph(blocks).backward, ends, carry, lambda one, other: one | other)


def first_from(
    op: Operation | None,
    block: Block,
    after: Mapping[Block, frozenset[Operation]],
    chosen: _Chosen,
) -> frozenset[Operation]:
    """Those from ``op`` of a block on, if ``after`` are those after the end of each block."""
    while op is not None and not chosen(op):
        op = op.next_op
    return after[block] if op is None else frozenset({op})
