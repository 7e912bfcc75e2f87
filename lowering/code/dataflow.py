"""Dataflow over a control-flow graph: one solver, forward or backward, of values or in place."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Protocol, Self, TypeVar

from fencewright.lowering.code.graph import Graph, Node, NodeT, graph_of

StateT = TypeVar("StateT")


def solve(
    graph: Graph[NodeT],
    start: Mapping[NodeT, StateT],
    transfer: Callable[[NodeT, StateT], StateT],
    join: Callable[[StateT, StateT], StateT],
    *,
    edge: Callable[[NodeT, NodeT, StateT], StateT | None] | None = None,
    shared: Callable[[], object] | None = None,
) -> dict[NodeT, StateT]:
    """The least fixpoint: the state on entry to each node that a path leads to from one of
    ``start``.

    ``transfer``: the state after a node; a node without successors is not asked for it.
    ``join(known, coming)``: the state where two paths meet; equal to ``known`` if nothing is new.
    States have to grow, a finite number of times. ``edge``: the part of a state that goes along
    one edge; None: nothing does. Backward: give ``graph.backward``, and the states are those at
    the end of each node. A greatest fixpoint: start every node at the top, and let ``join``
    remove. ``shared``: a snapshot of the facts besides states that ``transfer`` adds to and
    reads, as those that threads leave for one another at barriers; they belong to the fixpoint,
    may only grow, and every node adds to them, also one without successors. The result is in
    the order in which nodes were first reached.
    """
    states = dict(start)
    if len(graph.nodes) == 1 and not graph.successors[graph.nodes[0]]:
        for node, state in states.items():
            while shared is not None:
                before = shared()
                transfer(node, state)
                if shared() == before:
                    break
        return states

    def grown_after(node: NodeT) -> Iterable[NodeT]:
        if shared is None and not graph.successors[node]:
            return  # Nobody takes the state after it.
        leaving = transfer(node, states[node])
        for target in graph.successors[node]:
            coming = leaving if edge is None else edge(node, target, leaving)
            if coming is None:
                continue
            known = states.get(target)
            joined = coming if known is None else join(known, coming)
            if known is None or joined != known:
                states[target] = joined
                yield target

    # Any node may read what any other one has shared, so all are visited again, from the states so
    # far, which are below the fixpoint. Once a visit of all adds nothing, every state has seen all
    # of it.
    while True:
        before = None if shared is None else shared()
        visit(graph, tuple(states), grown_after)
        if shared is None or shared() == before:
            return states


class Mergeable(Protocol):
    """A set: of names, or of bits."""

    def __or__(self, other: Any, /) -> Self: ...


SetT = TypeVar("SetT", bound=Mergeable)


def before_each(
    following: Sequence[Sequence[int]],
    last: SetT,
    nothing: SetT,
    before: Callable[[int, SetT], SetT],
) -> list[SetT]:
    """The set before each of numbered instructions, and ``last`` after all of them.

    ``following``: by instruction, those that may run next. ``before``: the set before one, of all
    that hold before these; ``nothing`` is the empty set.
    """
    found = [*(nothing for _ in following), last]
    while True:
        known = [*found]
        for number in reversed(range(len(following))):
            after = nothing
            for target in following[number]:
                after = after | found[target]
            found[number] = before(number, after)
        if found == known:
            return found


class Growing(Protocol):
    """A state that is joined in place: for states that are too large to be made anew at each
    join."""

    def copy(self) -> Self:
        """Another state with the same content."""
        ...

    def join(self, other: Self) -> bool:
        """Add all that holds in ``other``; true if something was new."""
        ...


GrowingT = TypeVar("GrowingT", bound=Growing)


def solve_in_place(
    graph: Graph[NodeT],
    states: MutableMapping[NodeT, GrowingT],
    transfer: Callable[[NodeT, GrowingT], GrowingT],
    work: Iterable[NodeT],
) -> None:
    """Grow ``states``, those on entry to each node, until they hold after the nodes of ``work`` and
    on.

    ``transfer`` returns a state of its own, never the one that it was given. A fixpoint may be gone
    on from: new entries, and the nodes that they are of as ``work``.
    """

    def grown_after(node: NodeT) -> Iterable[NodeT]:
        if not graph.successors[node]:
            return  # Nobody takes the state after it.
        leaving, is_given = transfer(node, states[node]), False
        for target in graph.successors[node]:
            known = states.get(target)
            if known is None:
                states[target] = leaving.copy() if is_given else leaving
                is_given = True
            elif known.join(leaving):
                states[target] = known  # A mapping may make what it holds anew.
            else:
                continue
            yield target

    visit(graph, work, grown_after)


def visit(
    graph: Graph[NodeT], work: Iterable[NodeT], grown_after: Callable[[NodeT], Iterable[NodeT]]
) -> None:
    """Visit the nodes of ``work``, and those that ``grown_after`` returns of each, until none is
    left.

    In sweeps through the nodes, forwards and backwards by turns: a change goes along any number of
    edges of one direction in a single sweep, so that there are as many sweeps as paths turn.
    """
    number, nodes = graph.number, graph.nodes
    later, direction = {number[node] for node in work}, 1
    while later:
        sweep = [direction * place for place in later]
        heapify(sweep)
        now, later = later, set[int]()
        while sweep:
            place = direction * heappop(sweep)
            now.discard(place)
            for node in grown_after(nodes[place]):
                target = number[node]
                if direction * target <= direction * place:
                    later.add(target)
                elif target not in now:
                    now.add(target)
                    heappush(sweep, direction * target)
        direction = -direction


class Joinable(Protocol):
    """A state of a lattice; equal states are the same."""

    def join(self, other: Self) -> Self:
        """The state where two paths meet."""
        ...


JoinableT = TypeVar("JoinableT", bound=Joinable)


def entries(
    blocks: Sequence[Node],
    start: JoinableT,
    through: Callable[[int, JoinableT], JoinableT],
    along: Callable[[int, int, JoinableT], JoinableT] | None = None,
) -> dict[int, JoinableT]:
    """The state on entry to each of numbered blocks that a path leads to from the first one.

    ``through``: the state after a block, of which the number is given; ``along``: the part of it
    that goes from a block to one after it (None: all of it).
    """
    if not blocks:
        return {}
    return solve(graph_of(blocks), {0: start}, through, lambda a, b: a.join(b), edge=along)
