"""Values of memory that a launch may choose, or that no launch can.

A race may choose what memory of arguments holds before the kernel, and what shared memory does:
that is what a thread reads whom no write of the kernel comes before. Of one place all read one
value. Additions to one counter return values that are apart, in whichever order they are made.
Source: PTX ISA, atom; "Memory Consistency Model", "Coherence order", "Atomicity".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from fencewright.checker.verdicts.expressions import (
    Expressions,
    is_data,
    leaves,
    number_of,
    parts_of,
)
from fencewright.checker.verdicts.intervals import full_barriers, shared
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    AnyOf,
    Compare,
    Constraint,
    Kernel,
    Loop,
    MbarrierStep,
    Not,
    Overlap,
    Region,
    Relation,
    Root,
)
from fencewright.checker.verdicts.order.guards import never_before
from fencewright.checker.verdicts.solver import INTERPRETED
from fencewright.lowering.code.value import Apply, Result, Value
from fencewright.lowering.vocabulary import Scope

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


def terms_of(access: Access | MbarrierStep) -> list[Value]:
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
    ends = _left(e, one, a), _left(e, two, b)
    # No counter wraps around.
    is_whole = Compare("ule", a, own, ends[0], own), Compare("ule", b, other, ends[1], other)
    first, second = Compare("ule", ends[0], own, b, other), Compare("ule", ends[1], other, a, own)
    apart = AllOf((*is_whole, AnyOf((first, second))))
    yield AnyOf((Not(Overlap(one, own, two, other)), apart))


def _asked(access: Access) -> list[Value]:
    return [*terms_of(access), *(each.value for each in access.conditions)]


def counters(kernel: Kernel, value: Value, relation: Relation) -> Sequence[Access]:
    """The additions that a value is the result of, if all writes of their counter add, or come
    before."""
    key = "counters", value, relation
    return kernel.remembered(key, lambda: tuple(_counters(kernel, value, relation)))


def _counters(kernel: Kernel, value: Value, relation: Relation) -> Iterator[Access]:
    for access in kernel.accesses:
        if access.result is not value or not access.is_atomic or access.place.offset is None:
            continue
        if all(
            _counts(kernel, each, relation) or _is_reset(kernel, each, access, relation)
            for each in _writes_to(kernel, access.place.root)
        ):
            yield access


def _writes_to(kernel: Kernel, root: Root) -> Iterator[Access]:
    """The writes of an object, and those that may be of it."""
    spaces = ("shared" if root.region is Region.SHARED else "global", "")
    roots = (root, *(Root(Region.UNKNOWN, each) for each in spaces))
    return (each for each in kernel.accesses if each.writes and each.place.root in roots)


def _adds(access: Access) -> bool:
    return access.update == "add" and access.value is not None and not any(data_in((access.value,)))


def _counts(kernel: Kernel, access: Access, relation: Relation) -> bool:
    """True of an atomic addition of a small number, for the threads of a relation."""
    if access.update != "add" or access.value is None or access.scope is None:
        return False
    return access.scope.includes(relation.scope) and _is_small(kernel, access.value)


def _is_small(kernel: Kernel, value: Value) -> bool:
    """True of a small number, and of one that is read of a variable to which such numbers alone are
    written or added."""
    if (number := number_of(value)) is not None:
        return number in _SMALL
    reads = kernel.accesses_at.get(value.instruction, ()) if isinstance(value, Result) else ()
    if len(reads) != 1 or reads[0].place.root.region is not Region.SHARED or terms_of(reads[0]):
        return False
    writes = [*_writes_to(kernel, reads[0].place.root)]
    return not all(each.update for each in writes) and all(
        (each.place, each.size) == (reads[0].place, reads[0].size)
        and each.update in ("", "add")
        and each.value is not None
        and number_of(each.value) in _SMALL
        for each in writes
    )


def _is_reset(kernel: Kernel, write: Access, add: Access, relation: Relation) -> bool:
    """True of a write of a CTA's own counter that no addition comes before: a barrier is always
    between, and no thread comes back to it."""
    if relation not in (Relation.WARP, Relation.CTA):
        return False
    full = full_barriers(kernel, Scope.WORKGROUP)
    return (
        bool(full)
        and write.place.root.region is Region.SHARED
        and not kernel.may_reach(add.instruction, write.instruction)
        and not shared(kernel, write, add, full, is_one_cta=True)
    )


_SMALL = range(1 << 16)
"""Numbers with which no counter wraps around that are added to it."""


def _left(e: Expressions, add: Access, result: Value) -> Value:
    """The value that an addition leaves, by its result."""
    assert add.value is not None
    return e.apply("add", (result, e.resized(add.value, result.bits)), result.bits)
