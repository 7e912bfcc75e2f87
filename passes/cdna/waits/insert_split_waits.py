"""The part of ``insert-waits`` for chips where each kind of access has its own counter (gfx1250).

Loads, stores, LDS and scalar loads count apart, and complete apart. Within loadcnt completion is
in order of issue, but *registers are written in any order* (llvm-project#105549): so a result's
register may be written again only once it has arrived, even by a load that counts later.
Source: the rules in ``fencewright.lowering.cdna.counters.scoreboard``; LLVM 24 AMDGPUUsage, Memory
Model GFX125x.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, Token
from fencewright.lowering.cdna.counters.split_scoreboard import SplitScoreboard, split_events_of
from fencewright.lowering.cdna.instructions import INSTRUCTIONS
from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects.cdna import (
    AsyncOp,
    AtomicOp,
    BarrierOp,
    KernelOp,
    TensorOp,
    chip_of,
    register_of,
)
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.cdna.dataflow import (
    COUNTED,
    CounterStep,
    CounterSteps,
    boards_at_entry,
    steps_of,
)
from fencewright.passes.cdna.waits.async_waits import resolve_async_waits
from fencewright.passes.cdna.waits.decision import Decision

HELD_REGISTERS = 32
"""The number of registers that unread results may occupy until a wait covers them."""

_EVENTS: Mapping[tuple[str, bool], tuple[CounterEvent, ...]] = MappingProxyType(
    {key: split_events_of(row) for key, row in INSTRUCTIONS.items()}
)
"""The events of each instruction, by mnemonic and whether it is an atomic that returns."""


def split_events_at(op: Operation) -> tuple[CounterEvent, ...]:
    """The events of a barrier, or of one of the ``COUNTED`` operations."""
    mnemonic = cast(StringAttr, op.properties["opcode"]).data
    return _EVENTS[mnemonic, isinstance(op, AtomicOp) and bool(op.results)]


def insert_split_waits(kernel: KernelOp) -> None:
    """Insert and remove waits in one kernel."""
    resolve_async_waits(kernel)
    blocks = reachable_blocks(kernel.body)
    counted = COUNTED | {BarrierOp}
    steps = [steps_of(block, split_events_at, counted) for block in blocks]
    start = SplitScoreboard(chip_of(kernel).counters)
    entry = boards_at_entry(blocks, steps, decide, start)
    for block, of_block in zip(blocks, steps, strict=True):
        for decision in decide(of_block, entry[block].copy()):
            decision.carry_out()


def decide(steps: CounterSteps, board: SplitScoreboard) -> list[Decision]:
    """The waits of one block, in order; ``board`` is carried to its end."""
    decisions: list[Decision] = []
    for step in steps:
        if step.counts is not None:
            counts = _still_needed(step.counts, board)
            _wait(board, counts)
            decisions.append(Decision(step.op, counts, step.counts))
            continue
        if counts := _need(step, board):
            _wait(board, counts)
            decisions.append(Decision(step.op, counts))
        board.issue(step.events, step.op.results)
    return decisions


def _still_needed(counts: WaitCounts, board: SplitScoreboard) -> WaitCounts:
    """Without the counters on which nothing is outstanding; those of no board stay (xcnt)."""
    states = board.counters
    given = counts.given
    left = [
        name for name, n in given.items() if name not in states or not states[name].satisfied(n)
    ]
    return counts if len(left) == len(given) else counts.only(left)


def _need(step: CounterStep, board: SplitScoreboard) -> WaitCounts:
    counts = _NOTHING
    if any(state.stamps for state in board.counters.values()):
        tokens: list[Token] = [*step.uses]
        if step.events:
            # A loop may come back before an earlier result has arrived, which would then come last.
            tokens += step.op.results
            tokens += _crowd(step.op.results, board)
        needs = {name: state.need(*tokens) for name, state in board.states() if state.stamps}
        if found := {name: n for name, n in needs.items() if n is not None}:
            counts = WaitCounts(**found)
    in_lds = board.counters[Counter.DSCNT]
    if type(step.op) in _COPIES and not in_lds.satisfied(0):
        # A copy is no access of the wave's own, with which those to LDS would be in order.
        return counts | WaitCounts(dscnt=0)
    return counts


_NOTHING = WaitCounts()
_COPIES = frozenset({AsyncOp, TensorOp})


def _crowd(results: Iterable[SSAValue], board: SplitScoreboard) -> Iterable[SSAValue]:
    """All results without a reader, if with ``results`` they would occupy too many registers."""
    pending = {value for _, state in board.states() for value in state.stamps}
    unread = [
        value
        for value in (*cast("Iterable[SSAValue]", pending), *results)
        if value.first_use is None
    ]
    occupied = sum(register_of(value).size.data for value in unread)
    return unread if occupied > HELD_REGISTERS else ()


def _wait(board: SplitScoreboard, counts: WaitCounts) -> None:
    states = board.counters
    for name, count in counts.given.items():
        if name in states:
            states[name].wait(count)
