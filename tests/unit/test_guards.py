"""Every guard of the passes that take synchronisation away: what they make is wrong without it."""

import os
from collections.abc import Callable, Iterable, Mapping

import guard_programs
import guard_texts
import pass_corpus
import pass_trials
import pytest
import select_requests
import wait_kernels
from campaigns import Share, first_share, some_of
from minimise_programs import parse
from pass_trials import Trial, View, after
from xdsl.ir import Block

from fencewright.lowering.cdna.counters.scoreboard import (
    CACHE_EVENTS,
    LIMITS,
    SPACE_EVENTS,
    CounterState,
)
from fencewright.lowering.cdna.instructions import Counter
from fencewright.lowering.code.graph import Graph
from fencewright.mlir_dialects.cdna import CacheOp, WaitOp
from fencewright.passes.cdna.caches import drop_invalidates
from fencewright.passes.cdna.caches.drop_invalidates import DropInvalidatesPass
from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
from fencewright.passes.cdna.waits.loosen_waits import LoosenWaitsPass
from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass
from fencewright.passes.scoped.merge_fences import Done
from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass
from fencewright.simulator.core.processes.time_limit import limited
from fencewright.tools.dev.campaigns.mutants_of_passes import (
    PAGE,
    Outcome,
    listed,
    page_parts,
    trials_listed,
)
from fencewright.tools.dev.campaigns.pass_mutants import (
    FILES,
    ROOT,
    PassMutant,
    applied,
    lines_of,
    lines_run,
    makes_tables,
    mutants_of,
)
from fencewright.tools.reports.markdown import filled

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ

SECONDS = 20.0


def named(mutant: str) -> PassMutant:
    """The mutant that is called so."""
    file = mutant.partition(" ")[0]
    found = [each for each in mutants_of(file) if str(each) == mutant]
    assert found, f"{file} has no such guard: {mutant}"
    return found[0]


def trial(name: str, view: View) -> Trial:
    """A program of ``guard_programs`` in a view."""
    return pass_trials.trial(name, guard_programs.PROGRAMS[name], view)


ON_GFX942, ON_ONE_L2 = pass_trials.on_cdna(), pass_trials.on_cdna(knows_l2=True)

WITHOUT: tuple[tuple[str, str, View], ...] = (
    (
        "passes/cdna/waits/loosen_waits.py Loosening.is_only_in_lds: age.unordered or "
        "self.lds_matters[wait] -> without 'age.unordered'",
        "a flat store to LDS before a flag in LDS",
        ON_GFX942,
    ),
    (
        "passes/cdna/caches/sink_invalidates.py Sinking.run: pending.caches & self.must[target] or "
        "self._is_awaited(pending, target) -> without 'self._is_awaited(pending, target)'",
        "an invalidate that a release before one of two ways waits for",
        ON_ONE_L2,
    ),
    (
        "passes/cdna/caches/sink_invalidates.py Sinking.__init__: any(map(is_release_wait, steps)) -> "
        "all(map(is_release_wait, steps))",
        "an invalidate that a release behind a store waits for",
        ON_ONE_L2,
    ),
    (
        "passes/cdna/caches/sink_invalidates.py Sinking._leaving: if is_release_wait(step) -> if False",
        "an invalidate that a release in its block waits for",
        ON_ONE_L2,
    ),
    (
        "passes/cdna/caches/sink_invalidates.py Sinking.run: edges.append((block, index, pending)) "
        "-> (nothing)",
        "an invalidate that one of two ways to the same place needs",
        ON_GFX942,
    ),
    (
        "passes/cdna/caches/drop_write_backs.py written_back: published.flag | AT_ENTRY -> published.flag",
        "another kernel's stores taken in behind the back of a write-back",
        ON_ONE_L2,
    ),
    (
        "passes/scoped/merge_fences.py redundant: released and (acquired or not ordering.acquires) "
        "-> without 'acquired or not ordering.acquires'",
        "a fence of both halves behind a wider release",
        pass_trials.SCOPED,
    ),
    (
        "passes/scoped/merge_fences.py redundant: acquired and (released or not ordering.releases) "
        "-> without 'released or not ordering.releases'",
        "a fence of both halves before a wider acquire",
        pass_trials.SCOPED,
    ),
    (
        "passes/scoped/merge_fences.py past: if forwards and ordering.acquires and (acquired < scope) -> if False",
        "release, acquire, release",
        pass_trials.SCOPED,
    ),
    (
        "passes/scoped/merge_fences.py acquired_by: if kind is scoped.CmpxchgOp -> if False",
        "an acquire fence behind an exchange that failed",
        pass_trials.SCOPED,
    ),
    (
        "lowering/ptx/select.py _normalise: if requested.failure_ordering is not None -> if False",
        "an exchange that acquires where it fails",
        pass_trials.ON_PTX[0],
    ),
    (
        "lowering/ptx/select.py _orders_shared_memory_alone: request.op is not Operation.FENCE or "
        "request.ordering is Ordering.SEQ_CST -> without 'request.op is not Operation.FENCE'",
        "an acquire fence behind a flag's read of LDS only",
        pass_trials.ON_PTX[0],
    ),
    (
        "lowering/cdna/select.py _ordered_spaces: if AddressSpace.GENERIC in ordered -> if False",
        "a fence of generic memory orders LDS",
        ON_GFX942,
    ),
)
"""Guards, each with the program and the view that show what it is for."""


@pytest.mark.parametrize(("guard", "program", "view"), WITHOUT, ids=lambda each: str(each)[:60])
def test_a_guard_that_is_taken_out_is_missed(guard: str, program: str, view: View) -> None:
    of_program = trial(program, view)
    assert of_program.is_fit
    assert not of_program.problem()
    with limited(SECONDS), applied(named(guard)):
        assert of_program.problem()


MERGE = "passes/scoped/merge_fences.py "
PTX, FOLD = (f"passes/to_ptx/{name}_fences.py " for name in ("merge_ptx", "fold"))
ON_FENCES: tuple[tuple[str, str], ...] = (
    (
        MERGE + "is_plain: 'spaces' in properties or 'one_as' in properties -> without "
        "''spaces' in properties'",
        "a release of LDS only, then a whole one (scoped)",
    ),
    (
        MERGE + "is_plain: 'spaces' in properties or 'one_as' in properties -> without "
        "''one_as' in properties'",
        "a release of each space on its own, then a whole one (scoped)",
    ),
    (
        MERGE + "past: if not is_plain(op) -> if False",
        "a release of LDS only, then a whole one (scoped)",
    ),
    (MERGE + "past: if not is_plain(op) -> if False", "a release, then one of LDS only (scoped)"),
    (MERGE + "past: if forwards -> if False", "a store between two releases (scoped)"),
    (
        MERGE + "released_after: False -> True",
        "a release fence, a flag, and another one that is not released (folded-sm_90-8.0)",
    ),
    (
        MERGE + "past: if not forwards and ordering.releases -> if False",
        "acquire, release, a wider acquire (scoped)",
    ),
    (
        MERGE
        + "acquired_by: acquires and cast(scoped.CmpxchgOp, op).failure_ordering.data.acquires"
        " -> without 'acquires'",
        "an acquire fence behind an exchange that succeeded (scoped)",
    ),
    (
        MERGE + "acquired_by: acquires and is_plain(access) -> without 'is_plain(access)'",
        "an acquire fence behind a flag's read of LDS only (scoped)",
    ),
    (
        MERGE + "released_by: if is_plain(op) -> if True",
        "a release fence before a flag that makes nothing available (outlined)",
    ),
    (
        MERGE + "_is_whole_barrier: type(op) is scoped.BarrierOp and op.ordering.data.releases and "
        "is_plain(op) -> without 'is_plain(op)'",
        "fences around a barrier of LDS only (scoped)",
    ),
    (
        MERGE + "_weaken: if ordering is Ordering.SEQ_CST -> if False",
        "fence release agent / fence seq_cst agent, 2 (merge-fences)",
    ),
    (
        MERGE + "_is_weak: 'volatile' not in properties and _UNORDERED not in op.attributes -> "
        "without ''volatile' not in properties'",
        "a release before a volatile store (only merge-fences)",
    ),
    (
        MERGE + "_is_weak: 'volatile' not in properties and _UNORDERED not in op.attributes -> "
        "without '_UNORDERED not in op.attributes'",
        "a release before an unordered store (only merge-fences)",
    ),
    (
        MERGE + "_begins_thread: owner is not None and owner.name == 'litmus.thread' -> without "
        "'owner.name == 'litmus.thread''",
        "a release in a region (only merge-fences)",
    ),
    (
        MERGE + "_solve: if _begins_thread(entry) -> if True",
        "an acquire where a function in LLVM IR begins (only merge-fences)",
    ),
    (
        MERGE + "_solve: if _begins_thread(entry) -> if True",
        "a release where a function ends (only merge-fences)",
    ),
    (
        PTX + "past: if forwards and fence.acquires > done.acquires -> if False",
        "a wider acquire between seq_cst and a seq_cst store (sm_90-newest)",
    ),
    (
        PTX + "past: if not forwards and fence.releases > done.releases -> if False",
        "a wider release between an acquire and a seq_cst load (sm_90-newest)",
    ),
    (
        PTX + "_loosened: if decoded.ordering is Ordering.RELEASE -> if True",
        "a release fence, then an exchange that acquires (sm_90-newest)",
    ),
    (
        PTX + "_loosened: if decoded.ordering is Ordering.RELEASE -> if False",
        "an update that releases, then seq_cst (sm_90-newest)",
    ),
    (
        PTX + "_solve: if forwards -> if False",
        "seq_cst before a store in its block, and in the next (sm_90-newest)",
    ),
    (
        PTX + "_solve: if forwards -> if True",
        "seq_cst before a branch, and wider where its paths join (sm_90-newest)",
    ),
    (
        PTX + "_is_done: False -> True",
        "seq_cst in two blocks, and a store between (sm_90-newest)",
    ),
    (
        FOLD + "FoldFencesPass._fold: if releasing is not None and released[access] < "
        "rank_of(releasing) -> if False",
        "a release fence, a flag, and another one that is not released (folded-sm_90-8.0)",
    ),
    (
        FOLD
        + "_fits: access.spaces is None and access.one_as is None and (access.volatile is None)"
        " -> without 'access.spaces is None'",
        "an acquire fence behind a flag's read of LDS only (folded-sm_90-8.0)",
    ),
    (
        FOLD
        + "_fits: atomic and whole and full and (rank_of(access) >= rank_of(fence)) -> without "
        "'full'",
        "an acquire fence behind a flag's read that makes nothing available (folded-sm_90-8.0)",
    ),
    (
        "passes/analysis/acquire_fences.py unfenced: if graph.successors[block] -> if True",
        "an update in a function (only lower-scoped-llvm-ir)",
    ),
    (
        "passes/analysis/acquire_fences.py _blocks_before_fences: any(map(may_be_acquire_fence, "
        "block.ops)) or not (graph.successors[block] or ends_thread) -> without 'not "
        "(graph.successors[block] or ends_thread)'",
        "an update in a function, and a branch (only lower-scoped-llvm-ir)",
    ),
    (
        "passes/scoped/infer_address_spaces.py _holds: if len(sources) != len(value.block.predecessors()) "
        "-> if False",
        "handed on by a switch (only infer-address-spaces)",
    ),
    (
        "passes/scoped/infer_address_spaces.py _holds: all((_may_be_global(use, found) for use in "
        "value.uses)) -> any((_may_be_global(use, found) for use in value.uses))",
        "stored, and a location itself (only infer-address-spaces)",
    ),
    (
        "passes/scoped/clamp_scopes.py _run_by_tests: found |= {each.kernel.string_value() for each in "
        "test.threads if each.kernel} -> found = {each.kernel.string_value() for each in "
        "test.threads if each.kernel}",
        "two tests with a kernel of one work-item each (only clamp-scopes)",
    ),
    (
        "passes/scoped/clamp_scopes.py is_whole_kernel: is_kernel(function) and (not any(unknown_in(function))) "
        "-> without 'is_kernel(function)'",
        "a function in LLVM IR (only clamp-scopes)",
    ),
    (
        "passes/scoped/clamp_scopes.py is_whole_kernel: is_kernel(function) and (not any(unknown_in(function))) "
        "-> without 'not any(unknown_in(function))'",
        "a kernel in LLVM IR that calls (only clamp-scopes)",
    ),
)
"""Guards and other code of the passes on fences, scopes and spaces, each with the trial that shows it."""


def test_the_files_that_the_corpus_names_are_there() -> None:
    """A pass that is named wrongly would be run before the mutant is in place."""
    named = {*pass_corpus.VIEWS, *pass_corpus.PASSES}.union(*pass_corpus.PASSES.values())
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(("guard", "said"), ON_FENCES, ids=lambda each: str(each)[:60])
def test_what_passes_on_fences_decide_by_is_missed(guard: str, said: str) -> None:
    mutant = named(guard)
    shown = pass_corpus.find(mutant.file, said)
    assert shown.is_fit
    assert not shown.problem()
    with limited(SECONDS), applied(mutant):
        assert shown.problem()


DROP = "passes/cdna/caches/drop_invalidates.py "
SINK = "passes/cdna/caches/sink_invalidates.py "
ACROSS_AGENTS: tuple[tuple[str, str], ...] = (
    (
        SINK + "Sinking._leaving: not caches & (must | waited) -> caches & (must | waited)",
        "across_program 0 (gfx942)",
    ),
    (
        DROP + "before: needed & ~step.meaning.invalidates | needed_at(step, needs) -> "
        "needed_at(step, needs)",
        "across_program 3 (gfx942-tgsplit)",
    ),
    (
        DROP + "before: ~step.meaning.invalidates -> step.meaning.invalidates",
        "across_program 3 (gfx942-tgsplit)",
    ),
    (
        MERGE + "_merge: continue -> (nothing)",
        "across_program 51 (folded-sm_70-newest)",
    ),
    (
        MERGE + "_merge: continue -> (nothing)",
        "across_program 50 (folded-sm_90-8.0)",
    ),
    (MERGE + "_weaken: True -> False", "across_program 50 (folded-sm_90-8.0)"),
)
"""Changes that only programs over several agents, with another scope on each leg, show wrong."""


@pytest.mark.parametrize(("change", "said"), ACROSS_AGENTS, ids=lambda each: str(each)[:60])
def test_programs_over_agents_miss_what_others_do_not(change: str, said: str) -> None:
    mutant = named(change)
    shown = pass_corpus.find(mutant.file, said)
    assert shown.is_fit
    assert not shown.problem()
    with limited(SECONDS), applied(mutant):
        assert shown.problem()


@pytest.mark.parametrize("seed", range(24))
def test_programs_over_agents_are_right(seed: int) -> None:
    views = (*pass_trials.ON_CDNA, *pass_trials.ON_PTX, pass_trials.SCOPED)
    drawn = pass_corpus.across_agents(views[seed % len(views)], seed)
    assert drawn.is_fit
    assert not drawn.problem()


KEPT = [each for file in FILES for each in guard_texts.kept(file)]


@pytest.mark.parametrize("kept", KEPT, ids=str)
def test_modules_that_need_everything_stay_as_they_are(kept: guard_texts.Kept) -> None:
    assert not kept.problem()


PROGRAMS = guard_programs.PROGRAMS


EVERY_VIEW = (
    *pass_trials.ON_CDNA,
    *pass_trials.ON_PTX,
    pass_trials.SCOPED,
    pass_trials.OUTLINED,
    *pass_trials.FOLDED,
)


@pytest.mark.parametrize("share", first_share(10))
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_right_in_every_view(name: str, share: Share) -> None:
    lds = any(each.space is guard_programs.LOCAL for each in PROGRAMS[name].locations)
    for view in share.of(EVERY_VIEW, [*PROGRAMS].index(name)):
        if not (lds and view.options.tgsplit):
            assert not trial(name, view).problem(), view.name


def test_a_fence_further_than_one_branch_on_is_missed_without_a_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "an update three branches before a call (only lower-scoped-llvm-ir)"
    shown = pass_corpus.find("passes/analysis/acquire_fences.py", said)
    assert not shown.problem()

    def next_ones(graph: Graph[Block], starts: Iterable[Block]) -> set[Block]:
        return {target for node in starts for target in graph.successors[node]}

    monkeypatch.setattr(Graph, "reachable_after", next_ones)
    assert shown.problem()


# What programs do not show


STORE = "scoped.store weak %v, %s : i32, !llvm.ptr<5>"
AFTER_PRIVATE_STORES = """
func.func @k(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  %n = arith.constant 1 : i32
  %s = llvm.alloca %n x i32 : (i32) -> !llvm.ptr<5>
  scoped.store weak %v, %x : i32, !llvm.ptr<1>
  MANY
  scoped.store release workgroup %v, %f : i32, !llvm.ptr<1>
  func.return
}
"""


def releasing_wait(stores: int) -> str:
    """What the release waits for after so many stores to private memory."""
    module = parse(AFTER_PRIVATE_STORES.replace("MANY", "\n".join([STORE] * stores)))
    after((ConvertScopedToCDNAPass("gfx942"), LoosenWaitsPass(), InsertWaitsPass()), module)
    (found,) = [op for op in module.walk() if isinstance(op, WaitOp) and op.phase is not None]
    return str(found.counts)


@pytest.mark.parametrize(("stores", "count"), [(0, 0), (3, 3), (62, 62), (63, 62), (70, 62)])
def test_a_release_waits_for_what_is_before_however_many_private_stores(
    stores: int, count: int
) -> None:
    assert releasing_wait(stores) == f"vmcnt({count})"


LOOP = """
func.func @k(%x : !llvm.ptr<1>, %n : i32) attributes {gpu.kernel} {
  cf.br ^loop
^loop:
  %v = scoped.load weak %x : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %n : i32
  cf.br ^end
^end:
  scoped.fence acquire agent
  cf.cond_br %again, ^latch, ^out
^latch:
  cf.br ^loop
^out:
  func.return
}
"""


def invalidates(text: str) -> int:
    """How many are left by drop-invalidates."""
    module = after((ConvertScopedToCDNAPass("gfx942"), DropInvalidatesPass()), parse(text))
    return sum(isinstance(op, CacheOp) for op in module.walk())


def test_a_fence_on_one_path_makes_none_surplus_that_another_path_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "a release before a branch, and another one on one of its paths (scoped)"
    shown = pass_corpus.find("passes/scoped/merge_fences.py", said)
    assert not shown.problem()

    def known_alone(known: Done, _: Done) -> Done:
        return known

    monkeypatch.setattr(Done, "join", known_alone)
    assert shown.problem()


def one_sweep(
    graph: Graph[Block],
    start: Mapping[Block, int],
    transfer: Callable[[Block, int], int],
    join: Callable[[int, int], int],
    **_: object,
) -> dict[Block, int]:
    """Every node once, in their order, instead of a fixpoint."""
    states = dict(start)
    for node in graph.nodes:
        leaving = transfer(node, states[node])
        for target in graph.successors[node]:
            states[target] = join(states[target], leaving)
    return states


def test_an_invalidate_is_needed_by_the_next_round_of_its_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the end of a loop needs is known in the second round only."""
    assert invalidates(LOOP) == 1
    assert invalidates(LOOP.replace("^latch, ^out", "^out, ^out")) == 0
    monkeypatch.setattr(drop_invalidates, "solve", one_sweep)
    assert invalidates(LOOP) == 0


def test_a_count_covers_invalidates_that_may_count() -> None:
    """One more may be in flight than there are stores; after a wait for everything none is."""
    (invalidate,), (store,) = CACHE_EVENTS["buffer_inv"], SPACE_EVENTS[guard_programs.GLOBAL]
    counter = CounterState(LIMITS[Counter.VMCNT])
    counter.issue(invalidate)
    counter.issue(store)
    assert not counter.satisfied(1)
    assert counter.satisfied(2)
    counter.wait(0)
    counter.issue(store)
    assert counter.satisfied(1)
    counter.issue(invalidate)
    counter.wait(1)
    assert not counter.satisfied(1)


# Waits


@pytest.mark.parametrize("kernel", [*wait_kernels.KERNELS, *range(200)])
def test_kernels_wait_for_what_they_have_to(kernel: str | int) -> None:
    assert not wait_kernels.WaitTrial(kernel).problem()


@pytest.mark.parametrize("request_", select_requests.ALL)
def test_requests_get_the_code_that_they_need(request_: str) -> None:
    assert not select_requests.RequestTrial(request_).problem()


# Where the acquire of an attempt goes


ATTEMPT = """
func.func @k(%f : !llvm.ptr<1>, %n : i32, %c : i1) attributes {gpu.kernel} {
  %true = arith.constant true
  %false = arith.constant false
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first, %done = scoped.cmpxchg relaxed relaxed agent %f, %zero, %one : !llvm.ptr<1>, i32
  %old, %ok = scoped.cmpxchg acquire relaxed agent %f, %zero, %one : !llvm.ptr<1>, i32
  TEST
  cf.cond_br %test, ^a, ^b
^a:
  func.return
^b:
  func.return
}
"""
TESTS = {
    "%test = arith.xori %ok, %false : i1": None,
    "%test = arith.xori %ok, %true : i1": 1,
    "%test = arith.xori %true, %ok : i1": 1,
    "%test = arith.xori %ok, %c : i1": None,
    "%test = arith.xori %done, %true : i1": None,
    "%test = arith.andi %ok, %c : i1": None,
    "%test = arith.cmpi eq, %old, %zero : i32": 0,
    "%test = arith.cmpi ne, %zero, %old : i32": 1,
    "%test = arith.cmpi ugt, %old, %zero : i32": None,
    "%test = arith.cmpi eq, %old, %one : i32": None,
    "%test = arith.cmpi eq, %old, %n : i32": None,
    "%test = arith.cmpi eq, %first, %zero : i32": None,
    "%test = arith.cmpi eq, %n, %zero : i32": None,
}
"""Where the attempt is known to have succeeded, by what is branched on."""


def acquired_in(test: str) -> int | None:
    """The edge on which the acquire is; None if it is at the attempt."""
    module = after((AcquireOnSuccessPass(),), parse(ATTEMPT.replace("TEST", test)))
    fences = [op for op in module.walk() if op.name == "scoped.fence"]
    if not fences:
        return None
    (branch,) = [op for op in module.walk() if op.name == "cf.cond_br"]
    return branch.successors.index(fences[0].parent)


@pytest.mark.parametrize("test", TESTS)
def test_an_attempt_acquires_where_it_is_known_to_have_succeeded(test: str) -> None:
    assert acquired_in(test) == TESTS[test]


@pytest.mark.parametrize(
    ("guard", "test"),
    [
        ("exchanged: if condition is op.success -> if True", "%test = arith.andi %ok, %c : i1"),
        ("_negated: if _is_true(right) -> if True", "%test = arith.xori %ok, %false : i1"),
        ("_negated: if _is_true(right) -> if True", "%test = arith.xori %ok, %c : i1"),
        (
            "_compared_old: same and predicate in _EQUAL_GOES_TO -> without 'same'",
            "%test = arith.cmpi eq, %old, %n : i32",
        ),
        (
            "_compared_old: same and predicate in _EQUAL_GOES_TO -> without 'same'",
            "%test = arith.cmpi eq, %first, %zero : i32",
        ),
    ],
)
def test_an_attempt_would_acquire_elsewhere_without_a_guard(guard: str, test: str) -> None:
    with limited(SECONDS), applied(named(f"passes/analysis/exchanges.py {guard}")):
        assert acquired_in(test) is not None


# Every guard there is


LISTED = [each for file in FILES for each in listed(file)]
"""Of every guard the outcome without it, and the trial that shows that."""

TRIALS = {said: file for file in FILES for said in trials_listed(file)}
"""What shows mutants that are wrong, fail or hang, each once with a file of theirs."""

BY_OTHER_TESTS = ("waits: ", "request: ", "paths: ", "pattern: ")
"""How trials begin that are all run anyway."""

SHOWN = [(guard, said) for outcome, guard, said in LISTED if outcome == Outcome.WRONG]
EVERY = 1 if THOROUGH else 12


def test_the_page_is_of_the_lists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, page_parts()) == text


def test_every_guard_is_listed() -> None:
    """``make mutants-of-passes`` lists them."""
    guards = {str(each) for file in FILES for each in mutants_of(file) if each.guard}
    listed = {guard for _, guard, _ in LISTED}
    assert listed == guards


OWN_TRIALS = [said for said in TRIALS if not said.startswith(BY_OTHER_TESTS)]


@pytest.mark.parametrize("said", some_of(OWN_TRIALS, 3))
def test_what_shows_mutants_is_right_without_them(said: str) -> None:
    shown = pass_corpus.find(TRIALS[said], said)
    assert shown.is_fit
    assert not shown.problem()


@pytest.mark.parametrize(("guard", "said"), SHOWN[::EVERY], ids=lambda each: str(each)[:60])
def test_what_is_listed_shows_its_guard(guard: str, said: str) -> None:
    mutant = named(guard)
    shown = pass_corpus.find(mutant.file, said)
    assert shown.is_fit
    with limited(SECONDS), applied(mutant):
        assert shown.problem()


@pytest.mark.parametrize(("guard", "said"), SHOWN[::60], ids=lambda each: str(each)[:60])
def test_what_shows_a_guard_runs_it(guard: str, said: str) -> None:
    """``make mutants-of-passes`` tries no others."""
    mutant = named(guard)
    ran = lines_run(mutant.file, pass_corpus.find(mutant.file, said).problem)
    assert makes_tables(mutant) or ran & frozenset(lines_of(mutant))
