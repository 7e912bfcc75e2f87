"""Dominators of a control-flow graph: the nodes that every path to a node leads through."""

from collections.abc import Mapping

from fencewright.lowering.code.graph import Graph, NodeT, postorder


def immediate_dominators(graph: Graph[NodeT], root: NodeT) -> dict[NodeT, NodeT]:
    """The node through which every path from ``root`` to a node comes last; ``root`` for itself.

    Of all nodes that ``root`` reaches. Source: Cooper, Harvey and Kennedy, "A Simple, Fast
    Dominance Algorithm".
    """
    order = postorder([root], graph.successors.__getitem__)
    height = {node: place for place, node in enumerate(order)}
    dominators = {root: root}
    changed = True
    # What is known is a tree, in which a node stands under what dominates it and is not as high. A
    # node only ever moves up, to the lowest node above all its predecessors. One predecessor at
    # least is known, the one that it was found from; those not known yet can only move it up later.
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            common, *others = filter(dominators.__contains__, graph.predecessors[node])
            for other in others:
                while common != other:
                    if height[common] < height[other]:
                        common = dominators[common]
                    else:
                        other = dominators[other]
            if dominators.get(node, node) != common:
                dominators[node], changed = common, True
    return dominators


Spans = Mapping[NodeT, tuple[int, int]]
"""The numbers of the first and the last node of each node's part of a tree, the node first."""


def spans_of(dominators: Mapping[NodeT, NodeT]) -> Spans[NodeT]:
    """The part of the tree of dominators that each node is the root of."""
    below: dict[NodeT, list[NodeT]] = {node: [] for node in dominators}
    stack: list[NodeT] = []
    for node, above in dominators.items():
        (stack if node == above else below[above]).append(node)
    first: dict[NodeT, int] = {}
    spans: dict[NodeT, tuple[int, int]] = {}
    while stack:
        node = stack[-1]
        if node in first:
            spans[stack.pop()] = first[node], len(first) - 1
        else:
            first[node] = len(first)
            stack += below[node]
    return spans


def dominates(spans: Spans[NodeT], above: NodeT, node: NodeT) -> bool:
    """True where every path to ``node`` leads through ``above``; a node dominates itself."""
    first, last = spans.get(above, (0, -1))  # No path leads to one without a part.
    return first <= spans[node][0] <= last
