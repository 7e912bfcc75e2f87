"""Memory whose life ends while others may use it: a CTA's shared memory, and tensor memory.

Neither an end nor a free is an access that verdicts follow. All CTAs of a cluster, and all threads
of a CTA, run the same text. A forward dataflow has what a CTA has accessed of another one's shared
memory, and what it has allocated together with another one, since it last met them: at the
cluster's barrier, or, of accesses, by an arrival or a wait at an mbarrier of the cluster; and what
threads have accessed in tensor memory since a barrier of theirs. Source: PTX ISA, "Cluster of
Cooperative Thread Arrays"; "barrier.cluster"; "tcgen05.dealloc"; CUDA programming guide,
"Distributed Shared Memory": it has to exist until all accesses of it are done.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    MBARRIER_WAITS,
    OperandRole,
    Statement,
)
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.code.values import Elections, Values
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Scope

_PAIR = "cta_group::2"
_ENDS = ("ret", "exit")
_IN_TENSOR_MEMORY = frozenset({"tcgen05 ld", "tcgen05 st"})
_FREES = "tcgen05 dealloc"
_BARRIERS = MEETS | MBARRIER_WAITS | {"bar warp sync", "barrier cluster wait", "call"}
"""What threads may wait for one another at before tensor memory is freed."""


class End(FastStrEnum):
    """What ends too early."""

    CTA = "the CTA, while another may access its shared memory"
    PAIR = "tensor memory that another CTA may not have allocated yet"
    TENSOR = "tensor memory that other threads may access"


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """``later`` ends what ``before`` accesses, without a meeting between."""

    end: End
    before: PtxInstruction
    later: PtxInstruction


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions since the last meeting: accesses of other CTAs, allocations, accesses
    of tensor memory.

    ``apart``: the last meeting was at an mbarrier, by which CTAs may take turns to the end.
    """

    accessed: int = 0
    allocated: int = 0
    tensor: int = 0
    apart: bool = False

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        return _State(
            self.accessed | other.accessed,
            self.allocated | other.allocated,
            self.tensor | other.tensor,
            self.apart or other.apart,
        )


class LifetimeAnalysis:
    """The ends of memory in one kernel that come too early."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self._of = {each.number: each for each in self.function.instructions}
        self._remote = {number for number, each in self._of.items() if self._reads_another(each)}
        self._frees = any(each.statement.operation == _FREES for each in self._of.values())

    def early(self) -> Iterator[EarlyEnd]:
        """What ends too early, in the order of the text."""
        if not self.function.is_entry or not (self._frees or self._remote):
            return
        elections = Elections(self.places, Values(self.places))
        ended: set[int] = set()
        for each, state in states(self.function, _State(), self._after):
            name, guard = each.statement.operation, each.statement.guard
            if _is_of_pair(each.statement, "dealloc"):
                for number in bits(state.allocated):
                    yield EarlyEnd(End.PAIR, self._of[number], each)
                    break
            if name == _FREES and elections.is_elected(each.number, guard):
                for number in bits(state.tensor):
                    before = self._of[number]
                    # Tensor memory is freed by one warp.
                    if not elections.is_elected(number, before.statement.guard):
                        yield EarlyEnd(End.TENSOR, before, each)
                        break
            if name in _ENDS:
                for number in bits(state.accessed):
                    if number not in ended:
                        ended.add(number)
                        yield EarlyEnd(End.CTA, self._of[number], each)

    def _reads_another(self, each: PtxInstruction) -> bool:
        """True where it reads the shared memory of another CTA."""
        return each.statement.kind in ACCESSES and any(
            access.reads
            and access.space in (AddressSpace.SHARED_CLUSTER, None)
            and self.places.is_remote(access.address)
            and bool(self.places.of(access).variables)
            for access in each.statement.accesses
        )

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, bit = each.statement, 1 << each.number
        name = statement.operation
        if name in ("barrier cluster wait", "call"):
            return _State()
        is_barrier = name in _BARRIERS or statement.kind is Kind.OPAQUE
        tensor = 0 if is_barrier else state.tensor
        if name in _IN_TENSOR_MEMORY:
            tensor |= bit
        if name in MBARRIER_WAITS and statement.scope is Scope.CLUSTER:
            return _State(allocated=state.allocated, apart=True)
        accessed, allocated = state.accessed, state.allocated
        if name in ARRIVALS and self._is_remote_arrival(statement):
            accessed = 0
        if each.number in self._remote and not state.apart:
            accessed |= bit
        if _is_of_pair(statement, "alloc"):
            allocated |= bit
        return _State(accessed, allocated, tensor, state.apart)

    def _is_remote_arrival(self, statement: Statement) -> bool:
        mbarrier = statement.operand(OperandRole.MBARRIER)
        is_named = AddressSpace.SHARED_CLUSTER in statement.opcode.spaces
        return is_named or self.places.is_remote(mbarrier)


def _is_of_pair(statement: Statement, what: str) -> bool:
    is_it = statement.operation == f"tcgen05 {what}"
    return is_it and _PAIR in statement.opcode.modifiers
