"""Dominators of a control-flow graph: the nodes that every path to a node leads through."""

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


def dominates(dominators: dict[NodeT, NodeT], above: NodeT, node: NodeT) -> bool:
    """True where every path to ``node`` leads through ``above``; a node dominates itself."""
    while node != above and dominators[node] != node:
        node = dominators[node]
    return node == above
