"""The instructions that come after or before one that is not known, on some path of either vendor's code.

One that is not known may issue anything, wait for anything, and access every register and all memory: nothing
that can run after it, or before it, is known to be surplus.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from fencewright.lowering.code.graph import Node

_Item = TypeVar("_Item")


def after(
    blocks: Sequence[Node],
    items: Sequence[Sequence[_Item]],
    is_unknown: Callable[[_Item], bool],
) -> Iterator[_Item]:
    """The ``items`` of numbered ``blocks`` that a path leads to from one that is not known."""
    yield from _after([each.successors for each in blocks], items, is_unknown)


def beside(
    blocks: Sequence[Node],
    items: Sequence[Sequence[_Item]],
    is_unknown: Callable[[_Item], bool],
) -> Iterator[_Item]:
    """The ``items`` of numbered ``blocks`` on a path after or before one that is not known."""
    yield from after(blocks, items, is_unknown)
    predecessors: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for target in block.successors:
            predecessors[target].append(number)
    yield from _after(predecessors, [[*reversed(each)] for each in items], is_unknown)


def _after(
    following: Sequence[Iterable[int]],
    items: Sequence[Sequence[_Item]],
    is_unknown: Callable[[_Item], bool],
) -> Iterator[_Item]:
    firsts = {
        number: place
        for number, block in enumerate(items)
        if (place := next((n for n, each in enumerate(block) if is_unknown(each)), None))
        is not None
    }
    reached: set[int] = set()
    waiting = [target for number in firsts for target in following[number]]
    while waiting:
        number = waiting.pop()
        if number not in reached:
            reached.add(number)
            waiting += following[number]
    for number, block in enumerate(items):
        if number in reached:
            yield from block
        elif number in firsts:
            yield from block[firsts[number] + 1 :]
