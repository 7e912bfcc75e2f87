"""The pass ``hoist-write-backs``: a write-back begins as soon as it has all it writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Reach
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.cdna_caches import CacheStep, WorkGroupSteps, work_groups
from fencewright.passes.drop_write_backs import (
    Level,
    Published,
    Solution,
    Stores,
    after,
    droppable_write_backs,
    solve,
)
from fencewright.passes.kernel_frontend import successors


@dataclass(frozen=True)
class HoistWriteBacksPass(ModulePass):
    """Put each ``buffer_wbl2`` right behind the last thing that makes something dirty for it.

    Runs on ``cdna.kernel``, best after ``drop-write-backs``. What stands between, and need not
    be over for the release, is then done while the L2 is walked; the wait stays where it was.
    A write-back is inserted where one comes on every way from there before anything gets dirty
    again; the later ones then have nothing to write back, by the rule of ``drop-write-backs``,
    and go. No path has more than before, and a loop that stores nothing none at all.
    Source: LLVM AMDGPUUsage, Memory Model GFX942: what a release does may be done earlier;
    certified by tests/unit/test_minimise_cdna.py.
    """

    name = "hoist-write-backs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in work_groups(op):
            found = list(places(group))
            for place in found:
                place.insert()
            for each in droppable_write_backs(group.again()) if found else ():
                each.detach()
                each.erase()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a write-back could be: right ``behind`` an operation, or where ``block`` begins."""

    write_back: CacheOp
    block: Block
    behind: Operation | None

    def insert(self) -> None:
        """Put a copy of the write-back there."""
        made = self.write_back.clone()
        if self.behind is not None:
            self.block.insert_op_after(made, self.behind)
            return
        first = self.block.first_op
        assert first is not None
        self.block.insert_op_before(made, first)

    @property
    def is_earlier(self) -> bool:
        """Whether anything is overtaken: other cache maintenance does not count."""
        op = self.block.first_op if self.behind is None else self.behind.next_op
        while type(op) is CacheOp:
            if op is self.write_back:
                return False
            op = op.next_op
        return True


def places(group: WorkGroupSteps) -> Iterator[Place]:
    """The earliest places for the write-backs of a work-group, where they are not there already."""
    reaches = {step.effect.writes_back for steps in group.steps for step in steps} - {None}
    if not reaches:
        return
    solution = solve(group)
    for reach in sorted(cast(set[Reach], reaches)):
        yield from Hoisting(group, solution, reach).places()


class Hoisting:
    """The write-backs of one reach.

    ``states``: before each step of a block, and where the block ends. ``next``: a write-back
    that some way from the beginning of a block leads to. ``hoistable``: blocks where one comes
    on every way, and that it could be put before.
    """

    def __init__(self, group: WorkGroupSteps, solution: Solution, reach: Reach):
        self.group = group
        self.states, self.published = solution
        self.reach = reach
        self.predecessors: dict[Block, list[Block]] = {block: [] for block in group.blocks}
        for block in group.blocks:
            for target in successors(block):
                self.predecessors[target].append(block)
        self.next = self._next()
        self.hoistable = self._hoistable()

    def _next(self) -> dict[Block, CacheOp]:
        """Blocks that no way leads from to a write-back are not in it."""
        found: dict[Block, CacheOp] = {}
        for block, steps in zip(self.group.blocks, self.group.steps, strict=True):
            own = [step.op for step in steps if step.effect.writes_back is self.reach]
            if own:
                found[block] = cast(CacheOp, own[0])
        work = list(found)
        for block in work:
            for before in self.predecessors[block]:
                if before not in found:
                    found[before] = found[block]
                    work.append(before)
        return found

    def _hoistable(self) -> set[Block]:
        """The greatest fixpoint: blocks only leave it."""
        self.hoistable = set(self.next) - set(self.group.entries)
        steps = dict(zip(self.group.blocks, self.group.steps, strict=True))
        work = [block for block in self.group.blocks if block in self.hoistable]
        while work:
            block = work.pop()
            if block not in self.hoistable:
                continue
            if self._at_begin(block, steps[block]) is not None and self.can_enter(block):
                continue
            self.hoistable.discard(block)
            for before in self.predecessors[block]:
                work += [before, *successors(before)]
        return self.hoistable

    def can_enter(self, block: Block) -> bool:
        """Whether every way in has a place for it, or has no need of it."""
        ways = self.predecessors[block]
        with_place = [each for each in ways if self.at_end(each) is not None]
        return bool(with_place) and all(each in with_place or self._is_clean(each) for each in ways)

    def _is_clean(self, block: Block) -> bool:
        return self.states[block][-1].level(self.reach) is not Level.DIRTY

    def at_end(self, block: Block) -> CacheOp | None:
        """A write-back, if one comes on every way from the end of ``block``."""
        targets = successors(block)
        if not targets or not self.hoistable.issuperset(targets):
            return None
        return self.next[targets[0]] if self._is_good(self.states[block][-1]) else None

    def _at_begin(self, block: Block, steps: list[CacheStep]) -> CacheOp | None:
        comes = self.at_end(block)
        for step, state in zip(reversed(steps), reversed(self.states[block][:-1]), strict=True):
            comes = self._before(step, state, comes)
        return comes

    def _before(self, step: CacheStep, state: Stores, comes: CacheOp | None) -> CacheOp | None:
        is_own = step.effect.writes_back is self.reach
        if (comes is None and not is_own) or not self._is_good(state):
            return None
        if is_own:
            return cast(CacheOp, step.op)
        return None if dirties(step, state, self.published, self.reach) else comes

    def _is_good(self, state: Stores) -> bool:
        """Whether nothing is on its way that a write-back here would not cover."""
        behind = self.published.flag.at_least(Level.DONE, Level.DIRTY)
        return not state.reading or behind.level(self.reach) is not Level.DIRTY

    def places(self) -> Iterator[Place]:
        """Where one comes on every way, and did not where the step before was to come."""
        for block, steps in zip(self.group.blocks, self.group.steps, strict=True):
            comes = self.at_end(block)
            for step, state in zip(reversed(steps), reversed(self.states[block][:-1]), strict=True):
                before = self._before(step, state, comes)
                if before is None and comes is not None:
                    yield from _if_earlier(Place(comes, block, step.op))
                comes = before
            if comes is not None and block not in self.hoistable:
                yield from _if_earlier(Place(comes, block, None))


def dirties(step: CacheStep, state: Stores, published: Published, reach: Reach) -> bool:
    """Whether behind ``step`` something may be dirty that was not before it."""
    clean = Stores(
        min(state.agent, Level.ISSUED),
        min(state.system, Level.ISSUED) if reach is Reach.SYSTEM else state.system,
        state.reading,
    )
    return after(step, clean, published).level(reach) is Level.DIRTY


def _if_earlier(place: Place) -> Iterator[Place]:
    if place.is_earlier:
        yield place
