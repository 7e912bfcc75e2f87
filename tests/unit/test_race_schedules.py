"""Schedules: what only the delay of one thread shows, their order and their budget."""

from test_race_pairs import kernel, verdict

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.launches.guess import guess
from fencewright.simulator.race.detector import Detector
from fencewright.simulator.race.schedules import MOST_WORK, ORDERS, delays
from fencewright.simulator.race.verdict import Judgement, judge
from fencewright.simulator.threads.launch import (
    Module,
    Run,
    execute,
    kernel_named,
    parse_launch,
)
from fencewright.simulator.threads.schedule import Delay, Schedule

_LAST_IS_NOT_THE_LAST_HOLDER = """
setp.ne.u32 %p1, %r1, 0; @%p1 ret;
L: atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;
ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;
st.release.gpu.global.u32 [%rd2], 0;
atom.relaxed.gpu.global.add.u32 %r5, [%rd2+4], 1; setp.ne.u32 %p3, %r5, 2; @%p3 ret;
ld.relaxed.gpu.global.u32 %r6, [%rd1]; st.global.u32 [%rd3], %r6; ret;"""
"""The last of three blocks reads what the holders of a lock have written, mostly as the last one."""


def _run(body: str, sizes: str, schedule: Schedule = ORDERS[0]) -> tuple[Run, Detector]:
    text = kernel(body)
    detector = Detector()
    launch = parse_launch(f"k<<<{sizes}>>>(i32[64], i32[64], i32[64])")
    run = execute(Module(read_ptx(text, "k.ptx")), launch, detector, schedule=schedule)
    return run, detector


def test_a_delay_shows_what_both_orders_hide() -> None:
    for schedule in ORDERS:
        run, detector = _run(_LAST_IS_NOT_THE_LAST_HOLDER, "3, 32", schedule)
        assert run.outcome.is_done
        assert not detector.races
    found = verdict(_LAST_IS_NOT_THE_LAST_HOLDER, "3, 32")
    assert found.judgement is Judgement.RACE
    assert {each.kind for each in found.findings} == {"write-read"}
    assert found.schedules > len(ORDERS)


def test_the_second_contender_wins_a_lock_whose_first_is_held() -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    atom.relaxed.gpu.global.cas.b32 %r3, [%rd2], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 ret;
    add.u32 %r4, %r2, 1; st.global.u32 [%rd3], %r4; ret;"""
    winners: list[int] = []
    for schedule in (Schedule(), Schedule(delay=Delay(0, 1)), Schedule(delay=Delay(0, 0))):
        run, _ = _run(body, "2, 32", schedule)
        assert run.arguments[2] is not None
        winners.append(run.arguments[2].get(0, 4))
    assert winners == [1, 2, 2]


def test_one_thread_of_each_role_is_held_within_the_budget() -> None:
    run, detector = _run(_LAST_IS_NOT_THE_LAST_HOLDER, "3, 32")
    work = run.outcome.steps + detector.accesses
    held = [*delays(run.stops, work)]
    # Two blocks do not read at the end and have one role, the third has its own: lanes that have
    # no strong operation are never held.
    assert {each.thread for each in held} == {0, 32, 64}
    assert held[:2] == [Delay(0, 0), Delay(0, 1)]
    assert len(held) == len({*held})
    assert not list(delays(run.stops, MOST_WORK + 1))
    assert len(list(delays(run.stops, MOST_WORK // 3))) == 3


def test_without_strong_operations_two_orders_are_all() -> None:
    found = verdict("st.global.u32 [%rd5], %r1; ret;", "1, 32")
    assert found.schedules == len(ORDERS)
    assert found.missed == ()


def test_writes_of_one_value_under_a_guess_are_not_judged() -> None:
    """Neither a finding, which other sizes may not have, nor a word of "no race"."""
    text = kernel("st.global.u32 [%rd1], 1; ret;")
    module = Module(read_ptx(text, "k.ptx"))
    found = judge(module, guess(module, kernel_named(module, "k")))
    assert (found.judgement, found.findings) == (Judgement.NOT_JUDGED, ())
    assert found.problem.startswith("a race under guessed sizes")


def test_lanes_that_go_round_a_barrier_and_end_are_no_lanes_that_have_left() -> None:
    """Who ends before a barrier does not take part; who goes on with what follows it, does."""
    odd = "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; "
    left = verdict(f"{odd} @%p1 bra END; bar.sync 0; st.global.u32 [%rd5], 1; END: ret;", "1, 32")
    assert left.judgement is Judgement.NO_RACE
    round_ = verdict(f"{odd} @%p1 bra ON; bar.sync 0; ON: st.global.u32 [%rd5], 1; ret;", "1, 32")
    assert round_.judgement is Judgement.DIVERGENCE
    # Rounds of a loop: all lanes take part in the first, and half of them in the second.
    loop = """
    and.b32 %r3, %r1, 1; LOOP: bar.sync 0; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 2; @%p1 bra LOOP; st.global.u32 [%rd5], 1; ret;"""
    assert verdict(loop, "1, 32").judgement is Judgement.DIVERGENCE
    assert verdict(loop.replace("%r1, 1", "%r1, 0"), "1, 32").judgement is Judgement.NO_RACE


def test_lanes_at_two_barriers_are_an_error_and_exited_ones_a_warning() -> None:
    begin = "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; "
    split = verdict(begin + "@%p1 bra A; bar.sync 0; ret; A: bar.sync 0; ret;", "1, 32")
    assert split.judgement is Judgement.DIVERGENCE
    assert "the others are not there" in split.findings[0].text
    ended = verdict(begin + "@%p1 ret; bar.sync 0; ret;", "1, 32")
    assert ended.judgement is Judgement.NO_RACE
    assert "the others have ended" in ended.findings[0].text


def test_delays_are_for_what_values_order_or_no_run_has_executed() -> None:
    """A winner that is another one changes values alone where no value that was read orders any."""
    relaxed = "atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1; ret;"
    assert verdict(relaxed).schedules == len(ORDERS)
    ordered = relaxed.replace("relaxed", "acq_rel")
    assert verdict(ordered).schedules > len(ORDERS)
    rare = relaxed.replace(
        "ret;", "setp.ne.u32 %p1, %r3, 99; @%p1 ret; st.global.u32 [%rd5], 1; ret;"
    )
    assert verdict(rare).schedules > len(ORDERS)
