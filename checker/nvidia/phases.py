"""Mbarriers that are asked for the wrong phase, told of the wrong bytes, or not listened to.

Only mbarriers at one address that the text knows are looked at: a variable, or a register that is
not computed anew. A wait in a loop that has one parity, while arrivals in the same loop complete a
phase in each round, finds the phase before the last one complete from the second round on. Source:
PTX ISA, "mbarrier", "Phase of the mbarrier object"; "mbarrier.try_wait"; "mbarrier.inval";
"expect-tx".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Access, Kind
from fencewright.lowering.code.loops import loops_of
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    MBARRIER_WAITS,
    PROXY_FENCES,
    SYNCHRONISING,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering

_ORDERING = SYNCHRONISING | {Kind.WAIT}
_INITS, _ENDS = "mbarrier init", "mbarrier inval"
_EXPECTS = frozenset(
    {"mbarrier expect_tx", "mbarrier arrive expect_tx", "mbarrier arrive_drop expect_tx"}
)


class Misuse(FastStrEnum):
    """What is wrong with an operation on an mbarrier."""

    PHASE = "a wait for one parity, round after round"
    UNUSED_RESULT = "a wait whose answer is not used"
    NO_BYTES = "bytes that nobody expects"
    BYTES = "other bytes than are expected"
    ALIVE = "an access to an mbarrier that is in use"
    RELAXED_WAIT = "a relaxed wait for what threads wrote"
    RELAXED_ARRIVAL = "a relaxed arrival after what the thread wrote"


@dataclass(frozen=True, slots=True)
class Misused:
    """``at`` misuses an mbarrier; ``other``: what shows it. ``found``, ``wanted``: numbers of
    bytes."""

    misuse: Misuse
    at: PtxInstruction
    other: PtxInstruction | None
    found: int = 0
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions: mbarriers in use, weak writes since a release, relaxed waits since an
    acquire."""

    alive: int = 0
    unreleased: int = 0
    relaxed: int = 0

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        return _State(
            self.alive | other.alive,
            self.unreleased | other.unreleased,
            self.relaxed | other.relaxed,
        )


class PhaseAnalysis:
    """The mbarriers of one function."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self.instructions = tuple(self.function.instructions)
        self._number = {each.number: n for n, each in enumerate(self.instructions)}
        self._at = [self._place(each.statement) for each in self.instructions]
        self.is_used = any(self._at)

    def misused(self) -> Iterator[Misused]:
        """What is wrong, in the order of the text."""
        if not self.is_used:
            return
        found = [*self._phases(), *self._unheard(), *self._bytes(), *self._states()]
        yield from sorted(found, key=lambda each: each.at.number)

    def _place(self, statement: Statement) -> Place | None:
        name = statement.operand(OperandRole.MBARRIER) or statement.operand(OperandRole.SIGNAL)
        return self.places.of_mbarrier(name) if name else None

    def _is_same(self, a: int, b: int) -> bool:
        first, second = self._at[a], self._at[b]
        return (
            first is not None
            and second is not None
            and overlap(first, second) is Overlap.SURE
            and (first.root in self.places.variables or first.root in self.places.written)
        )

    # Phases

    def _phases(self) -> Iterator[Misused]:
        seen: set[int] = set()
        for _, body in loops_of(self.function.blocks):
            inside = [
                self._number[each.number]
                for block in sorted(body)
                for each in self.function.blocks[block].instructions
            ]
            changed = {name for n in inside for name in self.instructions[n].statement.defines}
            for wait in inside:
                if wait in seen or not self._is_wait(wait):
                    continue
                arrival = self._completes(inside, wait, changed)
                if arrival is not None and self._is_one_parity(inside, wait, changed):
                    seen.add(wait)
                    at, other = self.instructions[wait], self.instructions[arrival]
                    yield Misused(Misuse.PHASE, at, other)

    def _is_wait(self, n: int) -> bool:
        name = self.instructions[n].statement.opcode.name
        return self.instructions[n].statement.operation in MBARRIER_WAITS and ".parity" in name

    def _completes(self, inside: Sequence[int], wait: int, changed: set[str]) -> int | None:
        """An arrival in the loop at the mbarrier of a wait, which stays the same."""
        place = self._at[wait]
        assert place is not None
        if place.root in changed or not place.root:
            return None
        same = [n for n in inside if n != wait and self._is_same(n, wait)]
        names = {n: self.instructions[n].statement.operation for n in same}
        if any(each in (_INITS, _ENDS) for each in names.values()):
            return None
        return next((n for n in same if names[n] in ARRIVALS | {"tcgen05 commit"}), None)

    def _is_one_parity(self, inside: Sequence[int], wait: int, changed: set[str]) -> bool:
        parities = {
            self.instructions[n].statement.operands[2]
            for n in inside
            if self._is_wait(n) and self._is_same(n, wait)
        }
        return len(parities) == 1 and changed.isdisjoint(names_in(next(iter(parities))))

    # Answers

    def _unheard(self) -> Iterator[Misused]:
        used = {name for each in self.instructions for name in each.statement.uses}
        for each in self.instructions:
            statement = each.statement
            if statement.operation in MBARRIER_WAITS and not statement.loops:
                if used.isdisjoint(statement.defines):
                    yield Misused(Misuse.UNUSED_RESULT, each, None)

    # Bytes

    def _bytes(self) -> Iterator[Misused]:
        if any(each.statement.operation == "call" for each in self.instructions):
            return
        copies = [
            n
            for n, each in enumerate(self.instructions)
            if each.statement.kind in (Kind.COPY, Kind.TENSOR)
            and "mbarrier::complete_tx::bytes" in each.statement.opcode.modifiers
            and not self.places.is_remote(each.statement.operand(OperandRole.SIGNAL))
        ]
        expects = [
            n for n, each in enumerate(self.instructions) if each.statement.operation in _EXPECTS
        ]
        for n in copies:
            place = self._at[n]
            own = place is not None and place.exact and self._is_initialised(n)
            if own and not any(self._may_be_same(n, each) for each in expects):
                yield Misused(Misuse.NO_BYTES, self.instructions[n], None)
        for n in expects:
            yield from self._in_block(n, copies)

    def _is_initialised(self, n: int) -> bool:
        return any(
            each.statement.operation == _INITS and self._is_same(m, n)
            for m, each in enumerate(self.instructions)
        )

    def _may_be_same(self, a: int, b: int) -> bool:
        first, second = self._at[a], self._at[b]
        return first is None or second is None or overlap(first, second) is not Overlap.NO

    def _in_block(self, expects: int, copies: Sequence[int]) -> Iterator[Misused]:
        """What a block copies on an mbarrier, where it expects a number of bytes once."""
        at = self.instructions[expects]
        block = next(b for b in self.function.blocks if at in b.instructions)
        inside = [self._number[each.number] for each in block.instructions]
        place = self._at[expects]
        others = [
            n
            for n in inside
            if n != expects and self.instructions[n].statement.operation in _EXPECTS
        ]
        wanted = number(at.statement.operands[-1])
        mine = [n for n in copies if n in inside]
        if place is None or not place.exact or wanted is None or not mine:
            return
        if any(self._may_be_same(n, expects) for n in others):
            return
        guard = at.statement.guard
        sizes = [self._size(n) for n in mine if self._may_be_same(n, expects)]
        elsewhere = [n for n in copies if n not in inside and self._may_be_same(n, expects)]
        same_guard = all(self.instructions[n].statement.guard == guard for n in mine)
        known = [each for each in sizes if each is not None]
        if elsewhere or not same_guard or not sizes or len(known) != len(sizes):
            return
        if sum(known) != wanted:
            other = self.instructions[mine[0]]
            yield Misused(Misuse.BYTES, at, other, sum(known), wanted)

    def _size(self, n: int) -> int | None:
        statement = self.instructions[n].statement
        is_multicast = any(each.startswith("multicast") for each in statement.opcode.modifiers)
        if is_multicast or statement.kind is Kind.TENSOR:
            return None
        return next((each.size for each in statement.accesses if each.writes), None)

    # What is used, and ordered

    def _states(self) -> Iterator[Misused]:
        waits_relaxed: set[int] = set()
        for each, state in states(self.function, _State(), self._after):
            n = self._number[each.number]
            if alive := next(self._meets(n, state.alive), None):
                yield Misused(Misuse.ALIVE, each, alive)
            statement = each.statement
            if statement.operation in ARRIVALS and statement.ordering is Ordering.RELAXED:
                for other in bits(state.unreleased):
                    yield Misused(Misuse.RELAXED_ARRIVAL, each, self.instructions[other])
                    break
            if any(access.reads for access in _shared(statement)):
                for other in bits(state.relaxed):
                    if other not in waits_relaxed:
                        waits_relaxed.add(other)
                        yield Misused(Misuse.RELAXED_WAIT, self.instructions[other], each)

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, n = each.statement, self._number[each.number]
        alive, unreleased, relaxed = state.alive, state.unreleased, state.relaxed
        if statement.kind is Kind.OPAQUE or statement.operation == "call":
            return _State()
        if statement.operation == _INITS:
            alive |= 1 << n
        elif statement.operation == _ENDS:
            alive &= ~sum(1 << m for m in bits(alive) if self._may_be_same(m, n))
        if any(access.writes for access in _shared(statement)):
            unreleased |= 1 << n
        ordering = statement.ordering
        is_order = statement.kind in _ORDERING and statement.operation not in PROXY_FENCES
        releases = is_order and ordering is not None and ordering.releases
        if releases and not statement.guard:
            unreleased = 0
        if is_order and ordering is not None and ordering.acquires:
            relaxed = 0
        elif statement.operation in MBARRIER_WAITS and ordering is Ordering.RELAXED:
            relaxed |= 1 << n
        return _State(alive, unreleased, relaxed)

    def _meets(self, n: int, alive: int) -> Iterator[PtxInstruction]:
        statement = self.instructions[n].statement
        if statement.kind not in ACCESSES or not alive:
            return
        for access in statement.accesses:
            place = self.places.of(access)
            if not access.writes or not place.exact or not access.address:
                continue
            for m in bits(alive):
                other = self._at[m]
                if other is not None and overlap(place, other) is Overlap.SURE:
                    yield self.instructions[m]


def _shared(statement: Statement) -> Iterator[Access]:
    """The weak accesses of shared memory."""
    if statement.kind in ACCESSES and not statement.is_strong:
        yield from (each for each in statement.accesses if each.space is AddressSpace.LOCAL)
