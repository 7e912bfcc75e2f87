"""Control-flow graphs of any code: numbered blocks of a vendor, of a source, or blocks of an IR."""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from fencewright.lowering.code.records import record


class Node(Protocol):
    """A block of instructions that run one after another."""

    @property
    def successors(self) -> tuple[int, ...]:
        """The numbers of the blocks that may run next."""
        ...


NodeT = TypeVar("NodeT", bound=Hashable)


@record(slots=False)
class Graph(Generic[NodeT]):
    """Nodes and their edges. ``nodes``: in an order that most edges follow; a solver visits them in
    it.

    ``successors`` has a line for each node. An edge may be more than a jump: whatever a state goes
    along.
    """

    nodes: tuple[NodeT, ...]
    successors: Mapping[NodeT, Sequence[NodeT]]

    @cached_property
    def predecessors(self) -> Mapping[NodeT, tuple[NodeT, ...]]:
        """The nodes with an edge to each node, in the order of the nodes."""
        before: dict[NodeT, list[NodeT]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for target in self.successors[node]:
                before[target].append(node)
        return MappingProxyType({node: tuple(found) for node, found in before.items()})

    @cached_property
    def number(self) -> Mapping[NodeT, int]:
        """The place of each node in the order."""
        return MappingProxyType({node: place for place, node in enumerate(self.nodes)})

    @cached_property
    def backward(self) -> "Graph[NodeT]":
        """The graph with every edge turned round, its nodes in the opposite order."""
        return Graph(self.nodes[::-1], self.predecessors)

    def within(self, nodes: Container[NodeT]) -> "Graph[NodeT]":
        """The part of the graph that has only some of its nodes, and the edges between them."""
        inside = tuple(node for node in self.nodes if node in nodes)
        edges = {
            node: tuple(target for target in self.successors[node] if target in nodes)
            for node in inside
        }
        return Graph(inside, MappingProxyType(edges))

    def without(self, edges: Container[tuple[NodeT, NodeT]]) -> "Graph[NodeT]":
        """The graph with all its nodes and without some edges."""
        left = {
            node: tuple(target for target in targets if (node, target) not in edges)
            for node, targets in self.successors.items()
        }
        return Graph(self.nodes, MappingProxyType(left))

    def reachable(
        self, starts: Iterable[NodeT], through: Callable[[NodeT], bool] | None = None
    ) -> set[NodeT]:
        """The ``starts`` and all nodes that a path leads to from one of them.

        No path goes on from a node for which ``through`` is false; None: every path goes on.
        """
        if through is None:
            return set(walk(starts, self.successors.__getitem__))
        return set(walk(starts, lambda node: self.successors[node] if through(node) else ()))

    def reachable_after(self, starts: Iterable[NodeT]) -> set[NodeT]:
        """The nodes that a path of one edge or more leads to from one of ``starts``."""
        return self.reachable(target for node in starts for target in self.successors[node])


def walk(starts: Iterable[NodeT], following: Callable[[NodeT], Iterable[NodeT]]) -> Iterator[NodeT]:
    """The ``starts`` and the nodes that ``following`` leads to from them, once each, in no order of
    a path; also for graphs that are not written down."""
    seen, work = set[NodeT](), [*starts]
    while work:
        node = work.pop()
        if node not in seen:
            seen.add(node)
            yield node
            work += following(node)


def postorder(
    starts: Iterable[NodeT],
    following: Callable[[NodeT], Iterable[NodeT]],
    leads_back: Callable[[NodeT, NodeT], object] | None = None,
) -> list[NodeT]:
    """The nodes that ``following`` leads to from ``starts``, each after those that it leads to.

    Depth first, so that an edge to a node that is still open leads back: ``leads_back`` is called
    for it. Also for graphs that are not written down.
    """
    is_open, order = dict[NodeT, bool](), list[NodeT]()
    for start in starts:
        if start in is_open:
            continue
        is_open[start] = True
        stack = [(start, iter(following(start)))]
        while stack:
            node, rest = stack[-1]
            for target in rest:
                if target not in is_open:
                    is_open[target] = True
                    stack.append((target, iter(following(target))))
                    break
                if leads_back is not None and is_open[target]:
                    leads_back(node, target)
            else:
                is_open[node] = False
                order.append(node)
                stack.pop()
    return order


def graph_of(blocks: Sequence[Node]) -> Graph[int]:
    """The graph of numbered blocks, in the order of the text."""
    return Graph(
        tuple(range(len(blocks))),
        MappingProxyType({n: block.successors for n, block in enumerate(blocks)}),
    )
