"""Orders by locks: sections in which the threads of one CTA, or one of them, hold one lock.

A lock is a word of two kinds. One is 0 while nobody holds it: it is taken by an exchange that finds
0, and given back by a write of 0. The other one serves in turn: it is taken by a read that finds
the reader's own turn, and given back by a write of the next one. Holders alone write it, each once
for a section, so that whoever takes it next sees what the holder before has written, whatever the
values are. The thread that holds a lock does so for others that it meets at barriers, before and
after what they do. Source: PTX ISA, "Release and Acquire Patterns"; atom.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, product

from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.intervals import is_steady
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
    Region,
    Relation,
    ThreadPair,
    Together,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.flags import keeps_value, lemma_of, writes_to
from fencewright.checker.verdicts.order.guards import Fresh, Guard, follows, guards_of
from fencewright.checker.verdicts.order.lemmas import Lemma, VendorLemma, holds
from fencewright.lowering.code.value import Apply, Iteration, Opaque, Result, Value

_ANYONE, _HOLDER, _OTHER = 900, 901, 902
"""The numbers of threads of which a conflict knows nothing."""
_PASSED_ON = "another section of this lock may hand on nothing"
_IN_TURN = "two sections may have one turn"


@dataclass(frozen=True, slots=True)
class _Section:
    """The accesses made while a thread, ``guard.thread``, holds a lock.

    ``takes``: those at one place, one of which has taken it. ``turn``: what a read of them finds;
    None for exchanges.
    """

    guard: Guard
    takes: tuple[Access, ...]
    turn: Value | None

    @property
    def take(self) -> Access:
        """One of those that take the lock."""
        return self.takes[0]

    @property
    def numbers(self) -> frozenset[int]:
        """The instructions that take the lock."""
        return frozenset(each.instruction for each in self.takes)


_Ends = tuple[tuple[Access, _Section], ...]
"""The writes that give a lock back, each with the section that it ends."""


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, fresh: Fresh
) -> Iterator[Claim]:
    """The orders by a lock that a guard of the later access has taken, and one of the earlier
    access too."""
    if earlier.agent is not Agent.THREAD or later.agent is not Agent.THREAD:
        return
    section = _section(kernel, pair, guard, later)
    if section is None:
        return
    ends = _ends(kernel, pair, section)
    if not ends:
        return
    for other_guard in guards_of(kernel, earlier, pair.earlier, fresh):
        other = _section(kernel, pair, other_guard, earlier)
        if other is not None and any(own.numbers == other.numbers for _, own in ends):
            sides = (earlier, other), (later, section)
            yield _claim(kernel, sides, pair, ends, fresh)


def _claim(
    kernel: Kernel,
    sides: tuple[tuple[Access, _Section], tuple[Access, _Section]],
    pair: ThreadPair,
    ends: _Ends,
    fresh: Fresh,
) -> Claim:
    """The order of two accesses in sections of one lock, whichever of them comes first."""
    (_, other), (_, section) = sides
    turned = replace(pair, earlier=pair.later, later=pair.earlier)
    one, two = other.guard, section.guard
    wrong: list[Constraint] = [Not(Overlap(other.take, one.thread, section.take, two.thread))]
    if other.numbers == section.numbers:
        wrong.append(_is_same(one.thread, two.thread, two.around))
    lemmas: dict[Lemma | VendorLemma, None] = {}
    for number, (access, own) in enumerate(sides):
        following, after = sides[1 - number]
        thread = (pair.earlier, pair.later)[number]
        met = own.guard.is_met
        for end, ended in ends:
            if ended.numbers != own.numbers:
                continue
            giver = next(fresh)
            order = follows(kernel, access, thread, end.instruction, giver, met=met)
            same = _is_same(giver, own.guard.thread, own.guard.around)
            wrong.append(AllOf((*executed(kernel, end, giver), same, Not(order))))
            for take in after.takes:
                released, acquired = (access, end), (take, following)
                own_pair = turned if number else pair
                lemma = lemma_of(kernel, released, acquired, own_pair, after.guard, met=met)
                lemmas.setdefault(lemma)
    doubt = ""
    if all(map(holds, lemmas)):
        if not all(_hands_on(kernel, sides, pair, *each) for each in ends):
            doubt = _PASSED_ON
        elif section.turn is not None and not _is_in_turn(kernel, pair, ends):
            doubt = _IN_TURN
    return Claim(
        "lock",
        AllOf((*one.constraints, *two.constraints, AnyOf(tuple(wrong)))),
        tuple(lemmas),
        section.take.line,
        frozenset({Assumption.FLAGS_ZERO}),
        doubt=doubt,
    )


def _hands_on(
    kernel: Kernel,
    sides: Sequence[tuple[Access, _Section]],
    pair: ThreadPair,
    end: Access,
    section: _Section,
) -> bool:
    """True where a section passes on what holders before it did, also if it does nothing itself.

    Between two sections any other may have been: of a lock in memory of all, another CTA's, which
    has no part of the accesses' shared memory.
    """
    # Who gives it back is who took it, so that a fence of its own anywhere between is enough.
    guard = replace(section.guard, end=end.instruction, is_met=False)
    is_of_all = section.take.place.root.region is not Region.SHARED
    own = replace(pair, relation=Relation.GRID) if is_of_all else pair
    (earlier, _), (later, _) = sides
    for take in section.takes:
        place = take.place if is_of_all else earlier.place
        seen = replace(earlier, instruction=take.instruction, place=place, writes=True, reads=False)
        given = replace(later, instruction=end.instruction, place=place, writes=False, reads=True)
        lemma = lemma_of(kernel, (seen, end), (take, given), own, guard, met=False)
        if not holds(lemma):
            return False
    return True


def _is_same(one: int, two: int, around: Iterable[Loop]) -> Constraint:
    """Two threads are one, in equal iterations of some loops."""
    equal = (Compare("eq", loop.iteration, one, loop.iteration, two) for loop in around)
    return AllOf((Together(one, two, None), *equal))


# Sections


def _section(kernel: Kernel, pair: ThreadPair, guard: Guard, access: Access) -> _Section | None:
    """The section that an access is in by what a guard of it knows."""
    around = set(guard.around)
    if guard.unknown != AnyOf(()) or not around <= set(kernel.loops_of(access.instruction)):
        return None
    if guard.is_met and not around <= set(kernel.loops_of(guard.end)):
        return None
    takes: list[Access] = []
    turns: set[Value | None] = set()
    for number, literal in guard.members:
        taken = None if literal is None else _taken(kernel, pair, guard, number, literal)
        if taken is None:
            return None
        takes.append(taken[0])
        turns.add(taken[1])
    if len(turns) != 1 or any(each.place != takes[0].place for each in takes):
        return None
    return _Section(guard, tuple(takes), turns.pop())


def _taken(
    kernel: Kernel, pair: ThreadPair, guard: Guard, number: int, literal: Literal
) -> tuple[Access, Value | None] | None:
    """The access by which a thread has taken a lock, and its turn."""
    for access in kernel.accesses_at.get(number, ()):
        if access.result is None or access.place.offset is None:
            return None
        if access.reads and (not access.is_atomic or keeps_value(access)):
            turn = _turn(kernel, guard, access, literal)
            return None if turn is None else (access, turn)
        if not _takes(access):
            return None
        zero = kernel.table.constant(0, access.result.bits)
        is_zero = Compare("eq", access.result, guard.thread, zero, guard.thread)
        held = pair.satisfiable(Holds(literal, guard.thread), Not(is_zero))
        return (access, None) if held is Answer.UNSATISFIABLE else None
    return None


def _takes(access: Access) -> bool:
    """True of an exchange that leaves another value than 0, and of ``cas`` finds 0."""
    if access.update not in ("cas", "exch") or access.value is None:
        return False
    if access.update == "cas" and (access.compared is None or number_of(access.compared) != 0):
        return False
    return bool(number_of(access.value))


def _turn(kernel: Kernel, guard: Guard, read: Access, literal: Literal) -> Value | None:
    """The value with which a read is compared, equal in all polls of its thread."""
    value = literal.value
    if not isinstance(value, Apply) or value.operation != "eq" or not literal.polarity:
        return None
    left, right = value.arguments
    if read.result not in (left, right):
        return None
    turn = right if left is read.result else left
    if number_of(turn) is not None:
        return None  # All who read have this one: a flag.
    around = set(guard.around)
    heads = {loop.head for loop in around}
    for leaf in leaves((turn,)):
        if isinstance(leaf, Opaque) or (isinstance(leaf, Iteration) and leaf.head not in heads):
            return None
        if isinstance(leaf, Result) and not around >= set(kernel.loops_of(leaf.instruction)):
            return None
    return turn


# Ends of sections


def _ends(kernel: Kernel, pair: ThreadPair, section: _Section) -> _Ends | None:
    """All writes that give a lock back; None of a word that others write, or holders twice."""
    ends: list[tuple[Access, _Section]] = []
    for write in writes_to(kernel, pair, section.take):
        if write.place.root != section.take.place.root:
            return None
        if section.turn is None and _takes(write):
            continue
        ended = next(_ended(kernel, pair, write, is_in_turn=section.turn is not None), None)
        if ended is None:
            return None
        ends.append((write, ended))
    is_once = all(_is_taken_between(kernel, one, two) for one, two in product(ends, ends))
    return tuple(ends) if is_once else None


def _ended(
    kernel: Kernel, pair: ThreadPair, write: Access, *, is_in_turn: bool
) -> Iterator[_Section]:
    """The sections that a write ends, in each of which its own thread holds the lock."""
    if write.update not in ("", "exch") or write.value is None:
        return
    for guard in guards_of(kernel, write, _ANYONE, count(_HOLDER)):
        section = _section(kernel, pair, guard, write)
        if section is None or (section.turn is not None) is not is_in_turn:
            continue
        if section.take.place != write.place or section.take.size != write.size:
            continue
        own = executed(kernel, write, _ANYONE)
        is_other = Not(Together(_ANYONE, guard.thread, None))
        if guard.thread != _ANYONE and _may_be(pair, *own, *guard.constraints, is_other):
            continue
        following = kernel.table.constant(0, write.value.bits)
        if section.turn is not None:
            e, bits = Expressions(kernel.table), section.turn.bits
            following = e.apply("add", (section.turn, e.constant(1, bits)), bits)
        if following.bits != write.value.bits:
            continue
        if not _may_be(pair, *own, Compare("ne", write.value, _ANYONE, following, _ANYONE)):
            yield section


def _is_taken_between(
    kernel: Kernel, one: tuple[Access, _Section], two: tuple[Access, _Section]
) -> bool:
    """True where a thread takes a lock again after it has given it back, and before it does so
    once more."""
    (first, _), (second, section) = one, two
    both = {each for each in (*first.conditions, *second.conditions) if is_steady(each.value)}
    return kernel.all_paths_pass(
        first.instruction, second.instruction, section.numbers.__contains__, both
    )


def _may_be(pair: ThreadPair, *constraints: Constraint) -> bool:
    return pair.satisfiable(*constraints) is not Answer.UNSATISFIABLE


# Turns


def _is_in_turn(kernel: Kernel, pair: ThreadPair, ends: _Ends) -> bool:
    """True where no two sections of one word have one turn."""
    for (_, one), (_, two) in product(ends, ends):
        if one.turn is None or two.turn is None:
            return False
        both = (
            *executed(kernel, one.take, _HOLDER),
            *executed(kernel, two.take, _OTHER),
            Overlap(one.take, _HOLDER, two.take, _OTHER),
        )
        is_one = one.numbers == two.numbers
        same = _is_same(_HOLDER, _OTHER, two.guard.around) if is_one else AnyOf(())
        equal = Compare("eq", one.turn, _HOLDER, two.turn, _OTHER)
        if is_one and _draws(kernel, pair, one, both):
            continue
        if one.turn.bits != two.turn.bits or _may_be(pair, *both, equal, Not(same)):
            return False
    return True


def _draws(kernel: Kernel, pair: ThreadPair, section: _Section, both: Sequence[Constraint]) -> bool:
    """True of a turn that each section draws from one counter, to which all add."""
    turn = section.turn
    if not isinstance(turn, Result):
        return False
    for add in kernel.accesses_at.get(turn.instruction, ()):
        number = None if add.value is None else number_of(add.value)
        if add.update != "add" or number != 1 or add.result is not turn:
            return False
        if kernel.loops_of(add.instruction) != section.guard.around:
            return False
        if [each.number for each in writes_to(kernel, pair, add)] != [add.number]:
            return False
        return not _may_be(pair, *both, Not(Overlap(add, _HOLDER, add, _OTHER)))
    return False
