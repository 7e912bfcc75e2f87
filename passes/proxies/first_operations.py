"""Which of chosen operations, such as barriers, a thread comes to next."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, Operation

from fencewright.passes.analysis.control_flow import successors


def first_in(
    blocks: Sequence[Block], chosen: Callable[[Operation], bool]
) -> dict[Block, frozenset[Operation]]:
    """The ``chosen`` operations that come first on the paths from the beginning of each block."""
    found: dict[Block, frozenset[Operation]] = dict.fromkeys(blocks, frozenset())
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            first = first_from(block.first_op, block, found, chosen)
            changed |= first != found[block]
            found[block] = first
    return found


def first_from(
    op: Operation | None,
    block: Block,
    first: Mapping[Block, frozenset[Operation]],
    chosen: Callable[[Operation], bool],
) -> frozenset[Operation]:
    """Those from ``op`` of a block on, if ``first`` are those of the blocks after it."""
    while op is not None and not chosen(op):
        op = op.next_op
    if op is not None:
        return frozenset({op})
    return frozenset(each for successor in successors(block) for each in first[successor])
