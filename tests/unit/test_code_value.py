"""Values as shared expressions: alike is identical, time and memory are linear."""

import pytest
from test_ptx_reader import HEAD

from fencewright.checker.findings.finding import Level
from fencewright.checker.nvidia.findings import find_problems
from fencewright.checker.nvidia.lifetimes import End, LifetimeAnalysis
from fencewright.checker.verdicts.ptx.values import Registers
from fencewright.lowering.code.value import ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.text import PtxFile, read_ptx


def table() -> ValueTable:
    return ValueTable(24)


def test_what_is_computed_alike_is_one_object() -> None:
    made = table()
    x, four = made.thread("%tid.x"), made.constant(4)
    assert made.apply("mul", (x, four)) is made.apply("mul", (made.thread("%tid.x"), four))
    assert made.apply("mul", (x, four)) is not made.apply("mul", (four, x))
    assert made.apply("mul", (x, four)) is not made.apply("shl", (x, four))
    assert made.param("p") is not made.opaque("p")
    assert made.constant("%ctaid.x") is not made.thread("%ctaid.x")


def test_what_varies_and_what_is_not_known() -> None:
    made = table()
    x, p, loaded = made.thread("%tid.x"), made.param("p"), made.opaque("%r1")
    assert (x.varies, x.is_opaque) == (True, False)
    assert (p.varies, p.is_opaque) == (False, False)
    both = made.apply("add", (made.apply("add", (p, x)), loaded))
    assert (both.varies, both.is_opaque) == (True, True)


def test_an_expression_that_is_too_deep_is_opaque() -> None:
    made = ValueTable(2)
    value = made.thread("%tid.x")
    opaque: list[bool] = []
    for _ in range(3):
        value = made.apply("not", (value,))
        opaque.append(value.is_opaque)
    assert opaque == [False, False, True]


LEVELS = 400
NETWORK = "\n".join(
    f"setp.lt.s32 %p{n}, %a{n}, %b{n};\n"
    f"selp.b32 %a{n + 1}, %a{n}, %b{n}, %p{n};\n"
    f"selp.b32 %b{n + 1}, %b{n}, %a{n}, %p{n};"
    for n in range(LEVELS)
)
DOUBLED = "\n".join(f"add.s32 %c{n + 1}, %c{n}, %c{n};" for n in range(LEVELS))


def module_of(body: str) -> PtxFile:
    registers = "".join(f".reg .b32 %{each}<{LEVELS + 9}>; " for each in "abcr")
    return read_ptx(
        f"{HEAD}.visible .entry k(.param .u64 p) {{\n.reg .pred %p<{LEVELS + 9}>; {registers}\n"
        f".shared .align 4 .b32 sh[64];\nmov.u32 %a0, %tid.x;\nmov.u32 %b0, %tid.y;\nmov.u32 %c0, %tid.x;\n"
        f"mov.u32 %r1, sh;\n{body}\nret;\n}}\n"
    )


def test_a_sorting_network_and_doubled_sums_are_linear() -> None:
    """Written out, the last value of each has two to the power of the levels leaves."""
    file = module_of(
        f"{NETWORK}\n{DOUBLED}\nsetp.lt.s32 %p{LEVELS}, %a{LEVELS}, %b{LEVELS};\n"
        f"add.s32 %r2, %r1, %c{LEVELS};\nadd.s32 %r3, %r1, %a{LEVELS};\n"
        f"@%p{LEVELS} st.shared.u32 [%r2], %a1;\nst.shared.u32 [%r3], %a1;"
    )
    function = file.functions["k"]
    assert len(Registers(Places(file, function)).table) < 5 * LEVELS
    assert [each for each in find_problems(file, function) if each.level is not Level.NOTE] == []


@pytest.mark.parametrize(
    ("choice", "is_found"),
    [
        ("mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, 32;", True),
        ("mov.u32 %r2, %warpid; setp.ne.u32 %p1, %r2, 0;", True),
        # All threads of the CTA may free it, as far as is known.
        ("ld.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, 0;", False),
        ("mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0;", False),
    ],
)
def test_tensor_memory_is_freed_by_some_threads(choice: str, is_found: bool) -> None:
    file = read_ptx(
        HEAD.replace("sm_90", "sm_100a") + ".entry k() { .reg .pred %p<3>; .reg .b32 %r<9>; "
        f".reg .b64 %rd<3>; {choice} tcgen05.ld.sync.aligned.32x32b.x1.b32 %r3, [%r4];\n"
        "tcgen05.wait::ld.sync.aligned;\n"
        "@%p1 bra E; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;\nE: ret; }"
    )
    found = LifetimeAnalysis(Places(file, file.functions["k"])).early()
    assert [each.end for each in found] == [End.TENSOR] * is_found
