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


def of_text(text: str) -> Verdict:
    file = read_ptx(text)
    return judge(kernel_of(file, file.functions["k"]))


@pytest.mark.parametrize(
    ("index", "kind"), [("%tid.x", FREE), ("%laneid", RACE), ("%ntid.x", RACE)]
)
def test_special_registers_of_a_callee_are_those_of_its_thread(
    index: str, kind: VerdictKind
) -> None:
    found = of_text(f""".version 8.6
.target sm_90
.address_size 64
.func put(.param .b64 at)
{{
.reg .b64 %rd<4>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [at];
mov.u32 %r1, {index};
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
mov.u32 %r2, %tid.x;
st.shared.u32 [%rd3], %r2;
ret;
}}
.visible .entry k() .reqntid 64, 1, 1
{{
.reg .b64 %rd<4>; .shared .align 4 .b8 s[4096]; .param .b64 to;
mov.u64 %rd1, s;
st.param.b64 [to+0], %rd1;
call.uni put, (to);
ret;
}}
""")
    assert found.kind is kind


def test_an_assertion_in_a_callee_accesses_nothing() -> None:
    found = of_text(""".version 8.6
.target sm_90
.address_size 64
.extern .func __assertfail(.param .b64 message);
.func check(.param .b64 at)
{
.reg .b64 %rd<4>; .reg .pred %p<2>; .param .b64 message;
ld.param.u64 %rd1, [at];
setp.ne.u64 %p1, %rd1, 0;
@%p1 bra DONE;
st.param.b64 [message+0], %rd1;
call.uni __assertfail, (message);
trap;
DONE: ret;
}
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<4>; .param .b64 to;
ld.param.u64 %rd1, [p];
st.param.b64 [to+0], %rd1;
call.uni check, (to);
ret;
}
""")
    assert found.kind is FREE


def test_blocks_that_nothing_leads_to_are_no_part_of_a_loop() -> None:
    found = of_text(""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .b64 %rd<4>; .reg .b32 %r<5>; .reg .pred %p<3>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mad.lo.u32 %r2, %ctaid.x, %ntid.x, %r2;
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd3, %rd1, %rd2;
mov.u32 %r3, 0;
LOOP: setp.ge.u32 %p1, %r3, %r1;
@%p1 bra DONE;
st.global.u32 [%rd3], %r3;
add.u32 %r3, %r3, 1;
bra LOOP;
DEAD: add.u32 %r3, %r3, 2;
bra LOOP;
DONE: ret;
}
""")
    assert found.kind is FREE
