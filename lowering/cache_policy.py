"""The behaviour of an access at the caches, in words that the rows of both vendors share."""

from dataclasses import dataclass

from fencewright.lowering.vocabulary import FastStrEnum


class Lookup(FastStrEnum):
    """Behaviour of an access at one cache, in the words of CDNA's load and store control tables.

    HIT: a line that is present may serve it; MISS: it goes on to the next level though the line
    is present; then what becomes of the line: LRU it is used, STREAM it is unlikely to be
    used again, KEEP it stays as it is and none is brought in, EVICT it goes. BYPASS: a dirty line
    is written back first, the line is dropped. No row of CDNA has KEEP.
    """

    HIT_LRU = "hit LRU"
    HIT_STREAM = "hit stream"
    HIT_KEEP = "hit keep"
    HIT_EVICT = "hit evict"
    MISS_LRU = "miss LRU"
    MISS_KEEP = "miss keep"
    MISS_EVICT = "miss evict"
    BYPASS = "coherent cache bypass"

    @property
    def hits(self) -> bool:
        """True if a line that is present serves the access."""
        return self in (Lookup.HIT_LRU, Lookup.HIT_STREAM, Lookup.HIT_KEEP, Lookup.HIT_EVICT)


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """The behaviour of an access at each cache; a missing last-level cache has none."""

    l1: Lookup
    l2: Lookup
    last_level: Lookup
