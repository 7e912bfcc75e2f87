"""Calls: what a kernel calls is judged in it, at both lines, and what nobody knows is said."""

import pytest

from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict, VerdictKind
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

RACE, FREE, UNJUDGED = VerdictKind.RACE, VerdictKind.RACE_FREE, VerdictKind.NOT_JUDGED

MODULE = """.version 8.6
.target sm_90
.address_size 64
.func put(.param .b64 at, .param .b32 value)
{
.reg .b64 %rd<3>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [at];
ld.param.u32 %r1, [value];
st.u32 [%rd1], %r1;
ret;
}
.func (.param .b32 back) index(.param .b32 of)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [of];
add.u32 %r2, %r1, 1;
st.param.b32 [back+0], %r2;
ret;
}
.func again(.param .b32 of)
{
.param .b32 next;
.reg .b32 %r<3>;
ld.param.u32 %r1, [of];
st.param.b32 [next+0], %r1;
call.uni again, (next);
ret;
}
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
.shared .align 4 .b8 s[4096];
.param .b64 to; .param .b32 value; .param .b32 result;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd1, %r1, 4;
mov.u64 %rd2, s;
cvta.shared.u64 %rd3, %rd2;
add.u64 %rd4, %rd3, %rd1;
st.param.b64 [to+0], %rd4;
st.param.b32 [value+0], %r1;
call.uni put, (to, value);
BARRIER
st.param.b32 [value+0], %r1;
call.uni (result), index, (value);
ld.param.b32 %r2, [result+0];
and.b32 %r2, %r2, 1023;
mul.wide.u32 %rd5, %r2, 4;
add.u64 %rd6, %rd3, %rd5;
ld.u32 %r3, [%rd6];
MORE
ret;
}
"""


def verdict(barrier: str = "bar.sync 0;", more: str = "") -> Verdict:
    file = read_ptx(MODULE.replace("BARRIER", barrier).replace("MORE", more))
    return judge(kernel_of(file, file.functions["k"]))


def test_what_a_kernel_calls_is_judged_in_it() -> None:
    assert verdict().kind is FREE


def test_a_race_in_a_callee_has_the_lines_of_both_places() -> None:
    found = verdict(barrier="")
    assert found.kind is RACE
    (conflict,) = found.conflicts
    line = 1 + MODULE.splitlines().index("st.u32 [%rd1], %r1;")
    call = 1 + MODULE.splitlines().index("call.uni put, (to, value);")
    assert conflict.first.line == line
    assert f"called at line {call}" in conflict.first.text


@pytest.mark.parametrize("callee", ["vprintf", "__assertfail"])
def test_what_prints_or_stops_accesses_nothing(callee: str) -> None:
    assert verdict(more=f"call.uni (result), {callee}, (to, to);").kind is FREE


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("call.uni elsewhere, (value);", "a call of 'elsewhere'"),
        ("call.uni again, (value);", "calls itself"),
        ("call.uni (result), %rd6, (value), proto;", "a call of"),
    ],
)
def test_a_call_that_nobody_can_follow_is_not_judged(call: str, reason: str) -> None:
    found = verdict(more=call)
    assert found.kind is UNJUDGED
    assert any(reason in each.reason for each in found.obstacles)
