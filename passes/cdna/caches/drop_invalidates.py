"""The pass ``drop-invalidates``: no invalidate without a need before the next one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Caches
from fencewright.lowering.code.dataflow import solve
from fencewright.passes.analysis.caches import AtBarriers, CacheCode, CacheStep
from fencewright.passes.cdna.caches.cache_pass import CachePass


@dataclass(frozen=True)
class DropInvalidatesPass(CachePass):
    """Remove each invalidate of caches without a read before their next invalidate.

    Who may read: this wave, with a load that its policy bits do not keep from those caches; and
    waves that learn of this one's past and do not invalidate for themselves: of its own
    work-group, and at system scope of other kernels, the next ones included. A backward
    analysis over the whole kernel; see ``Needs``.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "drop-invalidates"

    def run(self, code: CacheCode) -> None:
        # No operation needed the removed ones: without them the needs are the same.
        code.erase(useless_invalidates(code), solve_needs)


AT_END = int(Caches.SYSTEM)
"""Kernels that come later may acquire at agent scope: that says nothing of other agents."""


@dataclass(slots=True)
class Needs:
    """The lattice of the analysis: the caches that must hold nothing stale, joined by union.

    ``barriers``, ``flag``: what waves of the work-group need after each barrier, and after a read
    of a flag. ``begin``, ``end``: where each block begins and ends. All are bits of ``Caches``.
    """

    barriers: AtBarriers
    begin: Mapping[Block, int] = field(default_factory=dict[Block, int])
    end: Mapping[Block, int] = field(default_factory=dict[Block, int])
    flag: int = 0

    def of_waves(self) -> tuple[int, ...]:
        """The needs of waves of the work-group, as they are now."""
        return self.flag, *self.barriers.snapshot()

    def acquired(self, step: CacheStep, needed: int) -> None:
        """Note the needs after an acquire."""
        if step.meaning.is_barrier:
            self.barriers.leave(step.op, needed)
        else:
            self.flag |= needed

    def of_observers(self, step: CacheStep) -> int:
        """The needs of the threads that observe this wave's past by an operation."""
        needed = self.barriers.found(step.op) if step.meaning.is_barrier else self.flag
        return needed | AT_END if step.meaning.leaves_workgroup else needed


def needed_at(step: CacheStep, needs: Needs) -> int:
    """The caches that must be free of stale lines when an operation itself comes."""
    reads = step.meaning.reads
    return reads | needs.of_observers(step) if step.meaning.publishes else reads


def before(step: CacheStep, needed: int, needs: Needs) -> int:
    """The caches that must be clean before an operation, if ``needed`` must be after it."""
    return needed & ~step.meaning.invalidates | needed_at(step, needs)


def solve_needs(code: CacheCode) -> Needs:
    """The least fixpoint: needs only grow, of a finite lattice."""
    needs, steps = Needs(AtBarriers(code.barriers_in_step)), code.steps

    def carry(block: Block, needed: int) -> int:
        for step in reversed(steps[block]):
            if step.meaning.acquires:
                needs.acquired(step, needed)
            needed = before(step, needed, needs)
        return needed

    # From every block, also from those of a loop that is never left.
    ends = {block: 0 if targets else AT_END for block, targets in code.graph.successors.items()}
    needs.end = solve(code.graph.backward, ends, carry, int.__or__, shared=needs.of_waves)
    needs.begin = {block: carry(block, needed) for block, needed in needs.end.items()}
    return needs


def useless_invalidates(code: CacheCode) -> list[Operation]:
    """The invalidates after which nothing needs their effect."""
    if not code.invalidates:
        return []
    needs = code.known(solve_needs)
    useless: list[Operation] = []
    for block in code.blocks:
        needed = needs.end[block]
        for step in reversed(code.steps[block]):
            invalidates = step.meaning.invalidates
            if invalidates and not invalidates & needed:
                useless.append(step.op)
                continue
            needed = before(step, needed, needs)
    return useless
