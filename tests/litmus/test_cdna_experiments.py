"""What was seen on an MI300X, as litmus tests: the CDNA machine has every outcome of it.

``x`` is data in local memory, as it was there, and ``f`` and ``g`` are flags that order what the
experiments ordered by time. A reader is on the writer's XCD (near) or on another (far). What was
polled 200,000 times in vain is a hang of the progress mode.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from cdna_cases import (
    CU0,
    CU1,
    GFX942,
    INV,
    VM,
    WB,
    XCD1,
    Case,
    Code,
    TwoAtATime,
    case,
    load,
    store,
)

from fencewright.lowering.evidence import Evidence
from fencewright.simulator.cdna.engine import CdnaEngine, SetLine, Versions
from fencewright.simulator.cdna.instructions import CacheInstruction, ScalarLoad, Wait
from fencewright.simulator.cdna.machine import CdnaMachine, PlainLine
from fencewright.simulator.cdna.progress import stuck
from fencewright.simulator.cdna.rows import ACCESS, CACHE
from fencewright.simulator.cdna.system import LineTopology, MachineEventKind
from fencewright.simulator.cdna.wave import CompiledProgram, Op, WaveRules
from fencewright.simulator.core.condition import Condition
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, MemoryKind, Placement

PAGE = Path(__file__).parents[2] / "docs" / "cdna-machine.md"
FAR = Placement(workgroup=2, xcd=1)
MEMORY = (Location("x", kind=MemoryKind.LOCAL), Location("f"), Location("g"))
RAISE_F: Code = (VM, store("f", 1, "sc1"))
SEE_F: Code = (load("r0", "f", "sc1"), VM)
INV_LOAD: Code = (INV, load("r1", "x"))


@dataclass(frozen=True, slots=True)
class Observation:
    """Outcomes of an experiment, as ``exists``; ``forbidden`` is one that it spoke against."""

    experiment: int
    case: Case
    forbidden: bool = False


def seen(number: int, what: str, condition: str, *threads: tuple[Placement, Code]) -> Observation:
    quantifier = "~exists" if what.startswith("never") else "exists"
    made = case(f"{number}-{what}", f"{quantifier} ({condition})", *threads, locations=MEMORY)
    return Observation(number, made, quantifier == "~exists")


def after(writer: Code, reader: Code, at: Placement) -> tuple[tuple[Placement, Code], ...]:
    """A reader that reads when the writer has done all, and the writer."""
    return (CU0, (*writer, *RAISE_F)), (at, (*SEE_F, *reader))


NEW, OLD = r"P1:r0 == 1 /\ P1:r1 == 1", r"P1:r0 == 1 /\ P1:r1 == 0"
PLAIN: Code = (store("x", 1),)
WIDE: Code = (store("x", 1, "sc1"),)
BACK: Code = (store("x", 1), WB)


def reads(*bits: str) -> Code:
    return (load("r1", "x", *bits),)


def chain(bits: tuple[str, ...]) -> tuple[tuple[Placement, Code], ...]:
    """A near reader sees the store first, a far one reads after that."""
    near: Code = (load("r1", "x", *bits), VM, store("g", 1, "sc1"))
    far: Code = (load("r2", "g", "sc1"), VM, load("r3", "x", *bits))
    return (CU0, PLAIN), (CU1, near), (FAR, far)


LATE = r"P1:r1 == 1 /\ P2:r2 == 1 /\ P2:r3 == 0"

OBSERVATIONS = (
    seen(1, "near-stale", OLD, *after(PLAIN, reads(), CU1)),
    seen(1, "near-new", NEW, *after(PLAIN, reads(), CU1)),
    seen(1, "far-stale", OLD, *after(PLAIN, reads(), FAR)),
    seen(2, "near-new", NEW, *after(PLAIN, reads("nt"), CU1)),
    seen(2, "far-stale", OLD, *after(PLAIN, reads("nt"), FAR)),
    seen(2, "far-new", NEW, *after(PLAIN, reads("nt"), FAR)),
    seen(2, "far-stale-after-near", LATE, *chain(("nt",))),
    seen(3, "near-new", NEW, *after(WIDE, reads("nt"), CU1)),
    seen(3, "far-new", NEW, *after(WIDE, reads("nt"), FAR)),
    seen(3, "never-a-stale-l2", OLD, *after(WIDE, INV_LOAD, FAR)),
    seen(4, "near-new", NEW, *after(BACK, reads("nt"), CU1)),
    seen(4, "far-new", NEW, *after(BACK, reads("nt"), FAR)),
    seen(5, "near-new", NEW, *after(PLAIN, reads("sc1"), CU1)),
    seen(5, "never-near-stale", OLD, *after(PLAIN, reads("sc1"), CU1)),
    seen(5, "far-stale", OLD, *after(PLAIN, reads("sc1"), FAR)),
    seen(5, "far-new", NEW, *after(PLAIN, reads("sc1"), FAR)),
    seen(5, "far-stale-after-near", LATE, *chain(("sc1",))),
    seen(6, "near-new", NEW, *after(PLAIN, INV_LOAD, CU1)),
    seen(6, "never-near-stale", OLD, *after(PLAIN, INV_LOAD, CU1)),
    seen(6, "far-stale", OLD, *after(PLAIN, INV_LOAD, FAR)),
    seen(7, "near-new", NEW, *after(BACK, INV_LOAD, CU1)),
    seen(7, "far-new", NEW, *after(BACK, INV_LOAD, FAR)),
    seen(7, "never-stale", OLD, *after(BACK, INV_LOAD, FAR)),
    seen(
        8,
        "own-store-not-in-the-l1",
        r"P1:r1 == 1 /\ P0:r0 == 1 /\ P0:r1 == 2",
        (CU0, (*PLAIN, *RAISE_F, load("r0", "g", "sc1"), VM, load("r1", "x"))),
        (CU1, (load("r1", "f", "sc1"), VM, store("x", 2), VM, store("g", 1, "sc1"))),
    ),
    seen(9, "kept-by-the-l2", NEW, *after(BACK, reads("sc1"), FAR)),
)


def on_engine(condition: Condition, system: CdnaEngine) -> bool:
    found = explore(system)
    assert found.complete
    return condition.verdict(found.outcomes)


@pytest.mark.parametrize("each", OBSERVATIONS, ids=lambda each: each.case.name)
def test_what_was_seen_is_an_outcome_of_the_machine(each: Observation):
    assert on_engine(each.case.test.condition, CdnaEngine(each.case.test.program, GFX942))


def test_the_plain_machine_says_the_same():
    complete = 0
    for each in OBSERVATIONS:
        plain = explore(CdnaMachine(each.case.test.program, GFX942), 4_000)
        engine = explore(CdnaEngine(each.case.test.program, GFX942))
        assert plain.outcomes.states <= engine.outcomes.states
        complete += plain.complete
        assert not plain.complete or plain.outcomes == engine.outcomes
    assert complete > 10


def poll(*bits: str, before: Code = ()) -> Code:
    return (Label("poll"), *before, load("r1", "x", *bits), VM, Branch("poll", "r1", unless=True))


def polls(writer: Code, *readers: tuple[Placement, Code]) -> set[int]:
    """The readers that may poll for ever, without help from the caches."""
    program = case("polls", "exists (true)", (CU0, writer), *readers, locations=MEMORY).test.program
    return {wave.thread for hang in stuck(program) for wave in hang.threads}


@pytest.mark.parametrize(
    ("writer", "reader", "hangs"),
    [
        (PLAIN, poll(), {"near", "far"}),
        (PLAIN, poll("nt"), {"near", "far"}),
        (PLAIN, poll("sc1"), {"far"}),
        (PLAIN, poll(before=(INV,)), {"far"}),
        (WIDE, poll("sc1"), set[str]()),
        (BACK, poll("sc1"), set[str]()),
        (BACK, poll(before=(INV,)), set[str]()),
    ],
    ids=["1", "2", "5", "6", "3", "4", "7"],
)
def test_what_was_polled_in_vain_hangs(writer: Code, reader: Code, hangs: set[str]):
    """nt loads poll in vain near the writer too, where they did not: the machine takes nt for a hint."""
    found = {name for name, at in (("near", CU1), ("far", FAR)) if polls(writer, (at, reader))}
    assert found == hangs


def test_sc1_polls_of_the_writers_xcd_do_not_free_those_of_another():
    """Experiment 5: 38 CUs saw the store and 266 did not, so the near loads wrote nothing back."""
    near, far = poll("sc1"), poll("sc1")
    assert polls(PLAIN, (CU1, near), (FAR, far)) == {2}


def test_a_store_brings_no_line_into_the_l1_and_a_load_does():
    """Experiment 8, as what hits: the first load after a store misses, the next hits."""
    code: Code = (store("x", 1), VM, load("r0", "x"), VM, load("r1", "x"))
    machine = CdnaMachine(case("8", "exists (true)", (CU0, code), locations=MEMORY).test.program,
                          GFX942, spontaneous=False)  # fmt: skip
    state, kinds = machine.initial(), list[tuple[MachineEventKind, int]]()
    while steps := machine.successors(state):
        state, event = steps[0]
        if event.kind in (MachineEventKind.HIT, MachineEventKind.PERFORM):
            kinds.append((event.kind, machine.compiled.by_number[event.number].pc))
    assert kinds == [
        (MachineEventKind.PERFORM, 0),
        (MachineEventKind.PERFORM, 2),
        (MachineEventKind.HIT, 4),
    ]


def test_an_invalidate_leaves_local_lines_in_the_l2():
    """Experiment 9: a load after it took 212 cycles, which is the L2."""
    program = case(
        "9", "exists (true)", (CU0, (INV, load("r0", "x"))), locations=MEMORY
    ).test.program
    compiled = CompiledProgram(program, GFX942)
    line = PlainLine(LineTopology(compiled, 0))
    invalidate = compiled.by_number[0]
    assert line.marked(0, (2,), 0, invalidate) == (0, (2,))
    line.kind = MemoryKind.NONLOCAL
    assert line.marked(0, (2,), 0, invalidate) == (0, (-1,))


# Machines that what was seen speaks against


class WritesBackForLoads(PlainLine):
    """A load past the L2 writes a dirty line back first."""

    def finds_dirty(self, op: Op, held: int) -> bool:
        return False


class WritesBackForLoadsOfSets(SetLine):
    """A load past the L2 writes a dirty line back first."""

    def finds_dirty(self, op: Op, l2: Versions) -> bool:
        return False


def test_a_machine_whose_sc1_loads_write_back_is_caught():
    (late,) = (each for each in OBSERVATIONS if each.case.name == "5-far-stale-after-near")
    program, condition = late.case.test.program, late.case.test.condition
    engine = CdnaEngine(program, GFX942, WritesBackForLoadsOfSets)
    assert not on_engine(condition, engine)
    threads = ((CU0, PLAIN), (CU1, poll("sc1")), (FAR, poll("sc1")))
    spins = case("polls", "exists (true)", *threads, locations=MEMORY).test.program
    assert stuck(spins, line_rules=WritesBackForLoads) == ()


def table(heading: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading of the machine's page."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_experiment_is_a_test_and_speaks_of_rules():
    experiments, rules = table("The experiments"), table("The rules")
    assert {f"{each.experiment}" for each in OBSERVATIONS} == {number for number, *_ in experiments}
    spoken_of = {number for *_, rules in experiments for number in rules.split(", ")}
    assert spoken_of <= {number for number, *_ in rules}
    assert {number for number, _, known, *_ in rules if known == "measured"} <= spoken_of


def test_every_row_says_how_well_it_is_known():
    for row in (*ACCESS.rows, *CACHE.rows):
        assert row.evidence is not None
        assert ("MI300X" in row.source) is (row.evidence is Evidence.MEASURED)


# The scalar cache, and full counters


def test_the_scalar_cache_may_hold_a_line_from_before_the_first_instruction():
    """Only with that is a poll by scalar loads stuck that begins when the store is visible."""
    spin: Code = (
        *SEE_F,
        Label("poll"),
        ScalarLoad("r1", "x"),
        Wait(lgkmcnt=0),
        Branch("poll", "r1", unless=True),
    )
    wait: Code = (Label("see"), *SEE_F, Branch("see", "r0", unless=True))

    def hangs(reader: Code) -> bool:
        writer: Code = (*BACK, *RAISE_F)
        threads = ((CU0, writer), (XCD1, reader))
        return bool(stuck(case("s", "exists (true)", *threads, locations=MEMORY).test.program))

    assert hangs((*wait, *spin[2:]))
    assert not hangs((*wait, CacheInstruction("s_dcache_inv"), INV, *spin[2:]))


class NeverFull(WaveRules):
    """Counters without an end."""

    def is_held_up(self, state: object, op: Op) -> bool:
        return False


def test_a_full_counter_holds_up_what_it_counts():
    """63 stores later, the first has been performed, without a wait; 62 later, it may not have."""
    stale = r"~exists (P1:r0 == 1 /\ P1:r1 == 0)"
    reader: Code = (load("r0", "f", "sc1"), VM, load("r1", "x", "sc1"))

    def holds(between: int, rules: type[WaveRules] = WaveRules) -> bool:
        writer: Code = (*WIDE, *(store("y", 1, "sc1"),) * between, store("f", 1, "sc1"))
        made = case("c", stale, (CU0, writer), (XCD1, reader), locations="xyf").test
        found = [
            explore(CdnaEngine(made.program, wave_rules=rules)),
            *([explore(CdnaMachine(made.program, wave_rules=rules))] if between < 4 else []),
        ]
        assert all(each.complete for each in found)
        assert len({each.outcomes for each in found}) == 1
        return made.condition.verdict(found[0].outcomes)

    assert [holds(n, TwoAtATime) for n in (0, 1, 2)] == [False, True, True]
    assert [holds(n) for n in (61, 62)] == [False, True]
    assert not holds(62, NeverFull)
