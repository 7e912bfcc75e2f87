"""Orders by counters that every CTA adds 1 to: the last one to come, and barriers of the whole
grid.

Of N CTAs that add once to a place, the one that finds N - 1 comes after all others. Where each CTA
waits after its k-th addition for a count of N times k, and for no less, no CTA adds once more
before all have added k times: who has waited comes after the k-th addition of every CTA.
Source: PTX ISA, "Release and Acquire Patterns", "Observation order".
"""

from collections.abc import Iterator
from itertools import islice, product, repeat

from fencewright.checker.verdicts.contents import counters, counts_apart, data_in, terms_of
from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Assumption,
    Compare,
    Constraint,
    Holds,
    Kernel,
    Literal,
    Loop,
    Not,
    Overlap,
    Relation,
    ThreadPair,
    Together,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.flags import lemma_of, writes_to
from fencewright.checker.verdicts.order.guards import (
    Fresh,
    Guard,
    comes_by,
    follows,
    guards_of,
    handed,
    implied,
)
from fencewright.lowering.code.value import Apply, Iteration, Result, Value
from fencewright.lowering.vocabulary import Scope


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, fresh: Fresh
) -> Iterator[Claim]:
    """The orders by a guard of the later access that compares a count with the number of CTAs."""
    writer = next(fresh)
    if earlier.agent is not Agent.THREAD or pair.relation is not Relation.GRID:
        return
    ((number, literal), *more) = guard.members
    if literal is None:
        return
    reads = [each for each in kernel.accesses_at.get(number, ()) if each.is_strong and each.reads]
    if len(reads) != 1 or reads[0].result is None or reads[0].place.offset is None:
        return
    read = reads[0]
    added = _last_added(kernel, pair, guard, read, literal, writer) if not more else None
    link: tuple[Constraint, ...] = ()
    if added is not None:
        link = (Overlap(added, writer, read, guard.thread),)
    else:
        awaited = _awaited(kernel, pair, guard, writer)
        if awaited is None:
            return
        added = awaited
        link = tuple(
            Compare("eq", loop.iteration, writer, loop.iteration, guard.thread)
            for loop in guard.around
        )
    for met in (False, True):
        order = follows(kernel, earlier, pair.earlier, added.instruction, writer, met=met)
        if order == AnyOf(()):
            continue
        own = (
            Together(writer, pair.earlier, Scope.WORKGROUP),
            *executed(kernel, added, writer),
            *link,
        )
        late = guard.unless(AllOf((Holds(literal, guard.thread), *own, Not(order))))
        lemma = lemma_of(kernel, (earlier, added), (read, later), pair, guard, met=met)
        assumptions = frozenset({Assumption.FLAGS_ZERO})
        yield Claim("counter", late, (lemma,), read.line, assumptions)


_FIRST, _SECOND = 2_000, 2_001
"""Numbers of the threads that have counted for the CTAs of threads 0 and 1."""


def handed_tickets(
    kernel: Kernel, pair: tuple[Access, Access], relation: Relation
) -> Iterator[Constraint]:
    """The counts by which one thread of a CTA lets the others come to accesses, or that it hands
    to them, are apart, as ``tickets`` are.

    Two threads of one CTA have the same count of the same thread, unless it counts in a loop.
    """
    is_one_cta = relation in (Relation.WARP, Relation.CTA)
    if not is_one_cta and relation is not Relation.GRID:
        return
    numbers = (_FIRST, _FIRST if is_one_cta else _SECOND)
    sides = [
        [
            *(() if is_one_cta else _guarded(kernel, access, thread, other, relation)),
            *_handed(kernel, access, thread, other, relation),
        ]
        for thread, (access, other) in enumerate(zip(pair, numbers, strict=True))
    ]
    for (one, first), (two, second) in islice(product(*sides), 1):
        if not is_one_cta:
            yield from (*one, *two, *counts_apart(kernel, first, _FIRST, second, _SECOND))
        elif first is second and not kernel.loops_of(first.instruction):
            yield from (*one, *two)


_Handed = tuple[tuple[Constraint, ...], Access]
"""All that is known of the thread that has made an addition, and that addition."""


def _guarded(
    kernel: Kernel, access: Access, thread: int, other: int, relation: Relation
) -> Iterator[_Handed]:
    for guard in guards_of(kernel, access, thread, repeat(other)):
        ((_, literal), *more) = guard.members
        if more or literal is None or not guard.is_met or guard.thread != other:
            continue
        if guard.unknown == AnyOf(()):
            for leaf in leaves((literal.value,)):
                for count in counters(kernel, leaf, relation):
                    yield (*guard.constraints, Holds(literal, other)), count


def _handed(
    kernel: Kernel, access: Access, thread: int, other: int, relation: Relation
) -> Iterator[_Handed]:
    for value in [each for each in data_in(terms_of(access)) if isinstance(each, Result)]:
        for written, own in handed(kernel, value, thread, other):
            for leaf in leaves((written,)):
                for count in counters(kernel, leaf, relation):
                    is_whole = count.result is written
                    below = _counted(kernel, access, thread, value, count, other)
                    yield (*own, *(below if is_whole else ())), count


def _counted(
    kernel: Kernel, access: Access, thread: int, base: Value, count: Access, other: int
) -> Iterator[Constraint]:
    """The sums of ``base``, the result of adding a CTA's count to another one, and numbers that its
    threads had of that count before are within what was added."""
    e, total = Expressions(kernel.table), count.value
    if not isinstance(total, Result) or count.result is None or base.bits != total.bits:
        return
    (read,) = kernel.accesses_at[total.instruction]
    end = e.apply("add", (count.result, total), total.bits)
    sums = [each.arguments[0] for each in terms_of(access) if isinstance(each, Apply)]
    for part, place in product(data_in(terms_of(access)), sums):
        for add in counters(kernel, part, Relation.CTA):
            is_count = read.place == add.place and not terms_of(add) and part.bits == total.bits
            known = {each.value: e.constant(each.polarity, 1) for each in add.conditions}
            is_sum = e.substituted(place, known) is e.apply("add", (base, part), part.bits)
            if is_count and is_sum and add.value is not None and number_of(add.value):
                is_below = (
                    Compare("ule", base, thread, place, thread),
                    Compare("ult", place, thread, end, other),
                )
                order = follows(kernel, add, thread, read.instruction, other, met=True)
                comes = (*executed(kernel, add, thread), order)
                yield AnyOf((Not(AllOf(comes)), AllOf(is_below)))


def _adds_one(access: Access) -> bool:
    return access.update == "add" and access.value is not None and number_of(access.value) == 1


def ctas(kernel: Kernel) -> Value:
    """The number of CTAs of the grid."""
    e = Expressions(kernel.table)
    x, y, z = (kernel.table.constant(f"%nctaid.{d}", 32) for d in "xyz")
    return without_rows(kernel, e.apply("mul", (e.apply("mul", (x, y), 32), z), 32))


def without_rows(kernel: Kernel, value: Value) -> Value:
    """A value in a grid that has one CTA in each dimension that the kernel does not tell apart."""
    e = Expressions(kernel.table)
    sizes = (d for d in "yz" if not {f"%ctaid.{d}", f"%nctaid.{d}"} & kernel.specials)
    ones = {kernel.table.constant(f"%nctaid.{d}", 32): e.constant(1, 32) for d in sizes}
    return e.substituted(value, ones)


def _last_added(
    kernel: Kernel,
    pair: ThreadPair,
    guard: Guard,
    read: Access,
    literal: Literal,
    thread: int,
) -> Access | None:
    """The addition of all CTAs, of which a guard has found that it was the last."""
    if not _adds_one(read):
        return None
    if [each.number for each in writes_to(kernel, pair, read)] != [read.number]:
        return None
    if read.result is None or read.result.bits != 32:
        return None
    e = Expressions(kernel.table)
    last = e.apply("sub", (ctas(kernel), e.constant(1, 32)), 32)
    others = Not(Compare("eq", read.result, guard.thread, last, guard.thread))
    if pair.satisfiable(Holds(literal, guard.thread), others) is not Answer.UNSATISFIABLE:
        return None
    return read if is_once(kernel, pair, read, thread, anew=True) else None


def is_once(kernel: Kernel, pair: ThreadPair, add: Access, thread: int, *, anew: bool) -> bool:
    """True where one thread of a CTA adds; with ``anew`` it adds to a place only once."""
    other = thread + 1_000
    both = (
        Together(thread, pair.earlier, Scope.WORKGROUP),
        Together(other, pair.earlier, Scope.WORKGROUP),
        *executed(kernel, add, thread),
        *executed(kernel, add, other),
        Overlap(add, thread, add, other),
    )
    around = kernel.loops_of(add.instruction) if anew else ()
    once = (Compare("eq", loop.iteration, thread, loop.iteration, other) for loop in around)
    same = AllOf((Together(thread, other, None), *once))
    return pair.satisfiable(*both, Not(same)) is Answer.UNSATISFIABLE


def _awaited(kernel: Kernel, pair: ThreadPair, guard: Guard, thread: int) -> Access | None:
    """The addition that all CTAs have made when a guard's count is reached."""
    number = guard.members[0][0]
    (read,) = (each for each in kernel.accesses_at[number] if each.is_strong and each.reads)
    adds = sorted(writes_to(kernel, pair, read), key=lambda each: each.instruction)
    adds = [each for each in adds if each.instruction != read.instruction]
    if not adds or not all(map(_adds_one, adds)) or len(guard.around) > 1:
        return None
    if any(each.place != read.place for each in adds):
        return None
    if any(kernel.loops_of(each.instruction) != guard.around for each in adds):
        return None
    # The additions of an iteration follow each other, each with its own wait.
    counts = _counts(kernel, read, adds, guard.around)
    if counts is None or number not in counts:
        return None
    add = adds[counts[number] - 1]
    wanted = {counts.get(each, 0) for each, _ in guard.members}
    if wanted != {counts[number]}:
        return None
    if not all(is_once(kernel, pair, each, thread, anew=False) for each in adds):
        return None
    return add


def _counts(
    kernel: Kernel, read: Access, adds: list[Access], around: tuple[Loop, ...]
) -> dict[int, int] | None:
    """The number of the addition in an iteration that each poll waits for; None if one waits for
    less."""
    polls: dict[int, int] = {}
    tested = _tests(kernel, read)
    for number, literal in tested:
        before = [k for k, add in enumerate(adds, 1) if kernel.dominates(add.instruction, number)]
        if not before:
            return None
        if not _reaches(kernel, literal, number, len(adds), before[-1], around):
            return None
        polls[number] = before[-1]
    for k, add in enumerate(adds, 1):
        waits = {number for number, own in polls.items() if own == k}
        for following in adds:
            if not kernel.may_reach(add.instruction, following.instruction):
                continue
            if not kernel.all_paths_pass(
                add.instruction, following.instruction, waits.__contains__
            ):
                return None
        if k > 1 and not _comes_after(kernel, adds[k - 2], add):
            return None
    return polls


def _comes_after(kernel: Kernel, first: Access, second: Access) -> bool:
    """True where a thread at ``second`` has executed ``first`` in the same iteration."""
    block = kernel.block_of[first.instruction]
    entering = frozenset((before, block) for before in kernel.graph.predecessors[block])
    return implied(first.conditions, second.conditions) and comes_by(
        kernel, second.conditions, block, entering, second.instruction, first.instruction
    )


def _tests(kernel: Kernel, read: Access) -> list[tuple[int, Literal]]:
    """The polls of a place, each with the condition on which its loop is left."""
    found: dict[tuple[int, Literal], None] = {}
    for access in kernel.accesses:
        if not (access.reads and access.is_strong and access.place == read.place):
            continue
        if access.result is None or access.is_atomic:
            continue
        loops = kernel.loops_of(access.instruction)
        for (start, end), literals in kernel.edge_literals.items():
            if not loops or start not in loops[-1].blocks or end in loops[-1].blocks:
                continue
            for literal in literals:
                if access.result in leaves((literal.value,)):
                    found.setdefault((access.instruction, literal))
    return [*found]


def _reaches(
    kernel: Kernel,
    literal: Literal,
    number: int,
    adds: int,
    before: int,
    around: tuple[Loop, ...],
) -> bool:
    """True of ``count >= N * (adds * i + before)``, N CTAs, in iteration i."""
    value = literal.value
    if not isinstance(value, Apply) or value.operation not in ("ult", "eq"):
        return False
    left, right = value.arguments
    is_left = any(getattr(leaf, "instruction", None) == number for leaf in leaves((left,)))
    count, bound = (left, right) if is_left else (right, left)
    if isinstance(count, Apply) and count.operation not in ("zext",):
        return False
    if value.operation == "ult" and literal.polarity is is_left:
        return False
    if value.operation == "eq" and not literal.polarity:
        return False
    e = Expressions(kernel.table)
    times = e.constant(before, 32)
    if around:
        i: Value = e.resized(around[0].iteration, 32)
        grown = e.apply("mul", (i, e.constant(adds, 32)), 32)
        times = e.apply("add", (grown, times), 32)
    wanted = e.linear(e.apply("mul", (ctas(kernel), times), 32))
    given = e.linear(without_rows(kernel, bound))
    # Of ``bound < count`` the count is at least one more.
    more = 1 if value.operation == "ult" and not is_left else 0
    if any(isinstance(leaf, Iteration) for v, _ in given.terms for leaf in leaves((v,))) != bool(
        around
    ):
        return False
    return given.terms == wanted.terms and given.constant + more == wanted.constant
