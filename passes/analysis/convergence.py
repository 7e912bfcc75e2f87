"""Blocks that the threads of a warp enter together, though branches may diverge.

A branch whose condition may differ between the threads of a warp parts them until they meet
again, at the latest where all paths from it lead through: its immediate postdominator. A block
is converged if it lies between no such branch and that block. Source: LLVM, "Convergence and
Uniformity".
"""

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.code.dominance import immediate_dominators
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.passes.analysis.control_flow import block_graph, block_of, fed_by

_SAME_IN_A_WARP = frozenset({AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.CONSTANT})
_OF_ALL_THREADS = frozenset(
    {"gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "llvm.mlir.addressof"}
)
_OF_OPERANDS = frozenset(
    {"llvm.getelementptr", "llvm.ptrtoint", "llvm.inttoptr", "llvm.call_intrinsic"}
)
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
        self.graph = block_graph(blocks)
        self.meeting = _immediate_postdominators(self.graph)
        self.differing: set[SSAValue] = set()
        self.parted: set[Block] = set()
        self.work: list[SSAValue] = []

    def run(self) -> None:
        """To the fixpoint: differing values part warps, and parted warps make values differ."""
        for block in self.graph.nodes:
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
        if user.name == "cf.cond_br" and operand == 0:
            self._part(block_of(user))
        self.work += fed_by(user, operand)

    def _part(self, branching: Block) -> None:
        """The blocks up to where a branch's paths meet are parted, and their values differ."""
        meeting = self.meeting.get(branching)
        if meeting is not None:
            self.work += meeting.args
        targets = self.graph.successors[branching]
        parted = self.graph.reachable(targets, through=lambda block: block is not meeting)
        for block in parted - {meeting} - self.parted:
            self.parted.add(block)
            self.work += _defined(block)


def _may_differ(op: Operation) -> bool:
    """True if results may differ though no operand does: of operations not known to be uniform."""
    if isinstance(op, scoped.LoadOp):
        # Racing loads of one address by several threads may see different writes.
        ordered = op.ordering != ORDERINGS[Ordering.WEAK]
        return ordered or op.space not in _SAME_IN_A_WARP
    if op.name in _OF_ALL_THREADS or op.name in _OF_OPERANDS:
        return False
    return op.name.partition(".")[0] not in _DIALECTS_OF_OPERANDS


def _defined(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _immediate_postdominators(graph: Graph[Block]) -> Mapping[Block, Block]:
    """The nearest block that every path from a block to the end leads through, if there is one.

    Dominance against control flow, from one end (None) after all that there are.
    """
    backward = graph.backward
    ends = [block for block in graph.nodes if not graph.successors[block]]
    # A path that never ends may avoid every block: nothing is known of where it meets others.
    if len(backward.reachable(ends)) < len(graph.nodes):
        return {}
    from_the_end: Graph[Block | None] = Graph(
        (None, *backward.nodes), {None: ends, **backward.successors}
    )
    nearest = immediate_dominators(from_the_end, None)
    return {block: meeting for block, meeting in nearest.items() if block and meeting}
