"""The natural loops of a control-flow graph, of any code."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from fencewright.lowering.code.graph import Graph, Node, NodeT, graph_of


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
    work = [*ends]
    while work:
        node = work.pop()
        if node in body:
            continue
        if takes is not None and not takes(node):
            return None
        body.add(node)
        work += graph.predecessors[node]
    return frozenset(body)


def back_edges(graph: Graph[NodeT], starts: Iterable[NodeT]) -> Iterator[tuple[NodeT, NodeT]]:
    """The edges to a node that a walk from one of ``starts``, depth first, is inside of."""
    seen, open_nodes = set[NodeT](), set[NodeT]()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        open_nodes.add(start)
        stack = [(start, iter(graph.successors[start]))]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if target in open_nodes:
                    yield node, target
                elif target not in seen:
                    seen.add(target)
                    open_nodes.add(target)
                    stack.append((target, iter(graph.successors[target])))
                    break
            else:
                open_nodes.discard(node)
                stack.pop()


def by_head(edges: Iterable[tuple[NodeT, NodeT]]) -> dict[NodeT, list[NodeT]]:
    """The nodes that lead back to each head of a loop."""
    ends: dict[NodeT, list[NodeT]] = {}
    for end, head in edges:
        ends.setdefault(head, []).append(end)
    return ends
