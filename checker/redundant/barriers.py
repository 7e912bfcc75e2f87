"""Barriers of a CTA or a work-group that order nothing: every conflict stays ordered without them.

A forward dataflow has what may have been done since the last barrier, and which barrier that was. A
barrier is redundant where nothing before it, back to the barrier before, may conflict with anything
after it, up to the next one; of barriers next to each other one of two can go. Where accesses on
both sides may be of one object, the verdict decides: it is the same without the barrier. Nothing is
redundant between strong accesses of one object, whose order the values tell without a race, and
between objects that are apart by an assumption. What may be in flight at a barrier counts as before
it, and before the next one, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise

from fencewright.checker.verdicts.intervals import Roles, walks_of
from fencewright.checker.verdicts.model import Access, Agent, Barrier, Kernel, Region, Root
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.records import record
from fencewright.lowering.vocabulary import Scope

_MOST_ASKED = 32
"""Barriers of a kernel for which the verdict is made again, the last ones."""
_VARIABLES = frozenset({Region.SHARED, Region.GLOBAL})
_UNKNOWN = frozenset({Region.UNKNOWN, Region.TENSOR})


def idle_barriers(
    kernel: Kernel,
    lines: Collection[int],
    others: Collection[int] = (),
    is_proved: Callable[[Kernel], bool] | None = None,
    flags: Collection[int] = (),
    caches: Collection[int] = (),
) -> list[int]:
    """The lines of barriers that can go together, in the order of the text.

    ``lines``: of the barriers that may go at all. ``others``: of instructions that do more than the
    kernel has, so that their order counts. ``is_proved``: the answer whether every pair of accesses
    of a kernel with fewer barriers is ordered as all were with them; None: it is not asked.
    ``flags``: the lines of weak stores that other kernels may take for flags. ``caches``: of
    instructions that empty one, whose order the verdict alone has.
    """
    plain = [each for each in kernel.barriers if _is_whole(kernel, each)]
    of_cta = [each for each in kernel.barriers if each.level is Scope.WORKGROUP]
    may_go = {kernel.line_of(each.instruction) for each in plain} & {*lines}
    if kernel.obstacles or len(plain) < len(of_cta) or not may_go:
        return []
    beyond = _Beyond(
        frozenset(others), frozenset(flags), frozenset(caches), _pending(kernel, plain)
    )
    gone = set(_without_conflict(_Intervals(kernel, plain, beyond), may_go))
    if is_proved is None:
        return sorted(gone)
    for line in sorted(may_go - gone, reverse=True)[:_MOST_ASKED]:
        own = [each for each in plain if kernel.line_of(each.instruction) not in gone]
        intervals = _Intervals(_without(kernel, gone), own, beyond)
        if intervals.is_judgeable(line) and is_proved(_without(kernel, {*gone, line})):
            gone.add(line)
    return sorted(gone)


def _without(kernel: Kernel, lines: Collection[int]) -> Kernel:
    """The kernel without the barriers of some lines."""
    kept = tuple(each for each in kernel.barriers if kernel.line_of(each.instruction) not in lines)
    return replace(kernel, barriers=kept, _memo={})


def _pending(kernel: Kernel, barriers: Sequence[Barrier]) -> Mapping[int, frozenset[int]]:
    """By the number of a barrier, the accesses of a queue that may be pending there."""
    found: dict[int | None, set[int]] = {each.instruction: set() for each in barriers}
    numbers = frozenset(each.instruction for each in barriers)
    for access in (each for each in kernel.accesses if each.queue):
        for number, *_ in walks_of(kernel, numbers, Roles()).pending(access).positions:
            found[number].add(access.instruction)
    return {number: frozenset(found[number]) for number in numbers}


def _is_whole(kernel: Kernel, barrier: Barrier) -> bool:
    """True of a barrier that is for all threads of a CTA, under no condition of its own."""
    is_one = barrier.level is Scope.WORKGROUP and barrier.name is None and barrier.count is None
    return (
        is_one and barrier.arrives and barrier.waits and not kernel.guards.get(barrier.instruction)
    )


def _without_conflict(intervals: "_Intervals", may_go: Collection[int]) -> Iterator[int]:
    """The lines of barriers with no possible conflict around them, the last one first."""
    gone: set[int] = set()
    for line in sorted(may_go, reverse=True):
        own = intervals.at(line)
        if any(map(intervals.has_conflict_nearby, own)):
            continue  # So it is of most barriers: no path has to be followed.
        if any(not intervals.next_to(n).isdisjoint(gone) for n in own):
            continue
        if not any(map(intervals.has_conflict, own)):
            gone.update(own)
            yield line


@record()
class _Numbers:
    """A set of numbers that are near each other: a mask from the ``lowest`` on."""

    lowest: int = 0
    mask: int = 0

    @staticmethod
    def of(numbers: range) -> "_Numbers":
        """Numbers that follow one another."""
        return _Numbers(numbers.start, (1 << len(numbers)) - 1)

    def __or__(self, other: "_Numbers") -> "_Numbers":
        if not (self.mask and other.mask):
            return self if self.mask else other
        lowest = min(self.lowest, other.lowest)
        own = self.mask << self.lowest - lowest
        return _Numbers(lowest, own | other.mask << other.lowest - lowest)

    def __iter__(self) -> Iterator[int]:
        return (self.lowest + each for each in bits(self.mask))


@record()
class _State:
    """The points since the last barrier, and the last barriers."""

    since: _Numbers = _Numbers()
    last: _Numbers = _Numbers()

    def join(self, other: "_State") -> "_State":
        """The join of two paths: the possibilities of either."""
        return _State(self.since | other.since, self.last | other.last)


@record()
class _Point:
    """An instruction whose order may matter: its accesses. ``is_known``: it does no more than the
    kernel has. ``is_flag``: others may wait for what it writes."""

    instruction: int
    accesses: tuple[Access, ...] = ()
    is_known: bool = True
    is_flag: bool = False

    @property
    def is_plain(self) -> bool:
        """True of weak accesses by the thread itself, and of nothing else."""
        return self.is_known and bool(self.accesses) and all(map(_is_plain, self.accesses))


@record()
class _Beyond:
    """The facts that a kernel does not have: as ``idle_barriers`` has ``others``, ``flags`` and
    ``caches``; ``pending`` as the function of that name has it."""

    others: frozenset[int]
    flags: frozenset[int]
    caches: frozenset[int]
    pending: Mapping[int, frozenset[int]]


_Run = tuple[range, int]
"""Points, and the barrier after them, -1 where their block ends."""


class _Intervals:
    """By the number of a barrier: the points before and after it, and its neighbours."""

    def __init__(self, kernel: Kernel, barriers: Iterable[Barrier], beyond: _Beyond):
        self.kernel = kernel
        self.barriers = [each.instruction for each in barriers]
        self.points: list[_Point] = []
        self._number = {each: n for n, each in enumerate(self.barriers)}
        self._of_line: dict[int, list[int]] = {}
        for n, each in enumerate(self.barriers):
            self._of_line.setdefault(kernel.line_of(each), []).append(n)
        self._beyond = beyond
        self._nearby: list[tuple[range, range]] = [(range(0), range(0)) for _ in self.barriers]
        self._runs = {block: self._runs_of(own) for block, own in self._by_block().items()}

    def _by_block(self) -> dict[int, list[int]]:
        """The barriers, and the instructions whose order may matter, of each block in their
        order."""
        kernel, beyond = self.kernel, self._beyond
        steps = (number for number, group in kernel.group_at.items() if not group.queue)
        tables = (kernel.accesses_at, kernel.fence_at, kernel.mbarrier_at, kernel.barrier_at)
        ordering = {*steps, *chain.from_iterable(tables)}
        if lines := beyond.others | beyond.caches:
            ordering.update(each for each, line in kernel.lines.items() if line in lines)
        by_block: dict[int, list[int]] = {block: [] for block in kernel.instructions}
        for each in sorted(ordering):
            by_block[kernel.block_of[each]].append(each)
        return by_block

    def _runs_of(self, instructions: Iterable[int]) -> Sequence[_Run]:
        """The points before each barrier of a block, and those after the last."""
        runs: list[_Run] = []
        first = len(self.points)
        for each in instructions:
            if (number := self._number.get(each)) is None:
                self.points.append(self._point(each))
                continue
            runs.append((range(first, len(self.points)), number))
            first = len(self.points)
        runs.append((range(first, len(self.points)), -1))
        for (before, number), (after, _) in pairwise(runs):
            self._nearby[number] = before, after
        return runs

    @cached_property
    def _around(self) -> tuple[list[set[int]], list[set[int]], list[set[int]]]:
        """By the number of a barrier, on all paths: the points before it, the points after it, and
        the barriers next to it."""

        def through(block: int, state: _State) -> _State:
            since, last = state.since, state.last
            for points, number in self._runs[block]:
                since |= _Numbers.of(points)
                if number >= 0:
                    since, last = self._in_flight(since, number), _Numbers(number, 1)
            return _State(since, last)

        before, after, next_to = ([set[int]() for _ in self.barriers] for _ in range(3))
        kernel = self.kernel
        states = solve(kernel.graph, {kernel.entry: _State()}, through, _State.join)
        for block, state in states.items():
            since, last = {*state.since}, [*state.last]
            for points, number in self._runs[block]:
                since.update(points)
                for other in last:
                    after[other].update(points)
                if number < 0:
                    break
                before[number] = since
                next_to[number].update(last)
                for other in last:
                    next_to[other].add(number)
                since, last = {*self._in_flight(since, number)}, [number]
        return before, after, next_to

    def next_to(self, number: int) -> set[int]:
        """The barriers next to one."""
        return self._around[2][number]

    def at(self, line: int) -> Sequence[int]:
        """The barriers of a line: a callee has one for each call."""
        return self._of_line.get(line, ())

    def has_conflict_nearby(self, number: int) -> bool:
        """True where something in its block before a barrier may conflict with something after it
        there."""
        before, after = self._nearby[number]
        points = self.points
        return any(_order_counts(points[a], points[b]) for a in reversed(before) for b in after)

    def has_conflict(self, number: int) -> bool:
        """True where something before a barrier may conflict with something after it."""
        return any(_order_counts(a, b) for a, b in self._pairs(number))

    def is_judgeable(self, line: int) -> bool:
        """True where a verdict tells whether the barriers of a line order anything."""
        return not any(
            _is_beyond_verdict(a, b) for number in self.at(line) for a, b in self._pairs(number)
        )

    def _pairs(self, number: int) -> Iterator[tuple[_Point, _Point]]:
        before, after, _ = self._around
        others = [self.points[each] for each in after[number]]
        return ((self.points[a], b) for a in before[number] for b in others)

    def _in_flight(self, points: Iterable[int], number: int) -> _Numbers:
        """Those of some points that may be in flight at a barrier."""
        pending = self._beyond.pending[self.barriers[number]]
        found = _Numbers()
        for each in points if pending else ():
            if self.points[each].instruction in pending:
                found |= _Numbers(each, 1)
        return found

    def _point(self, instruction: int) -> _Point:
        line, beyond = self.kernel.line_of(instruction), self._beyond
        is_known = line not in beyond.others
        accesses = self.kernel.accesses_at.get(instruction, ())
        return _Point(instruction, accesses, is_known, is_known and line in beyond.flags)


def _is_plain(access: Access) -> bool:
    is_own = access.agent is Agent.THREAD and access.place.rank is None
    return is_own and not access.is_strong


def _order_counts(one: _Point, other: _Point) -> bool:
    """True of points that a barrier between them may have to order."""
    return not (one.is_plain and other.is_plain) or _may_conflict(one, other)


def _may_conflict(one: _Point, other: _Point) -> bool:
    """True of accesses one of which writes, but of those of one object that constants set apart."""
    return _may_hand_over(one, other) or any(
        _may_alias(a.place.root, b.place.root) and not _is_apart(a, b)
        for a, b in _conflicting(one, other)
    )


def _may_hand_over(one: _Point, other: _Point) -> bool:
    """True where a store may say to another kernel that an access before it is done."""
    return other.is_flag and any(
        each.place.root.region is not Region.SHARED for each in one.accesses
    )


def _is_beyond_verdict(one: _Point, other: _Point) -> bool:
    """True of an order that no verdict is about: of strong accesses of one object, of objects that
    are other ones by assumption, and of an instruction that does more than the kernel has."""
    is_known = one.is_known and other.is_known and not _may_hand_over(one, other)
    return not is_known or any(
        (a.is_strong and b.is_strong)
        if a.place.root == b.place.root
        else _may_alias(a.place.root, b.place.root)
        for a, b in _conflicting(one, other)
    )


def _conflicting(one: _Point, other: _Point) -> Iterator[tuple[Access, Access]]:
    return ((a, b) for a in one.accesses for b in other.accesses if a.writes or b.writes)


def _is_apart(one: Access, other: Access) -> bool:
    is_one = one.place.root == other.place.root
    return is_one and one.place.is_apart(one.size, other.place, other.size)


def _may_alias(one: Root, other: Root) -> bool:
    """True of objects that may be one, or that an assumption sets apart: not of two variables, nor
    of shared memory and global memory."""
    regions = {one.region, other.region}
    if one == other or regions & _UNKNOWN:
        return True
    if Region.SHARED in regions and regions != {Region.SHARED}:
        return False
    return not regions <= _VARIABLES
