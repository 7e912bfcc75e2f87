"""The rules of ``caches`` written down as they are said, one request at a time.

Slow, and short enough to be read: what counts over arrays is held equal to it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fencewright.simulator.execution.program import Lookup
from fencewright.simulator.performance.caches import CacheShape
from fencewright.simulator.performance.words import WORD

Place = tuple[int, int]
"""A cache of the level, and a line."""

_KEPT = (Lookup.HIT_KEEP, Lookup.MISS_KEEP)
"""Lookups that leave a line as it is."""


@dataclass
class Line:
    """The words of a line that are here, those of them that are dirty, those that a fence
    dropped."""

    valid: set[int] = field(default_factory=set[int])
    dirty: set[int] = field(default_factory=set[int])
    lost: dict[int, int] = field(default_factory=dict[int, int])
    used: int = 0


@dataclass
class Counts:
    """Units that were looked up and missed, words read and written farther out, bytes again."""

    looked_up: int = 0
    missed: int = 0
    reads: Counter[tuple[int, int, int]] = field(default_factory=Counter[tuple[int, int, int]])
    writes: Counter[tuple[int, int, int]] = field(default_factory=Counter[tuple[int, int, int]])
    again: Counter[int] = field(default_factory=Counter[int])


class Level:
    """The caches of a level. ``end`` ends a batch."""

    def __init__(self, shape: CacheShape) -> None:
        self.shape = shape
        self.lines: defaultdict[Place, Line] = defaultdict(Line)
        self.counts = Counts()
        self._leaving: set[Place] = set()
        self._now = 0

    def load(self, place: Place, words: set[int], lookup: Lookup) -> None:
        """One request to read."""
        line = self.lines[place]
        self.counts.looked_up += len(self._units(words, self.shape.unit))
        missing = words - line.valid if lookup.hits else words
        self.counts.missed += len(self._units(missing, self.shape.unit))
        if lookup in (Lookup.HIT_LRU, Lookup.HIT_STREAM):
            fetched = self._whole(missing, self.shape.fill) - line.valid
            again = self._units(fetched & line.lost.keys(), self.shape.unit)
            if again:
                fence = next(iter(line.lost.values()))
                self.counts.again[fence] += self.shape.unit * len(again)
        else:
            is_whole = lookup in (Lookup.MISS_LRU, Lookup.HIT_KEEP, Lookup.HIT_EVICT)
            fetched = self._whole(missing, self.shape.fill) if is_whole else missing
        self._go_on(self.counts.reads, place, fetched)
        if lookup in (Lookup.MISS_EVICT, Lookup.HIT_EVICT, Lookup.BYPASS):
            self._leaving.add(place)
        elif lookup not in _KEPT:
            self._bring(line, fetched, lookup)

    def store(self, place: Place, words: set[int], lookup: Lookup) -> None:
        """One request to write."""
        line = self.lines[place]
        self.counts.looked_up += len(self._units(words, self.shape.store_unit))
        self.counts.missed += self.shape.store_misses and not line.valid
        if lookup in (Lookup.MISS_EVICT, Lookup.HIT_EVICT, Lookup.BYPASS):
            self._leaving.add(place)
            line.dirty -= words
            self._go_on(self.counts.writes, place, words)
        elif lookup in _KEPT:
            self._go_on(self.counts.writes, place, words)
        elif not self.shape.keeps_stores:
            if line.valid:
                self._bring(line, set(), lookup)
            self._go_on(self.counts.writes, place, words)
        else:
            self._bring(line, words, lookup)
            if self.shape.is_dirty and lookup.hits:
                line.dirty |= words
            else:
                self._go_on(self.counts.writes, place, words)

    def end(self) -> None:
        """A batch is over: lines go that are not wanted any more, and then the oldest."""
        for place in self._leaving:
            self._evict(place)
        self._leaving.clear()
        for place in [place for place, line in self.lines.items() if not line.valid | {*line.lost}]:
            del self.lines[place]
        for cache in {each for each, _ in self.lines}:
            here = [place for place in self.lines if place[0] == cache]
            here.sort(key=lambda place: -self.lines[place].used)
            holding = [place for place in here if self.lines[place].valid]
            kept = {*holding[: self.shape.lines], *here[: self.shape.lines]}
            for place in here:
                gone = place in holding[self.shape.lines :] or place not in kept
                if gone:
                    self._evict(place)

    def write_back(self, cache: int) -> None:
        """All dirty lines of a cache, which are clean then."""
        for place, line in self.lines.items():
            if place[0] == cache:
                self._go_on(self.counts.writes, place, line.dirty)
                line.dirty = set()

    def invalidate(self, cache: int, fence: int) -> None:
        """Drop lines that are not dirty in a cache."""
        for place, line in self.lines.items():
            if place[0] == cache and line.valid:
                line.lost = dict.fromkeys([*line.lost, *(line.valid - line.dirty)], fence)
                line.valid = set(line.dirty)

    def _bring(self, line: Line, words: set[int], lookup: Lookup) -> None:
        self._now += 1
        line.used = self._now - (1 << 60 if lookup is Lookup.HIT_STREAM else 0)
        line.valid |= words
        line.lost = {word: fence for word, fence in line.lost.items() if word not in words}

    def _evict(self, place: Place) -> None:
        self._go_on(self.counts.writes, place, self.lines[place].dirty)
        del self.lines[place]

    def _units(self, words: set[int], unit: int) -> set[int]:
        return {word * WORD // unit for word in words}

    def _whole(self, words: set[int], unit: int) -> set[int]:
        size = unit // WORD
        return {word for each in self._units(words, unit) for word in self._words(each, size)}

    @staticmethod
    def _words(unit: int, size: int) -> Iterator[int]:
        yield from range(unit * size, unit * size + size)

    @staticmethod
    def _go_on(counter: Counter[tuple[int, int, int]], place: Place, words: set[int]) -> None:
        counter.update((*place, word) for word in words)
