"""The instructions that come after or before one that is not known, on some path of either vendor's
code.

One that is not known may issue anything, wait for anything, and access every register and all
memory: nothing that can run after it, or before it, is known to be surplus.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from fencewright.lowering.code.graph import Graph, Node, graph_of

_Item = TypeVar("_Item")


def after(
    blocks: Sequence[Node],
    items: Sequence[Sequence[_Item]],
    is_unknown: Callable[[_Item], bool],
) -> Iterator[_Item]:
    """The ``items`` of numbered ``blocks`` that a path leads to from one that is not known."""
    yield from _after(graph_of(blocks), items, is_unknown)


def beside(
    blocks: Sequence[Node],
    items: Sequence[Sequence[_Item]],
    is_unknown: Callable[[_Item], bool],
) -> Iterator[_Item]:
    """The ``items`` of numbered ``blocks`` on a path after or before one that is not known."""
    graph = graph_of(blocks)
    yield from _after(graph, items, is_unknown)
    yield from _after(graph.backward, [[*reversed(block)] for block in items], is_unknown)


def _after(
    graph: Graph[int], items: Sequence[Sequence[_Item]], is_unknown: Callable[[_Item], bool]
) -> Iterator[_Item]:
    firsts = {
        number: place
        for number, block in enumerate(items)
        if (place := next((n for n, item in enumerate(block) if is_unknown(item)), None))
        is not None
    }
    reached = graph.reachable_after(firsts)
    for number, block in enumerate(items):
        if number in reached:
            yield from block
        elif number in firsts:
            yield from block[firsts[number] + 1 :]
