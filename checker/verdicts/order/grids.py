"""Orders by barriers of the whole grid whose bit flips, as those of cooperative groups.

One thread of each CTA adds to a word, 1 or, of one CTA, what makes the sum of all 2**31, and waits
until the upper bit is another one than it found. The bit flips with the last addition of a round,
and not again before the thread adds once more: who has waited comes after this addition of every
CTA. The word alone is accessed between the barriers of the CTA around it, so that threads of two
CTAs are separated as those of one CTA are by ``bar.sync``.
Source: PTX ISA, "Release and Acquire Patterns", "Observation order".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fencewright.checker.verdicts.arithmetic import is_alike
from fencewright.checker.verdicts.expressions import Expressions, is_data, leaves, number_of
from fencewright.checker.verdicts.intervals import Roles, full_barriers, shared, walks_of
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Assumption,
    Compare,
    Holds,
    Kernel,
    Literal,
    Not,
    Place,
    Relation,
    ThreadPair,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.counters import ctas, is_once, without_rows
from fencewright.checker.verdicts.order.flags import lemma_of, writes_of
from fencewright.checker.verdicts.order.guards import Guard, Poll, comes_by, polls
from fencewright.checker.verdicts.order.lemmas import Lemma, VendorLemma
from fencewright.lowering.code.value import Apply, Const, Thread, Value
from fencewright.lowering.vocabulary import Scope

_FLIPPED = 1 << 31
_ADDER = 2
"""The number of the thread that adds for a CTA."""


@dataclass(frozen=True, slots=True)
class _Barrier:
    """A barrier of the grid: the addition, the polls that wait for the flip, and the barrier of
    the CTA (``leave``) at which its threads come out of it."""

    add: Access
    poll: Poll
    leave: int


def claims(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Iterator[Claim]:
    """The order of two accesses of two CTAs by the barriers of the grid, whichever comes first."""
    if pair.relation is not Relation.GRID or pair.earlier != 0:
        return
    if {earlier.agent, later.agent} != {Agent.THREAD}:
        return
    every = barriers(kernel, pair)
    if not every:
        return
    turned = replace(pair, earlier=pair.later, later=pair.earlier)
    lemmas: dict[Lemma | VendorLemma, None] = {}
    for one, other, own in ((earlier, later, pair), (later, earlier, turned)):
        for each in every:
            guard = Guard(each.poll.members, (), _ADDER, each.leave, True, ())
            for number, _ in each.poll.members:
                (read,) = kernel.accesses_at[number]
                sides = (one, each.add), (read, other)
                lemmas.setdefault(lemma_of(kernel, *sides, own, guard, met=True))
    full = frozenset(each.leave for each in every)
    together = shared(kernel, earlier, later, full, Roles(), (pair.earlier, pair.later))
    yield Claim(
        "grid barrier",
        AnyOf(together),
        tuple(lemmas),
        kernel.line_of(every[0].add.instruction),
        frozenset({Assumption.FLAGS_ZERO}),
        is_exact=True,
    )


def polled(kernel: Kernel, pair: ThreadPair) -> frozenset[int]:
    """The instructions that add and wait at barriers of the grid: they order nothing else, and
    threads of one CTA no more than its own barriers around them."""
    every = barriers(kernel, pair)
    polls_of = frozenset(number for each in every for number, _ in each.poll.members)
    return polls_of.union(each.add.instruction for each in every)


def barriers(kernel: Kernel, pair: ThreadPair) -> tuple[_Barrier, ...]:
    """The barriers of the grid that all CTAs come to in one order; none where some may not."""
    found = _every(kernel, pair)

    def make() -> tuple[_Barrier, ...]:
        full = frozenset(each.leave for each in found)
        walks = walks_of(kernel, full, Roles())
        is_parted = any(walks.parted(start, Scope.AGENT) for start in walks.starts)
        return () if is_parted else found

    return kernel.remembered(("grid barriers", pair.solver.launch), make) if found else ()


def skipped(kernel: Kernel, pair: ThreadPair) -> Iterator[int]:
    """The barriers of the grid that CTAs never come to while others wait there, by their
    indices."""
    free = _anyone(pair)
    for each in _every(kernel, pair):
        for literal in kernel.block_conditions[kernel.block_of[each.leave]]:
            if not all(isinstance(leaf, Const) for leaf in leaves((literal.value,))):
                continue
            others = Holds(literal, 0), Not(Holds(literal, 1))
            if free.satisfiable(*others) is Answer.SATISFIABLE:
                yield each.leave
                break


def _anyone(pair: ThreadPair) -> ThreadPair:
    """Any threads of two CTAs of the launch of a pair."""
    return ThreadPair(Relation.GRID, (), pair.solver.of_relation(Relation.GRID))


def _every(kernel: Kernel, pair: ThreadPair) -> tuple[_Barrier, ...]:
    """The barriers of the grid, whether all CTAs come to them or not."""
    if not any(each.update == "add" and each.releases for each in kernel.accesses):
        return ()
    free = _anyone(pair)
    key = "every grid barrier", pair.solver.launch
    return kernel.remembered(key, lambda: tuple(_found(kernel, free)))


def _found(kernel: Kernel, free: ThreadPair) -> Iterator[_Barrier]:
    by: dict[Place, list[Access]] = {}
    for each in kernel.accesses:
        if each.update == "add" and _flips(kernel, free, each):
            by.setdefault(each.place, []).append(each)
    for adds in by.values():
        # All additions to a word are to be those of barriers: another one spoils the count.
        every = {each.number for each in writes_of(kernel, adds[0])}
        found = [_around(kernel, free, each) for each in adds]
        if every == {each.number for each in adds} and None not in found:
            yield from (each for each in found if each is not None)


def _flips(kernel: Kernel, free: ThreadPair, add: Access) -> bool:
    """True of an addition by one thread of each CTA that makes 2**31 of all CTAs."""
    form, value = add.place.offset, add.value
    if form is None or not all(is_alike(part, is_one_cta=False) for part, _ in form.terms):
        return False
    if not isinstance(value, Apply) or value.operation != "ite" or value.bits != 32:
        return False
    condition, yes, no = value.arguments
    is_first = number_of(no) == 1
    rest, one = (yes, no) if is_first else (no, yes)
    e = Expressions(kernel.table)
    least = e.apply("sub", (e.constant(_FLIPPED + 1, 32), ctas(kernel)), 32)
    if number_of(one) != 1 or e.linear(without_rows(kernel, rest)) != e.linear(least):
        return False
    parts = leaves((condition,))
    if not all(isinstance(each, Const) for each in parts):
        return False
    names: dict[Value, Value] = {
        each: e.constant(0, each.bits) for each in parts if number_of(each) is None
    }
    chosen = number_of(e.substituted(condition, names))
    literal = Literal(condition, is_first, -1)
    both = free.satisfiable(Holds(literal, 0), Holds(literal, 1))
    return (
        chosen == int(is_first)
        and both is Answer.UNSATISFIABLE
        and is_once(kernel, free, add, _ADDER, anew=False)
    )


def _around(kernel: Kernel, free: ThreadPair, add: Access) -> _Barrier | None:
    """The barrier of the grid that an addition belongs to: between two of its CTA there is nothing
    but the addition and its polls."""
    every = _intervals(kernel)
    around = [(start, own) for start, own in every.items() if add.instruction in own[0]]
    if len(around) != 1 or len(around[0][1][1]) != 1:
        return None
    ((enter, (inside, (leave,))),) = around
    if enter is None or [start for start, own in every.items() if leave in own[1]] != [enter]:
        return None
    loops = kernel.loops_of(add.instruction)
    if any(kernel.loops_of(each) != loops for each in (enter, leave)):
        return None
    own = {each for poll in polls(kernel) for each, _ in poll.members} & inside
    if any(
        each.place != add.place for number in inside for each in kernel.accesses_at.get(number, ())
    ) or any(kernel.mbarrier_at.get(number) for number in inside):
        return None
    for poll in polls(kernel):
        if own != {number for number, _ in poll.members} or poll.instruction is not None:
            continue
        is_after = all(kernel.dominates(add.instruction, number) for number in own)
        if (
            is_after
            and _stays(kernel, free, enter)
            and all(_waits(kernel, free, add, *each) for each in poll.members)
            and comes_by(kernel, add.conditions, poll.block, poll.edges, leave)
        ):
            return _Barrier(add, poll, leave)
    return None


def _stays(kernel: Kernel, free: ThreadPair, enter: int) -> bool:
    """True where thread 0 of a CTA does not end while others of it go on to a barrier: they would
    wait for nobody."""
    e = Expressions(kernel.table)
    walks = walks_of(kernel, full_barriers(kernel, Scope.WORKGROUP), Roles())
    home = kernel.block_of[enter]
    coming = kernel.graph.backward.reachable([home])
    for block in sorted(coming if kernel.loops_of(enter) else coming - {home}):
        for target in kernel.graph.successors[block]:
            if target in coming or walks.is_uniform_branch(block, Scope.WORKGROUP):
                continue
            literals = kernel.edge_literals.get((block, target), ())
            if any(map(is_data, leaves(each.value for each in literals))):
                return False
            ends = tuple(
                Holds(replace(each, value=e.substituted(each.value, _first(e, each.value))), 0)
                for each in literals
            )
            goes_on = Not(AllOf(tuple(Holds(each, 0) for each in literals)))
            if free.satisfiable(goes_on, *ends) is not Answer.UNSATISFIABLE:
                return False
    return True


def _first(e: Expressions, value: Value) -> Mapping[Value, Value]:
    """The indices of thread 0, in the place of those in a value."""
    threads = (leaf for leaf in leaves((value,)) if isinstance(leaf, Thread))
    return {leaf: e.constant(0, leaf.bits) for leaf in threads if leaf.name.startswith("%tid")}


def _waits(
    kernel: Kernel, free: ThreadPair, add: Access, number: int, literal: Literal | None
) -> bool:
    """True of a poll that finds another upper bit than the addition has found."""
    reads = kernel.accesses_at.get(number, ())
    if len(reads) != 1 or literal is None or add.result is None or reads[0].result is None:
        return False
    if not reads[0].is_strong or reads[0].is_atomic or reads[0].place != add.place:
        return False
    e = Expressions(kernel.table)
    changed = e.apply("xor", (reads[0].result, add.result), 32)
    upper = e.apply("and", (changed, e.constant(_FLIPPED, 32)), 32)
    same = Compare("eq", upper, _ADDER, e.constant(0, 32), _ADDER)
    return free.satisfiable(Holds(literal, _ADDER), same) is Answer.UNSATISFIABLE


_Interval = tuple[frozenset[int], frozenset[int]]


def _intervals(kernel: Kernel) -> Mapping[int | None, _Interval]:
    """The instructions that may follow each barrier of a CTA, or the entry, before the next
    barriers, and these."""
    full = full_barriers(kernel, Scope.WORKGROUP)
    return kernel.remembered(
        "instructions between barriers",
        lambda: {start: _until(kernel, start, full) for start in (None, *sorted(full))},
    )


def _until(kernel: Kernel, start: int | None, full: frozenset[int]) -> _Interval:
    inside, ends = set[int](), set[int]()
    first = kernel.entry if start is None else kernel.block_of[start]
    work, seen = [(first, -1 if start is None else start)], set[int]()
    while work:
        block, after = work.pop()
        for number in kernel.instructions[block]:
            if number <= after:
                continue
            if number in full:
                ends.add(number)
                break
            inside.add(number)
        else:
            new = [each for each in kernel.graph.successors[block] if each not in seen]
            seen.update(new)
            work += ((each, -1) for each in new)
    return frozenset(inside), frozenset(ends)
