"""Shadow memory: of each word the last write, and the reads since then.

Cells are shared by the words that have the same history, so that the accesses of a wave to
neighbouring words are judged once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fencewright.simulator.race.amd.facts import Operation

WORD = 4


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The history of a word: who wrote it last, and one read of each wave, path and instruction
    since."""

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

    def units(self, addresses: Iterable[int], size: int) -> Iterable[int]:
        """The units that accesses of so many bytes touch, from each address on."""
        if size < self.grain:
            self._refine()
        if size == self.grain:
            return addresses if size == 1 else [each // size for each in addresses]
        grain = self.grain
        return [
            unit
            for each in addresses
            for unit in range(each // grain, (each + size - 1) // grain + 1)
        ]

    def place(self, unit: int) -> str:
        """A unit as findings name it."""
        return f"byte {unit * self.grain} of {self.name}"

    def _refine(self) -> None:
        """Go on with a cell for each byte."""
        self.cells = {
            WORD * word + at: cell for word, cell in self.cells.items() for at in range(WORD)
        }
        self.grain = 1
