"""Sections of locks: proved where their holders hand them on, and broken on purpose.

The locks are of two kinds: words that are exchanged, and words that serve in turn; the holder is
the thread itself, or one that it meets at barriers.
"""

import pytest
from test_verdict_orders import FREE, RACE, missing, verdict

from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.verdicts.solver import Launch

ROUNDS = """
mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5;
mov.u32 %r11, 0;
L: mov.u32 %r10, 0; @%p1 bra MET;
{draw}
SPIN: {take}
@%p2 bra SPIN;
{acquire}
MET: {meet}
ld.global.u32 %r8, [%rd6]; add.u32 %r8, %r8, 1; st.global.u32 [%rd6], %r8;
{part}
@{giver} bra NEXT;
{release}
{give}
NEXT: add.u32 %r11, %r11, 1; setp.lt.u32 %p5, %r11, 8; @%p5 bra L;
DONE: ret;"""
"""Thread 0 of each CTA takes a lock in each round, for all that it meets at a barrier."""
EXCHANGE = "atom.global.{}.gpu.exch.b32 %r7, [%rd2], 1; setp.ne.u32 %p2, %r7, 0;"
BACK = "st.{}.gpu.global.u32 [%rd2], 0;"
DRAW = "atom.global.relaxed.gpu.add.u32 %r9, [%rd2+64], 1; add.u32 %r10, %r9, 1;"
READ = "ld.{}.gpu.global.u32 %r7, [%rd2]; setp.ne.u32 %p2, %r7, %r9;"
NEXT = "st.{}.gpu.global.u32 [%rd2], %r10;"
KINDS = {"exchange": ("", EXCHANGE, BACK), "turn": (DRAW, READ, NEXT)}


def rounds(kind: str, take: str = "acquire", give: str = "release", **parts: str) -> str:
    """A kernel of a kind of lock, with these orderings."""
    draw, taking, giving = KINDS[kind]
    own = {
        "draw": draw,
        "take": taking.format(take),
        "acquire": "",
        "meet": "bar.sync 0;",
        "part": "bar.sync 0;",
        "release": "",
        "give": giving.format(give),
        "giver": "%p1",
    }
    return ROUNDS.format(**own | parts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thread_holds_a_lock_for_those_that_it_meets(kind: str) -> None:
    found = verdict(rounds(kind))
    assert found.kind is FREE
    assert "lock" in found.by
    fence = "fence.acq_rel.gpu;"
    fenced = rounds(kind, "relaxed", "relaxed", acquire=fence, release=fence)
    assert verdict(fenced).kind is FREE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("take", "give", "finding", "reason"),
    [
        ("relaxed", "release", Rule.UNORDERED_WAIT, "nothing acquires"),
        ("acquire", "relaxed", Rule.UNORDERED_SIGNAL, "nothing releases"),
    ],
)
def test_a_lock_that_is_relaxed_races(
    kind: str, take: str, give: str, finding: Rule, reason: str
) -> None:
    found = verdict(rounds(kind, take, give))
    assert found.kind is RACE
    assert found.conflicts[0].finding is finding
    assert reason in found.conflicts[0].missing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["meet", "part"])
def test_who_does_not_meet_the_holder_holds_nothing(kind: str, part: str) -> None:
    assert verdict(rounds(kind, **{part: ""})).kind is not FREE


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_given_back_wrongly_is_not_proved(kind: str) -> None:
    _, _, giving = KINDS[kind]
    give = giving.format("release")
    assert verdict(rounds(kind, release=give)).kind is not FREE  # Twice.
    # By a thread that does not hold it.
    is_other = "setp.ne.u32 %p6, %r1, 1;"
    assert verdict(rounds(kind, part=f"bar.sync 0; {is_other}", giver="%p6")).kind is not FREE
    other_word = rounds(kind).replace(give, give.replace("[%rd2]", "[%rd2+4]"))
    assert verdict(other_word).kind is not FREE


def test_a_section_that_hands_nothing_on_is_not_passed_over() -> None:
    """It does nothing itself, but who held the lock before it is not ordered with who holds it
    after."""
    weak = f"""
    W: {EXCHANGE.format("relaxed")} @%p2 bra W;
    {BACK.format("relaxed")}"""
    found = verdict(rounds("exchange").replace("DONE:", f"@%p1 bra DONE; {weak}\nDONE:"))
    assert found.kind is VerdictKind.NOT_JUDGED
    assert "hand on nothing" in found.obstacles[0].reason
    strong = weak.replace("relaxed.gpu.exch", "acquire.gpu.exch").replace("relaxed", "release")
    assert verdict(rounds("exchange").replace("DONE:", f"@%p1 bra DONE; {strong}\nDONE:")).kind is (
        FREE
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add.u32 %r10, %r9, 1;", "add.u32 %r10, %r9, 2;"),  # Of the turn after the next.
        ("[%rd2+64], 1;", "[%rd2+64], 0;"),  # All draw one turn.
        ("[%rd2+64], 1;", "[%rd2+64], 0x80000000;"),  # Every other one.
        ("atom.global.relaxed.gpu.add.u32 %r9, [%rd2+64], 1;", "and.b32 %r9, %r2, 1;"),
    ],
)
def test_turns_that_are_not_drawn_each_once_are_not_proved(old: str, new: str) -> None:
    body = rounds("turn")
    assert old in body
    assert verdict(body.replace(old, new)).kind is not FREE


def test_turns_of_ctas_are_apart_where_the_launch_says_so() -> None:
    """CTA i of n has the turns i, i + n, ..; of more CTAs two would have one."""
    turn = "shl.b32 %r9, %r11, 2; add.u32 %r9, %r9, %r2; add.u32 %r10, %r9, 1;"
    body = rounds("turn", draw=turn)
    assert verdict(body, Launch((64, 1, 1), (4, 1, 1))).kind is FREE
    assert verdict(body, Launch((64, 1, 1), (8, 1, 1))).kind is not FREE
    assert verdict(body).kind is not FREE
    assert "nothing acquires" in missing(rounds("turn", take="relaxed", draw=turn))


KEPT = "atom.global.relaxed.gpu.{}.b32 %r7, [%rd2], {}; setp.ne.u32 %p2, %r7, %r9;"


@pytest.mark.parametrize(
    ("update", "number", "kind"),
    [("add", 0, FREE), ("or", 0, FREE), ("xor", 0, FREE), ("or", 1, None), ("and", 0, None)],
)
def test_an_update_that_keeps_the_value_reads_a_turn(
    update: str, number: int, kind: VerdictKind | None
) -> None:
    """Another one writes the word, so that it serves nobody in turn."""
    poll = KEPT.format(update, number).replace("add.b32", "add.u32")
    fence = "fence.acq_rel.gpu;"
    body = rounds("turn", give="relaxed", acquire=fence, release=fence)
    body = body.replace(READ.format("acquire"), poll)
    found = verdict(body).kind
    assert found is kind or (kind is None and found is not FREE)


def test_the_fence_of_a_holder_may_come_after_the_barrier() -> None:
    """A fence.sc of each thread between the barrier and what it reads, and before the other."""
    fence = "fence.sc.gpu;"
    body = rounds(
        "turn", "relaxed", "relaxed", meet=f"bar.sync 0; {fence}", part=f"{fence} bar.sync 0;"
    )
    assert verdict(body).kind is FREE
    weak = rounds("turn", "relaxed", "relaxed", meet="bar.sync 0;", part=f"{fence} bar.sync 0;")
    assert verdict(weak).kind is not FREE


QUEUE = """
L: @%p1 bra MET;
{draw}
st.shared.u32 [last], %r7;
MET: {meet}
ld.shared.u32 %r8, [last];
setp.ge.s32 %p2, %r8, 100;
@%p2 bra DONE;
mov.u32 %r9, %ntid.x; mad.lo.u32 %r10, %r8, %r9, %r1;
mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd1, %rd5;
ld.global.u32 %r11, [%rd6]; add.u32 %r11, %r11, 1; st.global.u32 [%rd6], %r11;
{part}
bra L;
DONE: ret;"""
"""Thread 0 of each CTA takes the next piece of work from a counter, for all of them."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("add.u32 %r7, [%rd2], 1;", "add.u32 %r7, [%rd2], 0;"),
        ("add.u32 %r7, [%rd2], 1;", "add.u32 %r7, [%rd2], 1; shr.u32 %r7, %r7, 1;"),
        ("add.u32 %r7, [%rd2], 1;", "add.u32 %r7, [%rd4], 1;"),  # A counter of each CTA.
        ("mad.lo.u32 %r10, %r8, %r9, %r1;", "mad.lo.u32 %r10, %r8, 32, %r1;"),
        ("MET: bar.sync 0;", "MET:"),
        ("bar.sync 0;\nbra L;", "bra L;"),
    ],
)
def test_work_that_one_thread_takes_for_its_block_is_its_own(old: str, new: str) -> None:
    draw = "atom.global.relaxed.gpu.add.u32 %r7, [%rd2], 1;"
    body = QUEUE.format(draw=draw, meet="bar.sync 0;", part="bar.sync 0;")
    assert old in body
    assert (verdict(body.replace(old, new)).kind is FREE) is (old == "")
