"""Outcomes by execution graphs that are built lazily, held equal to those by enumeration."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from campaigns import drawn
from graph_programs import open_program, ptx_program, source_program
from source_cases import CASES, Case

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison, Outcomes
from fencewright.simulator.core.execution_graphs import first_decided
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.partial_runs import Stop
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.ptx import graphs as ptx_graphs
from fencewright.simulator.ptx import model as ptx
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    CompareBranch,
    Ld,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    St,
)
from fencewright.simulator.ptx.formats.columns import read_litmus
from fencewright.simulator.ptx.graphs import PartialPtxRunner, PtxConstruction, can_be_built
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.paths import PtxRun
from fencewright.simulator.source import model as source
from fencewright.simulator.source.behaviour import behaviour
from fencewright.simulator.source.events import (
    AtomicRmw,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedProgram,
    Store,
)
from fencewright.simulator.source.graphs import SourceConstruction
from fencewright.simulator.source.model import FULL_MODEL, Behaviour

GPU, RELAXED, ACQUIRE, RELEASE = Scope.AGENT, Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
MOST = 400_000
"""Steps that no test here needs."""


# Both find the same


def built(program: PtxProgram, version: Version, bound: int = 1) -> Outcomes:
    construction = PtxConstruction(program, PtxModel(version), bound, WorkBudget(MOST))
    assert construction.explore()
    return construction.result()


def agree(program: PtxProgram, version: Version, bound: int) -> bool:
    by_runs = ptx.enumerated_outcomes(program, PtxModel(version), bound, WorkBudget(MOST))
    by_graphs = built(program, version, bound).project(by_runs.observables)
    return by_graphs.states == by_runs.states


def test_the_litmus_tests_of_ptx() -> None:
    paths = sorted((Path(__file__).parents[1] / "litmus" / "ptx").glob("*.litmus"))
    programs = [(path.name, read_litmus(path).program) for path in paths]
    chosen = [(name, program) for name, program in programs if can_be_built(program)]
    assert len(chosen) > 80
    for name, program in chosen:
        assert agree(program, Version.V7_5, 2), name


@pytest.mark.parametrize("first", drawn(range(0, 120, 40)))
def test_random_programs_of_ptx(first: int) -> None:
    for seed in range(first, first + 40):
        program, bound = ptx_program(seed), 1 + seed % 2
        assert agree(program, Version.V7_5, bound), seed
        if seed % 4 == 0 and not program.aliases:
            assert agree(program, Version.V6_0, bound), seed


def differ(seeds: Iterable[int]) -> tuple[list[int], int]:
    """The asynchronous programs of ``seeds`` with other outcomes by graphs; how many were compared.

    Not those with so many graphs of so few outcomes that no turn would be left to them.
    """
    found: list[int] = []
    compared = 0
    for seed in seeds:
        program = open_program(seed)
        by_runs = ptx.enumerated_outcomes(program, PtxModel(), 1, WorkBudget(20_000))
        graphs = PtxConstruction(program, PtxModel(), 1, WorkBudget(20_000))
        graphs.explore()
        if not by_runs.complete or graphs.work.is_spent:
            continue
        compared += 1
        by_graphs = graphs.result()
        if not by_graphs.complete or by_graphs.project(by_runs.observables) != by_runs:
            found.append(seed)
    return found, compared


@pytest.mark.parametrize("first", drawn(range(0, 150, 50)))
def test_random_programs_whose_instructions_may_do_several_things(first: int) -> None:
    found, compared = differ(range(first, first + 50))
    assert found == []
    assert compared > 40


def test_each_way_of_an_instruction_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(_self: object, _run: object, *ways: int) -> tuple[int, ...]:
        return ways[:1]

    monkeypatch.setattr(PartialPtxRunner, "either", first)
    assert differ(range(40))[0]


@pytest.mark.parametrize(
    ("is_guessed", "seeds"), [(False, (333, 641)), (True, (1163, 2040))], ids=["never", "unheld"]
)
def test_what_depends_on_a_read_is_guessed_and_held_to_it(
    is_guessed: bool, seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(
        self: PartialPtxRunner,
        run: PtxRun,
        guess: int,
        known: int | None,
        ways: tuple[int, ...] = (False, True),
    ) -> int | None:
        guessed = self.guessed(guess)
        if known is None and guessed is None:
            self.halt(run, Stop.HELD, 1 << guess, guess if is_guessed else None, ways)
        return known if guessed is None else guessed

    assert differ((*seeds, 1123, 5490))[0] == []
    monkeypatch.setattr(PartialPtxRunner, "as_known", known)
    assert differ(seeds)[0]


def behaves(program: ScopedProgram, bound: int) -> Behaviour:
    construction = SourceConstruction(program, bound, WorkBudget(MOST))
    assert construction.explore()
    return construction.result()


def same(program: ScopedProgram, bound: int) -> bool:
    by_runs = source.enumerated_behaviour(program, FULL_MODEL, bound, WorkBudget(MOST))
    by_graphs = behaves(program, bound)
    return shown(by_runs) == shown(by_graphs)


def shown(found: Behaviour) -> object:
    """All that is found; of each race its reason too."""
    races = [(str(race), race.key) for race in found.races]
    return races, None if found.outcomes is None else found.outcomes.states


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cases_of_the_source_model(case: Case) -> None:
    assert same(case.test.program, 2)


@pytest.mark.parametrize("first", drawn(range(0, 200, 50)))
def test_random_source_programs(first: int) -> None:
    for seed in range(first, first + 50):
        assert same(source_program(seed), 1 + seed % 2), seed


# Programs that enumeration does not decide


def on_their_own(codes: list[list[PtxInstruction]], *names: str) -> PtxProgram:
    threads = (Thread(Placement(n), tuple(code)) for n, code in enumerate(codes))
    return PtxProgram(tuple(map(Location, names)), tuple(threads))


def add_under_a_ticket(rounds: int) -> list[PtxInstruction]:
    code: list[PtxInstruction] = []
    for n in range(rounds):
        code += [
            Atom(f"ticket{n}", "next", RmwKind.ADD, 1, None, RELAXED, GPU),
            Label(f"spin{n}"),
            Ld(f"served{n}", "serving", RELAXED, GPU),
            CompareBranch(f"spin{n}", Comparison.NE, f"served{n}", f"ticket{n}"),
            PtxFence(Ordering.ACQ_REL, GPU),
            Ld(f"old{n}", "data"),
            Arithmetic(ArithmeticKind.ADD, f"new{n}", f"old{n}", 1),
            St("data", f"new{n}"),
            Arithmetic(ArithmeticKind.ADD, f"after{n}", f"ticket{n}", 1),
            St("serving", f"after{n}", RELEASE, GPU),
        ]
    return code


def scoped_ticket(rounds: int) -> tuple[ScopedInstruction, ...]:
    code: list[ScopedInstruction] = []
    for n in range(rounds):
        code += [
            AtomicRmw(RmwKind.ADD, "next", 1, RELAXED, GPU, f"ticket{n}"),
            Label(f"spin{n}"),
            Load(f"served{n}", "serving", RELAXED, GPU),
            Arithmetic(ArithmeticKind.NE, f"waits{n}", f"served{n}", f"ticket{n}"),
            Branch(f"spin{n}", f"waits{n}"),
            Fence(ACQUIRE, GPU),
            Load(f"old{n}", "data"),
            Arithmetic(ArithmeticKind.ADD, f"new{n}", f"old{n}", 1),
            Store("data", f"new{n}"),
            Arithmetic(ArithmeticKind.ADD, f"after{n}", f"ticket{n}", 1),
            Store("serving", f"after{n}", RELEASE, GPU),
        ]
    return tuple(code)


def memory_of(found: Outcomes) -> set[tuple[int | None, ...]]:
    """The final values of all locations; there are ``len(found.states)`` ways of the registers."""
    places = [n for n, each in enumerate(found.observables) if not hasattr(each, "thread")]
    return {tuple(state[n] for n in places) for state in found.states}


def test_a_ticket_lock_of_two_threads_and_two_rounds() -> None:
    program = on_their_own([add_under_a_ticket(2)] * 2, "next", "serving", "data")
    work = WorkBudget(50_000)
    found = outcomes(program, bound=2, work=work)
    assert found.complete
    assert len(found.states) == 6  # the orders of two threads' two rounds
    assert memory_of(found) == {(4, 4, 4)}
    limited = ptx.enumerated_outcomes(program, PtxModel(), 2, WorkBudget(50_000))
    assert not limited.complete


def test_a_ticket_lock_of_the_source() -> None:
    threads = (Thread(Placement(n), scoped_ticket(2)) for n in range(2))
    names = ("next", "serving", "data")
    program: ScopedProgram = Program(tuple(map(Location, names)), tuple(threads))
    found = behaviour(program, bound=2, work=WorkBudget(50_000))
    assert found.complete
    assert found.races == ()
    assert found.outcomes is not None
    assert len(found.outcomes.states) == 6
    limited = source.enumerated_behaviour(program, FULL_MODEL, 2, WorkBudget(50_000))
    assert not limited.complete


def test_of_many_stores_each_may_be_the_last() -> None:
    program = on_their_own([[St("x", n + 1, RELAXED, GPU)] for n in range(12)], "x")
    found = outcomes(program, work=WorkBudget(10_000))
    assert found.complete
    assert found.states == {(n + 1,) for n in range(12)}


def test_sequential_fences_leave_one_result_out() -> None:
    threads = 8
    codes: list[list[PtxInstruction]] = [
        [
            St(f"x{n}", 1, RELAXED, GPU),
            PtxFence(Ordering.SEQ_CST, GPU),
            Ld("r", f"x{(n + 1) % threads}", RELAXED, GPU),
        ]
        for n in range(threads)
    ]
    program = on_their_own(codes, *(f"x{n}" for n in range(threads)))
    found = outcomes(program, work=WorkBudget(50_000))
    assert found.complete
    assert len(found.states) == 2**threads - 1


# What each step of the construction is for


def test_load_buffering_needs_a_read_to_be_deferred() -> None:
    copy: list[PtxInstruction] = [Ld("r", "x", RELAXED, GPU), St("y", 1, RELAXED, GPU)]
    back: list[PtxInstruction] = [Ld("r", "y", RELAXED, GPU), St("x", "r", RELAXED, GPU)]
    found = built(on_their_own([copy, back], "x", "y"), Version.V7_5)
    assert (1, 1, 1, 1) in found.states


def test_no_value_comes_from_nowhere() -> None:
    codes: list[list[PtxInstruction]] = [
        [Ld("r", "x", RELAXED, GPU), St("y", "r", RELAXED, GPU)],
        [Ld("r", "y", RELAXED, GPU), St("x", "r", RELAXED, GPU)],
    ]
    assert built(on_their_own(codes, "x", "y"), Version.V7_5).states == {(0, 0, 0, 0)}


def test_load_buffering_past_a_compare_and_swap_needs_a_guess() -> None:
    swap: list[PtxInstruction] = [
        Atom("r", "x", RmwKind.XCHG, 2, 1, RELAXED, GPU),
        St("y", 1, RELAXED, GPU),
    ]
    copy: list[PtxInstruction] = [Ld("r", "y", RELAXED, GPU), St("x", "r", RELAXED, GPU)]
    program = on_their_own([swap, copy], "x", "y")
    found = built(program, Version.V7_5)
    assert found.complete
    assert (1, 1, 2, 1) in found.states
    assert agree(program, Version.V7_5, 1)


def test_a_loop_that_writes_is_cut_and_says_so() -> None:
    code: list[PtxInstruction] = [
        Label("again"),
        Atom("r", "x", RmwKind.ADD, 1, None, RELAXED, GPU),
        CompareBranch("again", Comparison.NE, "r", 5),
    ]
    assert not built(on_their_own([code], "x"), Version.V7_5, bound=3).complete
    assert built(on_their_own([code], "x"), Version.V7_5, bound=6).states == {(5, 6)}


def test_a_round_that_waits_is_never_repeated() -> None:
    wait: list[PtxInstruction] = [
        Label("again"),
        Ld("r", "x", ACQUIRE, GPU),
        CompareBranch("again", Comparison.EQ, "r", 0),
    ]
    found = built(on_their_own([wait, [St("x", 1, RELEASE, GPU)]], "x"), Version.V7_5, bound=1000)
    assert found.complete
    assert found.states == {(1, 1)}


def test_a_barrier_named_by_a_register_is_left_to_enumeration() -> None:
    code: list[PtxInstruction] = [Ld("r", "x", RELAXED, GPU), Bar(BarrierRole.SYNC, "r")]
    program = on_their_own([code], "x")
    assert not can_be_built(program)
    assert outcomes(program).states == {(0, 0)}


def test_a_guess_about_a_lock_is_held_to_what_it_read() -> None:
    def exchange(new: int) -> tuple[ScopedInstruction, ...]:
        return (Cmpxchg("x", 0, new, RELAXED, RELAXED, GPU, "old", "won"),)

    threads = (Thread(Placement(n), exchange(n + 1)) for n in range(2))
    program: ScopedProgram = Program((Location("x"),), tuple(threads))
    found = behaves(program, 1)
    assert found.outcomes is not None
    won = {(state[1], state[3], state[4]) for state in found.outcomes.states}
    assert won == {(1, 0, 1), (0, 1, 2)}


def test_a_race_is_told_for_the_same_reason() -> None:
    racing = [seed for seed in range(40) if built_races(seed)]
    assert len(racing) > 4
    assert all(same(source_program(seed), 1) for seed in racing)


def built_races(seed: int) -> bool:
    return bool(behaves(source_program(seed), 1).races)


# Threads of the same code


def with_twins(program: PtxProgram, copies: int) -> PtxProgram:
    """A program whose first thread is there again, as near to all others as it was."""
    first, *rest = program.threads
    return replace(program, threads=(*(first,) * copies, *rest[:1]))


def told_apart(program: PtxProgram, bound: int) -> tuple[PtxConstruction, PtxConstruction]:
    """Its graphs with twins exchanged for each other, and all of them."""
    found: list[PtxConstruction] = []
    for each in (False, True):
        graphs = PtxConstruction(program, PtxModel(), bound, WorkBudget(12_000))
        graphs.twins = () if each else graphs.twins
        graphs.explore()
        found.append(graphs)
    return found[0], found[1]


def compared_twins(seeds: Iterable[int]) -> int:
    """Holds programs with twins to themselves without; how many were compared."""
    compared = 0
    for seed in seeds:
        made = ptx_program if seed % 2 else open_program
        program = with_twins(made(seed // 2), 2 + seed % 3 // 2)
        if not can_be_built(program):
            continue
        reduced, whole = told_apart(program, 1 + seed % 2)
        if whole.work.is_spent or reduced.work.is_spent:
            continue
        assert reduced.result() == whole.result(), seed
        assert reduced.work.done <= whole.work.done
        compared += 1
    return compared


def test_twins_are_built_once_and_their_outcomes_exchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert compared_twins(range(36)) > 15

    def unchanged(states: object, *_: object) -> object:
        return states

    monkeypatch.setattr(ptx_graphs, "with_exchanged", unchanged)
    with pytest.raises(AssertionError):
        compared_twins(range(36))


def test_a_grid_barrier_of_many_has_one_graph_for_all_orders() -> None:
    code: list[PtxInstruction] = [
        Atom(None, "n", RmwKind.ADD, 1, None, RELEASE, GPU),
        Label("L"),
        Ld("here", "n", ACQUIRE, GPU),
        CompareBranch("L", Comparison.NE, "here", 6),
    ]
    reduced, whole = told_apart(on_their_own([code] * 6, "n"), 2)
    assert reduced.complete
    assert reduced.result().states == {(6,) * 7}
    assert whole.work.is_spent
    assert reduced.work.done < 2_000


# Turns


class Endless:
    """A construction of so many graphs that it never ends; ``built`` were asked for."""

    def __init__(self) -> None:
        self.built = 0

    def explore(self, most: int) -> bool:
        """Build ``most`` more."""
        self.built += most
        return False


def test_enumeration_and_graphs_take_turns_that_grow() -> None:
    needed, construction, tried = 70_000, Endless(), list[int]()

    def enumerated(work: WorkBudget) -> str:
        work.take(min(needed, (work.limit or needed) + 1))
        tried.append(work.done)
        return "enumerated"

    work = WorkBudget(1_000_000)
    assert first_decided(work, enumerated, lambda _: cast(Any, construction)) == "enumerated"
    assert work.done == needed
    assert sum(tried) < 3 * needed
    assert construction.built == 1_000 + 4_000 + 16_000


def test_what_nobody_reads_may_end_with_any_write() -> None:
    code: list[PtxInstruction] = [St("x", 1, RELAXED, GPU), St("x", 2, RELAXED, GPU)]
    other: list[PtxInstruction] = [St("x", 3), St("x", 4)]
    program = on_their_own([code, other], "x")
    assert outcomes(program).states == {(2,), (4,)}
    assert built(program, Version.V7_5).states == {(2,), (4,)}
