"""The pass ``sink-invalidates``: an invalidate only on the ways out of its block that need it."""

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Caches
from fencewright.mlir_dialects.cdna import BranchOp, CacheOp, CondBranchOp
from fencewright.passes.cdna_caches import CacheStep, WorkGroupSteps, work_groups
from fencewright.passes.drop_invalidates import AT_END, Needs, needed_at, solve_needs
from fencewright.passes.kernel_frontend import successors


@dataclass(frozen=True)
class SinkInvalidatesPass(ModulePass):
    """Move each invalidate out of a block to those edges behind which it is needed.

    Runs on ``cdna.kernel``, best after ``drop-invalidates``. A spin loop then invalidates once,
    as it ends; a compare-exchange that is retried, once it has succeeded. An invalidate that
    every way needs stays where it is. It only ever comes later, and never past what needs it
    (``drop-invalidates`` says what that is), nor into a loop: no path has more than before.
    Source: LLVM AMDGPUUsage, Memory Model GFX942; certified by tests/unit/test_minimise_cdna.py.
    """

    name = "sink-invalidates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in work_groups(op):
            _Sinking(group).run()


class _Sinking:
    """One work-group's code; ``needs`` is needed on some way, ``must`` on every way."""

    def __init__(self, group: WorkGroupSteps):
        self.group = group
        self.needs = solve_needs(group)
        self.must = _must(group, self.needs)
        self.arriving: dict[Block, list[_Pending]] = {}
        self.predecessors: dict[Block, int] = {}
        for block in group.blocks:
            for target in successors(block):
                self.predecessors[target] = self.predecessors.get(target, 0) + 1

    def run(self) -> None:
        """Move every invalidate that some way does not need."""
        edges: list[tuple[Block, int, _Pending]] = []
        for block, steps in zip(self.group.blocks, self.group.steps, strict=True):
            for pending in self._leaving(block, steps):
                for index, target in enumerate(successors(block)):
                    if not pending.caches & self.needs.begin[target]:
                        continue
                    if self.predecessors[target] > 1:
                        edges.append((block, index, pending))
                    elif pending.caches & self.must[target]:
                        _insert(pending, target)
                    else:
                        self.arriving.setdefault(target, []).append(pending)
        for block, index, pending in edges:
            _insert_on_edge(pending, block, index)

    def _leaving(self, block: Block, steps: list[CacheStep]) -> "list[_Pending]":
        """Take away the invalidates of ``block`` that not every way behind them needs."""
        leaving = self.arriving.get(block, [])
        must = _at_end(block, self.must)
        for step in reversed(steps):
            caches = step.effect.invalidates
            if caches and not caches & must:
                leaving = [*leaving, _Pending(cast(CacheOp, step.op), caches)]
                step.op.detach()
                continue
            must = _before(step, must, self.needs)
        return leaving


@dataclass(frozen=True, slots=True)
class _Pending:
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
    return must & ~step.effect.invalidates | needed_at(step, needs)


def _insert(pending: _Pending, block: Block) -> None:
    """At the beginning of ``block``."""
    first = block.first_op
    assert first is not None
    block.insert_op_before(pending.op.clone(), first)


def _insert_on_edge(pending: _Pending, block: Block, index: int) -> None:
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
