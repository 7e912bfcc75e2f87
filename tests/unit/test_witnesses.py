"""Executions that are shown: found by execution graphs, and allowed by the definitions."""

from collections.abc import Callable, Iterator

import pytest
from graph_programs import open_program, ptx_program, source_program
from test_execution_graphs import MOST, add_under_a_ticket, on_their_own, scoped_ticket

from fencewright.simulator.core.bit_relation import Relation
from fencewright.simulator.core.condition import Compare, Comparison, Memory
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.program import Location, Placement, Program, Thread
from fencewright.simulator.litmus_run import formula_of
from fencewright.simulator.ptx import witnesses as ptx
from fencewright.simulator.ptx.definition import Operations, coherence_orders
from fencewright.simulator.ptx.early_uses import early_uses
from fencewright.simulator.ptx.graphs import can_be_built
from fencewright.simulator.ptx.instructions import PtxProgram
from fencewright.simulator.ptx.model import (
    PtxExecution,
    PtxModel,
    PtxWitness,
    Version,
    enumerated_outcomes,
    witness_of,
)
from fencewright.simulator.source import witnesses as source
from fencewright.simulator.source.execution import FULL_MODEL
from fencewright.simulator.source.model import enumerated_behaviour

NEVER = Compare(Comparison.EQ, Memory("x"), 77)
_MOST_EVENTS = 10
"""Of which the definition tries every order in a moment."""


class Defined:
    """Makes witnesses, and counts those whose orders the definition has."""

    def __init__(self) -> None:
        self.allowed = self.made = 0

    def __call__(self, x: PtxExecution, *rest: object) -> PtxWitness:
        witness = witness_of(x, *rest)  # pyright: ignore[reportArgumentType]  # as it is called
        if len(witness.events) <= _MOST_EVENTS:
            rf, co = ({*witness.relations[name]} for name in ("rf", "co"))
            operations = Operations(x.frame.skeleton, Version.V7_5)
            self.made += 1
            self.allowed += co in list(coherence_orders(operations, rf))
        return witness


@pytest.mark.parametrize("made", [ptx_program, open_program])
def test_graphs_of_ptx_show_each_outcome_and_no_other(
    made: Callable[[int], PtxProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    defined = Defined()
    monkeypatch.setattr(ptx, "witness_of", defined)
    for seed in range(60):
        program, model = made(seed), PtxModel()
        found = enumerated_outcomes(program, model, 1, WorkBudget(5_000))
        if not found.complete or not can_be_built(program):
            continue
        own, _ = early_uses(program, found, ())
        for state in sorted(own.states, key=str)[:3]:
            formula = formula_of(own, state)
            graphs = ptx.WantedGraphs(program, formula, model, 1, WorkBudget(MOST))
            graphs.explore()
            if None not in state:
                assert graphs.witness is not None, seed
                assert formula.holds(graphs.witness.state)
        absent = ptx.WantedGraphs(program, NEVER, model, 1, WorkBudget(MOST))
        assert absent.explore()
        assert absent.witness is None
    assert defined.allowed == defined.made > 20


def test_graphs_of_the_language_show_each_outcome_and_no_other() -> None:
    shown = 0
    for seed in range(60):
        program = source_program(seed)
        found = enumerated_behaviour(program, FULL_MODEL, 1, WorkBudget(20_000))
        if found.outcomes is None or not found.complete:
            continue
        for state in sorted(found.outcomes.states, key=str)[:3]:
            formula = formula_of(found.outcomes, state)
            graphs = source.WantedGraphs(program, formula, 1, WorkBudget(MOST))
            graphs.explore()
            assert graphs.witness is not None, seed
            assert graphs.witness.allowed
            shown += 1
        assert source.allowed_witness(program, NEVER, FULL_MODEL, 1, WorkBudget(MOST)) is None
    assert shown > 30


def test_a_wrong_coherence_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition has none of the orders that do not end as they should."""
    defined = Defined()
    monkeypatch.setattr(ptx, "witness_of", defined)
    monkeypatch.setattr(ptx, "ending_with", unordered)
    for seed in range(30):
        program, model = ptx_program(seed), PtxModel()
        found = enumerated_outcomes(program, model, 1, WorkBudget(5_000))
        if found.complete and can_be_built(program):
            formula = formula_of(found, min(found.states, key=str))
            ptx.WantedGraphs(program, formula, model, 1, WorkBudget(MOST)).explore()
    assert defined.allowed < defined.made


def unordered(x: PtxExecution, *_: object) -> Iterator[Relation]:
    """A coherence order that orders nothing."""
    yield [0] * x.frame.size


def test_a_ticket_lock_is_shown_though_enumeration_never_gets_there() -> None:
    wanted = Compare(Comparison.EQ, Memory("data"), 4)
    program = on_their_own([add_under_a_ticket(2)] * 2, "next", "serving", "data")
    witness = ptx.explain(program, wanted, bound=2, work=WorkBudget(100_000))
    assert witness is not None
    assert witness.allowed
    threads = (Thread(Placement(n), scoped_ticket(2)) for n in range(2))
    scoped = Program(tuple(map(Location, ("next", "serving", "data"))), tuple(threads))
    shown = source.explain(scoped, wanted, bound=2, work=WorkBudget(100_000))
    assert shown is not None
    assert shown.allowed
