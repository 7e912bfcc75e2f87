"""One execution of a ``scoped`` program with a given final state: to be shown, step by step."""

from itertools import combinations

from fencewright.simulator.core.condition import Formula
from fencewright.simulator.core.execution_graphs import Graph, first_decided
from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.source.events import ScopedProgram, ThreadPath
from fencewright.simulator.source.execution import AXIOMS, FULL_MODEL, SourceModel
from fencewright.simulator.source.graphs import SourceGraphs
from fencewright.simulator.source.model import SourceWitness, executions, witnesses_of


def explain(
    program: ScopedProgram,
    formula: Formula,
    model: SourceModel = FULL_MODEL,
    bound: int = 1,
    work: WorkBudget | None = None,
) -> SourceWitness | None:
    """An execution whose final state satisfies ``formula``.

    An allowed one if there is any; otherwise one that breaks as few axioms as possible; None if
    none comes about even without axioms. Raises ``ProgramError`` as ``behaviour`` does, and
    ``LimitReached`` when ``work`` is at an end before one is found.
    """
    spent = WorkBudget() if work is None else work
    witness = allowed_witness(program, formula, model, bound, spent)
    if witness is not None:
        return witness
    axioms = [rule for rule in AXIOMS if rule in model.rules]
    for count in range(1, len(axioms) + 1):
        for dropped in combinations(axioms, count):
            for witness in executions(program, model, bound, dropped, spent):
                if formula.holds(witness.state) and len(witness.violations) == count:
                    return witness
    return None


def allowed_witness(
    program: ScopedProgram, formula: Formula, model: SourceModel, bound: int, work: WorkBudget
) -> SourceWitness | None:
    """An execution that the model allows whose final state satisfies ``formula``; None without one.

    Raises as ``explain``.
    """
    if model != FULL_MODEL:
        return _first(program, formula, model, bound, work)
    witness = first_decided(
        work,
        lambda part: _enumerated(program, formula, bound, part),
        lambda part: WantedGraphs(program, formula, bound, part),
    )
    if witness is None and work.is_spent:
        raise LimitReached(work.done, "steps")
    return witness


def _first(
    program: ScopedProgram, formula: Formula, model: SourceModel, bound: int, work: WorkBudget
) -> SourceWitness | None:
    found = executions(program, model, bound, work=work)
    return next((each for each in found if formula.holds(each.state)), None)


def _enumerated(
    program: ScopedProgram, formula: Formula, bound: int, work: WorkBudget
) -> SourceWitness | None:
    """The first of all executions, as far as ``work`` goes."""
    try:
        return _first(program, formula, FULL_MODEL, bound, work)
    except LimitReached:
        return None


class WantedGraphs(SourceGraphs[SourceWitness | None]):
    """The execution graphs of a program, up to the first whose final state satisfies a formula."""

    def __init__(self, program: ScopedProgram, formula: Formula, bound: int, work: WorkBudget):
        super().__init__(program, bound, work)
        self.formula = formula
        self.witness: SourceWitness | None = None

    def result(self) -> SourceWitness | None:
        return self.witness

    def finish(self, graph: Graph[ThreadPath]) -> None:
        found = self.whole(graph)
        if found is None:
            return
        search, x, combination = found
        for each in witnesses_of(self.program, self.words, search, x, combination):
            if self.formula.holds(each.state):
                self.witness = each
                self.abandon()
                return
