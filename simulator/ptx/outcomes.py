"""Every outcome that the PTX memory model allows a program."""

from fencewright.simulator.core.condition import Outcomes
from fencewright.simulator.core.execution_graphs import first_decided
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.ptx.events import PtxProgram
from fencewright.simulator.ptx.graphs import PtxConstruction, can_be_built
from fencewright.simulator.ptx.model import PtxModel, check_version, enumerated_outcomes


def outcomes(
    program: PtxProgram,
    model: PtxModel | None = None,
    bound: int = 1,
    work: WorkBudget | None = None,
) -> Outcomes:
    """Every final state that the model allows.

    ``bound`` is how often the target of a backward jump may be passed in a loop; the
    outcomes say whether they are complete in spite of it, and of the limit of ``work``. All
    registers and locations are observed. Raises ``ProgramError`` for a program that means
    nothing.
    """
    chosen = PtxModel() if model is None else model
    spent = WorkBudget() if work is None else work
    check_version(program, chosen)
    if not chosen.is_whole or not can_be_built(program):
        return enumerated_outcomes(program, chosen, bound, spent)
    return first_decided(
        spent,
        lambda part: enumerated_outcomes(program, chosen, bound, part),
        lambda part: PtxConstruction(program, chosen, bound, part),
    )
