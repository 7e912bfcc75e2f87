"""Effects of every instruction on the caches: the lines present, the dirty ones, and the traffic.

A batch is what several waves do with one instruction at once. A cache keeps all lines that a batch
uses until it is over; then the lines that were used longest ago go, until the others fit. Sizes are
those of the chip; every cache is fully associative, as how its sets are chosen is not public.
``tests/unit/caches_definition.py`` says the same one request at a time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import Numbers
from fencewright.simulator.execution.program import (
    CacheLevel,
    CachePolicy,
    Lookup,
    MemoryAccessKind,
)
from fencewright.simulator.performance.private import BASE as PRIVATE_BASE
from fencewright.simulator.performance.words import (
    LINE,
    WORD,
    Words,
    count_units,
    how_many_set,
    touched,
    widened,
)


@dataclass(frozen=True, slots=True)
class CacheShape:
    """The caches of one level: bytes of a line, and how many ``lines`` each of them has.

    ``unit``, ``store_unit``: bytes that are looked up together, a hit or a miss; ``fill``: bytes
    that a miss fetches. ``keeps_stores``: the words that are written stay; ``is_dirty``: only here
    at first, and they go on when the line goes. ``store_misses``: a store to a line
    that is not here counts as a miss.
    """

    level: CacheLevel
    line: int
    lines: int
    unit: int
    fill: int
    store_unit: int
    keeps_stores: bool
    is_dirty: bool
    store_misses: bool


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests that reach a level at once, in order: of each its cache, line and words."""

    caches: Numbers
    lines: Numbers
    words: Words

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, chosen: Numbers | NDArray[np.bool_]) -> "Requests":
        return Requests(self.caches[chosen], self.lines[chosen], self.words[chosen])


_NO_NUMBERS: Numbers = np.zeros(0, dtype=np.int64)
NO_REQUESTS = Requests(_NO_NUMBERS, _NO_NUMBERS, np.zeros(0, dtype=np.uint32))


def joined(parts: Iterable[Requests]) -> Requests:
    """Requests one after another."""
    some = [each for each in parts if len(each)]
    if len(some) < 2:
        return some[0] if some else NO_REQUESTS
    return Requests(
        np.concatenate([each.caches for each in some]),
        np.concatenate([each.lines for each in some]),
        np.concatenate([each.words for each in some]),
    )


def resized(requests: Requests, line: int, other: int) -> Requests:
    """Requests for lines of ``line`` bytes as requests for lines of ``other`` bytes."""
    if line == other:
        return requests
    if line < other:
        ratio = other // line
        shift = (requests.lines % ratio * (line // WORD)).astype(np.uint32)
        return Requests(requests.caches, requests.lines // ratio, requests.words << shift)
    ratio = line // other
    part = np.arange(ratio)
    lines = requests.lines[:, None] * ratio + part
    full = np.uint32((1 << other // WORD) - 1)
    words = requests.words[:, None] >> (part * (other // WORD)).astype(np.uint32) & full
    caches = np.repeat(requests.caches, ratio)
    made = Requests(caches, lines.reshape(-1), words.reshape(-1))
    return made[made.words != 0]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a batch at one level, with the requests to the next.

    ``looked_up`` and ``missed`` in units. ``reads``: what is fetched; ``writes``: what is written
    through, or back. ``again``: bytes fetched again, by the number of the fence that dropped them.
    ``evicted``: dirty lines that had to go.
    """

    looked_up: int = 0
    missed: int = 0
    reads: Requests = NO_REQUESTS
    writes: Requests = NO_REQUESTS
    again: Mapping[int, int] = field(default_factory=dict[int, int])
    evicted: int = 0

    @property
    def hit(self) -> int:
        """Units that were here."""
        return self.looked_up - self.missed


_CACHE_SHIFT = 44
"""A key is a line with the number of its cache above: lines are of addresses below 2**48."""

_DROPPED = (Lookup.MISS_EVICT, Lookup.HIT_EVICT, Lookup.BYPASS)
"""Lookups that leave no line."""

_KEPT = (Lookup.HIT_KEEP, Lookup.MISS_KEEP)
"""Lookups that leave a line as it is, and bring none in."""

_SELDOM = 1 << 60
"""Lines that are unlikely to be used again are as old as if they were used so much earlier."""

_NEVER = np.iinfo(np.int64).max


@dataclass(slots=True)
class _Lines:
    """The lines of all caches of a level, in order of ``keys``, which have the cache above the
    line.

    A line is here if it has valid words. ``lost``: words that it had until fence ``lost_by``
    dropped them: such a line holds no room.
    """

    keys: Numbers
    valid: Words
    dirty: Words
    used: Numbers
    lost: Words
    lost_by: NDArray[np.int32]

    @staticmethod
    def none() -> "_Lines":
        no_words = np.zeros(0, dtype=np.uint32)
        return _Lines(
            _NO_NUMBERS, no_words, no_words, _NO_NUMBERS, no_words, np.zeros(0, dtype=np.int32)
        )

    def keep(self, kept: NDArray[np.bool_]) -> None:
        if kept.all():
            return
        self.keys, self.valid, self.dirty = self.keys[kept], self.valid[kept], self.dirty[kept]
        self.used, self.lost, self.lost_by = self.used[kept], self.lost[kept], self.lost_by[kept]

    def find(self, keys: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """The place of each key, present or not, and a flag that it is present."""
        places = np.searchsorted(self.keys, keys)
        if not len(self.keys):
            return places, np.zeros(len(keys), dtype=np.bool_)
        return places, self.keys[np.minimum(places, len(self.keys) - 1)] == keys

    def add(self, keys: Numbers) -> Numbers:
        """The places of ``keys``, which are in order; those that were absent are added."""
        places, present = self.find(keys)
        if present.all():
            return places
        new = places[~present]
        self.keys = np.insert(self.keys, new, keys[~present])
        self.valid, self.dirty = np.insert(self.valid, new, 0), np.insert(self.dirty, new, 0)
        self.used, self.lost = np.insert(self.used, new, 0), np.insert(self.lost, new, 0)
        self.lost_by = np.insert(self.lost_by, new, 0)
        return places + np.cumsum(~present) - ~present


@dataclass(frozen=True, slots=True)
class _Grouped:
    """Requests by their lines: which ``keys`` they are for, in order, and the words of each.

    ``order``: the requests by key; ``starts``: where those of each key start; ``last``: the last
    request of each key.
    """

    keys: Numbers
    words: Words
    order: Numbers
    starts: Numbers
    last: Numbers

    @property
    def sizes(self) -> Numbers:
        """The number of requests of each key."""
        return np.diff(self.starts, append=len(self.order))

    @property
    def of_request(self) -> Numbers:
        """The number of the key of each request in ``order``."""
        return np.repeat(np.arange(len(self.keys)), self.sizes)


def _grouped(requests: Requests) -> _Grouped:
    keys = requests.caches << _CACHE_SHIFT | requests.lines
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    differs = np.ones(len(keys), dtype=np.bool_)
    differs[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(differs)
    words = np.bitwise_or.reduceat(requests.words[order], starts)
    last = order[np.append(starts[1:], len(order)) - 1]
    return _Grouped(ordered[starts], words, order, starts, last)


class CachesOfLevel:
    """All caches of one level, from empty."""

    def __init__(self, shape: CacheShape) -> None:
        self.shape = shape
        self._lines = _Lines.none()
        self._now = 0

    # Requests from the waves' side

    def load(self, requests: Requests, lookup: Lookup) -> Outcome:
        """Read; lines that are absent, or not to be served from here, are fetched."""
        if not len(requests):
            return Outcome()
        units = count_units(requests.words, self.shape.unit)
        group = _grouped(requests)
        if lookup in (Lookup.HIT_EVICT, Lookup.HIT_KEEP):
            return self._load_without_fill(requests, group, lookup, units)
        if not lookup.hits:
            return self._pass_on(requests, group, lookup, units)
        at = self._lines.add(group.keys)
        valid = self._lines.valid[at]
        fetched = widened(group.words & ~valid, self.shape.fill) & ~valid
        missed = self._misses(requests, group, valid)
        again = self._fetched_again(at, fetched)
        self._fill(at, fetched, group, lookup)
        evicted = self._trimmed()
        reads = _of_keys(group.keys, fetched)[np.argsort(group.order[group.starts])]
        reads = reads[reads.words != 0]
        return Outcome(units, missed, reads, evicted, again, len(evicted))

    def store(self, requests: Requests, lookup: Lookup) -> Outcome:
        """Write."""
        if not len(requests):
            return Outcome()
        group = _grouped(requests)
        units = count_units(requests.words, self.shape.store_unit)
        places, present = self._present(group.keys)
        missed = self._store_misses(group, present, lookup)
        if lookup in _DROPPED:
            old = self._drop(group.keys, but=group.words)
            return Outcome(units, missed, writes=joined((old, requests)), evicted=len(old))
        if lookup in _KEPT:
            return Outcome(units, missed, writes=requests)
        if not self.shape.keeps_stores:
            self._use(places[present], group.last[present], lookup)
            evicted = self._trimmed()
            return Outcome(units, missed, writes=joined((requests, evicted)), evicted=len(evicted))
        at = self._lines.add(group.keys)
        self._fill(at, group.words, group, lookup)
        stays = self.shape.is_dirty and lookup.hits
        if stays:
            self._lines.dirty[at] |= group.words
        evicted = self._trimmed()
        writes = evicted if stays else joined((requests, evicted))
        return Outcome(units, missed, writes=writes, evicted=len(evicted))

    def update(self, requests: Requests, lookup: Lookup) -> Outcome:
        """Read and write in one: an atomic, done here where lines may be dirty, or farther out."""
        if self.shape.is_dirty and lookup.hits:
            read = self.load(requests, Lookup.HIT_LRU)
            written = self.store(requests, lookup)
            writes = joined((read.writes, written.writes))
            evicted = read.evicted + written.evicted
            return Outcome(read.looked_up, read.missed, read.reads, writes, read.again, evicted)
        passed = self.store(requests, lookup)
        units = passed.looked_up
        return Outcome(units, units, requests, passed.writes, evicted=passed.evicted)

    # Fences

    def write_back(self, caches: Numbers) -> Requests:
        """All dirty lines of some caches, which are clean then."""
        lines = self._lines
        chosen = (lines.dirty != 0) & np.isin(lines.keys >> _CACHE_SHIFT, caches)
        written = _of_keys(lines.keys[chosen], lines.dirty[chosen])
        lines.dirty[chosen] = 0
        return written

    def invalidate(
        self, caches: Numbers, fence: int, only: tuple[tuple[int, int], ...] | None = None
    ) -> None:
        """Drop lines that are not dirty; ``only``: lines in these ranges of addresses."""
        lines = self._lines
        chosen = np.isin(lines.keys >> _CACHE_SHIFT, caches) & (lines.valid != 0)
        if only is not None:
            addresses = (lines.keys & (1 << _CACHE_SHIFT) - 1) * self.shape.line
            chosen &= np.any(
                [np.zeros_like(chosen), *((a <= addresses) & (addresses < b) for a, b in only)],
                axis=0,
            )
        dropped = lines.valid & ~lines.dirty
        lines.lost = np.where(chosen, lines.lost | dropped, lines.lost)
        lines.lost_by[chosen] = fence
        lines.valid = np.where(chosen, lines.dirty, lines.valid)

    def drop_copies(self, written: Requests, caches: int) -> None:
        """Drop the copies that other caches of the level have of lines that were written."""
        if not len(written) or caches < 2:
            return
        everywhere = np.repeat(np.arange(caches), len(written))
        elsewhere = everywhere != np.tile(written.caches, caches)
        keys = (everywhere << _CACHE_SHIFT | np.tile(written.lines, caches))[elsewhere]
        places, present = self._lines.find(keys)
        found = places[present]
        self._lines.valid[found] = self._lines.dirty[found]
        self._lines.lost[found] = 0

    @property
    def dirty_words(self) -> int:
        """The number of words that are dirty in all caches."""
        return int(how_many_set(self._lines.dirty).sum())

    # Parts

    def _present(self, keys: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        places, present = self._lines.find(keys)
        present[present] = self._lines.valid[places[present]] != 0
        return places, present

    def _misses(self, requests: Requests, group: _Grouped, valid: Words) -> int:
        """Units that miss: the data that a miss fetches beyond its unit serves the requests after
        it."""
        if self.shape.fill <= self.shape.unit:
            return count_units(group.words & ~valid, self.shape.unit)
        found = 0
        missing = requests.words[group.order] & ~valid[group.of_request]
        numbers = np.arange(len(missing))
        for first in range(0, self.shape.line, self.shape.fill):
            part = np.uint32(((1 << self.shape.fill // WORD) - 1) << first // WORD)
            earliest = np.minimum.reduceat(np.where(missing & part, numbers, _NEVER), group.starts)
            chosen = earliest[earliest != _NEVER]
            found += count_units(missing[chosen] & part, self.shape.unit)
        return found

    def _store_misses(self, group: _Grouped, present: NDArray[np.bool_], lookup: Lookup) -> int:
        if not self.shape.store_misses:
            return 0
        brings = self.shape.keeps_stores and lookup not in _DROPPED + _KEPT
        return int((~present).sum() if brings else group.sizes[~present].sum())

    def _use(self, at: Numbers, requests: Numbers, lookup: Lookup) -> None:
        """Note when lines were used last, by the number of a request; ``HIT_STREAM``: long ago."""
        seldom = _SELDOM if lookup is Lookup.HIT_STREAM else 0
        self._lines.used[at] = self._now + requests - seldom
        self._now += int(requests.max(initial=0)) + 1

    def _fill(self, at: Numbers, words: Words, group: _Grouped, lookup: Lookup) -> None:
        self._lines.valid[at] |= words
        self._lines.lost[at] &= ~words
        self._use(at, group.last, lookup)

    def _fetched_again(self, at: Numbers, fetched: Words) -> dict[int, int]:
        """Bytes that are fetched though they were here until a fence, by its number."""
        again = touched(self._lines.lost[at] & fetched, self.shape.unit)
        if not again.any():
            return {}
        sums = np.bincount(self._lines.lost_by[at], how_many_set(again) * self.shape.unit)
        return {int(each): int(sums[each]) for each in np.flatnonzero(sums)}

    def _pass_on(self, requests: Requests, group: _Grouped, lookup: Lookup, units: int) -> Outcome:
        """A load that is not served from here: each request goes on."""
        if lookup in _DROPPED:
            old = self._drop(group.keys)
            return Outcome(units, units, requests, old, evicted=len(old))
        if lookup in _KEPT:
            return Outcome(units, units, requests)
        fill = self.shape.fill
        self._fill(self._lines.add(group.keys), widened(group.words, fill), group, lookup)
        reads = Requests(requests.caches, requests.lines, widened(requests.words, fill))
        evicted = self._trimmed()
        return Outcome(units, units, reads, evicted, evicted=len(evicted))

    def _load_without_fill(
        self, requests: Requests, group: _Grouped, lookup: Lookup, units: int
    ) -> Outcome:
        """A load that a line may serve, and that brings none in."""
        places, present = self._present(group.keys)
        valid = np.zeros(len(group.keys), dtype=np.uint32)
        valid[present] = self._lines.valid[places[present]]
        missing = np.empty(len(requests), dtype=np.uint32)
        missing[group.order] = requests.words[group.order] & ~valid[group.of_request]
        missed = count_units(missing, self.shape.unit)
        reads = Requests(requests.caches, requests.lines, widened(missing, self.shape.fill))
        old = self._drop(group.keys) if lookup in _DROPPED else NO_REQUESTS
        return Outcome(units, missed, reads[reads.words != 0], old, evicted=len(old))

    def _drop(self, keys: Numbers, but: Words | None = None) -> Requests:
        """Drop lines; gives their dirty words, without the words ``but``, which are new."""
        places, present = self._lines.find(keys)
        at = places[present]
        dirty = self._lines.dirty[at]
        if but is not None:
            dirty = dirty & ~but[present]
        written = _of_keys(self._lines.keys[at], dirty)
        kept = np.ones(len(self._lines.keys), dtype=np.bool_)
        kept[at] = False
        self._lines.keep(kept)
        return written[written.words != 0]

    def _trimmed(self) -> Requests:
        """Drop the lines used longest ago of each cache that has too many; gives the dirty ones."""
        lines, most = self._lines, self.shape.lines
        if len(lines.keys) <= most:
            return NO_REQUESTS
        count = int(lines.keys[-1] >> _CACHE_SHIFT) + 1
        starts = np.searchsorted(lines.keys, np.arange(count) << _CACHE_SHIFT)
        ends = np.append(starts[1:], len(lines.keys))
        if (ends - starts).max() <= most:
            return NO_REQUESTS
        kept = np.ones(len(lines.keys), dtype=np.bool_)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end - start > most:
                self._trim(slice(start, end), kept)
        gone = ~kept & (lines.dirty != 0)
        written = _of_keys(lines.keys[gone], lines.dirty[gone])
        lines.keep(kept)
        return written

    def _trim(self, cache: slice, kept: NDArray[np.bool_]) -> None:
        most = self.shape.lines
        used, holds = self._lines.used[cache], self._lines.valid[cache] != 0
        # Lines dropped by fences go as if they still held room, the others as they do.
        oldest = np.partition(used, len(used) - most)[len(used) - most]
        holding = used[holds]
        if len(holding) > most:
            oldest_held = np.partition(holding, len(holding) - most)[len(holding) - most]
        else:
            oldest_held = np.iinfo(np.int64).min
        kept[cache] = used >= np.where(holds, oldest_held, oldest)


def _of_keys(keys: Numbers, words: Words) -> Requests:
    return Requests(keys >> _CACHE_SHIFT, keys & (1 << _CACHE_SHIFT) - 1, words)


# The levels together


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The caches of a chip from the waves outwards, and how work-groups are spread over them.

    ``dies``: parts that have an L2 each, with ``cores`` SMs or CUs; work-groups go to them in
    turn, and on each to its cores in turn. ``scalar``: the caches of scalar loads, beside the
    first level, of ``scalar_cores`` each. ``levels``: at least the first and the second.
    ``keeps_private``: what empties the first level leaves private memory there, which no other
    thread can change.
    """

    dies: int
    cores: int
    levels: tuple[CacheShape, ...]
    scalar: CacheShape | None
    scalar_cores: int = 1
    keeps_private: bool = False

    def core_of(self, groups: Numbers) -> Numbers:
        """The core of each work-group."""
        return groups % self.dies * self.cores + groups // self.dies % self.cores

    def die_of(self, groups: Numbers) -> Numbers:
        """The die of each work-group."""
        return groups % self.dies


Moved: TypeAlias = tuple[Outcome, ...]
"""The outcome of a batch at each level; the reads and writes of the last go to memory."""


class Caches:
    """The caches of a chip while a kernel runs, cold at first.

    ``remote``: ranges of addresses that belong to other memory, as another agent's.
    """

    def __init__(self, chip: Hierarchy, remote: tuple[tuple[int, int], ...] = ()) -> None:
        self.chip = chip
        self._remote = remote
        self._first, self._second, *self._outer = [CachesOfLevel(each) for each in chip.levels]
        self._scalar = CachesOfLevel(chip.scalar) if chip.scalar else self._first

    def access(
        self, requests: Requests, kind: MemoryAccessKind, policy: CachePolicy, is_scalar: bool
    ) -> Moved:
        """A batch of one instruction: requests for lines of ``LINE`` bytes, by core."""
        first, requested = self._first, requests
        if is_scalar:
            # A cache is called as the first of its cores, so that its die is theirs.
            first, shared = self._scalar, self.chip.scalar_cores
            requested = Requests(requests.caches // shared * shared, requests.lines, requests.words)
        requested = resized(requested, LINE, first.shape.line)
        if kind is MemoryAccessKind.LOAD:
            one = first.load(requested, policy.l1)
            two = self._second.load(self._from(one.reads, first), policy.l2)
        else:
            one = first.store(requested, policy.l1)
            is_store = kind is MemoryAccessKind.STORE
            done = self._second.store if is_store else self._second.update
            two = done(self._from(one.writes, first), policy.l2)
        return (one, two, *self._outward(two, policy.last_level))

    def _from(self, requests: Requests, level: CachesOfLevel) -> Requests:
        """Requests of the first level, or of the scalar caches, to the second."""
        moved = resized(requests, level.shape.line, self._second.shape.line)
        return Requests(moved.caches // self.chip.cores, moved.lines, moved.words)

    def _outward(self, second: Outcome, lookup: Lookup) -> Iterable[Outcome]:
        """The outcomes at levels beyond the second; other copies of written lines are dropped."""
        self._second.drop_copies(second.writes, self.chip.dies)
        before, shape = second, self._second.shape
        for level in self._outer:
            reads, writes = (
                _in_one_cache(resized(each, shape.line, level.shape.line))
                for each in (before.reads, before.writes)
            )
            read, written = level.load(reads, lookup), level.store(writes, lookup)
            before, shape = _together(read, written), level.shape
            yield before

    # Fences

    def invalidate(self, level: CacheLevel, groups: Numbers, fence: int) -> None:
        """Drop clean lines in the caches of some work-groups; in L2 only remote ones."""
        if level is CacheLevel.L1:
            cores = np.unique(self.chip.core_of(groups))
            only = ((0, PRIVATE_BASE),) if self.chip.keeps_private else None
            self._first.invalidate(cores, fence, only)
        elif level is CacheLevel.L2:
            self._second.invalidate(np.unique(self.chip.die_of(groups)), fence, self._remote)

    def write_back(self, groups: Numbers) -> Moved:
        """Write the dirty lines of the L2s of some work-groups."""
        written = self._second.write_back(np.unique(self.chip.die_of(groups)))
        two = Outcome(writes=written, evicted=len(written))
        return (Outcome(), two, *self._outward(two, Lookup.HIT_LRU))

    @property
    def dirty_bytes(self) -> int:
        """Dirty bytes in all L2s."""
        return self._second.dirty_words * WORD


def _in_one_cache(requests: Requests) -> Requests:
    return Requests(np.zeros_like(requests.caches), requests.lines, requests.words)


def _together(read: Outcome, written: Outcome) -> Outcome:
    return Outcome(
        read.looked_up + written.looked_up,
        read.missed + written.missed,
        read.reads,
        joined((read.writes, written.writes)),
        read.again,
        read.evicted + written.evicted,
    )
