"""The loops of a control-flow graph, of either vendor's code."""

from collections.abc import Iterator, Sequence
from typing import Protocol


class Node(Protocol):
    """A block of instructions that run one after another."""

    @property
    def successors(self) -> tuple[int, ...]:
        """The numbers of the blocks that may run next."""
        ...


def loops_of(blocks: Sequence[Node]) -> Iterator[tuple[int, frozenset[int]]]:
    """The head and the blocks of each natural loop, one for each edge that leads back."""
    before: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        for target in block.successors:
            before.setdefault(target, []).append(number)
    for number, head in _back_edges(blocks):
        body = {head, number}
        work = [number] if number != head else []
        while work:
            for each in before.get(work.pop(), ()):
                if each not in body:
                    body.add(each)
                    work.append(each)
        yield head, frozenset(body)


def _back_edges(blocks: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """The edges to a block that a walk from the first one is inside of."""
    if not blocks:
        return
    open_blocks, seen = {0}, {0}
    stack = [(0, iter(blocks[0].successors))]
    while stack:
        number, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            open_blocks.discard(number)
            stack.pop()
        elif target in open_blocks:
            yield number, target
        elif target not in seen:
            seen.add(target)
            open_blocks.add(target)
            stack.append((target, iter(blocks[target].successors)))
