"""The barriers that threads are at together, against all pairs of walks of some length."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType

from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.meetings import barriers_of

LENGTH = 9
"""Barriers of a walk: more than the pairs of three barriers, so that longer ones add none."""


def graph_of(edges: Mapping[int, Sequence[int]]) -> Graph[int]:
    return Graph(tuple(edges), MappingProxyType(dict(edges)))


def in_step(
    edges: Mapping[int, Sequence[int]], barriers: Mapping[int, Sequence[str]]
) -> dict[str, str]:
    met = barriers_of(graph_of(edges), 0, barriers).in_step()
    return {one: "".join(sorted(others)) for one, others in met.items()}


def test_in_a_row_each_barrier_meets_itself() -> None:
    assert in_step({0: (1,), 1: ()}, {0: "ab", 1: "c"}) == {"a": "a", "b": "b", "c": "c"}


def test_paths_apart_are_counted() -> None:
    apart = {0: (1, 2), 1: (3,), 2: (3,), 3: ()}
    assert in_step(apart, {1: "ab", 2: "c"}) == {"a": "ac", "c": "ac", "b": "b"}
    assert in_step(apart, {1: "a", 3: "b"}) == {"a": "ab", "b": "ab"}


def test_a_loop_runs_any_number_of_rounds() -> None:
    loop = {0: (1,), 1: (1, 2), 2: ()}
    assert in_step(loop, {1: "a", 2: "b"}) == {"a": "ab", "b": "ab"}


def test_what_no_path_leads_to_meets_nothing() -> None:
    assert in_step({0: (), 1: ()}, {0: "a", 1: "b"}) == {"a": "a"}


def walks(
    edges: Mapping[int, Sequence[int]], barriers: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """The barriers of every walk, cut after ``LENGTH`` of them and after as many nodes without any."""
    work = [(0, "", 0)]
    seen = set(work)
    while work:
        node, walk, idle = work.pop()
        own = barriers.get(node, "")
        walk, idle = walk + "".join(own), 0 if own else idle + 1
        yield walk[:LENGTH]
        for target in edges[node] if len(walk) < LENGTH and idle < len(edges) else ():
            if (target, walk, idle) not in seen:
                seen.add((target, walk, idle))
                work.append((target, walk, idle))


def test_random_graphs_against_their_walks() -> None:
    random = Random(29)
    for _ in range(200):
        count = random.randint(2, 5)
        edges = {
            node: random.choices(range(count), k=random.randint(0, 2)) for node in range(count)
        }
        places = random.sample(range(count), 2)
        barriers = dict(zip(places, (random.choice(("a", "ac")), "b"), strict=True))
        expected: dict[str, set[str]] = {}
        every = set(walks(edges, barriers))
        for one in every:
            for other in every:
                for a, b in zip(one, other, strict=False):
                    expected.setdefault(a, set()).add(b)
        assert in_step(edges, barriers) == {
            one: "".join(sorted(others)) for one, others in expected.items()
        }
