"""Relations over the events of one execution, as one bit mask of successors for each event.

Row ``i`` of a relation has bit ``j`` set when event ``i`` is related to event ``j``. Events
are numbered from 0; an execution of a litmus test has ten to thirty of them, so that a row
is one machine word and composition is a loop over set bits.
"""

from collections.abc import Iterable, Iterator, Sequence

from fencewright.lowering.code.bits import bits

Mask = int
Relation = list[Mask]


def mask_of(members: Iterable[int]) -> Mask:
    """The set of ``members`` as a mask."""
    result = 0
    for member in members:
        result |= 1 << member
    return result


def from_pairs(size: int, pairs: Iterable[tuple[int, int]]) -> Relation:
    """The relation over ``size`` events that holds exactly for ``pairs``."""
    rows = [0] * size
    for source, target in pairs:
        rows[source] |= 1 << target
    return rows


def pairs(relation: Sequence[Mask]) -> Iterator[tuple[int, int]]:
    """The pairs of a relation, in order."""
    for source, row in enumerate(relation):
        for target in bits(row):
            yield source, target


def union(*relations: Sequence[Mask]) -> Relation:
    """The pairs of any of the relations."""
    rows = list(relations[0])
    for relation in relations[1:]:
        rows = [a | b for a, b in zip(rows, relation, strict=True)]
    return rows


def image(mask: Mask, relation: Sequence[Mask]) -> Mask:
    """Every event that some event of ``mask`` is related to."""
    result = 0
    while mask:
        low = mask & -mask
        result |= relation[low.bit_length() - 1]
        mask ^= low
    return result


def compose(left: Sequence[Mask], right: Sequence[Mask]) -> Relation:
    """``left ; right``: from a to c when there is a b with a left b and b right c."""
    return [image(row, right) for row in left]


def inverse(relation: Sequence[Mask]) -> Relation:
    """The relation with source and target exchanged."""
    rows = [0] * len(relation)
    for source, row in enumerate(relation):
        bit = 1 << source
        while row:
            low = row & -row
            rows[low.bit_length() - 1] |= bit
            row ^= low
    return rows


def transitive_closure(relation: Sequence[Mask]) -> Relation:
    """The least transitive relation that includes ``relation`` (Warshall)."""
    rows = list(relation)
    for through in range(len(rows)):
        bit = 1 << through
        row = rows[through]
        if not row:
            continue
        for source, other in enumerate(rows):
            if other & bit:
                rows[source] = other | row
    return rows


def reflexive(relation: Sequence[Mask]) -> Relation:
    """The relation together with every event related to itself."""
    return [row | 1 << source for source, row in enumerate(relation)]


def is_acyclic(relation: Sequence[Mask]) -> bool:
    """True if no event reaches itself: events without successors are removed until none is left."""
    left = 0
    for source, row in enumerate(relation):
        if row:
            left |= 1 << source
    while left:
        removed = 0
        mask = left
        while mask:
            low = mask & -mask
            if not relation[low.bit_length() - 1] & left:
                removed |= low
            mask ^= low
        if not removed:
            return False
        left &= ~removed
    return True


def shortest_path(relation: Sequence[Mask], source: int, target: int) -> tuple[int, ...]:
    """The events of a shortest path of at least one step, both ends included; () if there is
    none."""
    came_from: dict[int, int] = {}
    frontier = [source]
    while frontier:
        following: list[int] = []
        for event in frontier:
            for successor in bits(relation[event]):
                if successor in came_from:
                    continue
                came_from[successor] = event
                following.append(successor)
        if target in came_from:
            return _trace_back(came_from, source, target)
        frontier = following
    return ()


def _trace_back(came_from: dict[int, int], source: int, target: int) -> tuple[int, ...]:
    path = [target, came_from[target]]
    while path[-1] != source:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))


def find_cycle(relation: Sequence[Mask]) -> tuple[int, ...]:
    """A shortest cycle, first event repeated at the end; () if the relation is acyclic."""
    cycles = [shortest_path(relation, event, event) for event in range(len(relation))]
    return min((cycle for cycle in cycles if cycle), key=len, default=())
