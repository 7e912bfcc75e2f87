"""The order relation of verdicts: each primitive proved where it is right, and broken on purpose.

Every wrong twin differs from a right kernel in one qualifier, fence, value or place.
"""

from pathlib import Path

import pytest

from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
.shared .align 16 .b32 word[64];
.shared .align 4 .b32 last;
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [flag];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %nctaid.x;
mov.u32 %r4, word;
mov.u32 %r5, bar;
setp.ne.u32 %p1, %r1, 0;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
"""
RACE, FREE, UNJUDGED = VerdictKind.RACE, VerdictKind.RACE_FREE, VerdictKind.NOT_JUDGED


def verdict(body: str, launch: Launch | None = None) -> Verdict:
    file = read_ptx(f"{HEAD}{body}\n}}\n")
    return judge(kernel_of(file, file.functions["k"]), launch)


def missing(body: str) -> str:
    """The order that the first race of a kernel lacks; "" if it has none."""
    found = verdict(body)
    return found.conflicts[0].missing if found.conflicts else ""


def passing(
    write: str, read: str, after: str = "", payload: str = "ld.global.u32 %r6, [%rd1];"
) -> str:
    """CTA 0 stores data and raises a flag, CTA 1 polls it and reads."""
    return f"""
@%p1 bra DONE;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra READER;
st.global.u32 [%rd1], 42;
{write}
bra DONE;
READER:
setp.ne.u32 %p3, %r2, 1;
@%p3 bra DONE;
SPIN:
{read}
setp.eq.u32 %p4, %r7, 0;
@%p4 bra SPIN;
{after}
{payload}
DONE:
ret;"""


RELEASE = "st.release.gpu.global.u32 [%rd2], 1;"
ACQUIRE = "ld.acquire.gpu.global.u32 %r7, [%rd2];"
RELAXED_STORE = "st.relaxed.gpu.global.u32 [%rd2], 1;"
RELAXED_LOAD = "ld.relaxed.gpu.global.u32 %r7, [%rd2];"
FENCE = "fence.acq_rel.gpu;"


@pytest.mark.parametrize(
    ("write", "read", "after"),
    [
        (RELEASE, ACQUIRE, ""),
        (FENCE + RELAXED_STORE, RELAXED_LOAD, FENCE),
        (
            "membar.gl; st.volatile.global.u32 [%rd2], 1;",
            "ld.volatile.global.u32 %r7, [%rd2];",
            FENCE,
        ),
        ("atom.release.gpu.global.exch.b32 %r8, [%rd2], 1;", ACQUIRE, ""),
        ("st.release.sys.global.u32 [%rd2], 1;", "ld.acquire.sys.global.u32 %r7, [%rd2];", ""),
    ],
)
def test_flags_order_what_they_hand_over(write: str, read: str, after: str) -> None:
    found = verdict(passing(write, read, after))
    assert found.kind is FREE
    assert "flag" in found.by


@pytest.mark.parametrize(
    ("write", "read", "after", "reason"),
    [
        (RELAXED_STORE, ACQUIRE, "", "nothing releases"),
        (RELEASE, RELAXED_LOAD, "", "nothing acquires"),
        (RELAXED_STORE, RELAXED_LOAD, "", "nothing releases before the signal, and nothing"),
        (RELAXED_STORE + FENCE, RELAXED_LOAD, FENCE, "nothing releases"),
        ("fence.acq_rel.cta;" + RELAXED_STORE, RELAXED_LOAD, FENCE, "nothing releases"),
        (FENCE + RELAXED_STORE, RELAXED_LOAD, "fence.acq_rel.cta;", "nothing acquires"),
        (
            "st.release.cta.global.u32 [%rd2], 1;",
            "ld.acquire.cta.global.u32 %r7, [%rd2];",
            "",
            "scope",
        ),
        ("st.release.cta.global.u32 [%rd2], 1;", ACQUIRE, "", "scope"),
    ],
)
def test_a_weakened_flag_is_a_race_with_an_outcome_of_the_model(
    write: str, read: str, after: str, reason: str
) -> None:
    found = missing(passing(write, read, after))
    assert found.startswith(("nothing", "the scope"))
    assert reason in found
    assert "x_after=0" in found


def test_a_flag_that_is_raised_before_the_data_is_stored_orders_nothing() -> None:
    body = passing(RELEASE, ACQUIRE).replace(
        f"st.global.u32 [%rd1], 42;\n{RELEASE}", f"{RELEASE}\nst.global.u32 [%rd1], 42;"
    )
    assert verdict(body).kind is not FREE


def test_a_value_that_nobody_writes_is_not_judged() -> None:
    body = passing(RELEASE, ACQUIRE).replace("setp.eq.u32 %p4, %r7, 0", "setp.ne.u32 %p4, %r7, 2")
    assert verdict(body).kind is UNJUDGED


ROUNDS = """
@%p1 bra DONE;
shl.b32 %r9, %r2, 5; and.b32 %r9, %r9, -64; and.b32 %r10, %r2, 1;
setp.eq.u32 %p2, %r10, 0;
mov.u32 %r11, 0;
L: add.u32 %r12, %r11, %r9; shl.b32 %r12, %r12, 5; mul.wide.u32 %rd5, %r12, 4;
add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd2, %rd5;
@%p2 bra WRITER;
SPIN: ld.acquire.gpu.global.u32 %r7, [%rd7{shift}];
setp.eq.u32 %p4, %r7, 0; @%p4 bra SPIN;
ld.global.u32 %r6, [%rd6];
bra NEXT;
WRITER: st.global.u32 [%rd6], 42;
st.{order}.gpu.global.u32 [%rd7], 1;
NEXT: add.u32 %r11, %r11, 1; setp.lt.u32 %p5, %r11, 64; @%p5 bra L;
DONE: ret;"""
"""CTAs in pairs: of each round the even one stores a slot and its flag, the odd one polls and
reads."""


def test_flags_of_rounds_of_pairs_of_ctas_order_their_slots() -> None:
    right = verdict(ROUNDS.format(order="release", shift=""))
    assert right.kind is FREE
    assert "nothing releases" in missing(ROUNDS.format(order="relaxed", shift=""))
    # The flag of the round before says nothing of this round's slot.
    assert verdict(ROUNDS.format(order="release", shift="+-128")).kind is not FREE


TWO_FLAGS = """
mov.u32 %r8, 0;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra READ;
@%p1 bra DONE;
WRITE:
mul.wide.u32 %rd5, %r8, 4; add.s64 %rd5, %rd1, %rd5;
add.u32 %r8, %r8, 1;
{before}
st.release.gpu.global.u32 [%rd2], %r8;
st.release.gpu.global.u32 [%rd2+64], %r8;
{after}
setp.ne.u32 %p3, %r8, 8;
@%p3 bra WRITE;
bra DONE;
READ:
mul.wide.u32 %rd5, %r8, 4; add.s64 %rd5, %rd1, %rd5;
setp.eq.u32 %p5, %r8, 0;
add.u32 %r8, %r8, 1;
@%p1 bra MET;
SPIN:
ld.acquire.gpu.global.u32 %r7, [%rd2];
setp.lt.u32 %p4, %r7, %r8;
@%p4 bra SPIN;
MET:
bar.sync 0;
@%p5 bra NEXT;
ld.global.u32 %r10, [%rd5];
NEXT:
bar.sync 0;
@%p1 bra AGAIN;
POLL:
ld.acquire.gpu.global.u32 %r7, [%rd2+64];
setp.lt.u32 %p4, %r7, %r8;
@%p4 bra POLL;
AGAIN:
bar.sync 0;
setp.ne.u32 %p3, %r8, 8;
@%p3 bra READ;
DONE:
ret;"""


def test_two_flags_that_come_too_early_order_nothing_together() -> None:
    # Thread 0 has seen one in this round, the other in the one before: not both in one round.
    store = "st.global.u32 [%rd5], %r8;"
    assert verdict(TWO_FLAGS.format(before=store, after="")).kind is FREE
    assert verdict(TWO_FLAGS.format(before="", after=store)).kind is not FREE


def test_a_flag_that_is_seen_at_the_start_proves_nothing() -> None:
    body = passing(RELEASE, ACQUIRE).replace("setp.eq.u32 %p4, %r7, 0", "setp.ne.u32 %p4, %r7, 0")
    assert verdict(body).kind is not FREE


def test_no_flag_orders_a_read_that_is_not_coherent() -> None:
    found = missing(passing(RELEASE, ACQUIRE, payload="ld.global.nc.u32 %r6, [%rd1];"))
    assert "ld.global.nc" in found


def test_a_read_before_a_write_by_a_relaxed_flag_is_a_note() -> None:
    body = passing(RELAXED_STORE, RELAXED_LOAD, payload="st.global.u32 [%rd1], 1;")
    body = body.replace("st.global.u32 [%rd1], 42;", "ld.global.u32 %r6, [%rd1];")
    found = verdict(body)
    assert found.kind is FREE
    assert found.notes


def met(before: str, between: str, after: str = FENCE) -> str:
    """CTA 0 stores by all threads and one raises the flag; one thread of CTA 1 polls, and all read."""
    return f"""
setp.ne.u32 %p2, %r2, 0;
mul.wide.u32 %rd5, %r1, 4;
add.s64 %rd6, %rd1, %rd5;
@%p2 bra READER;
st.global.u32 [%rd6], 42;
{before}
@%p1 bra DONE;
{between}
st.relaxed.gpu.global.u32 [%rd2], 1;
bra DONE;
READER:
setp.ne.u32 %p3, %r2, 1;
@%p3 bra DONE;
@%p1 bra MEET;
SPIN:
ld.relaxed.gpu.global.u32 %r7, [%rd2];
setp.eq.u32 %p4, %r7, 0;
@%p4 bra SPIN;
{after}
MEET:
bar.sync 0;
ld.global.u32 %r6, [%rd6+4];
DONE:
ret;"""


def test_barriers_carry_flags_to_all_threads_of_a_cta() -> None:
    assert verdict(met("bar.sync 0;", FENCE)).kind is FREE


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [
        ("", FENCE, FENCE),
        (FENCE, "", FENCE),
        (FENCE + "bar.sync 0;", "", FENCE),
        ("bar.sync 0;", FENCE, ""),
        ("bar.sync 0;", "fence.acq_rel.cta;", FENCE),
    ],
)
def test_a_fence_belongs_between_the_barrier_and_the_flag(
    before: str, between: str, after: str
) -> None:
    assert verdict(met(before, between, after)).kind is not FREE


def last_block(before: str = FENCE, after: str = FENCE, count: int = 1, ask: str = "") -> str:
    """Each CTA stores a word and counts itself; the last one reads all."""
    return f"""
@%p1 bra MEET;
st.global.u32 [%rd4], 7;
{before}
atom.global.add.u32 %r7, [%rd2], 1;
sub.u32 %r8, %r3, {count};
setp.eq.u32 %p2, %r7, %r8;
selp.u32 %r9, 1, 0, %p2;
{after}
st.shared.u32 [last], %r9;
MEET:
bar.sync 0;
ld.shared.u32 %r10, [last];
setp.eq.u32 %p3, %r10, 0;
@%p3 bra DONE;
ld.global.u32 %r11, [%rd1+{ask or 0}];
DONE:
ret;"""


def test_the_last_block_reads_what_all_stored() -> None:
    found = verdict(last_block())
    assert found.kind is FREE
    assert "counter" in found.by


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (last_block(before=""), "nothing releases"),
        (last_block(after=""), "nothing acquires"),
        (last_block(before="fence.acq_rel.cta;"), "nothing releases"),
    ],
)
def test_a_last_block_without_a_fence_is_a_race(body: str, reason: str) -> None:
    assert reason in missing(body)


_SEQUENTIAL = [
    ("fence.sc.gpu;", "fence.sc.gpu;", True),
    ("membar.gl;", "membar.gl;", True),
    ("fence.acq_rel.gpu;", "fence.sc.gpu;", False),
    ("fence.sc.gpu;", "fence.acq_rel.gpu;", False),
    ("fence.sc.cta;", "fence.sc.gpu;", False),
    ("fence.sc.gpu;", "", False),
    ("", "fence.sc.gpu;", False),
]
"""A fence before the counter, one after the barrier of the last block, and true if they order."""


@pytest.mark.parametrize(("before", "after", "orders"), _SEQUENTIAL)
def test_fences_sc_order_what_all_threads_of_the_last_block_read(
    before: str, after: str, orders: bool
) -> None:
    read = "ld.global.u32 %r11"
    body = last_block(before, "").replace(read, f"{after} {read}")
    assert (verdict(body).kind is FREE) is orders
    # The store is of another thread than the counter.
    store = f"setp.ne.u32 %p5, %r1, 1; @%p5 bra S; st.global.u32 [%rd4], 7; {before} S: bar.sync 0;"
    stored = store + last_block("", "").replace("st.global.u32 [%rd4], 7;", "")
    assert (verdict(stored.replace(read, f"{after} {read}")).kind is FREE) is orders


POLLED = """
setp.eq.u32 %p2, %r2, 0;
@!%p2 bra READER;
@%p1 bra DONE;
st.global.u32 [%rd1], 42;
atom.global.{give}.gpu.exch.b32 %r8, [%rd2], 1;
bra DONE;
READER: setp.eq.u32 %p3, %r1, 0;
L: bar.sync 0;
mov.u32 %r7, 0;
@%p3 atom.global.{take}.gpu.cas.b32 %r7, [%rd2], 1, {value};
@%p3 st.shared.u32 [last], %r7;
{meet}
ld.shared.u32 %r9, [last];
setp.ne.u32 %p4, %r9, 1;
@%p4 bra L;
ld.global.u32 %r6, [%rd1];
DONE:
ret;"""
"""Thread 0 polls for its CTA, and tells all in each round what it has found."""


def polled(take: str = "acquire", give: str = "release", **parts: str) -> str:
    return POLLED.format(
        **{"take": take, "give": give, "value": "1", "meet": "bar.sync 0;"} | parts
    )


def test_a_poll_in_whose_rounds_all_meet_hands_on_what_it_finds() -> None:
    assert verdict(polled()).kind is FREE
    assert "nothing acquires" in missing(polled(take="relaxed"))
    assert "nothing releases" in missing(polled(give="relaxed"))
    assert verdict(polled(meet="")).kind is not FREE
    # Who is told by another value need not have been told by the first CTA.
    assert verdict(polled(value="3")).kind is FREE
    assert verdict(polled(value="0")).kind is FREE
    changed = polled(value="2").replace("setp.ne.u32 %p4, %r9, 1", "setp.eq.u32 %p4, %r9, 0")
    assert verdict(changed).kind is not FREE


@pytest.mark.parametrize(("scope", "kind"), [("gpu", FREE), ("cta", RACE)])
def test_a_swap_for_the_same_hands_on_to_its_scope(scope: str, kind: VerdictKind) -> None:
    """Of a narrower one another CTA may read, and it races with the signal."""
    swap = f"atom.global.relaxed.{scope}.cas.b32 %r8, [%rd2], 1, 1;"
    assert verdict(passing(RELEASE, f"{swap} {ACQUIRE}")).kind is kind


def two_rounds(first: str, second: str, between: str = "bar.sync 0;") -> str:
    """Two rounds with counters and words of their own, and one variable that says who is last."""
    names = "MEET", "NEXT"
    rounds = [
        text.replace("MEET", name).replace("DONE:\nret;", "").replace("DONE", f"ROUND{name}")
        for text, name in zip((first, second), names, strict=True)
    ]
    rounds[1] = rounds[1].replace("[%rd4]", "[%rd4+65536]").replace("[%rd2]", "[%rd2+64]")
    rounds[1] = rounds[1].replace("[%rd1+0]", "[%rd1+65536]")
    return f"{rounds[0]}\nROUNDMEET: {between}\n{rounds[1]}\nROUNDNEXT: ret;"


def test_a_variable_that_each_round_writes_hands_on_the_last_counter() -> None:
    grid = Launch(None, (4, 1, 1))
    assert verdict(two_rounds(last_block(), last_block()), grid).kind is FREE
    assert "nothing releases" in missing(two_rounds(last_block(), last_block(before="")))
    assert verdict(two_rounds(last_block(), last_block(), ""), grid).kind is not FREE
    # What another thread writes is not overwritten by thread 0.
    other = "setp.ne.u32 %p7, %r1, 1; @%p7 bra SKIP; st.shared.u32 [last], 1;\nSKIP:\nbar.sync 0;"
    body = two_rounds(last_block(), last_block().replace("bar.sync 0;", other))
    assert verdict(body, grid).kind is not FREE


def test_a_count_that_not_all_have_reached_is_not_proved() -> None:
    assert verdict(last_block(count=2)).kind is not FREE


def locked(take: str, acquire: str, release: str, give: str) -> str:
    return f"""
@%p1 bra DONE;
SPIN:
{take}
setp.ne.u32 %p2, %r7, 0;
@%p2 bra SPIN;
{acquire}
ld.global.u32 %r8, [%rd1];
add.u32 %r8, %r8, 1;
st.global.u32 [%rd1], %r8;
{release}
{give}
DONE:
ret;"""


CAS = "atom.global.cas.b32 %r7, [%rd2], 0, 1;"
GIVE = "st.relaxed.gpu.global.u32 [%rd2], 0;"


def test_a_lock_orders_its_sections() -> None:
    for take in (CAS, "atom.global.exch.b32 %r7, [%rd2], 1;"):
        found = verdict(locked(take, FENCE, FENCE, GIVE))
        assert found.kind is FREE
        assert "lock" in found.by
    acquire = CAS.replace("atom", "atom.acquire.gpu")
    assert verdict(locked(acquire, "", "", GIVE.replace("relaxed", "release"))).kind is FREE


@pytest.mark.parametrize(
    ("acquire", "release"), [("", FENCE), (FENCE, ""), ("", ""), ("fence.acq_rel.cta;", FENCE)]
)
def test_a_lock_without_a_fence_is_a_race(acquire: str, release: str) -> None:
    assert "the PTX model allows" in missing(locked(CAS, acquire, release, GIVE))


def test_a_lock_that_others_overwrite_is_not_proved() -> None:
    body = locked(CAS, FENCE, FENCE, GIVE).replace("@%p1 bra DONE;", f"@%p1 bra DONE;\n{GIVE}")
    assert verdict(body).kind is not FREE


def test_a_lock_that_is_given_back_too_early_is_not_proved() -> None:
    body = locked(CAS, FENCE, FENCE, GIVE).replace(
        "ld.global.u32 %r8", f"{FENCE}{GIVE}\nld.global.u32 %r8"
    )
    assert verdict(body).kind is not FREE


def phases(arrive: str, wait: str, count: int = 1, parity: str = "0") -> str:
    """Thread 0 stores a word and arrives; all wait, and read."""
    return f"""
@%p1 bra INIT;
mbarrier.init.shared::cta.b64 [%r5], {count};
INIT:
bar.sync 0;
@%p1 bra WAIT;
st.shared.u32 [%r4], 42;
{arrive}
WAIT:
{wait} %p2, [%r5], {parity};
@!%p2 bra WAIT;
ld.shared.u32 %r6, [%r4];
ret;"""


ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r5];"
WAIT = "mbarrier.try_wait.parity.shared::cta.b64"


def test_a_phase_orders_what_came_before_the_arrival() -> None:
    found = verdict(phases(ARRIVE, WAIT))
    assert found.kind is FREE
    assert "mbarrier" in found.by
    assert verdict(phases(f"{ARRIVE}\n{ARRIVE}", WAIT, count=2)).kind is FREE


@pytest.mark.parametrize(
    ("arrive", "wait", "count", "parity"),
    [
        (ARRIVE.replace("arrive", "arrive.relaxed.cta"), WAIT, 1, "0"),
        (ARRIVE, WAIT.replace("parity", "parity.relaxed.cta"), 1, "0"),
        (ARRIVE, WAIT, 1, "1"),
        (f"{ARRIVE}\n{ARRIVE}", WAIT, 1, "0"),
    ],
)
def test_a_relaxed_or_wrong_phase_is_not_proved(
    arrive: str, wait: str, count: int, parity: str
) -> None:
    assert verdict(phases(arrive, wait, count, parity)).kind is not FREE


def test_a_relaxed_phase_is_a_race_whatever_the_mbarrier_counts() -> None:
    init = "mbarrier.init.shared::cta.b64 [%r5], 1;"
    right = phases(ARRIVE, WAIT)
    assert verdict(right.replace(init, "")).kind is UNJUDGED
    relaxed = phases(ARRIVE.replace("arrive", "arrive.relaxed.cta"), WAIT)
    assert "nothing releases" in missing(relaxed.replace(init, ""))


def loaded(arrive: str) -> str:
    """A bulk copy to shared memory that all wait for."""
    return f"""
@%p1 bra INIT;
mbarrier.init.shared::cta.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
INIT:
bar.sync 0;
@%p1 bra WAIT;
{arrive}
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 256, [%r5];
WAIT:
{WAIT} %p2, [%r5], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r6, [%r4];
ret;"""


EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], {};"


def test_a_bulk_copy_is_done_with_the_phase_that_expects_its_bytes() -> None:
    assert verdict(loaded(EXPECT.format(256))).kind is FREE


@pytest.mark.parametrize("arrive", [ARRIVE, EXPECT.format(128)])
def test_a_phase_that_expects_too_little_is_a_race(arrive: str) -> None:
    assert "no arrival expects the bytes" in missing(loaded(arrive))


def clustered(arrive: str, wait: str = "barrier.cluster.wait.aligned;", before: str = "") -> str:
    """All threads store to their own CTA, and read their neighbour's shared memory."""
    return f"""
mov.u32 %r6, %cluster_ctarank;
shl.b32 %r7, %r1, 2;
add.u32 %r8, %r4, %r7;
xor.b32 %r9, %r6, 1;
st.shared.u32 [%r8], 42;
{before}
{arrive}
{wait}
mapa.shared::cluster.u32 %r10, %r8, %r9;
ld.shared::cluster.u32 %r11, [%r10];
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ret;"""


def test_a_cluster_barrier_orders_accesses_of_several_ctas() -> None:
    found = verdict(clustered("barrier.cluster.arrive.aligned;"))
    assert found.kind is FREE
    assert "cluster barrier" in found.by


@pytest.mark.parametrize(
    ("arrive", "wait"),
    [
        ("barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.aligned;"),
        ("bar.sync 0;", ""),
        ("", ""),
    ],
)
def test_a_relaxed_cluster_barrier_or_one_of_the_cta_is_a_race(arrive: str, wait: str) -> None:
    assert missing(clustered(arrive, wait))


MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
REMOTE = "mapa.shared::cluster.u32 %r10, %r8, %r9;\n{}\n"


@pytest.mark.parametrize(
    "access",
    [
        "st.shared::cluster.u32 [%r10], 7;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];",
    ],
)
def test_shared_memory_of_another_cta_is_there_while_the_cta_is(access: str) -> None:
    place = "mov.u32 %r6, %cluster_ctarank; xor.b32 %r9, %r6, 1; mov.u32 %r8, %r4;\n"
    place += "@%p1 ret;\n" if access.startswith("st") else ""
    remote = REMOTE.format(access)
    assert verdict(f"{place}{MEET}{remote}{MEET}ret;").kind is FREE
    assert "may not have begun" in missing(f"{place}{remote}{MEET}ret;")
    assert "may have ended" in missing(f"{place}{MEET}{remote}ret;")
    relaxed = MEET.replace("arrive", "arrive.relaxed")
    assert "may have ended" in missing(f"{place}{MEET}{remote}{relaxed}ret;")
    only_arrives = "barrier.cluster.arrive.aligned;\n"
    assert "may have ended" in missing(f"{place}{MEET}{remote}{only_arrives}ret;")
    conflict = verdict(f"{place}{MEET}{remote}ret;").conflicts[0]
    assert conflict.finding is Rule.CLUSTER_BARRIER


def test_a_cluster_barrier_of_another_round_orders_nothing() -> None:
    place = "mov.u32 %r6, %cluster_ctarank; xor.b32 %r9, %r6, 1;\n"
    place += "shl.b32 %r7, %r1, 2; add.u32 %r8, %r4, %r7; mov.u32 %r12, 0;\n"
    remote = REMOTE.format("st.shared::cluster.u32 [%r10], %r12;")
    begin = f"{place}{MEET}ROUND:\n{remote}{MEET}ld.shared.u32 %r11, [%r8];\n"
    end = f"add.u32 %r12, %r12, 1; setp.lt.u32 %p2, %r12, 4; @%p2 bra ROUND;\n{MEET}ret;"
    assert verdict(begin + MEET + end).kind is FREE
    assert verdict(begin + end).kind is RACE


REMOTE_ARRIVAL = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];"
REMOTE_WAIT = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"


def handed(arrive: str = REMOTE_ARRIVAL, wait: str = REMOTE_WAIT, place: str = "%r5") -> str:
    """Thread 0 of each CTA stores a word to its neighbour, and arrives there; all wait, and read."""
    return f"""
mov.u32 %r6, %cluster_ctarank;
xor.b32 %r7, %r6, 1;
mapa.shared::cluster.u32 %r10, %r4, %r7;
mapa.shared::cluster.u32 %r11, {place}, %r7;
@%p1 bra INIT;
mbarrier.init.shared::cta.b64 [%r5], 1;
INIT:
{MEET}
@%p1 bra WAIT;
st.shared::cluster.u32 [%r10], 42;
{arrive}
WAIT:
{wait} %p2, [%r5], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r12, [%r4];
{MEET}
ret;"""


def test_an_arrival_at_another_cta_orders_what_was_stored_there() -> None:
    found = verdict(handed())
    assert found.kind is FREE, found.obstacles
    assert "mbarrier" in found.by


@pytest.mark.parametrize(
    ("arrive", "wait"),
    [
        (REMOTE_ARRIVAL.replace("release.cluster", "release.cta"), REMOTE_WAIT),
        (REMOTE_ARRIVAL, REMOTE_WAIT.replace("acquire.cluster", "acquire.cta")),
        (REMOTE_ARRIVAL.replace("release", "relaxed"), REMOTE_WAIT),
        (REMOTE_ARRIVAL, REMOTE_WAIT.replace("acquire", "relaxed")),
    ],
)
def test_an_arrival_at_another_cta_has_its_scope_on_both_sides(arrive: str, wait: str) -> None:
    assert verdict(handed(arrive, wait)).kind is RACE


def test_an_arrival_at_the_own_cta_orders_nothing_in_another() -> None:
    local = "mbarrier.arrive.release.cluster.shared::cta.b64 _, [%r5];"
    assert verdict(handed(local)).kind is not FREE
    assert verdict(handed().replace("xor.b32 %r7, %r6, 1;", "mov.u32 %r7, 0;")).kind is not FREE


def stored(fence: str, wait: str = "cp.async.bulk.wait_group 0;") -> str:
    """All threads fill shared memory, and one copies it out."""
    return f"""
shl.b32 %r7, %r1, 2;
add.u32 %r8, %r4, %r7;
setp.ge.u32 %p3, %r1, 64;
@%p3 bra MEET;
st.shared.u32 [%r8], 42;
MEET:
{fence}
bar.sync 0;
@%p1 bra NEXT;
mul.wide.u32 %rd5, %r2, 256;
add.s64 %rd6, %rd1, %rd5;
cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r4], 256;
cp.async.bulk.commit_group;
{wait}
NEXT:
bar.sync 0;
@%p3 bra DONE;
st.shared.u32 [%r8], 43;
DONE:
ret;"""


def test_a_bulk_store_reads_what_was_fenced_for_its_proxy() -> None:
    assert verdict(stored("fence.proxy.async.shared::cta;")).kind is FREE
    read = verdict(stored("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group.read 0;"))
    assert read.kind is FREE


def test_a_bulk_store_without_its_fence_or_wait_is_no_proof() -> None:
    assert "no fence between the proxies" in missing(stored(""))
    assert verdict(stored("fence.proxy.async.shared::cta;", "")).kind is not FREE


def grid_barrier(
    release: str = FENCE,
    acquire: str = FENCE,
    less: int = 0,
    second: str = "SECOND:",
    adds: int = 1,
) -> str:
    """In each round all CTAs store, meet, read what another one stored, and meet again."""
    return f"""
mov.u32 %r6, 0;
xor.b32 %r7, %r2, 1;
mul.wide.u32 %rd5, %r7, 4;
add.s64 %rd6, %rd1, %rd5;
ROUND:
shl.b32 %r8, %r6, 1;
add.u32 %r9, %r8, 1;
mul.lo.u32 %r10, %r9, %r3;
sub.u32 %r10, %r10, {less};
add.u32 %r9, %r8, 2;
mul.lo.u32 %r11, %r9, %r3;
@%p1 bra READ;
st.global.u32 [%rd4], %r6;
{release}
atom.global.add.u32 %r12, [%rd2], {adds};
SPIN:
ld.relaxed.gpu.global.u32 %r13, [%rd2];
setp.lt.u32 %p2, %r13, %r10;
@%p2 bra SPIN;
{acquire}
READ:
bar.sync 0;
ld.global.u32 %r14, [%rd6];
bar.sync 0;
@%p1 bra NEXT;
atom.global.add.u32 %r15, [%rd2], 1;
{second}
ld.relaxed.gpu.global.u32 %r16, [%rd2];
setp.lt.u32 %p3, %r16, %r11;
@%p3 bra SECOND;
NEXT:
bar.sync 0;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p4, %r6, 16;
@%p4 bra ROUND;
ret;"""


def test_a_grid_barrier_orders_rounds_in_both_directions() -> None:
    found = verdict(grid_barrier())
    assert found.kind is FREE
    assert any("counter" in each for each in found.by)
    assert found.notes  # The second half has no fence: it orders reads before writes alone.


@pytest.mark.parametrize(("release", "acquire"), [("", FENCE), (FENCE, "")])
def test_a_grid_barrier_without_a_fence_is_a_race(release: str, acquire: str) -> None:
    assert "nothing" in missing(grid_barrier(release, acquire))


@pytest.mark.parametrize("wrong", [{"less": 1}, {"adds": 2}])
def test_a_grid_barrier_that_waits_for_less_is_not_proved(wrong: dict[str, int]) -> None:
    assert (
        verdict(grid_barrier(less=wrong.get("less", 0), adds=wrong.get("adds", 1))).kind is not FREE
    )


def test_a_grid_barrier_whose_second_half_does_not_wait_is_not_proved() -> None:
    body = grid_barrier().replace("@%p3 bra SECOND;", "")
    assert verdict(body).kind is not FREE


def rounds(skip: str) -> str:
    """Thread 0 stores and arrives in each round; the others wait for it in those that are not skipped."""
    return f"""
@%p1 bra INIT;
mbarrier.init.shared::cta.b64 [%r5], 1;
INIT:
bar.sync 0;
mov.u32 %r6, 0;
ROUND:
shl.b32 %r7, %r6, 2;
add.u32 %r8, %r4, %r7;
@%p1 bra ASK;
st.shared.u32 [%r8], 42;
{ARRIVE}
ASK:
and.b32 %r9, %r6, 1;
setp.lt.u32 %p4, %r6, {skip};
@%p4 bra NEXT;
WAIT:
{WAIT} %p2, [%r5], %r9;
@!%p2 bra WAIT;
ld.shared.u32 %r10, [%r8];
NEXT:
add.u32 %r6, %r6, 1;
setp.lt.u32 %p3, %r6, 16;
@%p3 bra ROUND;
ret;"""


def test_the_parities_of_waits_that_rounds_skip_are_not_those_of_their_phases() -> None:
    body = rounds("1")
    assert verdict(body).kind is not FREE
    every = body.replace("@%p4 bra NEXT;", "")
    assert verdict(every).kind is FREE


LAST_BLOCK = (Path(__file__).parents[2] / "examples/races/last_block.ptx").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", "", FREE),
        # All blocks but the last add up, and write the total.
        ("setp.eq.s32 	%p8, %r44", "setp.ne.s32 	%p8, %r44", None),
        ("atom.add.acq_rel.gpu.s32 %r44", "atom.add.relaxed.gpu.s32 %r44", RACE),
        # Blocks may take the same ticket.
        ("atom.add.acq_rel.gpu.s32 %r44", "atom.exch.acq_rel.gpu.b32 %r44", None),
        ("mov.u32 	%r45, 1;", "mov.u32 	%r45, 0;", None),
    ],
)
def test_one_block_is_the_last_and_tells_its_threads(
    old: str, new: str, kind: VerdictKind | None
) -> None:
    """The ticket is compared by one thread, and a byte of shared memory hands the result on."""
    before, right = LAST_BLOCK.split(".visible .entry _Z16", 1)
    file = read_ptx(f"{before}.visible .entry _Z16{right.replace(old, new)}")
    found = judge(kernel_of(file, file.functions["_Z16last_block_rightPKiPiS1_S1_"])).kind
    assert found is kind or (kind is None and found is not FREE)
