"""Registers that several paths give a value: choices by branches, and what a loop leaves."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.text import read_ptx

_KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
    .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [a]; ld.param.u32 %r9, [n];
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; shl.b32 %r3, %r1, 2;
{body}
    mul.wide.s32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
OUT:
    ret;
}}
"""
"""%r2: two bits of the thread's number, which is %r1; %r4: the word that it writes."""
_FREE, _RACE = VerdictKind.RACE_FREE, VerdictKind.RACE

_PEELED = """
    mov.u32 %r4, %r3;
    setp.eq.s32 %p1, %r2, 0; @%p1 bra JOIN;
    setp.eq.s32 %p2, %r2, 1; add.s32 %r4, %r3, 1; @%p2 bra JOIN;
    setp.eq.s32 %p3, %r2, 2; add.s32 %r4, %r3, {second}; @%p3 bra JOIN;
    add.s32 %r4, %r3, 3;
JOIN:
"""
"""The rest of a loop that was unrolled four times: up to three rounds, each with an exit."""

_REST = """
    mov.u32 %r4, %r1; mov.u32 %r5, {count};
    setp.eq.s32 %p1, %r5, 0; @%p1 bra JOIN;
LOOP:
    add.s32 %r4, %r4, {step}; add.s32 %r5, %r5, -1;
    setp.ne.s32 %p2, %r5, 0; @%p2 bra LOOP;
JOIN:
"""
"""A loop of rounds that may be none, before one of whole ones."""


def _kind(body: str) -> VerdictKind:
    file = read_ptx(_KERNEL.format(body=body), "k.ptx")
    return judge(kernel_of(file, file.functions["k"]), Launch(grid=(1, 1, 1))).kind


@pytest.mark.parametrize(("second", "kind"), [(2, _FREE), (6, _FREE), (7, _RACE), (8, _RACE)])
def test_what_comes_from_four_paths_is_a_choice(second: int, kind: VerdictKind):
    """Of four threads each takes another path: 7 is the next one's word, 8 is of that after it."""
    assert _kind(_PEELED.format(second=second)) is kind


@pytest.mark.parametrize(
    ("count", "step", "kind"),
    [("%r2", 32, _FREE), ("%r2", 31, _RACE), ("%r9", 31, _FREE), ("%r9", 0, _FREE)],
)
def test_what_a_loop_leaves_is_of_its_last_round(count: str, step: int, kind: VerdictKind):
    """Threads with one count have left the loop in one round."""
    assert _kind(_REST.format(count=count, step=step)) is kind


@pytest.mark.parametrize(("step", "kind"), [(1024, _FREE), (32, _RACE)])
def test_a_loop_with_two_exits_is_left_by_one(step: int, kind: VerdictKind):
    """A thread that leaves a round early is where another one leaves that has gone all rounds."""
    body = _REST.format(count="%r2", step=step).replace(
        "add.s32 %r5", "setp.eq.s32 %p4, %r4, %r9; @%p4 bra JOIN; add.s32 %r5"
    )
    assert _kind(body) is kind


def test_a_way_round_a_loop_says_nothing_of_its_exit():
    """Threads that do not come to the loop write their own words, whatever its count is."""
    body = _REST.format(count="%r9", step=1).replace(
        "@%p1 bra JOIN;", "setp.eq.s32 %p3, %r2, 1; or.pred %p1, %p1, %p3; @%p1 bra JOIN;"
    )
    assert _kind(body) is not _FREE


_SHARED = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
.maxntid 256
{{
    .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[3072];
    ld.param.u64 %rd1, [a]; ld.param.u32 %r9, [n];
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;
    sub.u32 %r5, %r3, %r2;
{body}
OUT:
    ret;
}}
"""
"""%r4: the thread's own word of ``s``; %r5: as many words before its beginning."""

_SLOT = "div.u32 %r15, {i}, 3; mul.lo.u32 %r15, %r15, 3072; shl.b32 %r16, {i}, 10;" \
    " sub.u32 %r16, %r16, %r15;"  # fmt: skip
_RING = f"""
    mov.u32 %r10, 0; and.b32 %r12, %r9, 3; sub.u32 %r13, %r9, %r12;
    setp.eq.s32 %p1, %r13, 0; @%p1 bra REST;
A:  bar.sync 0; add.s32 %r10, %r10, 4; setp.ne.s32 %p2, %r10, %r13; @%p2 bra A;
REST:
    setp.eq.s32 %p3, %r12, 0; @%p3 bra OUT;
L:  bar.sync 0;
    {_SLOT.format(i="%r10")} add.u32 %r17, %r5, %r16; ld.shared.u32 %r18, [%r17+1020];
    add.u32 %r14, %r10, {{ahead}};
    {_SLOT.format(i="%r14")} add.u32 %r17, %r4, %r16; st.shared.u32 [%r17], %r18;
    add.s32 %r10, %r10, 1; add.s32 %r12, %r12, -1;
    setp.ne.s32 %p4, %r12, 0; @%p4 bra L;
"""
"""A ring of three slots whose rounds go on where a loop of four at a time has ended."""

_QUEUE = """
L:  setp.ne.s32 %p1, %r1, 0; @%p1 bra S;
    atom.global.add.u32 %r10, [%rd1], 1; st.shared.u32 [s], %r10;
S:  bar.sync 0;
    ld.shared.u32 %r11, [s];
    {barrier}
    setp.lt.u32 %p2, %r11, %r9; @%p2 bra L;
"""
"""Work that one thread takes from a counter, for all of its block."""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (_RING.format(ahead=2), _FREE),
        (_RING.format(ahead=4), _FREE),
        (_RING.format(ahead=3), _RACE),
        (_QUEUE.format(barrier="bar.sync 0;"), _FREE),
        (_QUEUE.format(barrier=""), _RACE),
    ],
)
def test_rounds_of_shared_memory(body: str, kind: VerdictKind):
    file = read_ptx(_SHARED.format(body=body), "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]), Launch((256, 1, 1)))
    assert (VerdictKind.RACE if verdict.conflicts else verdict.kind) is kind
