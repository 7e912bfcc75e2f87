"""Relations as bit masks against relations as sets of pairs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencewright.simulator.core import bit_relation as rel

SIZE = 6
Pairs = frozenset[tuple[int, int]]
events = st.integers(0, SIZE - 1)
relations = st.frozensets(st.tuples(events, events), max_size=12)


def as_set(relation: rel.Relation) -> Pairs:
    return frozenset(rel.pairs(relation))


def closure(pairs: Pairs) -> Pairs:
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


@given(relations, relations)
def test_operations_agree_with_sets_of_pairs(left: Pairs, right: Pairs) -> None:
    a, b = rel.from_pairs(SIZE, left), rel.from_pairs(SIZE, right)
    assert as_set(a) == left
    assert as_set(rel.union(a, b)) == left | right
    assert as_set(rel.inverse(a)) == {(y, x) for x, y in left}
    assert as_set(rel.compose(a, b)) == {(x, z) for x, y in left for w, z in right if y == w}
    assert as_set(rel.transitive_closure(a)) == closure(left)
    assert as_set(rel.reflexive(a)) == left | {(x, x) for x in range(SIZE)}


@given(relations)
def test_cycles(pairs: Pairs) -> None:
    relation = rel.from_pairs(SIZE, pairs)
    acyclic = all(a != b for a, b in closure(pairs))
    cycle = rel.find_cycle(relation)
    assert rel.is_acyclic(relation) == acyclic == (not cycle)
    assert all(step in pairs for step in pairwise(cycle))
    assert not cycle or cycle[0] == cycle[-1]


def test_the_shortest_path_is_found() -> None:
    relation = rel.from_pairs(5, [(0, 1), (1, 2), (2, 4), (0, 3), (3, 4)])
    assert rel.shortest_path(relation, 0, 4) == (0, 3, 4)
    assert rel.shortest_path(relation, 4, 0) == ()


@pytest.mark.parametrize(("members", "mask"), [((), 0), ((0,), 1), ((0, 3), 9)])
def test_masks(members: tuple[int, ...], mask: int) -> None:
    assert rel.mask_of(members) == mask
    assert tuple(rel.bits(mask)) == members
