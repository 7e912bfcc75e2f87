"""Findings of verdicts: their causes, words and levels, and the halves of protocols."""

from dataclasses import replace

import pytest

from fencewright.checker.findings.finding import (
    DIVERGENT_BARRIER,
    Finding,
    Level,
    Rule,
    VerdictKind,
)
from fencewright.checker.verdicts.findings import findings_of, with_notes_apart
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import (
    NO_BARRIER,
    NOT_EVERY_ITERATION,
    Agent,
    Relation,
    Verdict,
)
from fencewright.checker.verdicts.order.claims import finding_of
from fencewright.checker.verdicts.order.lemmas import (
    Half,
    Lemma,
    Missing,
    Payload,
    Signal,
    counterexample,
    holds,
)
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.tools.reports.file_report import (
    FileReport,
    FunctionName,
    FunctionVerdict,
    verdict_counts,
)
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE

pytest.importorskip("z3")

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag)
{
    .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
    .shared .align 16 .b8 tile[4096]; .shared .align 16 .b8 other[4096];
    ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag];
"""
_OWN = """
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;
    mov.u32 %r5, other; add.u32 %r6, %r5, %r3;
"""
"""%r4, %r6: the thread's own words of two variables."""


def text_of(body: str) -> str:
    return f"{_HEAD}{body}\n    ret;\n}}\n"


def verdict_of(body: str) -> Verdict:
    file = read_ptx(text_of(body), "k.ptx")
    return judge(kernel_of(file, file.functions["k"]))


def found(body: str) -> list[Finding]:
    return [*findings_of(verdict_of(body))]


PHASES = f"""{_OWN}
    st.shared.u32 [%r4], %r1;
    st.shared.u32 [%r6], %r1;
    {{0}}
    ld.shared.u32 %r7, [%r4+128];
    ld.shared.u32 %r8, [%r6+128];
"""


def test_one_missing_barrier_is_one_finding():
    (finding,) = found(PHASES.format(""))
    assert (finding.rule, finding.level, finding.line) == (
        Rule.MISSING_BARRIER,
        Level.WARNING,
        16,
    )
    assert finding.about == (13, 14, 17)
    assert "reads the shared variable 'tile' where thread" in finding.message
    assert "writes it (line 13, as in --grid 2 --block 64): no barrier between" in finding.message
    assert finding.message.endswith(
        "write __syncthreads() between the two (1 more pair of lines like this)"
    )
    assert found(PHASES.format("bar.sync 0;")) == []


def test_two_missing_barriers_are_two_findings():
    second = "st.shared.u32 [%r6], %r1;\n    ld.shared.u32 %r8, [%r6+128];\n"
    first = "st.shared.u32 [%r4], %r1;\n    ld.shared.u32 %r7, [%r4+128];\n"
    assert [each.line for each in found(f"{_OWN}    {first}    {second}")] == [13, 15]


def test_lines_of_one_place_of_the_author_are_one_cause():
    verdict = verdict_of(PHASES.format(""))
    (finding,) = findings_of(verdict, lambda line: line >= 16)
    assert "more pair" not in finding.message


def test_a_race_is_an_error_once_it_is_replayed():
    verdict = verdict_of(PHASES.format(""))
    (finding,) = findings_of(verdict, is_replayed=lambda conflict: conflict.second.line == 17)
    assert (finding.level, finding.line) == (Level.ERROR, 17)


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (DIVERGENT_BARRIER, "let all threads of the block come to it"),
        (NOT_EVERY_ITERATION, "write __syncthreads() between the two"),
        (NO_BARRIER, "write __syncthreads() between the two"),
    ],
)
def test_a_race_that_an_execution_shows_has_the_remedy_of_its_reason(missing: str, remedy: str):
    verdict = verdict_of(PHASES.format(""))
    conflict = replace(verdict.conflicts[0], missing=missing)
    (finding,) = findings_of(replace(verdict, conflicts=(conflict,)))
    assert f": {missing}; {remedy}" in finding.message


def test_what_is_handed_over_to_other_blocks_takes_fences_and_barriers():
    conflict = verdict_of(PHASES.format("")).conflicts[0]
    handed = replace(
        conflict,
        missing=NOT_EVERY_ITERATION,
        relation=Relation.GRID,
        finding=Rule.UNORDERED_SIGNAL,
    )
    (finding,) = findings_of(Verdict(VerdictKind.RACE, conflicts=(handed,)))
    assert "__threadfence() before the signal and after it is seen" in finding.message
    assert finding.message.endswith(
        "with __syncthreads() between that and what other threads of a block do"
    )


def test_a_race_that_needs_a_launch_is_a_note():
    body = f"{_OWN} mov.u32 %r7, %ctaid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;\n"
    (finding,) = found(f"{body} st.global.u32 [%rd4], %r7;")
    assert finding.level is Level.NOTE
    assert "only with more than one block, as in --grid 2" in finding.message


def test_a_race_hides_no_barrier_that_usual_launches_need():
    """The mirrored tile of 256 threads has no race in blocks of 64, and the store has."""
    mirror = "sub.u32 %r5, 1020, %r3; add.u32 %r5, %r2, %r5; ld.shared.u32 %r7, [%r5];"
    tile = f"{_OWN} st.shared.u32 [%r4], %r1;\n{mirror}\n"
    both = found(f"{tile} st.global.u32 [%rd1], %r1;")
    assert [each.rule for each in both].count(Rule.MISSING_BARRIER) == len(both) == 2
    (barrier,) = (each for each in both if "'tile'" in each.message)
    assert (barrier.level, *found(tile)) == (Level.WARNING, barrier)
    assert "only with a launch such as --grid 2 --block 256" in barrier.message


def test_a_poll_by_plain_loads_is_the_cause_of_the_reads_after_it():
    poll = "L: ld.global.u32 %r9, [%rd2]; setp.eq.u32 %p2, %r9, 0; @%p2 bra L;"
    write = "st.global.u32 [%rd1], 1; st.release.gpu.global.u32 [%rd2], 1; bra.uni E;"
    by_block = "mov.u32 %r8, %ctaid.x; setp.ne.u32 %p1, %r8, 0; @%p1 bra L;"
    (finding,) = found(f"{by_block}\n{write}\n{poll}\nld.global.u32 %r10, [%rd1];\nE: ret;")
    assert (finding.rule, finding.line) == (Rule.SPIN, 11)


def test_the_line_that_sees_a_signal_is_named():
    poll = "L: ld.relaxed.gpu.global.u32 %r9, [%rd2]; setp.eq.u32 %p2, %r9, 0; @%p2 bra L;"
    write = "st.global.u32 [%rd1], 1; st.release.gpu.global.u32 [%rd2], 1; bra.uni E;"
    by_block = "mov.u32 %r8, %ctaid.x; setp.ne.u32 %p1, %r8, 0; @%p1 bra L;"
    body = f"{by_block}\n{write}\n{poll}\nld.global.u32 %r10, [%rd1];\nE: ret;"
    message = next(each.message for each in found(body) if each.rule is Rule.UNORDERED_WAIT)
    assert "nothing acquires after the signal is seen at line 11" in message


def test_a_place_that_all_threads_write_is_a_note_where_memory_decides_the_value():
    verdict = verdict_of(f"{_OWN} ld.global.u32 %r7, [%rd1]; st.shared.u32 [tile], %r7;")
    assert verdict.kind is VerdictKind.LAUNCH
    assert "values differ" in verdict.condition
    assert verdict_of(f"{_OWN} st.shared.u32 [tile], %r1;").kind is VerdictKind.RACE
    assert verdict_of(f"{_OWN} st.shared.u32 [tile], 7;").kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("value", "kind"),
    [("ld.global.u32 %r9, [%rd1];", VerdictKind.LAUNCH), ("", VerdictKind.RACE)],
    ids=["of memory", "of the thread"],
)
def test_races_that_are_notes_are_of_launches_in_which_values_differ(
    value: str, kind: VerdictKind
) -> None:
    body = f"""{_OWN}
    mov.u32 %r9, %r1; {value}
    and.b32 %r10, %r1, 1; setp.eq.u32 %p1, %r10, 0;
    @%p1 bra EVEN;
    st.shared.u32 [%r2], %r9; bra END;
EVEN: st.shared.u32 [%r2], %r9;
END:"""
    verdict, races = verdict_of(body), found(body)
    assert with_notes_apart(verdict, races).kind is kind


def test_a_cluster_of_single_threads_is_assumed_where_no_thread_is_asked_for():
    """Its barrier may be for other CTAs; one of the CTA is for other threads."""
    write = "ld.global.u32 %r7, [%rd1]; mov.u32 %r8, tile; st.shared.u32 [%r8], %clock;"
    meet = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
    assert "more than one thread" in verdict_of(write + meet).condition
    assert "more than one thread" not in verdict_of(write + "bar.sync 0;").condition


# The rule of a lemma that fails

_FLAG = Half(Signal(Ordering.RELEASE, Scope.AGENT))
_SEEN = Half(Signal(Ordering.ACQUIRE, Scope.AGENT))
_PHASE = Half(Signal(Ordering.RELEASE, Scope.CLUSTER, is_phase=True))
_WAITED = Half(Signal(Ordering.ACQUIRE, Scope.CLUSTER, is_phase=True))
_MET = Half(Signal(Ordering.RELEASE, Scope.CLUSTER, is_cluster=True))
_LEFT = Half(Signal(Ordering.ACQUIRE, Scope.CLUSTER, is_cluster=True))
_BARRIER = Half(Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_barrier=True))
_STORE, _LOAD, _COPY = Payload(True), Payload(False), Payload(False, Agent.GROUP)


def _but(half: Half, ordering: Ordering | None = None, scope: Scope | None = None) -> Half:
    signal = half.signal
    changed = replace(signal, ordering=ordering or signal.ordering, scope=scope or signal.scope)
    return replace(half, signal=changed)


@pytest.mark.parametrize(
    ("relation", "release", "acquire", "later", "missing", "rule"),
    [
        (Relation.GRID, _but(_FLAG, Ordering.RELAXED), _SEEN, _LOAD, Missing.RELEASE,
            Rule.UNORDERED_SIGNAL),
        (Relation.GRID, _FLAG, _but(_SEEN, Ordering.RELAXED), _LOAD, Missing.ACQUIRE,
            Rule.UNORDERED_WAIT),
        (Relation.GRID, _but(_FLAG, None, Scope.WORKGROUP), _SEEN, _LOAD, Missing.SIGNAL_SCOPE,
            Rule.UNORDERED_SIGNAL),
        (Relation.GRID, _FLAG, _but(_SEEN, None, Scope.WORKGROUP), _LOAD, Missing.WAIT_SCOPE,
            Rule.UNORDERED_WAIT),
        (Relation.CLUSTER, _but(_PHASE, Ordering.RELAXED), _WAITED, _LOAD, Missing.RELEASE,
            Rule.MBARRIER_SCOPE),
        (Relation.CLUSTER, _but(_PHASE, None, Scope.WORKGROUP), _WAITED, _LOAD,
            Missing.SIGNAL_SCOPE, Rule.MBARRIER_SCOPE),
        (Relation.CLUSTER, _but(_MET, Ordering.RELAXED), _LEFT, _LOAD, Missing.RELEASE,
            Rule.CLUSTER_BARRIER),
        (Relation.CTA, _BARRIER, _BARRIER, _COPY, Missing.PROXY, Rule.PROXY_FENCE),
    ],
)  # fmt: skip
def test_the_least_remedy_says_which_rule_it_is(
    relation: Relation, release: Half, acquire: Half, later: Payload, missing: Missing, rule: Rule
):
    lemma = Lemma(relation, _STORE, release, acquire, later)
    assert not holds(lemma)
    assert counterexample(lemma).missing is missing
    assert finding_of(lemma, missing) is rule


# Halves of protocols

POLL = "L: ld.{}.gpu.global.u32 %r9, [%rd2]; setp.eq.u32 %p2, %r9, 0; @%p2 bra L;\n"
READ = "    ld.global.u32 %r10, [%rd1];"
TOLD = """
mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;
L: bar.sync 0; @%p1 bra M;
ld.{}.gpu.global.u32 %r9, [%rd2]; st.shared.u32 [tile], %r9;
M: bar.sync 0; ld.shared.u32 %r8, [tile]; setp.eq.u32 %p2, %r8, 0; @%p2 bra L;
"""
"""Thread 0 polls, and tells all others by shared memory."""
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [other];"


def said(body: str) -> list[tuple[Rule, Level]]:
    return [(each.rule, each.level) for each in found(body)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("st.global.u32 [%rd1], 1; st.relaxed.gpu.global.u32 [%rd2], 1;",
            [(Rule.UNORDERED_SIGNAL, Level.WARNING)], id="signal"),
        pytest.param("st.global.u32 [%rd1], 1; st.release.gpu.global.u32 [%rd2], 1;", [],
            id="signal-releases"),
        pytest.param(
            "st.global.u32 [%rd1], 1; fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd2], 1;",
            [(Rule.UNORDERED_SIGNAL, Level.WARNING)], id="signal-narrow-fence"),
        pytest.param("st.global.u32 [%rd1], 1; st.relaxed.gpu.global.u32 [%rd2], 0;", [],
            id="flag-taken-back"),
        pytest.param(POLL.format("relaxed") + READ, [(Rule.UNORDERED_WAIT, Level.WARNING)],
            id="wait"),
        pytest.param(POLL.format("acquire") + READ, [], id="wait-acquires"),
        pytest.param(POLL.format("relaxed") + "fence.acq_rel.gpu;" + READ, [], id="wait-fence"),
        # As a barrier at the start, after which a kernel reads its own input.
        pytest.param("st.relaxed.gpu.global.u32 [%rd2+64], 1;\n" + POLL.format("relaxed") + READ,
            [(Rule.UNORDERED_WAIT, Level.NOTE)], id="wait-of-who-signals"),
        pytest.param(TOLD.format("relaxed") + READ, [(Rule.UNORDERED_WAIT, Level.WARNING)],
            id="told"),
        pytest.param(TOLD.format("acquire") + READ, [], id="told-acquires"),
        pytest.param(TOLD.format("relaxed") + READ + "add.u32 %r10, %r10, %r8;\n"
            "st.global.u32 [%rd1+64], %r10;", [], id="told-with-data"),
        # A copy reads by another proxy than that of the acquire.
        pytest.param(POLL.format("acquire") + COPY, [(Rule.PROXY_ACQUIRE, Level.WARNING)],
            id="copy"),
        pytest.param(POLL.format("acquire") + "fence.proxy.async.global;" + COPY, [],
            id="copy-fenced"),
        pytest.param(POLL.format("acquire") + "fence.proxy.async.shared::cta;" + COPY,
            [(Rule.PROXY_ACQUIRE, Level.WARNING)], id="copy-fence-of-other-memory"),
        pytest.param("fence.proxy.async.global;" + POLL.format("acquire") + COPY,
            [(Rule.PROXY_ACQUIRE, Level.WARNING)], id="copy-fenced-before"),
        pytest.param("st.relaxed.gpu.global.u32 [%rd2+64], 1;\n" + POLL.format("acquire") + COPY,
            [(Rule.PROXY_ACQUIRE, Level.WARNING)], id="copy-of-who-signals"),
        # The data are in the flag.
        pytest.param(POLL.format("relaxed") + READ + "add.u32 %r10, %r10, %r9;\n"
            "st.global.u32 [%rd1+64], %r10;", [], id="flag-with-data"),
        pytest.param(POLL.replace("ld.{}.gpu", "ld"), [(Rule.SPIN, Level.WARNING)],
            id="weak-poll"),
        # Who is met at the barrier may have written.
        pytest.param(POLL.replace("ld.{}.gpu", "bar.sync 0; ld"), [], id="loop-with-barrier"),
        pytest.param("mov.u32 %r8, 0;\nL: ld.global.u32 %r9, [%rd2]; add.u32 %r8, %r8, 1;\n"
            "setp.ne.u32 %p2, %r8, 64; @%p2 bra L;", [], id="loop-that-counts"),
    ],
)  # fmt: skip
def test_halves(body: str, expected: list[tuple[Rule, Level]]):
    assert said(body) == expected


def test_a_race_of_a_weak_poll_is_one_finding():
    (finding,) = found(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r1, 0;\n"
        "@%p1 bra W; st.global.u32 [%rd2], %r2; W:\n" + POLL.replace("ld.{}.gpu", "ld")
    )
    assert finding.rule is Rule.SPIN
    assert "where thread" in finding.message


def test_a_half_proves_nothing():
    assert verdict_of(POLL.replace("ld.{}.gpu", "ld")).kind is VerdictKind.NOT_JUDGED
    assert verdict_of(POLL.format("acquire") + READ).kind is VerdictKind.NOT_JUDGED


# Counts


def test_a_reason_of_no_line_is_said_once():
    why = "z3 is not installed, which decides most verdicts: pip install z3-solver"
    verdict = FunctionVerdict(VerdictKind.NOT_JUDGED, obstacle=why, obstacles=1)
    other = FunctionVerdict(VerdictKind.NOT_JUDGED, obstacle="a call", obstacle_line=3, obstacles=1)
    functions = tuple(
        FunctionName(n, True, verdict=v)
        for n, v in zip("kmn", (verdict, verdict, other), strict=True)
    )
    report = FileReport("k.ptx", "k.ptx", functions=functions)
    assert verdict_counts([report]).text() == f"0 proved, 0 with a race, 3 not judged ({why})"
    assert report.status(Level.ERROR) == HOLDS
    assert report.status(Level.ERROR, is_strict=True) == INCOMPLETE
    race = replace(
        report, functions=(FunctionName("k", True, verdict=FunctionVerdict(VerdictKind.RACE)),)
    )
    assert race.status(Level.ERROR) == HOLDS
    assert race.status(Level.ERROR, is_strict=True) == DOES_NOT_HOLD


def test_the_remedy_is_of_all_that_is_missing() -> None:
    body = """
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; or.b32 %r3, %r1, %r2;
    setp.ne.s32 %p1, %r3, 0; @%p1 bra OTHER;
    st.global.b32 [%rd1], 42; SIGNAL st.relaxed.gpu.global.b32 [%rd2], 1; ret;
OTHER:
    setp.ne.s32 %p2, %r2, 0; @%p2 bra END;
POLL:
    ld.relaxed.gpu.global.b32 %r4, [%rd2]; setp.eq.s32 %p3, %r4, 0; @%p3 bra POLL;
    ld.global.b32 %r5, [%rd1];
END:
"""
    (both,) = found(body.replace("SIGNAL", ""))
    assert Missing.BOTH in both.message
    assert "write __threadfence() before the signal and after it is seen, or let it" in both.message
    (wait,) = found(body.replace("SIGNAL", "fence.acq_rel.gpu;"))
    assert wait.message.endswith("write __threadfence() after the wait, or let it acquire")


_FAR = "add.u32 %r7, %r1, 97; and.b32 %r7, %r7, 255; shl.b32 %r7, %r7, 2; add.u32 %r7, %r2, %r7;"


@pytest.mark.parametrize(
    ("between", "level"),
    [("", Level.WARNING), ("bar.sync 0;", None), ("bar.warp.sync -1;", Level.WARNING)],
)
def test_a_tile_that_a_block_of_256_threads_races_for_is_a_warning(
    between: str, level: Level | None
) -> None:
    """Two warps are enough for it, and 64 threads are not its condition: no option is needed."""
    body = f"{_OWN}{_FAR} st.shared.u32 [%r4], %r1; {between} ld.shared.u32 %r8, [%r7];"
    assert [each.level for each in found(body)] == ([] if level is None else [level])


def test_a_sum_without_an_atomic_is_told_to_use_one() -> None:
    (finding,) = found(
        f"{_OWN} ld.shared.u32 %r8, [tile]; add.u32 %r8, %r8, %r1; st.shared.u32 [tile], %r8;"
    )
    assert "use an atomic" in finding.message


def test_blocks_that_a_kernel_does_not_tell_apart_are_two() -> None:
    body = """
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3;
    mov.u32 %r9, %cluster_ctarank; st.global.u32 [%rd4], %r9;
    """
    (finding,) = found(body)
    assert "thread 0 of block 1 writes" in finding.message
    assert "where thread 0 of block 0 writes it too" in finding.message
