"""Forward dataflow over a ``cdna`` kernel: what may be outstanding where a block begins."""

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from types import MappingProxyType
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, events_of
from fencewright.lowering.cdna.instructions import WITH_S_WAITCNT
from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects.cdna import (
    AsyncOp,
    AtomicOp,
    CacheOp,
    LoadOp,
    StoreOp,
    TensorOp,
    WaitOp,
)
from fencewright.passes.analysis.control_flow import successors

COUNTED = frozenset({LoadOp, StoreOp, AtomicOp, AsyncOp, TensorOp, CacheOp})
"""The operations that increment a counter."""

EVENTS: Mapping[str, tuple[CounterEvent, ...]] = MappingProxyType(
    {row.mnemonic: events_of(row) for row in WITH_S_WAITCNT}
)
"""The events of each instruction by its mnemonic."""


class CounterStep(NamedTuple):
    """An operation that matters to the counters.

    ``uses`` are its operands that a counted operation delivers, ``events`` what it adds
    to the counters, ``counts`` what it waits for.
    """

    op: Operation
    uses: Sequence[SSAValue] = ()
    events: tuple[CounterEvent, ...] = ()
    counts: WaitCounts | None = None


CounterSteps: TypeAlias = list[CounterStep]


class Board(Protocol):
    """What may be outstanding at one place: a ``Scoreboard`` or a ``SplitScoreboard``."""

    def copy(self) -> Self: ...
    def join(self, other: Self) -> bool: ...


BoardT = TypeVar("BoardT", bound=Board)


def steps_of(block: Block) -> CounterSteps:
    """The operations of ``block`` that matter to the counters, in order."""
    steps: CounterSteps = []
    for op in block.ops:
        kind = type(op)
        if kind is WaitOp:
            steps.append(CounterStep(op, (), (), cast(WaitOp, op).counts))
            continue
        uses = [
            value for value in op.operands if type(value) is OpResult and type(value.op) in COUNTED
        ]
        if kind in COUNTED:
            steps.append(CounterStep(op, uses, events_at(op)))
        elif uses:
            steps.append(CounterStep(op, uses))
    return steps


def events_at(op: Operation) -> tuple[CounterEvent, ...]:
    """The events of one of the ``COUNTED`` operations."""
    return EVENTS[cast(StringAttr, op.properties["opcode"]).data]


def solve(
    blocks: Sequence[Block],
    steps: Sequence[CounterSteps],
    transfer: Callable[[CounterSteps, BoardT], object],
    start: BoardT,
) -> dict[Block, BoardT]:
    """The scoreboard at the beginning of every block, a fixpoint.

    ``blocks`` in reverse postorder, ``steps`` in the same order; ``transfer`` carries a
    scoreboard over the steps of a block in place; ``start`` is that of the kernel. A state only ever grows, whatever
    ``transfer`` does, and there are finitely many: ages and bounds saturate.
    """
    entry = {blocks[0]: start}
    number = {block: n for n, block in enumerate(blocks)}
    heap, queued = [0], {0}
    while heap and len(blocks) > 1:
        n = heappop(heap)
        queued.discard(n)
        board = entry[blocks[n]].copy()
        transfer(steps[n], board)
        after = board.copy()
        for successor in successors(blocks[n]):
            known = entry.get(successor)
            if known is None:
                entry[successor] = after.copy()
            elif not known.join(after):
                continue
            target = number[successor]
            if target not in queued:
                queued.add(target)
                heappush(heap, target)
    return entry
