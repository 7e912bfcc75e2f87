"""Tensor memory that is freed while others may use it.

Verdicts do not follow places in tensor memory. All CTAs of a cluster, and all threads of a CTA, run
the same text. A forward dataflow has what a CTA has allocated together with another one since it
last met it at the cluster's barrier, and what threads have accessed in tensor memory since a
barrier of theirs. Source: PTX ISA, "barrier.cluster"; "tcgen05.dealloc".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import MBARRIER_WAITS, Statement
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.code.values import Elections, Values
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import FastStrEnum

_PAIR = "cta_group::2"
_IN_TENSOR_MEMORY = frozenset({"tcgen05 ld", "tcgen05 st"})
_FREES = "tcgen05 dealloc"
_BARRIERS = MEETS | MBARRIER_WAITS | {"bar warp sync", "barrier cluster wait", "call"}
"""The operations at which threads may wait for one another before tensor memory is freed."""


class End(FastStrEnum):
    """The lifetime that ends too early."""

    PAIR = "tensor memory that another CTA may not have allocated yet"
    TENSOR = "tensor memory that other threads may access"


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """``later`` ends the memory that ``before`` accesses, without a meeting between."""

    end: End
    before: PtxInstruction
    later: PtxInstruction


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions since the last meeting: allocations, and accesses of tensor memory."""

    allocated: int = 0
    tensor: int = 0

    def join(self, other: "_State") -> "_State":
        """The accesses that may be pending on either path."""
        return _State(self.allocated | other.allocated, self.tensor | other.tensor)


class LifetimeAnalysis:
    """The ends of tensor memory in one kernel that come too early."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function

    def early(self) -> Iterator[EarlyEnd]:
        """The lifetimes that end too early, in the order of the text."""
        if not self.function.is_entry or _FREES not in self.function.operations:
            return
        of = {each.number: each for each in self.function.instructions}
        elections = Elections(self.places, Values(self.places))
        for each, state in states(self.function, _State(), self._after):
            name, guard = each.statement.operation, each.statement.guard
            if _is_of_pair(each.statement, "dealloc"):
                for number in bits(state.allocated):
                    yield EarlyEnd(End.PAIR, of[number], each)
                    break
            if name == _FREES and elections.is_elected(each.number, guard):
                for number in bits(state.tensor):
                    before = of[number]
                    # Tensor memory is freed by one warp.
                    if not elections.is_elected(number, before.statement.guard):
                        yield EarlyEnd(End.TENSOR, before, each)
                        break

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, bit = each.statement, 1 << each.number
        name = statement.operation
        if name in ("barrier cluster wait", "call"):
            return _State()
        is_barrier = name in _BARRIERS or statement.kind is Kind.OPAQUE
        tensor = 0 if is_barrier else state.tensor
        if name in _IN_TENSOR_MEMORY:
            tensor |= bit
        allocated = state.allocated
        if _is_of_pair(statement, "alloc"):
            allocated |= bit
        return _State(allocated, tensor)


def _is_of_pair(statement: Statement, what: str) -> bool:
    is_it = statement.operation == f"tcgen05 {what}"
    return is_it and _PAIR in statement.opcode.modifiers
