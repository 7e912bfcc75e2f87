"""Places that parameters set apart: rows, quotients and rounds, beside twins that meet."""

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Answer, Assumption, Compare, Relation, Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import BitVectors, Budget, Launch
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n, .param .u32 m, .param .u32 l)
{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; ld.param.u32 %r3, [l];
mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r7, %r5, %r6, %r4;
"""
"""%r7: the number of the thread in the grid."""
PLANE = "mov.u32 %r8, %tid.y; mov.u32 %r9, %ctaid.y; mov.u32 %r10, %ntid.y; mad.lo.u32 %r8, %r9, %r10, %r8;\n"
"""%r8: its row."""
QUOTIENTS = """
    div.{type} %r9, %r7, %r1; mul.lo.u32 %r10, %r9, %r1; sub.u32 %r10, %r7, %r10;
    div.{type} %r11, %r9, %r2; mul.lo.u32 %r12, %r11, %r2; sub.u32 %r12, %r9, %r12;
"""
"""Of the thread's number %r9, %r10: by ``n`` the quotient and the remainder, %r11, %r12: of that
quotient by ``m``."""


def store(place: str) -> str:
    """A store to a word."""
    return f"mul.wide.u32 %rd3, {place}, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r4;\n"


def verdict_of(body: str) -> Verdict:
    """The verdict of a kernel with a body."""
    file = read_ptx(f"{HEAD}{body}\nOUT: ret;\n}}\n", "k.ptx")
    return judge(kernel_of(file, file.functions["k"]))


@pytest.mark.parametrize("kind", ["u32", "s32"])
@pytest.mark.parametrize(
    ("place", "is_apart"),
    [
        ("mad.lo.u32 %r20, %r9, %r3, %r10;", True),  # The quotient's row, and the other way round.
        ("mad.lo.u32 %r20, %r10, %r3, %r9;", True),
        ("mad.lo.u32 %r20, %r11, %r1, %r10; mad.lo.u32 %r20, %r20, %r2, %r12;", True),
        ("mov.u32 %r20, %r10;", False),
        ("mad.lo.u32 %r20, %r10, %r3, %r12;", False),
        ("mad.lo.u32 %r20, %r10, %r2, %r12;", False),
        ("shr.u32 %r21, %r10, 1; mad.lo.u32 %r20, %r9, %r3, %r21;", False),
        ("shr.u32 %r21, %r9, 1; mad.lo.u32 %r20, %r21, %r3, %r10;", False),
        (
            "shr.u32 %r21, %r12, 1; mad.lo.u32 %r20, %r11, %r1, %r10; mad.lo.u32 %r20, %r20, %r2, %r21;",
            False,
        ),
    ],
)
def test_a_number_is_its_quotient_and_its_remainder(place: str, is_apart: bool, kind: str) -> None:
    verdict = verdict_of(QUOTIENTS.format(type=kind) + place + store("%r20"))
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or Assumption.ROWS in verdict.assumptions


@pytest.mark.parametrize(
    ("row", "is_apart"), [("%r8", True), ("%r21", False)], ids=["of its own", "of two"]
)
def test_rows_and_columns_may_both_be_apart_by_parameters(row: str, is_apart: bool) -> None:
    place = f"shr.u32 %r21, %r8, 1; mul.lo.u32 %r20, %r7, %r1; mad.lo.u32 %r20, {row}, %r2, %r20;"
    verdict = verdict_of(f"{PLANE}{place}{store('%r20')}")
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(
    ("has_limit", "row", "is_apart"),
    [
        (True, "sub.u32 %r21, %r2, 1;", False),
        (True, "mov.u32 %r21, %r2;", True),
        (False, "mov.u32 %r21, %r2;", False),
    ],
    ids=["the last row", "past the last row", "a row of others"],
)
def test_a_number_of_rows_is_no_length_of_a_row(has_limit: bool, row: str, is_apart: bool) -> None:
    """All threads write their rows, and those of row 0 one of ``m`` rows more."""
    guard = "setp.ge.u32 %p1, %r8, %r2; @%p1 bra OUT;\n" if has_limit else ""
    first = "setp.ne.u32 %p2, %r8, 0; @%p2 bra OUT; "
    own = f"mad.lo.u32 %r20, %r8, %r1, %r7; {store('%r20')}"
    more = f"{row} mad.lo.u32 %r20, %r21, %r1, %r7; {store('%r20')}"
    guard += "setp.ge.u32 %p3, %r7, %r1; @%p3 bra OUT;\n"
    verdict = verdict_of(f"{PLANE}{guard}{own}{first}{more}")
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(("columns", "is_apart"), [("sub.u32 %r22, %r1, 1;", True), ("", False)])
def test_the_last_column_is_one_of_a_row(columns: str, is_apart: bool) -> None:
    """The threads of column 0 write it, and others all columns, or those but for the last one."""
    body = f"mov.u32 %r22, %r1; {columns} setp.ge.u32 %p1, %r7, %r22; @%p1 bra OUT;\n"
    body += (
        f"mad.lo.u32 %r20, %r8, %r1, %r7; {store('%r20')} setp.ne.u32 %p2, %r7, 0; @%p2 bra OUT;\n"
    )
    body += (
        f"add.u32 %r21, %r8, 1; mul.lo.u32 %r20, %r21, %r1; sub.u32 %r20, %r20, 1; {store('%r20')}"
    )
    verdict = verdict_of(PLANE + body)
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(("parts", "is_apart"), [(4, True), (3, False)])
def test_each_thread_has_parts_of_a_cta_s_places(parts: int, is_apart: bool) -> None:
    """Four words a thread, which the threads of a CTA take one after another."""
    body = f"mul.lo.u32 %r20, %r5, %r6; mad.lo.u32 %r20, %r20, {parts}, %r4;\n"
    for _ in range(4):
        body += store("%r20") + "add.u32 %r20, %r20, %r6;\n"
    verdict = verdict_of(body)
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(("step", "is_apart"), [(12, True), (6, False)])
def test_fields_of_records_are_apart_whatever_the_records_are(step: int, is_apart: bool) -> None:
    """Records by an index that memory decides."""
    record = (
        f"ld.global.u32 %r20, [%rd1]; mul.wide.u32 %rd3, %r20, {step}; add.u64 %rd4, %rd1, %rd3;"
    )
    fields = "ld.global.u32 %r21, [%rd4+4]; atom.global.add.u32 %r22, [%rd4+8], 1;"
    kind = verdict_of(f"add.u64 %rd1, %rd1, 1024; {record} add.u64 %rd1, %rd1, 64; {fields}").kind
    assert (kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(("least", "is_apart"), [(0, True), (2, False)])
def test_the_larger_of_an_index_and_0_is_that_index(least: int, is_apart: bool) -> None:
    own = f"mul.lo.u32 %r20, %r5, %r6; max.s32 %r20, %r20, {least}; add.u32 %r20, %r20, %r4;\n"
    assert (verdict_of(own + store("%r20")).kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(("row", "is_apart"), [("%r8", True), ("%r21", False)])
def test_the_rest_of_a_loop_begins_at_one_of_two_places(row: str, is_apart: bool) -> None:
    """Planes of ``m`` rows, one after another, and one more: the first, or that after a loop."""
    body = f"""
        shr.u32 %r21, %r8, 1; mad.lo.u32 %r20, %r8, %r1, %r7; mad.lo.u32 %r22, {row}, %r1, %r7;
        mul.lo.u32 %r23, %r1, %r2; mov.u32 %r24, 0;
    L:  {store("%r20")} add.u32 %r20, %r20, %r23;
        add.u32 %r24, %r24, 1; setp.ne.u32 %p1, %r24, %r3; @%p1 bra L;
        setp.lt.u32 %p2, %r3, 4; selp.u32 %r25, %r22, %r20, %p2; {store("%r25")}
    """
    assert (verdict_of(PLANE + body).kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(
    ("limit", "column", "rows", "is_apart"),
    [
        ("%r1", "%r7", 3, True),
        ("%r2", "%r7", 3, False),
        ("%r1", "%r20", 1, False),
        ("%r1", "%r20", 2, True),
    ],
    ids=["n apart", "of another length", "two columns a thread", "rows of two n"],
)
def test_places_n_apart_of_threads_below_n(
    limit: str, column: str, rows: int, is_apart: bool
) -> None:
    """Fields of ``n`` elements, one after another: of word ``i`` or ``2 * i``."""
    body = f"setp.ge.s32 %p1, %r7, {limit}; @%p1 bra OUT; shl.b32 %r20, %r7, 1;\n"
    body += f"mad.lo.s32 %r21, %r1, {rows}, {column}; {store('%r21')}"
    body += f"mad.lo.s32 %r22, %r1, {2 * rows}, {column}; {store('%r22')}"
    verdict = verdict_of(body)
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(("is_guarded", "is_apart"), [(True, True), (False, False)])
def test_a_limit_is_that_of_one_access(is_guarded: bool, is_apart: bool) -> None:
    """Two accesses of one place, of which both or one is by threads below ``n``."""
    body = f"setp.ge.s32 %p1, %r7, %r1; @%p1 bra N; mad.lo.s32 %r21, %r1, 2, %r7; {store('%r21')}"
    body += f"add.s32 %r22, %r1, %r7; {store('%r22')} N: {'@%p1 bra OUT;' * is_guarded}"
    body += f"add.s32 %r23, %r1, %r7; {store('%r23')}"
    assert (verdict_of(body).kind is VerdictKind.RACE_FREE) is is_apart


BOX = """
    or.b32 %r20, %r7, %r8; and.b32 %r21, %r20, -{size}; setp.ne.s32 %p1, %r21, 0; @%p1 bra OUT;
    mad.lo.u32 %r22, %r8, {row}, %r7;
"""
"""Threads of a square, as compilers write its limits if these are powers of two."""


@pytest.mark.parametrize(
    ("size", "row", "is_apart"), [(256, 256, True), (256, 255, False), (512, 256, False)]
)
def test_indices_below_constants_in_any_launch(size: int, row: int, is_apart: bool) -> None:
    verdict = verdict_of(PLANE + BOX.format(size=size, row=row) + store("%r22"))
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(("last", "is_apart"), [(255, True), (254, False)])
def test_sides_of_a_square_have_a_corner_of_one_thread(last: int, is_apart: bool) -> None:
    """The last row, by the threads of that row or of the row before, and the last column."""
    body = BOX.format(size=256, row=256) + f"setp.ne.u32 %p2, %r8, {last}; @%p2 bra N;\n"
    body += f"add.u32 %r23, %r7, {255 * 256}; {store('%r23')}"
    body += "N: setp.ne.u32 %p3, %r7, 255; @%p3 bra OUT;\n"
    body += f"mad.lo.u32 %r24, %r8, 256, 255; {store('%r24')}"
    assert (verdict_of(PLANE + body).kind is VerdictKind.RACE_FREE) is is_apart


@pytest.mark.parametrize(("most", "is_apart"), [(1024, True), (1028, False)])
def test_an_index_is_below_the_constant_of_a_minimum(most: int, is_apart: bool) -> None:
    """Four words a thread of a tile that ends with the array."""
    body = "mul.lo.u32 %r20, %r5, 1024; sub.u32 %r21, %r1, %r20; shl.b32 %r22, %r4, 2;\n"
    body += f"min.u32 %r21, %r21, {most}; or.b32 %r23, %r22, 1; setp.ge.u32 %p1, %r23, %r21;\n"
    body += f"@%p1 bra OUT; add.u32 %r24, %r20, %r23; {store('%r24')}"
    verdict = verdict_of(body)
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or verdict.by == ("arithmetic",)


@pytest.mark.parametrize(
    ("place", "write", "is_apart"),
    [
        ("%rd5+8", "", True),
        ("%rd5+8", "st.global.u32 [%rd5], %r4;", False),
        ("%rd7", "", False),
    ],
    ids=["one length", "written", "of each thread"],
)
def test_a_length_that_all_threads_load_is_as_a_parameter(
    place: str, write: str, is_apart: bool
) -> None:
    head = HEAD.replace(".param .u32 l)", ".param .u32 l, .param .u64 b)")
    body = f"ld.param.u64 %rd5, [b]; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd7, %rd5, %rd6; {write}\n"
    body += f"ld.global.u32 %r20, [{place}]; mad.lo.u32 %r21, %r8, %r20, %r7; {store('%r21')}"
    file = read_ptx(f"{head}{PLANE}{body}\nOUT: ret;\n}}\n", "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]))
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_apart
    assert not is_apart or Assumption.NO_ALIAS in verdict.assumptions


def test_an_index_has_no_more_bits_than_its_limit() -> None:
    """Bits that are always 0 would cost steps, of which a kernel has few."""
    file = read_ptx(f"{HEAD}{PLANE}ret;\n}}\n", "k.ptx")
    own, budget = kernel_of(file, file.functions["k"]), Budget()
    solver = BitVectors(own, Relation.CTA, Launch((32, 4, 1), (2, 2, 1)), budget)
    thread = own.table.thread("%tid.y", 32)
    last, past = (own.table.constant(number, 32) for number in (3, 4))
    for number, answer in ((last, Answer.SATISFIABLE), (past, Answer.UNSATISFIABLE)):
        assert solver.satisfiable([Compare("eq", thread, 0, number, 0)]) is answer
    assert budget.used < 10_000
    of_any = BitVectors(own, Relation.CTA, Launch(), budget)
    assert of_any.named("%nctaid.y", 0).arg(0).size() == 16
