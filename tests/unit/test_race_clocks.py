"""Knowledge of a launch: joins, rows shared by reference, and what messages hand on by scope."""

from fencewright.simulator.race.clocks import NOTHING, Clocks, Knowledge, with_agents
from fencewright.simulator.race.messages import Chain, Home, Message, extended
from fencewright.simulator.race.shadow import Shadow
from fencewright.simulator.threads.memory import Allocation


def test_a_join_is_the_later_of_both() -> None:
    clocks = Clocks(2)
    a, b = Knowledge({0: (1, 4)}, {9: 1}), Knowledge({0: (2, 3), 1: (5, 0)}, {9: 3})
    joined = clocks.join(a, b)
    assert (joined.rows, joined.agents) == ({0: (2, 4), 1: (5, 0)}, {9: 3})
    assert clocks.knows(joined, 2, 5)
    assert not clocks.knows(joined, 3, 1)


def test_what_is_known_already_stays_the_same_object() -> None:
    clocks = Clocks(2)
    a, b = Knowledge({0: (2, 4)}, {9: 3}), Knowledge({0: (1, 4)}, {9: 1})
    assert clocks.join(a, b) is a
    assert clocks.join(a, NOTHING) is a
    assert clocks.join(NOTHING, b) is b
    joined = clocks.join(b, a)
    assert joined.rows[0] is a.rows[0]
    assert clocks.join(b, a) is joined


def test_own_clocks_and_agents_are_put_in() -> None:
    clocks = Clocks(2)
    known = clocks.with_all(NOTHING, ((0, 3), (3, 7)))
    assert known.rows == {0: (3, 0), 1: (0, 7)}
    assert with_agents(known, ({5: 2}, {5: 4})).agents == {5: 4}
    assert with_agents(known, ()) is known


def test_a_message_reaches_as_far_as_its_release() -> None:
    clocks = Clocks(1)
    near, far = Knowledge({0: (5,)}, {}), Knowledge({0: (2,)}, {})
    writer = Home(0, 0, 0)
    parts = extended(clocks, None, writer, (near, far, NOTHING))
    message = Message(writer, 0, 2, True, 5, NOTHING, *parts)
    assert message.at(clocks, Home(1, 0, 0), 0).rows == {0: (5,)}
    assert message.at(clocks, Home(1, 1, 0), 1).rows == {0: (2,)}
    assert message.at(clocks, Home(1, 1, 0), 0) is NOTHING
    assert message.at(clocks, Home(1, 2, 1), 2) is NOTHING


def test_a_shadow_is_refined_to_bytes() -> None:
    shadow = Shadow(Allocation("data", 16, "global"))
    shadow.writer[1], shadow.written[1] = 4, 9
    shadow.strong[2] = {(1, True): (1, 1, 2, 8, 4)}
    shadow.summaries[2] = 2, 8, 4
    shadow.refine()
    assert shadow.grain == 1
    assert list(shadow.writer[:10]) == [0, 0, 0, 0, 4, 4, 4, 4, 0, 0]
    assert list(shadow.written[4:8]) == [9, 9, 9, 9]
    assert [*shadow.strong] == [*shadow.summaries] == [8, 9, 10, 11]


def test_a_chain_knows_who_wrote_up_to_a_place() -> None:
    chain = Chain()
    assert [chain.add(7, 3), chain.clock_of(7, 1), chain.clock_of(8, 1)] == [1, 3, 0]
    assert [chain.add(8, 5), chain.add(9, 6)] == [2, 3]
    assert [chain.clock_of(thread, 2) for thread in (7, 8, 9)] == [3, 5, 0]
    assert chain.clock_of(9, 3) == 6
