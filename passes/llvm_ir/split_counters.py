"""Differences in LLVM's instructions where each kind of access has a counter (gfx1250).

LLVM's own wait insertion goes on as ever: it waits for data, and for translation (xcnt), which is
left to it. What it may do to an access decides in which counter that is: an atomic whose result
nobody reads becomes one that returns nothing, and counts as a store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import Attribute, Operation

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.lower import lower_for
from fencewright.lowering.sequence import Instruction, Target
from fencewright.lowering.vocabulary import Operation as ScopedOperation
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import PHASES, WaitOp
from fencewright.passes.llvm_ir.cdna import wait_for_scalar_loads

_RELEASES = PHASES[Phase.RELEASE]
_MAY_LOSE_ITS_RESULT = (ScopedOperation.ATOMIC_RMW, ScopedOperation.CMPXCHG)


def explicit_sequence(
    target: Target, op: ScopedOperation, request: Mapping[str, Any]
) -> tuple[Instruction, ...]:
    """The lowering of an operation without the instructions that LLVM inserts by itself.

    It waits for an atomic whether LLVM keeps its result or not. Source: LLVM 24 SIInsertWaitcnts,
    xcnt; SIISelLowering, atomics without a use.
    """
    lowered = lower_for(target, op=op, **request).instructions
    if op in _MAY_LOSE_ITS_RESULT:
        without = lower_for(target, op=op, **{**request, "returns": False}).instructions
        lowered = tuple(map(_waiting_for_both, lowered, without))
    return tuple(each for each in lowered if not _is_for_translation(each))


def _waiting_for_both(one: Instruction, other: Instruction) -> Instruction:
    if one.wait is None or other.wait is None or one.wait == other.wait:
        return one
    both = one.wait | other.wait
    return replace(one, mnemonic="s_wait", operands=(), wait=both)


def _is_for_translation(each: Instruction) -> bool:
    return each.wait is not None and each.wait.only({Counter.XCNT}) == each.wait


def also_for_scalar_loads(
    release: Sequence[Operation], attributes: Mapping[str, Attribute]
) -> list[Operation]:
    """``wait_for_scalar_loads``, on the counter that they have for themselves if there is one."""
    waits = [op for op in release if isinstance(op, WaitOp) and op.phase == _RELEASES]
    if not _are_split(waits):
        return wait_for_scalar_loads(release, attributes)
    waits[0].properties[Counter.KMCNT] = count_attr(0)
    return [*release]


def _are_split(waits: Iterable[WaitOp]) -> bool:
    named = {name for op in waits for name in op.counts.given}
    return bool(named) and named.isdisjoint({Counter.VMCNT, Counter.LGKMCNT})
