"""The pass ``drop-invalidates``: no invalidate that nobody needs before the next one."""

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Caches
from fencewright.passes.cdna_caches import CacheStep, WorkGroupSteps, work_groups
from fencewright.passes.kernel_frontend import successors


@dataclass(frozen=True)
class DropInvalidatesPass(ModulePass):
    """Remove each invalidate of caches in which nobody will look before they are invalidated again.

    Runs on ``cdna.kernel``. Who may look: this wave, with a load that its policy bits do not
    keep from those caches; and waves that this one hands its past on to without their
    invalidating for themselves: of its own work-group, and at system scope of other kernels,
    the next ones included. A backward analysis over the whole kernel; see ``Needs``.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "drop-invalidates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in work_groups(op):
            for each in useless_invalidates(group):
                each.detach()
                each.erase()


AT_END = Caches.SYSTEM
"""Kernels that come later may acquire at agent scope: that says nothing of other agents."""


@dataclass(slots=True)
class Needs:
    """The lattice of the analysis: the caches that must hold nothing stale, joined by union.

    ``begin``: where each block begins. ``barrier``, ``flag``: what waves of the work-group need
    behind a barrier, and behind a read of a flag.
    """

    begin: dict[Block, Caches]
    barrier: Caches = Caches.NONE
    flag: Caches = Caches.NONE

    def end(self, block: Block) -> Caches:
        """What is needed where ``block`` ends."""
        targets = successors(block)
        if not targets:
            return AT_END
        needed = Caches.NONE
        for target in targets:
            needed |= self.begin[target]
        return needed

    def taken_in(self, step: CacheStep, needed: Caches) -> None:
        """Note what a take-in needs behind it."""
        if step.is_barrier:
            self.barrier = carried(self.barrier, Caches.NONE, needed)
        else:
            self.flag = carried(self.flag, Caches.NONE, needed)

    def handed_on(self, step: CacheStep) -> Caches:
        """What those need who learn of this wave's past by ``step``."""
        needed = self.barrier if step.is_barrier else self.flag
        return carried(needed, Caches.NONE, Caches.SYSTEM) if step.leaves_workgroup else needed


def needed_at(step: CacheStep, needs: Needs) -> Caches:
    """What ``step`` itself needs to be free of stale lines when it comes."""
    own = step.effect.reads
    return carried(own, Caches.NONE, needs.handed_on(step)) if step.publishes else own


def before(step: CacheStep, needed: Caches, needs: Needs) -> Caches:
    """What is needed before ``step``, if ``needed`` is needed behind it."""
    return carried(needed, step.effect.invalidates, needed_at(step, needs))


@cache
def carried(needed: Caches, invalidated: Caches, own: Caches) -> Caches:
    """Those that are ``needed`` less those ``invalidated``, and its ``own``.

    Remembered, because operators of flags are slow and there are few sets of caches.
    """
    return needed & ~invalidated | own


def solve_needs(group: WorkGroupSteps) -> Needs:
    """The least fixpoint: needs only grow, of a finite lattice."""
    needs = Needs(dict.fromkeys(group.blocks, Caches.NONE))
    changed = True
    while changed:
        flags = needs.barrier, needs.flag
        changed = False
        for block, steps in zip(reversed(group.blocks), reversed(group.steps), strict=True):
            needed = needs.end(block)
            for step in reversed(steps):
                if step.takes_in:
                    needs.taken_in(step, needed)
                needed = before(step, needed, needs)
            if needed != needs.begin[block]:
                needs.begin[block] = needed
                changed = True
        changed = changed or flags != (needs.barrier, needs.flag)
    return needs


def useless_invalidates(group: WorkGroupSteps) -> list[Operation]:
    """The invalidates after which nothing needs what they do."""
    needs = solve_needs(group)
    useless: list[Operation] = []
    for block, steps in zip(group.blocks, group.steps, strict=True):
        needed = needs.end(block)
        for step in reversed(steps):
            if _is_invalidate(step) and not step.effect.invalidates & needed:
                useless.append(step.op)
                continue
            needed = before(step, needed, needs)
    return useless


def _is_invalidate(step: CacheStep) -> bool:
    return bool(step.effect.invalidates)
