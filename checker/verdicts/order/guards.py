"""Guards: the knowledge of a thread at an access, from reads and waits before it.

An access is guarded by the strong reads whose results a branch above it has tested, in its own
thread (*direct*), or in another thread of its CTA that has met it at a barrier since: it polled
before the barrier, or it wrote what it had read to a variable that all read after it (*broadcast*).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, repeat

from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.intervals import (
    Roles,
    full_barriers,
    is_steady,
    roles_of,
    shared,
)
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    AllOf,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    Literal,
    Loop,
    MbarrierStep,
    Not,
    Place,
    Region,
    Root,
    Step,
    Together,
)
from fencewright.checker.verdicts.order.lemmas import SCOPES
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.value import Apply, Result, Thread, Value
from fencewright.lowering.vocabulary import Scope

Members = tuple[tuple[int, Literal | None], ...]
"""Instructions that read or wait, one of which has been executed last, each with the condition on
its result."""


Fresh = Iterator[int]
"""Numbers of threads in constraints, each for one thread in one iteration: two claims that hold of
different ones share none."""
_NEVER = AnyOf(())
_REGIONS = {
    Root(Region.UNKNOWN, "shared"): Region.SHARED,
    Root(Region.UNKNOWN, "global"): Region.GLOBAL,
}
"""A region of the memory that is all that is known of an object."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Knowledge at an access: a thread has executed one of ``members`` before, with its
    condition.

    ``around``: the loops in each iteration of which it does so once. ``thread``: its number in
    constraints; with ``is_met`` it is another one of the CTA, which has met the access's thread at
    a barrier since. ``end``: the access, or that barrier: what it acquires, it acquires before
    that.
    ``constraints``: those of that thread. ``unknown``: where there was no such iteration before.
    """

    members: Members
    around: tuple[Loop, ...]
    thread: int
    end: int
    is_met: bool
    constraints: tuple[Constraint, ...]
    unknown: Constraint = _NEVER

    def unless(self, wrong: Constraint) -> Constraint:
        """The instances of a conflict that the guard does not order: ``wrong``, and those it knows
        nothing of."""
        return AnyOf((self.unknown, AllOf((*self.constraints, wrong))))


def guards_of(kernel: Kernel, access: Access, thread: int, fresh: Fresh) -> Iterator[Guard]:
    """The guards of an access of ``thread``; ``fresh``: numbers, one for each guard that is of
    another thread or iteration."""
    end = access.instruction
    here = kernel.block_of[end]
    known: set[Members] = set()
    for group in kernel.sync_groups:
        if kernel.leads_through(group.block, here):
            known.add(group.members)
            around = kernel.loops_around(group.block)
            yield Guard(group.members, around, thread, end, False, ())
    for literal in access.conditions:
        member = _of_literal(kernel, literal)
        if member is not None and (member,) not in known:
            block = here if literal.branch < 0 else _below(kernel, here, literal.branch)
            yield Guard((member,), kernel.loops_around(block), thread, end, False, ())
    for step in _retried(kernel):
        if kernel.dominates(step.instruction, end):
            around = kernel.loops_of(step.instruction)
            yield Guard(((step.instruction, None),), around, thread, end, False, ())
    for barrier in sorted(full_barriers(kernel, Scope.WORKGROUP)) if polls(kernel) else ():
        if kernel.dominates(barrier, end):
            yield from _met(kernel, end, thread, fresh, barrier)
        elif _is_of_each_iteration(kernel, kernel.block_of[barrier], end):
            yield from _met(kernel, end, thread, fresh, barrier, is_before=True)
    for group in kernel.sync_groups:
        if not kernel.leads_through(group.block, here) and _is_of_each_iteration(
            kernel, group.block, end
        ):
            around, other = kernel.loops_around(group.block), next(fresh)
            link, first = _iteration_before(kernel, around, end, thread, other)
            same = Together(other, thread, None)
            yield Guard(group.members, around, other, end, False, (same, *link), first)
    yield from _broadcast(kernel, access, thread, fresh)


def _retried(kernel: Kernel) -> Iterator[MbarrierStep]:
    """The waits that are done again, within the instruction, until they succeed."""
    return (each for each in kernel.mbarriers if each.retries and each.step is Step.WAIT)


def _of_literal(
    kernel: Kernel, literal: Literal, loop: Loop | None = None
) -> tuple[int, Literal | None] | None:
    """The one strong read or wait that a condition is about, in a loop if one is given."""
    results = {
        each
        for each in leaves((literal.value,))
        if isinstance(each, Result)
        and (loop is None or kernel.block_of[each.instruction] in loop.blocks)
    }
    if len(results) != 1:
        return None
    instruction = results.pop().instruction
    reads = kernel.accesses_at.get(instruction, ())
    if any(each.is_strong and each.reads for each in reads) or instruction in _waits(kernel):
        return instruction, literal
    return None


def _waits(kernel: Kernel) -> frozenset[int]:
    def make() -> frozenset[int]:
        return frozenset(each.instruction for each in kernel.mbarriers if each.step is Step.WAIT)

    return kernel.remembered("waits", make)


def _below(kernel: Kernel, block: int, branch: int) -> int:
    """The dominator of a block right after a branch that dominates it; else the block."""
    above = _dominators(kernel, block)
    return above[above.index(branch) - 1] if branch in above[1:] else block


def _dominators(kernel: Kernel, block: int) -> tuple[int, ...]:
    """A block and its dominators, up to the entry."""
    chain = [block]
    while kernel.dominators[chain[-1]] != chain[-1]:
        chain.append(kernel.dominators[chain[-1]])
    return tuple(chain)


# Guards of a thread that was met at a barrier


@dataclass(frozen=True, slots=True)
class Poll:
    """A loop that polls, with the edges that leave it and test a poll; or a wait in one
    instruction."""

    block: int
    members: Members
    edges: frozenset[tuple[int, int]]
    around: tuple[Loop, ...]
    instruction: int | None = None


def polls(kernel: Kernel) -> tuple[Poll, ...]:
    """The loops that poll, and the waits that are done again until they succeed."""
    return kernel.remembered("polls", lambda: tuple(_found_polls(kernel)))


def _found_polls(kernel: Kernel) -> Iterator[Poll]:
    for loop in kernel.loops.values():
        tests: dict[tuple[int, Literal | None], None] = {}
        edges: set[tuple[int, int]] = set()
        for edge, literals in kernel.edge_literals.items():
            if edge[0] not in loop.blocks or edge[1] in loop.blocks:
                continue
            tested = [each for each in (_of_literal(kernel, x, loop) for x in literals) if each]
            if tested:
                tests.setdefault(tested[0])
                edges.add(edge)
        if edges:
            around = tuple(each for each in kernel.loops_around(loop.head) if each != loop)
            yield Poll(loop.head, tuple(tests), frozenset(edges), around)
    for step in _retried(kernel):
        block = kernel.block_of[step.instruction]
        entering = frozenset((before, block) for before in kernel.graph.predecessors[block])
        yield Poll(block, ((step.instruction, None),), entering, kernel.loops_of(step.instruction))


def _is_of_each_iteration(kernel: Kernel, block: int, end: int) -> bool:
    """True of a block that every iteration passes of the innermost loop around an instruction."""
    around = kernel.loops_of(end)
    if not around or kernel.loops_around(block) != around:
        return False
    return all(kernel.leads_through(block, latch) for latch in around[-1].latches)


def _iteration_before(
    kernel: Kernel, before: tuple[Loop, ...], end: int, thread: int, other: int
) -> tuple[tuple[Constraint, ...], Constraint]:
    """The iterations of a thread that are those of another's last iteration, and that there is
    none."""
    e = Expressions(kernel.table)
    *outer, loop = kernel.loops_of(end)
    i = loop.iteration
    after_it = e.apply("add", (i, e.constant(1, i.bits)), i.bits)
    link: list[Constraint] = [
        Compare("eq", each.iteration, other, each.iteration, thread)
        for each in outer
        if each in before
    ]
    if loop in before:
        link.append(Compare("eq", after_it, other, i, thread))
    zero = e.constant(0, i.bits)
    return tuple(link), Compare("eq", i, thread, zero, thread)


def _met(
    kernel: Kernel, end: int, thread: int, fresh: Fresh, barrier: int, *, is_before: bool = False
) -> Iterator[Guard]:
    """The guards of the threads that come to a barrier above an instruction from a poll.

    ``is_before``: a barrier of the iteration before.
    """
    for poll in polls(kernel):
        numbers = {number for number, _ in poll.members}
        own = tuple(
            each
            for each in kernel.block_conditions[poll.block]
            if not any(
                isinstance(leaf, Result) and leaf.instruction in numbers
                for leaf in leaves((each.value,))
            )
        )
        if not comes_by(kernel, own, poll.block, poll.edges, barrier, poll.instruction):
            continue
        other = next(fresh)
        link = _linked(kernel, poll.around, barrier, end, thread, other)
        unknown: Constraint = _NEVER
        if is_before:
            link, unknown = _iteration_before(kernel, poll.around, end, thread, other)
        if link is not None:
            holds = tuple(Holds(each, other) for each in own)
            together = Together(other, thread, Scope.WORKGROUP)
            known = (together, *holds, *link)
            yield Guard(poll.members, poll.around, other, barrier, True, known, unknown)


def comes_by(
    kernel: Kernel,
    conditions: tuple[Literal, ...],
    block: int,
    edges: frozenset[tuple[int, int]],
    barrier: int,
    instruction: int | None = None,
) -> bool:
    """True where some thread of each CTA satisfies conditions, and those that do come to a barrier
    by edges.

    ``instruction``: of the block that the edges enter, where that is what they come by.
    """
    target = kernel.block_of[barrier]
    above = _dominators(kernel, target)
    common = next(each for each in _dominators(kernel, block) if each in above)
    known = {(each.value, each.polarity) for each in kernel.block_conditions[target]}
    asked = [each for each in conditions if (each.value, each.polarity) not in known]
    if not all(_is_met_by_one(kernel, each) for each in asked):
        return False
    if asked and any(
        _is_met_by_one(kernel, _not(each)) for each in kernel.block_conditions[target]
    ):
        return False  # That one has ended, or is elsewhere.
    if instruction is not None and kernel.dominates(instruction, barrier):
        return True
    excluded = {(each.value, not each.polarity) for each in conditions}

    # Of the paths from the common dominator, in one iteration, those that contradict no condition.
    def following(current: int) -> Iterator[int]:
        for edge in ((current, after) for after in kernel.graph.successors[current]):
            literals = kernel.edge_literals.get(edge, ())
            is_excluded = any((each.value, each.polarity) in excluded for each in literals)
            if edge not in edges and not is_excluded:
                yield edge[1]

    return target not in walk([common], following)


def _not(literal: Literal) -> Literal:
    return replace(literal, polarity=not literal.polarity)


def _is_met_by_one(kernel: Kernel, literal: Literal) -> bool:
    """True of a condition that thread 0 of each CTA satisfies, or the elected lane of its warp."""
    e = Expressions(kernel.table)
    first: dict[Value, Value] = {}
    for leaf in leaves((literal.value,)):
        if isinstance(leaf, Thread):
            number = 1 if leaf.name == "%elect" else 0
            first[leaf] = e.constant(number, leaf.bits)
    number = number_of(e.substituted(literal.value, first))
    return number is not None and bool(number) == literal.polarity


def _linked(
    kernel: Kernel, before: tuple[Loop, ...], barrier: int, end: int, thread: int, other: int
) -> tuple[Constraint, ...] | None:
    """The equal iterations of two threads that met at a barrier; None where they are not known."""
    around = kernel.loops_of(barrier)
    at_end = kernel.loops_of(end)
    if any(loop not in at_end for loop in around):
        return None
    return tuple(
        Compare("eq", loop.iteration, other, loop.iteration, thread)
        for loop in around
        if loop in before
    )


def _broadcast(kernel: Kernel, access: Access, thread: int, fresh: Fresh) -> Iterator[Guard]:
    """The guards that another thread passes by a variable: a condition on its write there."""
    e = Expressions(kernel.table)
    for literal in access.conditions:
        results = {each for each in leaves((literal.value,)) if isinstance(each, Result)}
        if len(results) != 1:
            continue
        result = results.pop()
        if (found := _written(kernel, result)) is None:
            continue
        write, written = found
        value = e.substituted(literal.value, {result: written})
        for handed in e.literals(value, literal.polarity, literal.branch):
            if (member := _of_literal(kernel, handed)) is not None:
                around = kernel.loops_of(write.instruction)
                for barrier, other, own in _handings(kernel, result, thread, fresh):
                    yield Guard((member,), around, other, barrier, True, own)


def handed(
    kernel: Kernel, result: Result, thread: int, other: int
) -> Iterator[tuple[Value, tuple[Constraint, ...]]]:
    """The value that another thread of the CTA wrote where a result was read after a barrier, with
    all that is known of that thread."""
    for _, _, own in islice(_handings(kernel, result, thread, repeat(other)), 1):
        if (found := _written(kernel, result)) is not None:
            yield found[1], own


def _written(kernel: Kernel, result: Result) -> tuple[Access, Value] | None:
    """The last write of a variable before a read of it, and its value as it is read."""
    reads = kernel.accesses_at.get(result.instruction, ())
    if len(reads) != 1 or reads[0].is_strong or not reads[0].reads:
        return None
    write = _last_write(kernel, reads[0])
    if write is None or write.value is None:
        return None
    if write.value.bits < result.bits and not _is_extended_alike(write.value):
        return None
    return write, Expressions(kernel.table).resized(write.value, result.bits)


def _handings(
    kernel: Kernel, result: Result, thread: int, fresh: Fresh
) -> Iterator[tuple[int, int, tuple[Constraint, ...]]]:
    """The barriers between the last write of a variable and a read of it, with a number for the
    thread that writes, and all that is known of that thread."""
    write, written = _written(kernel, result) or (None, None)
    if write is None or written is None:
        return
    for barrier in sorted(full_barriers(kernel, Scope.WORKGROUP)):
        if not kernel.dominates(barrier, result.instruction):
            continue
        block = kernel.block_of[write.instruction]
        entering = frozenset((before, block) for before in kernel.graph.predecessors[block])
        if not comes_by(kernel, write.conditions, block, entering, barrier, write.instruction):
            continue
        # Of a loop that is left on what is read, the last iteration.
        around, other = kernel.loops_of(write.instruction), next(fresh)
        link = _linked(kernel, around, barrier, result.instruction, thread, other)
        if link is not None:
            together = Together(other, thread, Scope.WORKGROUP)
            same = Compare("eq", result, thread, written, other)
            yield barrier, other, (together, *executed(kernel, write, other), *link, same)


def _is_extended_alike(value: Value) -> bool:
    """True of a value that zeros and its sign extend alike: of constants that are not negative."""
    is_choice = isinstance(value, Apply) and value.operation == "ite"
    arms = value.arguments[1:] if isinstance(value, Apply) and is_choice else (value,)
    numbers = [number_of(each) for each in arms]
    return all(each is not None and not each >> value.bits - 1 for each in numbers)


def _last_write(kernel: Kernel, read: Access) -> Access | None:
    """The write of a variable that is read whole, after which whoever else writes it does not any
    more before the read; None if there is none."""
    if read.place.rank is not None or read.place.offset is None or read.place.offset.terms:
        return None
    writes = [
        each for each in kernel.accesses if each.writes and each.place.root == read.place.root
    ]
    if any(each.is_atomic or not _is_same_word(each, read) for each in writes):
        return None
    for write in writes:
        others = (each for each in writes if each is not write)
        if kernel.may_reach(write.instruction, read.instruction) and all(
            _is_overwritten(kernel, each, write, read) for each in others
        ):
            return write
    return None


def _is_same_word(write: Access, read: Access) -> bool:
    return write.place.offset == read.place.offset and write.size == read.size


def _is_overwritten(kernel: Kernel, first: Access, write: Access, read: Access) -> bool:
    """True where who has executed ``first`` executes ``write`` before it comes to a read."""
    steady = [each for each in first.conditions if is_steady(each.value)]
    return kernel.all_paths_pass(
        first.instruction, read.instruction, lambda number: number == write.instruction, steady
    )


def implied(own: Iterable[Literal], given: Iterable[Literal]) -> bool:
    """True where some conditions are among others, wherever they are tested."""
    known = {(each.value, each.polarity) for each in given}
    return all((each.value, each.polarity) in known for each in own)


# The order of instructions


def after(kernel: Kernel, first: int, thread: int, second: int, other: int) -> Constraint:
    """An instruction ``second`` of thread ``other`` comes after ``first`` of ``thread``, of one
    program.

    By iterations of the loops around both, the outermost first; in one iteration by the paths of
    the graph.
    """
    around = kernel.loops_of(second)
    common = [loop for loop in kernel.loops_of(first) if loop in around]
    cases: list[Constraint] = []
    equal: list[Constraint] = []
    for loop in common:
        i = loop.iteration
        cases.append(AllOf((*equal, Compare("ult", i, thread, i, other))))
        equal.append(Compare("eq", i, thread, i, other))
    if never_before(kernel, second, first, common):
        cases.append(AllOf(tuple(equal)))
    return AnyOf(tuple(cases))


def never_before(kernel: Kernel, second: int, first: int, common: list[Loop]) -> bool:
    """True where no path of one iteration leads from ``second`` to ``first``."""
    if first == second:
        return False
    start, target = kernel.block_of[second], kernel.block_of[first]
    if start == target and second < first:
        return False
    heads = {loop.head for loop in common}

    def following(block: int) -> list[int]:
        return [each for each in kernel.graph.successors[block] if each not in heads]

    return kernel.remembered(
        ("never before", start, target, *sorted(heads)),
        lambda: target not in walk(following(start), following),
    )


def follows(
    kernel: Kernel,
    access: Access,
    thread: int,
    number: int,
    other: int,
    *,
    met: bool,
    level: Scope = Scope.WORKGROUP,
) -> Constraint:
    """An instruction of ``other`` comes after an access of ``thread``: of the same thread, or after
    a barrier.

    ``met``: the two are threads of one CTA, or one warp (``level``), and a barrier stands between.
    """
    order = after(kernel, access.instruction, thread, number, other)
    if not met:
        # Lanes that execute together are one thread, as far as the order of the text goes.
        own = Scope.WAVEFRONT if kernel.is_lock_step else None
        return AllOf((Together(other, thread, own), order))
    barriers, roles = _barriers_of(kernel, access, number, level)
    if not barriers:
        return AnyOf(())
    signal = replace(access, instruction=number, agent=Agent.THREAD)
    together = shared(kernel, access, signal, barriers, roles, (thread, other))
    return AllOf((Together(other, thread, level), order, Not(AnyOf(together))))


def _barriers_of(
    kernel: Kernel, access: Access, number: int, level: Scope
) -> tuple[frozenset[int], Roles]:
    """The barriers at which all threads meet that come to an access, or to an instruction: those of
    the conditions, too, that are of both."""
    conditions = kernel.conditions(number)
    roles = roles_of(access, replace(access, instruction=number, conditions=conditions))
    return full_barriers(kernel, level, roles), roles


# Fences


def fence_between(
    kernel: Kernel,
    start: int,
    end: int,
    conditions: Iterable[Literal],
    *,
    acquires: bool = False,
    sequential: bool = False,
) -> Scope | None:
    """The widest scope of which every path between two instructions passes a fence; None without
    one.

    ``conditions``: of the thread, under which guarded fences are executed.
    """
    known = {(each.value, each.polarity) for each in conditions}
    steps = kernel.mbarrier_at.get(start, ())
    initialises = any(each.step is Step.INIT for each in steps)
    for scope in SCOPES:
        is_fence = _is_fence(kernel, scope, known, acquires, initialises, sequential)
        if kernel.all_paths_pass(start, end, is_fence):
            return scope
    return None


def _is_fence(
    kernel: Kernel,
    scope: Scope,
    known: set[tuple[Value, bool]],
    acquires: bool,
    of_mbarrier: bool,
    sequential: bool,
) -> Callable[[int], bool]:
    def predicate(number: int) -> bool:
        fence = kernel.fence_at.get(number)
        if fence is None or fence.proxies:
            return False
        if not (fence.acquires if acquires else fence.releases):
            return False
        if sequential and not fence.is_sequential:
            return False
        if fence.of_mbarriers and not of_mbarrier:
            return False
        guards = kernel.guards.get(number, ())
        is_executed = all((each.value, each.polarity) in known for each in guards)
        return is_executed and fence.scope.includes(scope)

    return predicate


def fence_after_barriers(
    kernel: Kernel,
    access: Access,
    signal: int,
    conditions: Iterable[Literal],
    *,
    sequential: bool = False,
) -> Scope | None:
    """The widest scope of a releasing fence between a signal and whichever barrier came last before
    it, at which its thread met that of an access; ``sequential``: of a fence.sc."""
    known = {(each.value, each.polarity) for each in conditions}
    barriers, _ = _barriers_of(kernel, access, signal, Scope.WORKGROUP)
    starts = [each for each in barriers if kernel.may_reach(each, signal)]
    for scope in SCOPES:
        is_fence = _is_fence(kernel, scope, known, False, False, sequential)

        def passes(number: int, is_fence: Callable[[int], bool] = is_fence) -> bool:
            return number in barriers or is_fence(number)

        # From the last barrier on no other is passed, so that a fence is.
        if starts and all(kernel.all_paths_pass(each, signal, passes) for each in starts):
            return scope
    return None


def fence_before_barriers(kernel: Kernel, access: Access, signal: int) -> Scope | None:
    """The scope of a fence.sc between an access and whichever barrier comes next, at which its
    thread meets that of a signal."""
    barriers, _ = _barriers_of(kernel, access, signal, Scope.WORKGROUP)
    ends = [each for each in barriers if kernel.may_reach(access.instruction, each)]
    scopes = [fence_between(kernel, access.instruction, each, (), sequential=True) for each in ends]
    # The narrowest of the widest is passed on all paths.
    return max(scopes, key=SCOPES.index) if scopes and None not in scopes else None


def passes_proxy_fence(
    kernel: Kernel,
    start: int,
    end: int,
    objects: Iterable[Place],
    conditions: Iterable[Literal] = (),
) -> bool:
    """True where every path between two instructions passes a fence of the async proxy that is
    about some memory.

    ``conditions``: of the threads that execute both, under which guarded fences are executed.
    """
    return kernel.all_paths_pass(start, end, is_proxy_fence(kernel, objects, conditions))


def is_proxy_fence(
    kernel: Kernel, objects: Iterable[Place], conditions: Iterable[Literal]
) -> Callable[[int], bool]:
    """True of a fence of the async proxy, about memory that places are in, that is executed under
    some conditions.

    Places that overlap are in one memory, which the one may name where the other does not.
    """
    # In a loop a condition on the iteration says nothing of another one.
    known = {(each.value, each.polarity) for each in conditions if is_steady(each.value)}
    regions = {_REGIONS.get(each.root, each.root.region) for each in objects}

    def predicate(number: int) -> bool:
        fence = kernel.fence_at.get(number)
        if fence is None or Proxy.ASYNC not in fence.proxies or fence.is_one_sided:
            return False
        if fence.regions and regions.isdisjoint(fence.regions):
            return False
        guards = kernel.guards.get(number, ())
        return all((each.value, each.polarity) in known for each in guards)

    return predicate
