"""Mutants: how many the outcome sets notice, and that none called equivalent is noticed."""

import os
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from campaigns import Share, first_of, shares
from test_ptx_model import OWN, named, needs_corpus, random_program

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Outcomes, parse_condition
from fencewright.simulator.core.program import Placement, Thread
from fencewright.simulator.ptx.events import Atom, Ld, PtxFence, PtxInstruction, PtxProgram, St
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.instructions import Restriction
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.mutants import (
    Campaign,
    MutationKind,
    Notice,
    ProgramMutant,
    among,
    equivalence,
    mutants,
    partners,
    placed,
    placements,
    run_campaign,
)
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.tools.reports.markdown import filled

RESTRICT = MutationKind.RESTRICT_FENCE
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
MINIMAL = (
    "MP+rel+acq",
    "MP+fences",
    "MP+one-sided",
    "MP+sync_restrict",
    "mbarrier",
    "mbarrier.sync_restrict",
    "async.store",
    "SB+fence.sc",
)


def test_mutants_are_single_point() -> None:
    kinds = [mutant.kind for mutant in mutants(named("MP+fences").program)]
    assert kinds.count(MutationKind.DROP_FENCE) == 2
    assert kinds.count(MutationKind.NARROW_SCOPE) == 4
    assert len(kinds) == 6


def test_every_mutant_of_a_minimal_test_is_noticed_by_its_outcome_set() -> None:
    assert run_campaign(map(named, MINIMAL)).rate(Notice.OUTCOMES) == 1


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("MP+one-sided.cluster", 2),
        ("MP+sync_restrict.acquire", 1),
        ("barrier.cluster.relaxed+fence", 1),
    ],
)
def test_a_fence_that_is_wrongly_restricted_is_noticed(name: str, count: int) -> None:
    """Where data, or what is synchronised through, is not the shared memory that it is about."""
    campaign = run_campaign([named(name)])
    assert campaign.count(Notice, RESTRICT) == count
    assert campaign.count((Notice.VERDICT,), RESTRICT) == count


MISSED = {
    "MP+fences.cta-fence": 1,
    "alias+texture.swapped": 2,
    # That nobody passes a barrier by what comes after it orders what its fences order, too.
    "crossed-barriers+fence.sc": 2,
    "mbarrier.hang": 1,
    "mbarrier.relaxed": 1,
    "mbarrier.remote.cta": 1,
    "proxy.texture+fence.writer": 1,
}
"""How many mutants of a test nothing notices."""


@cache
def campaign_of_own(number: int) -> tuple[str, Campaign]:
    test, _ = OWN[Version.V7_5][number]
    return test.name, run_campaign([test])


@pytest.mark.parametrize("step", first_of([3, 1]))
def test_what_is_noticed_of_the_own_tests(step: int) -> None:
    numbers = range(0, len(OWN[Version.V7_5]), step)
    campaigns = dict(map(campaign_of_own, numbers))
    assert len(campaigns) == len(numbers)
    together: Counter[tuple[MutationKind, Notice]] = Counter()
    for each in campaigns.values():
        together.update(each.found)
    campaign = Campaign(together)
    assert campaign.rate(Notice.OUTCOMES) >= 0.52, str(campaign)
    assert campaign.rate(Notice.PARTNER) >= 0.78, str(campaign)
    missed = {name: each.count((Notice.MISSED,)) for name, each in campaigns.items()}
    assert {name: count for name, count in missed.items() if count} == {
        name: count for name, count in MISSED.items() if name in campaigns
    }


def test_what_is_noticed_of_the_lowered_shapes() -> None:
    import mutants as page

    campaign = run_campaign(page.lowered_tests()[:: 1 if THOROUGH else 4])
    assert campaign.tried > (400 if THOROUGH else 90)
    assert campaign.rate(Notice.OUTCOMES) >= 0.6, str(campaign)
    assert campaign.rate(Notice.PARTNER) >= 0.85, str(campaign)
    assert campaign.count((Notice.MISSED,)) <= campaign.tried * 0.061, str(campaign)


# A verdict, an outcome set, other places and partners, each of which sees what the last does not


def test_an_outcome_set_sees_what_the_verdict_does_not() -> None:
    test = replace(named("MP+rel+acq"), condition=parse_condition("exists (P1:r0 == 1)"))
    campaign = run_campaign([test])
    assert campaign.count((Notice.VERDICT,)) == 0
    assert campaign.rate(Notice.OUTCOMES) == 1


def alone(*code: PtxInstruction) -> PtxProgram:
    return PtxProgram((), (Thread(Placement(cluster=None), code),))


def notice_of(program: PtxProgram, kind: MutationKind) -> Notice:
    """What notices the first mutant of one kind."""
    test = PtxLitmusTest(program, named("MP").condition)
    campaign = run_campaign([test])
    (found,) = {notice for (each, notice), n in campaign.found.items() if each is kind and n}
    return found


def test_places_show_what_a_scope_is_for() -> None:
    """In one CTA the scope may as well be narrow."""
    program = named("MP+rel+acq").program
    together = placed(program, [Placement(cluster=None)] * 2)
    assert notice_of(together, MutationKind.NARROW_SCOPE) is Notice.PLACEMENT


def test_partners_show_what_a_fence_is_for() -> None:
    """A thread by itself has the same outcomes without it."""
    program = alone(St("x", 1), PtxFence(Ordering.SEQ_CST, Scope.AGENT), Ld("r0", "y"))
    assert notice_of(program, MutationKind.DROP_FENCE) is Notice.PARTNER


def test_a_chain_shows_what_an_atomic_passes_on() -> None:
    """Only a third thread can observe what an atomic acquires and releases by itself."""
    program = alone(Atom("r0", "x", RmwKind.ADD, 1, None, Ordering.ACQ_REL, Scope.SYSTEM))
    for mutant in mutants(program):
        if mutant.kind is MutationKind.NARROW_SCOPE:
            continue
        telling = {
            len(others)
            for others in partners(program.threads[0])
            if _differ(among(program, 0, others), among(mutant.program, 0, others), PtxModel())
        }
        assert telling == {2}, mutant.kind


# Equivalent mutants


def noticed(program: PtxProgram, mutant: ProgramMutant, model: PtxModel) -> bool:
    """Whether outcome sets differ, here or at another place."""
    pairs = [(program, mutant.program)]
    pairs += [(placed(program, at), placed(mutant.program, at)) for at in placements(program)]
    return any(_differ(*pair, model) for pair in pairs)


KNOWN: dict[tuple[str, PtxModel], Outcomes] = {}
"""The outcomes of originals, each of which several mutants are compared with."""


def outcomes_of_original(program: PtxProgram, model: PtxModel) -> Outcomes:
    key = repr(program), model
    if key not in KNOWN:
        KNOWN[key] = outcomes(program, model)
    return KNOWN[key]


def _differ(program: PtxProgram, mutated: PtxProgram, model: PtxModel) -> bool:
    original = outcomes_of_original(program, model)
    return outcomes(mutated, model).project(original.observables) != original


@pytest.mark.parametrize("version", list(Version))
def test_no_mutant_that_is_called_equivalent_is_noticed(version: Version) -> None:
    """In random programs; what is said is of every program with the thread."""
    model, reasons = PtxModel(version), set[str]()
    for seed in range(1000 if THOROUGH else 60):
        program = random_program(seed)
        for mutant in mutants(program):
            if reason := equivalence(program, mutant):
                reasons.add(reason)
                assert not noticed(program, mutant, model), (seed, mutant.kind, reason)
    assert len(reasons) >= 6


def test_no_mutant_of_a_restricted_fence_that_is_called_equivalent_is_noticed() -> None:
    """Where the threads are: what is shared memory of a CTA depends on that."""
    reasons = set[str]()
    for seed in range(1000 if THOROUGH else 100):
        program = random_program(seed, restricted=True)
        flag = "xy"[seed % 2], 1, Ordering.RELAXED, Scope.CLUSTER
        release = PtxFence(Ordering.RELEASE, Scope.CLUSTER, Restriction.OWN)
        first, *others = program.threads
        first = replace(first, instructions=(*first.instructions[:1], release, St(*flag)))
        program = replace(program, threads=(first, *others))
        for mutant in mutants(program):
            if reason := equivalence(program, mutant):
                reasons.add(reason)
                assert not _differ(program, mutant.program, PtxModel()), (seed, mutant.kind)
    assert "a fence that orders nothing on that side" in reasons


@pytest.mark.parametrize("share", shares(3))
def test_partners_do_not_notice_what_is_called_equivalent(share: Share) -> None:
    model = PtxModel()
    checked = 0
    for test, _ in share.of(OWN[Version.V7_5][:: 1 if THOROUGH else 4]):
        for mutant in mutants(test.program):
            if not equivalence(test.program, mutant):
                continue
            checked += 1
            for others in partners(test.program.threads[mutant.thread]):
                programs = (test.program, mutant.program)
                before, after = (among(each, mutant.thread, others) for each in programs)
                assert not _differ(before, after, model), (test.name, mutant.kind, others)
    assert checked >= 2


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        ((PtxFence(Ordering.SEQ_CST, Scope.AGENT), Ld("r0", "x")), "drop fence", "nothing before"),
        ((St("x", 1), PtxFence(Ordering.SEQ_CST, Scope.AGENT)), "drop fence", "nothing after"),
        ((St("x", 1), PtxFence(Ordering.ACQ_REL, Scope.AGENT), Ld("r0", "y")),
         "drop fence", "in no pattern"),
        ((St("x", 1, Ordering.RELEASE, Scope.AGENT),), "release to relaxed", "nothing before"),
        ((Ld("r0", "x", Ordering.ACQUIRE, Scope.AGENT), Ld("r1", "x")),
         "acquire to relaxed", "loads of its location"),
        ((Ld("r0", "x", Ordering.RELAXED, Scope.AGENT), Ld("r1", "y")),
         "scope to cta", "begins nothing"),
    ],
)  # fmt: skip
def test_why_a_mutant_is_equivalent(
    code: tuple[PtxInstruction, ...], kind: str, reason: str
) -> None:
    program = alone(*code)
    (mutant,) = (each for each in mutants(program) if each.kind.value == kind)
    assert reason in equivalence(program, mutant)


def test_what_orders_something_is_not_called_equivalent() -> None:
    for name in MINIMAL:
        program = named(name).program
        assert not any(equivalence(program, mutant) for mutant in mutants(program)), name


# The page


def test_the_page_has_as_many_tests_and_mutants_as_there_are() -> None:
    """What is noticed of them takes a minute: this tells at once that the page is out of date."""
    import mutants as page

    tests = page.own_tests()
    tried = sum(len([*mutants(each.program)]) for each in tests)
    row = f"| {len(tests)} PTX tests of this project, model of PTX 7.5 | {tried} |"
    assert row in page.PAGE.read_text(encoding="utf-8")


@needs_corpus
def test_what_is_noticed_of_the_public_tests() -> None:
    """Far beyond their verdicts, which notice one in six; and the page says so."""
    import mutants as page

    found = page.measured(Path(os.environ[page.CORPUS]))
    public = found[0].campaign
    assert public.tried == 275
    assert public.rate(Notice.VERDICT) < 0.17, str(public)
    assert public.rate(Notice.OUTCOMES) >= 0.22, str(public)
    assert public.rate(Notice.PARTNER) >= 0.86, str(public)
    assert public.count((Notice.MISSED,)) <= 5, str(public)
    text = page.PAGE.read_text(encoding="utf-8")
    assert filled(text, page.parts(found)) == text
