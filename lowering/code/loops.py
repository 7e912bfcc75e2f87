"""The natural loops of a control-flow graph, of any code."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from fencewright.lowering.code.graph import Graph, Node, NodeT, graph_of, postorder, walk


def loops_of(
    blocks: Sequence[Node], begin: Callable[[], Callable[[int], bool]] | None = None
) -> Iterator[tuple[int, frozenset[int]]]:
    """The head and the blocks of each natural loop, one for each edge that leads back.

    ``begin`` is called for each loop; what it returns, for each block of that. Where it answers no,
    the loop is left out and its other blocks are not looked for: in code with many jumps back they
    may be all.
    """
    graph = graph_of(blocks)
    for number, head in back_edges(graph, graph.nodes[:1]):
        body = natural_loop(graph, head, (number,), None if begin is None else begin())
        if body is not None:
            yield head, body


def natural_loop(
    graph: Graph[NodeT],
    head: NodeT,
    ends: Iterable[NodeT],
    takes: Callable[[NodeT], bool] | None = None,
) -> frozenset[NodeT] | None:
    """The nodes from which one of ``ends`` is reached without the head; None if one is not taken.

    Where a loop has several entries, it may be given more nodes than it has. Source: Aho, Sethi,
    Ullman, "Compilers", 10.4.
    """
    if takes is not None and not takes(head):
        return None
    body = {head}
    for node in walk(ends, lambda node: () if node == head else graph.predecessors[node]):
        if takes is not None and node != head and not takes(node):
            return None
        body.add(node)
    return frozenset(body)


def back_edges(graph: Graph[NodeT], starts: Iterable[NodeT]) -> list[tuple[NodeT, NodeT]]:
    """The edges to a node that a walk from one of ``starts``, depth first, is inside of."""
    found: list[tuple[NodeT, NodeT]] = []
    following = graph.successors.__getitem__
    postorder(starts, following, lambda node, head: found.append((node, head)))
    return found


def by_head(edges: Iterable[tuple[NodeT, NodeT]]) -> dict[NodeT, list[NodeT]]:
    """The nodes that lead back to each head of a loop."""
    ends: dict[NodeT, list[NodeT]] = {}
    for end, head in edges:
        ends.setdefault(head, []).append(end)
    return ends
