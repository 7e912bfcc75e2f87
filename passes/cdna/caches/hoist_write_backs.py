"""The pass ``hoist-write-backs``: a write-back begins as soon as it has all it writes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.code.dataflow import visit
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.analysis.caches import CacheCode, CacheStep
from fencewright.passes.cdna.caches.cache_pass import CachePass
from fencewright.passes.cdna.caches.drop_write_backs import (
    AT_ENTRY,
    DIRTY,
    Published,
    StoreStates,
    after,
    droppable_write_backs,
    is_reading,
    issued,
    level,
    solve,
    states_in,
)


@dataclass(frozen=True)
class HoistWriteBacksPass(CachePass):
    """Put each ``buffer_wbl2`` right after the last thing that makes something dirty for it.

    Runs best after ``drop-write-backs``. What stands between, and need not be over for the
    release, is then done while the L2 is walked; the wait stays where it was.
    A write-back is inserted where one comes on every path from there before anything gets dirty
    again; the later ones then have nothing to write back, by the rule of ``drop-write-backs``,
    and go. No path has more than before, and a loop that stores nothing none at all.
    Source: LLVM AMDGPUUsage, Memory Model GFX942: what a release does may be done earlier;
    certified by tests/unit/test_minimise_cdna.py.
    """

    name = "hoist-write-backs"

    def run(self, code: CacheCode) -> None:
        found = list(places(code))
        for place in found:
            place.insert(code)
        if found:
            code.erase(droppable_write_backs(code))


@dataclass(frozen=True, slots=True)
class WriteBackPoint:
    """A possible place of a write-back: right ``after`` an operation, or where ``block`` begins."""

    write_back: CacheOp
    block: Block
    after: Operation | None

    def insert(self, code: CacheCode) -> None:
        """Put a copy of the write-back there."""
        made = self.write_back.clone()
        if self.after is not None:
            code.insert_after(made, self.after)
        else:
            code.insert_at_begin(made, self.block)

    def is_earlier(self, code: CacheCode) -> bool:
        """True if anything is overtaken: other cache maintenance does not count."""
        op = (
            code.begin_for(self.write_back, self.block)
            if self.after is None
            else self.after.next_op
        )
        while op is not None and code.is_idle(op):
            if op is self.write_back:
                return False
            op = op.next_op
        return True


def places(code: CacheCode) -> Iterator[WriteBackPoint]:
    """The earliest places for the write-backs of a work-group, where they are not there already."""
    for reach in sorted({cast(Visibility, step.meaning.writes_back) for step in code.write_backs}):
        for place in Hoisting(code, reach).places():
            if place.is_earlier(code):
                yield place


class Hoisting:
    """The write-backs of one reach.

    ``states``: before each step of a block, and where the block ends. ``next``: a write-back
    that some path from the beginning of a block reaches. ``hoistable``: blocks where one comes
    on every path, and that it could be put before.
    """

    def __init__(self, code: CacheCode, reach: Visibility):
        self.code = code
        self.steps = code.steps
        self.published = code.known(solve).published
        self.states = code.known(states_in)
        self.reach = reach
        self.next = self._next() if len(code.blocks) > 1 else {}
        self.hoistable = self._hoistable()

    def _next(self) -> dict[Block, CacheOp]:
        """Blocks from which no path reaches a write-back are left out."""
        found: dict[Block, CacheOp] = {}
        for block in self.code.blocks:
            own = [op for op, meaning in self.steps[block] if meaning.writes_back is self.reach]
            if own:
                found[block] = cast(CacheOp, own[0])
        work = list(found)
        for block in work:
            for before in self.code.graph.predecessors[block]:
                if before not in found:
                    found[before] = found[block]
                    work.append(before)
        return found

    def _hoistable(self) -> set[Block]:
        """The greatest fixpoint: blocks only leave it.

        The invariant: whatever has left is in no set of blocks that all are hoistable together.
        That a block is, depends on the blocks after it (does a write-back come on every path?) and,
        as no path is to get one more, on those before it and after these (is there a place on every
        edge into it?). So when a block leaves, its predecessors and what else follows them are
        looked at again.
        """
        self.hoistable = set(self.next) - set(self.code.entries)
        if not self.hoistable:
            return self.hoistable

        def left_by(block: Block) -> Iterable[Block]:
            if block not in self.hoistable:
                return
            if self._at_begin(block) is not None and self.can_enter(block):
                return
            self.hoistable.discard(block)
            for before in self.code.graph.predecessors[block]:
                yield before
                yield from self.code.graph.successors[before]

        visit(self.code.graph.backward, tuple(self.hoistable), left_by)
        return self.hoistable

    def can_enter(self, block: Block) -> bool:
        """True if every predecessor has a place for it, or does not need it."""
        predecessors = self.code.graph.predecessors[block]
        with_place = [each for each in predecessors if self.at_end(each) is not None]
        return bool(with_place) and all(
            each in with_place or self._is_clean(each) for each in predecessors
        )

    def _is_clean(self, block: Block) -> bool:
        return level(self.states[block][-1], self.reach) != DIRTY

    def at_end(self, block: Block) -> CacheOp | None:
        """A write-back, if one comes on every path from the end of ``block``."""
        targets = self.code.graph.successors[block]
        if not targets or not self.hoistable.issuperset(targets):
            return None
        steps = self.steps[block]
        if steps and steps[-1].op.next_op is None:
            # The branch itself comes before the write-back, which has no place after it.
            return None
        return self.next[targets[0]] if self._is_good(self.states[block][-1]) else None

    def _at_begin(self, block: Block) -> CacheOp | None:
        comes = self.at_end(block)
        for step, state in self._backwards(block):
            comes = self._before(step, state, comes)
        return comes

    def _backwards(self, block: Block) -> Iterator[tuple[CacheStep, StoreStates]]:
        """The steps of a block, the last one first, with the states before them."""
        return zip(reversed(self.steps[block]), self.states[block][-2::-1], strict=True)

    def _before(self, step: CacheStep, state: StoreStates, comes: CacheOp | None) -> CacheOp | None:
        is_own = step.meaning.writes_back is self.reach
        if (comes is None and not is_own) or not self._is_good(state):
            return None
        if is_own:
            return cast(CacheOp, step.op)
        return None if dirties(step, state, self.published, self.reach) else comes

    def _is_good(self, state: StoreStates) -> bool:
        """True if nothing is in flight that a write-back here would not cover."""
        later = self.published.flag | AT_ENTRY
        return not is_reading(state) or level(later, self.reach) != DIRTY

    def places(self) -> Iterator[WriteBackPoint]:
        """The earliest points from which a write-back comes on every path."""
        for block in self.code.blocks:
            comes = self.at_end(block)
            for step, state in self._backwards(block):
                before = self._before(step, state, comes)
                if before is None and comes is not None and step.op.next_op is not None:
                    yield WriteBackPoint(comes, block, step.op)
                comes = before
            if comes is not None and block not in self.hoistable:
                yield WriteBackPoint(comes, block, None)


def dirties(step: CacheStep, state: StoreStates, published: Published, reach: Visibility) -> bool:
    """True if something may be dirty after an operation that was not before it."""
    return level(after(step, issued(reach, state), published), reach) == DIRTY
