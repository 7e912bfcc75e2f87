"""Caches over arrays: equal to their definition on random traces, and what single rules say."""

from collections import Counter
from random import Random

import caches_definition as definition
import numpy as np
import pytest
from campaigns import some_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fencewright.simulator.execution.program import (
    CacheLevel,
    CachePolicy,
    Lookup,
    MemoryAccessKind,
)
from fencewright.simulator.performance.caches import (
    Caches,
    CacheShape,
    CachesOfLevel,
    Hierarchy,
    Outcome,
    Requests,
    resized,
)
from fencewright.simulator.performance.patterns import lines_of_ranges, lines_of_rows, patterns
from fencewright.simulator.performance.private import BASE
from fencewright.simulator.performance.words import how_many_set, touched

L1, L2, LAST = CacheLevel.L1, CacheLevel.L2, CacheLevel.LAST_LEVEL
SHAPES = {
    "first level, sectors": CacheShape(L1, 128, 3, 32, 32, 32, False, False, True),
    "first level that stores fill": CacheShape(L1, 128, 3, 32, 32, 32, True, False, True),
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


def traces(line: int) -> "st.SearchStrategy[Trace]":
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


Trace = list[tuple[str, Lookup, list[Request]]]


def check_equal(shape: CacheShape, trace: Trace) -> None:
    arrays, slowly = CachesOfLevel(shape), definition.Level(shape)
    for number, (operation, lookup, batch) in enumerate(trace):
        found = over_arrays(arrays, operation, lookup, batch, number)
        said = by_definition(slowly, operation, lookup, batch, number)
        assert (found.looked_up, found.missed) == (said.looked_up, said.missed)
        assert words_in(found.reads) == said.reads
        assert words_in(found.writes) == said.writes
        assert Counter(found.again) == said.again
        assert arrays.dirty_words == sum(len(each.dirty) for each in slowly.lines.values())


@pytest.mark.parametrize("name", some_of([*SHAPES], 3))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_arrays_do_what_the_definition_says(name: str, data: st.DataObject) -> None:
    shape = SHAPES[name]
    check_equal(shape, data.draw(traces(shape.line)))


@pytest.mark.parametrize("name", some_of([*SHAPES], 3))
def test_arrays_do_what_the_definition_says_of_long_traces(name: str) -> None:
    draw = Random(name)
    shape = SHAPES[name]
    for _ in range(60):
        check_equal(shape, [random_batch(draw, shape.line // 4) for _ in range(16)])


def random_batch(draw: Random, words: int) -> tuple[str, Lookup, list[Request]]:
    def request() -> Request:
        mask = mask_of(draw.randrange(words), draw.choice((1, draw.randint(1, words))), words)
        return draw.randrange(CACHES), draw.randrange(7), mask

    operation = draw.choice(("load", "load", "store", *OPERATIONS))
    lookup = draw.choice((Lookup.HIT_LRU, Lookup.HIT_LRU, *Lookup))
    return operation, lookup, [request() for _ in range(draw.randint(1, 6))]


# Between levels


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), masks(128)), min_size=1))
def test_requests_are_the_same_words_in_lines_of_another_size(batch: list[Request]) -> None:
    def words(line: int, requests: Requests) -> Counter[tuple[int, int]]:
        found = words_in(requests).elements()
        return Counter((cache, number * (line // 4) + word) for cache, number, word in found)

    whole = requests_of(batch)
    halves = resized(whole, 128, 64)
    assert words(64, halves) == words(128, whole) == words(128, resized(halves, 64, 128))


def test_work_groups_go_to_dies_and_cores_in_turn() -> None:
    chip = Hierarchy(2, 3, (), None)
    groups = np.arange(8)
    assert chip.die_of(groups).tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    assert chip.core_of(groups).tolist() == [0, 3, 1, 4, 2, 5, 0, 3]


def test_what_one_cache_writes_is_dropped_by_the_others_but_for_what_is_dirty() -> None:
    level = CachesOfLevel(SHAPES["second level, lines"])
    everywhere = requests_of([(cache, 5, 1) for cache in range(3)])
    level.load(everywhere, Lookup.HIT_LRU)
    level.store(requests_of([(2, 5, 2)]), Lookup.HIT_LRU)
    level.drop_copies(requests_of([(0, 5, 1)]), 3)
    again = [level.load(requests_of([(cache, 5, 3)]), Lookup.HIT_LRU) for cache in range(3)]
    assert [each.missed for each in again] == [0, 1, 1]
    assert words_in(level.write_back(np.array([2]))) == Counter({(2, 5, 1): 1})


def test_an_invalidate_of_ranges_drops_their_lines_only() -> None:
    level = CachesOfLevel(SHAPES["second level, lines"])
    level.load(requests_of([(0, 5, 1), (0, 6, 1)]), Lookup.HIT_LRU)
    level.invalidate(np.array([0]), 7, ((6 * 128, 7 * 128),))
    found = level.load(requests_of([(0, 5, 1), (0, 6, 1)]), Lookup.HIT_LRU)
    assert (found.missed, found.again) == (1, {7: 128})


@pytest.mark.parametrize("keeps_private", [False, True])
def test_what_empties_the_first_level_leaves_private_memory_where_it_is_kept(
    keeps_private: bool,
) -> None:
    levels = (SHAPES["first level, sectors"], SHAPES["second level, sectors"])
    caches = Caches(Hierarchy(1, 1, levels, None, keeps_private=keeps_private))
    both = requests_of([(0, 5, 1), (0, BASE // 128, 1)])
    plain = CachePolicy(Lookup.HIT_LRU, Lookup.HIT_LRU, Lookup.HIT_LRU)
    missed: list[int] = []
    for _ in range(2):
        missed.append(caches.access(both, MemoryAccessKind.LOAD, plain, False)[0].missed)
        caches.invalidate(CacheLevel.L1, np.array([0]), 1)
    assert missed == [2, 1 if keeps_private else 2]


def test_a_store_fills_the_words_that_it_writes() -> None:
    level = CachesOfLevel(SHAPES["first level that stores fill"])
    level.store(requests_of([(0, 5, 0b0011)]), Lookup.MISS_LRU)
    assert level.load(requests_of([(0, 5, 0b0011)]), Lookup.HIT_LRU).missed == 0
    assert level.load(requests_of([(0, 5, 0b0110)]), Lookup.HIT_LRU).missed == 1
    level.store(requests_of([(0, 6, 1)]), Lookup.MISS_KEEP)
    assert level.load(requests_of([(0, 6, 1)]), Lookup.HIT_KEEP).missed == 1
    assert level.load(requests_of([(0, 6, 1)]), Lookup.HIT_LRU).missed == 1


# From addresses to lines


@settings(max_examples=50, deadline=None)
@given(st.data(), st.sampled_from((1, 2, 4, 8, 16)), st.booleans())
def test_patterns_and_bases_are_the_addresses(
    data: st.DataObject, width: int, carries: bool
) -> None:
    row = st.lists(st.none() | st.integers(0, 3000), min_size=8, max_size=8)
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    # Some rows are others moved by a multiple of 1 KiB.
    rows += [[None if each is None else each + 1024 // width for each in rows[0]]]
    active = np.array([[each is not None for each in row] for row in rows])
    addresses = np.array([[(each or 0) * width for each in row] for row in rows])
    found = patterns(addresses, active, carries=carries)
    again = found.offsets[found.of_row] + found.bases[:, None]
    assert np.array_equal(again[active], addresses[active])
    assert carries or len(found.offsets) < len(rows)
    expected = {
        (number, (each * width + byte) // 128, (each * width + byte) % 128 // 4)
        for number, row in enumerate(rows)
        for each in row
        if each is not None
        for byte in range(width)
    }
    lines = lines_of_rows(found, width)
    sizes = np.full(addresses.shape, width)
    for pieces in (lines, lines_of_ranges(addresses, sizes, active)):
        parts = zip(
            pieces.owners.tolist(), pieces.lines.tolist(), pieces.words.tolist(), strict=True
        )
        touched = [(row, line, word) for row, line, mask in parts for word in words_of(mask)]
        assert len(touched) == len({*touched})
        assert {*touched} == expected


@pytest.mark.parametrize("unit", [4, 8, 16, 32, 64, 128])
def test_masks_are_counted_and_folded_as_bit_by_bit(unit: int) -> None:
    random = np.random.default_rng(unit)
    masks = random.integers(0, 1 << 32, size=(50, 3), dtype=np.uint32)
    masks[0] = 0, 1, 0xFFFFFFFF
    size = unit // 4
    for mask, number, folded in zip(
        masks.flat, how_many_set(masks).flat, touched(masks, unit).flat, strict=True
    ):
        bits = f"{mask:032b}"[::-1]
        assert number == bits.count("1")
        units = [bits[first : first + size] for first in range(0, 32, size)]
        assert folded == sum(1 << size * at for at, each in enumerate(units) if "1" in each)
