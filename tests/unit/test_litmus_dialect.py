"""Litmus tests of a module as programs: the same meaning as source, CDNA and PTX code."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from litmus_modules import CHIPS, MESSAGE_PASSING, final_state, one_program, one_thread
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.core.condition import Memory, Register
from fencewright.simulator.core.program import MemoryKind
from fencewright.simulator.litmus_run import CdnaTest, PtxTest, SourceTest
from fencewright.tools.diagnostics import ToolError

LANGUAGES = (None, "gfx942", "gfx90a", "sm_90")


@pytest.mark.parametrize("chip", LANGUAGES)
def test_placements_and_locations(chip: str | None) -> None:
    text = """
litmus.test @t {
  litmus.location @x = 7 : i32 {kind = "uncached"}
  litmus.location @s = 1 : i32 in local {workgroup = 4 : i64}
  litmus.thread @P0 at <workgroup = 4, xcd = 2, agent = 1, cluster = 0> {
    %s = litmus.address @s : !llvm.ptr<3>
    %v = scoped.load weak %s : !llvm.ptr<3> -> i32
    litmus.observe "r5", %v : i32
  }
  litmus.thread @P1 at <cluster = 1> {
  }
}
"""
    test = one_program(text, chip)
    match test:
        case SourceTest() | CdnaTest():
            program = test.test.program
            first, second = (thread.placement for thread in program.threads)
            assert (first.workgroup, first.agent, first.cluster) == (4, 1, 0)
            assert (second.workgroup, second.agent, second.cluster) == (1, 0, 1)
            if chip != "gfx90a":
                assert (first.xcd, first.cu, second.xcd, second.cu) == (2, 4, 1, 1)
            else:  # One L2 per agent: no XCDs, but still CUs of their own.
                assert (first.xcd, second.xcd) == (0, 0)
                assert first.cu != second.cu
            x, s = program.locations
            assert (x.initial, x.kind) == (7, MemoryKind.UNCACHED)
            assert (s.initial, s.workgroup) == (1, 4)
        case PtxTest():
            first, second = (thread.placement for thread in test.test.program.threads)
            assert (first.workgroup, first.agent, first.cluster) == (4, 1, 0)
            assert (second.workgroup, second.agent, second.cluster) == (1, 0, 1)
            assert test.test.program.initial == {"x": 7, "s": 1}
    assert final_state(text, chip) == {"P0:r5": 1, "x": 7, "s": 1}


@pytest.mark.parametrize("chip", LANGUAGES)
def test_observables_are_the_same_in_every_language(chip: str | None) -> None:
    from fencewright.simulator.litmus_run import run

    outcomes = run(one_program(MESSAGE_PASSING, chip)).outcomes
    assert outcomes is not None
    assert outcomes.observables == (Register(1, "r0"), Memory("x"), Memory("f"))


ARITHMETIC = """
    %a = arith.constant 12 : i32
    %b = scoped.load weak %x : !llvm.ptr<1> -> i32
    {line}
    litmus.observe "r0", %r : i32
"""


@pytest.mark.parametrize("chip", LANGUAGES)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%r = arith.addi %a, %b : i32", 15),
        ("%r = arith.subi %a, %b : i32", 9),
        ("%r = arith.muli %a, %b : i32", 36),
        ("%r = arith.andi %a, %b : i32", 0),
        ("%r = arith.ori %a, %b : i32", 15),
        ("%r = arith.xori %a, %b : i32", 15),
        ("%r = arith.minsi %a, %b : i32", 3),
        ("%r = arith.maxsi %a, %b : i32", 12),
    ],
)
def test_arithmetic(chip: str | None, line: str, expected: int) -> None:
    assert final_state(one_thread(ARITHMETIC.format(line=line)), chip)["P0:r0"] == expected


PREDICATES = {
    "eq": int.__eq__, "ne": int.__ne__,
    "slt": int.__lt__, "sle": int.__le__, "sgt": int.__gt__, "sge": int.__ge__,
    "ult": int.__lt__, "ule": int.__le__, "ugt": int.__gt__, "uge": int.__ge__,
}  # fmt: skip


@pytest.mark.parametrize("chip", LANGUAGES)
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("a", [2, 3, 4])
def test_comparisons_as_values_and_as_branches(chip: str | None, predicate: str, a: int) -> None:
    body = f"""
    %a = arith.constant {a} : i32
    %b = scoped.load weak %x : !llvm.ptr<1> -> i32
    %c = arith.cmpi {predicate}, %a, %b : i32
    %s = arith.select %c, %a, %b : i32
    cf.cond_br %c, ^yes(%a : i32), ^no
  ^yes(%t: i32):
    litmus.observe "r0", %c : i1
    litmus.observe "r1", %s : i32
    litmus.observe "r2", %t : i32
    litmus.end
  ^no:
    litmus.observe "r1", %s : i32
    litmus.end
"""
    holds = PREDICATES[predicate](a, 3)
    state = final_state(one_thread(body), chip)
    assert state["P0:r0"] == holds
    assert state["P0:r1"] == (a if holds else 3)
    assert state["P0:r2"] == (a if holds else 0)


@pytest.mark.parametrize("chip", [None, "gfx942"])
def test_signed_comparison_of_negative_numbers(chip: str | None) -> None:
    body = """
    %a = arith.constant -1 : i32
    %b = scoped.load weak %x : !llvm.ptr<1> -> i32
    %s = arith.cmpi slt, %a, %b : i32
    %u = arith.cmpi ult, %a, %b : i32
    litmus.observe "r0", %s : i1
    litmus.observe "r1", %u : i1
    litmus.observe "r2", %a : i32
"""
    state = final_state(one_thread(body), chip)
    assert (state["P0:r0"], state["P0:r1"], state["P0:r2"]) == (1, 0, 0xFFFFFFFF)


@pytest.mark.parametrize("chip", LANGUAGES)
def test_order_of_words_with_and_without_a_sign(chip: str | None) -> None:
    body = """
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %least = arith.constant -2147483648 : i32
    %b = scoped.load weak %x : !llvm.ptr<1> -> i32
    %most = arith.subi %least, %one : i32
    %negative = arith.subi %b, %four : i32
    %u = arith.cmpi ult, %negative, %most : i32
    %s = arith.cmpi slt, %negative, %most : i32
    %wide = arith.cmpi slt, %least, %most : i32
    %t = arith.cmpi eq, %most, %negative : i32
    cf.cond_br %u, ^below, ^above
  ^below:
    litmus.observe "r0", %one : i32
    litmus.end
  ^above:
    litmus.observe "r1", %u : i1
    litmus.observe "r2", %s : i1
    litmus.observe "r3", %wide : i1
    litmus.observe "r4", %t : i1
    %n = scoped.atomic_rmw umin relaxed agent %x, %negative : !llvm.ptr<1>, i32
    %m = scoped.atomic_rmw umax relaxed agent %x, %negative : !llvm.ptr<1>, i32
    litmus.end
"""
    state = final_state(one_thread(body), chip)
    found = [state.get(f"P0:r{n}", 0) for n in range(5)]
    assert (found, state["x"]) == ([0, 0, 1, 1, 0], 0xFFFFFFFF)


@pytest.mark.parametrize("chip", LANGUAGES)
def test_block_arguments_that_swap(chip: str | None) -> None:
    body = """
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = arith.constant 10 : i32
    %b = arith.constant 20 : i32
    %n = scoped.load weak %x : !llvm.ptr<1> -> i32
    cf.br ^loop(%n, %a, %b : i32, i32, i32)
  ^loop(%i: i32, %p: i32, %q: i32):
    %j = arith.subi %i, %one : i32
    %more = arith.cmpi ne, %j, %zero : i32
    cf.cond_br %more, ^loop(%j, %q, %p : i32, i32, i32), ^done(%p, %q : i32, i32)
  ^done(%r: i32, %s: i32):
    litmus.observe "r0", %r : i32
    litmus.observe "r1", %s : i32
    litmus.end
"""
    from fencewright.simulator.litmus_run import Limits, run

    found = run(one_program(one_thread(body), chip), Limits(bound=4))
    assert found.outcomes is not None
    (state,) = found.outcomes.as_mappings()
    assert (state[Register(0, "r0")], state[Register(0, "r1")]) == (10, 20)


@pytest.mark.parametrize("chip", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "operand", "result"),
    [
        ("xchg", 9, 9), ("add", 9, 12), ("sub", 1, 2), ("and", 2, 2), ("or", 4, 7), ("xor", 1, 2),
        ("max", 9, 9), ("min", 9, 3), ("umax", 9, 9), ("umin", 9, 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("space", [1, 3])
def test_read_modify_writes(
    chip: str | None, kind: str, operand: int, result: int, space: int
) -> None:
    text = f"""
litmus.test @one {{
  litmus.location @x = 3 : i32 {"in local" if space == 3 else ""}
  litmus.thread @P0 at <workgroup = 0> {{
    %x = litmus.address @x : !llvm.ptr<{space}>
    %v = arith.constant {operand} : i32
    %old = scoped.atomic_rmw {kind} acq_rel workgroup %x, %v : !llvm.ptr<{space}>, i32
    litmus.observe "r0", %old : i32
  }}
}}
"""
    assert final_state(text, chip) == {"P0:r0": 3, "x": result}


@pytest.mark.parametrize("chip", LANGUAGES)
@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize(("compare", "final"), [(3, 8), (4, 3)])
def test_compare_exchange(chip: str | None, space: int, compare: int, final: int) -> None:
    text = f"""
litmus.test @one {{
  litmus.location @x = 3 : i32 {"in local" if space == 3 else ""}
  litmus.thread @P0 at <workgroup = 0> {{
    %x = litmus.address @x : !llvm.ptr<{space}>
    %c = arith.constant {compare} : i32
    %n = arith.constant 8 : i32
    %old, %ok = scoped.cmpxchg acq_rel relaxed workgroup %x, %c, %n : !llvm.ptr<{space}>, i32
    litmus.observe "r0", %old : i32
    litmus.observe "r1", %ok : i1
  }}
}}
"""
    assert final_state(text, chip) == {"P0:r0": 3, "P0:r1": int(compare == 3), "x": final}


EXPRESSION = ("addi", "muli", "andi", "ori", "xori", "minsi", "maxsi")


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_arithmetic_agrees(data: st.DataObject) -> None:
    """A random thread of arithmetic, selects and branches ends alike in every language."""
    values = ["%x0"]
    lines = ["    %x0 = scoped.load weak %x : !llvm.ptr<1> -> i32"]
    for number in range(data.draw(st.integers(1, 8))):
        a, b, c = (data.draw(st.sampled_from(values)) for _ in range(3))
        name = f"%v{number}"
        match data.draw(st.sampled_from(("constant", "select", *EXPRESSION))):
            case "constant":
                lines.append(f"    {name} = arith.constant {data.draw(st.integers(0, 5))} : i32")
            case "select":
                predicate = data.draw(st.sampled_from(list(PREDICATES)))
                lines.append(f"    %c{number} = arith.cmpi {predicate}, {a}, {b} : i32")
                lines.append(f"    {name} = arith.select %c{number}, {b}, {c} : i32")
            case operation:
                lines.append(f"    {name} = arith.{operation} {a}, {b} : i32")
        values.append(name)
    last, other = values[-1], data.draw(st.sampled_from(values))
    lines += [
        f"    %again = arith.cmpi ult, {last}, {other} : i32",
        f"    cf.cond_br %again, ^join({last} : i32), ^join({other} : i32)",
        "  ^join(%j: i32):",
        "    litmus.observe \"r0\", %j : i32",
        f"    litmus.observe \"r1\", {last} : i32",
        "    litmus.end",
    ]  # fmt: skip
    text = one_thread("\n".join(lines))
    expected = final_state(text)
    for chip in ("gfx942", "gfx908", "sm_90"):
        got = final_state(text, chip)
        assert got == expected


INLINE = """
litmus.test @t {{
  litmus.location @x = 0 : i32
  litmus.thread @P0 {{
{body}
  }}
}}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%one = arith.constant 1 : i64\n"
            "%p = llvm.inttoptr %one : i64 to !llvm.ptr<1>",
            "the source model does not have 'llvm.inttoptr'",
        ),
        (
            "%p = litmus.address @x : !llvm.ptr<1>\n"
            "%v = scoped.load weak %p : !llvm.ptr<1> -> i64",
            "a location holds an i32; it cannot be accessed as i64",
        ),
        (
            "%a = arith.constant 1 : i64\n%b = arith.addi %a, %a : i64",
            "the simulator computes on i32 and i1, not i64",
        ),
        (
            "%p = litmus.address @x : !cdna.vgpr<2>\n"
            "%v = cdna.load global_load_dwordx2 %p : (!cdna.vgpr<2>) -> !cdna.vgpr<2>\n"
            "cdna.end s_endpgm",
            "a location is 32 bits wide; global_load_dwordx2 is not executed",
        ),
        (
            "%p = cdna.const 64 : !cdna.vgpr<2>\n"
            "%v = cdna.load global_load_dword %p : (!cdna.vgpr<2>) -> !cdna.vgpr\n"
            "cdna.end s_endpgm",
            "the address must be that of one of the test's locations",
        ),
        (
            "%p = litmus.address @x : !cdna.vgpr<2>\n"
            "%q = cdna.alu v_lshl_add_u64 %p, %p "
            ": (!cdna.vgpr<2>, !cdna.vgpr<2>) -> !cdna.vgpr<2>\n"
            "cdna.end s_endpgm",
            "the CDNA machine does not execute v_lshl_add_u64",
        ),
        (
            '%v = ptx.const 1 : !ptx.reg<b64>\n'
            '%w = ptx.load "ld.weak.global.b32" %v : !ptx.reg<b64> -> !ptx.reg<b32>\nptx.ret',
            "must be the address of a location of the test",
        ),
        (
            "%p = litmus.address @x : !ptx.reg<b64>\n"
            '%w = ptx.load "ld.weak.global.b64" %p : !ptx.reg<b64> -> !ptx.reg<b64>\nptx.ret',
            "a location is 32 bits wide; ld.weak.global.b64 is not executed",
        ),
    ],
)  # fmt: skip
def test_what_the_simulator_cannot_execute(body: str, message: str) -> None:
    with pytest.raises(DiagnosticException, match=message):
        one_program(INLINE.format(body=body))


@pytest.mark.parametrize(
    ("thread", "kernel", "message"),
    [
        ("runs @declared()", "", "there is no kernel 'declared' in the module"),
        ("runs @k()", "%p: !llvm.ptr<1>", "the kernel takes 1 arguments, the thread binds 0"),
        ("runs @k(@x)", "%n: i32", "argument 0 of the kernel, i32, needs a number"),
        ("runs @k(1 : i32)", "%p: !llvm.ptr<1>", "needs a location or a register"),
    ],
)
def test_kernels_that_do_not_fit(thread: str, kernel: str, message: str) -> None:
    text = f"""
litmus.test @t {{
  litmus.location @x = 0 : i32
  litmus.thread @P0 {thread}
}}
func.func private @declared()
func.func @k({kernel}) attributes {{gpu.kernel}} {{
  func.return
}}
"""
    with pytest.raises(DiagnosticException, match=message):
        one_program(text)


def test_a_result_is_stored_where_the_thread_ends() -> None:
    """Waits count the stores of results; only in a last block is it known how many."""
    text = """
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 runs @k(@x, "r0")
}
func.func @k(%x: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %zero = arith.constant 0 : i32
  %v = scoped.load weak %x : !llvm.ptr<1> -> i32
  %raised = arith.cmpi ne, %v, %zero : i32
  scoped.store weak %v, %out : i32, !llvm.ptr<1>
  BRANCH
^other:
  scoped.fence acquire agent
  cf.br ^end
^end:
  func.return
}
"""
    assert final_state(text.replace("BRANCH", "cf.br ^end")) == {"P0:r0": 0, "x": 0}
    # Printed, the two blocks are one.
    assert final_state(text.replace("BRANCH", "cf.br ^end"), "gfx942") == {"P0:r0": 0, "x": 0}
    with pytest.raises(DiagnosticException, match="in a block that ends the thread"):
        one_program(text.replace("BRANCH", "cf.cond_br %raised, ^other, ^end"), "gfx942")


def test_waits_count_results_that_are_not_executed() -> None:
    """Two loads, each of which is waited for on its own before its result is stored."""
    text = """
litmus.test @t {
  litmus.location @x = 4 : i32
  litmus.location @y = 5 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %v = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    %w = scoped.load relaxed agent %y : !llvm.ptr<1> -> i32
    litmus.observe "r0", %v : i32
    litmus.observe "r1", %w : i32
  }
}
"""
    for chip in CHIPS:
        assert final_state(text, chip) == {"P0:r0": 4, "P0:r1": 5, "x": 4, "y": 5}


def test_threads_of_one_language() -> None:
    text = """
litmus.test @t {
  litmus.thread @P0 {
    scoped.fence acquire agent
  }
  litmus.thread @P1 {
    ptx.ret
  }
}
"""
    with pytest.raises(DiagnosticException, match="P1 is in ptx, P0 in scoped"):
        one_program(text)


def test_an_unknown_chip() -> None:
    with pytest.raises(UnsupportedError, match="gfx1100"):
        one_program(MESSAGE_PASSING, "gfx1100")


def test_a_module_that_cannot_be_parsed() -> None:
    with pytest.raises(ToolError, match=r"test.mlir:1:13: error: "):
        one_program("litmus.test mp {}")


NUMBERS = """
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 runs @k(@x, 3 : i32, "r0")
}
func.func @k(%p: !llvm.ptr<1>, %n: i32, %o: !llvm.ptr<1>) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  %more = arith.addi %n, %one : i32
  scoped.store weak %n, %p : i32, !llvm.ptr<1>
  scoped.store weak %more, %o : i32, !llvm.ptr<1>
  func.return
}
"""


@pytest.mark.parametrize("chip", LANGUAGES)
def test_a_kernel_may_be_given_numbers(chip: str | None) -> None:
    from fencewright.simulator.litmus_run import run

    outcomes = run(one_program(NUMBERS, chip)).outcomes
    assert outcomes is not None
    assert outcomes.states == {(4, 3)}
