"""The instructions of AMD code that may come from accesses, atomics and barriers of a source."""

from collections.abc import Iterator, Mapping

from fencewright.checker.source.align import CodeAccess
from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.code.flow import Block, Flow, Step
from fencewright.lowering.cdna.code.text import Registers
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.vocabulary import AddressSpace

_KINDS = (Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY, Kind.BARRIER)


def accesses_of(flow: Flow) -> Iterator[CodeAccess]:
    """The instructions of a function that are aligned, by their lines."""
    written = _written_before(flow)
    for number, block in enumerate(flow.blocks):
        for position, step in enumerate(block.steps):
            effects = step.effects
            if effects.kind not in _KINDS or effects.space is AddressSpace.PRIVATE:
                continue
            if _is_scratch(step) or (not effects.events and effects.space is not None):
                continue
            if effects.space is AddressSpace.CONSTANT and _is_constant_load(
                block, position, written.get(number, frozenset())
            ):
                continue
            line = step.instruction.line
            yield CodeAccess(line, step.instruction, effects.kind, effects.space, number)


_RESOURCES = frozenset(
    Registers(tuple(f"s{n}" for n in range(chip.scratch.resource_registers)))
    for chip in KNOWN_CHIPS.values()
    if chip.scratch.resource_registers
)


def _is_scratch(step: Step) -> bool:
    """True if a buffer access is to private memory."""
    return step.effects.space is None and not _RESOURCES.isdisjoint(step.instruction.operands)


def _written_before(flow: Flow) -> Mapping[int, frozenset[str]]:
    """The registers that an instruction may have written before each block."""
    blocks = flow.blocks
    own = [
        frozenset(name for step in each.steps for name in step.effects.defines) for each in blocks
    ]
    return solve(
        graph_of(blocks),
        {0: frozenset[str]()} if blocks else {},
        lambda number, before: before | own[number],
        frozenset[str].union,
    )


def _is_constant_load(block: Block, position: int, written: frozenset[str]) -> bool:
    """True if a scalar load is of memory without writers: an argument, or an address in the GOT.

    Its base then is what the function began with, or was computed from such a symbol.
    """
    operands = block.steps[position].instruction.operands
    base = operands[1] if len(operands) > 1 else None
    if not isinstance(base, Registers):
        return False
    for step in reversed(block.steps[:position]):
        if not set(base.names).isdisjoint(step.effects.defines):
            return any("gotpcrel" in str(operand) for operand in step.instruction.operands)
    return written.isdisjoint(base.names)
