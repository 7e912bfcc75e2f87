"""What CTAs of a cluster do to one another's memory without meeting, in one PTX function.

All CTAs of a cluster run the same text. A forward dataflow has what a CTA has written into its own
shared memory, what it has accessed of another one's, and what it has allocated together with
another one, since it last met them: at the cluster's barrier, or, of accesses, by an arrival or a
wait at an mbarrier of the cluster. Source: PTX ISA, "Cluster of Cooperative Thread Arrays";
"barrier.cluster"; CUDA programming guide, "Distributed Shared Memory": it has to exist until all
accesses of it are done.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
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
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Scope

_PAIR = "cta_group::2"
_ENDS = ("ret", "exit")


class ClusterRace(FastStrEnum):
    """What a CTA does without having met the others."""

    PULL = "reads of another CTA what that may not have written yet"
    END = "ends while another CTA may access its shared memory"
    FREE = "frees tensor memory that another CTA may not have allocated yet"


@dataclass(frozen=True, slots=True)
class Unmet:
    """``later`` comes without a meeting after ``before``."""

    apart: ClusterRace
    before: PtxInstruction
    later: PtxInstruction


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions since the last meeting: own writes, accesses of others, allocations.

    ``apart``: the last meeting was at an mbarrier, by which CTAs may take turns to the end.
    """

    written: int = 0
    accessed: int = 0
    allocated: int = 0
    apart: bool = False

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        return _State(
            self.written | other.written,
            self.accessed | other.accessed,
            self.allocated | other.allocated,
            self.apart or other.apart,
        )


class ClusterAnalysis:
    """The meetings of CTAs that one kernel lacks."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        instructions = tuple(self.function.instructions)
        self._of = {each.number: each for each in instructions}
        self._remote = {each.number: self._pulled(each) for each in instructions}
        self._has_pairs = any(_is_of_pair(each.statement, "alloc") for each in instructions)

    def missing(self) -> Iterator[Unmet]:
        """What comes too early, in the order of the text."""
        if not self.function.is_entry or not (self._has_pairs or any(self._remote.values())):
            return
        ended: set[int] = set()
        for each, state in states(self.function, _State(), self._after):
            for number in bits(state.written):
                if self._variables(number) & self._remote[each.number]:
                    yield Unmet(ClusterRace.PULL, self._of[number], each)
                    break
            if _is_of_pair(each.statement, "dealloc"):
                for number in bits(state.allocated):
                    yield Unmet(ClusterRace.FREE, self._of[number], each)
                    break
            if each.statement.operation in _ENDS:
                for number in bits(state.accessed):
                    if number not in ended:
                        ended.add(number)
                        yield Unmet(ClusterRace.END, self._of[number], each)

    def _pulled(self, each: PtxInstruction) -> frozenset[str]:
        """The variables of another CTA that it reads."""
        if each.statement.kind not in ACCESSES:
            return frozenset()
        found = [
            self.places.of(access).variables
            for access in each.statement.accesses
            if access.reads
            and (access.space is AddressSpace.SHARED_CLUSTER or access.space is None)
            and self.places.is_remote(access.address)
        ]
        return frozenset[str]().union(*found)

    def _variables(self, number: int) -> frozenset[str]:
        """The variables of its own CTA that an instruction writes."""
        found = [
            self.places.of(access).variables
            for access in self._of[number].statement.accesses
            if access.writes
        ]
        return frozenset[str]().union(*found)

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, bit = each.statement, 1 << each.number
        if statement.operation == "barrier cluster wait" or statement.operation == "call":
            return _State()
        if statement.operation in MBARRIER_WAITS and statement.scope is Scope.CLUSTER:
            return _State(allocated=state.allocated, apart=True)
        written, accessed, allocated = state.written, state.accessed, state.allocated
        if statement.operation in ARRIVALS and self._is_remote_arrival(statement):
            accessed = 0
        if self._remote[each.number]:
            accessed |= 0 if state.apart else bit
        elif statement.kind in ACCESSES and any(
            access.writes and access.space is AddressSpace.LOCAL for access in statement.accesses
        ):
            written |= bit
        if _is_of_pair(statement, "alloc"):
            allocated |= bit
        return _State(written, accessed, allocated, state.apart)

    def _is_remote_arrival(self, statement: Statement) -> bool:
        mbarrier = statement.operand(OperandRole.MBARRIER)
        is_named = AddressSpace.SHARED_CLUSTER in statement.opcode.spaces
        return is_named or self.places.is_remote(mbarrier)


def _is_of_pair(statement: Statement, what: str) -> bool:
    is_it = statement.operation == f"tcgen05 {what}"
    return is_it and _PAIR in statement.opcode.modifiers
