"""Small launches tried in full: their answers are those of bit-vectors, with z3 or without."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random

import pytest
from test_verdicts import BARRIER, FREE, RACE, verdict_of

from fencewright.checker.verdicts.enumeration import Enumeration, Sizes, Tries
from fencewright.checker.verdicts.expressions import OPERATIONS as OPERATION_ROWS
from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.interpretation import KnownNumbers, meaning
from fencewright.checker.verdicts.model import (
    Access,
    AllOf,
    Answer,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    LinearForm,
    Literal,
    Not,
    Overlap,
    Place,
    Region,
    Relation,
    Root,
    Together,
)
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solutions import Asked, Solutions
from fencewright.checker.verdicts.solver import BitVectors, Budget, Launch, z3_module
from fencewright.lowering.code.value import Apply, Value
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Scope

SIZES = (4, 2, 1), (2, 1, 1)
OPERATIONS = (
    *("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "urem"),
    *("sdiv", "srem", "umin", "umax", "smin", "smax"),
)
COMPARISONS = ("eq", "ult", "ule", "slt", "ne")
CASES = 120


@pytest.fixture
def without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("solver", "judge"):
        monkeypatch.setattr(f"fencewright.checker.verdicts.{module}.z3_module", lambda: None)


def empty_kernel() -> Kernel:
    """A kernel that tells threads apart in x and y."""
    text = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{
    .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x;
    ret;
}
"""
    file = read_ptx(text, "k.ptx")
    return kernel_of(file, file.functions["k"])


class Draw:
    """Random constraints over two or three threads."""

    def __init__(self, seed: int, kernel: Kernel, *, is_exact: bool):
        self.random, self.is_exact = Random(seed), is_exact
        self.e = Expressions(kernel.table)

    def leaf(self, bits: int) -> Value:
        table, random = self.e.table, self.random
        choices = [
            table.thread("%tid.x", 32),
            table.thread("%tid.y", 32),
            table.constant("%ctaid.x", 32),
            table.constant("%ntid.x", 32),
            self.e.constant(random.choice((0, 1, 2, 3, 5, 31, -1)), 32),
        ]
        if not self.is_exact:
            choices += [table.param("n", 32), table.iteration(0, 32)]
        return self.e.resized(random.choice(choices), bits, signed=random.random() < 0.3)

    def value(self, bits: int, depth: int) -> Value:
        random = self.random
        if depth == 0:
            return self.leaf(bits)
        shape = random.random()
        if shape < 0.15:
            condition = self.truth(depth - 1)
            return self.e.chosen(
                condition, self.value(bits, depth - 1), self.value(bits, depth - 1)
            )
        if shape < 0.3:
            other = self.value(64 if bits == 32 else 32, depth - 1)
            return self.e.resized(other, bits, signed=random.random() < 0.5)
        parts = (self.value(bits, depth - 1), self.value(bits, depth - 1))
        return self.e.apply(random.choice(OPERATIONS), parts, bits)

    def truth(self, depth: int) -> Value:
        bits = self.random.choice((32, 64))
        parts = (self.value(bits, depth), self.value(bits, depth))
        return self.e.apply(self.random.choice(COMPARISONS[:4]), parts, 1)

    def access(self) -> Access:
        e, random = self.e, self.random
        index = self.value(64, 1)
        form = LinearForm(random.randrange(0, 16, 4), ((index, random.choice((1, 2, 4, 8))),))
        root = Root(Region.SHARED, "s", random.choice((None, 64)))
        size = random.choice((1, 4, 8))
        assert e
        return Access(0, 0, 1, "", Place(root, form), size, True, True, ())

    def constraint(self, depth: int) -> Constraint:
        random = self.random
        shape = random.randrange(8 if depth else 4)
        threads = [random.choice((0, 1, 0, 1, 2)) for _ in range(2)]
        if shape == 0:
            return Holds(Literal(self.truth(1), random.random() < 0.5), threads[0])
        if shape == 1:
            bits = random.choice((32, 64))
            values = self.value(bits, 1), self.value(bits, 1)
            return Compare(random.choice(COMPARISONS), values[0], threads[0], values[1], threads[1])
        if shape == 2:
            return Overlap(self.access(), 0, self.access(), 1)
        if shape == 3:
            level = random.choice((None, Scope.WAVEFRONT, Scope.WORKGROUP))
            return Together(threads[0], threads[1], level)
        parts = tuple(self.constraint(depth - 1) for _ in range(random.randrange(3)))
        if shape == 4:
            return Not(self.constraint(depth - 1))
        return AnyOf(parts) if shape < 6 else AllOf(parts)

    def question(self) -> tuple[Constraint, ...]:
        return tuple(self.constraint(2) for _ in range(self.random.randrange(1, 5)))


def asked(kernel: Kernel, is_exact: bool) -> Iterator[tuple[Relation, Answer, Answer, bool]]:
    """The answers of both solvers to random questions, and if a witness is one."""
    relations = (Relation.THREAD, Relation.WARP, Relation.CTA, Relation.GRID)
    sizes = Sizes(*SIZES, "xy", "x")
    for seed in range(CASES):
        relation, splits_warps = relations[seed % 4], seed % 8 > 3
        draw = Draw(seed, kernel, is_exact=is_exact)
        constraints = draw.question()
        tried = Enumeration(kernel, relation, sizes, Tries(), splits_warps=splits_warps).solve(
            constraints
        )
        exact = BitVectors(kernel, relation, Launch(*SIZES), Budget(), splits_warps=splits_warps)
        yield relation, tried.answer, exact.satisfiable(constraints), tried.witness is not None


@pytest.mark.skipif(z3_module() is None, reason="compares with z3-solver")
@pytest.mark.parametrize("block", [(16, 4, 1), (32, 2, 1), (6, 11, 1)])
def test_warps_are_made_of_the_numbers_of_threads(block: tuple[int, int, int]) -> None:
    """Rows are no warps: of 16 threads two are in one. Source: PTX ISA, warps."""
    kernel, columns = empty_kernel(), block[0]
    x, y = (kernel.table.thread(f"%tid.{d}", 32) for d in "xy")
    sizes = Sizes(block, (2, 1, 1), "xy", "x")
    random = Random(7)
    for _ in range(12):
        pair = [(random.randrange(columns), random.randrange(block[1])) for _ in range(2)]
        pair = [pair[0]] * 2 if random.random() < 0.2 else pair
        at = [
            Compare("eq", index, thread, kernel.table.constant(number, 32), thread)
            for thread, place in enumerate(pair)
            for index, number in zip((x, y), place, strict=True)
        ]
        numbers = [row * columns + column for column, row in pair]
        same_warp, same = numbers[0] // 32 == numbers[1] // 32, numbers[0] == numbers[1]
        wanted = {Relation.WARP: same_warp and not same, Relation.CTA: not same_warp}
        for relation, holds in wanted.items():
            answer = Answer.SATISFIABLE if holds else Answer.UNSATISFIABLE
            every = Enumeration(kernel, relation, sizes, Tries(), splits_warps=True)
            assert every.solve(at).answer is answer, (relation, pair)
            if z3_module() is not None:
                vectors = BitVectors(
                    kernel, relation, Launch(block, (2, 1, 1)), Budget(), splits_warps=True
                )
                assert vectors.satisfiable(at) is answer, (relation, pair)


@pytest.mark.parametrize("is_exact", [True, False])
def test_no_answer_differs_from_that_of_z3(is_exact: bool) -> None:
    answers: dict[Answer, int] = {}
    for relation, tried, known, has_witness in asked(empty_kernel(), is_exact):
        answers[tried] = answers.get(tried, 0) + 1
        assert has_witness is (tried is Answer.SATISFIABLE)
        if Answer.UNKNOWN not in (tried, known):
            assert tried is known, relation
    assert answers[Answer.SATISFIABLE] > CASES // 10
    if is_exact:
        assert answers.get(Answer.UNKNOWN, 0) == 0
        assert answers[Answer.UNSATISFIABLE] > CASES // 10


@pytest.mark.skipif(z3_module() is None, reason="compares with z3-solver")
@pytest.mark.parametrize("is_exact", [True, False])
def test_what_a_known_solution_satisfies_z3_does(is_exact: bool) -> None:
    kernel, hits = empty_kernel(), 0
    known = {relation: _Silent() for relation in Relation}
    for seed in range(CASES):
        relation = tuple(Relation)[seed % len(Relation)]
        asked = BitVectors(kernel, relation, Launch(), Budget())
        asked.budget.solutions = known[relation]
        constraints = Draw(seed, kernel, is_exact=is_exact).question()
        is_known = Solutions.of(known[relation], asked, constraints) is not None
        hits += is_known
        assert asked.satisfiable(constraints) is not Answer.UNSATISFIABLE or not is_known, seed
    assert hits > CASES // 4


def test_questions_of_a_conflict_are_answered_as_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution forgets a conflict with its constraints, and threads of one warp are not of two."""
    kernel, kept, again = empty_kernel(), Solutions(), 0
    truth, asked = KnownNumbers.truth, list[Constraint]()

    def counted(self: KnownNumbers, constraint: Constraint) -> bool | None:
        asked.append(constraint)
        return truth(self, constraint)

    monkeypatch.setattr(KnownNumbers, "truth", counted)
    kept.learn({"%ntid.x": 64, "%tid.x@1": 1})
    for seed in range(CASES):
        draw = Draw(seed, kernel, is_exact=False)
        first = draw.question()
        for more in (draw.question(), draw.question(), ()):
            for splits_warps in (False, True):
                own = BitVectors(
                    kernel, Relation.CTA, Launch(), Budget(), splits_warps=splits_warps
                )
                new = Solutions()
                new.known = [type(each)(each.numbers, each.parameter) for each in kept.known]
                is_known = new.of(own, (*first, *more)) is not None
                assert (kept.of(own, (*first, *more)) is not None) is is_known, seed
                asked.clear()
                if not is_known and kept.of(own, (*first, *more)) is None:
                    again += not asked
    assert again > CASES // 10


class _Silent(Solutions):
    """Learns solutions and keeps them from the solver."""

    def of(self, asked: Asked, constraints: Sequence[Constraint]) -> Mapping[str, int] | None:
        return None


@pytest.mark.skipif(z3_module() is None, reason="counts the questions of z3-solver")
def test_conflicts_alike_are_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads at many distances conflict with a store in one launch, but for one number of it."""
    loads = [f"ld.shared.u32 %r{7}, [%r4+{4 * at}];" for at in range(1, 25)]
    text = BARRIER.format("bar.sync 0;" + " ".join(loads))
    asked: list[int] = []
    checked = BitVectors._checked  # pyright: ignore[reportPrivateUsage]  # z3's questions

    def counted(self: BitVectors, *given: object, **more: bool) -> object:
        asked.append(1)
        return checked(self, *given, **more)  # pyright: ignore[reportArgumentType]  # passed on

    monkeypatch.setattr(BitVectors, "_checked", counted)
    assert verdict_of(text).kind is FREE
    assert len(asked) < len(loads)


NUMBERS = (0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 63)


def differences(kernel: Kernel, operations: Sequence[str]) -> list[str]:
    """The operations of which z3 has another result than the enumeration, of some numbers."""
    table, found = kernel.table, list[str]()
    for operation in operations:
        for bits in (32, 64):
            own = {number & (1 << bits) - 1: None for number in NUMBERS}
            equal: list[Constraint] = []
            for numbers in product(own, own):
                parts = [table.constant(each, bits) for each in numbers]
                value = table.apply(operation, parts, 1 if operation in COMPARISONS else bits)
                assert isinstance(value, Apply)
                result = meaning(value)(dict(zip(parts, numbers, strict=True)))
                number = table.constant(result, value.bits)
                equal.append(Compare("eq", value, 0, number, 1))
            exact = BitVectors(kernel, Relation.THREAD, Launch((1, 1, 1), (1, 1, 1)), Budget())
            if exact.satisfiable((AllOf(tuple(equal)),)) is not Answer.SATISFIABLE:
                found.append(operation)
    return found


@pytest.mark.skipif(z3_module() is None, reason="compares with z3-solver")
def test_operations_are_those_of_bit_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = empty_kernel()
    assert differences(kernel, (*OPERATIONS, *COMPARISONS)) == []
    monkeypatch.setitem(OPERATION_ROWS, "ashr", lambda a, b, bits: a >> min(b, bits))
    assert set(differences(kernel, ("lshr", "ashr"))) == {"ashr"}


@pytest.mark.usefixtures("without_z3")
def test_a_race_is_found_and_a_launch_proved_without_z3() -> None:
    verdict = verdict_of(BARRIER.format(""))
    assert verdict.kind is RACE
    assert str(verdict.conflicts[0].witness) == "--grid 2 --block 64"
    assert verdict_of(BARRIER.format("bar.sync 0;")).kind is FREE
    hashed = """
    mul.lo.u32 %r8, %r2, 40503; and.b32 %r8, %r8, 63; shl.b32 %r8, %r8, 2;
    add.u32 %r9, %r3, %r8; st.shared.u32 [%r9], %r2;
    """
    # 64 threads have a word each, by an odd factor; of 128 two share one.
    assert verdict_of(hashed, Launch((64, 1, 1), (1, 1, 1))).kind is FREE
    assert verdict_of(hashed, Launch((128, 1, 1), (1, 1, 1))).kind is RACE


@pytest.mark.usefixtures("without_z3")
def test_limits_are_counts() -> None:
    kernel = empty_kernel()
    draw = Draw(1, kernel, is_exact=True)
    sizes = Sizes((1024, 1, 1), (64, 1, 1), "x", "x")
    never = Compare("ult", draw.e.constant(1, 32), 0, draw.e.constant(0, 32), 1)
    tries = Tries()
    found = Enumeration(kernel, Relation.CTA, sizes, tries, splits_warps=False).solve((never,))
    assert found.answer is Answer.UNKNOWN
    assert tries.left < Tries().left


@pytest.mark.parametrize(
    ("relation", "answer"),
    [(Relation.CTA, Answer.SATISFIABLE), (Relation.GRID, Answer.UNSATISFIABLE)],
)
def test_shared_memory_of_two_ctas_is_two(relation: Relation, answer: Answer) -> None:
    kernel = empty_kernel()
    place = Place(Root(Region.SHARED, "s", None), LinearForm(0))
    access = Access(0, 0, 1, "", place, 4, True, True, ())
    sizes = Sizes((64, 1, 1), (2, 1, 1), "x", "x")
    threads = Enumeration(kernel, relation, sizes, Tries(), splits_warps=False)
    assert threads.solve((Overlap(access, 0, access, 1),)).answer is answer
