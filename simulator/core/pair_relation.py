"""Relations as sets of pairs of events, for definitions: those of a cat file of herd.

What such a file writes as ``[s]``, ``a ; b``, ``a+`` and ``a^-1`` is ``on(s)``, ``seq(a, b)``,
``plus(a)`` and ``inverse(a)``. ``relation`` has the same as bit masks, for engines.
"""

from collections.abc import Iterable, Set

Pairs = Set[tuple[int, int]]


def on(events: Iterable[int]) -> Pairs:
    """Each of the events with itself."""
    return {(each, each) for each in events}


def seq(*relations: Pairs) -> Pairs:
    """From the start of a pair of the first relation, by the others, to an end of the last."""
    result = relations[0]
    for relation in relations[1:]:
        after: dict[int, set[int]] = {}
        for a, b in relation:
            after.setdefault(a, set()).add(b)
        result = {(a, c) for a, b in result for c in after.get(b, ())}
    return result


def plus(relation: Pairs) -> Pairs:
    """The transitive closure."""
    result = relation
    while not (more := seq(result, relation)) <= result:
        result = result | more
    return result


def inverse(relation: Pairs) -> Pairs:
    """Each pair reversed."""
    return {(b, a) for a, b in relation}


def irreflexive(relation: Pairs) -> bool:
    """True if no event is related to itself."""
    return all(a != b for a, b in relation)


def acyclic(relation: Pairs) -> bool:
    """True if no event reaches itself."""
    return irreflexive(plus(relation))
