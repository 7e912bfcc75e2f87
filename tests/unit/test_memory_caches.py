"""Caches over arrays: equal to their definition on random traces, and what single rules say."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencewright.simulator.memory import caches_definition as definition
from fencewright.simulator.memory.caches import CacheShape, CachesOfLevel, Outcome, Requests
from fencewright.simulator.memory.program import CacheLevel, Lookup

L1, L2, LAST = CacheLevel.L1, CacheLevel.L2, CacheLevel.LAST_LEVEL
SHAPES = {
    "first level, sectors": CacheShape(L1, 128, 3, 32, 32, 32, False, False, True),
    "first level, short lines": CacheShape(L1, 64, 4, 64, 64, 64, False, False, True),
    "second level, sectors": CacheShape(L2, 128, 4, 32, 32, 32, True, True, False),
    "second level, two sectors a fetch": CacheShape(L2, 128, 4, 32, 64, 32, True, True, False),
    "second level, lines": CacheShape(L2, 128, 4, 128, 128, 64, True, True, True),
    "last level": CacheShape(LAST, 128, 5, 128, 128, 64, True, False, True),
}

Request = tuple[int, int, int]
"""A cache, a line and a mask of its words."""

CACHES = 2


def requests_of(batch: list[Request]) -> Requests:
    caches, lines, words = zip(*batch, strict=True)
    return Requests(np.array(caches), np.array(lines), np.array(words, dtype=np.uint32))


def words_of(mask: int) -> set[int]:
    return {word for word in range(32) if mask >> word & 1}


def words_in(requests: Requests) -> Counter[tuple[int, int, int]]:
    parts = zip(
        requests.caches.tolist(), requests.lines.tolist(), requests.words.tolist(), strict=True
    )
    return Counter((cache, line, word) for cache, line, mask in parts for word in words_of(mask))


def mask_of(first: int, count: int, words: int) -> int:
    return ((1 << count) - 1 << first) & (1 << words) - 1


def masks(line: int) -> st.SearchStrategy[int]:
    words = line // 4
    return st.builds(
        mask_of, st.integers(0, words - 1), st.just(1) | st.integers(1, words), st.just(words)
    )


OPERATIONS = ("load", "store", "update", "write back", "invalidate")


def traces(line: int) -> st.SearchStrategy[list[tuple[str, Lookup, list[Request]]]]:
    request = st.tuples(st.integers(0, CACHES - 1), st.integers(0, 6), masks(line))
    batch = st.tuples(
        st.sampled_from(("load", "load", "store", *OPERATIONS)),
        st.sampled_from((Lookup.HIT_LRU, *Lookup)),
        st.lists(request, min_size=1, max_size=6),
    )
    return st.lists(batch, max_size=12)


def by_definition(
    level: definition.Level, operation: str, lookup: Lookup, batch: list[Request], number: int
) -> definition.Counts:
    level.counts = counts = definition.Counts()
    cache = batch[0][0]
    match operation:
        case "write back":
            level.write_back(cache)
        case "invalidate":
            level.invalidate(cache, number)
        case "update" if level.shape.is_dirty and lookup.hits:
            for each in batch:
                level.load(each[:2], words_of(each[2]), Lookup.HIT_LRU)
            level.end()
            looked_up, missed = counts.looked_up, counts.missed
            for each in batch:
                level.store(each[:2], words_of(each[2]), lookup)
            level.end()
            counts.looked_up, counts.missed = looked_up, missed
        case "load":
            for each in batch:
                level.load(each[:2], words_of(each[2]), lookup)
            level.end()
        case _:
            for each in batch:
                level.store(each[:2], words_of(each[2]), lookup)
            level.end()
            if operation == "update":
                counts.missed = counts.looked_up
                counts.reads.update(counts_of(batch))
    return counts


def counts_of(batch: list[Request]) -> Counter[tuple[int, int, int]]:
    return Counter((*each[:2], word) for each in batch for word in words_of(each[2]))


def over_arrays(
    level: CachesOfLevel, operation: str, lookup: Lookup, batch: list[Request], number: int
) -> Outcome:
    caches = np.array([batch[0][0]])
    match operation:
        case "load":
            return level.load(requests_of(batch), lookup)
        case "store":
            return level.store(requests_of(batch), lookup)
        case "update":
            return level.update(requests_of(batch), lookup)
        case "write back":
            return Outcome(writes=level.write_back(caches))
        case _:
            level.invalidate(caches, number)
            return Outcome()


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_arrays_do_what_the_definition_says(name: str, data: st.DataObject) -> None:
    shape = SHAPES[name]
    arrays, slowly = CachesOfLevel(shape), definition.Level(shape)
    for number, (operation, lookup, batch) in enumerate(data.draw(traces(shape.line))):
        found = over_arrays(arrays, operation, lookup, batch, number)
        said = by_definition(slowly, operation, lookup, batch, number)
        assert (found.looked_up, found.missed) == (said.looked_up, said.missed)
        assert words_in(found.reads) == said.reads
        assert words_in(found.writes) == said.writes
        assert Counter(found.again) == said.again
        assert arrays.dirty_words == sum(len(each.dirty) for each in slowly.lines.values())
