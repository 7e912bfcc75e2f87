"""The pass ``elect-release``: one wave writes back for its work-group, not every wave."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.code.dataflow import solve
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.analysis.caches import CacheCode, CacheStep, Meaning, is_release_wait
from fencewright.passes.analysis.control_flow import successors
from fencewright.passes.analysis.election import blocks_of_elected
from fencewright.passes.cdna.caches.cache_pass import CachePass


@dataclass(frozen=True)
class ElectReleasePass(CachePass):
    """Put the ``buffer_wbl2`` that every wave executes before a barrier after it, for one wave.

    Runs after ``drop-write-backs``, so that what is left writes something. Moved are write-backs
    after which every wave comes to a barrier before anyone can learn of it otherwise, where after
    the barrier one wave alone publishes. The waves of a work-group share an L2, so that one
    write-back covers what all of them stored; their waits for their stores stay before the
    barrier. No path has more write-backs than before. ``Paths`` has the analysis.
    Source: LLVM AMDGPUUsage, Memory Model GFX942: releases are cumulative, and a barrier
    synchronises at work-group scope; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "elect-release"

    def run(self, code: CacheCode) -> None:
        for reach in sorted(
            {cast(Visibility, step.meaning.writes_back) for step in code.write_backs}
        ):
            for moved in elections(code, reach):
                moved.apply(code)


class Refusal(Enum):
    """The reason that write-backs before a barrier stay there, in words."""

    PUBLISHED_BY_ALL = "after the barrier every wave may publish"
    NOT_RELEASED_BEFORE = (
        "a wave that publishes after the barrier may have written nothing back before"
    )
    NO_WAVE_LESS = "every wave publishes after the barrier"
    MORE_PLACES = "after the barrier more would be needed than before it"
    NOT_STORED = "stores may be on their way to the L2 at the barrier"
    NOT_COMPLETE = "what is published later counts on it too"


class Refused(NamedTuple):
    """A refusal, and the operation that it is ``because_of``."""

    refusal: Refusal
    because_of: Operation | None = None


class Place(NamedTuple):
    """The place of the elected wave's write-back: ``after`` a barrier, or on the edge ``edge`` out
    of ``block``.

    ``needed_by`` is a publication that needs it.
    """

    block: Block
    after: Operation | None
    edge: int
    needed_by: Operation


@dataclass(frozen=True, slots=True)
class Moved:
    """Write-backs, and the places where one wave does them for all; or the reason against it."""

    write_backs: tuple[CacheOp, ...]
    places: tuple[Place, ...]
    refused: Refused | None

    def apply(self, code: CacheCode) -> None:
        """Move them."""
        first = self.write_backs[0]
        for place in self.places:
            if place.after is not None:
                made = first.clone()
                code.insert_after(made, place.after)
                code.complete(made)
        edges = [place for place in self.places if place.after is None]
        for target, sources in _by_target(edges).items():
            if len(sources) == len(code.graph.predecessors[target]):
                made = first.clone()
                code.insert_at_begin(made, target)
                code.complete(made)
                continue
            for block, index in sources:
                made = first.clone()
                code.insert_on_edge(made, block, index)
                code.complete(made)
        code.erase(self.write_backs)


def _by_target(edges: Sequence[Place]) -> Mapping[Block, list[tuple[Block, int]]]:
    found: dict[Block, list[tuple[Block, int]]] = {}
    for block, _, index, _ in edges:
        found.setdefault(successors(block)[index], []).append((block, index))
    return found


def elections(code: CacheCode, reach: Visibility) -> Iterator[Moved]:
    """The possible moves: all write-backs of a reach or, if not, one at a time."""
    together = tried(code, reach)
    if together is None:
        return
    if together.refused is None:
        yield together
    elif 1 < len(together.write_backs) <= _FEW:
        for write_back in together.write_backs:
            alone = tried(code, reach, write_back)
            if alone is not None and alone.refused is None:
                yield alone


_FEW = 8
"""Up to how many write-backs each is tried by itself."""


def tried(code: CacheCode, reach: Visibility, only: Operation | None = None) -> Moved | None:
    """The move of the write-backs of one reach, or of one of them; None if none can move."""
    steps = code.steps
    if not any(step.meaning.is_barrier for block in code.blocks for step in steps[block]):
        return None
    paths = Paths(code, reach)
    gone = [op for op in paths.movable() if only is None or op is only]
    return paths.without(gone) if gone else None


# ---------------------------------------------------------------------------------------
# The required write-backs, and their places
# ---------------------------------------------------------------------------------------

PENDING, FLYING, ISSUED, UNPAID = 1, 2, 4, 8
"""The effects that removed write-backs leave open, as bits, so that two states join by ``|``.

PENDING: a wave of the work-group has not written back what one that goes would have. FLYING: a
store that it would have written back may not be in the L2 yet. ISSUED: a write-back in its place
has begun. UNPAID: on some path the wave itself had none that goes since it last wrote back, so that
a write-back here would be one more.
"""

Debt: TypeAlias = int
"""The lattice of the analysis: these bits."""


@dataclass(slots=True)
class Needs:
    """The publications that come later.

    ``end``: where each block ends, whether on some path one comes before a write-back;
    ``barrier``: whether one does after a barrier.
    """

    end: Mapping[Block, bool] = field(default_factory=dict[Block, bool])
    barrier: bool = False


class Paths:
    """The paths of one work-group's code, for write-backs of one reach."""

    def __init__(self, code: CacheCode, reach: Visibility):
        self.code = code
        self.steps = code.steps
        self.reach = reach
        self.gone: Set[Operation] = frozenset()
        self.needs = self._solve_needs()
        self.must: Mapping[Block, bool] = {}
        self.must_at_begin: Mapping[Block, bool] = {}

    # Backward: publications that come before a write-back

    def publishes(self, meaning: Meaning) -> bool:
        """True if an operation publishes this wave's past to others, a barrier aside."""
        return meaning.publishes and not (meaning.is_barrier and not meaning.leaves_workgroup)

    def covers(self, step: CacheStep) -> bool:
        """True if a step writes everything back."""
        written = step.meaning.writes_back
        return written is not None and written >= self.reach and step.op not in self.gone

    def _solve_needs(self) -> Needs:
        """The least fixpoint: a need only appears, at the end of a block or after barriers."""
        needs = Needs()

        def carry(block: Block, needed: bool) -> bool:
            for step in reversed(self.steps[block]):
                if step.meaning.is_barrier and needed:
                    needs.barrier = True
                needed = self._needed_before(step, needed, needs)
            return needed

        ends = dict.fromkeys(self.code.blocks, False)
        backward = self.code.graph.backward
        needs.end = solve(backward, ends, carry, bool.__or__, shared=lambda: needs.barrier)
        return needs

    def _needed_before(self, step: CacheStep, needed: bool, needs: Needs) -> bool:
        if self.publishes(step.meaning):
            return True
        if self.covers(step):
            return False
        return needed or (step.meaning.is_barrier and needs.barrier)

    def _solve(self, *, all_paths: bool, past_barriers: bool) -> dict[Block, bool]:
        """The blocks at whose end a publication comes before a write-back: on every path, or on
        some.

        ``past_barriers``: also where a barrier comes before it. On every path is the greatest
        fixpoint: a loop that is never left has no path that lacks one.
        """

        def carry(block: Block, needed: bool) -> bool:
            return self._before_all(block, needed, past_barriers=past_barriers)

        graph = self.code.graph
        ends = {block: all_paths and bool(targets) for block, targets in graph.successors.items()}
        return solve(graph.backward, ends, carry, bool.__and__ if all_paths else bool.__or__)

    def _before_all(self, block: Block, needed: bool, *, past_barriers: bool) -> bool:
        for step in reversed(self.steps[block]):
            needed = self._before(step, needed, past_barriers=past_barriers)
        return needed

    def _before(self, step: CacheStep, needed: bool, *, past_barriers: bool) -> bool:
        if self.publishes(step.meaning):
            return True
        if self.covers(step) or (step.meaning.is_barrier and not past_barriers):
            return False
        return needed

    def _after_each(
        self, block: Block, end: Mapping[Block, bool], *, past_barriers: bool
    ) -> list[bool]:
        """True for each step of a block after which it is needed."""
        needed = end[block]
        found: list[bool] = []
        for step in reversed(self.steps[block]):
            found.append(needed)
            needed = self._before(step, needed, past_barriers=past_barriers)
        return found[::-1]

    def movable(self) -> Iterator[CacheOp]:
        """Write-backs after which a barrier comes before any publication, and one after that."""
        direct = self._solve(all_paths=False, past_barriers=False)
        for block in self.code.blocks:
            ahead, at_once = self.needs.end[block], direct[block]
            for step in reversed(self.steps[block]):
                if step.meaning.writes_back is self.reach and ahead and not at_once:
                    yield cast(CacheOp, step.op)
                ahead = self._needed_before(step, ahead, self.needs)
                at_once = self._before(step, at_once, past_barriers=False)

    # Forward: what is pending where write-backs go

    def without(self, gone: Sequence[CacheOp]) -> Moved:
        """The places where one wave has to write back once those of ``gone`` are no more."""
        self.gone = frozenset(gone)
        self.must = self._solve(all_paths=True, past_barriers=False)
        self.must_at_begin = {
            block: self._before_all(block, needed, past_barriers=False)
            for block, needed in self.must.items()
        }
        debts = Debts(self)
        refused = self.published_by_all(debts.places)
        refused = refused or debts.refused or self._gains_nothing(debts.places)
        return Moved(tuple(gone), debts.places, refused)

    def published_by_all(self, places: Sequence[Place]) -> Refused | None:
        """The reason that every wave may come to the ``places``; None if only one does."""
        several = len(self.code.entries) > 1
        alone = blocks_of_elected(self.code.entries, self.code.elected, self.code.blocks)
        for place in places:
            elected = place.after is None and self.code.elected(place.block) == place.edge
            if not (several or elected or place.block in alone):
                return Refused(Refusal.PUBLISHED_BY_ALL, place.needed_by)
        return None

    def _gains_nothing(self, places: Sequence[Place]) -> Refused | None:
        if len(places) > len(self.gone):
            return Refused(Refusal.MORE_PLACES)
        own = self._solve(all_paths=True, past_barriers=True)
        for block in self.code.blocks:
            after = self._after_each(block, own, past_barriers=True)
            for step, needed in zip(self.steps[block], after, strict=True):
                if step.op in self.gone and not needed:
                    return None
        return Refused(Refusal.NO_WAVE_LESS)

    def needed_by(self, block: Block, start: int) -> Operation:
        """A publication that comes after the first steps of a block."""
        seen = {block}
        waiting = [(block, start)]
        for each, first in waiting:
            for step in self.steps[each][first:]:
                if self.publishes(step.meaning):
                    return step.op
            fresh = [target for target in successors(each) if target not in seen]
            seen.update(fresh)
            waiting += [(target, 0) for target in fresh]
        raise AssertionError("nothing is published")

    def musts(self, block: Block) -> list[bool]:
        """True for each step of a block after which every path publishes before a barrier."""
        return self._after_each(block, self.must, past_barriers=False)


class Debts:
    """Pending write-backs at the beginning of each block, with one at each of ``places``.

    ``published``: the debt that waves leave at a barrier. The invariant: a wave at a place is
    PENDING whenever, without the write-backs that go, something that it or a mate stored may not
    have been written back; and it is UNPAID unless on every path to there a write-back that goes
    was its own, with none since. So where each publication finds nothing pending and each new
    write-back is paid for, the code releases as much as before and no path has more write-backs.
    """

    def __init__(self, paths: Paths):
        self.paths = paths
        self.published: Debt = 0
        self.musts = {block: paths.musts(block) for block in paths.code.blocks}
        self.begin = solve(
            paths.code.graph,
            dict.fromkeys(paths.code.entries, UNPAID),
            self._through,
            int.__or__,
            edge=self._over,
            shared=lambda: self.published,
        )
        self.refused: Refused | None = None
        self.places = tuple(self._places())

    def _through(self, block: Block, debt: Debt) -> Debt:
        for step, must in zip(self.paths.steps[block], self.musts[block], strict=True):
            debt = self.after(step, debt)
            if self._is_place(step, must, debt):
                debt = written(debt)
        return debt

    def _over(self, block: Block, target: Block, debt: Debt) -> Debt:
        return written(debt) if self._is_edge(block, target, debt) else debt

    def _is_place(self, step: CacheStep, must: bool, debt: Debt) -> bool:
        is_barrier = step.meaning.is_barrier and not step.meaning.leaves_workgroup
        return is_barrier and must and bool(debt & PENDING)

    def _is_edge(self, block: Block, target: Block, debt: Debt) -> bool:
        if not debt & PENDING or self.paths.must[block]:
            return False
        return self.paths.must_at_begin[target]

    def after(self, step: CacheStep, debt: Debt) -> Debt:
        """The pending state after a step; after a barrier that of every wave before it."""
        meaning = step.meaning
        if step.op in self.paths.gone:
            return debt & ~UNPAID | PENDING | FLYING
        if self.paths.covers(step):
            return written(debt) | (ISSUED if debt & PENDING else 0)
        if is_release_wait(step):
            return debt & ~(FLYING | ISSUED)
        if meaning.is_barrier:
            if debt & (PENDING | ISSUED):
                self.published |= PENDING
            return debt | self.published
        return debt

    def _places(self) -> Iterator[Place]:
        """The places that need a write-back; the first violated condition is noted."""
        for block in self.paths.code.blocks:
            if block not in self.begin:
                continue
            debt = self.begin[block]
            for place, step in enumerate(self.paths.steps[block]):
                self._check(step, debt)
                debt = self.after(step, debt)
                if self._is_place(step, self.musts[block][place], debt):
                    needed_by = self.paths.needed_by(block, place + 1)
                    self._check_paid(debt, needed_by)
                    yield Place(block, step.op, 0, needed_by)
                    debt = written(debt)
            for index, target in enumerate(successors(block)):
                if self._is_edge(block, target, debt):
                    needed_by = self.paths.needed_by(target, 0)
                    self._check_paid(debt, needed_by)
                    yield Place(block, None, index, needed_by)

    def _check(self, step: CacheStep, debt: Debt) -> None:
        if step.meaning.is_barrier and debt & FLYING:
            self._refuse(Refusal.NOT_STORED, step.op)
        if self.paths.publishes(step.meaning) and debt & (PENDING | ISSUED):
            self._refuse(Refusal.NOT_COMPLETE, step.op)

    def _check_paid(self, debt: Debt, needed_by: Operation) -> None:
        if debt & UNPAID:
            self._refuse(Refusal.NOT_RELEASED_BEFORE, needed_by)

    def _refuse(self, refusal: Refusal, op: Operation) -> None:
        if self.refused is None:
            self.refused = Refused(refusal, op)


def written(debt: Debt) -> Debt:
    """The state once everything is written back; one more write-back would be one too many."""
    return debt & ~PENDING | UNPAID
