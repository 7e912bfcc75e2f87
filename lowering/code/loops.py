"""The loops of a control-flow graph, of either vendor's code."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fencewright.lowering.code.graph import Node


def loops_of(
    blocks: Sequence[Node], begin: Callable[[], Callable[[int], bool]] | None = None
) -> Iterator[tuple[int, frozenset[int]]]:
    """The head and the blocks of each natural loop, one for each edge that leads back.

    ``begin`` is called for each loop; what it returns, for each block of that. Where it answers no, the loop
    is left out and its other blocks are not looked for: in code with many jumps back they may be all.
    """
    before: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        for target in block.successors:
            before.setdefault(target, []).append(number)
    for number, head in _back_edges(blocks):
        takes = _takes_all if begin is None else begin()
        body = _body(head, number, before, takes)
        if body is not None:
            yield head, body


def _takes_all(_: int) -> bool:
    return True


def _body(
    head: int, last: int, before: Mapping[int, Sequence[int]], takes: Callable[[int], bool]
) -> frozenset[int] | None:
    """The blocks from which ``last`` is reached without the head; None if one is not taken."""
    body = {head, last}
    work = [last] if last != head else []
    if not all(map(takes, body)):
        return None
    while work:
        for each in before.get(work.pop(), ()):
            if each not in body:
                if not takes(each):
                    return None
                body.add(each)
                work.append(each)
    return frozenset(body)


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
