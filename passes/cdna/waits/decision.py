"""Decisions on waits, and their execution on the operations of a kernel."""

from typing import NamedTuple

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import WaitOp


class Decision(NamedTuple):
    """The wait at ``op``: before it, or if it is a wait, the counts that remain of ``had``."""

    op: Operation
    counts: WaitCounts
    had: WaitCounts | None = None

    def carry_out(self) -> None:
        """Insert the wait, change it, or erase it; one right after another is merged into that."""
        op, counts, had = self
        previous = op.prev_op
        if not isinstance(op, WaitOp):
            if isinstance(previous, WaitOp):
                set_counts(previous, previous.counts | counts)
            else:
                assert op.parent is not None
                op.parent.insert_op_before(WaitOp.of(counts), op)
        elif counts and isinstance(previous, WaitOp):
            set_counts(previous, previous.counts | counts)
            for name in ("phase", "source"):
                if name in op.properties:
                    previous.properties.setdefault(name, op.properties[name])
            Rewriter.erase_op(op)
        elif counts is not had:
            set_counts(op, counts)


def set_counts(wait: WaitOp, counts: WaitCounts) -> None:
    """Give a wait these counts; erase it if there is nothing to wait for."""
    if not counts:
        Rewriter.erase_op(wait)
        return
    if wait.counts == counts:
        return
    given = counts.given
    for name in WaitOp.COUNTERS:
        if name in given:
            wait.properties[name] = count_attr(given[name])
        else:
            wait.properties.pop(name, None)
