"""Shadow memory: of each word the last write, and the reads since then.

Cells are shared by the words that have the same history, so that the accesses of a wave to
neighbouring words are judged once.
"""

from dataclasses import dataclass

import numpy as np

from fencewright.simulator.execution.lanes import Numbers
from fencewright.simulator.race.amd.facts import Operation

WORD = 4


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The history of a word: its last write, and one read of each wave and instruction since."""

    write: Operation | None = None
    reads: tuple[Operation, ...] = ()


UNTOUCHED = Cell()


class Shadow:
    """A buffer, or the LDS of a work-group. Words have four bytes until an access is smaller."""

    __slots__ = ("cells", "grain", "name")

    def __init__(self, name: str):
        self.name = name
        self.grain = WORD
        self.cells: dict[int, Cell] = {}

    def units(self, places: Numbers, size: int) -> list[int]:
        """The units that accesses of so many bytes touch, from each place on."""
        if size < self.grain:
            self._refine()
        first = places // self.grain
        if size == self.grain and not (places % self.grain).any():
            return first.tolist()
        most = -(-size // self.grain) + 1
        units = first[:, None] + np.arange(most)
        touched = units * self.grain < (places + size)[:, None]
        return units[touched].tolist()

    def place(self, unit: int) -> str:
        """A unit as findings name it."""
        return f"byte {unit * self.grain} of {self.name}"

    def _refine(self) -> None:
        """Go on with a cell for each byte."""
        self.cells = {
            WORD * word + at: cell for word, cell in self.cells.items() for at in range(WORD)
        }
        self.grain = 1
