"""Loads that poll: in a loop that they decide to leave, of an address that stays.

Where bits say nothing of a scope, as in LDS and in stores of gfx90a, this says that a load is meant
to see what others store.
"""

from collections.abc import Iterator

from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.code.text import Registers
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.loops import loops_of

_READS = (Kind.LOAD, Kind.RMW)


def polling_lines(flow: Flow) -> frozenset[int]:
    """The lines of the loads that poll."""
    return frozenset(line for _, body in loops_of(flow.blocks) for line in _polling_in(flow, body))


def _polling_in(flow: Flow, body: frozenset[int]) -> Iterator[int]:
    steps = [step for number in sorted(body) for step in flow.blocks[number].steps]
    written = {name for step in steps for name in step.effects.defines}
    leaves = [
        flow.blocks[number].steps[-1]
        for number in body
        if flow.blocks[number].steps and not body.issuperset(flow.blocks[number].successors)
    ]
    for step in steps:
        if step.effects.kind not in _READS or not step.effects.defines:
            continue
        if written.isdisjoint(_address(step)) and _reaches(step, steps, leaves):
            yield step.instruction.line


def _address(step: Step) -> frozenset[str]:
    """The registers of a load's operands, without its result."""
    operands = step.instruction.operands[1:]
    return frozenset(
        name for each in operands if isinstance(each, Registers) for name in each.names
    )


def _reaches(load: Step, steps: list[Step], leaves: list[Step]) -> bool:
    """True where a loaded value may decide whether the loop is left."""

    def made_of(register: str) -> Iterator[str]:
        for step in steps:
            if step is not load and register in step.effects.uses:
                yield from step.effects.defines

    reached = {*walk(load.effects.defines, made_of)}
    return any(not reached.isdisjoint(each.effects.uses) for each in leaves)
