"""The pass ``sink-invalidates``: an invalidate only on the edges out of its block that need it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Caches
from fencewright.lowering.code.dataflow import solve
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.analysis.caches import (
    CacheCode,
    CacheSteps,
    counted_on,
    is_release_wait,
)
from fencewright.passes.analysis.control_flow import successors
from fencewright.passes.cdna.caches.cache_pass import CachePass
from fencewright.passes.cdna.caches.drop_invalidates import AT_END, Needs, before, solve_needs


@dataclass(frozen=True)
class SinkInvalidatesPass(CachePass):
    """Move each invalidate out of a block to those edges after which it is needed.

    Runs best after ``drop-invalidates``. A spin loop then invalidates once, as it ends; a
    compare-exchange that is retried, once it has succeeded. An invalidate that every path needs
    stays where it is. It only ever comes later, and never past what needs it
    (``drop-invalidates`` says what that is), nor past a release's wait if others count on its
    being over after that, nor into a loop: no path has more than before.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "sink-invalidates"

    def run(self, code: CacheCode) -> None:
        if len(code.blocks) > 1 and code.invalidates:
            Sinking(code).run()


class Sinking:
    """One work-group's code; ``needs`` is needed on some path, ``must`` on every path.

    ``must_at_end``: the same where blocks end. ``awaited``: the caches whose invalidates a
    release's wait after them has to cover.
    """

    def __init__(self, code: CacheCode):
        self.code = code
        self.steps = dict(code.steps)
        self.awaited = counted_on(tgsplit=code.tgsplit)
        self.waiting = {
            block for block, steps in self.steps.items() if any(map(is_release_wait, steps))
        }
        self.needs = code.known(solve_needs)
        self.must_at_end = _must_at_end(code, self.needs)
        self.must = {
            block: _must_before(self.steps[block], must, self.needs)
            for block, must in self.must_at_end.items()
        }
        self.arriving: dict[Block, list[Pending]] = {}
        self.gone: list[Operation] = []

    def run(self) -> None:
        """Move every invalidate that some path does not need.

        Blocks come in reverse postorder, so that all that arrives at a block has arrived before it
        is looked at: only an edge that is the sole one into its target carries an invalidate on,
        and in that order its block stands before the target. The invariant: of each pending one on
        an edge, exactly one copy is still to come on each path on which something needs it, and
        none on a path on which none was before. An edge that is not the sole one gets a copy of its
        own.
        """
        code = self.code
        edges_in = {block: len(sources) for block, sources in code.graph.predecessors.items()}
        edges: list[tuple[Block, int, Pending]] = []
        for block in code.blocks:
            for pending in self._leaving(block, self.steps[block]):
                for index, target in enumerate(successors(block)):
                    if not pending.caches & self.needs.begin[target]:
                        continue
                    if edges_in[target] > 1:
                        edges.append((block, index, pending))
                    elif pending.caches & self.must[target] or self._is_awaited(pending, target):
                        code.insert_at_begin(pending.op.clone(), target)
                    else:
                        self.arriving.setdefault(target, []).append(pending)
        for block, index, pending in edges:
            code.insert_on_edge(pending.op.clone(), block, index)
        code.erase(self.gone)

    def _is_awaited(self, pending: "Pending", block: Block) -> bool:
        return block in self.waiting and bool(pending.caches & self.awaited)

    def _leaving(self, block: Block, steps: CacheSteps) -> "list[Pending]":
        """Remove the invalidates of ``block`` that not every path after them needs."""
        leaving = self.arriving.get(block, [])
        must = self.must_at_end[block]
        waited = 0
        for step in reversed(steps):
            caches = step.meaning.invalidates
            if is_release_wait(step):
                waited = self.awaited
            if caches and not caches & (must | waited):
                leaving = [*leaving, Pending(cast(CacheOp, step.op), caches)]
                self.gone.append(step.op)
                continue
            must = before(step, must, self.needs)
        return leaving


@dataclass(frozen=True, slots=True)
class Pending:
    """An invalidate that is being sunk, and the caches that it invalidates."""

    op: CacheOp
    caches: int


_ALL = int(Caches.ALL)


def _must_at_end(code: CacheCode, needs: Needs) -> Mapping[Block, int]:
    """The caches needed where each block ends, whichever path is taken: the greatest fixpoint.

    Greatest, so that a loop that needs nothing does not hide what every path after it needs.
    """
    steps = code.steps
    ends = {block: _ALL if targets else AT_END for block, targets in code.graph.successors.items()}

    def carry(block: Block, must: int) -> int:
        return _must_before(steps[block], must, needs)

    return solve(code.graph.backward, ends, carry, int.__and__)


def _must_before(steps: CacheSteps, must: int, needs: Needs) -> int:
    for step in reversed(steps):
        must = before(step, must, needs)
    return must
