"""Launches that never end: all waves, and all memory, are as they were before.

Of a wave in a loop only those registers count that decide its way, its accesses, or what other
lanes get. While memory and these stay the same, every wave does the same again.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import (
    Argument,
    Compute,
    LaneBranch,
    LaneValue,
    Merge,
    Register,
    Special,
    Values,
    jumps_of,
)
from fencewright.simulator.execution.segments import (
    Segment,
    graph_of,
    reads_of,
    targets_of,
    written_by,
)

_FIRST = 512
"""After so many segments the state of a launch is noted, and then after a quarter more."""
_TIMES = (LaneValue.CLOCK,)
_PURE = (Argument, Compute, Merge, Special)


class Rounds:
    """The state of a launch at a segment of one wave, noted again from time to time.

    ``at``: the wave and the segment. ``until``: the number of segments at which it is noted next.
    ``ran``: the waves that have run since.
    """

    def __init__(self, segments: Sequence[Segment], waves: int):
        self.until, self.at = _FIRST, (-1, -1)
        self.ran: LaneFlags = np.zeros(waves, dtype=np.bool_)
        self._decisive = cache(_Decisive(segments))
        self._values: dict[Register, Values] = {}
        self._differs: Register = -1
        self._state: list[NDArray[Any]] = []
        self._memory = self._turned = b""
        self._turns = 0

    def note(
        self, runs: int, at: tuple[int, int], places: Iterable[int],
        registers: Sequence[Values | None], state: Iterable[NDArray[Any]],
    ) -> None:  # fmt: skip
        """Note a state before a segment of a wave; ``places``: the segments of all waves."""
        self.until, self.ran[:], self._memory = runs + max(_FIRST, runs // 4), False, b""
        needed = [self._decisive(each) for each in places]
        # What time decides may end.
        self.at = (-1, -1) if None in needed else at
        self._values = {
            register: value.copy()
            for each in needed
            for register in each or ()
            if (value := registers[register]) is not None
        }
        self._state = [each.copy() for each in state]

    def is_round(
        self, registers: Sequence[Values | None], state: Iterable[NDArray[Any]],
        memory: Iterable[NDArray[Any]],
    ) -> bool:  # fmt: skip
        """True where the state is the noted one, and memory is as it was at a round since."""
        # What was different last comes first.
        for each in (self._differs, *self._values):
            value = self._values.get(each)
            if value is not None and not _same(value, registers[each]):
                self._differs = each
                return False
        if not all(map(np.array_equal, self._state, state)):
            return False
        found = blake2b()
        for each in memory:
            found.update(each.data)
        before, self._memory = self._memory, found.digest()
        return before == self._memory

    def turned(self) -> int:
        """The turns that other lanes had while memory is as it is, with the one that comes now."""
        self._turns = self._turns + 1 if self._memory == self._turned else 1
        self._turned = self._memory
        return self._turns


class _Decisive:
    """The registers that decide what a wave does in the loop of a segment; None: so does time."""

    def __init__(self, segments: Sequence[Segment]):
        self._segments = segments
        self._graph = graph_of([targets_of(each.end) for each in segments])

    def __call__(self, segment: int) -> frozenset[Register] | None:
        after = self._graph.reachable_after((segment,))
        before = self._graph.backward.reachable_after((segment,))
        loop = after & before if segment in after else self._graph.nodes
        needed = set[Register]()
        for number in loop:
            if isinstance(end := self._segments[number].end, LaneBranch):
                needed.add(end.condition)
        known = -1
        while known < len(needed):
            known = len(needed)
            for number in loop:
                needed.update(self._used(self._segments[number], needed))
        steps = (step for number in loop for step in self._segments[number].steps)
        clocks = (each for each in steps if isinstance(each, Special) and each.value in _TIMES)
        return None if any(each.result in needed for each in clocks) else frozenset(needed)

    def _used(self, segment: Segment, needed: set[Register]) -> Iterator[Register]:
        for step in segment.steps:
            if not isinstance(step, _PURE) or written_by(step) in needed:
                yield from reads_of(step)
        for jump in jumps_of(segment.end):
            yield from (source for to, source in jump.moves if to in needed)


def _same(one: Values, other: Values | None) -> bool:
    return other is not None and np.array_equal(one, other)
