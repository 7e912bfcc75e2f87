"""What threads of a CTA write and others access with no barrier between, in one PTX function.

A forward dataflow has the accesses of shared memory, and of what a kernel's parameters point to,
since the last barrier of any kind. All threads run the same text, so that of two accesses one may
be by another thread than the other. They are held against each other only where the text says that
they meet: both at one place, one of them a write by some threads alone; one at a fixed place, one
at places of threads that begin there; places of neighbours; places that two different expressions
choose by the thread, of which the thread does not write the second itself. Accesses under a
condition that depends on the thread are left out of the last two: pairs of threads take turns so.
Source: PTX ISA, "Data races"; "bar.sync".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES, MBARRIER_WAITS, Statement
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.code.values import Address, Elections, Values
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import AddressSpace

_LANES = 32
_BARRIERS = (
    MEETS
    | MBARRIER_WAITS
    | {"bar warp sync", "barrier cluster wait", "call", "shfl", "vote", "match", "redux"}
)
"""What threads may wait for one another at. PTX gives the last four no order, but code relies on
it."""
_DATA = frozenset({"ld", "st", "cp async", "tcgen05 alloc"})
_COPIES_DONE = frozenset({"cp async wait_group", "cp async wait_all"})
_IN_TENSOR_MEMORY = frozenset({"tcgen05 ld", "tcgen05 st"})
_FREES = "tcgen05 dealloc"


@dataclass(frozen=True, slots=True)
class Race:
    """``later`` may meet what ``before`` accesses, in another thread, with no barrier between."""

    before: PtxInstruction
    later: PtxInstruction
    what: str


@dataclass(frozen=True, slots=True)
class _Access:
    instruction: PtxInstruction
    address: Address | None
    size: int
    writes: bool
    elected: bool
    is_global: bool


@dataclass(frozen=True, slots=True)
class _State:
    """The accesses on some path since the last barrier, and the copies that are not waited for."""

    since: int = 0
    copies: int = 0

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        return _State(self.since | other.since, self.copies | other.copies)


class RaceAnalysis:
    """The accesses of one function that have no barrier between them."""

    def __init__(self, places: Places, values: Values):
        self.places = places
        self.function = places.function
        self.values = values
        self.accesses: list[_Access] = []
        self._of: dict[int, int] = {}
        if places.function.is_entry and places.function.threads != (1, 1, 1):
            self._read(Elections(places, self.values))
        self._written = {each.address for each in self.accesses if each.writes}

    def missing(self) -> Iterator[Race]:
        """The pairs, in the order of the text: one for each later access."""
        if not any(each.writes for each in self.accesses):
            return
        seen: set[int] = set()
        for each, state in states(self.function, _State(), self._after):
            number = self._of.get(each.number)
            if number is None or each.number in seen:
                continue
            later = self.accesses[number]
            for bit in bits(state.since):
                before = self.accesses[bit]
                if bit != number and self._meet(before, later):
                    seen.add(each.number)
                    yield Race(before.instruction, each, self._what(later))
                    break

    def _read(self, elections: Elections) -> None:
        for each in self.function.instructions:
            statement = each.statement
            name = statement.operation
            elected = elections.is_elected(each.number, statement.guard)
            made: _Access | None = None
            if name in _IN_TENSOR_MEMORY or name == _FREES:
                made = _Access(each, None, 0, name == _FREES, elected, False)
            elif name in _DATA and not statement.is_strong:
                made = self._data(each, elected or name == "tcgen05 alloc")
            if made is not None:
                self._of[each.number] = len(self.accesses)
                self.accesses.append(made)

    def _data(self, each: PtxInstruction, elected: bool) -> _Access | None:
        for access in each.statement.accesses:
            if access.proxy is not Proxy.GENERIC or not access.address:
                continue
            is_copy = each.statement.operation == "cp async"
            if is_copy and not access.writes:
                continue
            place = self.places.of(access)
            known = place.space in (AddressSpace.LOCAL, AddressSpace.GLOBAL)
            if not known or (size := access.size or (4 if access.writes else 0)) == 0:
                continue
            address = self.values.address(access.address)
            if address is None or not (address.is_fixed or address.is_own):
                continue
            is_global = place.space is AddressSpace.GLOBAL
            return _Access(each, address, size, access.writes, elected, is_global)
        return None

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        if _is_barrier(statement):
            completes = statement.operation in MBARRIER_WAITS or statement.kind is Kind.OPAQUE
            return _State(0, 0 if completes else state.copies)
        if statement.operation in _COPIES_DONE:
            return _State(state.since | state.copies)
        number = self._of.get(each.number)
        if number is None:
            return state
        if statement.operation == "cp async":
            return _State(state.since, state.copies | 1 << number)
        return _State(state.since | 1 << number, state.copies)

    def _what(self, later: _Access) -> str:
        if later.address is None:
            return "tensor memory"
        return "global memory" if later.is_global else "shared memory"

    def _meet(self, before: _Access, later: _Access) -> bool:
        if not (before.writes or later.writes):
            return False
        a, b = before.address, later.address
        if a is None or b is None:
            # Tensor memory is freed by one warp.
            return a is b and later.writes and later.elected and not before.elected
        if a.variable != b.variable or before.is_global is not later.is_global:
            return False
        if a.is_fixed or b.is_fixed:
            return not before.is_global and _at_fixed_place(before, a, later, b)
        if before.elected or later.elected:
            return False
        if a.terms == b.terms:
            return not before.is_global and _are_neighbours(a, b)
        return (a in self._written) is not (b in self._written)


def _at_fixed_place(before: _Access, a: Address, later: _Access, b: Address) -> bool:
    """Whether other threads access a place that is the same for all, or the first threads' own."""
    if a.is_fixed and b.is_fixed:
        (low, size), (high, _) = sorted(((a.constant, before.size), (b.constant, later.size)))
        writer, other = (before, later) if before.writes else (later, before)
        return low + size > high and writer.elected and not other.elected
    (fixed, at), (own, begin) = (
        ((before, a), (later, b)) if a.is_fixed else ((later, b), (before, a))
    )
    return not fixed.elected and 0 <= at.constant - begin.constant < _LANES * own.size


def _are_neighbours(a: Address, b: Address) -> bool:
    """Whether a place is another thread's, by how far those of two threads are apart."""
    stride, distance = a.stride, abs(a.constant - b.constant)
    return stride is not None and 0 < stride <= distance < _LANES * stride


def _is_barrier(statement: Statement) -> bool:
    if statement.operation in _BARRIERS or statement.kind is Kind.OPAQUE:
        return True
    # A flag in memory, by which threads may wait.
    return statement.kind in ACCESSES and statement.is_strong
