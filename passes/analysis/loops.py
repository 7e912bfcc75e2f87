"""The loops of a control-flow graph, and how often its blocks run, as far as they show."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Block

from fencewright.passes.analysis.control_flow import block_graph, successors

ROUNDS = 10
"""How often a loop is taken to run: a guess, to weigh costs with.

Source: Wu and Larus, "Static Branch Frequency and Program Profile Analysis", 1994: a branch back
is taken 88 times of 100, which makes eight rounds, or about ten.
"""
_DEEPEST = 6
_LARGEST = 100_000
"""Of how many blocks all loops together may be, so that code generated without end costs little."""


def loops_of(blocks: Sequence[Block]) -> Mapping[Block, frozenset[Block]] | None:
    """The natural loops of ``blocks`` (in reverse postorder), by their headers; None: too many.

    Source: Aho, Sethi, Ullman, "Compilers", 10.4. Where a loop has several entries, it may be
    given more blocks than it has.
    """
    number = {block: n for n, block in enumerate(blocks)}
    back = [
        (block, target)
        for block in blocks
        for target in successors(block)
        if number[target] <= number[block]
    ]
    before = block_graph(blocks).predecessors
    bodies: dict[Block, set[Block]] = {}
    size = 0
    for end, header in back:
        body = bodies.setdefault(header, {header})
        size -= len(body)
        work = [end]
        while work:
            block = work.pop()
            if block not in body:
                body.add(block)
                work += before[block]
        size += len(body)
        if size > _LARGEST:
            return None
    return MappingProxyType({header: frozenset(body) for header, body in bodies.items()})


def frequencies(
    blocks: Sequence[Block], loops: Mapping[Block, frozenset[Block]]
) -> dict[Block, int]:
    """How often each block runs: ten times as often for every loop that it is in."""
    depth = dict.fromkeys(blocks, 0)
    for body in loops.values():
        for block in body:
            depth[block] += 1
    return {block: ROUNDS ** min(depth[block], _DEEPEST) for block in blocks}
