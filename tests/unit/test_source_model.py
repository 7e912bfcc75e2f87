"""The source model: verdicts, every rule broken on purpose, a reference by plain enumeration."""

import os
import time
from dataclasses import replace
from functools import lru_cache

import pytest
from campaigns import Share, draws
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from processor import slowness
from source_cases import (
    ACQUIRE,
    AGENT,
    APART,
    BY_NAME,
    CASES,
    CLOSE_THEN_FAR,
    FAR_THEN_CLOSE,
    GROUP,
    GROUP0,
    NONE,
    OTHER_AGENT,
    RELAXED,
    RELEASE,
    SC,
    TOGETHER,
    WAVE,
    WEAK,
    Case,
    add,
    fence,
    guarded,
    load,
    program,
    spin,
    store,
)
from source_enumeration import Allowed, allowed

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.core.condition import Outcomes, Register, parse_condition
from fencewright.simulator.core.program import (
    Arithmetic,
    Branch,
    Label,
    Location,
    Move,
    Placement,
    Program,
    ProgramError,
    Thread,
)
from fencewright.simulator.source.behaviour import behaviour
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedOperation,
    ScopedProgram,
    Store,
)
from fencewright.simulator.source.execution import FULL_MODEL, ModelRule, SourceModel
from fencewright.simulator.source.model import executions, explain_race
from fencewright.simulator.source.witnesses import explain

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
EXAMPLES = 20 if THOROUGH else 1
"""How many times as many random programs as usual."""
SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def answers(case: Case, model: SourceModel = FULL_MODEL) -> bool:
    """Whether the model says of a case what the case says of itself."""
    found = behaviour(case.test.program, model)
    if found.outcomes is None:
        return any(case.race and case.race in race.reason for race in found.races)
    assert found.complete
    judged = case.test.condition.verdict(found.outcomes)
    return not case.race and bool(found.outcomes.states) and judged


@pytest.mark.parametrize("name", BY_NAME)
def test_case(name: str) -> None:
    assert answers(BY_NAME[name])


def test_no_case_has_the_name_of_another() -> None:
    assert len(BY_NAME) == len(CASES)


# Rules broken on purpose

FLIPS = {
    ModelRule.ATOMICITY: {"RMW", "RMW+store", "cas", "lock"},
    ModelRule.SEQ_CST: {
        "SB.two-spaces",
        "SB.two-spaces+whole-release",
        "2+2W+fences",
        "IRIW+fences",
        "IRIW+sc",
        "R+fences",
        "SB+fence+sc",
        "SB+fences",
        "SB+group-fences+together",
        "SB+rmw-sc",
        "SB+sc",
    },
    ModelRule.NO_THIN_AIR: {"LB+ctrl", "LB+data"},
    ModelRule.RELEASE_SEQUENCES: {"chain", "chain+wide", "exchange+wide"},
    ModelRule.FENCES: {
        "MP+fence+acq",
        "MP+fences",
        "MP+rel+fence",
        "U3",
        "across.local",
        "across.one-as",
        "barrier.relaxed+fences",
        "exchange+learned-before",
        "exchange+wide",
        "local",
        "through.global",
        "through.one-as",
    },
    ModelRule.BARRIERS: {
        "across.local",
        "across.one-as",
        "barrier",
        "barrier+leader",
        "barrier.agent",
        "barrier.relaxed+fences",
        "barriers",
    },
    ModelRule.INCLUSIVE_SCOPES: {
        "MP.agent+agents",
        "MP.av-none+narrow-data",
        "MP.group+apart",
        "MP.group-fence",
        "MP.one-side",
        "SB+group-fences",
        "exchange",
        "exchange+weak",
        "relay.av-none+lds",
        "wave",
    },
    ModelRule.TRANSITIVITY: {
        "MP.mixed",
        "U2",
        "U2.down",
        "barrier+leader",
        "exchange+learned-before",
        "relay.av-none",
        "relay.own-available",
    },
    ModelRule.UPDATE_HALVES: {"exchange", "exchange+weak"},
    ModelRule.ADDRESS_SPACES: {
        "MP.one-as",
        "SB+local-fences",
        "SB.two-spaces+one-as-release",
        "SC.global-release",
        "SC.one-as-release",
        "U3.local",
        "U3.one-as",
        "across.local+global-data",
        "across.other-spaces",
    },
    ModelRule.AVAILABILITY: {
        "MP.av-none",
        "MP.av-none+acq",
        "MP.av-none+narrow-data",
        "MP.av-none+volatile-read",
        "MP.rel+av-none",
        "relay.av-none",
        "relay.av-none+lds",
    },
    ModelRule.DATA_RACES: {each.name for each in CASES if each.race},
}


def flipped(rule: ModelRule) -> set[str]:
    """The cases that a model without ``rule`` gets wrong."""
    return {each.name for each in CASES if not answers(each, FULL_MODEL.without(rule))}


@pytest.mark.parametrize("rule", FLIPS)
def test_without_a_rule_these_cases_are_wrong(rule: ModelRule) -> None:
    assert flipped(rule) == FLIPS[rule]


@pytest.mark.parametrize(
    ("rule", "some"),
    [
        (
            ModelRule.COHERENCE,
            {"CoRR", "CoRR2", "CoRW", "CoRW2", "CoWR", "CoWR2", "CoWW", "S+rel+acq"},
        ),
        (
            ModelRule.RELEASE_ACQUIRE,
            {"MP+rel+acq", "LB+rel+acq", "WRC+rel+acq", "ISA2", "lock", "U2"},
        ),
    ],
)
def test_without_these_most_cases_are_wrong(rule: ModelRule, some: set[str]) -> None:
    found = flipped(rule)
    assert some <= found
    assert len(found) > 30


def test_every_rule_has_its_test() -> None:
    assert {*FLIPS, ModelRule.COHERENCE, ModelRule.RELEASE_ACQUIRE} == {*ModelRule}


# A second implementation, on random programs

GLOBALS = ("x", "y")
KINDS = (RmwKind.ADD, RmwKind.XCHG, RmwKind.OR)
PLACES = (TOGETHER, APART, CLOSE_THEN_FAR, FAR_THEN_CLOSE, (GROUP0, OTHER_AGENT, GROUP0))
limits = st.sampled_from((None, None, None, frozenset({AddressSpace.LOCAL})))
spaces = st.one_of(limits, st.just(frozenset({AddressSpace.GLOBAL})))
availabilities = st.sampled_from((Availability.FULL, Availability.FULL, NONE))
scopes = st.sampled_from((AGENT, AGENT, GROUP, Scope.SYSTEM, WAVE))


@st.composite
def instruction(draw: st.DrawFn, locations: tuple[str, ...], number: int) -> ScopedInstruction:
    """Any operation of the language; ``number`` names its register."""
    location, scope = draw(st.sampled_from(locations)), draw(scopes)
    register, value = f"r{number}", draw(st.integers(1, 2))
    limited = draw(st.booleans())
    within = draw(spaces) if limited else None
    one_as = limited and draw(st.booleans())
    quiet = draw(availabilities)
    choice = draw(st.sampled_from("llllsssssruuffffb"))
    if choice == "l":
        ordering = draw(st.sampled_from((WEAK, RELAXED, ACQUIRE, ACQUIRE, SC)))
        volatile = ordering is WEAK and draw(st.booleans())
        made = Load(register, location, ordering, None if ordering is WEAK else scope, volatile)
    elif choice == "s":
        ordering = draw(st.sampled_from((WEAK, RELAXED, RELEASE, RELEASE, SC)))
        volatile = ordering is WEAK and draw(st.booleans())
        written = draw(st.sampled_from((value, value, f"r{number - 1}")))
        made = Store(location, written, ordering, None if ordering is WEAK else scope, volatile)
    elif choice == "r":
        ordering = draw(st.sampled_from((RELAXED, ACQUIRE, RELEASE, Ordering.ACQ_REL, SC)))
        kind = draw(st.sampled_from(KINDS))
        made = AtomicRmw(kind, location, value, ordering, scope, register)
    elif choice == "u":
        ordering = draw(st.sampled_from((RELAXED, ACQUIRE, RELEASE, Ordering.ACQ_REL, SC)))
        failure = draw(st.sampled_from((RELAXED, ACQUIRE, SC)))
        made = Cmpxchg(location, value - 1, value, ordering, failure, scope, register)
    elif choice == "f":
        ordering = draw(st.sampled_from((ACQUIRE, RELEASE, Ordering.ACQ_REL, SC, SC)))
        made = Fence(ordering, scope)
    else:
        made = Barrier(scope, draw(st.sampled_from((RELAXED, Ordering.ACQ_REL))))
    if made.ordering in (WEAK, RELAXED):
        return made
    return replace(made, spaces=within, one_as=one_as, availability=quiet)


@st.composite
def random_programs(draw: st.DrawFn) -> ScopedProgram:
    """Two or three threads, at most seven operations, global memory and LDS."""
    where = draw(st.sampled_from(PLACES))
    locations = ("x", "l") if where is TOGETHER and draw(st.booleans()) else GLOBALS
    threads: list[tuple[ScopedInstruction, ...]] = []
    for size in draw(st.sampled_from(((3, 3), (3, 4), (2, 2, 2), (1, 2, 3), (1, 3, 3)))):
        code = [draw(instruction(locations, number)) for number in range(size)]
        first = code[0]
        if isinstance(first, Load) and draw(st.booleans()):
            threads.append((first, *guarded(first.dst, *code[1:])))
        else:
            threads.append(tuple(code))
    return program("random", where, *threads)


def pool(chosen: ScopedProgram) -> range:
    """Values that every value of a random program is among."""
    changing = [
        each
        for thread in chosen.threads
        for each in thread.instructions
        if isinstance(each, AtomicRmw) and each.kind is not RmwKind.XCHG
    ]
    return range(4 + 2 * len(changing) if changing else 3)


def few_reads(chosen: ScopedProgram) -> bool:
    """Whether plain enumeration ends soon."""
    reading = (Load, AtomicRmw, Cmpxchg)
    reads = [i for t in chosen.threads for i in t.instructions if isinstance(i, reading)]
    return len(pool(chosen)) ** len(reads) < 300


ORDERINGS: dict[type[ScopedOperation], tuple[Ordering, ...]] = {
    Load: (WEAK, RELAXED, ACQUIRE, SC),
    Store: (WEAK, RELAXED, RELEASE, SC),
    AtomicRmw: (RELAXED, ACQUIRE, RELEASE, Ordering.ACQ_REL, SC),
    Cmpxchg: (RELAXED, ACQUIRE, RELEASE, Ordering.ACQ_REL, SC),
    Fence: (ACQUIRE, RELEASE, Ordering.ACQ_REL, SC),
    Barrier: (RELAXED, Ordering.ACQ_REL),
}
STRAIGHT = [each for each in CASES if "spin" not in each.name and "lock" not in each.name]


def edited(draw: st.DrawFn, operation: ScopedOperation) -> ScopedOperation:
    """``operation`` with one thing about it changed."""
    scope = draw(scopes)
    what = draw(st.sampled_from(("ordering", "scope", "spaces", "one_as", "availability")))
    if what == "ordering":
        ordering = draw(st.sampled_from(ORDERINGS[type(operation)]))
        kept = AGENT if operation.scope is None else operation.scope
        return replace(operation, ordering=ordering, scope=None if ordering is WEAK else kept)
    if what == "scope":
        return operation if operation.ordering is WEAK else replace(operation, scope=scope)
    if what == "spaces":
        return replace(operation, spaces=draw(spaces))
    if what == "one_as":
        return replace(operation, one_as=not operation.one_as)
    return replace(operation, availability=draw(availabilities))


@st.composite
def mutants(draw: st.DrawFn) -> ScopedProgram:
    """A case with up to three changes: a word of an operation, an operation less, a placement."""
    chosen = draw(st.sampled_from(STRAIGHT)).test.program
    threads = [list(thread.instructions) for thread in chosen.threads]
    for _ in range(draw(st.integers(0, 3))):
        code = draw(st.sampled_from(threads))
        at = draw(st.integers(0, len(code) - 1)) if code else 0
        if not code or isinstance(code[at], Branch | Label | Move | Arithmetic):
            continue
        if draw(st.integers(0, 4)) == 0:
            del code[at]
        elif isinstance(operation := code[at], ScopedOperation):
            code[at] = edited(draw, operation)
    where = tuple(thread.placement for thread in chosen.threads)
    in_lds = any(each.space is AddressSpace.LOCAL for each in chosen.locations)
    if not in_lds and draw(st.integers(0, 3)) == 0:
        where = (*draw(st.sampled_from(PLACES)), GROUP0)
    placed = zip(where, threads, strict=False)
    return replace(
        chosen, threads=tuple(Thread(placement, tuple(code)) for placement, code in placed)
    )


@lru_cache(maxsize=4096)
def by_reference(chosen: ScopedProgram, values: range) -> Allowed:
    """The races and states of the reference; for every missing rule the same programs are drawn."""
    return allowed(chosen, values)


def agrees(chosen: ScopedProgram, values: range, model: SourceModel = FULL_MODEL) -> bool:
    """Whether races, and the states of all executions, are those of the reference."""
    expected = by_reference(chosen, values)
    races = {
        frozenset(((r.first.thread, r.first.position), (r.second.thread, r.second.position)))
        for r in behaviour(chosen, model).races
    }
    every = behaviour(chosen, model.without(ModelRule.DATA_RACES)).outcomes
    return {*expected.races} == races and every is not None and every.states == expected.states


RANDOM = settings(deadline=None, derandomize=not THOROUGH, suppress_health_check=SLOW)


@settings(RANDOM, max_examples=100 * EXAMPLES)
@given(random_programs().filter(few_reads))
def test_random_programs_agree_with_the_reference(chosen: ScopedProgram) -> None:
    assert agrees(chosen, pool(chosen))


@st.composite
def one_order_programs(draw: st.DrawFn) -> ScopedProgram:
    """seq_cst accesses to global memory and LDS, with releases and acquires of one space between."""

    def step(number: int) -> ScopedInstruction:
        register, location = f"r{number}", draw(st.sampled_from("fl"))
        scope, value = draw(st.sampled_from((GROUP, GROUP, AGENT))), draw(st.integers(1, 2))
        how = draw(st.sampled_from(({}, {"one_as": True}, *({"spaces": each} for each in ONE))))
        match draw(st.sampled_from("SSLXFrraf")):
            case "S":
                return Store(location, value, SC, scope)
            case "L":
                return Load(register, location, SC, scope)
            case "X":
                return AtomicRmw(RmwKind.XCHG, location, value, SC, scope, register)
            case "F":
                return Fence(SC, scope)
            case "r":
                return replace(Store(location, value, RELEASE, scope), **how)
            case "a":
                return replace(Load(register, location, ACQUIRE, scope), **how)
            case _:
                return replace(Fence(draw(st.sampled_from((SC, RELEASE, ACQUIRE))), scope), **how)

    sizes = draw(st.sampled_from(((2, 3), (3, 3), (2, 2, 2), (1, 2, 3))))
    threads = [tuple(map(step, range(size))) for size in sizes]
    return program("one order", TOGETHER, *threads)


ONE = (frozenset({AddressSpace.GLOBAL}), frozenset({AddressSpace.LOCAL}))


@pytest.mark.parametrize("share", draws(12))
def test_one_order_over_spaces_agrees_with_the_reference(share: Share) -> None:
    @seed(share.number)
    @settings(RANDOM, database=None, max_examples=200 * EXAMPLES // share.count)
    @given(one_order_programs().filter(few_reads))
    def check(chosen: ScopedProgram) -> None:
        assert agrees(chosen, range(3))

    check()


@pytest.mark.parametrize("share", draws(12))
def test_mutants_agree_with_the_reference(share: Share) -> None:
    @seed(share.number)
    @settings(RANDOM, database=None, max_examples=500 * EXAMPLES // share.count)
    @given(mutants())
    def check(chosen: ScopedProgram) -> None:
        assert agrees(chosen, range(4))

    check()


@pytest.mark.parametrize("rule", ModelRule)
def test_the_reference_notices_a_missing_rule(rule: ModelRule) -> None:
    @settings(RANDOM, database=None, phases=(Phase.generate,), max_examples=2000)
    @given(mutants())
    def check(chosen: ScopedProgram) -> None:
        assert agrees(chosen, range(4), FULL_MODEL.without(rule))

    with pytest.raises(AssertionError):
        check()


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=SLOW)
@given(random_programs().filter(few_reads), st.sampled_from(ModelRule))
def test_less_of_the_model_never_forbids_more(chosen: ScopedProgram, rule: ModelRule) -> None:
    without_races = FULL_MODEL.without(ModelRule.DATA_RACES)
    full, less = (behaviour(chosen, m) for m in (without_races, without_races.without(rule)))
    assert full.outcomes is not None
    assert less.outcomes is not None
    if rule in (ModelRule.INCLUSIVE_SCOPES, ModelRule.ADDRESS_SPACES):
        full, less = less, full
    assert full.outcomes is not None
    assert less.outcomes is not None
    assert full.outcomes.states <= less.outcomes.states


@pytest.mark.parametrize("case", STRAIGHT)
def test_cases_agree_with_the_reference(case: Case) -> None:
    chosen = case.test.program
    found, expected = behaviour(chosen), allowed(chosen, range(4))
    assert bool(found.races) is bool(expected.races)
    assert len(found.races) == len(expected.races)
    if found.outcomes is not None:
        assert found.outcomes.states == expected.states


# Races, witnesses, loops, speed, mistakes


def test_a_race_names_both_accesses_and_the_reason() -> None:
    found = behaviour(BY_NAME["MP.agent+agents"].test.program)
    assert found.outcomes is None
    assert [str(race) for race in found.races] == [
        "data race on f: P0:1 'store release agent 1, f' and P1:0 'a = load acquire agent f': "
        "scope agent of P0 does not reach P1 in another agent; "
        "scope agent of P1 does not reach P0 in another agent",
        "data race on x: P0:0 'store weak 1, x' and P1:2 'b = load weak x': both are weak, and "
        "scope agent of P0's store of f, instruction 1, does not reach P1 in another agent; "
        "scope agent of P1's load of f, instruction 0, does not reach P0 in another agent",
    ]
    assert str(found) == "\n".join(["unspecified", *map(str, found.races)])


def test_a_racy_program_allows_anything_another_only_its_outcomes() -> None:
    register = Register(1, "b")
    impossible = Outcomes((register,), frozenset({(17,)}))
    assert behaviour(BY_NAME["MP.av-none"].test.program).allows(impossible)
    only = replace(BY_NAME["MP+rel+acq"].test.program, observed=(register,))
    assert not behaviour(only).allows(impossible)
    assert behaviour(only).allows(Outcomes((register,), frozenset({(1,)})))
    with pytest.raises(ProgramError, match="different observables"):
        behaviour(BY_NAME["MP+rel+acq"].test.program).allows(impossible)


def test_a_witness_of_an_allowed_outcome() -> None:
    wanted = parse_condition("exists (1:a == 1 /\\ 1:b == 1)").formula
    witness = explain(BY_NAME["MP+rel+acq"].test.program, wanted)
    assert witness is not None
    assert witness.allowed
    numbers = {str(event): number for number, event in enumerate(witness.events)}
    write, flag = numbers["P0:0 'store weak 1, x'"], numbers["P0:1 'store release agent 1, f'"]
    seen, read = numbers["P1:0 'a = load acquire agent f'"], numbers["P1:2 'b = load weak x'"]
    assert {(write, read), (flag, seen)} <= {*witness.relations["rf"]}
    assert witness.relations["sw"] == ((flag, seen),)
    assert (write, read) in witness.relations["hb"]
    assert (numbers["init x"], write) in witness.relations["co"]
    assert witness.read[read] == witness.written[write] == 1


@pytest.mark.parametrize(
    ("name", "state", "rule"),
    [
        ("WRC+rel+acq", "1:a == 1 /\\ 2:b == 1 /\\ 2:c == 0", ModelRule.COHERENCE),
        ("RMW", "x == 2", ModelRule.ATOMICITY),
        ("SB+fences", "0:a == 0 /\\ 1:b == 0", ModelRule.SEQ_CST),
        ("LB+ctrl", "0:a == 1 /\\ 1:b == 1", ModelRule.NO_THIN_AIR),
    ],
)
def test_a_witness_of_a_forbidden_outcome_names_the_axiom(
    name: str, state: str, rule: ModelRule
) -> None:
    witness = explain(BY_NAME[name].test.program, parse_condition(f"exists ({state})").formula)
    assert witness is not None
    assert not witness.allowed
    ((broken, cycle),) = witness.violations
    assert broken is rule
    assert cycle[0] == cycle[-1]


def test_what_nothing_writes_has_no_witness() -> None:
    wanted = parse_condition("exists (1:b == 7)").formula
    assert explain(BY_NAME["MP+rel+acq"].test.program, wanted) is None


def test_a_race_has_an_execution() -> None:
    chosen = BY_NAME["MP.av-none"].test.program
    (race,) = behaviour(chosen).races
    witness = explain_race(chosen, race)
    assert witness is not None
    assert race in witness.races
    assert explain_race(BY_NAME["MP+rel+acq"].test.program, race) is None


def test_executions_and_outcomes_agree() -> None:
    for case in CASES:
        found = behaviour(case.test.program)
        if found.outcomes is None:
            continue
        observables = found.outcomes.observables
        states = {
            tuple(each.state.get(o, 0) for o in observables)
            for each in executions(case.test.program)
        }
        assert states == found.outcomes.states, case.name


def test_a_loop_that_writes_is_cut_at_the_bound_and_says_so() -> None:
    lock = spin(AtomicRmw(RmwKind.ADD, "f", 1, RELAXED, AGENT, "u"), "u")
    chosen = program("spin on a write", APART, lock, (store("f", 5),))
    once, thrice = (behaviour(chosen, bound=bound) for bound in (1, 3))
    assert once.outcomes is not None
    assert thrice.outcomes is not None
    assert not once.complete
    assert once.outcomes.states < thrice.outcomes.states


def test_crosswise_barriers_never_finish() -> None:
    ways = ((Barrier(GROUP), Barrier(AGENT)), (Barrier(AGENT), Barrier(GROUP)))
    found = behaviour(program("crosswise", TOGETHER, *ways))
    assert found.outcomes is not None
    assert found.outcomes.states == frozenset()


def test_a_location_without_accesses_keeps_its_value() -> None:
    locations = (Location("x", 3), Location("y", 4))
    thread: Thread[ScopedInstruction] = Thread(GROUP0, (store("x", 5),))
    chosen = Program(locations, (thread,))
    found = behaviour(chosen)
    assert found.outcomes is not None
    assert found.outcomes.states == frozenset({(5, 4)})


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        ((Load("a", "x", RELEASE, AGENT),), "cannot release"),
        ((Load("a", "x", RELAXED),), "scope exactly when it is not weak"),
        ((Load("a", "x", WEAK, AGENT),), "scope exactly when it is not weak"),
        ((Load("a", "z"),), "no location 'z'; known are x, l"),
        ((Branch("there"),), "no such label; there are: none"),
        ((Load("a", "l", WEAK),), "'l' is LDS of work-group 1"),
        ((AtomicRmw(RmwKind.FADD, "x", 1, RELAXED, AGENT),), "use an integer kind"),
        ((Cmpxchg("x", 0, 1, SC, RELEASE, AGENT),), "failure ordering cannot release"),
        ((Fence(RELAXED, AGENT),), "orders nothing; accepted: acquire"),
    ],
)
def test_a_program_that_means_nothing(
    instructions: tuple[ScopedInstruction, ...], message: str
) -> None:
    locations = (Location("x"), Location("l", space=AddressSpace.LOCAL, workgroup=1))
    with pytest.raises(ProgramError, match=message):
        behaviour(Program(locations, (Thread(GROUP0, instructions),)))


def test_placements_and_locations_that_mean_nothing() -> None:
    thread: Thread[ScopedInstruction] = Thread(GROUP0, ())
    elsewhere: Thread[ScopedInstruction] = Thread(Placement(workgroup=0, agent=1), ())
    with pytest.raises(ProgramError, match="work-group 0 is in another agent"):
        behaviour(Program((), (thread, elsewhere)))
    private = Location("p", space=AddressSpace.PRIVATE)
    with pytest.raises(ProgramError, match="global and local"):
        behaviour(Program((private,), (thread,)))


def best_of(chosen: ScopedProgram, times: int = 5) -> float:
    """Seconds of processor time, the least of some runs."""
    taken: list[float] = []
    for _ in range(times):
        started = time.process_time()
        behaviour(chosen)
        taken.append(time.process_time() - started)
    return min(taken)


def test_outcome_sets_are_fast() -> None:
    four = [
        (store("xy"[i % 2], i + 1), load("a", "yx"[i % 2]), load("b", "xy"[i % 2]))
        for i in range(4)
    ]
    four_sc = [(store("xyfg"[i], 1), fence(), load("a", "yfgx"[i])) for i in range(4)]
    counters = [(add("x", 1), load("a", "y")) for _ in range(4)]
    limits = [
        (BY_NAME["MP+rel+acq"].test.program, 0.003),
        (BY_NAME["IRIW+fences"].test.program, 0.01),
    ]
    limits += [
        (program("four threads", APART, *threads), 0.3) for threads in (four, four_sc, counters)
    ]
    for chosen, limit in limits:
        assert best_of(chosen) < limit * slowness()
