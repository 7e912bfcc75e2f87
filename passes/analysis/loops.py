"""The loops of a control-flow graph, and how often its blocks run, as far as they show."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Block

from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop

ROUNDS = 10
"""The assumed number of iterations of a loop: a guess, to weigh costs with.

Source: Wu and Larus, "Static Branch Frequency and Program Profile Analysis", 1994: a branch back
is taken 88 times of 100, which makes eight rounds, or about ten.
"""
_DEEPEST = 6
_LARGEST = 100_000
"""Of how many blocks all loops together may be, so that code generated without end costs little."""


def loops_of(graph: Graph[Block]) -> Mapping[Block, frozenset[Block]] | None:
    """The natural loops of code in reverse postorder, by their headers; None: too many."""
    bodies: dict[Block, frozenset[Block]] = {}
    size = 0
    for header, ends in by_head(back_edges(graph, graph.nodes)).items():
        body = natural_loop(graph, header, ends)
        assert body is not None
        bodies[header] = body
        size += len(body)
        if size > _LARGEST:
            return None
    return MappingProxyType(bodies)


def frequencies(
    blocks: Sequence[Block], loops: Mapping[Block, frozenset[Block]]
) -> dict[Block, int]:
    """The assumed frequency of each block: ten times as high for every loop that contains it."""
    depth = dict.fromkeys(blocks, 0)
    for body in loops.values():
        for block in body:
            depth[block] += 1
    return {block: ROUNDS ** min(depth[block], _DEEPEST) for block in blocks}
