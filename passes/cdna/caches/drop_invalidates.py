"""The pass ``drop-invalidates``: no invalidate that nobody needs before the next one."""

from dataclasses import dataclass

from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Caches
from fencewright.passes.analysis.caches import CacheCode, Meaning
from fencewright.passes.analysis.control_flow import successors
from fencewright.passes.cdna.caches.cache_pass import CachePass


@dataclass(frozen=True)
class DropInvalidatesPass(CachePass):
    """Remove each invalidate of caches that nobody reads before they are invalidated again.

    Who may read: this wave, with a load that its policy bits do not keep from those caches; and
    waves that learn of this one's past and do not invalidate for themselves: of its own
    work-group, and at system scope of other kernels, the next ones included. A backward
    analysis over the whole kernel; see ``Needs``.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "drop-invalidates"

    def run(self, code: CacheCode) -> None:
        # What went was needed by nobody: without it they need the same.
        code.erase(useless_invalidates(code), solve_needs)


AT_END = int(Caches.SYSTEM)
"""Kernels that come later may acquire at agent scope: that says nothing of other agents."""


@dataclass(slots=True)
class Needs:
    """The lattice of the analysis: the caches that must hold nothing stale, joined by union.

    ``begin``: where each block begins. ``barrier``, ``flag``: what waves of the work-group need
    after a barrier, and after a read of a flag. All are bits of ``Caches``.
    """

    begin: dict[Block, int]
    barrier: int = 0
    flag: int = 0

    def end(self, block: Block) -> int:
        """What is needed where ``block`` ends."""
        targets = successors(block)
        if not targets:
            return AT_END
        needed = 0
        for target in targets:
            needed |= self.begin[target]
        return needed

    def acquired(self, meaning: Meaning, needed: int) -> None:
        """Note what is needed after an acquire."""
        if meaning.is_barrier:
            self.barrier |= needed
        else:
            self.flag |= needed

    def of_observers(self, meaning: Meaning) -> int:
        """What those need who learn of this wave's past by an operation."""
        needed = self.barrier if meaning.is_barrier else self.flag
        return needed | AT_END if meaning.leaves_workgroup else needed


def needed_at(meaning: Meaning, needs: Needs) -> int:
    """What an operation itself needs to be free of stale lines when it comes."""
    return meaning.reads | needs.of_observers(meaning) if meaning.publishes else meaning.reads


def before(meaning: Meaning, needed: int, needs: Needs) -> int:
    """What is needed before an operation, if ``needed`` is needed after it."""
    return needed & ~meaning.invalidates | needed_at(meaning, needs)


def solve_needs(code: CacheCode) -> Needs:
    """The least fixpoint: needs only grow, of a finite lattice."""
    needs = Needs(dict.fromkeys(code.blocks, 0))
    steps = code.steps
    changed = True
    while changed:
        flags = needs.barrier, needs.flag
        changed = False
        for block in reversed(code.blocks):
            needed = needs.end(block)
            for _, meaning in reversed(steps[block]):
                if meaning.acquires:
                    needs.acquired(meaning, needed)
                needed = before(meaning, needed, needs)
            if needed != needs.begin[block]:
                needs.begin[block] = needed
                changed = len(code.blocks) > 1
        changed = changed or flags != (needs.barrier, needs.flag)
    return needs


def useless_invalidates(code: CacheCode) -> list[Operation]:
    """The invalidates after which nothing needs what they do."""
    if not code.invalidates:
        return []
    needs = code.known(solve_needs)
    useless: list[Operation] = []
    for block in code.blocks:
        needed = needs.end(block)
        for op, meaning in reversed(code.steps[block]):
            if meaning.invalidates and not meaning.invalidates & needed:
                useless.append(op)
                continue
            needed = before(meaning, needed, needs)
    return useless
