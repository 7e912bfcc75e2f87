"""The PTX model: verdicts, every axiom broken on purpose, witnesses, loops.

The outcome sets are also compared with a second implementation of the axioms, which is
written with sets of pairs and without any of the short cuts (``definition``).
"""

import csv
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Quantifier, parse_condition
from fencewright.simulator.core.program import Location, Placement, ProgramError, Thread
from fencewright.simulator.ptx import definition
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    Ld,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    St,
)
from fencewright.simulator.ptx.formats.columns import (
    PtxLitmusTest,
    parse_litmus,
    read_litmus,
    witness_text,
)
from fencewright.simulator.ptx.instructions import Restriction
from fencewright.simulator.ptx.model import Axiom, PtxModel, Version
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.witnesses import explain

LITMUS = Path(__file__).parents[1] / "litmus" / "ptx"
CORPUS = os.environ.get("FENCEWRIGHT_PTX_LITMUS")
needs_corpus = pytest.mark.skipif(
    CORPUS is None, reason="FENCEWRIGHT_PTX_LITMUS names no folder of PTX litmus tests"
)
DAT3M_VERDICTS = Path("dartagnan/src/test/resources")
"""Where a checkout of Dat3M has the verdicts that it publishes."""


def own_tests(version: Version) -> list[tuple[PtxLitmusTest, bool]]:
    with (LITMUS / "expected.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row[version.value] != "-"]
    return [(read_litmus(LITMUS / row["test"]), row[version.value] == "1") for row in rows]


def corpus_tests(version: Version) -> list[tuple[PtxLitmusTest, bool]]:
    """The published tests: of a checkout of Dat3M, or of a folder with an ``expected.csv``."""
    folder = Path(CORPUS or "")
    verdicts = folder / DAT3M_VERDICTS / f"PTXv{version.value.replace('.', '_')}-expected.csv"
    with (verdicts if verdicts.exists() else folder / "expected.csv").open() as file:
        rows = [row for row in csv.reader(file) if row]
    return [(read_litmus(folder / name), verdict == "1") for name, verdict in rows]


OWN = {version: own_tests(version) for version in Version}
CASES = [
    pytest.param(version, test, expected, id=f"{version.value}-{test.name}")
    for version, tests in OWN.items()
    for test, expected in tests
]


def named(name: str) -> PtxLitmusTest:
    return read_litmus(LITMUS / f"{name}.litmus")


def test_every_litmus_file_has_an_expected_verdict() -> None:
    with (LITMUS / "expected.csv").open() as file:
        listed = {row["test"] for row in csv.DictReader(file)}
    assert listed == {path.name for path in LITMUS.glob("*.litmus")}


@pytest.mark.parametrize(("version", "test", "expected"), CASES)
def test_verdict(version: Version, test: PtxLitmusTest, expected: bool) -> None:
    allowed = outcomes(test.program, PtxModel(version))
    assert allowed.complete
    assert test.condition.verdict(allowed) is expected
    assert bool(allowed.states) is (not test.name.startswith("crossed-barriers"))


@needs_corpus
@pytest.mark.parametrize("version", list(Version))
def test_the_public_corpus_in_under_a_second(version: Version) -> None:
    started = time.process_time()
    wrong = [
        test.name
        for test, expected in corpus_tests(version)
        if test.condition.verdict(outcomes(test.program, PtxModel(version))) is not expected
    ]
    assert wrong == []
    assert time.process_time() - started < 1


FLIPS = {
    (Version.V6_0, Axiom.COHERENCE): {
        "2+2W+fence.sc",
        "CoWW+causality",
        "R+fence.sc",
        "S+rel+acq",
    },
    (Version.V7_5, Axiom.COHERENCE): {"CoWW+causality", "S+rel+acq"},
    (Version.V6_0, Axiom.BARRIERS): {"crossed-barriers"},
    (Version.V7_5, Axiom.BARRIERS): {"crossed-barriers"},
    (Version.V6_0, Axiom.FENCE_SC): set[str](),
    (Version.V7_5, Axiom.FENCE_SC): set[str](),
    (Version.V6_0, Axiom.ATOMICITY): {"RMW", "RMW+store"},
    (Version.V7_5, Axiom.ATOMICITY): {"RMW", "RMW+store"},
    (Version.V6_0, Axiom.NO_THIN_AIR): {"LB+ctrl", "LB+data"},
    (Version.V7_5, Axiom.NO_THIN_AIR): {"LB+ctrl", "LB+data"},
    (Version.V6_0, Axiom.SC_PER_LOCATION): {"CoWW"},
    (Version.V7_5, Axiom.SC_PER_LOCATION): set[str](),
}


def flipped(version: Version, weaker: PtxModel) -> set[str]:
    """The tests whose verdict ``weaker`` changes."""
    return {
        test.name
        for test, expected in OWN[version]
        if test.condition.verdict(outcomes(test.program, weaker)) is not expected
    }


@pytest.mark.parametrize(("version", "axiom"), FLIPS)
def test_without_an_axiom_these_verdicts_flip(version: Version, axiom: Axiom) -> None:
    assert flipped(version, PtxModel(version).without(axiom)) == FLIPS[version, axiom]


@pytest.mark.parametrize("version", list(Version))
def test_fence_sc_forbids_what_barriers_alone_would_let_pass(version: Version) -> None:
    """Only crosswise meetings leave no order of the fences, and nobody meets crosswise."""
    without = PtxModel(version).without(Axiom.BARRIERS)
    found = flipped(version, without.without(Axiom.FENCE_SC)) - flipped(version, without)
    assert found == {"crossed-barriers+fence.sc"}


@pytest.mark.parametrize(("version", "least"), [(Version.V6_0, 23), (Version.V7_5, 35)])
def test_without_causality_most_forbidden_outcomes_are_allowed(
    version: Version, least: int
) -> None:
    found = flipped(version, PtxModel(version).without(Axiom.CAUSALITY))
    assert len(found) >= least
    assert {"MP+rel+acq", "SB+fence.sc", "WRC+rel+acq"} <= found


@pytest.mark.parametrize("version", list(Version))
def test_without_moral_strength_a_narrow_fence_synchronizes(version: Version) -> None:
    found = flipped(version, PtxModel(version, moral_strength_in_sync=False))
    assert found == {"MP+fences.cta-fence"}


CORPUS_FLIPS = {
    84: {
        Axiom.COHERENCE: (1, 1),
        Axiom.BARRIERS: (0, 0),
        Axiom.FENCE_SC: (0, 0),
        Axiom.ATOMICITY: (6, 6),
        Axiom.NO_THIN_AIR: (0, 0),
        Axiom.SC_PER_LOCATION: (2, 0),
        Axiom.CAUSALITY: (23, 23),
    },
    135: {
        Axiom.COHERENCE: (6, 4),
        Axiom.BARRIERS: (0, 0),
        Axiom.FENCE_SC: (0, 0),
        Axiom.ATOMICITY: (9, 9),
        Axiom.NO_THIN_AIR: (0, 0),
        Axiom.SC_PER_LOCATION: (6, 0),
        Axiom.CAUSALITY: (39, 80),
    },
}
"""How many verdicts flip without an axiom in 6.0 and 7.5, by how many tests 6.0 has."""


@needs_corpus
@pytest.mark.parametrize("axiom", list(Axiom))
def test_what_the_public_verdicts_can_tell_apart(axiom: Axiom) -> None:
    tests = {version: corpus_tests(version) for version in Version}
    found = tuple(
        sum(
            test.condition.verdict(outcomes(test.program, PtxModel(version).without(axiom)))
            is not expected
            for test, expected in tests[version]
        )
        for version in Version
    )
    assert found == CORPUS_FLIPS[len(tests[Version.V6_0])][axiom]


# The engine and the definition


def random_program(seed: int, restricted: bool = False) -> PtxProgram:
    """``restricted``: in clusters, partly in shared memory, with fences of that alone."""
    choose = random.Random(seed)
    scopes = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
    clusters = (0, 0, 0, 1) if restricted else (None,)

    def placement() -> Placement:
        cta, gpu = choose.randrange(2), choose.choice((0, 0, 1))
        return Placement(cta, agent=gpu, cluster=choose.choice(clusters))

    def instruction(register: str) -> PtxInstruction:
        location, scope = choose.choice("xy"), choose.choice(scopes)
        if restricted and choose.random() < 0.4:
            restriction = choose.choice(tuple(Restriction))
            return PtxFence(restriction.ordering, Scope.CLUSTER, restriction)
        match choose.randrange(7):
            case 0:
                return Ld(register, location)
            case 1:
                ordering = choose.choice((Ordering.RELAXED, Ordering.ACQUIRE))
                return Ld(register, location, ordering, scope)
            case 2:
                return St(location, choose.choice((1, 2, "r0")))
            case 3:
                ordering = choose.choice((Ordering.RELAXED, Ordering.RELEASE))
                return St(location, choose.choice((1, 2)), ordering, scope)
            case 4:
                orderings = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
                ordering = choose.choice((Ordering.RELAXED, *orderings))
                target = choose.choice((register, None))
                operation = choose.choice((RmwKind.ADD, RmwKind.XCHG))
                compare = choose.choice((None, None, 0))
                return Atom(target, location, operation, 1, compare, ordering, scope)
            case 5:
                return Bar(BarrierRole.SYNC, 1)
            case _:
                orderings = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
                ordering = choose.choice((*orderings, Ordering.SEQ_CST, Ordering.SEQ_CST))
                return PtxFence(ordering, scope)

    size = choose.choice(((3, 3), (2, 3, 2), (2, 2, 2), (4, 2)))
    return PtxProgram(
        (Location("x"), Location("y")),
        tuple(
            Thread(placement(), tuple(instruction(f"r{i}") for i in range(length)))
            for length in size
        ),
        shared={name: placement() for name in "xy" if restricted and choose.random() < 0.8},
    )


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_outcomes_agree_with_the_definition(version: Version, first: int) -> None:
    for seed in range(first, first + 20):
        program = random_program(seed)
        found = outcomes(program, PtxModel(version))
        assert found == definition.outcomes(program, version), seed


@pytest.mark.parametrize("version", list(Version))
def test_restricted_fences_agree_with_the_definition(version: Version) -> None:
    """The random programs around message passing, of which few would happen by themselves."""
    told_apart = 0
    for seed in range(60):
        program = random_program(seed, restricted=True)
        data, flag = "xy" if seed % 2 else "yx"
        first, second = program.threads[:2]
        middle = first.instructions[:1], second.instructions[:1]
        release, acquire = (PtxFence(e.ordering, Scope.CLUSTER, e) for e in Restriction)
        relaxed = Ordering.RELAXED, Scope.CLUSTER
        publish = (St(data, 3), release, *middle[0], St(flag, 3, *relaxed))
        consume = (Ld("r8", flag, *relaxed), acquire, *middle[1], Ld("r9", data))
        program = replace(
            program,
            threads=(replace(first, instructions=publish), replace(second, instructions=consume)),
        )
        found = outcomes(program, PtxModel(version))
        assert found == definition.outcomes(program, version), seed
        told_apart += found != outcomes(unrestricted(program), PtxModel(version))
    assert told_apart > 10


@pytest.mark.parametrize(
    "what",
    [
        "MP+sync_restrict.global-flag",
        "MP+sync_restrict.global-data",
        "MP+sync_restrict.remote-data",
        "MP+sync_restrict.acquire.global-data",
        "barrier.cluster.sync_restrict",
        "ISA2+sync_restrict.peer-data",
    ],
)
def test_what_a_restricted_fence_leaves_out_a_whole_one_orders(what: str) -> None:
    test = named(what)
    assert test.condition.verdict(outcomes(test.program))
    assert not test.condition.verdict(outcomes(unrestricted(test.program)))


def unrestricted(program: PtxProgram) -> PtxProgram:
    """The program with fences of everything."""
    threads = (
        replace(
            thread,
            instructions=tuple(
                replace(e, restriction=None) if isinstance(e, PtxFence) else e
                for e in thread.instructions
            ),
        )
        for thread in program.threads
    )
    return replace(program, threads=tuple(threads))


# Witnesses


def test_a_forbidden_outcome_names_the_axiom_and_the_cycle() -> None:
    test = named("MP+rel+acq")
    witness = explain(test.program, test.condition.deciding)
    assert witness is not None
    assert not witness.allowed
    assert [axiom for axiom, _ in witness.violations] == [Axiom.CAUSALITY]
    shown = witness_text(test, witness).splitlines()
    assert shown == [
        "  0  init  W x = 0",
        "  1  init  W y = 0",
        "  2  P0    W x = 1      st.weak x, 1",
        "  3  P0    W y = 1      st.release.gpu y, 1",
        "  4  P1    R y = 1      ld.acquire.gpu r0, y",
        "  5  P1    R x = 0      ld.weak r1, x",
        "po    2->3 4->5",
        "rf    0->5 3->4",
        "co    0->2 1->3",
        "fr    5->2",
        "sync  3->4",
        shown[11],
        "sc    -",
        "final P1:r0=1 P1:r1=0 x=1 y=1",
        "forbidden by Causality: 5 -> 2 -> 5",
    ]


def test_an_allowed_outcome_has_an_execution() -> None:
    test = named("LB")
    witness = explain(test.program, test.condition.deciding)
    assert witness is not None
    assert witness.allowed
    assert test.condition.formula.holds(witness.state)


@pytest.mark.parametrize(("version", "test", "expected"), CASES)
def test_witnesses_agree_with_verdicts(
    version: Version, test: PtxLitmusTest, expected: bool
) -> None:
    witness = explain(test.program, test.condition.deciding, PtxModel(version))
    allowed = witness is not None and witness.allowed
    assert allowed is (expected is (test.condition.quantifier is Quantifier.EXISTS))


@pytest.mark.parametrize(
    ("name", "axiom"),
    [
        ("CoWW+causality", Axiom.COHERENCE),
        ("crossed-barriers", Axiom.BARRIERS),
        ("RMW", Axiom.ATOMICITY),
        ("LB+data", Axiom.NO_THIN_AIR),
        ("CoWW", Axiom.SC_PER_LOCATION),
        ("SB+fence.sc", Axiom.CAUSALITY),
    ],
)
def test_each_axiom_can_be_the_one_that_forbids(name: str, axiom: Axiom) -> None:
    test = named(name)
    witness = explain(test.program, test.condition.deciding, PtxModel(Version.V6_0))
    assert witness is not None
    assert [broken for broken, _ in witness.violations] == [axiom]
    assert all(cycle[0] == cycle[-1] for _, cycle in witness.violations)


def test_a_value_that_nobody_writes_has_no_execution() -> None:
    formula = parse_condition("exists (P1:r0 == 99)").formula
    assert explain(named("MP").program, formula) is None


# Loops


def looping(body: str) -> PtxProgram:
    rows = "".join(f" | {row} ;\n" for row in body.split("; "))
    return parse_litmus(
        f"PTX t {{ x=0; }}\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.relaxed.gpu x, 1 | ;\n{rows}exists true"
    ).program


@pytest.mark.parametrize(
    ("body", "complete"),
    [
        ("LC00:; ld.relaxed.gpu r0, x; bne r0, 1, LC00", True),
        ("LC00:; atom.relaxed.gpu.cas r0, x, 1, 2; bne r0, 1, LC00", True),
        ("LC00:; fence.sc.gpu; ld.acquire.gpu r0, x; bne r0, 1, LC00", True),
        ("LC00:; ld.relaxed.gpu r0, x; add r1, r1, 1; bne r0, 1, LC00", False),
        ("LC00:; red.relaxed.gpu.add x, 1; ld.relaxed.gpu r0, x; bne r0, 9, LC00", False),
        ("LC00:; goto LC00", True),
    ],
)
def test_a_loop_is_complete_only_if_its_rounds_leave_nothing_after(
    body: str, complete: bool
) -> None:
    assert outcomes(looping(body)).complete is complete


@pytest.mark.parametrize("name", ["MP+spin", "MP+cas-lock"])
def test_more_rounds_of_a_complete_loop_add_nothing(name: str) -> None:
    program = named(name).program
    assert outcomes(program) == outcomes(program, bound=3)


@pytest.mark.parametrize("fence", ["fence.sc.gpu", "fence.acq_rel.gpu"])
def test_rounds_with_fences_add_nothing(fence: str) -> None:
    """Each thread stores, and spins with a fence in every round on what the other stores."""
    rows = ["st.relaxed.gpu x, 1 | st.weak y, 1", "ld.relaxed.gpu r1, z | st.relaxed.gpu z, 1"]
    rows += ["LC00: | LC10:", f"{fence} | {fence}", "ld.relaxed.gpu r0, z | ld.relaxed.gpu r0, x"]
    rows += ["bne r0, 1, LC00 | bne r0, 1, LC10", f"{fence} | ", "ld.weak r2, y | "]
    text = "".join(f" {row} ;\n" for row in rows)
    head = "PTX t { x=0; y=0; z=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
    program = parse_litmus(f"{head}{text}exists true").program
    assert outcomes(program).complete
    assert outcomes(program) == outcomes(program, bound=3)


def test_more_rounds_of_an_incomplete_loop_are_unrolled() -> None:
    program = looping("LC00:; ld.relaxed.gpu r0, x; add r1, r1, 1; bne r0, 1, LC00")
    counts = [{state[1] for state in outcomes(program, bound=bound).states} for bound in (1, 2, 3)]
    assert counts == [{1}, {1, 2}, {1, 2, 3}]


# Bad programs


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("goto LC09", "thread 0 jumps to LC09, which is not there"),
        ("mbarrier.arrive c", "thread 0 uses c, which is not an mbarrier"),
        ("ld.weak r0, b", "thread 0 accesses b, which is an mbarrier"),
    ],
)
def test_programs_that_mean_nothing_are_refused(code: str, message: str) -> None:
    text = f"PTX t {{ b = mbarrier(1); }}\nP0@cta 0,gpu 0 ;\n{code} ;\nexists true"
    with pytest.raises(ProgramError, match=message):
        outcomes(parse_litmus(text).program)


@pytest.mark.parametrize("name", ["proxy.texture+fence", "alias", "async.load"])
def test_proxies_need_version_7_5(name: str) -> None:
    with pytest.raises(ProgramError, match=r"need the model of PTX 7\.5"):
        outcomes(named(name).program, PtxModel(Version.V6_0))
