"""Which asynchronous operations of a PTX kernel a thread is too early after.

A forward dataflow over the blocks. The state at a point has, of each row of ``COMPLETIONS``, the
operations that some path brings here in flight: those that no commit has put in a group yet, and
the groups from the newest on, so that a wait which leaves some is followed exactly. An access
*surely* meets an operation in flight where both are at one address, which has not been computed
anew since. Pipelines of several buffers have copies in flight while they use others: what only
may meet is held against a kernel that never waits for operations of the kind, or a loop that
issues the same one again without any wait for a group between. What other threads do is not looked into, but
for tensor memory, which is left to them by telling them to go on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencewright.checker.ptx_flow import states
from fencewright.checker.ptx_places import Overlap, Place, Places, overlap
from fencewright.checker.ptx_text import PtxInstruction
from fencewright.lowering.ptx.completions import COMPLETIONS, MEETS, TELLS, Completion, Left
from fencewright.lowering.ptx.statements import (
    Access,
    AccessProxy,
    EffectKind,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.vocabulary import AddressSpace, Scope
from fencewright.simulator.core.relation import bits

_DEPTH = 8
"""Groups that are told apart; PTX code of today waits for all but 7 at most."""


@dataclass(frozen=True, slots=True)
class Unwaited:
    """``later`` is in conflict with what ``before``, in flight, may yet do.

    ``what``: the register or memory; ``sure``: it is the same, else it may be. ``told``: it has been
    waited for, but after the barrier from which others go on.
    """

    before: PtxInstruction
    later: PtxInstruction
    completion: Completion
    what: str
    sure: bool
    told: bool


@dataclass(frozen=True, slots=True)
class _Flight:
    """Operations of one row in flight, as masks: in no group yet, in groups from the newest on.

    ``told``: those that were in flight at the last barrier, from which others may go on. ``since``:
    those issued since the last wait of any kind, ``again``: those issued twice since.
    """

    open: int = 0
    groups: tuple[int, ...] = ()
    told: int = 0
    since: int = 0
    again: int = 0

    @property
    def all(self) -> int:
        """Every operation in flight."""
        found = self.open
        for each in self.groups:
            found |= each
        return found

    def join(self, other: "_Flight") -> "_Flight":
        """What is in flight on either path; groups meet by age, which is what waits count."""
        most = max(len(self.groups), len(other.groups))
        pairs = zip(_padded(self.groups, most), _padded(other.groups, most), strict=True)
        return _Flight(
            self.open | other.open,
            tuple(a | b for a, b in pairs),
            self.told | other.told,
            self.since | other.since,
            self.again | other.again,
        )

    def issued(self, bit: int) -> "_Flight":
        """After the issue of an operation."""
        again = self.again | self.since & bit
        return replace(self, open=self.open | bit, since=self.since | bit, again=again)

    def committed(self) -> "_Flight":
        """After a commit: one group more, even if it is empty."""
        groups = (self.open, *self.groups)
        if len(groups) > _DEPTH:
            groups = (*groups[: _DEPTH - 1], groups[_DEPTH - 1] | groups[_DEPTH])
        return replace(self, open=0, groups=groups)

    def down_to(self, left: int) -> "_Flight":
        """After a wait that leaves so many groups; what is in none is not waited for."""
        return replace(self, groups=self.groups[:left], since=0, again=0)

    def without(self, mask: int) -> "_Flight":
        """After a wait for some of the operations."""
        groups = tuple(each & ~mask for each in self.groups)
        return replace(self, open=self.open & ~mask, groups=groups, since=0, again=0)


def _padded(groups: tuple[int, ...], most: int) -> tuple[int, ...]:
    return groups + (0,) * (most - len(groups))


@dataclass(frozen=True, slots=True)
class _State:
    """``flights``: one for each row. ``same``: operations whose addresses have not changed since."""

    flights: tuple[_Flight, ...]
    same: int = 0

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        flights = tuple(a.join(b) for a, b in zip(self.flights, other.flights, strict=True))
        return _State(flights, self.same | other.same)


_NOTHING = _State((_Flight(),) * len(COMPLETIONS))


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation of a row: the registers and places that it is not done with when it is issued.

    ``signals``: what the address of its mbarrier begins with, if it has one.
    """

    instruction: PtxInstruction
    row: int
    registers: frozenset[str]
    places: tuple[Place, ...]
    signals: str

    @property
    def completion(self) -> Completion:
        """Its row."""
        return COMPLETIONS[self.row]


class WaitAnalysis:
    """The asynchronous operations of one function, and what comes too early after them."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self._copies = self._copied()
        self.operations = [*self._operations()]
        self._of: dict[int, list[int]] = {}
        self._at: dict[str, int] = {}
        for bit, each in enumerate(self.operations):
            self._of.setdefault(each.instruction.number, []).append(bit)
            for place in each.places:
                self._at[place.root] = self._at.get(place.root, 0) | 1 << bit
        statements = [each.statement for each in self.function.instructions]
        self._waits = [any(_is_wait(each, row) for each in statements) for row in COMPLETIONS]

    def missing(self) -> Iterator[Unwaited]:
        """What comes too early, in the order of the text."""
        if not self.operations:
            return
        for each, state in states(self.function, _NOTHING, self._after):
            yield from self._too_early(each, state)

    # What there is

    def _operations(self) -> Iterator[_Operation]:
        for each in self.function.instructions:
            for row, completion in enumerate(COMPLETIONS):
                if not _is_of(each.statement, completion):
                    continue
                registers = self._registers_of(each) if completion.left is Left.REGISTERS else ()
                places = tuple(self._left(each.statement, completion))
                if registers or places or completion.left is Left.WRITES_GLOBAL:
                    mbarrier = each.statement.operand(OperandRole.SIGNAL)
                    root = self.places.root_of(mbarrier) if mbarrier else ""
                    yield _Operation(each, row, frozenset(registers), places, root)

    def _registers_of(self, each: PtxInstruction) -> Sequence[str]:
        """The registers that it writes, and those that are copies of one of them alone."""
        found = [*each.statement.defines]
        for name in found:
            found += self._copies.get(name, ())
        return found

    def _copied(self) -> Mapping[str, Sequence[str]]:
        """The registers that are written once, by a copy, by what they are copies of."""
        found: dict[str, list[str]] = {}
        for name, made in self.places.written.items():
            if made is not None and made.statement.operation == "mov":
                for each in made.statement.uses:
                    found.setdefault(each, []).append(name)
        return found

    def _left(self, statement: Statement, completion: Completion) -> Iterator[Place]:
        """Where it yet reads or writes: in tensor memory, or in shared memory of this CTA."""
        if completion.conflicts is not None:
            yield from self._in_tensor_memory(statement)
            return
        if completion.left not in (Left.WRITES, Left.READS):
            return
        accesses = [each for each in statement.accesses if each.address]
        if completion.left is Left.READS:
            wanted = [each for each in accesses if each.reads]
        elif any(each.space is AddressSpace.LOCAL and each.reads for each in accesses):
            # To another CTA of the cluster, whose threads wait for it.
            return
        else:
            wanted = [each for each in accesses if each.writes]
        for access in wanted:
            place = self.places.of(access)
            if place.may_be_shared and not self.places.is_remote(access.address):
                yield place

    def _in_tensor_memory(self, statement: Statement) -> Iterator[Place]:
        for role, operand in statement.with_roles():
            is_matrix = role is OperandRole.DESCRIPTOR and operand.startswith("[")
            if role is OperandRole.TENSOR_MEMORY or is_matrix:
                address = operand.strip("[] ")
                yield self.places.of(
                    Access(address, True, True, AccessProxy.GENERIC, None, size=None)
                )

    # How it goes on

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        if statement.kind is EffectKind.OPAQUE or statement.operation == "call":
            # It may wait for anything.
            return _NOTHING
        same = state.same
        for register in statement.defines:
            same &= ~self._at.get(register, 0)
        flights = state.flights
        if statement.kind is not EffectKind.NONE:
            flights = tuple(
                self._through(statement, row, flight)
                for row, flight in zip(COMPLETIONS, flights, strict=True)
            )
        for bit in self._of.get(each.number, ()):
            row = self.operations[bit].row
            flights = (*flights[:row], flights[row].issued(1 << bit), *flights[row + 1 :])
            same |= 1 << bit
        return _State(flights, same)

    def _through(self, statement: Statement, row: Completion, flight: _Flight) -> _Flight:
        if row.conflicts is not None and statement.operation in MEETS:
            return replace(flight, told=flight.all)
        if row.commit and statement.operation == row.commit:
            return flight.committed()
        if not _is_wait(statement, row) or not flight.all:
            return flight
        if row.commit and statement.operation in row.waits:
            return flight.down_to(number(statement.operands[0]) or 0)
        mbarrier = statement.operand(OperandRole.MBARRIER)
        return flight.without(self._signalled(flight.all, self.places.root_of(mbarrier)))

    def _signalled(self, mask: int, mbarrier: str) -> int:
        """Those operations that are done after a wait at an mbarrier, as far as its address says."""
        known = self.places.variables
        others = [
            1 << bit
            for bit in bits(mask)
            if mbarrier in known
            and self.operations[bit].signals in known
            and self.operations[bit].signals != mbarrier
        ]
        return mask & ~sum(others)

    # What comes too early

    def _too_early(self, each: PtxInstruction, state: _State) -> Iterator[Unwaited]:
        for flight, is_waited_for in zip(state.flights, self._waits, strict=True):
            for bit in bits(flight.all | flight.told):
                before = self.operations[bit]
                if before.instruction.number == each.number:
                    continue
                what, overlaps = self._conflict(each.statement, before)
                sure = overlaps is Overlap.SURE and bool(state.same >> bit & 1)
                unheld = flight.again >> bit & 1 and before.completion.commit
                if sure or (overlaps is not Overlap.NO and (unheld or not is_waited_for)):
                    told = not flight.all >> bit & 1
                    yield Unwaited(before.instruction, each, before.completion, what, sure, told)

    def _conflict(self, later: Statement, before: _Operation) -> tuple[str, Overlap]:
        """What both are of, and whether they are of the same."""
        if before.completion.left is Left.REGISTERS:
            early = self._register(later, before)
            return early, Overlap.SURE if early else Overlap.NO
        if before.completion.left is Left.WRITES_GLOBAL:
            return "global memory", Overlap.SURE if _publishes(later) else Overlap.NO
        if before.completion.conflicts is None:
            return "shared memory", self._in_shared_memory(later, before)
        return "tensor memory", self._of_tensor_memory(later, before)

    def _register(self, later: Statement, before: _Operation) -> str:
        """A register that is used too early; "" if none is."""
        statement = before.instruction.statement
        # Products add to the registers of those before them without a wait, and LLVM gives
        # registers other names at once.
        is_next = later.operation in ("wgmma fence", statement.operation)
        if is_next or (later.operation == "mov" and before.registers.issuperset(later.defines)):
            return ""
        matrix = statement.operand(OperandRole.DESCRIPTOR)
        read = frozenset(names_in(matrix)) if matrix.startswith("{") else frozenset[str]()
        early = [each for each in (*later.uses, *later.defines) if each in before.registers]
        return next(iter([*early, *(each for each in later.defines if each in read)]), "")

    def _in_shared_memory(self, later: Statement, before: _Operation) -> Overlap:
        of_writes = before.completion.left is Left.WRITES
        places = [
            self.places.of(access)
            for access in later.accesses
            if access.address
            and (access.writes or of_writes)
            and access.proxy in (AccessProxy.GENERIC, AccessProxy.ASYNC)
        ]
        found = [_met(a, b) for a in places if a.may_be_shared for b in before.places]
        return max(found, default=Overlap.NO)

    def _of_tensor_memory(self, later: Statement, before: _Operation) -> Overlap:
        completion = before.completion
        if completion.told and later.operation in TELLS:
            return Overlap.SURE
        if completion.conflicts is None or later.operation not in completion.conflicts:
            return Overlap.NO
        places = [*self._in_tensor_memory(later)]
        return max((overlap(a, b) for a in places for b in before.places), default=Overlap.MAYBE)


def _is_wait(statement: Statement, completion: Completion) -> bool:
    is_less = completion.unless and completion.unless in statement.opcode.name.split(".")
    return statement.operation in completion.waits | completion.all_waits and not is_less


def _publishes(statement: Statement) -> bool:
    """Whether it releases what the thread has done to other work-groups."""
    releases = statement.ordering is not None and statement.ordering.releases
    is_wide = statement.scope is not None and statement.scope.includes(Scope.AGENT)
    return releases and is_wide and statement.kind in (EffectKind.MEMORY, EffectKind.SYNC)


def _is_of(statement: Statement, completion: Completion) -> bool:
    words = statement.opcode.name.split(".")
    has_word = not completion.word or completion.word in words
    return statement.operation in completion.operations and has_word


def _met(a: Place, b: Place) -> Overlap:
    """As ``overlap``; what comes of no common variable or register is taken to be apart."""
    return overlap(a, b) if a.root == b.root or a.variables & b.variables else Overlap.NO
