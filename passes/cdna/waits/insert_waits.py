"""The pass ``insert-waits``: the fewest and loosest waits that data and ordering need.

Where each kind of access has its own counter (gfx1250), completion within loadcnt is in order of
issue, but *registers are written in any order* (llvm-project#105549): so a result's register may be
written again only once it has arrived, even by a load that counts later.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.scoreboard import ORDERED, Scoreboard, Token
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    AsyncOp,
    BarrierOp,
    KernelOp,
    TensorOp,
    WaitOp,
    chip_of,
    register_of,
)
from fencewright.passes.analysis.control_flow import reachable_blocks, top_level
from fencewright.passes.cdna.dataflow import (
    COUNTED,
    CounterStep,
    CounterSteps,
    boards_at_entry,
    events_on,
    steps_of,
)
from fencewright.passes.cdna.waits.async_waits import resolve_async_waits
from fencewright.passes.cdna.waits.decision import Decision

_RELEASES = PHASES[Phase.RELEASE]

HELD_REGISTERS = 32
"""The number of registers that unread results may occupy until a wait covers them.

Their registers cannot be reused before the data has arrived. Waiting would be as sound and
never better for a few; but without a bound a kernel could run out of registers on them.
"""


ENTERING_REGISTERS = 64
"""The registers that may be waiting for data at the beginning of a block, read later or not.

Among them are those of results that no path from here reads; one bound for all of them
keeps the scoreboards small, and is met by kernels with very much in flight only.
"""


@dataclass(frozen=True)
class InsertWaitsPass(ModulePass):
    """Insert waits where a result is used, and drop the ordering waits that wait for nothing.

    Runs on ``cdna.kernel`` before registers are allocated. A data wait has no phase. An
    ordering wait keeps its phase and its counts, unless everything that it has to cover has
    completed on every path to it (a release also covers invalidates); one right after another
    wait is merged into that.
    Source: the rules in ``fencewright.lowering.cdna.counters.scoreboard``.
    """

    name = "insert-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                insert_waits(kernel)


def insert_waits(kernel: KernelOp) -> None:
    """Insert and remove waits in one kernel."""
    chip, counted = chip_of(kernel), COUNTED
    if chip.splits_counters:
        resolve_async_waits(kernel)
        counted |= {BarrierOp}
    blocks = reachable_blocks(kernel.body)
    steps = [steps_of(block, events_on(chip), counted) for block in blocks]
    entry = boards_at_entry(blocks, steps, decide, Scoreboard(chip.counters))
    for block, of_block in zip(blocks, steps, strict=True):
        for decision in decide(of_block, entry[block].copy()):
            decision.carry_out()


def decide(steps: CounterSteps, board: Scoreboard) -> list[Decision]:
    """The waits of one block, in order; ``board`` is carried to its end."""
    decisions: list[Decision] = []
    held = _Held(board)
    for step in steps:
        if step.counts is not None:
            counts = _still_needed(step.op, step.counts, board)
            held.wait(board, counts)
            decisions.append(Decision(step.op, counts, step.counts))
            continue
        if counts := _need(step, board, held):
            held.wait(board, counts)
            decisions.append(Decision(step.op, counts))
        if step.events:
            results = step.op.results
            board.issue(step.events, results)
            if results:
                held.add(results)
    return decisions


def _still_needed(op: Operation, counts: WaitCounts, board: Scoreboard) -> WaitCounts:
    """Without the counters on which nothing is outstanding; those of no board stay (xcnt)."""
    states, given = board.counters, counts.given
    # A release publishes what was acquired before it, so an invalidate has to be over by then:
    # nothing later in this wave passes it, but what other waves do after they acquire may.
    publishes = cast(WaitOp, op).phase == _RELEASES
    left = [
        name
        for name, count in given.items()
        if (state := states.get(name)) is None
        or not state.satisfied(count)
        or (publishes and state.extra > 0)
    ]
    return counts if len(left) == len(given) else counts.only(left)


def _need(step: CounterStep, board: Scoreboard, held: "_Held") -> WaitCounts:
    states = board.counters
    counts = _NOTHING
    if any(state.stamps for state in states.values()):
        tokens: list[Token] = [*step.uses, *held.crowd]
        held.crowd = []
        results = step.op.results
        if results and step.events:
            if _may_come_last(step, board):
                tokens += results
            tokens += held.overflow(results)
        if tokens:
            needs = {name: state.need(*tokens) for name, state in states.items()}
            counts = WaitCounts(**needs)
    if type(step.op) in _COPIES and not states[Counter.DSCNT].satisfied(0):
        # A copy is no access of the wave's own, with which those to LDS would be in order.
        return counts | _ALL_OF_LDS
    return counts


_NOTHING, _ALL_OF_LDS = WaitCounts(), WaitCounts(dscnt=0)
_COPIES = frozenset({AsyncOp, TensorOp})


def _may_come_last(step: CounterStep, board: Scoreboard) -> bool:
    """True if an older value for a result may arrive after the new one, where a loop comes back.

    Only data of an ordered kind arrives in order, and where loads have a counter of their own none.
    """
    if Counter.LOADCNT in board.counters:
        return True
    in_order = all(state.in_order for state in board.counters.values())
    return not in_order and not all(ORDERED[event.kind] for event in step.events)


class _Held:
    """The registers that wait for data without a reader, oldest first.

    ``crowd`` are results to wait for because too many were outstanding as the block began.
    """

    __slots__ = ("crowd", "sizes")

    def __init__(self, board: Scoreboard):
        self.sizes: dict[Token, int] = {}
        self.crowd: list[Token] = []
        entering = [token for state in board.counters.values() for token in state.stamps]
        if not entering:
            return
        self.add(entering)
        values = cast("Iterable[SSAValue]", entering)
        if sum([register_of(value).size.data for value in values]) > ENTERING_REGISTERS:
            self.crowd = entering[: (len(entering) + 1) // 2]

    def add(self, results: Iterable[Token]) -> None:
        """Count those of ``results`` without a reader."""
        for result in cast("Iterable[SSAValue]", results):
            if result.first_use is None:
                self.sizes[result] = register_of(result).size.data

    def overflow(self, results: Iterable[SSAValue]) -> list[Token]:
        """The results to wait for before ``results`` get registers: the older half, or none."""
        wanted = sum([register_of(r).size.data for r in results if r.first_use is None])
        if not wanted or wanted + sum(self.sizes.values()) <= HELD_REGISTERS:
            return []
        return list(self.sizes)[: (len(self.sizes) + 1) // 2]

    def wait(self, board: Scoreboard, counts: WaitCounts) -> None:
        """Carry ``board`` over a wait and drop the results that it delivers."""
        states = board.counters
        delivered: list[Token] = []
        for name, count in counts.given.items():
            if name in states:
                delivered += states[name].wait(count)
        if not self.sizes:
            return
        for token in delivered:
            if not any(token in state.stamps for state in states.values()):
                self.sizes.pop(token, None)
