"""The behaviour that the model of the ``scoped`` language allows: outcomes, or data races."""

from fencewright.simulator.core.execution_graphs import first_decided
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.source.events import ScopedProgram
from fencewright.simulator.source.execution import FULL_MODEL, SourceModel
from fencewright.simulator.source.graphs import SourceConstruction
from fencewright.simulator.source.model import Behaviour, enumerated_behaviour


def behaviour(
    program: ScopedProgram,
    model: SourceModel = FULL_MODEL,
    bound: int = 1,
    work: WorkBudget | None = None,
) -> Behaviour:
    """Every outcome of ``program``, or its data races.

    ``bound`` is how often the target of a backward branch may be passed in a loop;
    ``complete`` says whether that, and the limit of ``work``, loses nothing. Raises
    ``ProgramError`` for a program that means nothing.
    """
    spent = WorkBudget() if work is None else work
    if model != FULL_MODEL:
        return enumerated_behaviour(program, model, bound, spent)
    return first_decided(
        spent,
        lambda part: enumerated_behaviour(program, FULL_MODEL, bound, part),
        lambda part: SourceConstruction(program, bound, part),
    )
