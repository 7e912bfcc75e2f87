"""Shadow memory over arrays: shows that the accesses of an execution are ordered, or gives up.

Of each word it has the last weak writer, the weak readers since and the atomics since, each as one
number: the bits of the lane above those of the time. Readers and atomics of several lanes have the
lane of one and the mark of the least group that they are all of. What barriers order is before the
time of the last barrier of the block, or of the warp. It keeps no more than it takes to show that
there is no race: where it cannot, ``detector`` judges.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.launch import Memory
from fencewright.simulator.execution.program import Executed, MemorySpace
from fencewright.simulator.execution.spaces import Buffers

LANE_BITS = 5
TIME_BITS = 32
_TIME = (1 << TIME_BITS) - 1
_OF_WARP, _OF_BLOCK, _OF_ALL = (1 << bit for bit in (28, 29, 30))
"""The marks of several lanes: of one warp, of one block, or of the launch."""
MOST_THREADS = 1 << 28
"""Lanes whose numbers leave room for the marks."""
MOST_BYTES = 1 << 34
"""Of one array of shadow memory, which takes memory only where it is touched."""


class NotShown(Exception):
    """The end of an execution in which something may be wrong."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction of a kernel as the shadow has it.

    ``space``: None of memory that no other lane sees. ``parts``: its accesses by a lane;
    ``is_barrier``: of the block, else of the warp.
    """

    site: int
    space: MemorySpace | None = None
    width: int = 0
    parts: int = 1
    writes: bool = False
    is_atomic: bool = False
    reads_only: bool = False
    is_exact: bool = True
    is_barrier: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """The lanes of an access: their numbers, and when their block and their warp last met."""

    lane: Numbers
    block: Numbers
    warp: Numbers


class Shadow:
    """The words of one space. ``span``: the lanes of a block, as a power of two."""

    def __init__(self, bytes_: int, grain: int, span: int, with_atomics: bool):
        count = bytes_ // grain + 1
        if 8 * count > MOST_BYTES:
            raise NotShown("too much memory")
        self.grain, self.span = grain, span
        self.writer: Numbers = np.zeros(count, dtype=np.int64)
        self.readers: Numbers = np.zeros(count, dtype=np.int64)
        self.atomics: Numbers | None = np.zeros(count, dtype=np.int64) if with_atomics else None

    def words(self, at: Numbers, width: int) -> Numbers:
        """The words of accesses, those of one lane side by side."""
        first = at // self.grain
        count = max(width // self.grain, 1)
        return first if count == 1 else (first[:, None] + np.arange(count)).reshape(-1)

    def _before(self, marks: Numbers, now: Now) -> LaneFlags:
        """True where all that a mark stands for is ordered before the access."""
        other, time = (marks >> TIME_BITS) ^ now.lane, marks & _TIME
        found = (marks == 0) | (other == 0)
        found |= (time < now.warp) & (other & ~_OF_WARP < 1 << LANE_BITS)
        found |= (time < now.block) & (other & ~(_OF_WARP | _OF_BLOCK) < self.span)
        return found

    def _need(self, marks: Numbers, now: Now) -> None:
        if marks.any() and not self._before(marks, now).all():
            raise NotShown("a race")

    def _add(self, marks: Numbers, words: Numbers, now: Now, time: int) -> None:
        """Add lanes to those that a mark stands for, or put them in their place."""
        old = marks[words]
        lane, group = now.lane, np.zeros(len(words), dtype=np.int64)
        if old.any():
            group = np.where(self._before(old, now), 0, self._group((old >> TIME_BITS) ^ lane))
        own = lane << TIME_BITS | time
        marks[words] = own
        # Where several lanes have a word, one of them has left its number.
        other = marks[words] ^ own
        if other.any():
            group = np.maximum(group, self._group(other >> TIME_BITS))
        for mark in (_OF_WARP, _OF_BLOCK, _OF_ALL):
            of = group == mark
            if of.any():
                marks[words[of]] = own[of] | mark << TIME_BITS

    def _group(self, other: Numbers) -> Numbers:
        """The least group of two lanes, as a mark, of their difference; 0 of one lane."""
        found = np.where(other & ~_OF_WARP < 1 << LANE_BITS, _OF_WARP, _OF_ALL)
        block = (found == _OF_ALL) & (other & ~(_OF_WARP | _OF_BLOCK) < self.span)
        return np.where(other == 0, 0, np.where(block, _OF_BLOCK, found))

    def read(self, words: Numbers, now: Now, time: int, step: Step) -> None:
        """Weak reads. Raises ``NotShown``."""
        writers = self.writer[words]
        self._need(writers, now)
        if step.space is MemorySpace.SHARED and not writers.all():
            raise NotShown("what nobody wrote is read")
        if self.atomics is not None and (marks := self.atomics[words]).any():
            self._need(marks, now)
            if not step.is_exact:
                raise NotShown("what is read depends on the order of atomics")
        if step.reads_only:
            if writers.any():
                raise NotShown("what was written is read through the read-only path")
            self.readers[words] = now.lane << TIME_BITS | _OF_ALL << TIME_BITS | time
            return
        self._add(self.readers, words, now, time)

    def write(self, words: Numbers, now: Now, time: int) -> None:
        """Weak writes. Raises ``NotShown``."""
        self._need(self.writer[words], now)
        self._need(self.readers[words], now)
        if self.atomics is not None:
            self._need(self.atomics[words], now)
            self.atomics[words] = 0
        own = now.lane << TIME_BITS | time
        self.writer[words] = own
        if (self.writer[words] != own).any():
            raise NotShown("lanes write one word at once")
        self.readers[words] = 0

    def update(self, words: Numbers, now: Now, time: int) -> None:
        """Atomics, which conflict with weak accesses alone. Raises ``NotShown``."""
        assert self.atomics is not None
        self._need(self.writer[words], now)
        self._need(self.readers[words], now)
        self._add(self.atomics, words, now, time)


class WaveObserver:
    """Follows one execution of all waves; ``executed`` has the sites of its instructions."""

    def __init__(
        self, steps: tuple[Step, ...], memory: Memory, groups: int, threads: int, shared: int
    ):
        self.steps, self.threads = steps, threads
        self.waves = -(-threads >> LANE_BITS)
        bits = (self.waves - 1).bit_length()
        if groups << bits + LANE_BITS > MOST_THREADS:
            raise NotShown("too many threads")
        self.wave_bits = bits
        grain = min((min(each.width // each.parts, 4) for each in steps if each.width), default=4)
        span, atomics = 1 << bits + LANE_BITS, any(each.is_atomic for each in steps)
        self.buffers, self.room = Buffers(memory), shared
        self.shadows = {
            MemorySpace.GLOBAL: Shadow(len(memory.bytes), grain, span, atomics),
            MemorySpace.SHARED: Shadow(groups * shared, grain, span, atomics),
        }
        self.time, self.accesses, self.executed = 1, 0, set[int]()
        self.block: Numbers = np.zeros(groups, dtype=np.int64)
        self.warp: Numbers = np.zeros(groups << bits, dtype=np.int64)
        self.arrived: LaneFlags = np.zeros(groups << bits, dtype=np.bool_)
        self.present: Numbers = np.zeros(groups, dtype=np.int64)
        self.lanes: Numbers = np.minimum(threads - 32 * np.arange(self.waves), 32)

    def __call__(self, event: Executed) -> None:
        """See an instruction of some waves. Raises ``NotShown``."""
        step, active = self.steps[event.instruction], event.active
        warps = event.groups << self.wave_bits | event.waves
        if step.space is None and not step.width:
            self._meet(step, event, warps)
            return
        every = bool(active.all())
        if not every and not active.any():
            return
        self.executed.add(step.site)
        if step.space is None:
            return
        first: Numbers = warps << LANE_BITS
        lanes = first[:, None] + np.arange(active.shape[1], dtype=np.int64)
        at = event.addresses
        if step.space is MemorySpace.SHARED:
            at = at + event.groups[:, None] * self.room
        else:
            at = self.buffers.locate(at, active, step.width).at
        count = active.sum(axis=1)
        block, warp = self.block[event.groups], self.warp[warps]
        chosen: NDArray[np.int64] = at.reshape(-1) if every else at[active]
        shadow = self.shadows[step.space]
        words = shadow.words(chosen, step.width)
        share = len(words) // len(chosen)
        own = lanes.reshape(-1) if every else lanes[active]
        now = Now(np.repeat(own, share), np.repeat(block, count * share),
                  np.repeat(warp, count * share))  # fmt: skip
        self.accesses += len(chosen) * step.parts
        if step.is_atomic:
            shadow.update(words, now, self.time)
        elif step.writes:
            shadow.write(words, now, self.time)
        else:
            shadow.read(words, now, self.time, step)

    def _meet(self, step: Step, event: Executed, warps: Numbers) -> None:
        """Lanes at a barrier: whole warps, or none."""
        if (event.active.sum(axis=1) != self.lanes[event.waves]).any():
            raise NotShown("a warp that is at a barrier in part")
        self.executed.add(step.site)
        if not step.is_barrier:
            self.time += 1
            self.warp[warps] = self.time
            return
        if self.arrived[warps].any():
            raise NotShown("a barrier without warps that have ended")
        self.arrived[warps] = True
        np.add.at(self.present, event.groups, 1)
        complete = np.unique(event.groups[self.present[event.groups] == self.waves])
        if not len(complete):
            return
        self.time += 1
        self.present[complete] = 0
        self.block[complete] = self.time
        whole = (complete[:, None] << self.wave_bits | np.arange(self.waves)).reshape(-1)
        self.arrived[whole], self.warp[whole] = False, self.time
