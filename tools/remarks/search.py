"""Searches in the code around an operation, for the reasons that remarks give."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from xdsl.ir import Block, Operation, Region

from fencewright.passes.analysis.control_flow import block_graph, successors
from fencewright.passes.print.assembly import place_of

T = TypeVar("T")


class Judgement(Enum):
    """The answer of a search to a step: go past it, give up this path, or take it as the result."""

    ON = "on"
    STOP = "stop"
    FOUND = "found"


Judge: TypeAlias = Callable[[T], Judgement]
_Neighbours: TypeAlias = Callable[[Block], Iterable[Block]]


def finds(holds: Callable[[T], bool]) -> Judge[T]:
    """The judge that finds the first thing of which ``holds``, on every path."""
    return lambda each: Judgement.FOUND if holds(each) else Judgement.ON


@dataclass(frozen=True, slots=True)
class _Marks(Generic[T]):
    """The things of a block that a judge does not pass by, and the nearest ones beyond its ends."""

    indices: list[int]
    found: list[T | None]
    beyond: dict[int, T | None] = field(default_factory=dict[int, T | None])


class Lines(Generic[T]):
    """The code of blocks as it is now, independent of later changes by a pass.

    ``lines``: what stands in each block, in order: operations, or what is made of them.
    """

    def __init__(self, lines: Mapping[Block, Sequence[T]]):
        self.lines = lines
        self.place = {
            each: (block, index) for block, line in lines.items() for index, each in enumerate(line)
        }
        self.predecessors = block_graph(lines).predecessors

        self._marks: dict[tuple[Judge[T], Block], _Marks[T]] = {}

    def earlier(self, item: T, judge: Judge[T]) -> T | None:
        """The nearest thing before ``item``, on some path to it, that ``judge`` finds.

        A ``judge`` is asked once about each thing, so whoever asks about many items should
        ask with one judge.
        """
        block, index = self.place[item]
        marks = self._marks_of(judge, block)
        at = bisect_left(marks.indices, index)
        if at:
            return marks.found[at - 1]
        return self._beyond(judge, block, lambda each: self.predecessors.get(each, ()), -1)

    def later(self, item: T, judge: Judge[T]) -> T | None:
        """The nearest thing after ``item``, on some path from it, that ``judge`` finds."""
        block, index = self.place[item]
        marks = self._marks_of(judge, block)
        at = bisect_right(marks.indices, index)
        if at < len(marks.indices):
            return marks.found[at]
        return self._beyond(judge, block, successors, 0)

    def _marks_of(self, judge: Judge[T], block: Block) -> "_Marks[T]":
        """The ends of the search in ``block``, with its findings: None if it gives up."""
        known = self._marks.get((judge, block))
        if known is None:
            known = self._marks[judge, block] = _Marks([], [])
            for index, each in enumerate(self.lines.get(block, ())):
                verdict = judge(each)
                if verdict is not Judgement.ON:
                    known.indices.append(index)
                    known.found.append(each if verdict is Judgement.FOUND else None)
        return known

    def _beyond(self, judge: Judge[T], block: Block, neighbours: _Neighbours, end: int) -> T | None:
        """The nearest thing in the blocks next to ``block``; each is entered at its ``end``."""
        known = self._marks_of(judge, block).beyond
        if end not in known:
            known[end] = self._search(judge, block, neighbours, end)
        return known[end]

    def _search(self, judge: Judge[T], block: Block, neighbours: _Neighbours, end: int) -> T | None:
        queue, seen = deque([block]), set[Block]()
        while queue:
            for target in neighbours(queue.popleft()):
                if target in seen:
                    continue
                seen.add(target)
                found = self._marks_of(judge, target).found
                if not found:
                    queue.append(target)
                elif found[end] is not None:
                    return found[end]
        return None


OperationLines: TypeAlias = Lines[Operation]


def code_in(regions: Iterable[Region]) -> OperationLines:
    """The operations of regions with control flow of their own."""
    return Lines({block: list(block.ops) for region in regions for block in region.blocks})


def code_around(op: Operation) -> OperationLines:
    """The operations of the function that ``op`` is in."""
    block = op.parent
    assert block is not None
    region = block.parent
    assert region is not None
    return code_in((region,))


def line_after(op: Operation) -> int | None:
    """The line of the next operation from the input."""

    def judge(each: Operation) -> Judgement:
        return Judgement.ON if place_of(each) is None else Judgement.FOUND

    found = code_around(op).later(op, judge)
    place = None if found is None else place_of(found)
    return None if place is None else place.line
