"""The loops of a control-flow graph, of either vendor's code."""

from collections.abc import Callable, Iterator, Sequence

from fencewright.lowering.code.graph import Graph, Node, graph_of


def loops_of(
    blocks: Sequence[Node], begin: Callable[[], Callable[[int], bool]] | None = None
) -> Iterator[tuple[int, frozenset[int]]]:
    """The head and the blocks of each natural loop, one for each edge that leads back.

    ``begin`` is called for each loop; what it returns, for each block of that. Where it answers no, the loop
    is left out and its other blocks are not looked for: in code with many jumps back they may be all.
    """
    backward = graph_of(blocks).backward
    for number, head in _back_edges(blocks):
        takes = _takes_all if begin is None else begin()
        body = _body(head, number, backward, takes)
        if body is not None:
            yield head, body


def _takes_all(_: int) -> bool:
    return True


def _body(
    head: int, last: int, backward: Graph[int], takes: Callable[[int], bool]
) -> frozenset[int] | None:
    """The blocks from which ``last`` is reached without the head; None if one is not taken."""
    is_taken = True

    def through(block: int) -> bool:
        nonlocal is_taken
        # After the first that is not taken, no path goes on.
        is_taken = is_taken and takes(block)
        return is_taken and block != head

    body = backward.reachable([last], through)
    return frozenset(body) if is_taken else None


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
