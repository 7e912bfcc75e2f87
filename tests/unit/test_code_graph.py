"""Graphs, loops and fixpoints over numbered blocks, of any vendor's code."""

from dataclasses import dataclass

from fencewright.lowering.code.dataflow import before_each, solve, solve_in_place, visit
from fencewright.lowering.code.graph import Graph, graph_of, walk
from fencewright.lowering.code.loops import loops_of
from fencewright.lowering.code.unknown import after, beside


@dataclass(frozen=True)
class _Block:
    successors: tuple[int, ...]


def _blocks(*successors: tuple[int, ...]) -> list[_Block]:
    return [_Block(targets) for targets in successors]


# 0 -> 1 <-> 2 -> 3, and 4 that nothing leads to.
LOOP = _blocks((1,), (2,), (1, 3), (), (3,))


def test_paths_go_on_until_they_are_stopped() -> None:
    graph = graph_of(LOOP)
    assert graph.reachable([0]) == {0, 1, 2, 3}
    assert graph.reachable([0], lambda block: block != 2) == {0, 1, 2}
    assert graph.reachable_after([0]) == {1, 2, 3}
    assert graph.reachable_after([2]) == {1, 2, 3}
    assert graph.backward.reachable([3]) == {0, 1, 2, 3, 4}


def test_a_walk_meets_a_node_once_and_no_more_than_it_is_taken_for() -> None:
    met: list[int] = []

    def halves(number: int) -> tuple[int, ...]:
        met.append(number)
        return (number // 2, number // 3)

    assert sorted(walk([12, 6], halves)) == [0, 1, 2, 3, 4, 6, 12]
    met.clear()
    assert 6 in walk([12, 6], halves)
    assert met == []


def test_liveness_goes_back_through_a_loop_and_not_past_a_jump() -> None:
    # 0: a = ...; 1: use a, b; 2: to 1 or on; 3: to the end; 4: use c
    uses = [set[str](), {"a", "b"}, set[str](), set[str](), {"c"}]

    def before(number: int, after: frozenset[str]) -> frozenset[str]:
        return after.difference({"a"} if number == 0 else ()) | uses[number]

    following = [(1,), (2,), (3, 1), (5,), (5,)]
    live = before_each(following, frozenset({"r"}), frozenset[str](), before)
    assert [*map(sorted, live)] == [
        ["b", "r"], ["a", "b", "r"], ["a", "b", "r"], ["r"], ["c", "r"], ["r"],
    ]  # fmt: skip
    assert before_each([(0,)], 4, 0, lambda _, after: after | 1) == [1, 4]


def test_the_part_of_a_graph_has_the_edges_between_its_nodes() -> None:
    part = graph_of(LOOP).within({1, 2})
    assert part.nodes == (1, 2)
    assert {**part.successors} == {1: (2,), 2: (1,)}
    assert {**part.backward.successors} == {2: (1,), 1: (2,)}


def test_a_loop_has_its_head_and_what_leads_back() -> None:
    assert [*loops_of(LOOP)] == [(1, frozenset({1, 2}))]
    assert [*loops_of(_blocks((0,)))] == [(0, frozenset({0}))]


def test_a_loop_with_a_refused_block_is_left_out() -> None:
    asked: list[int] = []

    def takes(block: int) -> bool:
        asked.append(block)
        return False

    assert not [*loops_of(LOOP, lambda: takes)]
    # Nothing more is asked of a loop after the first refusal.
    assert len(asked) == 1


def test_backward_states_are_those_at_the_end() -> None:
    graph = graph_of(LOOP)
    ends = dict.fromkeys(graph.nodes, frozenset[int]())
    live = solve(graph.backward, ends, lambda block, state: state | {block}, frozenset[int].union)
    assert live == {0: {1, 2, 3}, 1: {1, 2, 3}, 2: {1, 2, 3}, 3: set(), 4: {3}}


def test_an_edge_may_carry_nothing() -> None:
    states = solve(
        graph_of(LOOP),
        {0: 1},
        lambda _, state: state,
        int.__or__,
        edge=lambda _, target, state: None if target == 3 else state,
    )
    assert states == {0: 1, 1: 1, 2: 1}


class _Set(set[int]):
    def copy(self) -> "_Set":
        return _Set(self)

    def join(self, other: "_Set") -> bool:
        size = len(self)
        self.update(other)
        return len(self) > size


def test_states_in_place_are_those_of_values() -> None:
    graph = graph_of(LOOP)
    states = {0: _Set()}
    solve_in_place(graph, states, lambda block, state: _Set(state | {block}), [0])
    values = solve(
        graph, {0: frozenset[int]()}, lambda block, state: state | {block}, frozenset[int].union
    )
    assert states == values


def test_a_change_goes_along_a_direction_in_one_sweep() -> None:
    order: list[int] = []
    chain = Graph((0, 1, 2, 3), {0: (3,), 1: (), 2: (1,), 3: (2,)})

    def grown_after(node: int) -> tuple[int, ...]:
        order.append(node)
        return tuple(chain.successors[node])

    visit(chain, [0], grown_after)
    assert order == [0, 3, 2, 1]


def test_items_after_and_before_an_unknown_one() -> None:
    items = ["a", "b?", "c", "d", "e"]
    unknown = "?".__eq__
    lists = [[*item] for item in items]
    assert [*after(LOOP, lists, unknown)] == ["b", "?", "c", "d"]
    assert {*beside(LOOP, lists, unknown)} == {"a", "b", "?", "c", "d"}
    # In a block that no path leads back to, only what comes later.
    straight = _blocks((1,), ())
    assert [*after(straight, [["a", "?", "b"], ["c"]], unknown)] == ["b", "c"]
    assert sorted(beside(straight, [["a", "?", "b"], ["c"]], unknown)) == ["a", "b", "c"]
