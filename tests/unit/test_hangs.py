"""Hangs by the axioms: stagnant graphs with fair memory, against intended verdicts and interleavings."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from campaigns import Share, draws
from hang_cases import (
    BARRIER,
    GAVE_UP,
    GPU,
    MANY,
    PTX_CASES,
    SOURCE_CASES,
    Code,
    EarlyLeavers,
    PtxCase,
    Seen,
    SourceCase,
    barrier_program,
    barrier_source_program,
    mbarrier_program,
    orders_all_it_meets,
    ptx_of,
    seen_by_turns,
    store,
    strong_ptx_program,
    strong_source_program,
    until,
    with_copies_apart,
)

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison, LitmusError, parse_condition
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.liveness import Stagnation
from fencewright.simulator.core.partial_runs import PartialRunner
from fencewright.simulator.core.program import (
    Label,
    LitmusTest,
    Location,
    Move,
    Placement,
    Thread,
)
from fencewright.simulator.core.progress import Ending, Progress
from fencewright.simulator.core.sequential import Interleaved, Interleavings
from fencewright.simulator.gpu.kernels import prepare
from fencewright.simulator.litmus_run import PtxTest, SourceTest, progress, run
from fencewright.simulator.ptx import barrier_matching as meetings
from fencewright.simulator.ptx import events
from fencewright.simulator.ptx import hangs as ptx
from fencewright.simulator.ptx.barrier_matching import Counts
from fencewright.simulator.ptx.events import interleaved as ptx_interleaved
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, parse_litmus, read_litmus
from fencewright.simulator.ptx.graphs import PtxConstruction, PtxGraphs
from fencewright.simulator.ptx.instructions import Atom, CompareBranch, PtxProgram, mbarrier_of
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.paths import Update
from fencewright.simulator.ptx.saturation import Part
from fencewright.simulator.source import graphs
from fencewright.simulator.source import hangs as source
from fencewright.simulator.source.events import Barrier, ScopedProgram, Skeleton
from fencewright.simulator.source.events import interleaved as source_interleaved
from fencewright.tools.fence_sim import ConditionVerdict, judge
from fencewright.tools.inputs.litmus.writer import condition_text

MOST = 400_000
"""Steps, or states, that no test here needs."""


def decided(found: Stagnation) -> bool:
    """Whether there is a hang, which must be known."""
    assert found.hang is not None or not found.why, found.why
    return found.hang is not None


def hangs(case: PtxCase, version: Version = Version.V7_5) -> bool:
    program = parse_litmus(case.text, case.name).program
    return decided(ptx.stagnation(program, PtxModel(version), 2, WorkBudget(MOST)))


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("case", PTX_CASES, ids=lambda case: case.name)
def test_ptx(case: PtxCase, version: Version) -> None:
    assert hangs(case, version) is case.hangs


@pytest.mark.parametrize("case", [*SOURCE_CASES, *MANY], ids=lambda case: case.name)
def test_the_language(case: SourceCase) -> None:
    assert decided(source.stagnation(case.program, 2, WorkBudget(MOST))) is case.hangs


@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
def test_locks_and_barriers_of_many_in_ptx(case: SourceCase) -> None:
    found = ptx.stagnation(ptx_of(case.program), PtxModel(), 2, WorkBudget(MOST))
    assert decided(found) is case.hangs


# Programs whose accesses are strong end, or hang, as fair interleavings do


@dataclass(frozen=True)
class Endings:
    """What executions a program has: by turns the ``least``, by axioms, and by turns the ``most``.

    The last two differ where a thread ends without coming to a barrier that others wait at.
    """

    least: Seen
    by_axioms: Progress
    most: Callable[[], Seen]

    @property
    def are_said(self) -> bool:
        """Whether the axioms say no less and no more than the turns do, or that it is not decided."""
        said = self.by_axioms
        ends = said.ending in (Ending.ALWAYS, Ending.MAY_HANG)
        if said.ending is Ending.MAY_HANG and said.why:
            ends = self.least.ends
        found = Seen(said.hangs_at_all, ends)
        return found == self.least or (self.least <= found and found <= self.most())


def ptx_endings(program: PtxProgram) -> Endings:
    """By turns copies may come late. Of relaxed arrivals turns do not say the most."""
    threads = ptx_interleaved(with_copies_apart(program), str)
    assert threads is not None
    test = PtxTest(PtxLitmusTest(program, TRUE), PtxModel())
    return endings_of(threads, test, orders_all_it_meets(program))


def source_endings(program: ScopedProgram) -> Endings:
    return endings_of(source_interleaved(program), SourceTest(LitmusTest(program, TRUE)))


def endings_of(
    threads: Interleaved, test: PtxTest | SourceTest, turns_say_most: bool = True
) -> Endings:
    own = len(test.test.program.threads)

    def most() -> Seen:
        if not turns_say_most:
            return Seen(True, True)
        return seen_by_turns(EarlyLeavers(threads), own, MOST)

    least = seen_by_turns(Interleavings(threads), own, MOST)
    return Endings(least, progress(test, run(test)), most)


TRUE = parse_condition("forall (true)")

ENDINGS: dict[str, tuple[Callable[[int], Endings], Sequence[int], Sequence[int]]] = {
    "ptx": (lambda seed: ptx_endings(strong_ptx_program(seed)), range(120), ()),
    "language": (lambda seed: source_endings(strong_source_program(seed)), range(120), ()),
    "language-barriers": (
        lambda seed: source_endings(barrier_source_program(seed)), range(150), (),
    ),
    "mbarriers": (lambda seed: ptx_endings(mbarrier_program(seed)), range(70), (442, 10657)),
    "barriers": (lambda seed: ptx_endings(barrier_program(seed)), range(200), (11318,)),
}  # fmt: skip
"""The endings of random programs of a kind, their seeds, and the seeds for every time."""


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("share", draws(4))
def test_programs_end_as_interleavings_do(kind: str, share: Share) -> None:
    endings, seeds, always = ENDINGS[kind]
    found: set[Seen] = set()
    for seed in (*share.of(seeds), *(always if share.number == 0 else ())):
        each = endings(seed)
        assert each.are_said, (seed, each)
        found.add(each.least)
    assert {Seen(False, True), Seen(True, False)} <= found


def are_said(kind: str, seed: int) -> bool:
    endings, *_ = ENDINGS[kind]
    return endings(seed).are_said


def test_the_end_of_a_thread_orders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has done may come later than what others do after a barrier that it does not come to."""
    assert are_said("mbarriers", 10657)
    monkeypatch.setattr(EarlyLeavers, "awaited", Interleavings.awaited)
    assert not are_said("mbarriers", 10657)


IN_VAIN = (
    ("bar.cta.sync 1; bar.cta.sync 2", "bar.cta.sync 2; bar.cta.sync 1"),
    ("bar.cta.sync 0", "barrier.cluster.arrive; barrier.cluster.wait"),
    ("bar.cta.sync 0; st.relaxed.gpu x, 1", "L:; ld.relaxed.gpu r0, x; beq r0, 0, L"),
    (
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait; st.relaxed.gpu x, 1",
        "L:; ld.relaxed.gpu r0, x; beq r0, 0, L; barrier.cluster.arrive.relaxed",
    ),
    ("bar.cta.sync 0; mbarrier.arrive b", "mbarrier.try_wait.parity b, 0"),
)
"""Threads each of which goes on only after what the other does once it has gone on."""


@pytest.mark.parametrize("threads", IN_VAIN)
def test_nobody_passes_a_barrier_by_what_comes_after_it(
    threads: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = PtxTest(clustered("in-vain", threads), PtxModel())
    assert progress(test, run(test)).ending is Ending.NEVER

    def nothing_held_up(events: Sequence[object], *_: object) -> list[int]:
        return [0] * len(events)

    monkeypatch.setattr(events, "waits_hold_up", nothing_held_up)
    assert run(test).ends_at_all


def clustered(name: str, threads: tuple[str, ...]) -> PtxLitmusTest:
    """Threads of one CTA of a cluster, with an mbarrier."""
    case = PtxCase(name, threads, hangs=True, together=True)
    text = case.text.replace("x=0;", "x=0; b = mbarrier(1);")
    return parse_litmus(text.replace(",gpu", ",cluster 0,gpu"), "t.litmus")


@pytest.mark.parametrize(
    "codes", [(BARRIER, (Barrier(GPU),)), ((*BARRIER, *store("f")), until("f"))]
)
def test_nobody_passes_a_barrier_of_the_language_by_what_comes_after_it(
    codes: tuple[Code, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = SourceCase("in-vain", codes, hangs=True, together=True)
    test = SourceTest(LitmusTest(case.program, TRUE))
    assert progress(test, run(test)).ending is Ending.NEVER
    nothing_held_up = property(lambda skeleton: [0] * len(skeleton.events))
    monkeypatch.setattr(Skeleton, "held_up", nothing_held_up)
    assert run(test).ends_at_all


def waits_in_outcomes(program: PtxProgram) -> bool:
    """Whether a thread is left waiting in an outcome, so that it does not set its last register."""
    threads = (
        Thread(each.placement, (*each.instructions, Move("last", 1))) for each in program.threads
    )
    found = outcomes(replace(program, threads=tuple(threads)), bound=2)
    assert found.complete
    return any(None in state for state in found.states)


def test_who_waits_for_ever_is_missed_at_barriers() -> None:
    """The outcomes in which somebody waits are those of the programs that hang."""
    compared: set[bool] = set()
    for seed in range(150):
        program = barrier_program(seed)
        code = [each for thread in program.threads for each in thread.instructions]
        if any(map(mbarrier_of, code)) and not any(isinstance(each, Label) for each in code):
            hangs_at_all = decided(ptx.stagnation(program, PtxModel(), 2, WorkBudget(MOST)))
            assert waits_in_outcomes(program) is hangs_at_all, seed
            compared.add(hangs_at_all)
    assert compared == {True, False}


MISSED = (
    ("mbarrier.try_wait.parity b, 0; bar.cta.sync 0", "bar.cta.sync 0"),
    ("mbarrier.try_wait.parity b, 0", "bar.cta.sync 0"),
    ("mbarrier.try_wait.parity b, 0", "barrier.cluster.arrive; barrier.cluster.wait"),
    ("L:; ld.relaxed.gpu r0, x; beq r0, 0, L", "bar.cta.sync 0; st.relaxed.gpu x, 1"),
)


@pytest.mark.parametrize("threads", MISSED)
def test_nobody_passes_a_barrier_without_those_who_wait(
    threads: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = clustered("missed", threads).program
    found = ptx.stagnation(program, PtxModel(), 2)
    assert found.hang is not None
    assert [each.thread for each in found.hang.threads] == [0, 1]

    def nobody(*_: object) -> set[int]:
        return set()

    monkeypatch.setattr(meetings, "_without", nobody)
    unseen = ptx.stagnation(program, PtxModel(), 2)
    assert unseen.hang is None or len(unseen.hang.threads) == 1


@pytest.mark.parametrize(("rule", "seed"), [("arrivals", 19), ("dropped", 219), ("bytes", 70)])
def test_each_count_of_an_mbarrier_decides_hangs(
    rule: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the axioms differ from the turns, which count by themselves."""
    program = mbarrier_program(seed)
    assert ptx_endings(program).are_said
    after = Counts.after

    def without(self: Counts, update: Update) -> Counts | None:
        return after(self, replace(update, **{rule: 0}))

    monkeypatch.setattr(Counts, "after", without)
    assert not ptx_endings(program).are_said


def test_a_look_that_is_repeated_finds_what_all_others_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PtxGraphs, "last_rounds", nothing_repeated)
    assert not all(ptx_endings(mbarrier_program(seed)).are_said for seed in range(100))


def nothing_repeated(*_: object) -> tuple[int, ...]:
    return ()


MBARRIER_CASES = {
    "parity": ("mbarrier(1)", ("mbarrier.arrive b", "mbarrier.try_wait.parity b, 0"), False),
    "the-other-parity": (
        "mbarrier(1)",
        ("mbarrier.arrive b; mbarrier.arrive b", "mbarrier.try_wait.parity b, 0"),
        True,
    ),
    "one-arrival-missing": (
        "mbarrier(3)",
        ("mbarrier.arrive b, 2", "mbarrier.try_wait.parity b, 0"),
        True,
    ),
    "arrive_drop": (
        "mbarrier(2)",
        (
            "mbarrier.arrive_drop b",
            "mbarrier.arrive b; mbarrier.arrive b; mbarrier.try_wait.parity b, 1",
        ),
        True,
    ),
    "bytes-that-never-come": (
        "mbarrier(1)",
        (
            "mbarrier.arrive.expect_tx b, 8; cp.async.bulk y, x, 4, b",
            "mbarrier.try_wait.parity b, 0",
        ),
        True,
    ),
    "token": ("mbarrier(1)", ("mbarrier.arrive r0, b; mbarrier.try_wait b, r0",), False),
    "polled": (
        "mbarrier(1)",
        ("mbarrier.arrive b", "L0:; mbarrier.test_wait.parity r0, b, 0; beq r0, 0, L0"),
        False,
    ),
    "polled-in-vain": (
        "mbarrier(2)",
        ("mbarrier.arrive b", "L0:; mbarrier.test_wait.parity r0, b, 0; beq r0, 0, L0"),
        True,
    ),
    "not-there": ("mbarrier", ("mbarrier.init b, 1", "mbarrier.arrive b"), True),
    "product": (
        "mbarrier(1)",
        ("tcgen05.mma t, x, y; tcgen05.commit b; mbarrier.try_wait.parity b, 0",),
        False,
    ),
}
"""At an mbarrier: how it starts, the threads, whether they may hang."""


@pytest.mark.parametrize("name", MBARRIER_CASES)
def test_waits_at_an_mbarrier_are_decided(name: str) -> None:
    start, threads, hangs_at_all = MBARRIER_CASES[name]
    case = PtxCase(name, threads, hangs_at_all, together=True)
    text = case.text.replace("x=0;", f"x=0; t=0; t @ tmem; b = {start};")
    test = PtxTest(parse_litmus(text, name), PtxModel())
    found = progress(test, run(test))
    assert found.ending is (Ending.ALWAYS if not hangs_at_all else found.ending)
    assert found.hangs_at_all is hangs_at_all
    assert not found.why


# What each part of the definition is for


def named(name: str) -> PtxCase:
    return next(each for each in PTX_CASES if each.name == name)


def nothing(*arguments: object) -> int:
    """No write at all."""
    del arguments
    return 0


def test_without_fairness_a_flag_is_never_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Part, "promised", nothing)
    assert hangs(named("relaxed-flag"))


def test_without_fences_of_the_round_a_weak_flag_is_never_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Part, "released", nothing)
    assert hangs(named("weak-flag-fenced"))


def test_with_one_last_round_what_it_acquires_binds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = PartialRunner[Any, Any].jump_in_last_round

    def ended(self: Any, run: Any, last: Any, label: str) -> Any:
        last.second = len(run.events) if label == last.label else None
        return once(self, run, last, label)

    monkeypatch.setattr(PartialRunner, "jump_in_last_round", ended)
    assert hangs(named("acquired-in-the-round"))


def test_without_fairness_the_language_never_sees_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "promised", nothing)
    case = next(each for each in SOURCE_CASES if each.name == "relaxed-flag")
    assert decided(source.stagnation(case.program, 2))


def test_an_exchange_that_puts_back_is_left_out_among_strong_accesses_alone() -> None:
    body = "L0:; atom.acquire.gpu.exch r0, f, 1; bne r0, 0, L0; st.weak f, 0"
    case = PtxCase("weak-unlock", (body, body), hangs=False)
    found = ptx.stagnation(parse_litmus(case.text, "t.litmus").program, PtxModel(), 2)
    assert found.hang is None
    assert found.why == (
        "P1's loop at t.litmus:6 puts back what it reads by [atom.acquire.gpu.exch r0, f, 1], which "
        "accesses that are weak or of too narrow a scope may observe; it was followed 2 times"
    )


def test_a_loop_that_adds_is_not_decided_by_axioms() -> None:
    case = PtxCase("add", ("L0:; atom.relaxed.gpu.add r0, f, 1; bne r0, 7, L0",), hangs=False)
    found = ptx.stagnation(parse_litmus(case.text, "t.litmus").program, PtxModel(), 2)
    assert found.why == (
        "P0's loop at t.litmus:6 repeats [atom.relaxed.gpu.add r0, f, 1], which is no read; "
        "it was followed 2 times; raise the bound"
    )


def test_a_hang_says_who_is_not_seen_and_why() -> None:
    found = ptx.stagnation(parse_litmus(named("acquire-cta-apart").text, "t.litmus").program)
    assert str(found.hang).splitlines() == [
        "P1 at t.litmus:7 repeats [ld.acquire.cta r0, f; beq r0, 0, L0] and reads f=0",
        "  P0's st.release.gpu f, 1 at t.litmus:6 need never become visible to P1: "
        "scope cta of P1 does not include P0",
    ]


def test_a_hang_of_the_language_says_who_is_not_seen_and_why() -> None:
    case = next(each for each in SOURCE_CASES if each.name == "narrow-load")
    found = source.stagnation(case.program)
    assert str(found.hang).splitlines()[1:] == [
        "  P0's store relaxed agent 1, f need never become visible to P1: "
        "scope workgroup of P1 does not include P0"
    ]


# Rounds that are left out change nothing that is used again


def test_a_compare_and_swap_that_keeps_what_it_read_is_not_idle() -> None:
    code = (
        Move("r", 5),
        Label("L"),
        Atom("r", "x", RmwKind.XCHG, 7, "r", Ordering.RELAXED, Scope.AGENT),
        CompareBranch("L", Comparison.NE, "r", 7),
    )
    program = PtxProgram((Location("x", 3),), (Thread(Placement(), code),))
    assert not outcomes(program, bound=2).complete
    built = PtxConstruction(program, PtxModel(), 3, WorkBudget(MOST))
    assert built.explore()
    assert built.result().complete
    assert built.result().states == {(7, 7)}


def test_an_exchange_lock_is_decided() -> None:
    program = parse_litmus(named("exchange-lock").text, "t.litmus").program
    found = outcomes(program, bound=2)
    assert found.complete
    assert len(found.states) == 1


# Tests for a GPU

GPU_TESTS = sorted((Path(__file__).parents[1] / "litmus" / "gpu" / "hangs").glob("*.litmus"))


@pytest.mark.parametrize("path", GPU_TESTS, ids=lambda path: path.stem)
def test_a_gpu_can_be_asked_whether_it_hangs(path: Path) -> None:
    parsed = read_litmus(path)
    test = PtxTest(parsed, PtxModel())
    found = run(test)
    ends = progress(test, found)
    assert ends.ending is (Ending.MAY_HANG if parsed.condition.may_hang else Ending.ALWAYS)
    assert judge(test, found, ends) is ConditionVerdict.HOLDS
    assert found.outcomes is not None
    assert prepare(parsed.program, found.outcomes).may_give_up


def row_of(case: PtxCase) -> str:
    """An example as the page has it: its threads, whether it ends, and how often it did not on a GPU."""
    test = PtxTest(parse_litmus(case.text, case.name), PtxModel())
    ending = progress(test, run(test)).ending
    gave_up = GAVE_UP.get(case.name, 0)
    assert not gave_up or ending is Ending.MAY_HANG
    asked = "-" if ending is Ending.NEVER else f"{gave_up:,}"
    threads = " and ".join(f"`{thread}`" for thread in dict.fromkeys(case.threads))
    twice = "each " if len({*case.threads}) < len(case.threads) else ""
    where = "one CTA" if case.together else "CTAs of their own"
    return f"| {case.name} | {twice}{threads} | {where} | {ending} | {asked} |"


def test_the_page_has_the_verdict_of_every_example() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gpu-litmus.md").read_text()
    rows = "\n".join(row_of(case) for case in PTX_CASES)
    assert f"| --- | --- | --- | --- | --- |\n{rows}\n\n" in page, rows


# What a condition says of hangs


def verdict(ending: Ending, may_hang: bool, name: str) -> ConditionVerdict:
    condition = f"forall (true){' may hang' if may_hang else ''}"
    text = re.sub(r"forall.*", condition, named(name).text)
    test = PtxTest(parse_litmus(text, "t.litmus"), PtxModel())
    return judge(test, run(test), Progress(ending))


@pytest.mark.parametrize(
    ("name", "ending", "bare", "on_purpose"),
    [
        ("handshake", Ending.ALWAYS, "HOLDS", "ENDS"),
        ("handshake", Ending.MAY_HANG, "HANGS", "HOLDS"),
        ("handshake", Ending.UNDECIDED, "HOLDS", "INCOMPLETE"),
        ("never-written", Ending.NEVER, "NEVER_ENDS", "HOLDS"),
        ("never-written", Ending.NONE, "NO_EXECUTION", "NO_EXECUTION"),
    ],
)
def test_a_test_that_may_hang_holds_only_on_purpose(
    name: str, ending: Ending, bare: str, on_purpose: str
) -> None:
    assert verdict(ending, False, name).name == bare
    assert verdict(ending, True, name).name == on_purpose


def test_may_hang_is_part_of_a_condition_in_text() -> None:
    condition = parse_condition("exists (P0:r0 == 1) may hang")
    assert condition.may_hang
    assert str(condition) == "exists (P0:r0 == 1) may hang"
    assert condition_text(condition) == "exists (P0:r0 == 1) may hang"
    assert not parse_condition("forall (may = 1)").may_hang
    with pytest.raises(LitmusError, match="expected 'hang'"):
        parse_condition("forall (true) may be")


def test_every_test_in_columns_holds_and_says_whether_it_may_hang() -> None:
    folder = Path(__file__).parents[1] / "litmus"
    paths = sorted([*folder.glob("ptx/*.litmus"), *folder.glob("gpu/*.litmus")])
    assert len(paths) > 200
    for path in paths:
        test = PtxTest(read_litmus(path), PtxModel())
        found = run(test)
        assert judge(test, found, progress(test, found)) is ConditionVerdict.HOLDS, path.name
