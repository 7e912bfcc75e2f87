"""The pass ``loosen-releases``: releases within the work-group leave stores to later
write-backs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.caches import Caches
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.facts import are_write_backs_cumulative, facts_for
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import OrderingAttr
from fencewright.mlir_dialects.cdna import PHASES, WaitOp
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.scoped import AccessOperation
from fencewright.passes.analysis.caches import VMCNT, CacheStep
from fencewright.passes.analysis.llvm_ir_memory import unknown_in
from fencewright.passes.llvm_ir.caches import LLVMIRCode, llvm_ir_codes
from fencewright.passes.llvm_ir.cdna import WITHIN

_RELEASES = PHASES[Phase.RELEASE]


@dataclass(frozen=True)
class LoosenReleasesPass(ModulePass):
    """Let releases at work-group scope wait for no access to memory, where ``facts`` allow it.

    ``mcpu``: a chip as ``gfx942``. ``facts``: without cumulative-write-backs nothing goes; raises
    ``UnsupportedError`` for one that ``mcpu`` has no use for. Where wider releases write back, it
    runs on kernels in LLVM IR before ``await-values``, which needs to know what is in flight. The
    waves of a work-group share their CU's way to memory: what one of them has stored, the others
    find, in flight or not. It is others that may not: a wave that learns of it, and then releases
    more widely, waits for its own accesses alone (llvm-project#161638). By the fact its write-back
    covers those of its mates too. So the wait
    goes if in the whole kernel a write-back comes between whatever a wave may learn by and a wider
    release. With it goes that of an acquire at work-group scope. Where one of these acquires, a
    wait stays while a flag's read that anything uses may be in flight, for LDS is another pipe. All
    stay in a kernel that invalidates at system scope, for which mates count on this wave.
    Source: LLVM AMDGPUUsage, Memory Model GFX942, where such releases never wait for it; certified
    under the fact by tests/unit/test_loosen_releases.py.
    """

    name = "loosen-releases"

    mcpu: str
    facts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not are_write_backs_cumulative(facts_for(self.facts, self.mcpu), self.mcpu):
            return
        for code in llvm_ir_codes(op):
            for wait in list(loosened(code)):
                del wait.properties["vmcnt"]
                if not wait.counts:
                    Rewriter.erase_op(wait)


_State: TypeAlias = int
"""The state: a wave may know of its mates' accesses in flight, and be reading a flag; as bits."""

_LEARNT, _READING = 1, 2


def loosened(code: LLVMIRCode) -> Iterator[WaitOp]:
    """The waits within the work-group that need not wait for memory, write-backs being
    cumulative."""
    waits = (op for block in code.blocks for op in operations(block))
    if not any(map(_is_within, waits)) or not _may_loosen(code):
        return
    steps = code.steps
    known = [step for block in code.blocks for step in steps[block]]
    if any(step.meaning.invalidates & Caches.SYSTEM for step in known):
        return

    def carry(block: Block, state: _State) -> _State:
        for step in steps[block]:
            state = _after(step, state)
        return state

    begin = solve(code.graph, dict.fromkeys(code.entries, 0), carry, int.__or__)
    found: list[WaitOp] = []
    for block in code.blocks:
        state = begin[block]
        for step in steps[block]:
            if _is_within(step.op) and not (state & _READING and _acquires(step)):
                found.append(cast(WaitOp, step.op))
            if _is_wider(step) and state & _LEARNT:
                return
            state = _after(step, state)
    yield from found


def _may_loosen(code: LLVMIRCode) -> bool:
    """True if the waves of a work-group share a CU, and all their operations are known."""
    unknown = next(unknown_in(code.function), None)
    return code.is_kernel and not code.tgsplit and unknown is None


def _after(step: CacheStep, state: _State) -> _State:
    """The state after a step; the waits that may go are taken for gone."""
    meaning = step.meaning
    if meaning.waits & VMCNT and not _is_within(step.op):
        state &= ~_READING
    if meaning.writes_back is not None and not state & _READING:
        state &= ~_LEARNT
    if meaning.acquires or meaning.is_barrier:
        state |= _LEARNT
    if meaning.acquires and meaning.counters & VMCNT:
        state |= _READING if _is_used(step.op) else 0
    return state


def _is_used(op: Operation) -> bool:
    """True if anything depends on the value that ``op`` has read; of text that is not known."""
    return not isinstance(op, AccessOperation) or any(each.first_use for each in op.results)


def _is_within(op: Operation) -> bool:
    """True if ``op`` is a wait for memory that is for the work-group alone."""
    return type(op) is WaitOp and WITHIN in op.attributes and op.counts.vmcnt is not None


def _is_wider(step: CacheStep) -> bool:
    """True if a step is the wait of a wider release."""
    op = step.op
    return type(op) is WaitOp and op.phase == _RELEASES and WITHIN not in op.attributes


def _acquires(step: CacheStep) -> bool:
    """True if a wait is for an acquire of the writes that the reads before it observe."""
    ordering = step.op.attributes[WITHIN]
    return not isinstance(ordering, OrderingAttr) or ordering.data.acquires
