"""The pass ``insert-waits``: the fewest and loosest waits that data and ordering need."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.counters.scoreboard import ORDERED, Scoreboard, Token
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    KernelOp,
    WaitOp,
    chip_of,
    register_of,
)
from fencewright.passes.analysis.control_flow import reachable_blocks, top_level
from fencewright.passes.cdna.dataflow import (
    CounterStep,
    CounterSteps,
    boards_at_entry,
    events_at,
    steps_of,
)
from fencewright.passes.cdna.waits.decision import Decision
from fencewright.passes.cdna.waits.insert_split_waits import insert_split_waits

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
    """Insert ``s_waitcnt`` where a result is used, and drop the ordering waits that wait for
    nothing.

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
                _INSERT[chip_of(kernel).splits_counters](kernel)


def insert_waits(kernel: KernelOp) -> None:
    """Insert and remove waits in one kernel."""
    blocks = reachable_blocks(kernel.body)
    steps = [steps_of(block, events_at) for block in blocks]
    entry = boards_at_entry(blocks, steps, decide, Scoreboard())
    for block, of_block in zip(blocks, steps, strict=True):
        for decision in decide(of_block, entry[block].copy()):
            decision.carry_out()


_INSERT = {False: insert_waits, True: insert_split_waits}
"""By whether each kind of access has a counter of its own."""


def decide(steps: CounterSteps, board: Scoreboard) -> list[Decision]:
    """The waits of one block, in order; ``board`` is carried to its end."""
    decisions: list[Decision] = []
    held = _Held(board)
    for step in steps:
        if step.counts is not None:
            decisions.append(_decide_wait(step.op, step.counts, board, held))
            continue
        vmcnt, lgkmcnt = _need(step, board, held)
        if vmcnt is not None or lgkmcnt is not None:
            held.wait(board, vmcnt, lgkmcnt)
            decisions.append(Decision(step.op, _pair(vmcnt, lgkmcnt)))
        if step.events:
            results = step.op.results
            board.issue(step.events, results)
            if results:
                held.add(results)
    return decisions


def _decide_wait(op: Operation, counts: WaitCounts, board: Scoreboard, held: "_Held") -> Decision:
    vmcnt, lgkmcnt = counts.vmcnt, counts.lgkmcnt
    # A release publishes what was acquired before it, so an invalidate has to be over by then:
    # nothing later in this wave passes it, but what other waves do after they acquire may.
    publishes = cast(WaitOp, op).phase == _RELEASES and board.vmcnt.extra > 0
    if vmcnt is not None and board.vmcnt.satisfied(vmcnt) and not publishes:
        vmcnt = None
    if lgkmcnt is not None and board.lgkmcnt.satisfied(lgkmcnt):
        lgkmcnt = None
    held.wait(board, vmcnt, lgkmcnt)
    return Decision(op, _pair(vmcnt, lgkmcnt))


_pair = cache(WaitCounts)


def _need(step: CounterStep, board: Scoreboard, held: "_Held") -> "_Need":
    vmcnt, lgkmcnt = board.vmcnt, board.lgkmcnt
    if not vmcnt.stamps and not lgkmcnt.stamps:
        return None, None
    need: _Need = (None, None)
    if step.uses:
        need = vmcnt.need(*step.uses), lgkmcnt.need(*step.uses)
    if held.crowd:
        need = _tighter(need, (vmcnt.need(*held.crowd), lgkmcnt.need(*held.crowd)))
        held.crowd = []
    results = step.op.results
    if not results or not step.events:
        return need
    if not (vmcnt.in_order and lgkmcnt.in_order):
        # A loop may come back before an earlier result has arrived. Only data of an ordered
        # kind arrives in order; the register of any other could end with the older value.
        if not all(ORDERED[event.kind] for event in step.events):
            need = _tighter(need, (vmcnt.need(*results), lgkmcnt.need(*results)))
    if oldest := held.overflow(results):
        need = _tighter(need, (vmcnt.need(*oldest), lgkmcnt.need(*oldest)))
    return need


_Need: TypeAlias = tuple[int | None, int | None]


def _tighter(a: _Need, b: _Need) -> _Need:
    both = WaitCounts(*a) | WaitCounts(*b)
    return both.vmcnt, both.lgkmcnt


class _Held:
    """The registers that wait for data without a reader, oldest first.

    ``crowd`` are results to wait for because too many were outstanding as the block began.
    """

    __slots__ = ("crowd", "sizes")

    def __init__(self, board: Scoreboard):
        self.sizes: dict[Token, int] = {}
        self.crowd: list[Token] = []
        entering = [*board.vmcnt.stamps, *board.lgkmcnt.stamps]
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

    def wait(self, board: Scoreboard, vmcnt: int | None, lgkmcnt: int | None) -> None:
        """Carry ``board`` over a wait and drop the results that it delivers."""
        delivered: list[Token] = []
        if vmcnt is not None:
            delivered += board.vmcnt.wait(vmcnt)
        if lgkmcnt is not None:
            delivered += board.lgkmcnt.wait(lgkmcnt)
        if not self.sizes:
            return
        for token in delivered:
            if token not in board.vmcnt.stamps and token not in board.lgkmcnt.stamps:
                self.sizes.pop(token, None)
