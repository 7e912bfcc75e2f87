"""The prices of what synchronises in code of any vendor."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.costs import Cost, cost_of
from fencewright.lowering.sequence import Line, UnsupportedError, WaitCounts

if TYPE_CHECKING:
    from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction
    from fencewright.lowering.ptx.code.text import PtxFile


@dataclass(frozen=True, slots=True)
class PricedLine:
    """A fence, barrier or wait of a function, with what one execution costs; None: not known."""

    function: str
    line: int
    instruction: str
    cost: Cost | None


_PRICED = frozenset({Kind.FENCE, Kind.BARRIER, Kind.SIGNAL, Kind.WAIT})
_PRICED_AMD = _PRICED | {Kind.CACHE}


def ptx_prices(module: "PtxFile") -> Iterator[PricedLine]:
    """The fences, barriers, waits and ordered accesses of PTX, each with its price."""
    for function in module.functions.values():
        for each in function.instructions:
            statement, ordering = each.statement, each.statement.ordering
            is_ordered = ordering is not None and (ordering.acquires or ordering.releases)
            if statement.kind in _PRICED or is_ordered:
                price = _price(module.target, str(statement.opcode.name))
                yield PricedLine(function.name, each.line, str(each), price)


def amd_prices(assembly: "Assembly") -> Iterator[PricedLine]:
    """The waits, barriers, write-backs and invalidates of AMD assembly, each with its price."""
    from fencewright.lowering.cdna.code.flow import flow_of

    for function in assembly.functions.values():
        for block in flow_of(function).blocks:
            for step in block.steps:
                if step.effects.kind in _PRICED_AMD:
                    at = step.instruction
                    line = _priced(assembly.chip, at)
                    price = None if line is None else _price(assembly.chip, line)
                    yield PricedLine(function.name, at.line, at.text, price)


def _priced(target: str, instruction: "AssemblyInstruction") -> Line | str | None:
    """An instruction as prices take it: of a wait the counters of memory, in any spelling.

    None: its counters are not read.
    """
    from fencewright.lowering.cdna.chips import KNOWN_CHIPS
    from fencewright.lowering.cdna.code.waits import wait_counts

    if instruction.mnemonic != "s_waitcnt" or target not in KNOWN_CHIPS:
        return instruction.text
    words = [w for w in (*instruction.operands, *instruction.modifiers) if w != "&"]
    try:
        counts = wait_counts(words, KNOWN_CHIPS[target].generation)
    except ValueError:
        return None
    counts.pop("expcnt", None)  # Exports are no accesses.
    return Line(instruction.mnemonic, wait=WaitCounts(**counts))


def _price(target: str, line: Line | str) -> Cost | None:
    try:
        return cost_of(target, line)
    except UnsupportedError:
        return None
