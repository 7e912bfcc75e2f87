"""Verdicts of roles that meet at named barriers: ``bar.arrive`` of producers, ``bar.sync`` of
consumers. Each guarantee has a twin that lacks it."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts import intervals
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Relation, Verdict
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal
from fencewright.checker.verdicts.order.litmus import violation
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Ordering, Scope

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) .maxntid {threads}, 1, 1
{{
    .reg .pred %p<9>; .reg .b32 %r<32>;
    .shared .align 16 .b8 s[4096];
    ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, s; mov.u32 %r9, 0;
    and.b32 %r4, %r2, 31; shl.b32 %r4, %r4, 2; add.u32 %r5, %r3, %r4;
    xor.b32 %r6, %r4, 4; add.u32 %r7, %r3, %r6;
    setp.lt.u32 %p1, %r2, 32; @%p1 bra READER;
    setp.ge.u32 %p4, %r2, 64; @%p4 bra OUT;
    {writer} bra OUT;
READER:
    {reader}
OUT: ret;
}}
"""
FREE, RACE, NOT_JUDGED = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.NOT_JUDGED


def kind_of(writer: str, reader: str, threads: int = 64) -> VerdictKind:
    """The verdict of a warp that writes shared memory, and of one that reads it."""
    text = _TEXT.format(writer=writer, reader=reader, threads=threads)
    file = read_ptx(text, "k.ptx")
    return judge(kernel_of(file, file.functions["k"])).kind


STORE, LOAD = "st.shared.u32 [%r5], %r9;", "ld.shared.u32 %r8, [%r7];"


@pytest.mark.parametrize(
    ("writer", "reader", "kind"),
    [
        (f"{STORE} bar.arrive 1, 64;", f"bar.sync 1, 64; {LOAD}", FREE),
        (f"bar.sync 1, 64; {STORE}", f"{LOAD} bar.arrive 1, 64;", FREE),
        (f"bar.arrive 1, 64; {STORE}", f"bar.sync 1, 64; {LOAD}", NOT_JUDGED),  # Too early.
        (f"{STORE} bar.arrive 1, 64;", f"{LOAD} bar.sync 1, 64;", RACE),
        (f"{STORE} bar.sync 1, 64;", f"bar.arrive 1, 64; {LOAD}", NOT_JUDGED),  # Nobody waits.
        (f"{STORE} bar.arrive 2, 64;", f"bar.sync 1, 64; {LOAD}", NOT_JUDGED),  # Another barrier.
        (f"{STORE} bar.arrive 1, 32;", f"bar.sync 1, 32; {LOAD}", NOT_JUDGED),  # Half suffices.
    ],
)
def test_who_waits_comes_after_those_that_arrive(writer: str, reader: str, kind: VerdictKind):
    assert kind_of(writer, reader) is kind


def test_all_that_arrive_have_to_be_counted():
    both = f"{STORE} bar.arrive 1, 64;"
    twice = f"bar.arrive 1, 64; {both}"
    assert kind_of(twice, f"bar.sync 1, 64; {LOAD}") is not FREE
    elsewhere = f"bar.sync 1, 64; {LOAD} OTHER: bar.arrive 1, 64;"
    assert kind_of(both, elsewhere) is not FREE


@pytest.mark.parametrize(
    ("barrier", "kind"),
    [
        ("bar.sync 2, 32;", FREE),  # Another one.
        ("bar.sync 1, 32;", NOT_JUDGED),  # One of the two counts ends a phase too early.
        ("bar.sync 1;", NOT_JUDGED),  # It waits for all, or for their end, which orders nothing.
        ("bar.sync %r1, 32;", NOT_JUDGED),  # It may be any.
    ],
)
def test_others_at_the_barrier_are_counted(barrier: str, kind: VerdictKind):
    assert kind_of(f"{STORE} bar.arrive 1, 64;", f"{barrier} bar.sync 1, 64; {LOAD}") is kind


WRITER = f"""
W:  bar.sync 2, 64; {STORE} bar.arrive 1, 64;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r1; @%p2 bra W;
"""
READER = f"""
R:  bar.arrive 2, 64; bar.sync 1, 64; {LOAD}
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, %r1; @%p3 bra R;
"""


def test_a_full_and_an_empty_barrier_hand_one_buffer_to_and_fro():
    assert kind_of(WRITER, READER) is FREE
    assert kind_of(WRITER, READER, threads=128) is FREE


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("bar.sync 2, 64;", "", RACE),  # The writer overtakes the reader.
        ("bar.sync 2, 64;", "bar.arrive 2, 64;", RACE),
        (f"{STORE} bar.arrive 1, 64;", f"bar.arrive 1, 64; {STORE}", RACE),
        ("bar.sync 1, 64;", "bar.arrive 1, 64;", RACE),  # The reader does not wait.
        (f"bar.sync 1, 64; {LOAD}", f"{LOAD} bar.sync 1, 64;", NOT_JUDGED),
        ("bar.arrive 2, 64; bar.sync 1, 64;", "bar.sync 1, 64; bar.arrive 2, 64;", NOT_JUDGED),
    ],
)
def test_each_step_of_the_ring_is_needed(old: str, new: str, kind: VerdictKind):
    assert old in WRITER or old in READER
    assert kind_of(WRITER.replace(old, new), READER.replace(old, new)) is kind


@pytest.mark.parametrize("met", [False, True])
@pytest.mark.parametrize("writes", [False, True])
def test_the_model_orders_an_arrival_before_a_wait_of_its_cta(writes: bool, met: bool):
    phase = Signal(Ordering.RELEASE, Scope.WORKGROUP, is_phase=True, is_named=True)
    halves = Half(phase, barrier=met), Half(phase)
    for relation, is_ordered in ((Relation.CTA, True), (Relation.CLUSTER, False)):
        lemma = Lemma(relation, Payload(writes), *halves, Payload(not writes))
        assert (violation(lemma) is None) is is_ordered


FREED = f"""
    bar.arrive 2, 64;
R:  bar.sync 1, 64; {LOAD} bar.arrive 2, 64;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, %r1; @%p3 bra R;
"""


def test_a_buffer_that_is_free_before_the_loop_is_given_back_in_it():
    assert kind_of(WRITER, FREED) is FREE
    early = FREED.replace(f"{LOAD} bar.arrive 2, 64;", f"bar.arrive 2, 64; {LOAD}")
    twice = FREED.replace("R:", "bar.arrive 2, 64;\nR:")
    assert kind_of(WRITER, early) is RACE
    assert kind_of(WRITER, twice) is NOT_JUDGED


_EXCHANGE = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k() {limit}
{{
    .reg .b32 %r<9>; .reg .pred %p<2>;
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;
    {before}
    st.shared.u32 [%r4], %r1;
    shr.u32 %r5, %r1, {group}; add.u32 %r5, %r5, 1; {barrier}
    xor.b32 %r6, %r2, {other}; add.u32 %r7, %r3, %r6; ld.shared.u32 %r8, [%r7];
OUT: ret;
}}
"""


def exchange(
    barrier: str, other: int, *, group: int = 5, limit: str = "", before: str = ""
) -> Verdict:
    """The verdict of threads that read each the element of another one after a barrier."""
    text = _EXCHANGE.format(
        barrier=barrier, other=4 * other, group=group, limit=limit, before=before
    )
    file = read_ptx(text, "k.ptx")
    return judge(kernel_of(file, file.functions["k"]))


@pytest.mark.parametrize(
    ("group", "other", "is_proved"),
    [(6, 32, True), (6, 64, False), (7, 64, True), (5, 32, False)],
)
def test_a_barrier_named_by_its_threads_orders_those_of_one_name(
    group: int, other: int, is_proved: bool
):
    """Groups of 32 to 128 threads meet, each at its own barrier, and read another's element."""
    limit = ".maxntid 256, 1, 1"
    kind = exchange(f"bar.sync %r5, {1 << group};", other, group=group, limit=limit).kind
    assert (kind is FREE) is is_proved


_HALF = "setp.ge.u32 %p1, %r1, 64; @%p1 bra OUT;"


@pytest.mark.parametrize(
    ("barrier", "group", "limit", "before", "kind", "is_assumed"),
    [
        ("bar.sync %r5, 64;", 6, "", "", FREE, False),
        ("bar.sync %r5, 32;", 6, "", "", NOT_JUDGED, False),  # Each warp goes on alone.
        ("bar.sync %r5, 32;", 6, ".reqntid 64, 1, 1", "", NOT_JUDGED, False),
        ("bar.sync 1, 64;", 6, ".reqntid 64, 1, 1", "", FREE, False),
        ("bar.sync 1, 64;", 6, ".reqntid 128, 1, 1", "", RACE, False),
        ("bar.sync 1, 64;", 6, "", "", FREE, True),  # Of any block, 64 threads may be meant.
        ("bar.sync 1, 64;", 6, "", _HALF, FREE, False),
        (
            "bar.sync 1, 64;",
            6,
            "",
            "popc.b32 %r5, %r1; setp.ge.u32 %p1, %r5, 2; @%p1 bra OUT;",
            FREE,
            True,
        ),  # How many threads go on is not known.
        ("bar.sync 1, 32;", 6, "", _HALF, RACE, False),
    ],
)
def test_a_count_is_held_against_the_threads_that_come(
    barrier: str, group: int, limit: str, before: str, kind: VerdictKind, is_assumed: bool
):
    verdict = exchange(barrier, 32, group=group, limit=limit, before=before)
    assert verdict.kind is kind
    assert (Assumption.NAMED_BARRIERS in verdict.assumptions) is is_assumed


_OF_ALL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k()
{{
    .reg .b32 %r<4>; .shared .align 16 .b8 s[4096];
    mov.u32 %r1, s; st.shared.u32 [%r1], 1; {} ld.shared.u32 %r2, [%r1+4]; ret;
}}
"""


def test_no_thread_is_counted_at_barriers_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a barrier without a number nothing is asked thread by thread."""
    asked: list[object] = []

    def counted(_: object, barrier: object) -> None:
        asked.append(barrier)

    monkeypatch.setattr(intervals, "_warps_by_name", counted)
    for barrier, is_counted in (("bar.sync 0;", False), ("bar.sync 1, 64;", True)):
        file = read_ptx(_OF_ALL.format(barrier), "k.ptx")
        judge(kernel_of(file, file.functions["k"]))
        assert bool(asked) is is_counted
