"""The pass ``sink-invalidates``: an invalidate only on the ways out of its block that need it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Caches
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    BranchOp,
    CacheOp,
    CondBranchOp,
    KernelOp,
    WaitOp,
)
from fencewright.passes.cdna_caches import (
    VMCNT,
    CacheStep,
    WorkGroupSteps,
    counted_on,
    work_groups,
)
from fencewright.passes.drop_invalidates import AT_END, Needs, carried, needed_at, solve_needs
from fencewright.passes.kernel_frontend import successors


@dataclass(frozen=True)
class SinkInvalidatesPass(ModulePass):
    """Move each invalidate out of a block to those edges behind which it is needed.

    Runs on ``cdna.kernel``, best after ``drop-invalidates``. A spin loop then invalidates once,
    as it ends; a compare-exchange that is retried, once it has succeeded. An invalidate that
    every way needs stays where it is. It only ever comes later, and never past what needs it
    (``drop-invalidates`` says what that is), nor past a release's wait if others count on its
    being over behind that, nor into a loop: no path has more than before.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "sink-invalidates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in work_groups(op):
            kernel = cast(KernelOp, group.entries[0].parent_op())
            Sinking(group, counted_on(tgsplit=kernel.tgsplit is not None)).run()


class Sinking:
    """One work-group's code; ``needs`` is needed on some way, ``must`` on every way.

    ``awaited``: the caches whose invalidates a release's wait behind them has to cover.
    ``insert`` puts an invalidate where a block begins, ``insert_on_edge`` on a way out of one.
    """

    def __init__(
        self,
        group: WorkGroupSteps,
        awaited: Caches,
        insert: "Callable[[Pending, Block], None] | None" = None,
        insert_on_edge: "Callable[[Pending, Block, int], None] | None" = None,
    ):
        self.group = group
        self.awaited = awaited
        self.waiting = {
            block
            for block, steps in zip(group.blocks, group.steps, strict=True)
            if any(map(_is_release_wait, steps))
        }
        self.insert = insert or _insert
        self.insert_on_edge = insert_on_edge or _insert_on_edge
        self.needs = solve_needs(group)
        self.must = _must(group, self.needs)
        self.arriving: dict[Block, list[Pending]] = {}
        self.predecessors: dict[Block, int] = {}
        for block in group.blocks:
            for target in successors(block):
                self.predecessors[target] = self.predecessors.get(target, 0) + 1

    def run(self) -> None:
        """Move every invalidate that some way does not need."""
        edges: list[tuple[Block, int, Pending]] = []
        for block, steps in zip(self.group.blocks, self.group.steps, strict=True):
            for pending in self._leaving(block, steps):
                for index, target in enumerate(successors(block)):
                    if not pending.caches & self.needs.begin[target]:
                        continue
                    if self.predecessors[target] > 1:
                        edges.append((block, index, pending))
                    elif pending.caches & self.must[target] or self._is_awaited(pending, target):
                        self.insert(pending, target)
                    else:
                        self.arriving.setdefault(target, []).append(pending)
        for block, index, pending in edges:
            self.insert_on_edge(pending, block, index)

    def _is_awaited(self, pending: "Pending", block: Block) -> bool:
        return block in self.waiting and bool(pending.caches & self.awaited)

    def _leaving(self, block: Block, steps: list[CacheStep]) -> "list[Pending]":
        """Take away the invalidates of ``block`` that not every way behind them needs."""
        leaving = self.arriving.get(block, [])
        must = _at_end(block, self.must)
        waited = Caches.NONE
        for step in reversed(steps):
            caches = step.effect.invalidates
            if _is_release_wait(step):
                waited = self.awaited
            if caches and not caches & (must | waited):
                leaving = [*leaving, Pending(cast(CacheOp, step.op), caches)]
                step.op.detach()
                continue
            must = _before(step, must, self.needs)
        return leaving


def _is_release_wait(step: CacheStep) -> bool:
    return bool(step.waits & VMCNT) and type(step.op) is WaitOp and step.op.phase == _RELEASES


_RELEASES = PHASES[Phase.RELEASE]


@dataclass(frozen=True, slots=True)
class Pending:
    """An invalidate on its way down, and what it invalidates."""

    op: CacheOp
    caches: Caches


def _must(group: WorkGroupSteps, needs: Needs) -> dict[Block, Caches]:
    """What is needed where each block begins, whichever way is taken: the greatest fixpoint."""
    begin = dict.fromkeys(group.blocks, Caches.ALL)
    changed = True
    while changed:
        changed = False
        for block, steps in zip(reversed(group.blocks), reversed(group.steps), strict=True):
            must = _at_end(block, begin)
            for step in reversed(steps):
                must = _before(step, must, needs)
            if must != begin[block]:
                begin[block] = must
                changed = True
    return begin


def _at_end(block: Block, begin: dict[Block, Caches]) -> Caches:
    targets = successors(block)
    must = Caches.ALL if targets else AT_END
    for target in targets:
        must &= begin[target]
    return must


def _before(step: CacheStep, must: Caches, needs: Needs) -> Caches:
    return carried(must, step.effect.invalidates, needed_at(step, needs))


def _insert(pending: Pending, block: Block) -> None:
    """At the beginning of ``block``."""
    first = block.first_op
    assert first is not None
    block.insert_op_before(pending.op.clone(), first)


def _insert_on_edge(pending: Pending, block: Block, index: int) -> None:
    last = block.last_op
    assert last is not None
    if len(last.successors) == 1:
        block.insert_op_before(pending.op.clone(), last)
        return
    target = last.successors[index]
    if not _is_split(target):
        target = _split(cast(CondBranchOp, last), index)
    assert target.last_op is not None
    target.insert_op_before(pending.op.clone(), target.last_op)


def _is_split(block: Block) -> bool:
    """Whether the block was made to hold invalidates on one edge."""
    return all(type(op) in (CacheOp, BranchOp) for op in block.ops) and len(block.args) == 0


def _split(branch: CondBranchOp, index: int) -> Block:
    """A block of its own on one of the two edges."""
    block = branch.parent
    assert block is not None
    region = block.parent
    assert region is not None
    target = branch.successors[index]
    arguments = [list(branch.true_arguments), list(branch.false_arguments)]
    made = Block([BranchOp.create(operands=arguments[index], successors=(target,))])
    region.insert_block_before(made, target)
    arguments[index] = []
    targets = list(branch.successors)
    targets[index] = made
    replacement = CondBranchOp.build(operands=[branch.mask, *arguments], successors=targets)
    block.insert_op_before(replacement, branch)
    branch.detach()
    branch.erase()
    return made
