"""One execution of a PTX program with a given final state: to be shown, step by step."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from fencewright.lowering.code.bits import bits
from fencewright.simulator.core.bit_relation import Relation, union
from fencewright.simulator.core.condition import Formula, Memory, Observable
from fencewright.simulator.core.execution_graphs import Graph, first_decided
from fencewright.simulator.core.exploration import LimitReached, WorkBudget
from fencewright.simulator.ptx.graphs import PtxGraphs, can_be_built
from fencewright.simulator.ptx.instructions import PtxProgram
from fencewright.simulator.ptx.model import (
    PtxExecution,
    PtxModel,
    PtxWitness,
    check_version,
    enumerated_witness,
    final_registers,
    witness_of,
)
from fencewright.simulator.ptx.paths import PtxPath
from fencewright.simulator.ptx.saturation import FinalMemories, Part, ending_with


def explain(
    program: PtxProgram,
    formula: Formula,
    model: PtxModel | None = None,
    bound: int = 1,
    work: WorkBudget | None = None,
) -> PtxWitness | None:
    """An execution whose final state satisfies ``formula``.

    An allowed one if there is any; otherwise one that breaks as few axioms as possible; None
    if none comes about even without axioms. Raises ``ProgramError`` as ``outcomes`` does, and
    ``LimitReached`` when ``work`` is at an end before one is found.
    """
    chosen = PtxModel() if model is None else model
    spent = WorkBudget() if work is None else work
    witness = allowed_witness(program, formula, chosen, bound, spent)
    if witness is not None:
        return witness
    for dropped in range(1, len(chosen.axioms) + 1):
        for axioms in combinations(sorted(chosen.axioms, key=lambda axiom: axiom.value), dropped):
            weaker = replace(chosen, axioms=chosen.axioms - {*axioms})
            witness = enumerated_witness(program, formula, weaker, bound, spent, axioms)
            if witness is not None:
                return witness
            if spent.is_spent:
                raise LimitReached(spent.done, "steps")
    return None


def allowed_witness(
    program: PtxProgram, formula: Formula, model: PtxModel, bound: int, work: WorkBudget
) -> PtxWitness | None:
    """An execution that the model allows whose final state satisfies ``formula``; None without one.

    Raises as ``explain``.
    """
    check_version(program, model)
    if model.is_whole and can_be_built(program):
        witness = first_decided(
            work,
            lambda part: enumerated_witness(program, formula, model, bound, part),
            lambda part: WantedGraphs(program, formula, model, bound, part),
        )
    else:
        witness = enumerated_witness(program, formula, model, bound, work)
    if witness is None and work.is_spent:
        raise LimitReached(work.done, "steps")
    return witness


class WantedGraphs(PtxGraphs[PtxWitness | None]):
    """The execution graphs of a program, up to the first whose final state satisfies a formula."""

    def __init__(
        self, program: PtxProgram, formula: Formula, model: PtxModel, bound: int, work: WorkBudget
    ):
        super().__init__(program, model, bound, work)
        self.formula = formula
        self.witness: PtxWitness | None = None

    def result(self) -> PtxWitness | None:
        return self.witness

    def finish(self, graph: Graph[PtxPath]) -> None:
        paths = [run.path for run in graph.runs]
        registers = final_registers(path.registers for path in paths)
        if any(registers.get(each, 0) is None for each in self.formula.observables()):
            return
        values = self.values(paths)
        for part, x in self.executions(graph):
            memories = _OrderedMemories(part, x, values)
            memories.find()
            for memory, sc in memories.orders.items():
                state = _state(registers, part, memory)
                if self.formula.holds(state):
                    memories.order(memory, sc)
                    self.witness = witness_of(x, values, state)
                    self.abandon()
                    return


def _state(
    registers: Mapping[Observable, int | None], part: Part, memory: tuple[int, ...]
) -> dict[Observable, int | None]:
    return {**registers, **dict(zip(map(Memory, part.names), memory, strict=True))}


class _OrderedMemories(FinalMemories):
    """The final values of all locations, each memory with the Fence-SC order that it was found
    by."""

    def __init__(self, part: Part, x: PtxExecution, values: tuple[int, ...]):
        super().__init__(part, x, values, set())
        self.orders: dict[tuple[int, ...], Relation] = {}

    def note(self, memories: set[tuple[int, ...]]) -> None:
        for each in memories:
            self.orders.setdefault(each, list(self.x.sc))
        super().note(memories)

    def order(self, memory: tuple[int, ...], sc: Relation) -> None:
        """Give the execution the orders that it ends with ``memory`` by."""
        x, part = self.x, self.part
        x.order_fences(self.released, sc)
        orders: list[Relation] = []
        for number, value in enumerate(memory):
            place = part.places[number]
            co = part.order(x, number, place)
            assert co is not None
            lasts = (w for w in bits(part.lasts(x, number)) if self.values[w] == value)
            orders.append(next(o for w in lasts for o in ending_with(x, place, co, w)))
        every = [read for place in part.places for read in place.reads]
        x.order_writes(union([0] * part.frame.size, *orders), every)
