"""Verdicts without a launch: small kernels, each beside twins that lack one thing."""

from typing import Any

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts import judge as judging
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.text import read_ptx

_HEADER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
    .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
    .shared .align 16 .b8 s[4096];
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; mov.u32 %r3, s;
    shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
    xor.b32 %r6, %r4, 4; add.u32 %r7, %r3, %r6;
"""
"""%r5: the thread's own word of ``s``; %r7: its neighbour's, of the same warp."""

FREE, RACE, LAUNCH = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.LAUNCH
NOT_JUDGED = VerdictKind.NOT_JUDGED


def verdict_of(body: str, launch: Launch | None = None) -> Verdict:
    """The verdict of a kernel with a body."""
    file = read_ptx(f"{_HEADER}{body}\n    ret;\n}}\n", "k.ptx")
    return judge(kernel_of(file, file.functions["k"]), launch)


BARRIER = """
    st.shared.u32 [%r5], %r2;
    {0}
    ld.shared.u32 %r8, [%r7];
"""

TILE = "and.b32 %r21, %r2, 16; mov.u32 %r20, 0xffff; shl.b32 %r20, %r20, %r21;\n"
"""%r20: the lanes of the thread's half of a warp."""
HALF = "setp.ge.u32 %p1, %r2, 16; @%p1 bra OUT;\n"
HALVES = """
    and.b32 %r20, %r2, 16; setp.ne.u32 %p1, %r20, 0; @%p1 bra UPPER;
    bar.warp.sync 0xffff; bra MET;
UPPER:
    bar.warp.sync 0xffff0000;
MET: {other}
"""

LOOP = """
    mov.u32 %r9, 0;
L:  and.b32 %r10, %r9, {buffers}; shl.b32 %r11, %r10, 11; add.u32 %r12, %r5, %r11; add.u32 %r13, %r7, %r11;
    setp.ge.u32 %p2, %r2, 512; @%p2 bra OUT;
    st.shared.u32 [%r12], %r9;
    bar.sync 0;
    ld.shared.u32 %r14, [%r13];
    {end}
    add.u32 %r9, %r9, 1; setp.ne.u32 %p1, %r9, 8; @%p1 bra L;
OUT:
"""

COPY = """
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3;
    cp.async.ca.shared.global [%r5], [%rd4], 4;
    cp.async.commit_group;
    {0}
    bar.sync 0;
    ld.shared.u32 %r8, [%r7];
"""

GRID_STRIDE = """
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %nctaid.x;
    mad.lo.u32 %r11, %r8, {0}, %r2; mul.lo.u32 %r12, %r9, %r10;
L:  setp.ge.u32 %p1, %r11, %r1; @%p1 bra OUT;
    mul.wide.u32 %rd3, %r11, 4; add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r11;
    add.u32 %r11, %r11, %r12; bra L;
OUT:
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(BARRIER.format("bar.sync 0;"), FREE, id="barrier"),
        pytest.param(BARRIER.format(""), RACE, id="no-barrier"),
        pytest.param(BARRIER.format("fence.acq_rel.cta;"), RACE, id="fence-for-barrier"),
        pytest.param(BARRIER.format("bar.warp.sync -1;"), FREE, id="warp-barrier"),
        pytest.param(BARRIER.format(TILE + "bar.warp.sync %r20;"), FREE, id="warp-barrier-of-tile"),
        pytest.param(
            BARRIER.format(
                TILE + "xor.b32 %r6, %r4, 64; add.u32 %r7, %r3, %r6;\nbar.warp.sync %r20;"
            ),
            RACE,
            id="warp-barrier-of-another-tile",
        ),
        pytest.param(
            HALF + BARRIER.format("bar.warp.sync 0xffff;") + "OUT:", FREE, id="warp-barrier-of-half"
        ),
        pytest.param(
            HALF + BARRIER.format("bar.warp.sync 0xff;") + "OUT:",
            NOT_JUDGED,
            id="warp-barrier-of-less",
        ),
        pytest.param(
            HALF + BARRIER.format("") + "OUT:\nbar.warp.sync 0xffff;", RACE, id="warp-barrier-after"
        ),
        pytest.param(
            HALF + BARRIER.format("activemask.b32 %r20; bar.warp.sync %r20;") + "OUT:",
            NOT_JUDGED,
            id="warp-barrier-of-unknown-lanes",
        ),
        pytest.param(
            BARRIER.format(HALVES.format(other="")), NOT_JUDGED, id="warp-barriers-of-halves"
        ),
        pytest.param(
            BARRIER.format(HALVES.format(other="xor.b32 %r6, %r4, 64; add.u32 %r7, %r3, %r6;")),
            RACE,
            id="warp-barriers-of-the-other-half",
        ),
        pytest.param(
            BARRIER.format("shfl.sync.bfly.b32 %r20|%p1, %r2, 1, 31, -1;"), RACE, id="shuffle"
        ),
        pytest.param(
            BARRIER.format("xor.b32 %r6, %r4, 128; add.u32 %r7, %r3, %r6; bar.warp.sync -1;"),
            RACE,
            id="warp-barrier-other-warp",
        ),
        pytest.param(LOOP.format(buffers=1, end=""), FREE, id="two-buffers"),
        pytest.param(LOOP.format(buffers=0, end="bar.sync 0;"), FREE, id="one-buffer-two-barriers"),
        pytest.param(LOOP.format(buffers=0, end=""), RACE, id="write-after-read-over-back-edge"),
        pytest.param(COPY.format("cp.async.wait_group 0;"), FREE, id="copy"),
        pytest.param(COPY.format("cp.async.wait_all;"), FREE, id="copy-wait-all"),
        pytest.param(COPY.format(""), RACE, id="copy-no-wait"),
        pytest.param(COPY.format("cp.async.wait_group 1;"), RACE, id="copy-one-group-left"),
        pytest.param(
            COPY.format("setp.eq.u32 %p1, %r2, 0; @%p1 cp.async.wait_all;"),
            RACE,
            id="copy-waited-for-by-one",
        ),
        pytest.param(GRID_STRIDE.format("%r9"), FREE, id="grid-stride"),
        pytest.param(GRID_STRIDE.format("1"), RACE, id="grid-stride-overlapping"),
    ],
)
def test_kernels_and_their_broken_twins(body: str, kind: VerdictKind):
    assert verdict_of(body).kind is kind


def test_a_tree_reduction_needs_a_barrier_in_each_round():
    tree = """
    st.shared.u32 [%r5], %r2;
    mov.u32 %r9, 128;
L:  bar.sync 0;
    setp.ge.u32 %p1, %r2, %r9; @%p1 bra NEXT;
    shl.b32 %r10, %r9, 2; add.u32 %r11, %r5, %r10;
    ld.shared.u32 %r12, [%r11]; ld.shared.u32 %r13, [%r5]; add.u32 %r13, %r13, %r12;
    st.shared.u32 [%r5], %r13;
NEXT:
    shr.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra L;
"""
    launch = Launch(block=(256, 1, 1))
    assert verdict_of(tree, launch).kind is FREE
    before = tree.replace("L:  bar.sync 0;", "bar.sync 0;\nL:")
    assert verdict_of(before, launch).kind is RACE


def test_roles_with_named_barriers_are_followed_each_on_its_own():
    roles = """
    setp.ge.u32 %p1, %r2, 128; @%p1 bra OTHER;
    st.shared.u32 [%r5], %r2; bar.sync 1, 128; ld.shared.u32 %r8, [%r7];
    bra OUT;
OTHER:
    setp.ge.u32 %p2, %r2, 256; @%p2 bra OUT;
    st.shared.u32 [%r5], %r2; bar.sync 2, 128; ld.shared.u32 %r9, [%r7];
OUT:
"""
    verdict = verdict_of(roles)
    assert verdict.kind is FREE
    assert Assumption.NAMED_BARRIERS not in verdict.assumptions
    assert verdict_of(roles.replace("bar.sync 2, 128;", "")).kind is RACE


@pytest.mark.parametrize(
    ("writer", "reader", "kind"),
    [
        ("st.shared.u32 [%r5], %r2;", "bar.sync 0;", NOT_JUDGED),
        ("st.shared.u32 [%r5], %r2;", "bar.sync 1, 32;", NOT_JUDGED),
        ("st.shared.u32 [%r5], %r2; bar.arrive 2, 64;", "bar.sync 1, 64;", NOT_JUDGED),
        ("bar.arrive 1, 64; st.shared.u32 [%r5], %r2;", "bar.sync 1, 64;", NOT_JUDGED),
    ],
)
def test_a_barrier_with_a_count_does_not_wait_for_threads_that_never_come(
    writer: str, reader: str, kind: VerdictKind
):
    roles = f"""
    setp.lt.u32 %p1, %r2, 32; @%p1 bra READER;
    {writer} bra OUT;
READER:
    {reader} ld.shared.u32 %r8, [%r5+128];
OUT:
"""
    assert verdict_of(roles).kind is kind


def test_one_thread_of_a_role_arrives_for_those_that_it_has_met():
    elected = """
    .shared .align 8 .b64 full; setp.ne.u32 %p1, %r2, 0; @%p1 bra MEET;
    mbarrier.init.shared::cta.b64 [full], 1;
MEET:
    bar.sync 0; and.b32 %r8, %r2, 127; shl.b32 %r9, %r8, 2; add.u32 %r10, %r3, %r9;
    setp.ge.u32 %p2, %r2, 128; @%p2 bra READER;
    st.shared.b32 [%r10], %r2;
    bar.sync 1, 128;
    @%p1 bra OUT;
    mbarrier.arrive.shared::cta.b64 _, [full]; bra OUT;
READER:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [full], 0; @!%p4 bra READER;
    ld.shared.b32 %r13, [%r10];
OUT:
"""
    assert verdict_of(elected, Launch(block=(256, 1, 1))).kind is FREE
    assert (
        verdict_of(elected.replace("bar.sync 1, 128;", ""), Launch(block=(256, 1, 1))).kind is RACE
    )


def test_a_barrier_that_some_threads_do_not_reach_proves_nothing():
    divergent = """
    st.shared.u32 [%r5], %r2;
    setp.ge.u32 %p1, %r2, 16; @%p1 bra PAST;
    bar.sync 0;
PAST:
    bar.sync 0;
    ld.shared.u32 %r8, [%r7];
"""
    verdict = verdict_of(divergent)
    assert verdict.kind is NOT_JUDGED
    assert "threads may not all come to the barrier" in verdict.obstacles[0].reason


MEETING = """
    setp.eq.u32 %p1, %r2, 0; @%p1 bra MEET;
    add.u32 %r8, %r1, 1;
MEET:
    setp.eq.u32 %p2, {0}, 0; @%p2 bra LAST;
    st.shared.u32 [%r5], %r2; bar.sync 0; ld.shared.u32 %r9, [%r7];
LAST:
    bar.sync 0; st.shared.u32 [%r5], %r2; bar.sync 0; ld.shared.u32 %r9, [%r7];
"""
"""Threads part, meet again, and decide together by {0} to which barrier they go."""


def test_threads_that_part_and_meet_come_to_the_same_barrier():
    assert verdict_of(MEETING.format("%r1")).kind is FREE
    for of_threads in ("%r2", "%r8"):  # An index, and a register that one side alone writes.
        assert verdict_of("mov.u32 %r8, 0;" + MEETING.format(of_threads)).kind is NOT_JUDGED


ROUNDS = """
    mov.u32 %r9, 0; mov.u32 %r10, {start};
L:  add.u32 %r9, %r9, 1;
    setp.eq.u32 %p1, %r2, 0; @%p1 bra {to};
    add.u32 %r11, %r1, 1;
MEET:
    setp.gt.u32 %p2, %r9, 4; @%p2 bra NEXT;
    st.shared.u32 [%r5], %r2; bar.sync 0; ld.shared.u32 %r12, [%r7]; bar.sync 0;
NEXT:
    shr.u32 %r13, %r10, 31; add.u32 %r13, %r13, %r10; shr.s32 %r13, %r13, {by};
    setp.gt.s32 %p3, %r10, 1; mov.u32 %r10, %r13; @%p3 bra L;
    bar.sync 0;
"""
"""A loop whose rounds a register halves that no formula is known of, signed as C divides."""


@pytest.mark.parametrize(
    ("start", "to", "by", "kind"),
    [
        ("%r1", "MEET", "1", FREE),
        ("%r2", "MEET", "1", NOT_JUDGED),  # Threads go round as often as their index says.
        ("%r1", "MEET", "%r2", NOT_JUDGED),
        ("%r1", "NEXT", "1", NOT_JUDGED),  # Thread 0 goes round past the barrier.
        ("%r1", "L", "1", NOT_JUDGED),  # It counts rounds of its own.
    ],
)
def test_a_register_that_all_threads_compute_alike_decides_for_all(
    start: str, to: str, by: str, kind: VerdictKind
):
    assert verdict_of(ROUNDS.format(start=start, to=to, by=by)).kind is kind


def test_a_grid_that_waits_for_the_one_before_lets_the_next_one_start():
    early = "griddepcontrol.wait; griddepcontrol.launch_dependents;" + BARRIER.format("bar.sync 0;")
    verdict = verdict_of(early)
    assert verdict.kind is FREE
    assert Assumption.DEPENDENTS_WAIT in verdict.assumptions
    assert verdict_of(early.replace("bar.sync 0;", "")).kind is RACE


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("ld.global.u32 %r8, [%rd1];", "ld.global.u32 %r9, [%rd2];", FREE),
        ("ld.global.u32 %r8, [%rd1];", "ld.global.u32 %r9, [%rd1];", NOT_JUDGED),
        ("ld.global.u32 %r8, [%rd1];", "@%p1 st.global.u32 [%rd1], %r2;", NOT_JUDGED),
        ("@%p1 st.global.u32 [%rd1], %r2;", "ld.global.u32 %r9, [%rd2];", NOT_JUDGED),
        ("ld.relaxed.gpu.global.u32 %r8, [%rd1];", "ld.global.u32 %r9, [%rd2];", NOT_JUDGED),
        ("ld.global.u64 %rd3, [%rd1]; ld.global.u32 %r8, [%rd3];", "", FREE),
    ],
)
def test_only_objects_that_are_not_accessed_later_are_read_before_the_wait(
    before: str, after: str, kind: VerdictKind
):
    """The grid before does not write these, where the kernel's own wait is in its place."""
    first = "mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0; setp.eq.and.u32 %p1, %r2, 0, %p1;"
    verdict = verdict_of(f"{first} {before} griddepcontrol.wait; {after}")
    assert verdict.kind is kind
    assert (Assumption.GRID_BEFORE in verdict.assumptions) == (kind is FREE)


def test_threads_that_have_ended_are_not_waited_for():
    ended = BARRIER.format("setp.ge.u32 %p1, %r2, 256; @%p1 bra OUT; bar.sync 0;")
    assert verdict_of(f"{ended}OUT:").kind is FREE


@pytest.mark.parametrize(
    ("left", "end", "kind"),
    [
        pytest.param(1, "bra OUT", NOT_JUDGED, id="neighbours"),
        pytest.param(1, "trap", FREE, id="neighbours-that-trap"),
        pytest.param(2, "bra OUT", FREE, id="neither-of-the-two"),
    ],
)
def test_a_barrier_does_not_order_accesses_of_threads_that_have_ended(
    left: int, end: str, kind: VerdictKind
):
    odd = f"and.b32 %r9, %r2, {left}; setp.ne.u32 %p1, %r9, 0; @%p1 {end}; bar.sync 0;"
    assert verdict_of(f"{BARRIER.format(odd)}OUT:").kind is kind


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("call other;", "a call of 'other'"),
        ("atom.global.exch.b32 %r8, [%rd1], %r2; shl.b32 %r8, %r8, 2; add.u32 %r9, %r3, %r8;"
         "st.shared.u32 [%r9], 1; ld.shared.u32 %r10, [%r5];", "an address depends on data"),
        ("W: ld.acquire.gpu.global.u32 %r8, [%rd1]; setp.eq.u32 %p1, %r8, 0; @%p1 bra W;"
         "ld.global.u32 %r9, [%rd2];", "never writes what is polled"),
        *((f"W: ld.acquire.gpu.global.u32 %r8, [%rd1]; {seen} @%p1 bra W; st.global.u32 [%rd2], 1;",
           "never writes what is polled")
          for seen in (  # By way of other lanes and threads.
              "shfl.sync.idx.b32 %r9, %r8, 0, 31, -1; setp.eq.u32 %p1, %r9, 0;",
              "setp.eq.u32 %p2, %r8, 0; vote.sync.any.pred %p1, %p2, -1;",
              "setp.eq.u32 %p2, %r8, 0; barrier.cta.red.or.pred %p1, 0, %p2;",
              "redux.sync.min.u32 %r9, %r8, -1; setp.eq.u32 %p1, %r9, 0;",
              "match.any.sync.b32 %r9, %r8, -1; setp.eq.u32 %p1, %r9, 0;")),
        ("st.release.gpu.global.u32 [%rd1], 1;", "never reads what is published"),
        ("griddepcontrol.launch_dependents;", "another grid"),
    ],
)  # fmt: skip
def test_what_is_not_judged_says_why(body: str, reason: str):
    file = read_ptx(f"{_HEADER}{body}\n    ret;\n}}\n", "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]))
    assert verdict.kind is NOT_JUDGED
    assert reason in verdict.obstacles[0].reason
    assert verdict.obstacles[0].line > 0


def test_a_place_of_all_ctas_is_a_race_under_a_launch_alone():
    body = "mov.u32 %r8, %ctaid.x; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r8;"
    verdict = verdict_of(body)
    assert verdict.kind is LAUNCH
    assert "more than one CTA" in verdict.condition
    assert verdict_of(body, Launch(grid=(1, 1, 1))).kind is FREE
    assert verdict_of(body, Launch((64, 1, 1), (2, 1, 1))).kind is RACE


@pytest.mark.parametrize(
    ("scope", "own", "kind"),
    [("sys", "", NOT_JUDGED), ("gpu", "", RACE), ("sys", "mov.u32 %r9, %tid.x;", RACE)],
    ids=["of all GPUs", "of this one", "of several threads"],
)
def test_a_wait_of_threads_that_nothing_tells_apart_is_for_another_kernel(
    scope: str, own: str, kind: VerdictKind
) -> None:
    """A barrier of several GPUs by a block of one thread, which counts its rounds."""
    head = _HEADER.replace("mov.u32 %r2, %tid.x;", "")
    body = f"""
    {own} ld.global.u32 %r8, [%rd1+64]; add.u32 %r8, %r8, 1;
    st.release.{scope}.global.u32 [%rd2], %r8;
WAIT: ld.acquire.{scope}.global.u32 %r10, [%rd1]; setp.ne.u32 %p1, %r10, %r8; @%p1 bra WAIT;
    st.global.u32 [%rd1+64], %r8; ret;
}}
"""
    file = read_ptx(head + body, "k.ptx")
    assert judge(kernel_of(file, file.functions["k"])).kind is kind


def test_what_threads_do_all_alike_is_a_race_of_more_than_one() -> None:
    one_thread = verdict_of(
        "st.global.u32 [%rd1], 1; ld.global.u32 %r8, [%rd2];".replace(" 1;", " %r1;")
    )
    assert one_thread.kind is LAUNCH
    grid = "mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;"
    one_cta = verdict_of(grid)
    assert one_cta.kind is LAUNCH
    assert "more than one CTA" in one_cta.condition
    assert verdict_of(grid, Launch(grid=(1, 1, 1))).kind is FREE
    assert verdict_of(grid, Launch((64, 1, 1), (2, 1, 1))).kind is RACE


OWN_WORD = """
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mad.lo.u32 %r8, %r8, %r9, %r2;
    mul.wide.u32 %rd3, %r8, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %clock;
"""


@pytest.mark.parametrize(
    ("block", "grid", "kind"),
    [
        ((64, 1, 1), (2, 1, 1), FREE),
        ((64, 2, 1), (2, 1, 1), RACE),
        ((64, 1, 2), (1, 1, 1), RACE),
        ((64, 1, 1), (2, 2, 1), RACE),
        ((64, 1, 1), (1, 1, 2), RACE),
    ],
)
def test_threads_that_differ_in_an_index_alone_that_nobody_reads_are_several(
    block: tuple[int, int, int], grid: tuple[int, int, int], kind: VerdictKind
) -> None:
    assert verdict_of(OWN_WORD, Launch(block, grid)).kind is kind


def test_required_blocks_have_threads_that_differ_in_an_index_that_nobody_reads() -> None:
    text = f"{_HEADER}{OWN_WORD}\n    ret;\n}}\n".replace(")\n{", ")\n.reqntid 32, 4, 1\n{", 1)
    file = read_ptx(text, "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]), Launch(grid=(1, 1, 1)))
    assert verdict.kind is RACE


@pytest.mark.parametrize("blocks", [2, 1 << 20, 1 << 21, (1 << 31) - 1])
def test_a_grid_of_any_size_that_a_launch_has_is_judged(blocks: int) -> None:
    """A size that contradicts the bounds of launches would prove everything."""
    body = "mov.u32 %r8, %ctaid.x; setp.lt.u32 %p1, %r8, 2; @%p1 st.global.u32 [%rd1], %r8;"
    assert verdict_of(body, Launch((1, 1, 1), (blocks, 1, 1))).kind is RACE


@pytest.mark.parametrize("grid", [(1 << 31, 1, 1), (1, 65536, 1), (1, 1, 65536)])
def test_a_grid_that_no_launch_has_proves_nothing(grid: tuple[int, int, int]) -> None:
    verdict = verdict_of("st.global.u32 [%rd1], %r2;", Launch((1, 1, 1), grid))
    assert verdict.kind is NOT_JUDGED


ELECTED = """
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd2, %rd3; ld.global.u32 %r8, [%rd4];
    setp.ne.u32 %p1, %r8, {0}; @%p1 bra OUT;
    st.shared.u32 [%r3], %r2;
OUT:
"""


def test_what_is_only_read_is_what_a_race_needs() -> None:
    assert verdict_of(ELECTED.format(7)).kind is RACE
    # Two threads find two values at two places, so that one finds its own number alone.
    assert verdict_of(ELECTED.format("%r2")).kind is RACE
    one_place = ELECTED.replace("[%rd4]", "[%rd2]")
    assert verdict_of(one_place.format("%r2")).kind is not RACE
    # What another thread has stored before a barrier was not there before the kernel.
    stored = "st.global.u32 [%rd2], 0; bar.sync 0;"
    one_cta = Launch(grid=(1, 1, 1))
    assert verdict_of(one_place.format(7), one_cta).kind is RACE
    assert verdict_of(stored + one_place.format(7), one_cta).kind is NOT_JUDGED
    later = one_place.format(7) + "st.global.u32 [%rd1], 0;"
    assert verdict_of(later, one_cta).kind is RACE


TICKET = """
    atom.global.add.u32 %r8, [%rd1], {0};
    mul.wide.u32 %rd3, %r8, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r2;
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (TICKET.format(1), FREE),
        (TICKET.format(3), FREE),
        (TICKET.format(0), LAUNCH),
        # Thread 0 adds nothing, so that the next one finds what it found.
        (TICKET.format("%r2"), LAUNCH),
        (TICKET.format(2).replace("st.global.u32", "st.global.v2.u32").replace("%r2;", "{%r2, %r2};"), FREE),
        (TICKET.format(1).replace("st.global.u32", "st.global.v2.u32").replace("%r2;", "{%r2, %r2};"), LAUNCH),
        (TICKET.format(1) + "st.global.u32 [%rd1], 0;", RACE),
        (TICKET.format(1) + "atom.global.exch.b32 %r9, [%rd1], 0;", NOT_JUDGED),
        (TICKET.format(1).replace("atom.global", "atom.cta.global"), LAUNCH),
    ],
)  # fmt: skip
def test_who_draws_a_ticket_has_it_alone(body: str, kind: VerdictKind) -> None:
    block = "mov.u32 %r9, %ctaid.x; mov.u32 %r9, %ntid.x;"
    assert verdict_of(block + body).kind is kind


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, FREE),
        ({"W:  bar.sync 0;": "W:"}, RACE),
        ({"V:  bar.sync 0;": "V:"}, NOT_JUDGED),
        ({"add.u32 %r14, %r13, 0;": "sub.u32 %r14, %r13, 1;"}, NOT_JUDGED),
        ({"add.u32 %r16, %r15, %r12;": "shr.u32 %r16, %r12, 1; add.u32 %r16, %r15, %r16;"}, NOT_JUDGED),
        ({"[%rd5], %r14;": "[%rd5], 100;"}, NOT_JUDGED),
        ({"[cell], 1;": "[cell], -1;"}, NOT_JUDGED),
        ({"mov.u32 %r9, 0;": "mov.u32 %r9, -9;"}, NOT_JUDGED),
        (
            {
                "mov.u32 %r12, -1;": "mov.u32 %r12, 0; @!%p1 bra W;",
                "setp.lt.s32 %p3, %r12, 0;": "not.pred %p3, %p1;",
            },
            NOT_JUDGED,
        ),
        ({"W:  bar.sync 0;": "W: bar.sync 0; @%p1 st.shared.u32 [cell], 0; bar.sync 0;"}, NOT_JUDGED),
    ],
    ids=[
        "right", "count not awaited", "base not awaited", "one less", "two in a place",
        "another number", "counts down", "begins below", "nothing counted", "count anew",
    ],
)  # fmt: skip
def test_a_cta_s_places_of_a_list_are_its_own(changes: dict[str, str], kind: VerdictKind) -> None:
    """Threads count what they keep in a shared cell, of which one adds the total to a global one:
    each has its place."""
    body = """
    .shared .align 4 .b8 cell[4]; .shared .align 4 .b8 base[4];
    mov.u32 %r20, %ctaid.x; mul.lo.u32 %r21, %r20, 256; add.u32 %r22, %r21, %r2;
    setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, 0; @%p1 st.shared.u32 [cell], %r9; bar.sync 0;
    mul.wide.u32 %rd3, %r22, 4; add.u64 %rd4, %rd2, %rd3; ld.global.nc.u32 %r10, [%rd4];
    setp.eq.u32 %p2, %r10, 0; mov.u32 %r12, -1; @%p2 bra W; atom.shared.add.u32 %r12, [cell], 1;
W:  bar.sync 0;
    @!%p1 bra V; ld.shared.u32 %r13, [cell]; add.u32 %r14, %r13, 0;
    ld.param.u64 %rd5, [c]; atom.global.add.u32 %r15, [%rd5], %r14; st.shared.u32 [base], %r15;
V:  bar.sync 0;
    setp.lt.s32 %p3, %r12, 0; @%p3 bra OUT; ld.shared.u32 %r15, [base]; add.u32 %r16, %r15, %r12;
    mul.wide.u32 %rd6, %r16, 4; add.u64 %rd7, %rd1, %rd6; st.global.u32 [%rd7], %r10;
OUT:
"""
    for old, new in changes.items():
        assert old in body
        body = body.replace(old, new)
    head = _HEADER.replace(".param .u32 n)", ".param .u32 n, .param .u64 c)")
    text = head.replace(".entry k(", ".entry k(").replace("\n{\n", "\n.maxntid 256\n{\n")
    file = read_ptx(f"{text}{body}\n    ret;\n}}\n", "k.ptx")
    assert judge(kernel_of(file, file.functions["k"])).kind is kind


def test_an_address_that_arguments_decide_is_a_race_of_some_contents() -> None:
    body = """
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd2, %rd3; ld.global.u32 %r8, [%rd4];
    and.b32 %r8, %r8, 511; shl.b32 %r9, %r8, 2; add.u32 %r9, %r3, %r9; st.shared.u32 [%r9], %r2;
"""
    verdict = verdict_of(body)
    assert verdict.kind is LAUNCH
    assert "some contents of b" in verdict.condition
    assert verdict_of(body, Launch((64, 1, 1), (1, 1, 1))).kind is LAUNCH


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        ("", LAUNCH),
        ("ld.global.u32 %r10, [%rd9];", NOT_JUDGED),
        ("setp.eq.u32 %p2, %r9, 0; @%p2 bra OUT;", NOT_JUDGED),
    ],
    ids=["nobody reads it", "it may be read", "it decides"],
)
def test_a_place_in_what_nobody_reads_decides_nothing(read: str, kind: VerdictKind) -> None:
    """Threads that mark what they find, and append it to a list: the list's length is no flag."""
    head = _HEADER.replace(".param .u32 n)", ".param .u32 n, .param .u64 c, .param .u64 l)")
    body = f"""
    ld.param.u64 %rd7, [c]; ld.param.u64 %rd8, [l]; mov.u32 %r11, %ctaid.x; mov.u32 %r12, 0;
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd2, %rd3; ld.global.u32 %r8, [%rd4];
    mul.wide.u32 %rd5, %r8, 4; add.u64 %rd6, %rd1, %rd5;
L:  st.global.u32 [%rd6], %r2;
    fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r9, [%rd7], 1; fence.acq_rel.gpu;
    mul.wide.u32 %rd9, %r9, 4; add.u64 %rd9, %rd8, %rd9; st.global.u32 [%rd9], %r8; {read}
    add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, %r1; @%p1 bra L;
OUT:
"""
    file = read_ptx(f"{head}{body}\n    ret;\n}}\n", "k.ptx")
    assert judge(kernel_of(file, file.functions["k"])).kind is kind


def test_other_threads_of_a_pair_that_races_may_be_undecided() -> None:
    """Eight parts of a row, eight threads apart: threads of one CTA race, of two the solver does
    not find out."""
    body = """
    mov.u32 %r8, %ntid.x; mov.u32 %r9, %ctaid.x; mov.u32 %r10, %nctaid.x;
    mov.u32 %r11, %ctaid.y; mov.u32 %r12, %ntid.y; mov.u32 %r13, %tid.y; mad.lo.u32 %r13, %r11, %r12, %r13;
    shl.b32 %r14, %r8, 3; mul.lo.u32 %r15, %r14, %r10; mul.lo.u32 %r15, %r15, %r13;
    mad.lo.u32 %r15, %r9, %r14, %r15; add.u32 %r15, %r15, %r2;
    mul.wide.u32 %rd3, %r15, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r16, [%rd4];
    add.u32 %r17, %r15, 8; mul.wide.u32 %rd5, %r17, 4; add.u64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r16;
"""
    verdict = verdict_of(body)
    assert verdict.kind is LAUNCH
    assert "other pairs of accesses are not decided" in verdict.condition


def test_a_stride_of_ctas_that_more_threads_overrun_is_a_race_of_larger_ones() -> None:
    """CTAs of 128 threads have places apart; a place or a role of the size means any.

    A size that only steps through an input says nothing (histogram256Kernel of cuda-samples).
    """
    body = """
    mov.u32 %r8, %ctaid.x; shl.b32 %r8, %r8, 7; add.u32 %r9, %r8, %r2;
    mul.wide.u32 %rd3, %r9, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
"""
    verdict = verdict_of(body)
    assert verdict.kind is LAUNCH
    assert verdict.condition.startswith("as --grid")
    assert verdict_of(body, Launch(block=(128, 1, 1))).kind is FREE
    assert verdict_of(body, Launch((256, 1, 1), (2, 1, 1))).kind is RACE
    asked = "mov.u32 %r10, %ntid.x; {0}" + body + "OUT:"
    assert verdict_of(asked.format("")).kind is LAUNCH
    by_size = "setp.le.u32 %p1, %r10, 32; @%p1 bra OUT;"
    assert verdict_of(asked.format(by_size)).kind is RACE


def test_blocks_that_may_be_meant_for_one_warp_race_under_a_launch_alone() -> None:
    """Places of 32 threads each, as HeCBench's chemv has them."""
    body = """
    mov.u32 %r8, %ctaid.x; shl.b32 %r8, %r8, 5; add.u32 %r9, %r8, %r2;
    mul.wide.u32 %rd3, %r9, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
"""
    verdict = verdict_of(body)
    assert verdict.kind is LAUNCH
    assert verdict.condition.startswith("as --grid")
    assert verdict_of(body, Launch(block=(32, 1, 1))).kind is FREE
    assert verdict_of(body, Launch((64, 1, 1), (2, 1, 1))).kind is RACE


def test_an_offset_by_a_parameter_is_a_condition() -> None:
    """``a[i] = a[i + n]``: blocks do not meet where n is large enough."""
    body = """
    mov.u32 %r8, %ctaid.x; mov.u32 %r10, %ntid.x; mad.lo.u32 %r9, %r8, %r10, %r2;
    mul.wide.u32 %rd3, %r9, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
    ld.param.u32 %r11, [n]; mul.wide.u32 %rd5, %r11, 4; add.u64 %rd6, %rd4, %rd5;
    st.global.u32 [%rd6], %r9;
"""
    for launch in (None, Launch((64, 1, 1), (2, 1, 1))):
        verdict = verdict_of(body, launch)
        assert verdict.kind is LAUNCH
        assert verdict.condition.startswith("some values of")


def test_a_parameter_that_turns_a_store_by_all_threads_on_is_a_condition() -> None:
    """``if (test && value) *result = value`` of a benchmark: nobody wants the result."""
    body = """
    ld.param.u32 %r11, [n]; setp.eq.s32 %p1, %r11, 0; @%p1 bra OUT;
    st.global.u32 [%rd1], %r2;
OUT:
"""
    verdict = verdict_of(body, Launch((64, 1, 1), (2, 1, 1)))
    assert verdict.kind is LAUNCH
    assert verdict.condition.endswith("on which all write this place")
    some = "ld.param.u32 %r11, [n]; st.global.u32 [%rd1], %r2; setp.eq.s32 %p1, %r11, 0;"
    assert verdict_of(some, Launch((64, 1, 1), (2, 1, 1))).kind is RACE


def test_an_index_that_a_constant_bounds_is_several_indices() -> None:
    """A grid of two dimensions in one row of threads, as HeCBench's rayleighBenardConvection."""
    body = """
    mov.u32 %r8, %ctaid.y; mov.u32 %r9, %nctaid.x; mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x;
    mad.lo.s32 %r12, %r9, %r8, {0}; mad.lo.s32 %r13, %r12, %r11, %r2;
    setp.gt.u32 %p1, %r13, 497003; @%p1 bra OUT;
    mul.wide.u32 %rd3, %r13, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
OUT:
"""
    verdict = verdict_of(body.format("%r10"))
    assert verdict.kind is FREE
    assert "solver" not in verdict.by
    assert verdict_of(body.format("0")).kind is not FREE


def test_the_first_iteration_of_a_loop_is_known() -> None:
    """A barrier and a read under one condition on the number of the round."""
    body = """
    st.shared.u32 [%r5], %r2; mov.u32 %r9, 1;
L:  setp.ne.u32 %p1, %r9, {0}; @%p1 bra S;
    bar.sync 0;
S:  setp.ne.u32 %p2, %r9, 1; @%p2 bra T;
    ld.shared.u32 %r8, [%r7];
T:  add.u32 %r9, %r9, 1; setp.ne.u32 %p3, %r9, 8; @%p3 bra L;
"""
    assert verdict_of(body.format(1)).kind is FREE
    assert verdict_of(body.format(2)).kind is RACE


def test_what_follows_a_loop_of_several_rounds_is_reached() -> None:
    """A count of one or more rounds is not known to be one."""
    body = """
    bar.sync 0; mov.u32 %r9, 0;
L:  add.u32 %r9, %r9, 1; setp.ne.u32 %p1, %r9, 4; @%p1 bra L;
    st.shared.u32 [%r5], %r2; ld.shared.u32 %r8, [%r7];
"""
    assert verdict_of(body).kind is RACE


def test_a_conversion_to_bf16_is_a_value_that_is_not_followed() -> None:
    body = "cvt.rn.bf16.u32 %rs1, %r2; st.shared.b16 [%r5], %rs1;"
    assert verdict_of(body).kind is FREE


@pytest.mark.parametrize(("followed", "is_judged"), [(6, True), (0, False)])
def test_a_copy_whose_conditions_are_too_many_is_not_judged(
    followed: int, is_judged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A way round the wait that another branch may exclude is no race."""
    monkeypatch.setattr("fencewright.checker.verdicts.intervals._MOST_DECIDING", followed)
    body = """
    cp.async.ca.shared.global [%r5], [%rd1], 4; setp.gt.u32 %p1, %r2, 500; @%p1 bra S;
    cp.async.wait_all;
S:  bar.sync 0; ld.shared.u32 %r8, [%r7];
"""
    assert (verdict_of(body).kind is not NOT_JUDGED) is is_judged


def test_a_search_is_no_wait() -> None:
    """Each round reads another place, which what it has read decides."""
    body = """
    mov.u32 %r8, 0; mov.u32 %r9, 1024;
AGAIN: add.u32 %r10, %r8, %r9; shr.u32 %r10, %r10, 1;
    mul.wide.u32 %rd3, %r10, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r11, [%rd4];
    setp.lt.u32 %p1, %r11, %r2; selp.b32 %r8, %r10, %r8, %p1; selp.b32 %r9, %r9, %r10, %p1;
    setp.ne.u32 %p2, %r11, %r2; @%p2 bra AGAIN;
"""
    assert verdict_of(body).sides == ()


def test_a_second_dimension_is_a_race_under_a_launch_alone():
    body = "mov.u32 %r8, %tid.y; add.u32 %r9, %r8, %r2; st.shared.u32 [%r5], %r9;"
    assert verdict_of(body).kind is LAUNCH
    assert verdict_of(body, Launch(block=(64, 1, 1))).kind is FREE


def test_a_race_names_two_threads_of_a_launch():
    verdict = verdict_of(BARRIER.format(""))
    (conflict, *_) = verdict.conflicts
    assert conflict.missing == "no barrier between"
    assert conflict.witness.threads[0] != conflict.witness.threads[1]
    assert str(conflict.witness).startswith("--grid ")


def test_pointers_of_one_place_are_of_one_object():
    body = """
    ld.global.u64 %rd5, [%rd1]; ld.global.u64 %rd6, [%rd1{0}];
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd7, %rd5, %rd3; add.u64 %rd8, %rd6, %rd3;
    st.global.u32 [%rd7], %r2; ld.global.u32 %r8, [%rd8+4];
"""
    one_cta = Launch(grid=(1, 1, 1))
    assert verdict_of(body.format(""), one_cta).kind is RACE
    other = verdict_of(body.format("+8"), one_cta)
    assert other.kind is FREE
    assert Assumption.POINTERS in other.assumptions


def test_without_the_solver_arithmetic_and_small_launches_decide(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fencewright.checker.verdicts.solver.z3_module", lambda: None)
    monkeypatch.setattr("fencewright.checker.verdicts.judge.z3_module", lambda: None)
    assert verdict_of("st.shared.u32 [%r5], %r2; ld.shared.u32 %r8, [%r5];").kind is FREE
    assert verdict_of(BARRIER.format("")).kind is RACE
    verdict = verdict_of(LOOP.format(buffers=1, end=""))
    assert verdict.kind is NOT_JUDGED
    assert "pip install z3-solver" in verdict.obstacles[0].reason


MBARRIER = """
    setp.ne.u32 %p1, %r2, 0; @%p1 bra L;
    mbarrier.init.shared::cta.b64 [%r3], 32;
L:  {0}
    mbarrier.arrive.shared::cta.b64 _, [%r3];
"""


def test_an_mbarrier_is_initialised_before_others_arrive():
    assert verdict_of(MBARRIER.format("bar.sync 0;")).kind is FREE
    verdict = verdict_of(MBARRIER.format(""))
    assert verdict.kind is RACE
    assert verdict.conflicts[0].first.text == "init of an mbarrier"


def test_one_lane_of_a_warp_is_elected():
    elected = "elect.sync %r8|%p1, -1; @%p1 st.shared.u32 [s], %r2;"
    assert verdict_of(elected, Launch(block=(32, 1, 1))).kind is FREE
    assert verdict_of(elected, Launch(block=(64, 1, 1))).kind is RACE


def test_equal_values_are_an_assumption_or_a_race_that_says_so():
    verdict = verdict_of("bar.sync 0; st.shared.u32 [s], 1;")
    assert verdict.kind is FREE
    assert Assumption.EQUAL_VALUES in verdict.assumptions
    verdict = verdict_of("bar.sync 0; st.global.u32 [%rd1], 1;", Launch((64, 1, 1), (1, 1, 1)))
    assert verdict.kind is LAUNCH
    assert "write one value" in verdict.condition
    assert verdict_of("bar.sync 0; st.shared.u32 [s], %r2;").kind is RACE


_SUM = """
    .reg .f32 %f<4>; .reg .f64 %d<4>;
    and.b32 %r10, %r2, 992; shr.u32 %r10, %r10, 3; add.u32 %r11, %r3, %r10; {head}
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; ld.global.b32 %r9, [%rd4];
    {steps} {place} {tail}
"""
_STEP = """shfl.sync.bfly.b32 %r8, %r9, {bit}, {segment}, {lanes};
    mov.b32 %f1, %r9; mov.b32 %f2, %r8; {operation}.f32 %f3, %f1, %f2; mov.b32 %r9, %f3;
"""


def reduction(
    *, bits: tuple[int, ...] = (16, 8, 4, 2, 1), segment: int = 31, lanes: int = -1,
    operation: str = "add", head: str = "", place: str = "", tail: str = "",
) -> str:  # fmt: skip
    """Lanes of each warp add up words in a butterfly, and all write the sum to the warp's word."""
    step = {"segment": segment, "lanes": lanes, "operation": operation}
    return _SUM.format(
        steps="".join(_STEP.format(bit=bit, **step) for bit in bits), head=head, tail=tail,
        place=place or "st.shared.u32 [%r11], %r9;",
    )  # fmt: skip


@pytest.mark.parametrize("operation", ["add", "max", "mul"])
def test_lanes_that_have_reduced_together_write_one_value(operation: str) -> None:
    verdict = verdict_of(reduction(operation=operation))
    assert verdict.kind is FREE
    assert Assumption.EQUAL_VALUES in verdict.assumptions
    assert verdict_of(reduction(bits=(1, 4, 2, 16, 8), operation=operation)).kind is FREE


_OF_CTA = """
    bar.sync 0; and.b32 %r13, %r2, {mask}; shl.b32 %r13, %r13, 2; add.u32 %r14, %r3, %r13;
    {load} %r9, [%r14]; {between} shfl.sync.bfly.b32 %r8, %r9, 1, 31, -1; add.u32 %r9, %r8, %r9;
    bar.sync 0; st.shared.v2.u32 [s+512], {{%r9, {second}}};
"""


def of_cta(mask: int = 1, load: str = "ld.shared.u32", second: str = "%r9", more: str = "") -> str:
    """The sums of two warps are added up by all lanes, which all write the total."""
    return reduction(tail=_OF_CTA.format(mask=mask, load=load, second=second, between=more))


def test_threads_of_a_cta_that_have_reduced_together_write_one_value() -> None:
    verdict = verdict_of(of_cta())
    assert verdict.kind is FREE
    assert Assumption.EQUAL_VALUES in verdict.assumptions
    assert verdict_of(of_cta(second="7")).kind is FREE


@pytest.mark.parametrize(
    "body",
    [
        of_cta(mask=3),
        of_cta(mask=32),
        of_cta(load="ld.volatile.shared.u32"),
        of_cta(second="%r2"),
        # Lanes may come to the load before or after a write that a flag orders.
        of_cta(more="atom.add.release.gpu.global.u32 %r20, [%rd2], 1;"),
    ],
)
def test_threads_of_a_cta_that_have_not_may_write_others(body: str) -> None:
    assert verdict_of(body).kind is not FREE


@pytest.mark.parametrize(
    "given",
    [
        {"bits": (16, 8, 4, 2)},
        {"bits": (16, 8, 4, 2, 3)},
        {"segment": 0x101F},
        {"lanes": 0xFFFF},
        {"operation": "sub"},
        # In a loop lanes may write other rounds.
        {"head": "L:", "tail": "setp.ne.f32 %p1, %f3, 0f00000000; @%p1 bra L;"},
        # Words of lanes overlap in part.
        {"place": "mad.lo.u32 %r12, %r2, 2, %r3; st.shared.u32 [%r12], %r9;"},
        # All warps write one word.
        {"place": "st.shared.u32 [s], %r9;"},
    ],
)
def test_lanes_that_have_not_reduced_together_may_write_others(given: dict[str, Any]) -> None:
    assert verdict_of(reduction(**given)).kind is not FREE


def test_who_waits_for_a_flag_is_not_alone():
    """No thread and no CTA is asked for its index, and yet there is another one."""
    body = """
W:  ld.acquire.gpu.global.u32 %r8, [%rd1]; setp.ne.u32 %p1, %r8, 0; @%p1 bra W;
    ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd2+4], %r9; st.release.gpu.global.u32 [%rd1], 1;
"""
    assert verdict_of(body).kind is not FREE


def test_a_matrix_has_more_bytes_than_its_elements():
    body = (
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r5], {%f0, %f1, %f2, %f3, %f4, %f5, "
        "%f6, %f7};"
    )
    verdict = verdict_of(f".reg .f32 %f<8>; {body} ld.shared.u32 %r8, [%r5];")
    assert verdict.kind is NOT_JUDGED
    assert "unknown size" in verdict.obstacles[0].reason


_MATRIX = """
    .shared .align 8 .b64 full; .reg .f32 %f<4>;
    mov.u32 %r5, full; setp.ne.u32 %p1, %r2, 0; @%p1 bra INITED;
    mbarrier.init.shared::cta.b64 [%r5], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 4096;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 4096, [%r5];
INITED: bar.sync 0;
    {0}
    shr.u32 %r7, %r3, 4; cvt.u64.u32 %rd4, %r7; or.b64 %rd5, %rd4, 0x4000004000010000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd5, %rd5, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
"""
_WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0; @!%p3 bra W;"


def test_an_object_that_is_not_known_may_be_any():
    """A matrix descriptor names a place of shared memory that is not followed."""
    assert verdict_of(_MATRIX.format(_WAIT)).kind is FREE
    unwaited = verdict_of(_MATRIX.format(""))
    assert unwaited.kind is NOT_JUDGED
    assert "a matrix descriptor" in unwaited.obstacles[0].reason


ROW = """
    mov.u32 %r8, %ctaid.x; mul.lo.u32 %r9, %r8, %r1; add.u32 %r10, %r9, %r2;
    mul.wide.u32 %rd3, %r10, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
"""


def test_rows_that_a_parameter_is_the_length_of_do_not_overlap() -> None:
    verdict = verdict_of(ROW)
    assert verdict.kind is FREE
    assert Assumption.ROWS in verdict.assumptions
    following = "mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd4, %rd5; ld.global.u32 %r11, [%rd6];"
    assert verdict_of(ROW + following).kind is not FREE
    # A distance that is a parameter alone is no row's length.
    apart = ROW.replace("mul.lo.u32 %r9, %r8, %r1", "mov.u32 %r9, 0") + following
    assert verdict_of(apart, Launch(grid=(1, 1, 1))).kind is not FREE


ENTRY = "mul.wide.u32 %rd3, {0}, 8; add.u64 %rd4, %rd1, %rd3; ld.global.u64 %rd{1}, [%rd4];\n"
"""A pointer %rd{1} from a table, by the index {0}."""


def test_a_pointer_from_a_table_is_an_object_of_its_entry() -> None:
    one_cta = Launch(grid=(1, 1, 1))
    by_thread = ENTRY.format("%r2", 5) + "st.global.u32 [%rd5+4], 1;"
    verdict = verdict_of(by_thread, one_cta)
    assert verdict.kind is FREE
    assert Assumption.TABLES in verdict.assumptions
    of_all = ENTRY.format("%r1", 6) + "ld.global.u32 %r8, [%rd6+{0}];"
    assert verdict_of(by_thread + of_all.format(8), one_cta).kind is FREE
    # Thread n has the entry that all have.
    assert verdict_of(by_thread + of_all.format(4), one_cta).kind is not FREE
    assert verdict_of(by_thread + "ld.global.u32 %r8, [%rd5+4];", one_cta).kind is FREE
    changed = (
        f"setp.eq.u32 %p2, %r2, 0; @%p2 st.global.u64 [%rd1+80], %rd2; bar.sync 0; {by_thread}"
    )
    assert verdict_of(changed, one_cta).kind is NOT_JUDGED


def test_a_register_that_one_path_alone_writes_has_that_value() -> None:
    body = """
    setp.ge.u32 %p1, %r2, 16; @%p1 bra PAST;
    mul.wide.u32 %rd3, %r2, {0}; add.u64 %rd4, %rd1, %rd3;
PAST:
    @%p1 bra OUT;
    st.global.u32 [%rd4], 1;
OUT:
"""
    one_cta = Launch(grid=(1, 1, 1))
    assert verdict_of(body.format(4), one_cta).kind is FREE
    assert verdict_of(body.format(2), one_cta).kind is RACE


MAILBOX = """
    mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0; @%p1 bra FIRST;
W:  atom.relaxed.gpu.global.exch.b32 %r9, [%rd2], 0; setp.eq.u32 %p2, %r9, 0; @%p2 bra W;
    {0}
    ld.global.u32 %r10, [%rd1]; atom.relaxed.gpu.global.exch.b32 %r11, [%rd2], %r10;
    bra OUT;
FIRST:
    st.global.u32 [%rd1], 1; fence.acq_rel.gpu;
    atom.relaxed.gpu.global.exch.b32 %r12, [%rd2], 1;
OUT:
"""


@pytest.mark.parametrize(
    ("fence", "kind"), [("fence.acq_rel.gpu;", FREE), ("fence.acq_rel.cta;", RACE), ("", RACE)]
)
def test_a_read_does_not_see_what_its_own_thread_writes_later(fence: str, kind: VerdictKind):
    assert verdict_of(MAILBOX.format(fence), Launch((1, 1, 1), (2, 1, 1))).kind is kind


ONE_LOCKS = """
    setp.ne.u32 %p1, %r2, 0; @%p1 bra OTHER;
L:  atom.relaxed.gpu.global.cas.b32 %r8, [%rd2], 0, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra L;
    fence.acq_rel.gpu; st.global.u32 [%rd1], 1; fence.acq_rel.gpu;
    atom.relaxed.gpu.global.exch.b32 %r9, [%rd2], 0;
    bra OUT;
OTHER:
    setp.ne.u32 %p3, %r2, 32; @%p3 bra OUT;
    {0}
    st.global.u32 [%rd1], 2; fence.acq_rel.gpu;
    atom.relaxed.gpu.global.exch.b32 %r11, [%rd2], 0;
OUT:
"""


def test_who_does_not_wait_races_with_who_has_waited() -> None:
    two_warps = Launch((64, 1, 1), (1, 1, 1))
    lock = """M: atom.relaxed.gpu.global.cas.b32 %r10, [%rd2], 0, 1;
    setp.ne.u32 %p4, %r10, 0; @%p4 bra M; fence.acq_rel.gpu;"""
    assert verdict_of(ONE_LOCKS.format(lock), two_warps).kind is FREE
    alone = ONE_LOCKS.format("").replace(
        "fence.acq_rel.gpu;\n    atom.relaxed.gpu.global.exch.b32 %r11, [%rd2], 0;", ""
    )
    assert verdict_of(alone, two_warps).kind is RACE


ROUND_OF_ALL = """
    mov.u32 %r9, %r2;
L:  setp.lt.u32 %p1, %r9, %r1;
    bar.red.or.pred %p2, 0, %p1;
    add.u32 %r9, %r9, 64;
    @%p2 bra L;
    {0}
    st.global.u32 [%rd1], 1; ld.global.u32 %r10, [%rd1];
OUT:
"""


def test_a_loop_with_one_exit_is_left() -> None:
    two_warps = Launch((64, 1, 1), (1, 1, 1))
    assert verdict_of(ROUND_OF_ALL.format(""), two_warps).kind is RACE
    first = "setp.ne.u32 %p3, %r2, 0; @%p3 bra OUT;"
    assert verdict_of(ROUND_OF_ALL.format(first), two_warps).kind is FREE


PARTLY_KNOWN = """
    mov.u32 %r9, 0;
    setp.eq.u32 %p1, {0}, 0; @%p1 bra MEET;
    shfl.sync.bfly.b32 %r9|%p2, %r1, 1, 31, -1;
MEET:
    setp.ne.u32 %p3, %r9, 0; @%p3 bra OUT;
    st.shared.u32 [%r3], %r2;
OUT:
"""


def test_a_race_takes_the_path_whose_values_it_knows() -> None:
    assert verdict_of(PARTLY_KNOWN.format("%r1")).kind is RACE
    always = PARTLY_KNOWN.format("%r1").replace("@%p1 bra MEET;", "")
    assert verdict_of(always).kind is NOT_JUDGED


COUNTED = """
    mov.u32 %r9, %ctaid.x; mul.lo.u32 %r10, %r9, {0}; mov.u32 %r8, %r2;
L:  add.u32 %r11, %r8, %r10; mul.wide.u32 %rd3, %r11, 4; add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r8;
    add.u32 %r8, %r8, 256; setp.lt.s32 %p1, %r8, 2064; @%p1 bra L;
"""


@pytest.mark.parametrize(("width", "kind"), [("2064", FREE), ("2060", RACE)])
def test_a_loop_that_is_bounded_has_not_come_round_again(width: str, kind: VerdictKind):
    assert verdict_of(COUNTED.format(width), Launch((256, 1, 1), (2, 1, 1))).kind is kind


TILE_ROWS = """
    mov.u32 %r8, %tid.y; shl.b32 %r9, %r8, 6; shl.b32 %r10, %r2, 2;
    add.u32 %r11, %r9, %r10; mov.u32 %r12, tile; add.u32 %r13, %r12, %r11;
    shl.b32 %r20, %r2, 6; shl.b32 %r21, %r8, 2; add.u32 %r20, %r20, %r21; add.u32 %r20, %r20, %r12;
    .shared .align 4 .b8 tile[1024];
    {0}
    mov.u32 %r14, %ctaid.x; shl.b32 %r15, %r14, 4; add.u32 %r15, %r15, %r2;
    mov.u32 %r16, %ctaid.y; shl.b32 %r17, %r16, 4; add.u32 %r17, %r17, %r8;
    mad.lo.u32 %r18, %r17, %r1, %r15;
    mul.wide.u32 %rd3, %r18, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2;
"""


def test_a_tile_that_all_threads_index_says_the_shape_of_a_block() -> None:
    transposed = "st.shared.u32 [%r13], %r2; bar.sync 0; ld.shared.u32 %r22, [%r20];"
    verdict = verdict_of(TILE_ROWS.format(transposed))
    assert verdict.kind is FREE
    assert Assumption.ROOM in verdict.assumptions
    assert verdict_of(TILE_ROWS.format("")).kind is LAUNCH
    of_some = f"setp.lt.u32 %p1, %r2, 4; {transposed}".replace("st.sh", "@%p1 st.sh")
    assert verdict_of(TILE_ROWS.format(of_some.replace("ld.sh", "@%p1 ld.sh"))).kind is not FREE


REDUCED = """
    mov.u32 %r8, %ntid.x; shr.u32 %r9, %r8, 1; st.shared.u32 [%r5], %r2; bar.sync 0;
    setp.eq.u32 %p1, %r9, 0; @%p1 bra DONE;
L:  setp.ge.u32 %p2, %r2, %r9; @%p2 bra M;
    shl.b32 %r10, %r9, 2; add.u32 %r11, %r5, %r10; ld.shared.u32 %r12, [%r11];
    st.shared.u32 [%r5], %r12;
M:  {meet} shr.u32 %r9, %r9, 1; {skip} {leave} bra L;
DONE: ld.shared.u32 %r13, [s];
"""


@pytest.mark.parametrize(
    ("parts", "is_free"),
    [
        ({}, True),
        ({"meet": ""}, False),
        ({"skip": "setp.eq.u32 %p4, %r2, 3; @%p4 bra L;"}, False),
        ({"leave": "setp.lt.u32 %p3, %r9, %r2; @%p3 bra DONE;"}, False),
    ],
    ids=["right", "no barrier", "one thread goes on", "threads leave one by one"],
)
def test_all_threads_read_the_result_of_a_loop(parts: dict[str, str], is_free: bool) -> None:
    """They leave it in one iteration, after its barrier, or none of them was in it."""
    own = {"meet": "bar.sync 0;", "skip": "", "leave": "setp.eq.u32 %p3, %r9, 0; @%p3 bra DONE;"}
    verdict = verdict_of(REDUCED.format(**own | parts))
    assert (verdict.kind is FREE) is is_free


SEVERAL = """
    mov.u32 %r8, %ntid.x; mov.u32 %r9, 0; setp.lt.u32 %p1, {size}, 2;
L:  @%p1 bra A; bar.sync 0;
A:  ld.shared.u32 %r10, [%r7];
    @%p1 bra B; bar.sync 0;
B:  st.shared.u32 [%r5], %r10; add.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, %r1; @%p2 bra L;
"""


@pytest.mark.parametrize(("size", "is_free"), [("%r8", True), ("%r1", False)])
def test_threads_that_are_several_meet_at_barriers_for_several(size: str, is_free: bool) -> None:
    assert (verdict_of(SEVERAL.format(size=size)).kind is FREE) is is_free


UNROLLED = """
    mov.u32 %r9, 0; mul.wide.u32 %rd3, %r2, {0}; add.u64 %rd4, %rd1, %rd3;
L:  st.global.u32 [%rd4], 1; st.global.u32 [%rd4+4], %r2;
    add.u64 %rd4, %rd4, 8; add.u32 %r9, %r9, 2; setp.ne.u32 %p1, %r9, 16; @%p1 bra L;
"""


def test_an_unrolled_loop_stays_in_its_thread_s_part() -> None:
    one_cta = Launch(grid=(1, 1, 1))
    verdict = verdict_of(UNROLLED.format(64), one_cta)
    assert (verdict.kind, verdict.by) == (FREE, ("arithmetic",))
    assert verdict_of(UNROLLED.format(60), one_cta).kind is RACE


_PLANE = """
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mad.lo.u32 %r10, %r8, %r9, %r2;
    mov.u32 %r11, %tid.y; mov.u32 %r12, %ntid.y; mov.u32 %r13, %ctaid.y; {row}
    setp.ge.u32 %p1, %r10, %r1; @%p1 bra OUT;
    mad.lo.u32 %r15, %r14, %r1, %r10; mul.wide.u32 %rd3, %r15, 4; add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r2;
OUT:
"""


def test_threads_of_a_plane_have_elements_of_their_own() -> None:
    verdict = verdict_of(_PLANE.format(row="mad.lo.u32 %r14, %r13, %r12, %r11;"))
    assert verdict.kind is FREE
    assert verdict.by == ("arithmetic",)
    assert Assumption.ROWS in verdict.assumptions
    for row in ("mov.u32 %r14, %r11;", "mov.u32 %r14, %r13;"):
        assert verdict_of(_PLANE.format(row=row)).kind is not FREE


_TWO_ROUNDS = """
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %nctaid.x;
    mad.lo.u32 %r11, %r8, %r9, %r2; mul.lo.u32 %r12, %r9, %r10; {stride}
L:  setp.ge.u32 %p1, %r11, %r1; @%p1 bra OUT;
    mul.wide.u32 %rd3, %r11, {step}; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r11;
    add.u32 %r13, %r11, %r12;
    mul.wide.u32 %rd5, %r13, {step}; add.u64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r13;
    add.u32 %r11, %r13, %r12; bra L;
OUT:
"""


def test_threads_have_places_of_their_own_in_every_round() -> None:
    """A loop that a compiler has unrolled twice."""
    verdict = verdict_of(_TWO_ROUNDS.format(stride="", step=4))
    assert verdict.kind is FREE
    assert verdict.by == ("arithmetic",)
    assert verdict_of(_TWO_ROUNDS.format(stride="mov.u32 %r12, %r9;", step=4)).kind is not FREE
    assert verdict_of(_TWO_ROUNDS.format(stride="", step=2)).kind is not FREE


def test_copies_to_places_that_are_not_known_are_no_race() -> None:
    """Each of two boxes may have all the bytes that their mbarrier expects."""
    copy = (
        "@%p1 cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes "
        "[%r{0}], [%rd1, {{%r1}}], [s];\n"
    )
    body = f"""
        setp.eq.u32 %p1, %r2, 0; cvt.u32.u64 %r20, %rd2; add.u32 %r21, %r20, 8192;
        @%p1 mbarrier.init.shared::cta.b64 [s], 1;
        @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 16384;
        {copy.format(20)}{copy.format(21)}
    """
    assert verdict_of(body, Launch(block=(64, 1, 1), grid=(1, 1, 1))).kind is NOT_JUDGED


_DOUBLING = """
    mov.u32 %r20, %ntid.x; mov.u32 %r9, 1; st.shared.u32 [%r5], %r2; bar.sync 0;
L:  shl.b32 %r10, %r9, 1; mul.lo.u32 %r11, %r10, %r2;
    setp.ge.u32 %p2, %r11, %r20; @%p2 bra M;
    add.u32 %r12, %r11, {by}; shl.b32 %r12, %r12, 2; add.u32 %r12, %r3, %r12;
    shl.b32 %r13, %r11, 2; add.u32 %r13, %r3, %r13;
    ld.shared.u32 %r14, [%r12]; st.shared.u32 [%r13], %r14;
M:  {barrier}
    setp.lt.u32 %p1, %r10, %r20; mov.u32 %r9, %r10; @%p1 bra L;
"""


def test_a_stride_that_doubles_is_never_zero() -> None:
    right = _DOUBLING.format(by="%r9", barrier="bar.sync 0;")
    assert verdict_of(right).kind is FREE
    for by, barrier in (("%r10", "bar.sync 0;"), ("%r9", "")):
        assert verdict_of(_DOUBLING.format(by=by, barrier=barrier)).kind is not FREE


BOTH_HALVES = """
    mov.u32 %r8, %ntid.x; mov.u32 %r9, %r2; setp.gt.u32 %p1, %r2, 511; @%p1 bra MEET;
A:  shl.b32 %r10, %r9, 2; add.u32 %r10, %r3, %r10; st.shared.u32 [%r10+2048], %r9;
    add.u32 %r9, %r9, %r8; setp.lt.u32 %p2, %r9, 512; @%p2 bra A;
MEET: {meet}
    mov.u32 %r9, %r2; @%p1 bra OUT;
B:  shl.b32 %r10, %r9, 2; add.u32 %r10, %r3, %r10; ld.shared.u32 %r11, [%r10+{other}];
    add.u32 %r11, %r11, 1; st.shared.u32 [%r10], %r11;
    add.u32 %r9, %r9, %r8; setp.lt.u32 %p2, %r9, 512; @%p2 bra B;
OUT:
"""
"""Both halves of a variable by threads that go on by the size of the CTA: a product."""


@pytest.mark.parametrize(
    ("meet", "other", "kind"),
    [
        ("bar.sync 0;", "2052", FREE),
        ("", "2052", RACE),
        ("bar.sync 0;", "2044", RACE),  # The word that the last thread writes.
    ],
)
def test_a_multiple_of_the_size_of_a_cta_stays_below_its_bound(
    meet: str, other: str, kind: VerdictKind
):
    assert verdict_of(BOTH_HALVES.format(meet=meet, other=other)).kind is kind


@pytest.mark.parametrize(
    ("rounds", "kinds"), [("%r10", (FREE,)), ("%r8", (NOT_JUDGED, LAUNCH)), ("1", (LAUNCH,))]
)
def test_a_round_that_a_condition_adds_is_a_round(rounds: str, kinds: tuple[VerdictKind, ...]):
    """``i = n & 1 ? i + rounds : i``, as compilers peel a loop that takes several at once."""
    body = f"""
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %nctaid.x;
    mad.lo.u32 %r11, %r8, %r9, %r2; mul.lo.u32 %r12, %r9, {rounds};
    and.b32 %r13, %r1, 1; setp.eq.u32 %p1, %r13, 0; @%p1 bra L;
    mul.wide.u32 %rd3, %r11, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r11;
    add.u32 %r11, %r11, %r12;
L:  setp.ge.u32 %p1, %r11, %r1; @%p1 bra OUT;
    mul.wide.u32 %rd3, %r11, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r11;
    add.u32 %r11, %r11, %r12; bra L;
OUT:
"""
    assert verdict_of(body).kind in kinds


TILE_OF_16 = """
    mov.u32 %r8, %tid.y; shl.b32 %r9, %r8, 6; add.u32 %r10, %r9, %r4; add.u32 %r11, %r3, %r10;
    st.shared.u32 [%r11], %r2; {meet}
    mov.u32 %r12, %ctaid.x; mul.wide.u32 %rd3, %r12, 1024; cvt.u64.u32 %rd4, %r10;
    add.u64 %rd5, %rd3, %rd4; add.u64 %rd5, %rd1, %rd5; ld.shared.u32 %r13, [%r11+{other}];
    st.global.u32 [%rd5], %r13;
"""


@pytest.mark.parametrize(
    ("meet", "other", "count"),
    [("bar.sync 0;", 64, 2), ("", 0, 2), ("", 64, 3)],
)
def test_a_tile_is_judged_for_blocks_that_have_its_shape(meet: str, other: int, count: int):
    """Blocks with longer rows are one condition, blocks with more rows another: the rest is judged
    for those without."""
    verdict = verdict_of(TILE_OF_16.format(meet=meet, other=other))
    assert verdict.kind is LAUNCH
    assert len(verdict.conflicts) == count


def test_a_condition_says_that_others_are_not_decided(monkeypatch: pytest.MonkeyPatch):
    kind, witness = vars(judging)["_Judge"], "_witness"
    original = getattr(kind, witness)

    def at_its_limit(self: Any, *args: Any):
        return ((0, 0), None) if self.launches else original(self, *args)

    body = TILE_OF_16.format(meet="", other=64)
    assert "not decided" not in (verdict_of(body).condition or "")
    monkeypatch.setattr(judging, "_MOST_RACES", 1)
    monkeypatch.setattr(kind, witness, at_its_limit)
    found = verdict_of(body)
    assert found.kind is LAUNCH
    assert (found.condition or "").endswith("; other pairs of accesses are not decided")


def test_a_race_in_blocks_of_the_given_shape_has_no_condition():
    body = TILE_OF_16.format(meet="", other=64)
    assert verdict_of(body, Launch((16, 16, 1))).kind is RACE
    assert verdict_of(body).kind is LAUNCH


def test_a_row_that_the_block_below_writes_races_in_two_rows_of_blocks():
    """In one row of blocks no other one has the next row of the array."""
    body = """
    mov.u32 %r8, %tid.y; mov.u32 %r9, %ctaid.y; mov.u32 %r10, %ntid.y; mad.lo.u32 %r11, %r9, %r10, %r8;
    mov.u32 %r15, %ctaid.x; mov.u32 %r16, %ntid.x; mad.lo.u32 %r17, %r15, %r16, %r2;
    mad.lo.u32 %r12, %r11, %r1, %r17; mul.wide.u32 %rd3, %r12, 4; add.u64 %rd4, %rd1, %rd3;
    add.u32 %r13, %r12, %r1; mul.wide.u32 %rd5, %r13, 4; add.u64 %rd6, %rd1, %rd5;
    setp.ge.u32 %p1, %r17, %r1; @%p1 bra OUT;
    ld.global.u32 %r14, [%rd6]; st.global.u32 [%rd4], %r14;
OUT:
"""
    for launch in (None, Launch((16, 16, 1))):
        found = verdict_of(body, launch)
        assert found.kind is LAUNCH
        assert (1, 2) in {each.witness.grid for each in found.conflicts}


SWAPPED = """
    st.shared.u32 [%r5], %r2; bar.sync 0;
    mov.u32 %r8, 0; mov.u32 %r9, %r3; add.u32 %r10, %r3, {second};
L:  add.u32 %r11, %r9, %r6; add.u32 %r12, %r10, %r4;
    ld.shared.u32 %r13, [%r11]; st.shared.u32 [%r12], %r13;
    {meet}
    mov.u32 %r14, %r9; {turn}
    add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r1; @%p1 bra L;
"""
"""Each round reads one buffer and writes the other one."""
SWAP = "mov.u32 %r9, %r10; mov.u32 %r10, %r14;"


@pytest.mark.parametrize(
    ("second", "meet", "turn", "is_right"),
    [
        (2048, "bar.sync 0;", SWAP, True),
        (2048, "", SWAP, False),
        (1024, "bar.sync 0;", SWAP, False),  # They overlap.
        (2048, "bar.sync 0;", "mov.u32 %r9, %r10;", False),  # Both are one from then on.
    ],
)
def test_buffers_that_are_swapped_take_turns(second: int, meet: str, turn: str, is_right: bool):
    body = SWAPPED.format(second=second, meet=meet, turn=turn)
    assert (verdict_of(body, Launch((512, 1, 1))).kind is FREE) is is_right


def test_three_buffers_take_turns():
    body = SWAPPED.format(second=1024, meet="bar.sync 0;", turn="mov.u32 %r9, %r10; {}")
    third = "mov.u32 %r10, %r15; mov.u32 %r15, %r14;"
    body = body.format(third).replace("\nL:", "add.u32 %r15, %r3, 2048;\nL:")
    assert verdict_of(body, Launch((256, 1, 1))).kind is FREE
    assert verdict_of(body, Launch((512, 1, 1))).kind is not FREE


def test_accesses_that_arithmetic_sets_apart_are_no_pairs_to_judge(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(judging, "_MOST_PAIRS", 20)
    several = "mov.u32 %r8, %ctaid.x; mul.wide.u32 %rd3, %r8, 4; add.u64 %rd4, %rd2, %rd3;"
    apart = "".join(f"st.shared.u32 [%r5+{n * 4096}], %r2; " for n in range(24))
    assert verdict_of(several + apart).kind is FREE
    exchange = (
        "st.shared.u32 [%r5+{0}], %r2; bar.sync 0; ld.shared.u32 %r8, [%r7+{0}]; bar.sync 0; "
    )
    asked = "".join(exchange.format(n * 4096) for n in range(24))
    (obstacle,) = verdict_of(several + asked).obstacles
    assert "pairs of accesses" in obstacle.reason


RANKED = """
    mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z; mov.u32 %r10, %ntid.x; mov.u32 %r11, %ntid.y;
    mad.lo.u32 %r12, %r9, %r11, %r8; mad.lo.u32 %r13, %r12, %r10, %r2; shl.b32 %r14, %r13, 2;
    add.u32 %r15, %r3, %r14; st.shared.u32 [%r15], %r2; {meet}
    ld.shared.u32 %r17, [%r15+{other}]; setp.ne.u32 %p2, %r13, {one}; @%p2 bra END;
    mov.u32 %r18, %ctaid.x; mul.wide.u32 %rd3, %r18, 4; add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r17;
END:
"""


@pytest.mark.parametrize(
    ("meet", "other", "one", "kind"),
    [
        ("bar.sync 0;", 4, "0", FREE),
        ("", 0, "7", FREE),
        ("", 4, "0", LAUNCH),
        ("", 0, "%r2", LAUNCH),  # All threads of the first row store.
    ],
)
def test_the_number_of_a_thread_tells_threads_of_all_rows_apart(
    meet: str, other: int, one: str, kind: VerdictKind
):
    """As cooperative groups compute it: of sizes that are not known."""
    assert verdict_of(RANKED.format(meet=meet, other=other, one=one)).kind is kind


TRANSPOSED = """
    mov.u32 %r8, %ctaid.x; shr.u32 %r9, %r2, 5; and.b32 %r10, %r2, 31;
    mul.lo.u32 %r11, %r9, {warp}; add.u32 %r11, %r3, %r11;
    shl.b32 %r12, %r10, 2; add.u32 %r12, %r11, %r12; shl.b32 %r13, %r10, 4; add.u32 %r13, %r11, %r13;
    st.shared.u32 [%r12], %r2; st.shared.u32 [%r12+128], %r2; st.shared.u32 [%r12+256], %r2;
    st.shared.u32 [%r12+{last}], %r2;
    {meet}
    ld.shared.v4.u32 {{%r14, %r15, %r16, %r17}}, [%r13];
"""
"""Each warp stores rows and loads columns of bytes of its own, as CUB does."""


@pytest.mark.parametrize(
    ("warp", "last", "meet", "kind"),
    [
        (512, 384, "bar.warp.sync -1;", FREE),
        (512, 384, "bar.sync 0;", FREE),
        (512, 384, "", RACE),
        (496, 384, "bar.warp.sync -1;", RACE),  # Another warp's first bytes.
        (512, 512, "bar.warp.sync -1;", RACE),
        (512, 380, "bar.warp.sync -1;", RACE),  # Another lane's word of the third row.
    ],
)
def test_warps_are_apart_by_the_bytes_that_each_has(
    warp: int, last: int, meet: str, kind: VerdictKind
):
    assert verdict_of(TRANSPOSED.format(warp=warp, last=last, meet=meet)).kind is kind
