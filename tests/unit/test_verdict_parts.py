"""The parts of verdicts: expressions, places apart by arithmetic, intervals, and the solver."""

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from weakref import ref

import pytest
from work_count import growth

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.nvidia import findings
from fencewright.checker.verdicts import judge
from fencewright.checker.verdicts.amd import judge as judge_amd
from fencewright.checker.verdicts.arithmetic import are_apart, span_of
from fencewright.checker.verdicts.expressions import Expressions, leaves, trailing_zeros
from fencewright.checker.verdicts.interpretation import COMPARISONS, meaning
from fencewright.checker.verdicts.intervals import full_barriers, shared
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    Answer,
    AnyOf,
    Compare,
    Holds,
    Kernel,
    LinearForm,
    Literal,
    Relation,
    Together,
)
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import BitVectors, Budget, Launch
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Value,
    ValueTable,
    parts_first,
)
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Scope

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import inputs


def kernel(body: str) -> Kernel:
    """A kernel of a body, with registers declared."""
    text = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
    .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .shared .align 16 .b8 s[4096];
    ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, s;
{body}
    ret;
}}
"""
    file = read_ptx(text, "k.ptx")
    return kernel_of(file, file.functions["k"])


@pytest.fixture
def e() -> Expressions:
    return Expressions(ValueTable(1 << 20))


def test_a_value_that_is_computed_again_is_the_same(e: Expressions):
    x, one = e.table.thread("%tid.x", 32), e.constant(1, 32)
    assert e.apply("add", (x, one), 32) is e.apply("add", (one, x), 32)
    twice = e.apply("add", (e.apply("add", (x, one), 32), one), 32)
    assert twice is e.apply("add", (x, e.constant(2, 32)), 32)
    assert e.apply("mul", (e.constant(3, 32), e.constant(5, 32)), 32) is e.constant(15, 32)
    assert e.negated(e.negated(e.apply("eq", (x, one), 1))) is e.apply("eq", (x, one), 1)


def test_a_conjunction_is_its_parts_and_a_choice_is_its_condition(e: Expressions):
    x = e.table.thread("%tid.x", 32)
    a, b = (e.apply("ult", (x, e.constant(n, 32)), 1) for n in (4, 9))
    both = e.apply("and", (a, e.negated(b)), 1)
    assert {*e.literals(both, True, 3)} == {Literal(a, True, 3), Literal(b, False, 3)}
    assert [*e.literals(both, False, 3)] == [Literal(both, False, 3)]
    chosen = e.chosen(a, e.constant(1, 32), e.constant(0, 32))
    test = e.apply("eq", (chosen, e.constant(0, 32)), 1)
    assert [*e.literals(test, True, 3)] == [Literal(a, False, 3)]


def test_linear_forms_distribute_products_and_take_disjoint_ors_for_sums(e: Expressions):
    x, n = e.table.thread("%tid.x", 32), e.table.constant("%ntid.x", 32)
    times = e.table.iteration(4, 32)
    index = e.apply("add", (x, e.apply("mul", (times, n), 32)), 32)
    shifted = e.apply("shl", (index, e.constant(2, 32)), 32)
    form = e.linear(e.resized(e.apply("or", (shifted, e.constant(3, 32)), 32), 64))
    assert trailing_zeros(shifted) == 2
    assert form.constant == 3
    assert sorted(count for _, count in form.terms) == [4, 4]
    assert leaves(value for value, _ in form.terms) == {x, n, times}
    overlapping = e.linear(e.apply("or", (shifted, e.constant(4, 32)), 32))
    assert len(overlapping.terms) == 1


def test_a_form_of_a_choice_keeps_what_both_sides_share(e: Expressions):
    x, condition = e.table.thread("%tid.x", 32), e.table.param("flag", 1)
    yes, no = (e.apply("add", (x, e.constant(n, 32)), 32) for n in (8, 2))
    form = e.linear(e.chosen(condition, yes, no))
    assert form.constant == 2
    assert sorted(count for _, count in form.terms) == [1, 6]


STRIDED = """
    mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r6, %r4, {size}, %r2;
    mul.wide.u32 %rd2, %r6, {bytes}; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;
"""


@pytest.mark.parametrize(
    ("size", "bytes_", "of_cta", "of_grid"),
    [("%r5", 4, True, True), ("%r5", 8, True, True), ("%r5", 2, False, False),
     ("%r1", 4, True, False), ("1024", 4, True, True), ("512", 4, True, False)],
)  # fmt: skip
def test_places_are_apart_where_steps_cover_the_sizes(
    size: str, bytes_: int, of_cta: bool, of_grid: bool
):
    own = kernel(STRIDED.format(size=size, bytes=bytes_))
    (store,) = own.accesses
    assert are_apart(own, store, store, Relation.CTA, Launch()) is of_cta
    assert are_apart(own, store, store, Relation.GRID, Launch()) is of_grid


def test_a_known_block_covers_a_smaller_step():
    own = kernel(STRIDED.format(size="512", bytes=4))
    (store,) = own.accesses
    assert are_apart(own, store, store, Relation.GRID, Launch(block=(512, 1, 1)))
    assert not are_apart(own, store, store, Relation.GRID, Launch(block=(513, 1, 1)))


LOOP = """
    mov.u32 %r4, 0;
L:  st.shared.u32 [%r3], %r4;
    bar.sync 0;
    ld.shared.u32 %r5, [%r3];
    add.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, {bound}; @%p1 bra L;
"""


def test_a_loop_relates_the_iterations_of_an_interval():
    own = kernel(LOOP.format(bound="8"))
    store, load = own.accesses
    barriers = full_barriers(own, Scope.WORKGROUP)
    assert len(barriers) == 1
    # The load of one iteration and the store of the next: the back edge is between them.
    (constraint,) = shared(own, load, store, barriers)
    (loop,) = own.loops.values()
    solver = BitVectors(own, Relation.CTA, Launch(), Budget())
    following = own.table.apply("add", (loop.iteration, own.table.constant(1, 32)), 32)
    same = Compare("eq", loop.iteration, 0, loop.iteration, 1)
    next_one = Compare("eq", following, 0, loop.iteration, 1)
    assert solver.satisfiable((constraint, same)) is Answer.UNSATISFIABLE
    assert solver.satisfiable((constraint, next_one)) is Answer.SATISFIABLE


def test_threads_of_one_cta_take_one_way_where_its_index_decides():
    own = kernel("""
        mov.u32 %r4, %ctaid.x; setp.eq.u32 %p1, %r4, 0; @%p1 bra A; st.shared.u32 [%r3], %r2; bra B;
    A:  ld.shared.u32 %r5, [%r3];
    B:
    """)
    store, load = own.accesses
    assert shared(own, store, load, frozenset())
    assert not shared(own, store, load, frozenset(), is_one_cta=True)


MERGED = """
    mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %nctaid.x;
    shl.b32 %r7, %r4, {shift}; add.u32 %r8, %r7, %r2; mul.lo.u32 %r9, %r5, {ctas};
    mul.wide.u32 %rd2, %r8, 4; add.u64 %rd3, %rd1, %rd2;
    mul.wide.u32 %rd4, %r9, 4; add.u64 %rd5, %rd3, %rd4;
    ld.global.u32 %r10, [%rd5]; st.global.u32 [%rd3], %r10;
"""


@pytest.mark.parametrize(
    ("shift", "ctas", "kind"),
    [(6, "%r6", VerdictKind.LAUNCH), (7, "%r6", VerdictKind.LAUNCH), (6, "1", VerdictKind.RACE)],
)
def test_a_race_that_blocks_of_the_size_of_a_step_do_not_have_is_one_of_a_launch(
    shift: int, ctas: str, kind: VerdictKind
):
    """A grid's first part is written, and read in steps of all its threads from there on."""
    verdict = judge.judge(kernel(MERGED.format(shift=shift, ctas=ctas)))
    assert verdict.kind is kind, verdict


ONCE = """
    {before}
    ld.global.u32 %r4, [{address}]; setp.lt.u32 %p1, %r4, %r1; @%p1 bra B;
    st.shared.u32 [%r5], %r2; {inside}
B:  {after} xor.b32 %r6, %r5, 512; ld.shared.u32 %r7, [%r6];
"""
ROUND = "mov.u32 %r9, 0; cvt.u64.u32 %rd3, %r9; L: {meet} add.u64 %rd2, %rd1, %rd3;"
AGAIN = "add.u64 %rd3, %rd3, 4; add.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, %r1; @%p2 bra L;"


@pytest.mark.parametrize(
    ("round_", "pieces", "is_proved"),
    [("", {}, True), (None, {}, False), ("bar.sync 0;", {}, True),
     ("", {"address": "%rd4"}, False),
     ("", {"inside": "", "after": "bar.sync 0;"}, True),
     ("", {"inside": ""}, False), ("", {"before": "st.shared.u32 [%r5], %r1;"}, False)],
)  # fmt: skip
def test_a_value_of_memory_decides_one_way_for_all(
    round_: str | None, pieces: dict[str, str], is_proved: bool
):
    """Threads find one value only in one iteration: without a barrier they are in several."""
    loops = round_ is None or round_ != ""
    begin = ROUND.format(meet=round_ or "") if loops else ""
    address = "%rd2" if loops else "%rd1"
    own = {"before": "", "address": address, "inside": "bar.sync 0;", "after": ""} | pieces
    body = "shl.b32 %r8, %r2, 2; add.u32 %r5, %r3, %r8; mad.wide.u32 %rd4, %r2, 4, %rd1;" + begin
    verdict = judge.judge(kernel(body + ONCE.format(**own) + (AGAIN if loops else "")))
    assert (verdict.kind is VerdictKind.RACE_FREE) is is_proved, verdict


def test_a_loop_whose_end_differs_by_thread_has_no_full_barrier():
    assert full_barriers(kernel(f"{LOOP.format(bound='%r1')} bar.sync 0;"), Scope.WORKGROUP)
    divergent = kernel(f"{LOOP.format(bound='%r2')} bar.sync 0;")
    assert not full_barriers(divergent, Scope.WORKGROUP)


def test_a_counter_that_grows_by_one_is_below_its_bound():
    own = kernel(LOOP.format(bound="8"))
    store = own.accesses[0]
    solver = BitVectors(own, Relation.CTA, Launch(), Budget())
    (loop,) = own.loops.values()
    assert isinstance(loop.iteration, Iteration)
    constraints = executed(own, store, 0)

    def iteration_is(number: int) -> Compare:
        constant = own.table.constant(number, 32)
        return Compare("eq", loop.iteration, 0, constant, 0)

    assert solver.satisfiable((*constraints, iteration_is(7))) is Answer.SATISFIABLE
    assert solver.satisfiable((*constraints, iteration_is(8))) is Answer.UNSATISFIABLE


def test_the_solver_knows_how_threads_stand_to_each_other():
    own = kernel("st.shared.u32 [%r3], %r2;")
    thread = own.table.thread("%tid.x", 32)
    same = Compare("eq", thread, 0, thread, 1)
    for relation, answer in (
        (Relation.THREAD, Answer.SATISFIABLE),
        (Relation.WARP, Answer.UNSATISFIABLE),
        (Relation.CTA, Answer.UNSATISFIABLE),
        (Relation.GRID, Answer.SATISFIABLE),
    ):
        solver = BitVectors(own, relation, Launch(), Budget())
        assert solver.satisfiable((same,)) is answer
    solver = BitVectors(own, Relation.GRID, Launch(), Budget())
    assert solver.satisfiable((Together(0, 1, Scope.WORKGROUP),)) is Answer.UNSATISFIABLE
    third = (Together(0, 2, None), Together(1, 2, Scope.WORKGROUP))
    assert solver.satisfiable(third) is Answer.UNSATISFIABLE
    assert solver.satisfiable((AnyOf(()),)) is Answer.UNSATISFIABLE


def test_paths_and_dominators_of_a_kernel():
    own = kernel("""
    setp.eq.u32 %p1, %r2, 0; @%p1 bra ONE;
    st.shared.u32 [%r3], 1; bra MEET;
ONE: st.shared.u32 [%r3+4], 1; fence.acq_rel.gpu;
MEET: st.shared.u32 [%r3+8], 1;
""")
    other, one, last = (each.instruction for each in own.accesses)
    fence = own.fences[0].instruction
    assert own.all_paths_pass(one, last, lambda number: number == fence)
    assert not own.all_paths_pass(other, last, lambda number: number == fence)
    assert not own.all_paths_pass(None, last, lambda number: number == fence)
    assert own.may_reach(one, last)
    assert not own.may_reach(last, one)
    assert not own.dominates(one, last)
    (literal,) = own.conditions(one)
    assert literal.polarity
    assert Holds(literal, 0) in executed(own, own.accesses[1], 0)
    assert own.accesses[1].place.offset == LinearForm(4)


def judged_as_ptx(parts: int) -> Callable[[], object]:
    file = read_ptx(inputs.ptx(1, parts), "k.ptx")
    return lambda: findings.judged(file, file.functions["k0"])


def judged_as_amd(parts: int) -> Callable[[], object]:
    assembly = read_assembly(inputs.amd(1, parts))
    return lambda: judge_amd.judged(check(assembly, assembly.functions["k0"]))


@pytest.mark.parametrize("judged", [judged_as_ptx, judged_as_amd])
def test_long_functions_take_linear_work(
    judged: Callable[[int], Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the pairs that are judged, here a few."""
    monkeypatch.setattr(judge, "_MOST_PAIRS", 10)
    assert growth(judged, 8) < 1.1


@pytest.mark.parametrize("read", [inputs.ptx, inputs.amd], ids=["ptx", "amd"])
def test_equal_places_are_compared_once(
    read: Callable[[int, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[object] = []

    def counted(*arguments: Any) -> bool:
        compared.append(arguments)
        return are_apart(*arguments)

    monkeypatch.setattr(judge, "are_apart", counted)
    counts: list[int] = []
    for parts in (2, 20):
        compared.clear()
        if read is inputs.ptx:
            judged_as_ptx(parts)()
        else:
            judged_as_amd(parts)()
        counts.append(len(compared))
    assert counts[0] == counts[1] > 0


def test_a_bound_of_another_value_is_none_of_a_place():
    own = kernel("""
    setp.ge.u32 %p1, %r2, 7; @%p1 bra END;
    st.shared.u32 [%r3], 1;
    setp.ge.u32 %p2, %r1, 5; @%p2 bra END;
    st.shared.u32 [%r3], 1;
    shl.b32 %r4, %r2, 2; add.u32 %r4, %r4, %r3;
    st.shared.u32 [%r4], 1;
END:
""")
    one, other, indexed = (span_of(own, each) for each in own.accesses)
    assert one == other != indexed


def test_nothing_of_a_check_is_kept_with_its_verdict():
    assembly = read_assembly(inputs.amd(1, 2))
    checked = check(assembly, assembly.functions["k0"])
    kept = ref(checked)
    judged = judge_amd.judged(checked)
    del checked
    assert kept() is None
    assert judged.function.name == "k0"


@pytest.mark.parametrize("seed", range(12))
def test_products_are_what_all_numbers_say(seed: int):
    """Small ones, which wrap around, against every number that three parameters may be."""
    pytest.importorskip("z3")
    random, own, bits = Random(seed), kernel(""), 3
    e = Expressions(own.table)
    p, q, r = (own.table.param(name, bits) for name in "pqr")
    solver = BitVectors(own, Relation.THREAD, Launch((1, 1, 1), (1, 1, 1)), Budget())
    for _ in range(8):
        size = random.choice((bits, 2 * bits))
        wide = [e.resized(each, size) for each in (p, q, r)]
        one, other = (e.apply("mul", (wide[0], each), size) for each in wide[1:])
        limit = e.constant(random.randrange(1 << size), size)
        operation, left, right = random.choice(
            [("ult", one, other), ("eq", one, limit), ("ult", limit, one), ("eq", one, other)]
        )
        least = e.constant(random.randrange(1 << bits), bits)
        order = random.choice([("ult", q, r), ("ult", least, q), ("eq", q, least), ("ne", q, r)])
        asked = (
            Compare(operation, left, 0, right, 1),
            Compare(order[0], order[1], 0, order[2], 0),
            Compare("ne", p, 0, e.constant(0, bits), 0),
        )
        numbers = product(range(1 << bits), repeat=3)
        expected = any(
            all(_holds(each, dict(zip((p, q, r), own_numbers, strict=True))) for each in asked)
            for own_numbers in numbers
        )
        answer = solver.satisfiable(asked)
        assert answer is (Answer.SATISFIABLE if expected else Answer.UNSATISFIABLE)


def _holds(asked: Compare, numbers: dict[Value, int]) -> bool:
    values = dict(numbers)
    for each in parts_first((asked.left, asked.right)):
        if isinstance(each, Const) and isinstance(each.constant, int):
            values[each] = each.constant
        elif isinstance(each, Apply):
            values[each] = meaning(each)(values)
    left, right = values[asked.left], values[asked.right]
    return COMPARISONS[asked.operation](left, right, asked.left.bits)


@pytest.mark.parametrize(
    ("conditions", "answer"),
    [
        ([("eq", "rank", 0, "rank", 1)], Answer.UNSATISFIABLE),
        ([("eq", "rank", 0, 0, 0), ("ult", 0, 0, "%tid.y", 0)], Answer.UNSATISFIABLE),
        ([("eq", "rank", 0, 0, 0), ("eq", "rank", 1, 0, 0)], Answer.UNSATISFIABLE),
        ([("eq", "rank", 0, 1023, 0)], Answer.SATISFIABLE),
        ([("eq", "rank", 0, 1024, 0)], Answer.UNSATISFIABLE),
        ([("eq", "rank", 0, 7, 0), ("eq", "%tid.y", 0, 2, 0)], Answer.SATISFIABLE),
        ([("ult", "rank", 0, "%tid.y", 0)], Answer.UNSATISFIABLE),
        ([("eq", "%tid.x", 0, "%tid.x", 1), ("eq", "rank", 1, 9, 0)], Answer.SATISFIABLE),
    ],
)
def test_a_number_of_rows_of_threads_is_one_of_each(
    conditions: list[tuple[str, str | int, int, str | int, int]], answer: Answer
):
    pytest.importorskip("z3")
    own = kernel("mov.u32 %r4, %tid.y;")
    e = Expressions(own.table)
    x, y = (own.table.thread(f"%tid.{d}", 32) for d in "xy")
    rows = e.apply("mul", (own.table.constant("%ntid.x", 32), y), 32)
    names: dict[str | int, Value] = {
        "rank": e.apply("add", (x, rows), 32),
        "%tid.x": x,
        "%tid.y": y,
    }

    def value(of: str | int) -> Value:
        return e.constant(of, 32) if isinstance(of, int) else names[of]

    solver = BitVectors(own, Relation.CTA, Launch(), Budget(), splits_warps=False)
    asked = [Compare(op, value(a), one, value(b), other) for op, a, one, b, other in conditions]
    assert solver.satisfiable(asked) is answer
