"""What comes too early after an asynchronous operation of PTX: each row of completions, broken and right."""

import re
from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from test_ptx_findings import module_of, said
from test_ptx_reader import EXAMPLES, lowered

from fencewright.checker.findings.finding import Level, Rule, VerdictKind
from fencewright.checker.nvidia import waits
from fencewright.checker.nvidia.findings import find_problems
from fencewright.checker.nvidia.waits import WaitAnalysis
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import ROWS
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.ptx.completions import COMPLETIONS, MEETS, SIGNALS

pytest.importorskip("z3")

ERROR = [("async-unwaited", "error")]
WARNING = [("async-unwaited", "warning")]

COPY = "cp.async.cg.shared.global [sm], [d1], 16;\n"
GROUP = "cp.async.commit_group;\n"
READ = "bar.sync 0;\nld.shared.b32 r1, [sm];\n"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [d1], [sm], 64;\n"
STORED = "cp.async.bulk.commit_group;\n"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sm], [d1], 64, [bar];\n"
OTHER = LOAD.replace("[d1]", "[d2]")
FULL = "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [bar], 0;\n@!p1 bra W;\n"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {r1, r2}, {r3, r4}, d3, 1, 1, 1, 1;\n"
PRODUCT = f"wgmma.fence.sync.aligned;\n{MMA}wgmma.commit_group.sync.aligned;\n"
MULTIPLIED = "wgmma.wait_group.sync.aligned 0;\n"
TENSOR_LOAD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {r1, r2}, [r8];\n"
TENSOR_STORE = "tcgen05.st.sync.aligned.32x32b.x2.b32 [r8], {r1, r2};\n"
TENSOR_MMA = "tcgen05.mma.cta_group::1.kind::f16 [r8], d3, d4, r2, p1;\n"
LOADED, STORED_THERE = "tcgen05.wait::ld.sync.aligned;\n", "tcgen05.wait::st.sync.aligned;\n"
ARRIVE = "mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [bar];\n"
RELEASE = "st.release.gpu.global.b32 [d2], 1;\n"
FLAG = "st.relaxed.gpu.global.b32 [d2], 1;\n"
CHOICE = "ld.global.b32 r6, [d2];\nsetp.ne.s32 p2, r6, 0;\n"
"""A condition that memory decides."""
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 r8, 64;\n"


@pytest.mark.parametrize(
    ("bad", "good", "found"),
    [
        (COPY + GROUP + READ, COPY + GROUP + "cp.async.wait_group 0;\n" + READ, ERROR),
        (COPY + READ, COPY + "cp.async.wait_all;\n" + READ, ERROR),
        # What is in no group is not waited for.
        (COPY + "cp.async.wait_group 0;\n" + READ, COPY + "cp.async.wait_all;\n" + READ, ERROR),
        # A wait leaves the newest groups.
        (
            COPY + GROUP + "cp.async.wait_group 1;\n" + READ,
            COPY + GROUP + GROUP + "cp.async.wait_group 1;\n" + READ,
            ERROR,
        ),
        (STORE + STORED + "st.shared.b32 [sm], r1;\n",
            STORE + STORED + "cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n"
            "st.shared.b32 [sm], r1;\n", ERROR),
        (STORE + STORED + OTHER + FULL,
            STORE + STORED + "cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n" + OTHER + FULL,
            ERROR),
        (LOAD + READ + FULL, LOAD + FULL + READ, ERROR),
        (PRODUCT + "mov.b32 r5, r1;\nadd.s32 r6, r5, 1;\n" + MULTIPLIED,
            PRODUCT + "mov.b32 r5, r1;\n" + MULTIPLIED + "add.s32 r6, r5, 1;\n", ERROR),
        # The first matrix is read until then.
        (PRODUCT + "mov.u32 r3, 0;\n" + MULTIPLIED, PRODUCT + MULTIPLIED + "mov.u32 r3, 0;\n", ERROR),
        (TENSOR_LOAD + ARRIVE, TENSOR_LOAD + LOADED + ARRIVE, WARNING),
        (TENSOR_LOAD + TENSOR_STORE + STORED_THERE, TENSOR_LOAD + LOADED + TENSOR_STORE, ERROR),
        (TENSOR_LOAD + "bar.sync 0;\n" + LOADED + FREE, TENSOR_LOAD + LOADED + "bar.sync 0;\n" + FREE,
            WARNING),
        (TENSOR_STORE + ARRIVE, TENSOR_STORE + STORED_THERE + ARRIVE, WARNING),
        (TENSOR_MMA + TENSOR_LOAD + LOADED, TENSOR_MMA + FULL + TENSOR_LOAD + LOADED, ERROR),
        # Sources are free long before others can read what is stored.
        (STORE + STORED + "cp.async.bulk.wait_group.read 0;\n" + RELEASE,
            STORE + STORED + "cp.async.bulk.wait_group 0;\n" + RELEASE, WARNING),
        (STORE + STORED + "fence.acq_rel.gpu;\n" + FLAG, STORE + STORED + "fence.acq_rel.cta;\n" + FLAG,
            WARNING),
    ],
)  # fmt: skip
def test_each_wait(bad: str, good: str, found: list[tuple[str, str]]) -> None:
    assert said(bad) == found
    assert [each for each in said(good) if each in (*ERROR, *WARNING)] == []


@pytest.mark.parametrize(
    "body",
    [
        # A register dependency on tcgen05.ld is order enough.
        TENSOR_LOAD + "add.s32 r3, r1, r2;\n" + LOADED,
        # Two products add up in the same registers.
        PRODUCT + MMA + "wgmma.commit_group.sync.aligned;\n" + MULTIPLIED,
        # Other bytes.
        COPY + GROUP + "ld.shared.b32 r1, [sm+64];\ncp.async.wait_all;\n",
        # A call may wait.
        COPY + GROUP + "call helper, ();\n" + READ,
        # The copy in flight is that of another buffer: the address was computed anew.
        "L: cp.async.wait_group 1;\nadd.s32 r2, r3, r4;\nld.shared.b32 r1, [r2];\n"
        "cp.async.cg.shared.global [r2], [d1], 16;\n" + GROUP + "@p2 bra L;\ncp.async.wait_all;\n",
    ],
)
def test_what_is_right(body: str) -> None:
    assert [each for each in said(body) if each[1] != "note"] == []


ROTATION = (
    "mov.u32 r3, 0;\nmov.u32 r12, sm;\nld.param.u64 d3, [b];\ncvt.u32.u64 r13, d3;\nL: {wait}bar.sync 0;\n"
    "and.b32 r4, r3, 1;\nshl.b32 r4, r4, 4;\nadd.s32 r2, r12, r4;\nld.shared.b32 r5, [r2];\nadd.s32 r3, r3, 1;\n"
    "and.b32 r4, r3, 1;\nshl.b32 r4, r4, 4;\nadd.s32 r10, r12, r4;\n@p0 cp.async.cg.shared.global [r10], [d1], 16;\n"
    + GROUP
    + "setp.lt.u32 p2, r3, r13;\n@p2 bra L;\ncp.async.wait_all;\n"
)


def test_a_loop_of_copies_without_a_wait() -> None:
    assert said(ROTATION.format(wait="cp.async.wait_group 0;\n")) == []
    assert {*said(ROTATION.format(wait=""))} == {*ERROR}
    assert said(ROTATION.format(wait="cp.async.wait_group 1;\n")) == ERROR
    # As cuda::pipeline does, where its counters say that no stage is pending.
    some = "@p3 bra PAST;\ncp.async.wait_group 0;\nPAST:\n"
    assert said(ROTATION.format(wait=some)) == []


def test_a_wait_on_one_path_is_not_enough() -> None:
    body = COPY + GROUP + "@p2 bra E;\ncp.async.wait_all;\nE: "
    assert said(CHOICE + body + READ) == ERROR
    # A register of which nothing is known may say that no copy is pending.
    assert said(body + READ) == []


def test_a_wait_at_another_mbarrier_does_not_count() -> None:
    other = ".shared .align 8 .b64 other;\n" + LOAD + FULL.replace("[bar]", "[other]")
    assert said(other + READ) == ERROR


def test_nobody_waits_at_the_mbarrier_of_a_copy() -> None:
    """The wait of another thread may be for the copy, where it is not known who arrives."""
    waited = FULL.replace("[bar]", "[other]")
    roles = f".shared .align 8 .b64 other;\n@!p0 bra R;\n{LOAD}{{}}bra E;\nR:\n{waited}{{}}ld.shared.b32 r1, [sm];\nE:\n"
    arrive = "mbarrier.arrive.release.cta.shared::cta.b64 _, [other];\n"
    assert said(roles.format(arrive, "")) == WARNING
    assert said(roles.format("", "")) == []
    # The thread that arrives has waited for the copy.
    relayed = said(roles.format(FULL.replace("W", "V") + arrive, ""))
    assert Rule.ASYNC_UNWAITED not in {rule for rule, _ in relayed}


def test_the_issuer_of_a_copy_learns_at_a_barrier_that_another_thread_has_waited() -> None:
    roles = f"@!p0 bra R;\n{LOAD}bra E;\nR:\n{{}}E:\nbar.sync 0;\nld.shared.b32 r1, [sm];\n"
    assert Rule.ASYNC_UNWAITED not in {rule for rule, _ in said(roles.format(FULL))}
    assert said(roles.format("")) == ERROR


def test_a_slot_is_filled_again_after_a_wait_at_the_mbarrier_that_says_it_is_free() -> None:
    empty = ".shared .align 8 .b64 other;\n{0}L: setp.eq.s32 p2, r1, r2;\nadd.s32 r1, r1, 1;\n{1}@p2 bra E;\n{2}bra N;\nE: {3}N: @p3 bra L;\n"
    free = FULL.replace("[bar]", "[other]")
    assert said(empty.format("", free, LOAD, OTHER)) == []
    assert {*said(empty.format(free, "", LOAD, OTHER))} == {*ERROR}


_WAIT = re.compile(
    r"^.*\b(?:wgmma\.wait_group|cp\.async\.(?:bulk\.)?wait_\w+|tcgen05\.wait::)\S* ?\d*;\n", re.M
)
_NOT_MISSED = {
    # The value alone is waited for, which its register does, too.
    ("tcgen05_to_core", "tcgen05.wait::ld"),
}


def _early(text: str) -> list[str]:
    module = read_ptx(text, "k.ptx")
    return [
        each.message
        for function in module.functions.values()
        for each in find_problems(module, function)
        if each.rule is Rule.ASYNC_UNWAITED and each.level is not Level.NOTE
    ]


def test_waits_of_our_own_patterns_are_missed() -> None:
    noticed: set[tuple[str, str]] = set()
    missed: set[tuple[str, str]] = set()
    for example in (path.stem for path in EXAMPLES):
        text = lowered(example)
        assert _early(text) == []
        for found in _WAIT.finditer(text):
            less = text[: found.start()] + text[found.end() :]
            name = re.split(r"[ ;]|\.(?:sync|read)", found[0].strip())[0]
            (noticed if _early(less) else missed).add((example, name))
    assert missed == _NOT_MISSED
    assert len(noticed) > len(missed)


def test_rows_are_of_operations_that_there_are() -> None:
    known = {each.name for each in ROWS}
    for each in COMPLETIONS:
        named = each.operations | each.waits | each.all_waits | each.conflicts
        assert named | {each.commit or "ld"} <= known
    assert known >= SIGNALS | MEETS


def test_without_a_row_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = read_ptx(lowered("core_to_tma_store"), "k.ptx")
    (function,) = module.functions.values()
    assert WaitAnalysis(Places(module, function)).operations
    monkeypatch.setattr("fencewright.checker.nvidia.waits._ROWS", {})
    assert not WaitAnalysis(Places(module, function)).operations


INIT = "@p0 bra E;\nmbarrier.init.shared::cta.b64 [bar], 1;\nE: "
TRY = "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [bar], 0;\nselp.b32 r9, 1, 0, p1;\n"
FENCED = INIT.replace("E: ", "fence.mbarrier_init.release.cluster;\nE: ")
RELAXED = "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n"
REMOTE = (
    "mov.u32 r1, bar;\nmapa.shared::cluster.u32 r2, r1, 1;\n"
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r2];\n"
    + RELAXED.replace(".relaxed", "")
)


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (INIT + TRY, INIT + "bar.sync 0;\n" + TRY),
        (INIT + "bar.arrive 1, 64;\n" + TRY, FENCED + RELAXED + TRY),
        ("@p0 mbarrier.init.shared::cta.b64 [bar], 1;\n" + TRY,
            "@p0 mbarrier.init.shared::cta.b64 [bar], 1;\n@p0 " + TRY),
        (INIT + RELAXED + REMOTE, FENCED + RELAXED + REMOTE),
        (INIT + RELAXED + REMOTE, INIT + RELAXED.replace(".relaxed", "") + REMOTE),
        (INIT + RELAXED + REMOTE, INIT + "fence.acq_rel.cluster;\n" + RELAXED + REMOTE),
    ],
)  # fmt: skip
def test_initialisations(bad: str, good: str) -> None:
    assert said(bad) == [("mbarrier-init", "error")]
    assert said(good) == []


REPLACE = "tensormap.replace.tile.global_address.global.b1024.b64 [d1], d2;\n"
BY_MAP = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [sm], [d1, {r1}], [bar];\n"
RELEASE_MAP = "fence.proxy.tensormap::generic.release.gpu;\n"
ACQUIRE_MAP = "fence.proxy.tensormap::generic.acquire.gpu [d1], 128;\n"
POLL = "L: ld.{}.gpu.global.b32 r1, [d2];\nsetp.eq.s32 p2, r1, 0;\n@p2 bra L;\n"
READ_ONLY = "ld.global.nc.b32 r2, [d1];\n"


@pytest.mark.parametrize(
    ("bad", "good", "found"),
    [
        (REPLACE + BY_MAP, REPLACE + RELEASE_MAP + ACQUIRE_MAP + BY_MAP, ("tensormap-fence", "warning")),
        # Another map's fence.
        (REPLACE + ACQUIRE_MAP.replace("d1", "d2") + BY_MAP, BY_MAP + FULL + REPLACE, ("tensormap-fence", "warning")),
        (POLL.format("acquire") + READ_ONLY, READ_ONLY + POLL.format("acquire"), ("read-only", "warning")),
        (POLL.format("relaxed") + "fence.acq_rel.gpu;\n" + READ_ONLY, POLL.format("relaxed") + READ_ONLY,
            ("read-only", "warning")),
        ("st.global.b32 [d1], r1;\n" + READ_ONLY, "st.global.b32 [d1+4], r1;\n" + READ_ONLY, ("read-only", "error")),
        # What the next turn of a loop reads may be read-only.
        (POLL.format("acquire") + READ_ONLY, "M: " + READ_ONLY + POLL.format("acquire") + "@p3 bra M;\n",
            ("read-only", "warning")),
    ],
)  # fmt: skip
def test_what_is_read_past_a_change(bad: str, good: str, found: tuple[str, str]) -> None:
    alone = "@!p0 bra E;\n{}E:\n"
    assert [each for each in said(alone.format(bad)) if each[1] != "note"] == [found]
    assert [each for each in said(alone.format(good)) if each[0] == found[0]] == []


SIZES = "ld.global.b32 r2, [d1];\n"
GRID = "griddepcontrol.wait;\n"


def test_reads_before_the_grid_has_waited() -> None:
    """As where some warps wait and others, which read the same, do not."""
    roles = "@p2 bra C;\n" + GRID + SIZES + "bra E;\nC: {}" + SIZES + "E:\n"
    assert said(roles.format("")) == [("grid-dependency", "warning")]
    assert said(roles.format(GRID)) == []
    weights = "ld.global.b32 r3, [d2];\n" + GRID + SIZES
    assert said(weights) == [("grid-dependency", "note")]
    assert said(SIZES + "griddepcontrol.launch_dependents;\n") == []


def _skipping(predicate: str, label: str, text: str, join: str = "") -> str:
    return f"@{predicate} bra {label};\n{text}{label}:\n{join}"


NOT_FIRST = "ld.global.b32 r6, [d2];\nsetp.ne.s32 p1, r6, 0;\n"


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ("", []),
        # The same condition, computed again: of one register, by whichever comparison.
        ("setp.ne.s32 p2, r6, 0;\n", []),
        ("setp.gt.u32 p2, r6, 0;\n", []),
        ("setp.gt.s32 p2, r6, 0;\n", []),
        ("setp.eq.s32 p3, r6, 0;\nnot.pred p2, p3;\n", []),
        # Another one, or one of a register that has changed since.
        ("setp.ne.s32 p2, r6, 1;\n", ERROR),
        ("setp.lt.s32 p2, r6, 1;\n", ERROR),
        ("ld.global.b32 r5, [d2+4];\nsetp.ne.s32 p2, r5, 0;\n", ERROR),
        ("add.s32 r6, r6, 1;\nsetp.ne.s32 p2, r6, 0;\n", ERROR),
    ],
)
def test_a_copy_and_its_wait_under_one_condition(second: str, found: list[tuple[str, str]]) -> None:
    copy = NOT_FIRST + _skipping("p1", "L1", COPY)
    again = "p2" if second else "p1"
    wait = second + _skipping(again, "L2", "cp.async.wait_all;\n")
    assert [each for each in said(copy + wait + READ) if each[1] != "note"] == found


def test_a_comparison_that_is_older_than_its_register() -> None:
    """A predicate says nothing of what its operand has become since."""
    stale = "ld.global.b32 r6, [d2];\nsetp.ne.s32 p2, r6, 0;\nadd.s32 r6, r6, 1;\n"
    copy = "setp.ne.s32 p1, r6, 0;\n" + _skipping("p1", "L1", COPY)
    wait = _skipping("p2", "L2", "cp.async.wait_all;\n")
    assert said(stale + copy + wait + READ) == ERROR


def test_a_copy_of_the_turn_before_is_not_taken_back_by_the_condition_of_this_one() -> None:
    turn = "setp.ne.s32 p1, r6, 0;\n" + _skipping("p1", "L1", COPY + GROUP) + READ
    found = said(f"LOOP:\nadd.s32 r6, r6, 1;\n{turn}setp.lt.s32 p2, r6, r5;\n@p2 bra LOOP;\n")
    assert {*found} == {*ERROR}


COPIES = (
    COPY + GROUP + COPY.replace("[sm]", "[sm+16]") + GROUP + COPY.replace("[sm]", "[sm+32]") + GROUP
)
TABLE = "T: .branchtargets W0, W1, W2;\nbrx.idx r6, T;\n"
CHAIN = "setp.eq.s32 p1, r6, 0;\n@p1 bra W0;\nsetp.eq.s32 p2, r6, 1;\n@p2 bra W1;\n"


def _switch(choose: str, first: int) -> str:
    waits = (f"W{n}:\ncp.async.wait_group {first + n};\nbra D;\n" for n in (2, 1, 0))
    return f"{COPIES}{choose}{''.join(waits)}D:\n"


@pytest.mark.parametrize("choose", [TABLE, CHAIN])
def test_a_switch_by_a_register_that_nobody_knows_may_choose_the_right_wait(choose: str) -> None:
    assert [each for each in said(_switch(choose, 0) + READ) if each[1] != "note"] == []
    # Where more groups may be left on a way than were issued after it, the count is chosen by them.
    newest = said(_switch(choose, 0) + READ.replace("[sm]", "[sm+32]"))
    assert [each for each in newest if each[1] != "note"] == []
    # None of them waits for the newest.
    none = said(_switch(choose, 1) + READ.replace("[sm]", "[sm+32]"))
    assert [each for each in none if each[1] != "note"] == ERROR


def test_two_waits_are_no_switch() -> None:
    waits = "cp.async.wait_group 1;\nbra D;\nW0:\ncp.async.wait_group 0;\nD:\n"
    body = CHOICE + COPY + GROUP + "setp.eq.s32 p1, r6, 0;\n@p1 bra W0;\n" + waits + READ
    assert said(body) == ERROR


_CONDITIONS = ("setp.eq.s32 p1, r1, 0;\n", "setp.eq.s32 p2, r2, 0;\n")
_STEPS = ("copy 0", "copy 1", "commit", "commit", "wait 0", "wait 1", "all", "read 0", "read 1")
_WRITTEN = {
    "copy": "cp.async.cg.shared.global [sm+{}], [d1], 16;\n",
    "commit": GROUP,
    "wait": "cp.async.wait_group {};\n",
    "all": "cp.async.wait_all;\n",
    "read": "ld.shared.b32 r5, [sm+{}];\n",
}
Program = list[tuple[str, int]]
"""Steps, each with the condition that it is under: 0 for none, 1 or 2, negative where it is false."""


def _body(program: Program) -> str:
    """The program in a loop of one round or of ``r3``, each step under its condition by a branch."""
    text = ""
    for number, (step, condition) in enumerate(program):
        word, _, operand = step.partition(" ")
        scale = 1 if word == "wait" else 16
        own = _WRITTEN[word].format(int(operand or 0) * scale)
        guard = f"@{'!' if condition > 0 else ''}p{abs(condition)} bra S{number};\n"
        text += f"{guard}{own}S{number}:\n" if condition else own
    return text


def _overtakes(program: Program, rounds: int, holds: Sequence[bool]) -> bool:
    """True where a copy in flight meets a read, or another copy, of its place."""
    groups: list[list[str]] = []
    pending: list[str] = []
    for step, condition in program * rounds:
        if condition and holds[abs(condition) - 1] is not (condition > 0):
            continue
        word, _, operand = step.partition(" ")
        if word in ("copy", "read") and any(operand in group for group in (*groups, pending)):
            return True
        if word == "copy":
            pending.append(operand)
        elif word == "commit":
            groups, pending = [*groups, pending], []
        elif word == "wait":
            groups = groups[len(groups) - int(operand) :] if int(operand) else []
        elif word == "all":
            groups, pending = [], []
    return False


def _judged(program: Program, rounds: int) -> VerdictKind:
    given = "ld.param.u32 r1, [a];\nld.param.u32 r2, [a+4];\n" + "".join(_CONDITIONS)
    loop = f"mov.u32 r3, 0;\nL:\n{_body(program)}add.u32 r3, r3, 1;\nsetp.lt.u32 p3, r3, {rounds};\n@p3 bra L;\n"
    file = read_ptx(module_of(given + loop), "k.ptx")
    return judge(kernel_of(file, file.functions["k"]), Launch((1, 1, 1), (1, 1, 1))).kind


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_copies_are_judged_as_every_path_of_one_thread_has_them(seed: int, rounds: int) -> None:
    """The walk of a copy past waits under conditions, against all values of the conditions."""
    draw = Random(seed)
    program = [(draw.choice(_STEPS), draw.choice((0, 0, 0, 1, -1, 2, -2))) for _ in range(9)]
    paths = product((False, True), repeat=2)
    races = any(_overtakes(program, rounds, holds) for holds in paths)
    found = _judged(program, rounds)
    is_race = found in (VerdictKind.RACE, VerdictKind.LAUNCH)
    assert found is VerdictKind.NOT_JUDGED or is_race is races
    assert found is not VerdictKind.NOT_JUDGED or not races


def test_a_walk_that_ends_too_early_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    program = [("copy 0", 0), ("commit", 0), ("wait 1", 0), ("read 0", 0)]
    assert _judged(program, 1) is VerdictKind.RACE

    def ends(*_: object) -> bool:
        return True

    monkeypatch.setattr("fencewright.checker.verdicts.intervals._completes", ends)
    assert _judged(program, 1) is VerdictKind.RACE_FREE


def test_operations_in_flight_are_put_in_order_where_one_is_used_too_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unordered(flight: object) -> object:
        raise AssertionError(flight)

    monkeypatch.setattr(waits, "_first", unordered)
    module = read_ptx(module_of(PRODUCT * 2 + "add.s32 r6, r7, 1;\n" * 3 + MULTIPLIED))
    (function,) = module.functions.values()
    assert not [*WaitAnalysis(Places(module, function)).missing()]
    early = read_ptx(module_of(PRODUCT + "add.s32 r6, r1, 1;\n" + MULTIPLIED))
    (function,) = early.functions.values()
    with pytest.raises(AssertionError):
        next(WaitAnalysis(Places(early, function)).missing())
