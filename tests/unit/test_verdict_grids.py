"""Barriers of a grid whose bit flips: proved where they are right, and broken on purpose.

Every wrong twin differs from a right kernel in one qualifier, barrier, number or condition.
"""

from itertools import product
from random import Random

import pytest

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.nvidia.findings import judged
from fencewright.checker.verdicts.arithmetic import (
    _are_one,  # pyright: ignore[reportPrivateUsage]
    _Digit,  # pyright: ignore[reportPrivateUsage]
)
from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.code.value import ValueTable
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [flag];
ld.param.u32 %r20, [n];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %nctaid.x;
setp.ne.u32 %p1, %r1, 0;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
setp.eq.u32 %p2, %r2, 0;
mov.u32 %r5, -2147483647;
sub.s32 %r5, %r5, %r3;
selp.b32 %r6, %r5, 1, %p2;
"""
LAUNCH = Launch((32, 1, 1), (4, 1, 1))
FREE, RACE, UNJUDGED = VerdictKind.RACE_FREE, VerdictKind.RACE, VerdictKind.NOT_JUDGED


def barrier(name: str) -> str:
    return f"""
barrier.sync 0;
@%p1 bra {name}_DONE;
atom.add.release.gpu.global.u32 %r7, [%rd2], %r6;
{name}_SPIN:
ld.acquire.gpu.global.u32 %r8, [%rd2];
xor.b32 %r9, %r8, %r7;
setp.gt.s32 %p3, %r9, -1;
@%p3 bra {name}_SPIN;
{name}_DONE:
barrier.sync 0;
"""


STORE, LOAD = "@!%p1 st.global.u32 [%rd4], 1;", "ld.global.u32 %r10, [%rd1+4];"
ONCE = f"{STORE}{barrier('A')}{LOAD}\nret;"
ROUNDS = f"""
mov.u32 %r11, 0;
LOOP:
{STORE}
{barrier("A")}
{LOAD}
{barrier("B")}
add.u32 %r11, %r11, 1;
setp.lt.u32 %p4, %r11, %r20;
@%p4 bra LOOP;
ret;
"""


def verdict(body: str, launch: Launch | None = LAUNCH) -> Verdict:
    file = read_ptx(f"{HEAD}{body}\n}}\n")
    return judge(kernel_of(file, file.functions["k"]), launch)


@pytest.mark.parametrize("body", [ONCE, ROUNDS])
def test_a_barrier_of_the_grid_separates_its_ctas(body: str) -> None:
    found = verdict(body)
    assert (found.kind, "grid barrier" in found.by) == (FREE, True), found.obstacles


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".release", ".relaxed"),
        (".acquire", ".relaxed"),
        ("atom.add.release.gpu", "atom.add.release.cta"),
        ("ld.acquire.gpu", "ld.acquire.cta"),
        ("selp.b32 %r6, %r5, 1", "selp.b32 %r6, %r5, 2"),
        ("-2147483647", "-2147483646"),
        ("setp.eq.u32 %p2, %r2, 0", "setp.le.u32 %p2, %r2, 1"),
        ("@%p1 bra A_DONE", "setp.gt.u32 %p5, %r1, 1;\n@%p5 bra A_DONE"),
        ("setp.gt.s32 %p3, %r9, -1", "setp.ne.s32 %p3, %r9, 0"),
        ("%r7, [%rd2]", "%r7, [%rd2+4]"),
    ],
)
def test_a_weakened_barrier_of_the_grid_proves_nothing(old: str, new: str) -> None:
    text = HEAD + ONCE + "\n}\n"
    assert old in text
    file = read_ptx(text.replace(old, new))
    assert judge(kernel_of(file, file.functions["k"]), LAUNCH).kind is not FREE


@pytest.mark.parametrize(
    ("stored", "kind"),
    [("1", FREE), ("%r24", VerdictKind.LAUNCH)],
    ids=["right", "a row's number"],
)
def test_rows_that_a_barrier_of_the_grid_counts_are_one(stored: str, kind: VerdictKind) -> None:
    """The threads and CTAs that cooperative groups count have rows, and nothing else has."""
    rows = "mov.u32 %r21, %tid.y; mov.u32 %r22, %nctaid.y; mov.u32 %r24, %ctaid.y; setp.eq.u32 %p5, %r1, 0;"
    first = f"{rows} or.b32 %r25, %r1, %r21; setp.ne.u32 %p1, %r25, 0; mul.lo.u32 %r23, %r3, %r22;"
    head = HEAD.replace("setp.ne.u32 %p1, %r1, 0;", first).replace(
        "%r5, %r5, %r3", "%r5, %r5, %r23"
    )
    head = head.replace("setp.eq.u32 %p2, %r2", "or.b32 %r26, %r2, %r24; setp.eq.u32 %p2, %r26")
    body = ONCE.replace(STORE, f"@%p5 st.global.u32 [%rd4], {stored};")
    file = read_ptx(f"{head}{body}\n}}\n")
    assert judge(kernel_of(file, file.functions["k"])).kind is kind


@pytest.mark.parametrize("number", range(2))
def test_both_barriers_of_the_cta_are_part_of_it(number: int) -> None:
    parts = ONCE.replace("@!%p1 ", "").split("barrier.sync 0;")
    gone = "barrier.sync 0;".join(parts[: number + 1]) + "barrier.sync 0;".join(parts[number + 1 :])
    assert verdict(gone).kind is not FREE


def test_rounds_with_one_barrier_less_race() -> None:
    assert verdict(ROUNDS.replace(barrier("B"), "")).kind is RACE


def test_ctas_that_come_to_two_barriers_are_not_separated_by_them() -> None:
    apart = f"@%p2 bra X;\n{STORE}{barrier('A')}bra Y;\nX:\n{barrier('B')}\nY:\n{LOAD}\nret;"
    assert verdict(apart).kind is not FREE


@pytest.mark.parametrize("parity", range(2))
def test_others_that_go_on_without_the_thread_that_adds_wait_for_nobody(parity: int) -> None:
    ends = f"and.b32 %r12, %r1, 1;\nsetp.ne.u32 %p6, %r12, {parity};\n@%p6 bra OUT;\n"
    load = "ld.global.u32 %r10, [%rd1+4];"
    body = f"st.global.u32 [%rd4], 1;{barrier('A')}{load}\nOUT:\nret;"
    body = body.replace(
        "st.global.u32 [%rd4]", "setp.eq.u32 %p7, %r1, 1;\n@%p7 st.global.u32 [%rd4]"
    )
    if parity == 0:
        body = body.replace("%p7, %r1, 1", "%p7, %r1, 2")
    assert (verdict(ends + body).kind is FREE) == (parity == 0)


def test_a_barrier_of_the_grid_that_a_cta_never_comes_to_is_not_proved() -> None:
    skips = f"and.b32 %r12, %r2, 1;\nsetp.eq.u32 %p6, %r12, 1;\n@%p6 bra OUT;\n{ONCE}\nOUT:\nret;"
    found = verdict(skips)
    assert found.kind is UNJUDGED
    assert any("not every CTA" in each.reason for each in found.obstacles)


def test_nothing_is_proved_of_a_launch_that_there_is_not() -> None:
    body = "st.global.u32 [%rd1], %r1;\nret;"
    found = verdict(body, Launch((2048, 1, 1), (4, 1, 1)))
    assert (found.kind, len(found.obstacles)) == (UNJUDGED, 1)


CHOSEN = """
setp.eq.s32 %p4, %r20, 0;
selp.b64 %rd5, %rd1, %rd2, %p4;
selp.b64 %rd6, %rd2, %rd1, %p4;
mul.wide.u32 %rd7, %r1, 4;
add.s64 %rd5, %rd5, %rd7;
add.s64 %rd6, %rd6, %rd7;
ld.global.u32 %r10, [%rd5+{read}];
st.global.u32 [%rd6], %r10;
ret;
"""


def test_an_access_of_one_of_two_objects_is_one_of_each() -> None:
    one = Launch((32, 1, 1), (1, 1, 1))
    assert verdict(CHOSEN.format(read=0), one).kind is FREE
    assert verdict(CHOSEN.format(read=4), one).kind is FREE
    same = CHOSEN.replace("%rd2, %rd1, %p4", "%rd1, %rd2, %p4").format(read=4)
    assert verdict(same, one).kind is RACE


SUSPECT = """
@%p1 bra DONE;
ld.global.u32 %r10, [%rd1];
ld.global.u32 %r11, [%rd2];
max.u32 %r11, %r11, 1;
shfl.sync.idx.b32 %r12, %r11, 0, 31, 1;
setp.ge.u32 %p4, %r10, %r12;
@%p4 bra DONE;
{update}
DONE:
ret;
"""


TWO_WAYS = f"""
{STORE}
{barrier("A")}
@%p2 bra FIRST;
ld.global.u32 %r10, [%rd1+8];
ret;
FIRST:
st.global.u32 [%rd1+8], %r1;
ret;
"""


def test_ctas_go_two_ways_where_threads_of_one_go_one_way() -> None:
    found = verdict(TWO_WAYS.replace("st.global.u32 [%rd1+8]", "@!%p1 st.global.u32 [%rd1+8]"))
    assert found.kind is RACE
    assert {each.first.text for each in found.conflicts} | {
        each.second.text for each in found.conflicts
    } >= {"ld.global.u32 %r10, [%rd1+8]"}


def test_a_launch_shows_the_race_of_a_condition_that_no_solver_decides() -> None:
    for update, kind in (
        ("st.global.u32 [%rd1], %r12;", VerdictKind.LAUNCH),
        ("red.global.max.u32 [%rd1+4], %r12;", FREE),
    ):
        file = read_ptx(f"{HEAD}{SUSPECT.format(update=update)}\n}}\n")
        found = judged(file, file.functions["k"], LAUNCH).verdict
        assert found.kind is kind
        assert ("--launch 'k<<<" in found.condition) == (kind is VerdictKind.LAUNCH)


def test_sums_of_digits_are_compared_as_if_all_were_tried() -> None:
    random = Random(7)
    answers = set[bool]()
    for _ in range(300):
        digits = [
            _Digit("", random.randint(1, 12), (), random.randint(1, 4))
            for _ in range(random.randint(1, 3))
        ]
        least = random.randint(-40, 20)
        most = least + random.randint(1, 12)
        ranges = [range(1 - (each.bound or 0), each.bound or 0) for each in digits]
        meets = any(
            any(numbers)
            and least < sum(n * d.times for n, d in zip(numbers, digits, strict=True)) < most
            for numbers in product(*ranges)
        )
        assert _are_one(digits, {}, least, most) is not meets
        answers.add(meets)
    assert answers == {True, False}


def test_a_part_that_is_shifted_out_and_back_is_a_product() -> None:
    table = ValueTable(100)
    e = Expressions(table)
    x = table.param("x", 64)
    up = e.apply("shl", (x, e.constant(32, 64)), 64)
    back = e.apply("ashr", (up, e.constant(30, 64)), 64)
    low = e.resized(e.resized(x, 32), 64, signed=True)
    assert back is e.apply("shl", (low, e.constant(2, 64)), 64)
