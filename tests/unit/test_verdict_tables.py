"""Verdicts of kernels that branch by a table, as a ``switch`` does."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) .maxntid 256, 1, 1
{{
    .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<9>;
    .shared .align 16 .b8 s[4096];
    ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, s; mov.u32 %r4, %ctaid.x;
    shl.b32 %r5, %r2, 2; add.u32 %r6, %r3, %r5; xor.b32 %r7, %r5, 4; add.u32 %r8, %r3, %r7;
    {index}
T:  .branchtargets A, B, C, A;
    {jump}brx.idx %r9, T;
{body}
OUT: ret;
}}
"""
FREE, RACE, NOT_JUDGED = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.NOT_JUDGED
BARRIERS = """
A:  st.shared.u32 [%r6], %r2; bar.sync 0; ld.shared.u32 %r10, [%r8]; bra OUT;
B:  st.shared.u32 [%r6], %r4; bar.sync 0; ld.shared.u32 %r10, [%r8]; bra OUT;
C:  bra OUT;
"""
PLACES = """
A:  st.shared.u32 [%r3], %r2; bra OUT;
B:  st.shared.u32 [%r3+{b}], %r2; bra OUT;
C:  st.shared.u32 [%r3+8], %r2; bra OUT;
"""
BY_CTA = "and.b32 %r9, %r1, 3;"
BY_THREAD = "and.b32 %r9, %r2, 3;"
BY_ONE = "setp.gt.u32 %p1, %r2, {0}; @%p1 bra OUT; add.u32 %r9, %r2, {1};"


def kind_of(index: str, body: str, jump: str = "") -> VerdictKind:
    """The verdict of a kernel that branches by an index."""
    file = read_ptx(_TEXT.format(index=index, body=body, jump=jump), "k.ptx")
    return judge(kernel_of(file, file.functions["k"])).kind


@pytest.mark.parametrize(
    ("index", "body", "kind"),
    [
        (BY_CTA, BARRIERS, FREE),  # All threads of a CTA take one way.
        (BY_CTA, BARRIERS.replace("bar.sync 0;", "", 1), RACE),
        (BY_THREAD, BARRIERS, NOT_JUDGED),  # They part: nobody knows that they meet.
        (BY_ONE.format(2, 0), PLACES.format(b=4), FREE),  # Thread 0 goes to A, 1 to B, 2 to C.
        (BY_ONE.format(2, 1), PLACES.format(b=4), FREE),  # 0 to B, 1 to C, 2 to A.
        (BY_ONE.format(2, 0), PLACES.format(b=8), RACE),  # B and C write one place.
        (BY_ONE.format(3, 0), PLACES.format(b=4), RACE),  # Thread 3 goes to A, too.
    ],
)
def test_the_index_says_who_goes_where(index: str, body: str, kind: VerdictKind):
    assert kind_of(index, body) is kind


def test_a_guarded_branch_by_a_table_is_not_judged():
    index = f"setp.eq.u32 %p2, %r1, 1; {BY_CTA}"
    assert kind_of(index, BARRIERS, "@%p2 ") is NOT_JUDGED
