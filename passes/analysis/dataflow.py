"""Fixpoints over a control-flow graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.ir import Block

from fencewright.passes.analysis.control_flow import successors

T = TypeVar("T")


def solve_forward(
    blocks: Sequence[Block],
    entry: Mapping[Block, T],
    carry: Callable[[Block, T], T],
    join: Callable[[T, T], T],
) -> dict[Block, T]:
    """The state where each of ``blocks`` (best in reverse postorder) begins, a fixpoint.

    ``entry``: where control comes from elsewhere; ``carry``: the state at the end of a block;
    ``join``: what holds on either path. States have to change in one direction, a finite number
    of times.
    """
    begin = dict(entry)
    pending = set(entry)
    while pending:
        for block in blocks:
            if block not in pending:
                continue
            pending.discard(block)
            targets = successors(block)
            if not targets:
                continue
            state = carry(block, begin[block])
            for target in targets:
                known = begin.get(target)
                joined = state if known is None else join(known, state)
                if known is None or joined != known:
                    begin[target] = joined
                    pending.add(target)
    return begin
