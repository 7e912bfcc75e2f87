"""Costs of instructions, to choose between sound alternatives, never to decide soundness.

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
    """The unit of a cost: cycles if all of it was measured, else units of an estimate."""

    CYCLES = "cycles"
    RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of an instruction, or of several: its amount, its unit and its source."""

    amount: int
    unit: Unit
    source: str

    def __str__(self) -> str:
        """The price as messages write it: an estimate is called one."""
        return f"{self.amount} cycles" if self.unit is Unit.CYCLES else f"{self.amount} (estimated)"


class _Rows(Protocol):
    """The interface of a target's module of costs."""

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
    """The cost of one instruction on ``target``; a string is its assembly text.

    Raises ``UnsupportedError`` for an unknown target or an instruction without a row.
    """
    rows = _rows(target)
    line = rows.read_line(instruction) if isinstance(instruction, str) else instruction
    return rows.cost_of(target, line)


def time_after_stores(
    target: str, instruction: Line | str, stores: int, sectors: int
) -> Figure | None:
    """The time of a wave's fence or write-back after ``stores`` with ``sectors`` in all.

    PTX: cycles of a fence, by what is outstanding. CDNA: nanoseconds of a write-back, which
    depend on how many waves of an XCD execute one and hardly on what is dirty. None where
    nothing was measured. Raises ``UnsupportedError`` for an unknown target.
    """
    rows = _rows(target)
    line = rows.read_line(instruction) if isinstance(instruction, str) else instruction
    return rows.time_after_stores(target, line, stores, sectors)


def cost_of_sequence(target: str, instructions: Iterable[Line | str]) -> Cost:
    """The cost of consecutive instructions.

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
