"""Values as shared expressions: alike is identical, time and memory are linear."""

from test_ptx_reader import HEAD

from fencewright.checker.findings.finding import Level
from fencewright.checker.nvidia.findings import find_problems
from fencewright.lowering.code.value import ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.text import PtxFile, read_ptx
from fencewright.lowering.ptx.code.values import Values


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
    values = Values(Places(file, function))
    values.of("%r2")
    values.of(f"%p{LEVELS}")
    assert len(values.table) < 5 * LEVELS
    assert [each for each in find_problems(file, function) if each.level is not Level.NOTE] == []


def test_a_register_that_is_computed_from_itself_ends() -> None:
    file = module_of("L:\nadd.s32 %a1, %b1, 1;\nadd.s32 %b1, %a1, 1;\nbra L;")
    values = Values(Places(file, file.functions["k"]))
    assert values.of("%a1").is_opaque
