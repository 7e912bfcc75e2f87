"""Spin loops end without any help from the caches, or are reported with what they wait for."""

import pytest
from cdna_cases import (
    AGENT0,
    AGENT1,
    CU0,
    GFX90A,
    GFX942_ONE,
    INV,
    RELEASE,
    SPLIT0,
    SPLIT1,
    VM,
    XCD0,
    XCD1,
    Case,
    Code,
    EmptyCaches,
    case,
    load,
    store,
)

from fencewright.simulator.cdna.instructions import (
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CdnaInstruction,
    CompareSwap,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.progress import stuck
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.exploration import LimitReached
from fencewright.simulator.core.program import Branch, Label, Placement

ANY = "exists (true)"
CLUSTERED = Placement(cluster=0)


def spin(*bits: str) -> Code:
    """Until the flag is not 0."""
    return (Label("spin"), load("r0", "f", *bits), VM, Branch("spin", "r0", unless=True))


def waiting(producer: Code, consumer: Code) -> Case:
    """A producer and a spinning consumer on two XCDs."""
    return case("waiting", ANY, (XCD0, producer), (XCD1, (*consumer, INV, load("r1", "x"))))


GOOD: Code = (store("x", 1), *RELEASE, store("f", 1, "sc1"))


def test_message_passing_ends():
    assert stuck(waiting(GOOD, spin("sc1")).test.program) == ()


def test_flag_store_without_scope_bits_is_stuck():
    program = waiting((*GOOD[:-1], store("f", 1)), spin("sc1")).test.program
    (found,) = stuck(program)
    assert str(found) == (
        "P1 repeats [global_load r0, f sc1; s_waitcnt vmcnt(0); branch spin unless r0]"
        " and reads f=0\n"
        "  f: memory 0, L2 of agent 0 XCD 0: 1 dirty"
    )


def test_flag_store_before_the_write_back_is_seen():
    program = waiting((store("x", 1), store("f", 1), *RELEASE), spin("sc1")).test.program
    assert stuck(program) == ()


@pytest.mark.parametrize("bits", [(), ("sc0",)])
def test_spin_load_that_hits_a_stale_line_is_stuck(bits: tuple[str, ...]):
    (found,) = stuck(waiting(GOOD, spin(*bits)).test.program)
    (wave,) = found.threads
    assert wave.thread == 1
    assert wave.reads == (("f", 0),)
    assert "f: memory 1" in found.details[0]
    assert "L1 of agent 0 XCD 1 CU 0: 0" in found.details[0]


def after_a_flag(*bits: str) -> Case:
    """The store comes before a flag, and a wave spins on it only when it has seen the flag."""
    seen = (Label("see"), load("r1", "x", "sc1"), VM, Branch("see", "r1", unless=True))
    publish: Code = (store("f", 1, "sc1"), VM, store("x", 1, "sc1"))
    return case("after", ANY, (XCD0, publish), (XCD1, (*seen, *spin(*bits))))


def test_a_line_from_before_the_kernel_is_hit_for_ever():
    """Nobody fetches it in time: with caches that start empty the load would see the store."""
    (found,) = stuck(after_a_flag().test.program)
    assert found.threads[0].reads == (("f", 0),)
    assert stuck(after_a_flag().test.program, line_rules=EmptyCaches) == ()
    assert stuck(after_a_flag("sc1").test.program) == ()


def test_a_line_of_an_l2_from_before_the_kernel_is_hit_for_ever():
    """By a load that passes the L1 alone; the other XCD's store is in memory."""
    assert len(stuck(after_a_flag("sc0").test.program)) == 1
    assert stuck(after_a_flag("sc0").test.program, line_rules=EmptyCaches) == ()


def test_a_line_may_also_not_have_been_there():
    """A wave that only passes with what was there goes on to wait for what it then fetches."""
    until = (Label("L"), load("r0", "f"), VM, Branch("L", "r0"))
    publish: Code = (store("f", 1, "sc1"), VM, store("x", 1, "sc1"))
    seen = (Label("see"), load("r1", "x", "sc1"), VM, Branch("see", "r1", unless=True))
    (found,) = stuck(case("either", ANY, (XCD0, publish), (XCD1, (*seen, *until))).test.program)
    assert found.threads[0].reads == (("f", 1),)


def test_spin_load_with_an_invalidate_in_the_loop_ends():
    loop: Code = (*spin()[:3], INV, spin()[3])
    assert stuck(waiting(GOOD, loop).test.program) == ()


def test_spin_on_one_cu_needs_no_bits():
    program = case("one-cu", ANY, (CU0, (store("f", 1),)), (CU0, spin())).test.program
    assert stuck(program) == ()


def test_spin_in_tgsplit_needs_sc0():
    split = CdnaConfiguration(tgsplit=True)
    places = (SPLIT0, SPLIT1)

    def program(*bits: str):
        threads = (places[0], (store("f", 1),)), (places[1], spin(*bits))
        return case("split", ANY, *threads).test.program

    assert stuck(program("sc0"), split) == ()
    assert len(stuck(program(), split)) == 1


def test_system_scope_flag_needs_system_scope_bits():
    def program(*bits: str):
        threads = (AGENT0, (store("f", 1, *bits),)), (AGENT1, spin("sc0", "sc1"))
        return case("agents", ANY, *threads).test.program

    assert stuck(program("sc0", "sc1"), GFX942_ONE) == ()
    assert len(stuck(program("sc1"), GFX942_ONE)) == 1


def test_relaxed_publish_is_seen_on_gfx90a():
    threads = (CU0, (store("f", 1),)), (CU0, spin("glc"))
    assert stuck(case("gfx90a", ANY, *threads).test.program, GFX90A) == ()


def test_lock_is_released():
    lock: Code = (
        Label("spin"),
        CompareSwap("f", 0, 1, "taken", ("sc0",)),
        VM,
        Branch("spin", "taken"),
        *RELEASE,
    )
    unlock, kept = store("f", 0, "sc1"), store("f", 0)

    def program(last: Code):
        return case("lock", ANY, (XCD0, (*lock, *last)), (XCD1, (*lock, *last))).test.program

    assert stuck(program((unlock,))) == ()
    found = stuck(program(()))
    assert {wave.thread for each in found for wave in each.threads} == {0, 1}
    # An atomic goes past the L2 and writes a dirty line back first, but only in its own L2.
    assert stuck(program((kept,)))


def test_barrier_that_nobody_else_reaches_is_passed_when_they_end():
    threads = (CU0, (WorkgroupBarrier(),)), (CU0, (store("x", 1),))
    assert stuck(case("barrier", ANY, *threads).test.program) == ()


def test_barrier_that_a_spinning_wave_never_reaches():
    threads = (CU0, (WorkgroupBarrier(), store("f", 1))), (CU0, (*spin(), WorkgroupBarrier()))
    (found,) = stuck(case("barrier", ANY, *threads).test.program)
    assert str(found.threads[0]) == "P0 waits for ever"
    assert found.threads[1].reads == (("f", 0),)


def test_limit_is_an_error_that_says_where_it_stopped():
    with pytest.raises(LimitReached, match=r"limit reached after \d+ states"):
        stuck(waiting(GOOD, spin("sc1")).test.program, limit=5)


ARRIVE, MEET = BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE)
GFX1250 = CdnaConfiguration("gfx1250")


@pytest.mark.parametrize(
    ("code", "configuration"),
    [
        ((store("x", 1), VM, store("f", 1), load("r0", "x")), None),
        ((Branch("on", "r0"), WorkgroupBarrier(), Label("on"), WorkgroupBarrier()), None),
        ((store("x", 1), ARRIVE, MEET, load("r0", "x")), GFX1250),
    ],
    ids=["accesses", "barriers and a branch ahead", "a split barrier"],
)
def test_straight_line_code_ends_without_a_look_at_its_states(
    code: Code, configuration: CdnaConfiguration | None
):
    program = case("straight", ANY, *((CU0, code),) * 6).test.program
    assert stuck(program, configuration, limit=1) == ()


@pytest.mark.parametrize(
    "code",
    [
        (ARRIVE, store("x", 1), MEET),
        (Branch("on", "r0"), ARRIVE, Label("on"), MEET),
        (BarrierSignal(BarrierUnit.WORKGROUP), BarrierWait(BarrierUnit.WORKGROUP)),
    ],
    ids=["something between", "a signal left out", "a cluster's"],
)
def test_a_split_barrier_needs_a_look_at_its_states(code: tuple[CdnaInstruction, ...]):
    """Straight-line code is not enough where signals and waits need not go together."""
    program = case("split", ANY, *((CLUSTERED, code),) * 2).test.program
    with pytest.raises(LimitReached):
        stuck(program, GFX1250, limit=1)


def test_a_wait_that_nobody_signals_for_is_for_ever():
    assert stuck(case("split", ANY, (CU0, (MEET,))).test.program, GFX1250)


def test_spontaneous_activity_would_hide_it():
    """Exhaustive exploration finds an end for a loop that real caches need not let end."""
    program = waiting((*GOOD[:-1], store("f", 1)), spin("sc1")).test.program
    system = CdnaMachine(program)
    seen, todo = {system.initial()}, [system.initial()]
    ends = False
    while todo:
        state = todo.pop()
        ends |= bool(system.final(state))
        fresh = {after for after, _ in system.successors(state)} - seen
        seen |= fresh
        todo += fresh
    assert ends
