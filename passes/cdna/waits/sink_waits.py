"""The pass ``sink-waits``: a release waits right before others can observe it, not earlier."""

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    AluOp,
    ConstOp,
    ExtractOp,
    KernelOp,
    LoadOp,
    MovOp,
    PackOp,
    StoreOp,
    WaitOp,
)
from fencewright.passes.analysis.control_flow import reachable_blocks, top_level
from fencewright.passes.cdna.dataflow import COUNTED
from fencewright.passes.cdna.waits.loosen_waits import takes_part


@dataclass(frozen=True)
class SinkWaitsPass(ModulePass):
    """Move the wait of each release down its block, past operations without a part in ordering.

    Runs on ``cdna.kernel`` before ``loosen-waits``, which raises its count for what it has
    passed. Passed are arithmetic, and accesses to private, constant and invariant memory; not
    what uses a result of memory, for that is waited for in any case. What others can observe,
    whether an access, cache maintenance, a barrier or the end of the block, is not.
    Source: LLVM AMDGPUUsage, Memory Model GFX942: a wait may be moved; certified by
    tests/unit/test_minimise_cdna.py.
    """

    name = "sink-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in top_level(op):
            if not isinstance(kernel, KernelOp):
                continue
            for block in reachable_blocks(kernel.body):
                waits = [each for each in block.ops if type(each) is WaitOp]
                for each in waits:
                    if each.phase == _RELEASES:
                        _sink(each)


_RELEASES = PHASES[Phase.RELEASE]
_ARITHMETIC = frozenset({AluOp, ConstOp, MovOp, PackOp, ExtractOp})


def _sink(wait: WaitOp) -> None:
    last: Operation | None = None
    op = wait.next_op
    while op is not None and may_pass(op):
        last, op = op, op.next_op
    if last is None:
        return
    block = wait.parent
    assert block is not None
    wait.detach()
    block.insert_op_after(wait, last)


def may_pass(op: Operation) -> bool:
    """True if no thread can observe the order of ``op`` and the wait."""
    if any(type(value) is OpResult and type(value.op) in COUNTED for value in op.operands):
        return False
    if type(op) in _ARITHMETIC:
        return True
    return type(op) in (LoadOp, StoreOp) and not takes_part(cast(LoadOp | StoreOp, op))
