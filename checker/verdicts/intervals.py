"""Intervals between barriers: which accesses of two threads no barrier separates, and in which
iterations.

From each barrier, and from the entry, a walk goes to the next barriers. Its state has, for each
loop around, how often the walk has gone back to the head: since the barrier if the loop contains
that, else since the loop was entered. Two accesses share an interval only if one barrier leads to
both; the counts relate their iterations. All threads meet at a barrier that is *full*: wherever
threads part on the way to it, all sides come to the same next barrier in the same iterations, or to
none.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from fencewright.checker.verdicts.arithmetic import sums_of_threads
from fencewright.checker.verdicts.expressions import Expressions, leaves, number_of
from fencewright.checker.verdicts.model import (
    GROUPED,
    Access,
    Agent,
    AllOf,
    Barrier,
    Compare,
    Constraint,
    Group,
    Holds,
    Kernel,
    Literal,
    Not,
    Region,
)
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.dominance import immediate_dominators
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Opaque,
    Param,
    Result,
    Thread,
    Value,
)
from fencewright.lowering.vocabulary import Scope

_MOST = 2
"""The count of iterations from which on no more is known."""
_MOST_COMMITS = 32
_MOST_DECIDING = 6
"""The conditions of waits that a walk follows: each may double its paths."""
_LANES = 32
_OF_CTAS = ("%ctaid", "%cluster")
"""Names of indices that one CTA's threads have alike, and others' not."""

Roles = frozenset[tuple[Value, bool]]
"""Conditions, the same at all times, that both threads of a pair satisfy."""


@record()
class Count:
    """The number of times that a walk went back to a loop's head: since a barrier in the loop, or
    since it was entered.

    None of it is known where ``times`` is None. ``times`` is negative for an access that a barrier
    finds pending: so many iterations ago. ``is_left``: the barrier is in the loop, and the walk has
    left it in that iteration.
    """

    is_fresh: bool
    times: int | None
    is_left: bool = False


_FIRST = Count(is_fresh=True, times=0)
State = tuple[tuple[int, Count], ...]
"""The count of each loop around a block, by its head, and of those that are left."""


def _without_left(state: State) -> State:
    return tuple((head, count) for head, count in state if not count.is_left)


def full_barriers(
    kernel: Kernel,
    level: Scope,
    roles: Roles = frozenset(),
    masked: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """The barriers at which all threads of a CTA or warp meet that satisfy ``roles``.

    ``level``: WORKGROUP or WAVEFRONT. ``masked``: barriers of a part of a warp that the threads are
    in. Threads that have ended, or that never come to a barrier again, are not waited for.
    """
    return kernel.remembered(
        ("full", level, roles, masked), lambda: _full_barriers(kernel, level, roles, masked)
    )


def _full_barriers(
    kernel: Kernel, level: Scope, roles: Roles, masked: frozenset[int]
) -> frozenset[int]:
    barriers = masked.union(each.instruction for each in candidates(kernel, level))
    while barriers:
        walks = Walks(kernel, barriers, roles)
        # A barrier that is not full separates no one: paths go on through it, and may make
        # others of the rest ambiguous, so that all is looked at again without it.
        ambiguous = {number for start in walks.starts for number in walks.parted(start, level)}
        if not ambiguous:
            break
        barriers -= ambiguous
    return barriers


def candidates(kernel: Kernel, level: Scope) -> Iterator[Barrier]:
    """The barriers that may be full: not those that are only arrived at, or of a part of the
    threads."""
    for each in kernel.barriers:
        if kernel.guards.get(each.instruction):
            continue
        if each.level is Scope.WAVEFRONT:
            if level is Scope.WAVEFRONT and each.mask is None:
                yield each
        elif each.level is Scope.WORKGROUP:
            if each.arrives and each.waits and not is_of_thread(each):
                if counts_all(kernel, each) is not False:
                    yield each
        elif each.waits and each.acquires and _is_joined(kernel, each):
            yield each


def is_of_thread(barrier: Barrier) -> bool:
    """True of a barrier that threads of a CTA may give different names."""
    own = () if barrier.name is None else leaves((barrier.name,))
    return any(each.varies for each in own if not isinstance(each, Iteration))


def counts_all(kernel: Kernel, barrier: Barrier) -> bool | None:
    """True of a barrier that counts all threads that come to it, False of one that counts fewer;
    None where that is not known.

    Whole warps are counted. Source: PTX ISA, bar.
    """
    return kernel.remembered(
        ("counts all", barrier.instruction), lambda: _counts_all(kernel, barrier)
    )


def _counts_all(kernel: Kernel, barrier: Barrier) -> bool | None:
    number = None if barrier.count is None else number_of(barrier.count)
    own = None if number is None else _warps_by_name(kernel, barrier)
    if number is None or own is None:
        return None
    if any(len(warps) * kernel.lanes > number for warps in own.values()):
        # Of all threads of any block as many may be meant as are counted.
        is_any = kernel.required is None and len(own) == 1 and not barrier.conditions
        return None if is_any else False
    of_cta = (each for each in kernel.barriers if each.level is Scope.WORKGROUP)
    every = [_warps_by_name(kernel, each) for each in of_cta]
    those = ({warp for each in every for warp in (each or {}).get(name, ())} for name in own)
    is_all = None not in every and all(len(warps) * kernel.lanes == number for warps in those)
    return True if is_all else None


def _warps_by_name(kernel: Kernel, barrier: Barrier) -> Mapping[int, set[int]] | None:
    """The warps that come to a barrier, by the name that they give it; None where more than a
    thread's number decides."""
    terms = [] if barrier.name is None else [(barrier.name, 1)]
    values = [*terms, *((each.value, 1) for each in barrier.conditions)]
    names = sums_of_threads(kernel, terms, barrier.conditions)
    is_known = names is not None and sums_of_threads(kernel, values, ()) is not None
    if names is None or not is_known or {"%tid.y", "%tid.z"} & kernel.specials:
        return None
    most = kernel.most_threads if kernel.required is None else prod(kernel.required)
    found: dict[int, set[int]] = {}
    for thread, name in names.items():
        if thread < most:
            found.setdefault(name, set()).add(thread // kernel.lanes)
    return found


def _is_joined(kernel: Kernel, wait: Barrier) -> bool:
    """True of a cluster wait right after its arrival: nothing is accessed between the two."""
    own = kernel.instructions[kernel.block_of[wait.instruction]]
    for number in reversed(own[: own.index(wait.instruction)]):
        barrier = kernel.barrier_at.get(number)
        if barrier is not None:
            return barrier.level is Scope.CLUSTER and barrier.arrives and barrier.releases
        if number in kernel.accesses_at:
            return False
    return False


def roles_of(first: Access, second: Access) -> Roles:
    """The conditions of both accesses that are the same at all times."""

    def own(access: Access) -> Roles:
        return frozenset(
            (each.value, each.polarity) for each in access.conditions if is_steady(each.value)
        )

    return own(first) & own(second)


def is_steady(value: Value) -> bool:
    """True of a value that a thread finds the same at all times."""
    return not any(isinstance(leaf, Iteration | Result | Opaque) for leaf in leaves((value,)))


def _is_steady_role(role: tuple[Value, bool]) -> bool:
    return is_steady(role[0])


def shared(
    kernel: Kernel,
    first: Access,
    second: Access,
    barriers: frozenset[int],
    roles: Roles = frozenset(),
    threads: tuple[int, int] = (0, 1),
    *,
    is_one_cta: bool = False,
    is_sure: bool = False,
) -> tuple[Constraint, ...]:
    """The constraints under which two accesses of two threads are in one interval between barriers.

    None where a barrier always stands between. ``roles``: conditions that both threads satisfy.
    ``is_one_cta``: the threads are of one CTA. ``is_sure``: only by paths of which all conditions
    are known.
    """
    walks = walks_of(kernel, barriers, roles)
    found: dict[Constraint, None] = {}
    others = walks.positions(second)
    for start, state, path in walks.positions(first):
        for other, state_of_other, path_of_other in others:
            is_known = path.is_whole and path_of_other.is_whole
            if start == other and (is_known or not is_sure):
                way: tuple[Constraint, ...] | None = ()
                if is_one_cta:
                    way = walks.way(start, (first, state), (second, state_of_other), threads[0])
                    if way is None or walks.leave_alike(state, state_of_other):
                        continue
                together = _together(kernel, (state, state_of_other), threads)
                taken = (*path.taken(threads[0]), *path_of_other.taken(threads[1]))
                found.setdefault(AllOf((*together, *taken, *way)))
    return tuple(found)


def left_behind(
    kernel: Kernel,
    accesses: tuple[Access, Access],
    walks: "Walks",
    level: Scope,
    threads: tuple[int, int],
) -> Iterator[tuple[int, Constraint]]:
    """The barriers before one of two accesses to which the thread of the other may not have come,
    with conditions of that.

    A thread that has ended is not waited for, and nothing orders its accesses since.
    """
    for own, other, thread in zip(accesses, reversed(accesses), threads, strict=True):
        for each, taken in walks.missed(own, level):
            if kernel.may_reach(each, other.instruction):
                yield each, AllOf(tuple(Holds(literal, thread) for literal in taken))


def walks_of(kernel: Kernel, barriers: frozenset[int], roles: Roles) -> "Walks":
    """The walks between some barriers of a kernel, made once."""
    return kernel.remembered(("walks", barriers, roles), lambda: Walks(kernel, barriers, roles))


def _together(
    kernel: Kernel, states: tuple[State, State], threads: tuple[int, int]
) -> list[Constraint]:
    """The relation of the iterations of two accesses in one interval."""
    constraints: list[Constraint] = []
    counts = dict(_without_left(states[0])), dict(_without_left(states[1]))
    for own, thread in zip(counts, threads, strict=True):
        for head, count in own.items():
            constraints += _alone(kernel, head, count, thread)
    for head, count in counts[0].items():
        other = counts[1].get(head)
        if other is None or count.is_fresh or other.is_fresh:
            continue
        if count.times is None or other.times is None:
            continue
        # Of an iteration k at the barrier, which both threads share, these are k + times.
        least = min(count.times, other.times)
        left = _later(kernel, head, other.times - least)
        right = _later(kernel, head, count.times - least)
        constraints.append(Compare("eq", left, threads[0], right, threads[1]))
    return constraints


def _alone(kernel: Kernel, head: int, count: Count, thread: int) -> Iterator[Constraint]:
    iteration = kernel.loops[head].iteration
    if count.times is None:
        return
    if not count.is_fresh:
        if count.times > 0:
            least = kernel.table.constant(count.times, iteration.bits)
            yield Not(Compare("ult", iteration, thread, least, thread))
        return
    zero = kernel.table.constant(0, iteration.bits)
    yield Compare("eq" if count.times == 0 else "ne", iteration, thread, zero, thread)


def _later(kernel: Kernel, head: int, times: int) -> Value:
    iteration = kernel.loops[head].iteration
    if times == 0:
        return iteration
    constant = kernel.table.constant(times, iteration.bits)
    return kernel.table.apply("add", (iteration, constant), iteration.bits)


@record()
class Path:
    """The conditions on which a copy's issuer has come past waits: ``issued`` in the iterations of
    its issue, ``later`` in those where it is now.

    ``is_whole``: there are no others, of iterations between, or of loops entered since.
    """

    issued: frozenset[Literal] = frozenset()
    later: frozenset[Literal] = frozenset()
    is_whole: bool = True

    def taken(self, thread: int) -> Iterator[Constraint]:
        """The conditions of the issue, for the thread that issues."""
        return _held(self.issued, thread)

    def taken_later(self, thread: int) -> Iterator[Constraint]:
        """The conditions of where it is now, for the thread that is there."""
        return _held(self.later, thread)

    def further(self, literals: frozenset[Literal], *, is_again: bool) -> "Path":
        """The path that goes on by an edge; ``is_again``: in another iteration than the issue's."""
        if is_again:
            return Path(self.issued, self.later | literals, self.is_whole)
        return Path(self.issued | literals, self.later, self.is_whole)

    def back(self) -> "Path":
        """The path that has gone back to the head of a loop."""
        return Path(self.issued, frozenset(), self.is_whole and not self.later)


def _held(literals: Iterable[Literal], thread: int) -> Iterator[Constraint]:
    own = sorted(literals, key=lambda each: (each.value.number, each.polarity))
    return (Holds(each, thread) for each in own)


_NO_PATH = Path()

_Node = tuple[int, State]
_Ending = tuple[int, State]
_NEVER: _Ending = (-1, ())
"""The ending of a walk that comes to no barrier."""
Position = tuple[int | None, State, Path]
"""A barrier, or the entry, after which an access may be, and how its thread came there."""
_OF_ONE_CTA = (Scope.WORKGROUP, Scope.WAVEFRONT)


@record()
class _Walk:
    """The nodes of a walk, each with those that follow it, and the barriers that it ends at."""

    graph: dict[_Node, tuple[_Node, ...]]
    ends: dict[_Node, _Ending]


def _heads_around(kernel: Kernel) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The heads of the loops around each block."""
    for block in kernel.instructions:
        around = kernel.loops_around(block)
        yield block, tuple(sorted([loop.head for loop in around])) if around else ()


class Walks:
    """The walks from each barrier of a set, and from the entry (None), to the next ones."""

    def __init__(self, kernel: Kernel, barriers: frozenset[int], roles: Roles = frozenset()):
        self.kernel = kernel
        self.barriers = barriers
        self.roles = roles
        self._around = kernel.remembered("heads around", lambda: dict(_heads_around(kernel)))
        self._stops: dict[int, list[int]] = {}
        for number in sorted(barriers):
            self._stops.setdefault(kernel.block_of[number], []).append(number)
        self._walked: dict[int | None, _Walk] = {}
        self._forks: dict[Scope, frozenset[int]] = {}
        self._uniform_values: dict[tuple[Value, Scope], bool] = {}
        self._pending: dict[tuple[int, frozenset[int]], Pending] = {}
        self._missed: dict[tuple[int, Scope], Sequence[tuple[int, tuple[Literal, ...]]]] = {}
        self._apart: dict[tuple[int | None, Scope, bool], frozenset[int]] = {}
        self._false: dict[tuple[Literal, tuple[int, ...]], bool] = {}
        self._ways: dict[int | None, Mapping[_Node, Roles]] = {}

    @property
    def starts(self) -> tuple[int | None, ...]:
        """The barriers, and None for the entry."""
        return (None, *sorted(self.barriers))

    def positions(self, access: Access) -> Iterable[Position]:
        """The barriers after which an access may be, with its state: also while it is pending."""
        own = tuple((*each, _NO_PATH) for each in self._members.get(access.instruction, ()))
        if access.is_done or (access.agent not in GROUPED and not access.queue):
            return own
        return dict.fromkeys((*own, *self.pending(access).positions))

    def parted(self, start: int | None, level: Scope) -> frozenset[int]:
        """The next barriers to which threads come apart that leave ``start`` together.

        Threads that have ended, or that never come to a barrier again, are not waited for, but a
        barrier with a count may be complete before they are.
        """
        if not self._may_part(start, level):
            return frozenset()
        found = self._parted(start, level, {})
        barrier_at, ends = self.kernel.barrier_at, self._walk(start).ends.values()
        if counted := {each for each, _ in ends if barrier_at[each].count is not None}:
            found = found | counted & self._parted(start, level, self._never(start))
        return found

    def missed(self, access: Access, level: Scope) -> Sequence[tuple[int, tuple[Literal, ...]]]:
        """The next barriers to which others come, while the thread of an access ends, each with
        conditions on which it does."""
        key = access.number, level
        known = self._missed.get(key)
        if known is None:
            known = self._missed[key] = tuple(self._missed_by(access, level))
        return known

    def _missed_by(self, access: Access, level: Scope) -> Iterator[tuple[int, tuple[Literal, ...]]]:
        conditions = {(each.value, each.polarity) for each in access.conditions}
        steady = frozenset(each for each in conditions if is_steady(each[0]))
        here = self.kernel.block_of[access.instruction]
        for start, state in self._members.get(access.instruction, ()):
            if not self._may_part(start, level):
                continue
            never = self._never(start)
            parted = self._parted(start, level, never)
            if not parted:
                continue
            own = {
                node: tuple(each for each in targets if self._may_take(node, each, steady))
                for node, targets in self._walk(start).graph.items()
            }
            graph = Graph(tuple(own), own)
            way = graph.within(graph.backward.reachable(never.keys()))
            if (here, state) in way.successors:
                taken = tuple(self._only_way(way, (here, state)))
                yield from ((each, taken) for each in sorted(parted & self.barriers))

    def _may_take(self, node: _Node, target: _Node, conditions: Roles) -> bool:
        literals = self.kernel.edge_literals.get((node[0], target[0]), ())
        return not any((each.value, not each.polarity) in conditions for each in literals)

    def _only_way(self, graph: Graph[_Node], node: _Node) -> Iterator[Literal]:
        """The conditions of the edges from a node, up to one that is left by several."""
        seen = set[_Node]()
        while node not in seen and len(graph.successors[node]) == 1:
            seen.add(node)
            (target,) = graph.successors[node]
            literals = self.kernel.edge_literals.get((node[0], target[0]), ())
            yield from (each for each in literals if is_steady(each.value))
            node = target

    def _never(self, start: int | None) -> dict[_Node, _Ending]:
        """The nodes in which a thread ends that has left ``start``."""
        exits, walk = self.kernel.exits, self._walk(start)
        return {
            node: _NEVER
            for node, targets in walk.graph.items()
            if not targets
            and node not in walk.ends
            and exits.intersection(self.kernel.instructions[node[0]])
        }

    def _parted(
        self, start: int | None, level: Scope, never: Mapping[_Node, _Ending]
    ) -> frozenset[int]:
        key = start, level, bool(never)
        if (known := self._apart.get(key)) is None:
            ends = {**self._walk(start).ends, **never}
            known = self._apart[key] = frozenset(self._parted_by(start, level, ends))
        return known

    def _may_part(self, start: int | None, level: Scope) -> bool:
        """True where threads that leave ``start`` together come to a branch before the next
        barriers that some may take another way than others."""
        if (forks := self._forks.get(level)) is None:
            branches = self.kernel.graph.successors.items()
            forks = self._forks[level] = frozenset(
                block
                for block, targets in branches
                if len(targets) > 1 and not self.is_uniform_branch(block, level)
            )
        if not forks:
            return False
        first, after = self._begin(start)
        graph, stops = self.kernel.graph, self._stops
        if first in stops and stops[first][-1] > after:
            return False
        reached = graph.reachable(graph.successors[first], lambda block: block not in stops)
        return first in forks or any(each not in stops for each in reached & forks)

    def _parted_by(
        self, start: int | None, level: Scope, ends: Mapping[_Node, _Ending]
    ) -> Iterator[int]:
        graph = self._walk(start).graph
        forks = [
            node
            for node, targets in graph.items()
            if len(targets) > 1 and not self.is_uniform_branch(node[0], level)
        ]
        if not forks or len(set(ends.values())) < 2:
            return
        every = Graph(tuple(graph), graph)
        live = every.within(every.backward.reachable(ends))
        successors = {None: tuple(ends), **live.backward.successors}
        after = immediate_dominators(
            Graph[_Node | None]((None, *live.backward.nodes), successors), None
        )
        for node in forks:
            if len(live.successors.get(node, ())) < 2:
                continue
            meeting = after[node]
            if meeting is not None and self._is_of_iteration(live, node, meeting):
                continue
            endings = {ends[each] for each in live.reachable([node]) if each in ends}
            if len(endings) > 1:
                yield from (barrier for barrier, _ in endings)

    def _is_of_iteration(self, graph: Graph[_Node], node: _Node, meeting: _Node) -> bool:
        """True where threads that part at a node are in the same iterations where all ways meet.

        They are where no way to the meeting goes round a loop that has barriers: then each value
        that is uniform is the same for all of them again.
        """
        return not any(
            target != meeting and (each[0], target[0]) in self._rounds
            for each in graph.reachable([node], meeting.__ne__)
            if each != meeting
            for target in graph.successors[each]
        )

    @cached_property
    def _rounds(self) -> frozenset[tuple[int, int]]:
        """The edges on which a loop that has barriers begins again."""
        inside = {self.kernel.block_of[each] for each in self.barriers}
        own = [each for each in self.kernel.loops.values() if inside & each.blocks]
        return frozenset((latch, each.head) for each in own for latch in each.latches)

    def is_uniform_branch(self, block: int, level: Scope) -> bool:
        """True of a branch on which all threads of a level go one way."""
        literals = [
            literal
            for target in self.kernel.graph.successors[block]
            for literal in self.kernel.edge_literals.get((block, target), ())
        ]
        return bool(literals) and all(self.is_uniform(each.value, level) for each in literals)

    def is_uniform(self, value: Value, level: Scope) -> bool:
        """True of a value that all threads of a grid, CTA or warp have alike, when they are
        together."""
        if level in _OF_ONE_CTA and not value.varies and not value.is_opaque:
            return True
        if isinstance(value, Const):
            return level is not Scope.AGENT or not str(value.constant).startswith(_OF_CTAS)
        if isinstance(value, Param):
            return True
        if isinstance(value, Iteration):
            blocks = self.kernel.loops[value.head].blocks
            return any(self.kernel.block_of[each] in blocks for each in self.barriers)
        if isinstance(value, Result):
            return self._is_uniform_read(value, level)
        if isinstance(value, Opaque):
            return self._is_uniform_register(value, level)
        if isinstance(value, Apply):
            if (known := self._uniform_values.get((value, level))) is None:
                known = level is Scope.WAVEFRONT and _is_of_warp(value)
                known = known or all(self.is_uniform(part, level) for part in value.arguments)
                self._uniform_values[value, level] = known
            return known
        return False

    def _is_uniform_register(self, value: Opaque, level: Scope) -> bool:
        """A register of a loop that all threads go round together: uniform at entry, and made of
        itself and of values uniform in each iteration: memory may change in between."""
        found, work = set[Value](), list[Value]([value])
        while work:
            each = work.pop()
            if each in found:
                continue
            found.add(each)
            known = self.kernel.recurrences.get(each)
            if known is None:
                return False
            for leaf in leaves(known):
                if isinstance(leaf, Opaque):
                    work.append(leaf)
                elif isinstance(leaf, Result) or not self.is_uniform(leaf, level):
                    return False
        return True

    def _is_uniform_read(self, value: Result, level: Scope) -> bool:
        """A weak read of one place by all: any write of it meanwhile is a race of its own."""
        barrier = self.kernel.barrier_at.get(value.instruction)
        if barrier is not None:
            return level is not Scope.AGENT  # The result of bar.red.
        for access in self.kernel.accesses_at.get(value.instruction, ()):
            if level is Scope.AGENT and access.place.root.region is Region.SHARED:
                return False
            if access.is_strong or access.agent is not Agent.THREAD or access.place.offset is None:
                return False
            return all(self.is_uniform(part, level) for part, _ in access.place.offset.terms)
        return False

    def _begin(self, start: int | None) -> tuple[int, int]:
        """The block that a walk begins in, and the instruction there after which it does."""
        return (self.kernel.entry, -1) if start is None else (self.kernel.block_of[start], start)

    def _walk(self, start: int | None) -> "_Walk":
        """The walk from a barrier or the entry, made at its first use."""
        if (known := self._walked.get(start)) is not None:
            return known
        first, after = self._begin(start)
        # The walk comes to its first block again in a later iteration only, hence in another state.
        state = tuple((head, Count(start is None, 0)) for head in self._around[first])
        found = self._walked[start] = _Walk({}, {})
        work: list[_Node] = [(first, state)]
        while work:
            node = work.pop()
            if node not in found.graph:
                found.graph[node] = self._visit(node, after, found.ends)
                work += found.graph[node]
                after = -1
        return found

    def _visit(self, node: _Node, after: int, ends: dict[_Node, _Ending]) -> tuple[_Node, ...]:
        """The nodes that follow one; none where a barrier ends the walk in its block."""
        block, state = node
        stops = self._stops.get(block, ())
        if (place := bisect(stops, after)) < len(stops):
            ends[node] = (stops[place], _without_left(state))
            return ()
        return tuple(
            (target, (*self._along(target, state), *self._left(target, state)))
            for target in self._targets(block, self.roles, state)
        )

    @cached_property
    def _members(self) -> Mapping[int, Mapping[tuple[int | None, State], None]]:
        """The starts after which, and states in which, a thread comes to each instruction."""
        kernel = self.kernel
        kept = kernel.accesses_at.keys() | kernel.mbarrier_at.keys() | kernel.group_at.keys()
        kept |= self.barriers
        own = {
            block: tuple(each for each in numbers if each in kept)
            for block, numbers in kernel.instructions.items()
        }
        found: dict[int, dict[tuple[int | None, State], None]] = {}
        for start in self.starts:
            _, after = self._begin(start)
            for block, state in self._walk(start).graph:
                numbers = own[block]
                for place in range(bisect(numbers, after), len(numbers)):
                    if (number := numbers[place]) in self.barriers:
                        break
                    found.setdefault(number, {})[start, state] = None
                after = -1
        return found

    def _targets(self, block: int, roles: Roles, state: State) -> Iterator[int]:
        """The blocks after one that threads of some roles may go to, in the first iteration of
        loops that they have entered on the way: a later one may be any."""
        first = tuple([head for head, count in state if count == _FIRST])
        for target in self.kernel.graph.successors[block]:
            literals = self.kernel.edge_literals.get((block, target), ())
            if roles and any((each.value, not each.polarity) in roles for each in literals):
                continue
            if not first or not any(self._is_false(each, first) for each in literals):
                yield target

    def _is_false(self, literal: Literal, first: tuple[int, ...]) -> bool:
        """True of a condition that does not hold in the first iteration of loops, by head."""
        key = literal, first
        known = self._false.get(key)
        if known is None:
            table, loops = self.kernel.table, self.kernel.loops
            numbers = {
                loops[head].iteration: table.constant(0, loops[head].iteration.bits)
                for head in first
            }
            value = Expressions(table).substituted(literal.value, numbers)
            number = number_of(value)
            known = number is not None and bool(number) != literal.polarity
            self._false[key] = known
        return known

    def _along(self, target: int, state: State) -> State:
        counts = dict(state)
        after: list[tuple[int, Count]] = []
        for head in self._around[target]:
            count = counts.get(head)
            if count is None or count.is_left:
                count = _FIRST
            elif target == head:
                count = self._again(count)
            after.append((head, count))
        return tuple(after)

    def _left(self, target: int, state: State) -> Iterator[tuple[int, Count]]:
        """The loops around the start of a walk that it has left, and in which iteration."""
        for head, count in state:
            if not count.is_fresh and head not in self._around[target]:
                yield head, replace(count, is_left=True)

    def leave_alike(self, *states: State) -> bool:
        """True where a thread would still be in a loop that another one has left: one that threads
        which meet in an iteration all leave in the same one."""
        for own, other in (states, states[::-1]):
            counts = dict(other)
            for head, left in own:
                there = counts.get(head, left)
                if not left.is_left or there.is_fresh or None in (left.times, there.times):
                    continue
                is_later = (there.times or 0) > (left.times or 0)
                if (is_later or (there.is_left and there != left)) and self._is_left_alike(head):
                    return True
        return False

    def way(
        self,
        start: int | None,
        one: tuple[Access, State],
        other: tuple[Access, State],
        thread: int,
    ) -> tuple[Constraint, ...] | None:
        """The conditions of ways to two accesses, beside their own, that all threads of a CTA have
        alike, of one thread; None of two sides of a branch that all take one way."""
        taken: Mapping[_Node, Roles] = self._taken(start) if self._uniform else {}
        ways, known = Roles(), Roles()
        for each, state in (one, other):
            ways |= taken.get((self.kernel.block_of[each.instruction], state), Roles())
            known |= self._still(self._alike(each.conditions), state)
        if any((value, not polarity) in ways | known for value, polarity in ways | known):
            return None
        own = sorted(filter(_is_steady_role, ways - known), key=lambda each: each[0].number)
        return tuple(Holds(Literal(value, polarity, -1), thread) for value, polarity in own)

    def _alike(self, literals: Iterable[Literal]) -> Roles:
        """The conditions that all threads of a CTA find the same when they are together."""
        return frozenset(
            (each.value, each.polarity)
            for each in literals
            if self.is_uniform(each.value, Scope.WORKGROUP)
        )

    def _still(self, roles: Roles, state: State) -> Roles:
        """Those of some conditions that have one value for all walks from one barrier, as they are
        computed once, or in the barrier's own iteration of each loop."""
        counts = dict(state)

        def is_once(leaf: Value) -> bool:
            if isinstance(leaf, Opaque):
                return False
            if not isinstance(leaf, Iteration | Result):
                return True
            at = self.kernel.block_of[leaf.instruction] if isinstance(leaf, Result) else leaf.head
            counted = (counts.get(each.head, _FIRST) for each in self.kernel.loops_around(at))
            return all(not each.is_fresh and each.times == 0 for each in counted)

        return frozenset(each for each in roles if all(map(is_once, leaves((each[0],)))))

    @cached_property
    def _uniform(self) -> Mapping[tuple[int, int], Roles]:
        own = {edge: self._alike(each) for edge, each in self.kernel.edge_literals.items()}
        return {edge: each for edge, each in own.items() if each}

    def _taken(self, start: int | None) -> Mapping[_Node, Roles]:
        """Such conditions of a walk's start, and of the branches on all ways to its nodes."""
        if (known := self._ways.get(start)) is not None:
            return known
        graph = self._walk(start).graph
        first = next(iter(graph))
        met = () if start is None else self.kernel.conditions(start)

        def along(node: _Node, target: _Node, own: Roles) -> Roles:
            own |= self._uniform.get((node[0], target[0]), Roles())
            return self._still(own, target[1])

        found = self._ways[start] = solve(
            Graph(tuple(graph), graph),
            {first: self._still(self._alike(met), first[1])},
            lambda _, own: own,
            lambda known, coming: known & coming,
            edge=along,
        )
        return found

    def _is_left_alike(self, head: int) -> bool:
        """True of a loop that all threads of a CTA leave in one iteration: each decides so in every
        iteration, by values that they have alike."""
        loop = self.kernel.loops[head]
        return all(
            self.is_uniform_branch(block, Scope.WORKGROUP)
            and all(self.kernel.leads_through(block, latch) for latch in loop.latches)
            for block in loop.blocks
            if not loop.blocks.issuperset(self.kernel.graph.successors[block])
        )

    @staticmethod
    def _again(count: Count) -> Count:
        if count.is_fresh:
            # Once more or often: it is not the first iteration.
            return Count(is_fresh=True, times=1)
        if count.times is None or count.times >= _MOST:
            return Count(is_fresh=False, times=None)
        return Count(is_fresh=False, times=count.times + 1)

    # Accesses that are pending

    def pending(self, access: Access, waits: frozenset[int] = frozenset()) -> "Pending":
        """The walk of a thread from the issue of a copy to its completion, made once.

        ``waits``: at mbarriers, each of which may be its end: is, if an mbarrier counts its bytes.
        """
        key = access.number, waits
        known = self._pending.get(key)
        if known is None:
            known = self._pending[key] = self._followed(access, waits)
        return known

    def _followed(self, access: Access, waits: frozenset[int]) -> "Pending":
        kernel = self.kernel
        conditions = {(each.value, each.polarity) for each in access.conditions}
        steady = self.roles | {own for own in conditions if is_steady(own[0])}
        groups = {
            each.instruction: each
            for each in kernel.groups
            if each.queue == access.queue
            and (access.queue or each.agent is access.agent)
            and all(
                (guard.value, guard.polarity) in conditions
                for guard in kernel.guards.get(each.instruction, ())
            )
        }
        deciding = {
            each.value
            for number in waits.union(groups)
            for each in kernel.conditions(number)
            if not conditions & {(each.value, True), (each.value, False)}
        }
        start = Path(is_whole=len(deciding) <= _MOST_DECIDING)
        positions: dict[Position, None] = {}
        met: dict[tuple[int, State, Path], None] = {}
        ends: dict[tuple[int, State], None] = {}
        block = kernel.block_of[access.instruction]
        around = frozenset(self._around[block])
        state = tuple((head, Count(is_fresh=False, times=0)) for head in self._around[block])
        seen: set[tuple[int, State, int, bool, bool, Path]] = set()
        # A block, the counts since the issue, the commitments since, whether it begins there, if
        # it is in a later iteration, and the path. An operation that a queue counts is committed
        # as it is issued.
        work = [(block, state, int(access.queue != ""), True, False, start)]
        while work:
            block, state, commits, is_first, is_again, path = here = work.pop()
            if here in seen:
                continue
            seen.add(here)
            for number in kernel.instructions[block]:
                if is_first and number <= access.instruction:
                    continue
                group = groups.get(number)
                if group is not None and group.pending is None and not group.everything:
                    commits = min(commits + 1, _MOST_COMMITS)
                elif number in waits and access.agent is Agent.COPY:
                    path = replace(path, is_whole=False)
                elif number in waits or (group and _completes(group, access, commits)):
                    ends[number, state] = None
                    break
                if number in self.barriers:
                    positions[number, self._before(number, state), path] = None
                if number in kernel.accesses_at or number in kernel.exits:
                    met[number, state, path] = None
                if number in kernel.exits:
                    ends[number, state] = None
            else:
                roles = steady if is_again else steady | conditions
                for target in self._targets(block, roles, state):
                    is_back = target in around and block in kernel.loops[target].blocks
                    taken = path
                    literals = kernel.edge_literals.get((block, target), ())
                    if self._stays(block, target):
                        literals = ()  # The iteration that is come to says so.
                    own = frozenset(replace(x, branch=-1) for x in literals if x.value in deciding)
                    if own and path.is_whole and around.issuperset(self._around[block]):
                        taken = path.further(own, is_again=is_again)
                    elif own:
                        taken = replace(path, is_whole=False)
                    after = self._along(target, state)
                    taken = taken.back() if is_back else taken
                    work.append((target, after, commits, False, is_again or is_back, taken))
        return Pending(tuple(positions), tuple(met), tuple(ends))

    def _stays(self, block: int, target: int) -> bool:
        """True of an edge on which a loop goes on that it might leave."""
        after = self.kernel.graph.successors[block]
        return any(
            target in loop.blocks and not loop.blocks.issuperset(after)
            for loop in self.kernel.loops_around(block)
        )

    def _before(self, barrier: int, state: State) -> State:
        """The counts of an access that is pending at a barrier, from the barrier's iterations."""
        around = self._around[self.kernel.block_of[barrier]]
        return tuple(
            (
                head,
                Count(
                    is_fresh=False,
                    times=None
                    if head not in around or count.is_fresh or count.times is None
                    else -count.times,
                ),
            )
            for head, count in state
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """The places where a thread may be while a copy of its own is pending: at barriers, and at
    accesses and exits (``met``).

    ``ends``: the waits after which it is done, and the exits at which it is pending.
    """

    positions: tuple[Position, ...]
    met: tuple[tuple[int, State, Path], ...]
    ends: tuple[tuple[int, State], ...]


def _completes(wait: Group, access: Access, commits: int) -> bool:
    """True of a wait after which an access is done that so many commitments followed."""
    if wait.reads_only and access.writes:
        return False
    return wait.everything or commits > (wait.pending or 0)


def _is_of_warp(value: Apply) -> bool:
    """True of a value of the thread index that all lanes of a warp share: by its upper bits
    alone."""
    if len(value.arguments) != 2:
        return False
    (left, right), operation = value.arguments, value.operation
    if operation in ("lshr", "udiv") and _is_thread_index(left):
        by = number_of(right)
        if by is None:
            return False
        return by >= 5 if operation == "lshr" else by > 0 and by % _LANES == 0
    if operation in ("ult", "slt"):
        if _is_thread_index(left):
            return (number := number_of(right)) is not None and number % _LANES == 0
        # A constant below the index: from the last lane of a warp on.
        return (
            _is_thread_index(right)
            and (number := number_of(left)) is not None
            and ((number + 1) % _LANES == 0)
        )
    if operation == "and" and _is_thread_index(left):
        return (number := number_of(right)) is not None and number % _LANES == 0
    return False


def _is_thread_index(value: Value) -> bool:
    return isinstance(value, Thread) and value.name == "%tid.x"
