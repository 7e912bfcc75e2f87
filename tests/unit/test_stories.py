"""The sentence that a counterexample begins with names what is missing, and where."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import cdna_cases
import pytest
import source_cases

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.system import MachineEventKind
from fencewright.simulator.cdna.trace import Counterexample, find_counterexample, find_execution
from fencewright.simulator.core.condition import Quantifier
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Placement, Program, Thread
from fencewright.simulator.litmus_run import Limits, execution
from fencewright.simulator.pictures.execution_graph import ptx_graph, source_graph
from fencewright.simulator.pictures.graph_explainer import ExplainedEvent, weak_explained
from fencewright.simulator.pictures.timeline import timeline
from fencewright.simulator.ptx import witnesses as ptx_witnesses
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, parse_litmus, read_litmus
from fencewright.simulator.ptx.instructions import PtxFence, PtxProgram
from fencewright.simulator.source import model as source_model
from fencewright.simulator.source import witnesses as source_witnesses
from fencewright.simulator.source.behaviour import behaviour
from fencewright.tools.inputs.litmus.lowered import Damage, Lowering, read

ROOT = Path(__file__).parents[2]
RELAXED = Ordering.RELAXED
EXAMPLE = str(ROOT / "examples/litmus/message_passing.mlir")
SEEN = tuple(
    each for each in cdna_cases.CASES if each.test.condition.quantifier is Quantifier.EXISTS
)


@cache
def counterexample(name: str) -> Counterexample:
    case = cdna_cases.BY_NAME[name]
    found = find_counterexample(case.test.program, case.test.condition.formula, case.configuration)
    assert found is not None
    return found


def test_every_weak_outcome_has_a_cause():
    for each in SEEN:
        story = counterexample(each.name).explanation
        assert story.endswith(".")
        assert "\n" not in story
        assert "interleaving" not in story


MISSING = {
    "write-back": "writes it back",
    "invalidate": "invalidates it",
    "l1-invalidate": "its L1",
    "l2-invalidate": "its L2",
    "wait": "nothing waits for that one",
}


def test_the_sentence_asks_for_what_was_left_out():
    left_out = {
        each.name: match[1]
        for each in SEEN
        if (match := re.search("without-(?:release-|acquire-)?(.*)", each.name)) is not None
    }
    assert len(left_out) > 15
    for name, what in left_out.items():
        assert MISSING[what] in counterexample(name).explanation, name


@pytest.mark.parametrize(
    ("name", "story"),
    [
        (
            "mp-agent-one-xcd-without-invalidate",
            "P1 reads x = 0 from its L1, filled before f = 1 was seen; nothing invalidates it "
            "between 'global_load r0, f sc1' and 'global_load r1, x'.",
        ),
        (
            "mp-agent-without-write-back",
            "P1 reads x = 0, while P0's store of x is still dirty in the L2 of agent 0 XCD 0; "
            "nothing writes it back between 'global_store x, 1' and 'global_store f, 1 sc1'.",
        ),
        (
            "payload-by-another-wave",
            "P2 reads x = 0 before P0's store of x is performed: P0 passes s_barrier without "
            "waiting for it.",
        ),
        (
            "scalar-load-is-not-coherent",
            "P1 reads x = 0 from its scalar cache, filled before f = 1 was seen; nothing "
            "invalidates that between 'global_load r0, f sc1' and 's_load r1, x'.",
        ),
        (
            "2+2w-waits-only",
            "x ends dirty in the L2 of agent 0 XCD 0 and the L2 of agent 0 XCD 1, which are "
            "written back in either order; nothing writes one back before the other is stored.",
        ),
    ],
)
def test_sentences_of_the_machine(name: str, story: str):
    found = counterexample(name)
    assert found.explanation == story
    assert timeline(found).explanation == story


def test_lines_stand_in_for_instructions_where_they_are_known():
    case = cdna_cases.BY_NAME["mp-agent-one-xcd-without-invalidate"]
    first, second = case.test.program.threads
    places = tuple(SourceLocation("k.mlir", 12 + n) for n in range(len(second.instructions)))
    threads = (first, Thread(second.placement, second.instructions, places))
    program = Program(case.test.program.locations, threads, None, "mp")
    found = find_counterexample(program, case.test.condition.formula, case.configuration)
    assert found is not None
    assert found.explanation == (
        "P1 reads x = 0 from its L1, filled before f = 1 was seen; nothing invalidates it between "
        "line 12 and line 14."
    )
    assert any(step.endswith("(line 14)") for step in found.steps)
    assert any("global_load :14" in bar.lines[0] for bar in timeline(found).bars)


def test_steps_in_registers_are_folded():
    (test,) = read(EXAMPLE, Lowering("gfx942", damages=(Damage("buffer_inv"),)))
    steps = execution(test, test.condition.deciding, Limits())
    assert steps is not None
    assert steps[0].startswith("P1 reads data = 0 from its L2")
    assert "     (2 steps in registers)" in steps
    assert not any("mov " in step for step in steps)
    assert sum("(line 16)" in step for step in steps[1:]) == 2


def ptx(name: str) -> str:
    test = read_litmus(ROOT / f"tests/litmus/ptx/{name}.litmus")
    witness = ptx_witnesses.explain(test.program, test.condition.deciding)
    assert witness is not None
    return ptx_graph(test, witness).explanation


SEES = (
    "P1 sees y = 1 (line 5), but reads x = 0 ({}), which P0's store of x (line 5) had overwritten: "
)


@pytest.mark.parametrize(
    ("name", "story"),
    [
        ("MP", SEES.format("line 6") + "P0's store of y (line 6) is weak, and a weak write orders "
         "nothing."),
        ("MP+volatile", SEES.format("line 6") + "P0's store of y (line 6) is relaxed and releases "
         "nothing, and no release fence stands between line 5 and line 6."),
        ("MP+rel+acq.cta", SEES.format("line 6") + "P0's store of y (line 6) has cta scope, and P1 "
         "is in another cta."),
        ("MP+fences.cta-fence", SEES.format("line 7") + "P1's 'fence.acq_rel.cta' (line 6) has cta "
         "scope, and P0 is in another cta."),
        ("SB", "P0's load of y (line 6) may come before its earlier store of x (line 5): only a "
         "seq_cst fence between the two keeps that order for all threads, and there is none."),
        ("proxy.texture", "P0's load of x (line 6) goes through the texture proxy, and no proxy "
         "fence orders it with the others."),
        ("async.load.no-wait", "P0's load of s (line 7) reads s = 0 before P0's store of s (line 6) is "
         "there: that is asynchronous, and nothing between line 6 and line 7 waits for it."),
        ("async.other-cta.no-fence", "P1's load of x (line 6) reads x = 0 before P0's store of x "
         "(line 5) is there: the two go through different proxies, of which one is async, and what "
         "stands between does not order them."),
        ("barrier.cluster.relaxed", "P1's load of x (line 7) reads x = 0 before P0's store of x "
         "(line 5) is there: a barrier stands between in both threads, but does not order the two."),
        ("MP+rel+acq", "P1 cannot read x = 0 (line 6): P0's store of x (line 5) overwrites that and "
         "comes before it, for P1's load of y (line 5) synchronises with P0's store of y (line 6) "
         "(Causality)."),
    ],
)  # fmt: skip
def test_sentences_of_the_ptx_model(name: str, story: str):
    assert ptx(name) == story


def told(text: str) -> str:
    """The story of a test in columns."""
    test = parse_litmus(text)
    witness = ptx_witnesses.explain(test.program, test.condition.deciding)
    assert witness is not None
    return ptx_graph(test, witness).explanation


POLLED = """PTX polled
{ x=0; f=0; }
 P0@cta 0,gpu 0      | P1@cta 1,gpu 0                 | P2@cta 2,gpu 0 ;
 st.weak x, 42       | atom.relaxed.gpu.add r0, f, 1  | REREAD         ;
 st.release.gpu f, 1 | READ                           | ld.weak r1, x  ;
~exists (CONDITION)
"""


@pytest.mark.parametrize(
    ("reader", "read", "reread", "condition"),
    [
        ("P1's load of f (line 4)", "ld.weak r1, x", "ld.relaxed.gpu r2, f",
         "P1:r0 == 1 /\\ P1:r1 == 0"),
        ("P2's load of f (line 4)", "st.relaxed.gpu y, 1", "atom.relaxed.gpu.add r0, f, 1",
         "P1:r0 == 1 /\\ P2:r0 == 2 /\\ P2:r1 == 0"),
    ],
)  # fmt: skip
def test_an_update_that_polls_lacks_an_acquire(reader: str, read: str, reread: str, condition: str):
    """Also behind an update of another thread, which continues the release sequence."""
    text = POLLED.replace("REREAD", reread).replace("READ", read).replace("CONDITION", condition)
    story = told(text)
    lacks = f"{reader} is relaxed and acquires nothing, and no acquire fence stands between line 4"
    assert f"{lacks} and line 5." in story
    fixed = parse_litmus(text.replace("atom.relaxed", "atom.acquire"))
    deciding = fixed.condition.deciding
    witness = ptx_witnesses.explain(fixed.program, deciding)
    assert witness is not None
    assert witness.violations


CORPUS = sorted((ROOT / "tests/litmus/ptx").glob("*.litmus"))


def everywhere(program: PtxProgram, ordering: Ordering) -> PtxProgram:
    """The program with a fence between any two instructions."""
    fence = PtxFence(ordering, Scope.SYSTEM)
    threads = [
        Thread(t.placement, tuple(each for own in t.instructions for each in (own, fence))[:-1])
        for t in program.threads
    ]
    return replace(program, threads=tuple(threads))


def test_the_fence_that_a_story_names_forbids_it_and_no_weaker_one_does():
    named = 0
    for path in CORPUS:
        test = read_litmus(path)
        if "only a seq_cst fence" not in (story := ptx(path.stem) if is_told(test) else ""):
            continue
        named += 1
        deciding = test.condition.deciding
        witness = ptx_witnesses.explain(everywhere(test.program, Ordering.SEQ_CST), deciding)
        assert witness is None or witness.violations, story
        weaker = ptx_witnesses.explain(everywhere(test.program, Ordering.ACQ_REL), deciding)
        assert weaker is not None
        assert not weaker.violations, story
    assert named >= 2


def is_told(test: PtxLitmusTest) -> bool:
    """Whether there is an execution to tell of, in few words."""
    few = sum(len(each.instructions) for each in test.program.threads) <= 6
    return few and ptx_witnesses.explain(test.program, test.condition.deciding) is not None


EVENTS = [
    ExplainedEvent(0, "store of x", "x = 1", "a", RELAXED, Scope.AGENT, Placement(), writes=True),
    ExplainedEvent(0, "load of y", "y = 0", "b", RELAXED, Scope.AGENT, Placement()),
    ExplainedEvent(1, "store of y", "y = 1", "c", RELAXED, Scope.AGENT, Placement(1), writes=True),
    ExplainedEvent(1, "load of x", "x = 0", "d", RELAXED, Scope.AGENT, Placement(1)),
]
BUFFERED = [(0, 1, "po"), (1, 2, "fr"), (2, 3, "po"), (3, 0, "fr")]


ONLY, ALSO = (f": {each}a seq_cst fence between the two keeps that order" for each in ("only ", ""))


@pytest.mark.parametrize(
    ("weaker", "strongest", "weaker_everywhere", "says"),
    [
        (False, True, False, ONLY),
        (False, True, True, ALSO),
        (False, True, None, ALSO),
        (
            True,
            True,
            True,
            ": a fence that acquires and releases between the two keeps that order,",
        ),
        (False, None, False, ": no seq_cst fence stands between the two."),
        (None, None, None, ": no seq_cst fence stands between the two."),
        (False, False, False, "The threads do not agree on an order"),
    ],
)
def test_a_story_says_no_more_of_a_fence_than_the_model_does(
    weaker: bool | None, strongest: bool | None, weaker_everywhere: bool | None, says: str
):
    def fenced(ordering: Ordering, gaps: Sequence[tuple[int, int]] | None) -> bool | None:
        if gaps is None:
            assert ordering is Ordering.ACQ_REL
            return weaker_everywhere
        assert sorted(gaps) == [(0, 1), (2, 3)]
        return strongest if ordering is Ordering.SEQ_CST else weaker

    relations = {"po": frozenset({(0, 1), (2, 3)}), "rf": frozenset[tuple[int, int]]()}
    assert says in weak_explained(EVENTS, relations, BUFFERED, fenced)


def source(name: str) -> str:
    case = source_cases.BY_NAME[name]
    program = case.test.program
    races = behaviour(program).races
    if races:
        witness = source_model.explain_race(program, races[0])
    else:
        witness = source_witnesses.explain(program, case.test.condition.formula)
    assert witness is not None
    return source_graph(program, witness).explanation


def test_sentences_of_the_source_model():
    assert "is relaxed and releases nothing, and no release fence stands between" in source("S+rlx")
    assert "is relaxed and acquires nothing, and no acquire fence" in source("WRC+rlx")
    assert "only a seq_cst fence" in source("SB+acq_rel-fences")
    assert "only a seq_cst fence" not in source("exchange")
    assert source("weak-flag").startswith("Data race on f: ")
    assert source("CoWW") == "An interleaving of the threads ends so."


def is_interleaving(found: Counterexample) -> bool:
    """Whether every read takes what the last write that was performed has left."""
    compiled = found.machine.compiled
    memory = {(False, n): each.initial for n, each in enumerate(compiled.lines)}
    memory |= {(True, n): each.initial for n, each in enumerate(compiled.lds)}
    for event in found.trace.events:
        if event.read is not None and memory[event.in_lds, event.line] != event.read:
            return False
        if event.kind is MachineEventKind.PERFORM and event.written is not None:
            memory[event.in_lds, event.line] = event.written
    return True


@pytest.mark.parametrize(
    "name", ["mp-agent", "mp-agent-one-xcd-without-invalidate", "mp-workgroup", "corr-one-cu"]
)
def test_only_an_interleaving_is_called_one(name: str):
    """Of every outcome of a program, weak or not."""
    case = cdna_cases.BY_NAME[name]
    outcomes = explore(CdnaEngine(case.test.program, case.configuration)).outcomes.states
    told_so = 0
    for outcome in outcomes:
        found = find_execution(case.test.program, outcome.__eq__, case.configuration)
        assert found is not None
        if "interleaving" in found.explanation:
            told_so += 1
            assert is_interleaving(found), found
    assert told_so
