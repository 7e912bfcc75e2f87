"""Barriers that every verdict is the same without, and those that no verdict may remove."""

import pytest

from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.nvidia.findings import judged
from fencewright.lowering.ptx.code.text import read_ptx

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
.reqntid 1024
{{
.reg .pred %p<9>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.shared .align 16 .b8 tile[4096];
.shared .align 16 .b8 other[4096];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 2;
add.s32 %r4, %r2, %r3;
mov.u32 %r10, %ctaid.x;
shl.b32 %r10, %r10, 10;
add.s32 %r10, %r10, %r1;
mul.wide.u32 %rd3, %r10, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
xor.b32 %r6, %r3, 4;
add.s32 %r7, %r2, %r6;
{body}
st.global.b32 [%rd5], %r9;
ret;
}}
"""
BARRIER = "bar.sync 0;"
OWN = f"st.shared.b32 [%r4], 7;\n{BARRIER}\nld.shared.b32 %r9, [%r4];"
"""Each thread reads its own word."""


def redundant(body: str, *, finds_surplus: bool = True) -> int:
    """The number of barriers of a kernel with a body that are said to be redundant."""
    module = read_ptx(KERNEL.format(body=body), "k.ptx")
    (function,) = module.functions.values()
    found = judged(module, function, replays=False, finds_surplus=finds_surplus).findings
    return sum(each.rule is Rule.SURPLUS_BARRIER for each in found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(OWN, 1, id="own word"),
        pytest.param(
            OWN.replace("ld.shared.b32 %r9, [%r4]", "ld.shared.b32 %r9, [%r7]"),
            0,
            id="of a neighbour",
        ),
        pytest.param(
            f"st.shared.b32 [%r4], 7;\n{BARRIER}\n{BARRIER}\nld.shared.b32 %r9, [%r7];",
            1,
            id="twice",
        ),
        pytest.param(
            f"st.shared.b32 [%r4], 7;\n{BARRIER}\nst.shared.b32 [%r4], 8;\n{BARRIER}\n"
            "ld.shared.b32 %r9, [%r7];",
            1,
            id="one of two: reads need the last write",
        ),
        pytest.param(
            f"atom.shared.add.u32 %r8, [other], 1;\n{BARRIER}\natom.shared.add.u32 %r9, [other], 0;",
            0,
            id="the value of a counter",
        ),
        pytest.param(
            f"st.global.b32 [%rd4], 7;\n{BARRIER}\nld.global.b32 %r9, [%rd5];",
            0,
            id="pointers that may alias",
        ),
        pytest.param(
            f"griddepcontrol.wait;\n{BARRIER}\nld.global.b32 %r9, [%rd4];",
            0,
            id="a wait for another grid",
        ),
        pytest.param(
            f"mov.u32 %r8, %clock;\n{BARRIER}\nld.global.b32 %r9, [%rd4];", 0, id="a time"
        ),
    ],
)
def test_a_barrier_is_redundant_where_every_pair_stays_ordered(body: str, expected: int) -> None:
    assert redundant(body) == expected


def test_verdicts_are_made_again_for_surplus_alone() -> None:
    assert redundant(OWN, finds_surplus=False) == 0


def test_a_kernel_that_is_not_proved_keeps_what_may_order_something() -> None:
    races = f"{OWN}\nst.shared.b32 [other], %r1;\nld.shared.b32 %r9, [other];"
    module = read_ptx(KERNEL.format(body=races), "k.ptx")
    (function,) = module.functions.values()
    assert judged(module, function, replays=False).verdict.kind is not VerdictKind.RACE_FREE
    assert redundant(races) == 0
