"""Indices that are sums of quotients, remainders and products, beside their truth by trial.

Kernels store at an index that an expression of Python says, with the operations of 32 bits. And
quotients by parameters: their races, and the steps that they may cost.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import CodeType

import pytest

from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.checker.verdicts import judge as judge_module
from fencewright.checker.verdicts import solver
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Assumption, Overlap, Relation, Verdict, Witness
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import BitVectors, Budget, Launch
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools.ptx_check import judged

pytest.importorskip("z3")

INDICES = {
    "t": "tid.x",
    "T": "ntid.x",
    "b": "ctaid.x",
    "B": "nctaid.x",
    "u": "tid.y",
    "U": "ntid.y",
}
SUMS = {"g": "b*T + t"}
"""The number of a thread in its grid."""
PARAMETERS = ("n", "m")
OPERATIONS: Mapping[type, tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("add.{0}", int.__add__),
    ast.Sub: ("sub.{0}", int.__sub__),
    ast.Mult: ("mul.lo.{0}", int.__mul__),
    ast.FloorDiv: ("div.{0}", lambda a, b: abs(a) // b * (1 if a >= 0 else -1)),
    ast.Mod: ("rem.{0}", lambda a, b: abs(a) % b * (1 if a >= 0 else -1)),
    ast.RShift: ("shr.{0}", int.__rshift__),
    ast.BitAnd: ("and.b32", int.__and__),
    ast.BitXor: ("xor.b32", int.__xor__),
    ast.BitOr: ("or.b32", int.__or__),
}
"""Operations in PTX and in Python; divisors are positive."""


class Index:
    """An expression, as PTX and as a number."""

    def __init__(self, text: str, kind: str = "u32"):
        self.tree, self.kind = ast.parse(text, mode="eval").body, kind
        names = {each.id for each in ast.walk(self.tree) if isinstance(each, ast.Name)}
        self.has_rows = bool(names & {"u", "U"})
        self.lines: list[str] = []

    def kernel(self) -> str:
        """A kernel that stores at the index."""
        place = self._emitted(self.tree)
        return (
            ".version 8.6\n.target sm_90\n.address_size 64\n"
            ".visible .entry k(.param .u64 a, .param .u32 n, .param .u32 m)\n{\n"
            ".reg .b32 %r<99>; .reg .b64 %rd<9>;\nld.param.u64 %rd1, [a];\n"
            + "\n".join(self.lines)
            + f"\nmul.wide.{self.kind} %rd2, {place}, 4; add.s64 %rd3, %rd1, %rd2;\n"
            "mov.u32 %r98, %tid.x; st.global.u32 [%rd3], %r98;\nret;\n}\n"
        )

    def _emitted(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Name) and tree.id in SUMS:
            return self._emitted(ast.parse(SUMS[tree.id], mode="eval").body)
        if isinstance(tree, ast.Constant):
            return str(tree.value)
        if isinstance(tree, ast.Name):
            is_given = tree.id in PARAMETERS
            made = (
                f"ld.param.u32 {{}}, [{tree.id}];"
                if is_given
                else f"mov.u32 {{}}, %{INDICES[tree.id]};"
            )
        else:
            assert isinstance(tree, ast.BinOp)
            parts = f"{self._emitted(tree.left)}, {self._emitted(tree.right)}"
            made = f"{OPERATIONS[type(tree.op)][0].format(self.kind)} {{}}, {parts};"
        register = f"%r{len(self.lines) + 1}"
        self.lines.append(made.format(register))
        return register

    def number(self, values: Mapping[str, int]) -> int | None:
        """The index, of 32 bits; None where a divisor is not positive."""

        def of(tree: ast.expr) -> int:
            if isinstance(tree, ast.Name):
                return (
                    values["b"] * values["T"] + values["t"] if tree.id == "g" else values[tree.id]
                )
            if isinstance(tree, ast.Constant):
                return int(str(tree.value))
            assert isinstance(tree, ast.BinOp)
            left, right = of(tree.left), of(tree.right)
            if isinstance(tree.op, ast.FloorDiv | ast.Mod) and right <= 0:
                raise ZeroDivisionError
            made = OPERATIONS[type(tree.op)][1](left, right) & (1 << 32) - 1
            return made - (1 << 32) if self.kind == "s32" and made >> 31 else made

        try:
            return of(self.tree)
        except ZeroDivisionError:
            return None

    def verdict(self) -> Verdict:
        """The engine's verdict."""
        file = read_ptx(self.kernel(), "k.ptx")
        return judge(kernel_of(file, file.functions["k"]))

    def meetings(self, within: str) -> Iterator[Mapping[str, int]]:
        """Small launches in which two threads, of those that a condition is true of, have one
        index."""
        condition = compile(within, "within", "eval")
        rows = (1, 2, 3) if self.has_rows else (1,)
        for sizes in product((1, 2, 4), rows, (1, 2, 3), range(6), range(6)):
            launch = dict(zip("TUBnm", sizes, strict=True))
            threads = [
                {**launch, "t": t, "u": u, "b": b, "g": b * launch["T"] + t}
                for t, u, b in product(*(range(launch[each]) for each in "TUB"))
            ]
            if not all(_is_true(condition, each) for each in threads):
                continue
            numbers = [self.number(each) for each in threads]
            if None not in numbers and len({*numbers}) < len(numbers):
                yield launch

    def is_meeting(self, witness: Witness) -> bool:
        """True of two threads that have one index."""
        size = {"T": witness.block[0], "U": (*witness.block, 1)[1], "B": witness.grid[0]}
        numbers = [
            self.number(
                {
                    **dict.fromkeys(PARAMETERS, 0), **witness.parameters, **size,
                    "t": thread[0], "u": (*thread, 0)[1], "b": cta[0],
                }
            )
            for thread, cta in zip(witness.threads, witness.ctas, strict=True)
        ]  # fmt: skip
        return numbers[0] == numbers[1]


def _is_true(condition: CodeType, values: Mapping[str, int]) -> bool:
    try:
        return bool(eval(condition, {}, dict(values)))
    except ZeroDivisionError:
        return False


FAMILY = (
    # The index, and the rows that it may mean: columns are below what rows are apart by.
    ("g + n*(g%2)", "g < n"),
    ("g + n*(g%2) + m*(g%3)", "g < n and n + g < m"),
    ("g//n*n + g%n", "0 < n"),
    ("g//n*m + g%n", "g%n < m"),
    ("g%n*m + g//n", "g//n < m"),
    ("g%n*m + g//n%2", ""),
    ("g%n + m*(g%2)", ""),
    ("g*n + g%n", "0 < n"),
    ("g*n + g%m", "g%m < n"),
    ("g*2 + g%2", ""),
    ("g*3 - g%2*3", ""),
    ("(g>>1)*n + (g&1)", "1 < n"),
    ("(g>>1)*n + (g&1)*m", "0 < m < n"),
    ("(g>>1)*n + (g&3)*m", "0 < m and 3*m < n"),
    ("t*n + b", "b < n"),
    ("t*(n+1) + b", "b < n + 1"),
    ("t + b*(T+1)", ""),
    ("t + b*(T-1)", ""),
    ("t*B + b", ""),
    ("t*n*m + b*m + t%m", "0 < m and b < n"),
    ("t*n*m + b*n", "b < m and 0 < n"),
    ("g ^ 1", ""),
    ("g ^ (g>>1)", ""),
    ("g | 1", ""),
    ("t + b*1024", ""),
    ("t + b*256", ""),
    ("g*n", "0 < n"),
    ("g*n + g*m", "0 < n and 0 < m"),
    ("n*(g//2) + g%3", "2 < n"),
    ("g*n//n", ""),
    ("g*2//4", ""),
    ("g%1024", ""),
    ("u*T + t + T*U*b", ""),
    ("u*n + g", "g < n"),
    ("g*n + u", "u < n"),
    ("g*(T+1) + u*n", ""),
    ("u*256 + t", ""),
    ("g%4*n + g//4%m", ""),
    ("g%n*m + g//m", ""),
    ("g%n*n + g//n", "g//n < n"),
    ("g//n*m + (g+1)%n", ""),
    ("(g+t)//n*m + g%n", ""),
    ("g//n//2*m + g%n", ""),
    ("g//n*m + g%n//2", ""),
    ("g//n*m + g%n*(g%2)", ""),
    ("g*n - g*m", ""),
    ("b*n + t//2", ""),
    ("b*n + t%n", ""),
    ("b*n + t%m", ""),
    ("b*n + (t&m)", ""),
    ("b*n + (t^m)", "(t^m) < n"),
    ("b*n + t*m%n", ""),
    ("b*n + t - 1", "t < n"),
    ("b*n + n - 1 - t", "t < n"),
    ("(b+1)*n - t", "t < n"),
    ("b*n + t*m", "0 < m and t*m < n"),
    ("b*n*m + t", "t < n*m"),
    ("b*n*n + t*n", "0 < n and t < n"),
    ("b*(n%m) + t", "t < n%m"),
    ("(b*n + t)%m", ""),
    ("b%2*n + t + b//2*m", "t < n and 2*n <= m"),
    ("b*T*n + t//n + t%n", ""),
    ("t%n + T*b", ""),
    ("u*n + t", ""),
    ("u*n + t + b*m", "t < n and U*n <= m"),
    ("u*n*m + t*n + b", "b < n and t < m"),
    ("u*n*m + t*n + b%n", ""),
    ("u*n + t//2 + b*m", ""),
)
SIGNED = (
    *(each for each in FAMILY if "//" in each[0] or "%" in each[0]),
    ("n - g", ""),
    ("(g - n)//2", ""),
    ("(0 - g)%n", ""),
    ("g - n*(g%2)", ""),
    ("n*(g//m) - g%m", ""),
    ("g*(n - m)", ""),
    ("b*n - t", "t < n"),
    ("(t - b)*n", ""),
    ("(n - g)//n*m + g%n", ""),
    ("(g - n)*(g - m)", ""),
    ("b*n - t%n", ""),
    ("(0 - n)*g", ""),
)


@pytest.mark.parametrize(
    ("index", "rows", "kind"),
    [(*each, "u32") for each in FAMILY] + [(*each, "s32") for each in SIGNED],
)
def test_no_verdict_contradicts_the_threads_of_small_launches(
    index: str, rows: str, kind: str
) -> None:
    own = Index(index, kind)
    verdict = own.verdict()
    if verdict.kind is VerdictKind.RACE_FREE:
        has_rows = Assumption.ROWS in verdict.assumptions
        assert rows or not has_rows
        assert next(own.meetings(rows if has_rows else "True"), None) is None
    for each in verdict.conflicts:
        assert each.witness is not None
        assert own.is_meeting(each.witness)


WRAPPED = (
    # Products that wrap around in usual launches, by their constants.
    ("t*1073741824", "u32", VerdictKind.RACE),
    ("t*1073741824", "s32", VerdictKind.RACE),
    ("b*1073741824", "u32", VerdictKind.RACE),
    ("b*536870912*T + t*536870912", "u32", VerdictKind.RACE),
    ("n + g*1073741824", "s32", VerdictKind.RACE),
    ("(t&7)*1073741824", "u32", VerdictKind.RACE),
    ("(t+b)*1073741824", "u32", VerdictKind.RACE),
    # And those that do not.
    ("(g&3)*1073741824 + g//4", "u32", VerdictKind.RACE_FREE),
    ("b*T*2 + t*2", "u32", VerdictKind.RACE_FREE),
    ("b*65536 + t*64", "s32", VerdictKind.RACE_FREE),
)


@pytest.mark.parametrize(("index", "kind", "verdict"), WRAPPED)
def test_products_that_wrap_by_their_constants_are_exact(
    index: str, kind: str, verdict: VerdictKind
) -> None:
    own = Index(index, kind)
    found = own.verdict()
    is_race = found.kind in (VerdictKind.RACE, VerdictKind.LAUNCH)
    assert (VerdictKind.RACE if is_race else found.kind) is verdict
    for each in found.conflicts:
        assert each.witness is not None
        assert own.is_meeting(each.witness)


def test_no_question_depends_on_those_before() -> None:
    def written(*before: Relation) -> str:
        """A question about a place, asked after others of one kernel."""
        file = read_ptx(Index("g//n*m + g%n").kernel(), "k.ptx")
        kernel, budget = kernel_of(file, file.functions["k"]), Budget()
        (access,) = kernel.accesses
        overlap = Overlap(access, 0, access, 1)
        for each in before:
            BitVectors(kernel, each, Launch(), budget).satisfiable((overlap,))
        return BitVectors(kernel, Relation.GRID, Launch(), budget).truth(overlap).sexpr()

    assert written() == written(Relation.CTA, Relation.GRID)


def test_a_verdict_is_one_of_the_function_alone() -> None:
    """Functions are judged in one process, in both orders."""
    texts = [Index(index).kernel() for index, _ in FAMILY[2:6]]

    def verdicts(ordered: Sequence[str]) -> list[tuple[str, Verdict]]:
        files = [(text, read_ptx(text, "k.ptx")) for text in ordered]
        found = ((text, judge(kernel_of(file, file.functions["k"]))) for text, file in files)
        return sorted(found, key=lambda each: each[0])

    for one, other in zip(verdicts(texts), verdicts(texts[::-1]), strict=True):
        assert [str(each.witness) for each in one[1].conflicts] == [
            str(each.witness) for each in other[1].conflicts
        ]
        assert replace(one[1], conflicts=()) == replace(other[1], conflicts=())


CHANNELS = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n, .param .u32 m)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m];
mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x;
setp.eq.u32 %p1, %r5, 0; @%p1 bra OUT;
setp.gt.s32 %p1, %r4, 63; @%p1 bra OUT;
shr.u32 %r25, %r4, 5; and.b32 %r26, %r4, 31;
add.s32 %r6, %r1, %r2; add.s32 %r6, %r6, -1; div.s32 %r7, %r6, %r2;
add.s32 %r8, %r5, -1; mul.lo.s32 %r9, %r8, %r7; min.s32 %r9, %r9, %r1;
add.s32 %r10, %r9, %r7; min.s32 %r10, %r10, %r1;
setp.ge.s32 %p4, %r9, %r10; @%p4 bra OUT;
add.s32 %r11, %r10, -1;
LOOP:
sub.s32 %r12, %r11, %r26; setp.lt.s32 %p3, %r12, %r9; mov.u32 %r15, -1; @%p3 bra NEXT;
shl.b32 %r13, %r12, 1; add.s32 %r13, %r13, %r25;
mul.wide.s32 %rd2, %r13, 4; add.s64 %rd3, %rd1, %rd2; ld.global.nc.u32 %r15, [%rd3];
NEXT:
setp.gt.s32 %p5, %r15, -1; or.pred %p6, %p3, %p5; @%p6 bra REST;
shl.b32 %r13, %r12, 1; add.s32 %r13, %r13, %r25;
mul.wide.s32 %rd2, %r13, 4; add.s64 %rd4, %rd1, %rd2; st.global.u32 [%rd4], %r10;
REST:
add.s32 %r11, %r11, -32; setp.ge.s32 %p4, %r11, %r9; @%p4 bra LOOP;
OUT: ret;
}
"""
"""Each CTA but the first has ``(n + m - 1) / m`` places, every second one a warp's, which visits
them from the end; it writes the places that it reads by ``ld.global.nc``."""


def test_a_race_of_quotients_by_parameters_is_found() -> None:
    file = read_ptx(CHANNELS, "k.ptx")
    verdict = judge(kernel_of(file, file.functions["k"]))
    assert verdict.kind is VerdictKind.RACE
    assert {each.finding for each in verdict.conflicts} == {Rule.READ_ONLY}


def test_the_kernels_of_a_file_share_the_steps_of_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Index("n - g", "s32").kernel()
    kernels = text + "".join(
        text[text.index(".visible") :].replace("k(", f"k{n}(") for n in range(4)
    )
    monkeypatch.setattr(solver, "_STEPS_OF_FILE", 200_000)
    limits: list[int] = []

    def budget(steps: int) -> solver.Budget:
        limits.append(steps)
        return solver.Budget(steps)

    monkeypatch.setattr(judge_module, "Budget", budget)
    assert len([*judged(read_ptx(kernels, "k.ptx"), replays=False)]) == 5
    assert limits[0] == 240_000
    assert limits[-1] == 40_000


def _of_first_block(condition: str, body: str) -> VerdictKind:
    """The verdict on threads (%r1) of block 0 that execute ``body`` where ``condition`` makes %p1:
    %rd3 is the address of a thread's own element of the array at %rd1, n is %r2."""
    text = f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) .maxntid 32, 1, 1
{{
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x; mov.u32 %r5, %ctaid.x;
    {condition} setp.eq.u32 %p2, %r5, 0;
    @!%p1 bra OUT; @!%p2 bra OUT;
    mul.wide.s32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    {body}
OUT: ret;
}}
"""
    file = read_ptx(text, "k.ptx")
    return judge(kernel_of(file, file.functions["k"])).kind


@pytest.mark.parametrize(("below", "is_right"), [("%r6", True), ("%r2", False)])
def test_all_bits_the_other_way_are_a_negative_number(below: str, is_right: bool):
    """Threads below half of n, or all, exchange an element and its counterpart from the end."""
    kind = _of_first_block(
        f"shr.s32 %r6, %r2, 1; setp.lt.s32 %p1, %r1, {below};",
        """not.b32 %r3, %r1; add.s32 %r4, %r3, %r2;
    mul.wide.s32 %rd4, %r4, 4; add.s64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd3], %r1; st.global.u32 [%rd5], %r1;""",
    )
    expected = (VerdictKind.RACE_FREE,) if is_right else (VerdictKind.RACE, VerdictKind.LAUNCH)
    assert kind in expected


@pytest.mark.parametrize(
    ("part", "extended"),
    [
        ("mov.u32 %r3, %r2;", "s32"),  # A parameter, which is below 0.
        ("xor.b32 %r3, %r2, 1;", "s32"),
        ("add.s32 %r4, %r1, -4; min.s32 %r3, %r4, -1;", "s32"),
        ("add.s32 %r4, %r1, -4; min.s32 %r3, %r4, -1;", "u32"),
        ("or.b32 %r3, %r1, -4; sub.s32 %r3, %r3, %r1; add.s32 %r3, %r3, 3;", "s32"),
        ("or.b32 %r3, %r1, -4; sub.s32 %r3, %r3, %r1; add.s32 %r3, %r3, 3;", "u32"),
        ("xor.b32 %r3, %r1, -2; add.s32 %r3, %r3, 8;", "u32"),
    ],
)
def test_a_negative_part_of_a_sum_leads_back(part: str, extended: str):
    """Threads read the element of a thread before them, where a part of the index is below 0."""
    kind = _of_first_block(
        "setp.lt.s32 %p1, %r2, 0;",
        f"""{part} add.s32 %r6, %r1, %r3;
    mul.wide.{extended} %rd4, %r6, 4; add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r7, [%rd5]; st.global.u32 [%rd3], %r7;""",
    )
    assert kind in (VerdictKind.RACE, VerdictKind.LAUNCH)
