"""Searches in the code around an operation, for the reasons that remarks give."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from xdsl.ir import Block, Operation, Region

from fencewright.passes.kernel_frontend import predecessors, successors
from fencewright.passes.remarks import place_of

T = TypeVar("T")


class Verdict(Enum):
    """Whether a search goes on behind what it has met, gives up this way, or has found it."""

    ON = "on"
    STOP = "stop"
    FOUND = "found"


class Lines(Generic[T]):
    """The code of blocks as it is now, whatever a pass then does to it.

    ``lines``: what stands in each block, in order: operations, or what is made of them.
    """

    def __init__(self, lines: Mapping[Block, Sequence[T]]):
        self.lines = lines
        self.place = {
            each: (block, index) for block, line in lines.items() for index, each in enumerate(line)
        }
        self.predecessors = predecessors(lines)

    def earlier(self, item: T, judge: Callable[[T], Verdict]) -> T | None:
        """The nearest thing before ``item``, on some way to it, that ``judge`` finds."""
        block, index = self.place[item]
        return _nearest(
            self.lines[block][:index][::-1],
            block,
            lambda each: self.lines.get(each, ())[::-1],
            lambda each: self.predecessors.get(each, ()),
            judge,
        )

    def later(self, item: T, judge: Callable[[T], Verdict]) -> T | None:
        """The nearest thing behind ``item``, on some way from it, that ``judge`` finds."""
        block, index = self.place[item]
        behind = self.lines[block][index + 1 :]
        return _nearest(behind, block, lambda each: self.lines.get(each, ()), successors, judge)


Code: TypeAlias = Lines[Operation]


def code_in(regions: Iterable[Region]) -> Code:
    """The operations of regions with control flow of their own."""
    return Lines({block: list(block.ops) for region in regions for block in region.blocks})


def code_around(op: Operation) -> Code:
    """The operations of the function that ``op`` is in."""
    block = op.parent
    assert block is not None
    region = block.parent
    assert region is not None
    return code_in((region,))


def line_behind(op: Operation) -> int | None:
    """The line of what comes next from the input."""

    def judge(each: Operation) -> Verdict:
        return Verdict.ON if place_of(each) is None else Verdict.FOUND

    found = code_around(op).later(op, judge)
    place = None if found is None else place_of(found)
    return None if place is None else place.line


def _nearest(
    first: Sequence[T],
    block: Block,
    lines: Callable[[Block], Sequence[T]],
    neighbours: Callable[[Block], Iterable[Block]],
    judge: Callable[[T], Verdict],
) -> T | None:
    """The nearest thing that ``judge`` finds: behind ``first``, then in block after block."""
    queue, seen = deque([(first, block)]), set[Block]()
    while queue:
        line, here = queue.popleft()
        for each in line:
            verdict = judge(each)
            if verdict is Verdict.FOUND:
                return each
            if verdict is Verdict.STOP:
                break
        else:
            for target in neighbours(here):
                if target not in seen:
                    seen.add(target)
                    queue.append((lines(target), target))
    return None
