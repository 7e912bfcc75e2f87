"""What instructions cost, to choose between alternatives that are sound, never to decide what is.

The rows are the target's (``lowering.cdna.performance.costs``, ``lowering.ptx.performance.costs``).
Costs of one target compare with each other, costs of different targets do not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from fencewright.lowering.evidence import Figure
from fencewright.lowering.sequence import Line
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import FastStrEnum


class Unit(FastStrEnum):
    """What a cost counts: cycles where all of it was measured, else units of an estimate."""

    CYCLES = "cycles"
    RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of an instruction, or of several: how much, of what, and who says so."""

    amount: int
    unit: Unit
    source: str

    def __str__(self) -> str:
        """The price as messages write it: an estimate is called one."""
        return f"{self.amount} cycles" if self.unit is Unit.CYCLES else f"{self.amount} (estimated)"


class _Rows(Protocol):
    """What a target's module of costs has."""

    def read_line(self, text: str) -> Line: ...

    def cost_of(self, target: str, line: Line) -> Cost: ...

    def together(self, target: str, lines: tuple[Line, ...]) -> tuple[int, Cost] | None: ...

    def time_after_stores(
        self, target: str, line: Line, stores: int, sectors: int
    ) -> Figure | None: ...


@cache
def _rows(target: str) -> _Rows:
    architecture = backend_of(target).architecture
    return cast(_Rows, import_module(f"fencewright.lowering.{architecture}.performance.costs"))


def cost_of(target: str, instruction: Line | str) -> Cost:
    """What one instruction costs on ``target``; a string is its assembly text.

    Raises ``UnsupportedError`` for an unknown target or an instruction without a row.
    """
    rows = _rows(target)
    line = rows.read_line(instruction) if isinstance(instruction, str) else instruction
    return rows.cost_of(target, line)


def time_after_stores(
    target: str, instruction: Line | str, stores: int, sectors: int
) -> Figure | None:
    """What a fence or a write-back takes its wave after ``stores`` of it with ``sectors`` in all.

    PTX: cycles of a fence, by what is outstanding. CDNA: nanoseconds of a write-back, which
    depend on how many waves of an XCD execute one and hardly on what is dirty. None where
    nothing was measured. Raises ``UnsupportedError`` for an unknown target.
    """
    rows = _rows(target)
    line = rows.read_line(instruction) if isinstance(instruction, str) else instruction
    return rows.time_after_stores(target, line, stores, sectors)


def cost_of_sequence(target: str, instructions: Iterable[Line | str]) -> Cost:
    """What consecutive instructions cost.

    The sum of their costs, but for those whose price together has a row of its own: a fence
    after a load waits for it. Raises ``UnsupportedError`` as ``cost_of`` does.
    """
    rows = _rows(target)
    left = tuple([rows.read_line(i) if isinstance(i, str) else i for i in instructions])
    found: list[Cost] = []
    while left:
        count, cost = rows.together(target, left) or (1, rows.cost_of(target, left[0]))
        found.append(cost)
        left = left[count:]
    return total(found)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs of one target: cycles if all of them are."""
    priced = [cost for cost in costs if cost.amount]
    unit = Unit.CYCLES if all(cost.unit is Unit.CYCLES for cost in priced) else Unit.RELATIVE
    sources = dict.fromkeys(cost.source for cost in priced)
    return Cost(sum(cost.amount for cost in priced), unit, "; ".join(sources))
