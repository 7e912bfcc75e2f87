"""Flags of PTX kernels that order nothing: what is stored before them, and read after them.

A loop that waits for memory to change waits for what another thread did before it changed it. If
what it reads is used for nothing but to wait, and the read is no acquire, nothing that is read
after the loop needs to be newer than the flag; a weak read need not see it change at all. So it is
with what the same kernel writes to such a flag without a release, and with a counter whose result
says who goes on to read what the others have left. Orders are those of ``ptx_orders``. Source: PTX
ISA, "Release and Acquire Patterns"; "Causality order".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fencewright.checker.nvidia.guarantees import releases_at
from fencewright.checker.nvidia.orders import Orders
from fencewright.checker.source.obligations import Order
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.code.loops import loops_of
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.statements import ACCESSES, SILENT, Statement
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.code.values import Values
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Scope

_DOES_MORE = (Kind.COPY, Kind.TENSOR, Kind.OPAQUE)
_ADDS = frozenset({"add", "inc", "dec"})


class Flag(FastStrEnum):
    """What a flag does not do."""

    WAIT = "its read does not acquire"
    SIGNAL = "its write does not release"
    WEAK = "its read is weak"


@dataclass(frozen=True, slots=True)
class Unordered:
    """``at`` reads or writes a flag; ``other``: what it does not order, if anything.

    ``scope``: up to which it should.
    """

    flag: Flag
    at: PtxInstruction
    other: PtxInstruction | None
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Spin:
    """A read that a loop waits by; ``is_pure``: its value is used for nothing else."""

    read: PtxInstruction
    place: Place
    is_pure: bool


class SpinAnalysis:
    """The flags of one function."""

    def __init__(self, places: Places, values: Values):
        self.places = places
        self.function = places.function
        self.values = values
        self.instructions = tuple(self.function.instructions)
        self._waiting: set[int] = set()
        self.spins = [*self._spins()]
        self._users = self._uses()
        self.counters = [each for each in self.instructions if self._counts(each)]

    def missing(self) -> Iterator[Unordered]:
        """The flags that order nothing, in the order of the text."""
        found = [*self._narrow()]
        found += [
            Unordered(Flag.WEAK, each.read, None, Scope.SYSTEM)
            for each in self.spins
            if not each.read.statement.is_strong
        ]
        if self.spins or self.counters:
            found += self._unordered(Orders(self.function))
        yield from sorted(found, key=lambda each: each.at.number)

    # Loops that wait

    def _spins(self) -> Iterator[_Spin]:
        seen: set[int] = set()
        for _, body in loops_of(self.function.blocks):
            steps = [each for n in body for each in self.function.blocks[n].instructions]
            reads = [each for each in steps if _may_be_flag(each.statement)]
            if not reads or any(_does_more(each.statement) for each in steps):
                continue
            changed = {name for each in steps for name in each.statement.defines}
            reads = [each for each in reads if changed.isdisjoint(_address_names(each.statement))]
            depends = _depending(steps, reads)
            if not self._leads_out(body, depends):
                continue
            self._waiting.update(each.number for each in steps)
            for each in reads:
                if each.number not in seen:
                    seen.add(each.number)
                    place = self.places.of(each.statement.accesses[0])
                    yield _Spin(each, place, not self._is_used_beyond(depends, steps))

    def _leads_out(self, body: frozenset[int], depends: set[str]) -> bool:
        """Whether every way out of a loop depends on what it reads."""
        ends = [
            self.function.blocks[n].instructions[-1].statement
            for n in body
            if not body.issuperset(self.function.blocks[n].successors)
        ]
        return bool(ends) and all(not depends.isdisjoint(each.uses) for each in ends)

    def _is_used_beyond(self, depends: set[str], steps: Sequence[PtxInstruction]) -> bool:
        inside = {each.number for each in steps}
        return any(
            not depends.isdisjoint(each.statement.uses)
            for each in self.instructions
            if each.number not in inside
        )

    def _counts(self, each: PtxInstruction) -> bool:
        """Whether it adds to a counter in global memory, whose result then decides a branch."""
        statement = each.statement
        adds = statement.operation == "atom" and statement.opcode.update in _ADDS
        if not adds or _is_shared(self.places.of(statement.accesses[0])):
            return False
        depends = set(statement.defines)
        work = [*depends]
        while work:
            for user in self._users.get(work.pop(), ()):
                if user.statement.operation == "bra":
                    # What a loop waits against says nothing of who is last: the loop acquires.
                    if user.number > each.number and user.number not in self._waiting:
                        return True
                    continue
                work += [name for name in user.statement.defines if name not in depends]
                depends.update(user.statement.defines)
        return False

    def _uses(self) -> Mapping[str, Sequence[PtxInstruction]]:
        """The instructions that compute with a register, and the branches that it decides."""
        found: dict[str, list[PtxInstruction]] = {}
        for each in self.instructions:
            if each.statement.kind in SILENT or each.statement.operation == "bra":
                for name in each.statement.uses:
                    found.setdefault(name, []).append(each)
        return found

    # What is not ordered

    def _unordered(self, orders: Orders) -> Iterator[Unordered]:
        stores = [(each, place) for each, place in self._weak(writes=True)]
        loads = [(each, place) for each, place in self._weak(writes=False)]
        roots = {each.place.root for each in self.spins}
        waited = {each.read.number for each in self.spins}
        for each in self.instructions:
            # What a loop waits by takes the flag; it does not give it to others.
            if each.number in waited or not self._is_flag_write(each, roots):
                continue
            scope = _scope_of(each.statement)
            for store, place in stores:
                if place.root not in roots and orders.is_open(Order.RELEASE, store, each, scope):
                    yield Unordered(Flag.SIGNAL, each, store, scope)
                    break
        for spin in self.spins:
            if not spin.is_pure or not spin.read.statement.is_strong or _is_shared(spin.place):
                continue
            scope = _scope_of(spin.read.statement)
            for load, place in loads:
                if place.root != spin.place.root and orders.is_open(
                    Order.ACQUIRE, spin.read, load, scope
                ):
                    yield Unordered(Flag.WAIT, spin.read, load, scope)
                    break
        for each in self.counters:
            yield from self._of_counter(orders, each, stores, loads)

    def _of_counter(
        self,
        orders: Orders,
        counter: PtxInstruction,
        stores: Sequence[tuple[PtxInstruction, Place]],
        loads: Sequence[tuple[PtxInstruction, Place]],
    ) -> Iterator[Unordered]:
        """Who counts last reads what the others stored."""
        scope = _scope_of(counter.statement)
        for load, read in loads:
            if not orders.comes_before(counter, load):
                continue
            for store, written in stores:
                if not orders.comes_before(store, counter) or not self._is_exchanged(written, read):
                    continue
                if orders.is_open(Order.RELEASE, store, counter, scope):
                    yield Unordered(Flag.SIGNAL, counter, store, scope)
                    return
                if orders.is_open(Order.ACQUIRE, counter, load, scope):
                    yield Unordered(Flag.WAIT, counter, load, scope)
                    return

    def _is_exchanged(self, written: Place, read: Place) -> bool:
        """Whether one thread may read what another one wrote: by one pointer, at other places."""
        same = self._pointer(written) == self._pointer(read)
        return same and overlap(written, read) is not Overlap.SURE

    def _pointer(self, place: Place) -> str:
        address = self.values.address(place.root)
        return place.root if address is None else address.variable

    def _weak(self, *, writes: bool) -> Iterator[tuple[PtxInstruction, Place]]:
        """The weak accesses of global memory through the generic proxy."""
        for each in self.instructions:
            statement = each.statement
            if statement.kind not in ACCESSES or statement.is_strong:
                continue
            for access in statement.accesses:
                place = self.places.of(access)
                wanted = access.writes if writes else access.reads
                generic = access.proxy is Proxy.GENERIC and access.address
                if wanted and generic and place.space is AddressSpace.GLOBAL:
                    yield each, place

    def _is_flag_write(self, each: PtxInstruction, roots: set[str]) -> bool:
        statement = each.statement
        if statement.kind not in ACCESSES or not statement.is_strong:
            return False
        scope = statement.scope
        if scope is None or not scope.includes(Scope.AGENT):
            return False
        return any(
            access.writes and self.places.of(access).root in roots for access in statement.accesses
        )

    def _narrow(self) -> Iterator[Unordered]:
        """A fence, and right after it a strong store for more threads than it is for."""
        for block in self.function.blocks:
            heard = [each for each in block.instructions if each.statement.kind not in SILENT]
            for before, (fence, store) in zip(heard, pairwise(heard[1:]), strict=False):
                upto, scope = releases_at(fence.statement), store.statement.scope
                is_fence = fence.statement.operation in ("fence", "membar")
                is_store = store.statement.operation == "st" and store.statement.is_strong
                if upto is None or scope is None or not is_fence or not is_store:
                    continue
                if (
                    not upto.includes(scope)
                    and scope.includes(Scope.AGENT)
                    and _is_weak_store(before)
                ):
                    yield Unordered(Flag.SIGNAL, store, before, scope)


def _may_be_flag(statement: Statement) -> bool:
    return statement.operation in ("ld", "atom") and bool(statement.accesses)


def _is_weak_store(each: PtxInstruction) -> bool:
    return each.statement.operation == "st" and not each.statement.is_strong


def _does_more(statement: Statement) -> bool:
    is_store = statement.operation in ("st", "red", "call")
    return is_store or statement.kind in _DOES_MORE


def _is_shared(place: Place) -> bool:
    return place.space is not None and place.space is not AddressSpace.GLOBAL


def _scope_of(statement: Statement) -> Scope:
    """Up to which scope a flag is to order: its own, but of ``volatile`` the GPU will do."""
    scope = statement.scope
    if scope is None or statement.opcode.volatile or not scope.includes(Scope.AGENT):
        return Scope.AGENT if scope is not Scope.WORKGROUP else Scope.WORKGROUP
    return scope


def _address_names(statement: Statement) -> set[str]:
    defined = set(statement.defines)
    return {name for name in statement.uses if name not in defined}


def _depending(steps: Sequence[PtxInstruction], reads: Sequence[PtxInstruction]) -> set[str]:
    """The registers that depend on what ``reads`` read, but for what is loaded by them."""
    depends = {name for each in reads for name in each.statement.defines}
    grown = -1
    while grown != len(depends):
        grown = len(depends)
        for each in steps:
            statement = each.statement
            computes = statement.kind in SILENT
            if computes and not depends.isdisjoint(statement.uses):
                depends.update(statement.defines)
    return depends
