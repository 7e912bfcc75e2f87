"""Which blocks the threads of a warp enter together, where branches may diverge.

A branch whose condition may differ between the threads of a warp parts them until they meet
again, at the latest where all ways from it lead through: its immediate postdominator. A block
is converged if it lies between no such branch and that block. Source: LLVM, "Convergence and
Uniformity"; Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import cf, gpu, llvm
from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.passes.analysis.control_flow import successors

_SAME_IN_A_WARP = frozenset({AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.CONSTANT})
_OF_ALL_THREADS = frozenset({gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, llvm.AddressOfOp})
_OF_OPERANDS = frozenset({llvm.GEPOp, llvm.PtrToIntOp, llvm.IntToPtrOp, llvm.CallIntrinsicOp})
_DIALECTS_OF_OPERANDS = frozenset({"arith", "math", "vector"})


def converged_blocks(blocks: Sequence[Block]) -> frozenset[Block]:
    """Those of ``blocks`` (all that are reachable, the entry first) that warps enter whole."""
    analysis = _Analysis(blocks)
    analysis.run()
    return frozenset(blocks) - analysis.parted


class _Analysis:
    """``differing`` are the values that may differ within a warp, ``parted`` the blocks that a
    part of a warp may enter."""

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = blocks
        self.meeting = _immediate_postdominators(blocks)
        self.differing: set[SSAValue] = set()
        self.parted: set[Block] = set()
        self.work: list[SSAValue] = []

    def run(self) -> None:
        """To the fixpoint: differing values part warps, and parted warps make values differ."""
        for block in self.blocks:
            for op in block.ops:
                if _may_differ(op):
                    self.work += op.results
        while self.work:
            value = self.work.pop()
            if value in self.differing:
                continue
            self.differing.add(value)
            for use in value.uses:
                self._flow(use.operation, use.index)

    def _flow(self, user: Operation, operand: int) -> None:
        if isinstance(user, cf.ConditionalBranchOp):
            if operand == 0:
                self._part(cast(Block, user.parent))
                return
            split = operand - 1 - len(user.then_arguments)
            into_then = split < 0
            self.work.append(
                user.then_block.args[operand - 1] if into_then else user.else_block.args[split]
            )
        elif isinstance(user, cf.BranchOp):
            self.work.append(user.successor.args[operand])
        else:
            self.work += user.results

    def _part(self, branching: Block) -> None:
        """The blocks up to where a branch's ways meet are parted, and their values differ."""
        meeting = self.meeting.get(branching)
        if meeting is not None:
            self.work += meeting.args
        waiting, seen = list(successors(branching)), set[Block]()
        while waiting:
            block = waiting.pop()
            if block is meeting or block in seen:
                continue
            seen.add(block)
            waiting += successors(block)
            if block not in self.parted:
                self.parted.add(block)
                self.work += _defined(block)


def _may_differ(op: Operation) -> bool:
    """Whether results may differ though no operand does: of whatever is not known to be alike."""
    if isinstance(op, scoped.LoadOp):
        # Racing loads of one address by several threads may see different writes.
        ordered = op.ordering != ORDERINGS[Ordering.WEAK]
        return ordered or op.space not in _SAME_IN_A_WARP
    kind = type(op)
    if kind in _OF_ALL_THREADS or kind in _OF_OPERANDS:
        return False
    return op.name.partition(".")[0] not in _DIALECTS_OF_OPERANDS


def _defined(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _immediate_postdominators(blocks: Sequence[Block]) -> Mapping[Block, Block]:
    """The nearest block that every way from a block to the end leads through, if there is one."""
    before: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in successors(block):
            before[successor].append(block)
    ends = [block for block in blocks if not successors(block)]
    order = _postorder_backwards(ends, before)
    number = {block: n for n, block in enumerate(order)}
    end = len(order)  # One end behind all of them.
    nearest: dict[int, int] = {end: end}
    changed = True
    while changed:
        changed = False
        for n in range(end - 1, -1, -1):
            behind = [number[each] for each in successors(order[n]) if each in number] or [end]
            known = [each for each in behind if each in nearest]
            found = known[0]
            for each in known[1:]:
                found = _common(nearest, found, each)
            if nearest.get(n) != found:
                nearest[n] = found
                changed = True
    # A way that never ends may avoid every block: nothing is known of where it meets others.
    endless = set(blocks) - number.keys()
    if endless:
        return {}
    return {order[n]: order[found] for n, found in nearest.items() if found != end}


def _common(nearest: Mapping[int, int], a: int, b: int) -> int:
    while a != b:
        while a < b:
            a = nearest[a]
        while b < a:
            b = nearest[b]
    return a


def _postorder_backwards(
    ends: Iterable[Block], before: Mapping[Block, Sequence[Block]]
) -> list[Block]:
    """The blocks from which an end can be reached, against control flow, in postorder."""
    seen, postorder = set[Block](), list[Block]()
    for end in ends:
        seen.add(end)
        stack = [(end, iter(before[end]))]
        while stack:
            block, rest = stack[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                postorder.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(before[following])))
    return postorder
