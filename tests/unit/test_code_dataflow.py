"""One solver, forward and backward, by value and in place, against a naive round-robin fixpoint."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Self

import pytest

from fencewright.lowering.code.dataflow import solve, solve_in_place, visit
from fencewright.lowering.code.dominance import dominates, immediate_dominators, spans_of
from fencewright.lowering.code.graph import Graph, postorder
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop

SEEDS = range(150)
BITS = 6


def random_graph(rng: random.Random) -> Graph[str]:
    """A graph of up to nine nodes in no particular order, with double edges, loops and dead nodes."""
    nodes = tuple(f"n{number}" for number in range(rng.randint(1, 9)))
    return Graph(
        nodes, {node: rng.choices(nodes, k=rng.choice((0, 1, 1, 2, 2, 3))) for node in nodes}
    )


class Problem:
    """A bit-vector problem over a random graph; ``start``: the states of some nodes."""

    def __init__(self, seed: int):
        self.rng = rng = random.Random(seed)
        self.graph = random_graph(rng)
        self.gives = {
            node: rng.getrandbits(BITS) & rng.getrandbits(BITS) for node in self.graph.nodes
        }
        self.keeps = {
            node: rng.getrandbits(BITS) | rng.getrandbits(BITS) for node in self.graph.nodes
        }
        starts = rng.sample(self.graph.nodes, rng.randint(1, len(self.graph.nodes)))
        self.start = {node: rng.getrandbits(BITS) for node in starts}

    def transfer(self, node: str, state: int) -> int:
        return state & self.keeps[node] | self.gives[node]


Edge = Callable[[str, str, int], int | None]


def whole(_: str, __: str, state: int) -> int:
    """All of a state."""
    return state


def round_robin(
    graph: Graph[str],
    start: Mapping[str, int],
    transfer: Callable[[str, int], int],
    join: Callable[[int, int], int],
    edge: Edge = whole,
) -> dict[str, int]:
    """The fixpoint, by asking every edge again until none changes anything."""
    states, before = dict(start), None
    while states != before:
        before = dict(states)
        for node in graph.nodes:
            for target in graph.successors[node] if node in states else ():
                coming = edge(node, target, transfer(node, states[node]))
                if coming is not None:
                    states[target] = join(states[target], coming) if target in states else coming
    return states


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solver_finds_the_naive_fixpoint(seed: int) -> None:
    problem = Problem(seed)
    for graph in (problem.graph, problem.graph.backward):
        for join in (int.__or__, int.__and__):
            start = dict.fromkeys(graph.nodes, 2**BITS - 1) | problem.start
            start = problem.start if join is int.__or__ else start
            expected = round_robin(graph, start, problem.transfer, join)
            assert solve(graph, start, problem.transfer, join) == expected


def test_backward_is_not_forward() -> None:
    """The comparison above would see it."""
    problem = Problem(3)
    graph = problem.graph
    forward = solve(graph, problem.start, problem.transfer, int.__or__)
    assert forward != solve(graph.backward, problem.start, problem.transfer, int.__or__)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edge_may_keep_a_state_or_a_part_of_it_back(seed: int) -> None:
    problem = Problem(seed)
    pairs = [(node, to) for node in problem.graph.nodes for to in problem.graph.successors[node]]
    passes = {pair: problem.rng.choice((None, problem.rng.getrandbits(BITS))) for pair in pairs}

    def edge(node: str, target: str, state: int) -> int | None:
        mask = passes[node, target]
        return None if mask is None else state & mask

    expected = round_robin(problem.graph, problem.start, problem.transfer, int.__or__, edge)
    assert solve(problem.graph, problem.start, problem.transfer, int.__or__, edge=edge) == expected


def test_a_state_that_no_edge_lets_through_reaches_nobody() -> None:
    graph = Graph(("a", "b"), {"a": ("b",), "b": ()})

    def nothing(_: str, __: str, ___: int) -> None:
        return None

    states = solve(graph, {"a": 1}, lambda _, state: state, int.__or__, edge=nothing)
    assert states == {"a": 1}


def shared_problem(seed: int) -> tuple[dict[str, int], int, dict[str, int], int]:
    """What the solver, and a naive one, find where nodes also leave bits in one shared place."""
    problem = Problem(seed)
    leaves = {node: problem.rng.getrandbits(BITS) for node in problem.graph.nodes}
    place = 0

    def transfer(node: str, state: int) -> int:
        nonlocal place
        place |= state & leaves[node]
        return problem.transfer(node, state) | place & leaves[node] >> 1

    found = solve(problem.graph, problem.start, transfer, int.__or__, shared=lambda: place)
    solved, place, before = place, 0, -1
    expected: dict[str, int] = {}
    while place != before:
        before = place
        expected = round_robin(problem.graph, problem.start, transfer, int.__or__)
        for node, state in expected.items():
            transfer(node, state)
    return found, solved, expected, place


@pytest.mark.parametrize("seed", SEEDS)
def test_what_nodes_share_is_part_of_the_fixpoint(seed: int) -> None:
    found, solved, expected, place = shared_problem(seed)
    assert (found, solved) == (expected, place)


def test_who_does_not_say_that_it_shares_misses_something() -> None:
    """A node that reads what a later one leaves is visited again for it alone."""
    place: set[str] = set()
    read: list[bool] = []

    def transfer(node: str, state: int) -> int:
        if node == "reads":
            read.append("left" in place)
        else:
            place.add("left")
        return state

    graph = Graph(("reads", "leaves"), {"reads": ("leaves",), "leaves": ()})
    solve(graph, {"reads": 0}, transfer, int.__or__)
    assert not any(read)
    place.clear()
    solve(graph, {"reads": 0}, transfer, int.__or__, shared=lambda: len(place))
    assert read[-1]


class Bits:
    """A state that is joined in place."""

    def __init__(self, bits: int):
        self.bits = bits

    def copy(self) -> Self:
        return type(self)(self.bits)

    def join(self, other: Self) -> bool:
        before = self.bits
        self.bits |= other.bits
        return self.bits != before


@pytest.mark.parametrize("seed", SEEDS)
def test_in_place_is_as_by_value(seed: int) -> None:
    problem = Problem(seed)
    states = {node: Bits(bits) for node, bits in problem.start.items()}

    def transfer(node: str, state: Bits) -> Bits:
        return Bits(problem.transfer(node, state.bits))

    solve_in_place(problem.graph, states, transfer, tuple(states))
    expected = solve(problem.graph, problem.start, problem.transfer, int.__or__)
    assert {node: state.bits for node, state in states.items()} == expected


def test_a_fixpoint_is_gone_on_from() -> None:
    graph = Graph(("a", "b", "c"), {"a": ("b",), "b": ("c",), "c": ()})
    states = {"a": Bits(1)}
    solve_in_place(graph, states, lambda _, state: state.copy(), ("a",))
    states["b"].join(Bits(2))
    solve_in_place(graph, states, lambda _, state: state.copy(), ("b",))
    assert [states[node].bits for node in graph.nodes] == [1, 3, 3]


def test_a_chain_is_visited_once_in_either_direction() -> None:
    nodes = tuple(range(100))
    graph = Graph(nodes, {node: tuple(nodes[node + 1 : node + 2]) for node in nodes})
    for each in (graph, graph.backward):
        visited: list[int] = []

        def following(node: int, each: Graph[int] = each, visited: list[int] = visited):
            visited.append(node)
            return each.successors[node]

        visit(each, each.nodes[:1], following)
        assert visited == [*each.nodes]


# Reachability, order, dominators, loops: by paths


def paths_from(graph: Graph[str], node: str, without: str | None = None) -> set[str]:
    """The nodes on paths from ``node`` that do not enter ``without``, step by step."""
    reached = {node} - {without}
    for _ in graph.nodes:
        reached |= {to for each in reached for to in graph.successors[each]} - {without}
    return reached


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_reachable_is_on_a_path(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng)
    first, wall = graph.nodes[0], rng.choice(graph.nodes)
    assert graph.reachable([first]) == paths_from(graph, first)
    assert set(postorder([first], graph.successors.__getitem__)) == paths_from(graph, first)
    after = {each for to in graph.successors[first] for each in paths_from(graph, to)}
    assert graph.reachable_after([first]) == after
    if wall != first:
        stopped = graph.reachable([first], through=lambda node: node != wall)
        assert stopped - {wall} == paths_from(graph, first, without=wall)
    before = {node for node in graph.nodes if first in paths_from(graph, node)}
    assert graph.backward.reachable([first]) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dominator_is_on_every_path(seed: int) -> None:
    graph = random_graph(random.Random(seed))
    root = graph.nodes[0]
    dominators = immediate_dominators(graph, root)
    reached = paths_from(graph, root)
    assert dominators.keys() == reached
    spans = spans_of(dominators)
    for node in reached:
        for above in reached:
            needed = above in (root, node) or node not in paths_from(graph, root, without=above)
            assert dominates(spans, above, node) == needed


def test_nothing_is_a_node_like_others() -> None:
    """A node may be None, as the one end after all ends is."""
    graph = Graph[int | None]((None, 1, 2), {None: [1, 2], 1: [2, None], 2: []})
    assert immediate_dominators(graph, None) == {None: None, 1: None, 2: None}
    assert [*back_edges(graph, [None])] == [(1, None)]


def loops(graph: Graph[str]) -> Iterator[tuple[str, list[str], frozenset[str] | None]]:
    for head, ends in by_head(back_edges(graph, graph.nodes[:1])).items():
        yield head, ends, natural_loop(graph, head, ends)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loop_leads_back_to_its_head(seed: int) -> None:
    graph = random_graph(random.Random(seed))
    for head, ends, body in loops(graph):
        expected = {
            node
            for node in graph.nodes
            if node != head and paths_from(graph, node, without=head) & {*ends} - {head}
        }
        assert body == expected | {head}
        assert natural_loop(graph, head, ends, takes=lambda node, head=head: node != head) is None
    back = {*back_edges(graph, graph.nodes[:1])}
    onward = {
        node: [to for to in graph.successors[node] if (node, to) not in back]
        for node in graph.nodes
    }
    for node in graph.reachable(graph.nodes[:1]):
        assert node not in Graph(graph.nodes, onward).reachable_after([node])
