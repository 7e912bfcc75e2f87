"""The origins of unknown values, lane by lane: of registers, and of the bytes of memory."""

from dataclasses import dataclass, field

import numpy as np

from fencewright.simulator.execution.byte_access import Bytes
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Register


@dataclass(slots=True)
class Origins:
    """The origins of unknown values, by numbers; 0: the value is known.

    ``shape``: waves and lanes; one column stands for all lanes. ``texts``: what each number stands
    for. Memory without an unknown value costs nothing.
    """

    shape: tuple[int, int]
    texts: list[str] = field(default_factory=lambda: [""])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _registers: dict[Register, Numbers] = field(default_factory=dict[Register, Numbers])
    _memories: list[tuple[Bytes, Numbers]] = field(default_factory=list[tuple[Bytes, Numbers]])

    def number(self, text: str) -> int:
        """The number of an origin of unknown values."""
        known = self._numbers.get(text)
        if known is None:
            known = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return known

    def of(self, register: Register, rows: Numbers) -> Numbers:
        """The origins of a register's value in some waves."""
        known = self._registers.get(register)
        return np.zeros((len(rows), 1), dtype=np.int64) if known is None else known[rows]

    def set(self, register: Register, rows: Numbers, origin: Numbers, lanes: LaneFlags) -> None:
        """A register is written in some lanes; one column: it has one value for all lanes."""
        known = self._registers.get(register)
        if known is None:
            if not origin.any():
                return
            shape = (self.shape[0], lanes.shape[1])
            known = self._registers[register] = np.zeros(shape, dtype=np.int64)
        known[rows] = np.where(lanes, origin, known[rows])

    # Memory

    def _memory(self, bytes: Bytes) -> Numbers | None:
        return next((origins for known, origins in self._memories if known is bytes), None)

    def loaded(self, bytes: Bytes, at: Numbers, active: LaneFlags, width: int) -> Numbers:
        """The origins of the values that lanes load."""
        known = self._memory(bytes)
        if known is None:
            return np.zeros((len(at), 1), dtype=np.int64)
        return np.where(active, np.max([known[at + n] for n in range(width)], axis=0), 0)

    def stored(
        self, bytes: Bytes, at: Numbers, active: LaneFlags, width: int, origin: Numbers
    ) -> None:
        """Bytes have the values that waves store."""
        known = self._memory(bytes)
        if known is None:
            if not origin.any():
                return
            known = np.zeros(len(bytes), dtype=np.int64)
            self._memories.append((bytes, known))
        values = np.broadcast_to(origin, at.shape)[active]
        for n in range(width):
            known[at[active] + n] = values

    def left_in(self, bytes: Bytes) -> tuple[int, str] | None:
        """The first place of memory whose value is unknown, and where it comes from."""
        known = self._memory(bytes)
        if known is None or not known.any():
            return None
        at = int(np.flatnonzero(known)[0])
        return at, self.texts[int(known[at])]
