"""Values of memory that a launch may choose, or that no launch can.

A race may choose what memory of arguments holds before the kernel, and what shared memory does:
that is what a thread reads whom no write of the kernel comes before. Of one place all read one
value. Additions to one counter return values that are apart, in whichever order they are made.
Source: PTX ISA, atom; "Memory Consistency Model", "Coherence order", "Atomicity".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from fencewright.checker.verdicts.expressions import (
    Expressions,
    is_data,
    leaves,
    number_of,
    parts_of,
)
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    AnyOf,
    Compare,
    Constraint,
    Kernel,
    Loop,
    Not,
    Overlap,
    Region,
    Relation,
    Root,
)
from fencewright.checker.verdicts.order.guards import never_before
from fencewright.checker.verdicts.solver import INTERPRETED
from fencewright.lowering.code.value import Apply, Value

_CHOSEN = (Region.PARAMETER, Region.POINTER, Region.SHARED)
"""The objects whose contents before the kernel nothing in its file says."""


@dataclass(frozen=True, slots=True)
class Content:
    """A read of the contents before the kernel, in the first iteration of ``loops``."""

    read: Access
    loops: tuple[Loop, ...]


Contents = dict[Value, Content]
"""The values of a kernel that a race may choose, each with its read."""


def contents_of(kernel: Kernel) -> Contents:
    """The results of reads, and of additions, that contents before the kernel decide."""
    if any(each.writes and each.place.root.region is Region.UNKNOWN for each in kernel.accesses):
        return {}
    own: Contents = {}
    by: dict[Root, list[Access]] = {}
    for each in kernel.accesses:
        if each.writes:
            by.setdefault(each.place.root, []).append(each)
    for each in kernel.accesses:
        is_read = each.agent is Agent.THREAD and each.reads
        is_known = each.place.offset is not None and each.place.root.region in _CHOSEN
        is_known &= len(kernel.accesses_at[each.instruction]) == 1
        is_simple = _adds(each) if each.is_atomic else not each.is_strong
        if each.result is None or not (is_read and is_known and is_simple):
            continue
        around = kernel.loops_of(each.instruction)
        loops: dict[Loop, None] = {}
        for write in by.get(each.place.root, ()):
            common = [loop for loop in kernel.loops_of(write.instruction) if loop in around]
            loops |= dict.fromkeys(common)
            if write is not each and not never_before(
                kernel, write.instruction, each.instruction, common
            ):
                break
        else:
            own[each.result] = Content(each, tuple(loops))
    # Places may depend on such contents, but on none that in a loop depend on themselves.
    found: Contents = {}
    while ready := {
        value: content
        for value, content in own.items()
        if value not in found and all(map(found.__contains__, data_in(terms_of(content.read))))
    }:
        found |= ready
    return found


def terms_of(access: Access) -> list[Value]:
    """The values that the place of an access is a sum of."""
    form = access.place.offset
    return [] if form is None else [value for value, _ in form.terms]


def data_in(values: Iterable[Value]) -> Iterator[Value]:
    """The values that memory or an unknown instruction decides, among the parts of some."""
    return (each for each in parts_of(values) if is_data(each) or is_unknown(each))


def is_unknown(value: Value) -> bool:
    """True of an instruction of which no more is known than that alike operands give one result."""
    return isinstance(value, Apply) and value.operation not in INTERPRETED


def chosen(kernel: Kernel, contents: Contents, pair: tuple[Access, Access]) -> Iterator[Constraint]:
    """The constraints under which two threads read values that a launch may have put there: of one
    place one value, and of additions as if these two had made theirs alone."""
    e = Expressions(kernel.table)
    used: dict[tuple[Access, int], None] = {}
    for thread, access in enumerate(pair):
        work = [*terms_of(access), *(each.value for each in access.conditions)]
        while work:
            for part in leaves((work.pop(),)):
                content = contents.get(part)
                if content is None or (content.read, thread) in used:
                    continue
                used[content.read, thread] = None
                work += terms_of(content.read)
                for loop in content.loops:
                    zero = e.constant(0, loop.iteration.bits)
                    yield Compare("eq", loop.iteration, thread, zero, thread)
    for (one, own), (two, other) in combinations(used, 2):
        a, b = one.result, two.result
        if one.place.root != two.place.root or a is None or b is None:
            continue
        apart = Not(Overlap(one, own, two, other))
        if one.size != two.size or a.bits != b.bits or one.is_atomic != two.is_atomic:
            yield apart
        elif not one.is_atomic:
            yield AnyOf((apart, Compare("eq", a, own, b, other)))
        elif own != other:
            first = Compare("eq", _left(e, one, a), own, b, other)
            yield AnyOf((apart, first, Compare("eq", _left(e, two, b), other, a, own)))
        else:
            yield apart


def tickets(
    kernel: Kernel, pair: tuple[Access, Access], relation: Relation
) -> Iterator[Constraint]:
    """The results of additions to one counter by two threads are apart: each is at least the other
    plus that one's addend."""
    if relation is Relation.THREAD:
        return
    counts = [
        [each for part in data_in(_asked(access)) for each in counters(kernel, part, relation)]
        for access in pair
    ]
    for one, two in product(*counts):
        yield from counts_apart(kernel, one, 0, two, 1)


def counts_apart(
    kernel: Kernel, one: Access, own: int, two: Access, other: int
) -> Iterator[Constraint]:
    """The results of two additions to one counter, by two threads, are apart."""
    e = Expressions(kernel.table)
    a, b = one.result, two.result
    if one.place.root != two.place.root or a is None or b is None or a.bits != b.bits:
        return
    cases: list[Constraint] = [Not(Overlap(one, own, two, other))]
    for add, result, thread, following, later in ((one, a, own, b, other), (two, b, other, a, own)):
        left = _left(e, add, result)
        is_whole = Compare("ule", result, thread, left, thread)
        cases.append(AllOf((is_whole, Compare("ule", left, thread, following, later))))
    yield AnyOf(tuple(cases))


def _asked(access: Access) -> list[Value]:
    return [*terms_of(access), *(each.value for each in access.conditions)]


def counters(kernel: Kernel, value: Value, relation: Relation) -> Iterator[Access]:
    """The addition that a value is the result of, if all writes of its counter add more than 0."""
    for access in kernel.accesses:
        if access.result is not value or not access.is_atomic or access.place.offset is None:
            continue
        roots = access.place.root, Root(Region.UNKNOWN, "global"), Root(Region.UNKNOWN, "")
        writers = (each for each in kernel.accesses if each.writes and each.place.root in roots)
        if all(_counts(each, relation) for each in writers):
            yield access


def _adds(access: Access) -> bool:
    return access.update == "add" and access.value is not None and not any(data_in((access.value,)))


def _counts(access: Access, relation: Relation) -> bool:
    """True of an atomic addition of a small constant, for the threads of a relation."""
    number = None if access.value is None else number_of(access.value)
    if access.update != "add" or number is None or access.scope is None:
        return False
    return 0 < number < _MOST_ADDED and access.scope.includes(relation.scope)


_MOST_ADDED = 1 << 16
"""The largest number that is added once for which no counter wraps around."""


def _left(e: Expressions, add: Access, result: Value) -> Value:
    """The value that an addition leaves, by its result."""
    assert add.value is not None
    return e.apply("add", (result, e.resized(add.value, result.bits)), result.bits)
