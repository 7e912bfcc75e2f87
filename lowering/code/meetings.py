"""Barriers that threads of a group are at together, counted: the n-th of one with the n-th of
another."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph, NodeT, postorder

BarrierT = TypeVar("BarrierT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Barriers(Generic[BarrierT]):
    """The barriers that a thread may come to ``first``, and ``after`` each the ones it may come to
    next."""

    first: frozenset[BarrierT]
    after: Mapping[BarrierT, frozenset[BarrierT]]

    def in_step(self) -> Mapping[BarrierT, frozenset[BarrierT]]:
        """For each barrier all that another thread may be at meanwhile, itself included.

        Two threads are followed on all pairs of paths, whatever their branches depend on: each
        barrier that one of them comes to is met by one of the other's. A barrier that no path
        leads to is in no pair.
        """

        def next_pairs(pair: tuple[BarrierT, BarrierT]) -> Iterable[tuple[BarrierT, BarrierT]]:
            one, other = pair
            return product(self.after[one], self.after[other])

        met: dict[BarrierT, set[BarrierT]] = {}
        for one, other in postorder(product(self.first, self.first), next_pairs):
            met.setdefault(one, set()).add(other)
        return {barrier: frozenset(others) for barrier, others in met.items()}


def barriers_of(
    graph: Graph[NodeT], entry: NodeT, barriers: Mapping[NodeT, Sequence[BarrierT]]
) -> Barriers[BarrierT]:
    """The order of the barriers on the paths from ``entry``. ``barriers``: those of each node, in
    order."""
    nothing: frozenset[BarrierT] = frozenset()

    def first_from(node: NodeT, after: frozenset[BarrierT]) -> frozenset[BarrierT]:
        own = barriers.get(node)
        return frozenset(own[:1]) if own else after

    def either(one: frozenset[BarrierT], other: frozenset[BarrierT]) -> frozenset[BarrierT]:
        return one | other

    at_end = solve(graph.backward, dict.fromkeys(graph.nodes, nothing), first_from, either)
    after = {
        barrier: frozenset(own[place + 1 : place + 2]) or at_end[node]
        for node, own in barriers.items()
        for place, barrier in enumerate(own)
    }
    return Barriers(first_from(entry, at_end[entry]), after)
