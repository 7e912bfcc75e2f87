"""Forward dataflow over a ``cdna`` kernel: the operations outstanding at the start of a block."""

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, events_of, split_events_of
from fencewright.lowering.cdna.instructions import INSTRUCTIONS, WITH_S_WAITCNT
from fencewright.lowering.code.dataflow import GrowingT, solve_in_place
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
from fencewright.mlir_dialects.leaf_operation import operands_of, operations
from fencewright.passes.analysis.control_flow import block_graph

COUNTED = frozenset({LoadOp, StoreOp, AtomicOp, AsyncOp, TensorOp, CacheOp})
"""The operations that increment a counter."""

EVENTS: Mapping[str, tuple[CounterEvent, ...]] = MappingProxyType(
    {row.mnemonic: events_of(row) for row in WITH_S_WAITCNT}
)
"""The events of each instruction by its mnemonic, on chips with ``s_waitcnt``."""

_SPLIT_EVENTS: Mapping[tuple[str, bool], tuple[CounterEvent, ...]] = MappingProxyType(
    {key: split_events_of(row) for key, row in INSTRUCTIONS.items()}
)
"""On chips with a counter for each kind of access: by mnemonic, and whether it is an atomic that
returns."""

Events: TypeAlias = Callable[[Operation], tuple[CounterEvent, ...]]


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


def steps_of(
    block: Block,
    events: Events,
    counted: Container[type[Operation]] = COUNTED,
) -> CounterSteps:
    """The operations of ``block`` that matter to the counters, in order.

    ``events``: of the ``counted`` operations.
    """
    steps: CounterSteps = []
    for op in operations(block):
        kind = type(op)
        if kind is WaitOp:
            steps.append(CounterStep(op, (), (), cast(WaitOp, op).counts))
            continue
        uses = [
            value
            for value in operands_of(op)
            if type(value) is OpResult and type(value.op) in COUNTED
        ]
        if kind in counted:
            steps.append(CounterStep(op, uses, events(op)))
        elif uses:
            steps.append(CounterStep(op, uses))
    return steps


def events_on(chip: ChipRow) -> Events:
    """The events of the ``COUNTED`` operations, and of barriers where each access has a counter."""
    return _split_events_at if chip.splits_counters else _events_at


def _events_at(op: Operation) -> tuple[CounterEvent, ...]:
    return EVENTS[cast(StringAttr, op.properties["opcode"]).data]


def _split_events_at(op: Operation) -> tuple[CounterEvent, ...]:
    mnemonic = cast(StringAttr, op.properties["opcode"]).data
    return _SPLIT_EVENTS[mnemonic, isinstance(op, AtomicOp) and bool(op.results)]


def boards_at_entry(
    blocks: Sequence[Block],
    steps: Sequence[CounterSteps],
    carry: Callable[[CounterSteps, GrowingT], object],
    start: GrowingT,
) -> dict[Block, GrowingT]:
    """The scoreboard at the beginning of every block, a fixpoint.

    ``blocks`` in reverse postorder, ``steps`` in the same order; ``carry`` takes a scoreboard over
    the steps of a block in place; ``start`` is that of the kernel. A state only ever grows,
    whatever
    ``carry`` does, and there are finitely many: ages and bounds saturate.
    """
    graph, entry = block_graph(blocks), {blocks[0]: start}
    steps_in = dict(zip(blocks, steps, strict=True))

    def transfer(block: Block, board: GrowingT) -> GrowingT:
        after = board.copy()
        carry(steps_in[block], after)
        # Its clock has moved on: a fresh copy is at zero, as boards that are joined have to be.
        return after.copy()

    solve_in_place(
        graph, entry, transfer, [block for block in blocks[:1] if graph.successors[block]]
    )
    return entry
