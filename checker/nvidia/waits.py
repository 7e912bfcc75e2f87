"""Uses that come too early after asynchronous operations of a PTX kernel.

A forward dataflow over the blocks. The state at a point has, of each row of ``COMPLETIONS``, the
operations that some path brings here in flight: those that no commit has put in a group yet, and
the groups from the newest on, so that a wait which leaves some is followed exactly. An access
*surely* meets an operation in flight where both are at one address, which has not been computed
anew since. Pipelines of several buffers have copies in flight while they use others: what only
may meet is held against a kernel that never waits for operations of the kind, or a loop that
issues the same one again without any wait for a group between. What other threads do is not looked
into, but for tensor memory, which is left to them by telling them to go on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.conditions import Condition, Conditions
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    PROXY_FENCES,
    SILENT,
    SYNCHRONISING,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxBlock, PtxInstruction
from fencewright.lowering.ptx.completions import COMPLETIONS, MEETS, SIGNALS, Completion, Left
from fencewright.lowering.vocabulary import AddressSpace, Scope

_ORDERING = ACCESSES | SYNCHRONISING
_ENDS = ("ret", "exit")
_DEPTH = 8
"""The number of groups that are distinguished; PTX code of today waits for all but 7 at most."""


@dataclass(frozen=True, slots=True)
class MissingWait:
    """``later`` is in conflict with an access that ``before``, in flight, may yet do.

    ``what``: the register or memory; ``sure``: it is the same, else it may be. ``is_signalled``: it
    has been waited for, but after the barrier from which others go on.
    """

    before: PtxInstruction
    later: PtxInstruction
    completion: Completion
    what: str
    sure: bool
    is_signalled: bool


@dataclass(frozen=True, slots=True)
class _Flight:
    """Operations of one row in flight, as masks: in no group yet, in groups from the newest on.

    ``is_signalled``: those that were in flight at the last barrier, from which others may go on.
    ``since``: those issued since the last wait of any kind, ``again``: those issued twice since.
    ``waited``: those that some path has waited at least once after.
    ``direct``: those issued since the last wait at any mbarrier: at another one than their own,
    threads that waited for them may have signalled that their place is free.
    """

    open: int = 0
    groups: tuple[int, ...] = ()
    is_signalled: int = 0
    since: int = 0
    again: int = 0
    direct: int = 0
    waited: int = 0

    @property
    def all(self) -> int:
        """Every operation in flight."""
        found = self.open
        for each in self.groups:
            found |= each
        return found

    def join(self, other: "_Flight") -> "_Flight":
        """The operations in flight on either path; groups meet by age, which waits count."""
        most = max(len(self.groups), len(other.groups))
        pairs = zip(_padded(self.groups, most), _padded(other.groups, most), strict=True)
        return _Flight(
            self.open | other.open,
            tuple(a | b for a, b in pairs),
            self.is_signalled | other.is_signalled,
            self.since | other.since,
            self.again | other.again,
            self.direct | other.direct,
            self.waited | other.waited,
        )

    def issued(self, bit: int) -> "_Flight":
        """After the issue of an operation."""
        again = self.again | self.since & bit & ~self.waited
        return replace(
            self,
            open=self.open | bit,
            since=self.since | bit,
            again=again,
            direct=self.direct | bit,
            waited=self.waited & ~bit,
        )

    def committed(self) -> "_Flight":
        """After a commit: one group more, even if it is empty."""
        groups = (self.open, *self.groups)
        if len(groups) > _DEPTH:
            groups = (*groups[: _DEPTH - 1], groups[_DEPTH - 1] | groups[_DEPTH])
        return replace(self, open=0, groups=groups)

    def down_to(self, left: int) -> "_Flight":
        """After a wait that leaves so many groups; operations in none are not waited for."""
        waited = self.waited | self.since
        return replace(self, groups=self.groups[:left], since=0, again=0, waited=waited)

    def cancelled(self, mask: int) -> "_Flight":
        """The state without some of the operations, which have not been issued."""
        groups = tuple(each & ~mask for each in self.groups)
        return replace(self, open=self.open & ~mask, groups=groups)

    def without(self, mask: int) -> "_Flight":
        """After a wait for some of the operations."""
        groups = tuple(each & ~mask for each in self.groups)
        return replace(self, open=self.open & ~mask, groups=groups, since=0, again=0)


def _padded(groups: tuple[int, ...], most: int) -> tuple[int, ...]:
    return groups + (0,) * (most - len(groups))


@dataclass(frozen=True, slots=True)
class _State:
    """``flights``: one for each row. ``same``: operations whose addresses have not changed since.

    ``broken``: conditions of operations in flight of whose registers one has been written since. Of
    an operation that is not in flight none is: a way without it says nothing of it.
    """

    flights: tuple[_Flight, ...]
    same: int = 0
    broken: int = 0

    @property
    def in_flight(self) -> int:
        """Every operation in flight, or that was at the last barrier."""
        found = 0
        for each in self.flights:
            found |= each.all | each.is_signalled
        return found

    def join(self, other: "_State") -> "_State":
        """The join of two paths: the possibilities of either."""
        flights = tuple(a.join(b) for a, b in zip(self.flights, other.flights, strict=True))
        return _State(flights, self.same | other.same, self.broken | other.broken)


_NOTHING = _State((_Flight(),) * len(COMPLETIONS))


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation of a row: the registers and places that it is not done with when it is issued.

    ``signals``: where its mbarrier is, if it has one. ``conditions``: what is true where it is
    issued.
    """

    instruction: PtxInstruction
    row: int
    registers: frozenset[str]
    places: tuple[Place, ...]
    signals: Place | None
    conditions: tuple[Condition, ...]

    @property
    def completion(self) -> Completion:
        """Its row."""
        return COMPLETIONS[self.row]


@dataclass(frozen=True, slots=True)
class _Choice:
    """One wait of a switch, by its number: how many groups are ``left``, and when it is reached."""

    wait: int
    left: int
    condition: Condition | None


class WaitAnalysis:
    """The asynchronous operations of one function, and the uses that come too early after them."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self._copies = self._copied()
        self.operations = [*self._operations()]
        self._of: dict[int, list[int]] = {}
        self._at: dict[str, int] = {}
        self._conditions = [(bit, c) for bit, o in enumerate(self.operations) for c in o.conditions]
        self._about: dict[str, int] = {}
        self._of_operation = [0] * len(self.operations)
        for index, (bit, condition) in enumerate(self._conditions):
            self._about[condition.register] = self._about.get(condition.register, 0) | 1 << index
            self._of_operation[bit] |= 1 << index
        for bit, each in enumerate(self.operations):
            self._of.setdefault(each.instruction.number, []).append(bit)
            for place in each.places:
                self._at[place.root] = self._at.get(place.root, 0) | 1 << bit
        statements = {
            each.statement.opcode.name: each.statement for each in self.function.instructions
        }
        self._waits = [
            any(_is_wait(each, row) for each in statements.values()) for row in COMPLETIONS
        ]

    def missing(self) -> Iterator[MissingWait]:
        """The missing waits, in the order of the text."""
        if not self.operations:
            return
        for each, state in states(self.function, _NOTHING, self._after, along=self._along):
            yield from self._too_early(each, state)

    def idle(self) -> Iterator[PtxInstruction]:
        """The waits for groups that leave as much in flight as there may be, in the order of the
        text."""
        if not self.function.is_entry or not any(self._waits):
            return
        seen = {each.instruction.number for each in self.operations}
        statements = [(each.number, each.statement) for each in self.function.instructions]
        # A copy from memory of others has no place here, but is waited for.
        unseen = [
            any(_is_of(each, row) and n not in seen for n, each in statements)
            for row in COMPLETIONS
        ]
        exactly = partial(self._after, chosen=False)
        for each, state in states(self.function, _NOTHING, exactly, along=self._along):
            rows = [
                (flight, unknown)
                for row, flight, unknown in zip(COMPLETIONS, state.flights, unseen, strict=True)
                if row.commit and _is_wait(each.statement, row)
                if each.statement.operation in row.waits
            ]
            left = number(each.statement.operands[0]) or 0 if each.statement.operands else 0
            if rows and not any(
                unknown or flight.open or any(flight.groups[left:]) for flight, unknown in rows
            ):
                yield each

    # The function

    def _operations(self) -> Iterator[_Operation]:
        rows: dict[str, list[tuple[int, Completion]]] = {}
        for each in self.function.instructions:
            name = each.statement.opcode.name
            if name not in rows:
                rows[name] = [
                    own for own in enumerate(COMPLETIONS) if _is_of(each.statement, own[1])
                ]
            for row, completion in rows[name]:
                registers = self._registers_of(each) if completion.left is Left.REGISTERS else ()
                places = tuple(self._left(each.statement, completion))
                if registers or places or completion.left is Left.WRITES_GLOBAL:
                    mbarrier = each.statement.operand(OperandRole.SIGNAL)
                    signals = self.places.of_mbarrier(mbarrier) if mbarrier else None
                    conditions = self.conditions.at(each)
                    yield _Operation(each, row, frozenset(registers), places, signals, conditions)

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions that hold at each instruction."""
        return Conditions(self.places)

    @cached_property
    def _chosen(self) -> Mapping[int, int]:
        """The fewest groups that one of the waits leaves among which a switch chooses.

        Which is chosen is known at run time, as how many groups are in flight is: the choice is
        taken to be right. Two alternatives are no switch, but the last turn of a loop.
        """
        found: dict[tuple[int, str, int], list[_Choice]] = {}
        tables = {
            target: block.number
            for block in self.function.blocks
            if block.instructions and block.instructions[-1].statement.operation == "brx"
            for target in block.successors
        }
        for row, block, each in self._counted():
            left = number(each.statement.operands[0]) or 0
            if (table := tables.pop(block, None)) is not None:
                # The first one of an entry: those after it are reached with it.
                found.setdefault((row, "", table), []).append(_Choice(each.number, left, None))
            for name, condition in _by_register(self.conditions.at(each)).items():
                key = (row, name, condition.width)
                found.setdefault(key, []).append(_Choice(each.number, left, condition))
        return {
            each.wait: min(other.left for other in choices)
            for choices in found.values()
            if len({each.left for each in choices}) > 2 and _exclude_each_other(choices)
            for each in choices
        }

    def _counted(self) -> Iterator[tuple[int, int, PtxInstruction]]:
        """The waits that leave a number of groups, with their rows and blocks."""
        for block in self.function.blocks:
            for each in block.instructions:
                for row, completion in enumerate(COMPLETIONS):
                    if completion.commit and each.statement.operation in completion.waits:
                        yield row, block.number, each

    def _registers_of(self, each: PtxInstruction) -> Sequence[str]:
        """The registers that it writes, and those that are copies of one of them alone."""
        found = [*each.statement.defines]
        for name in found:
            found += self._copies.get(name, ())
        return found

    def _copied(self) -> Mapping[str, Sequence[str]]:
        """The registers that are written once, by a copy; the key is the copied register."""
        found: dict[str, list[str]] = {}
        for name, made in self.places.written.items():
            if made is not None and made.statement.operation == "mov":
                for each in made.statement.uses:
                    found.setdefault(each, []).append(name)
        return found

    def _left(self, statement: Statement, completion: Completion) -> Iterator[Place]:
        """The places yet to be read or written: in tensor memory, or shared memory of this CTA."""
        if completion.conflicts is not None:
            yield from self._in_tensor_memory(statement)
            return
        if completion.left is Left.READS_MAP:
            yield from self._map_of(statement)
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

    def _map_of(self, statement: Statement) -> Iterator[Place]:
        """The place of the tensor map by which it copies."""
        name = next(names_in(statement.operand(OperandRole.TENSORMAP)), "")
        if name:
            space = AddressSpace.GLOBAL
            yield self.places.of(Access(name, True, False, Proxy.TENSORMAP, space, None))

    def _in_tensor_memory(self, statement: Statement) -> Iterator[Place]:
        for role, operand in statement.with_roles():
            is_matrix = role is OperandRole.DESCRIPTOR and operand.startswith("[")
            if role is OperandRole.TENSOR_MEMORY or is_matrix:
                address = operand.strip("[] ")
                yield self.places.of(Access(address, True, True, Proxy.GENERIC, None, size=None))

    # The transfer functions

    def _after(self, each: PtxInstruction, state: _State, chosen: bool = True) -> _State:
        statement = each.statement
        if statement.kind is Kind.OPAQUE or statement.operation == "call":
            # It may wait for anything.
            return _NOTHING
        same, broken = state.same, state.broken
        for register in statement.defines:
            same &= ~self._at.get(register, 0)
            if about := self._about.get(register, 0) & ~broken:
                broken |= about & self._conditions_of(state.in_flight)
        flights = state.flights
        if statement.kind not in SILENT:
            given = number(statement.operands[0]) if statement.operands else 0
            left = self._chosen.get(each.number, given or 0) if chosen else given or 0
            flights = tuple(
                self._through(statement, row, flight, left)
                for row, flight in zip(COMPLETIONS, flights, strict=True)
            )
        for bit in self._of.get(each.number, ()):
            row = self.operations[bit].row
            if not state.in_flight >> bit & 1:
                broken &= ~self._of_operation[bit]
            flights = (*flights[:row], flights[row].issued(1 << bit), *flights[row + 1 :])
            same |= 1 << bit
        return _State(flights, same, broken)

    def _conditions_of(self, operations: int) -> int:
        found = 0
        for bit in bits(operations):
            found |= self._of_operation[bit]
        return found

    def _along(self, block: PtxBlock, following: int, state: _State) -> _State:
        """Without the operations that are not issued where the branch goes that way."""
        in_flight, gone = state.in_flight, 0
        for said in self.conditions.on_edge(block, following) if in_flight else ():
            for index in bits(self._about.get(said.register, 0) & ~state.broken):
                bit, condition = self._conditions[index]
                if in_flight >> bit & 1 and said.contradicts(condition):
                    gone |= 1 << bit
        if not gone:
            return state
        return replace(state, flights=tuple(each.cancelled(gone) for each in state.flights))

    def _through(
        self, statement: Statement, row: Completion, flight: _Flight, left: int
    ) -> _Flight:
        if row.conflicts is not None and statement.operation in MEETS:
            return replace(flight, is_signalled=flight.all)
        if row.commit and statement.operation == row.commit:
            return flight.committed()
        if not _is_wait(statement, row) or not flight.all:
            return flight
        if row.commit and statement.operation in row.waits:
            return flight.down_to(left)
        mbarrier = statement.operand(OperandRole.MBARRIER)
        done = self._signalled(flight.all, self.places.of_mbarrier(mbarrier))
        return replace(flight.without(done), direct=0)

    def _signalled(self, mask: int, mbarrier: Place) -> int:
        """Those operations that are done after a wait at an mbarrier, as far as its address
        says."""
        others = [1 << bit for bit in bits(mask) if self._is_another(bit, mbarrier)]
        return mask & ~sum(others)

    def _is_another(self, bit: int, mbarrier: Place) -> bool:
        """True where an operation signals another mbarrier, of another variable or at another place
        in one."""
        signals, known = self.operations[bit].signals, self.places.variables
        if signals is None or mbarrier.root not in known or signals.root not in known:
            return False
        return overlap(signals, mbarrier) is Overlap.NO

    # Uses that come too early

    def _too_early(self, each: PtxInstruction, state: _State) -> Iterator[MissingWait]:
        for flight, is_waited_for in zip(state.flights, self._waits, strict=True):
            for bit in bits(flight.all | flight.is_signalled):
                before = self.operations[bit]
                if before.instruction.number == each.number:
                    continue
                what, overlaps = self._conflict(each.statement, before)
                is_refill = not before.completion.commit and _is_of(
                    each.statement, before.completion
                )
                is_held = bool(flight.direct >> bit & 1) or not is_refill
                sure = overlaps is Overlap.SURE and bool(state.same >> bit & 1) and is_held
                unheld = flight.again >> bit & 1 and before.completion.commit
                if sure or (overlaps is not Overlap.NO and (unheld or not is_waited_for)):
                    is_signalled = not flight.all >> bit & 1
                    yield MissingWait(
                        before.instruction, each, before.completion, what, sure, is_signalled
                    )

    def _conflict(self, later: Statement, before: _Operation) -> tuple[str, Overlap]:
        """The memory of both operations, and their overlap."""
        if before.completion.left is Left.REGISTERS:
            early = self._register(later, before)
            return early, Overlap.SURE if early else Overlap.NO
        if before.completion.left is Left.READS_MAP:
            return "the tensor map", self._changes_map(later, before)
        if later.operation in _ENDS:
            return "shared memory", self._at_end(before)
        if before.completion.left is Left.WRITES_GLOBAL:
            return "global memory", Overlap.SURE if _publishes(later) else Overlap.NO
        if before.completion.conflicts is None:
            return "shared memory", self._in_shared_memory(later, before)
        return "tensor memory", self._of_tensor_memory(later, before)

    def _at_end(self, before: _Operation) -> Overlap:
        """True where a kernel may not end before an operation is done, which uses its shared
        memory."""
        is_needed = before.completion.ends and self.function.is_entry
        return Overlap.SURE if is_needed else Overlap.NO

    def _changes_map(self, later: Statement, before: _Operation) -> Overlap:
        """The overlap of a change with the tensor map of a copy."""
        if later.opcode.head != "tensormap":
            return Overlap.NO
        places = [self.places.of(each) for each in later.accesses if each.writes and each.address]
        same = any(overlap(a, b) is Overlap.SURE for a in places for b in before.places)
        return Overlap.SURE if same else Overlap.NO

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
        if before.completion.releases and later.operation in ARRIVALS:
            # In a pipeline that is of an earlier one.
            return Overlap.MAYBE
        of_writes = before.completion.left is Left.WRITES
        places = [
            self.places.of(access)
            for access in later.accesses
            if access.address
            and (access.writes or of_writes)
            and access.proxy in (Proxy.GENERIC, Proxy.ASYNC)
        ]
        found = [_met(a, b) for a in places if a.may_be_shared for b in before.places]
        return max(found, default=Overlap.NO)

    def _of_tensor_memory(self, later: Statement, before: _Operation) -> Overlap:
        completion = before.completion
        if completion.is_signalled and later.operation in SIGNALS:
            return Overlap.SURE
        if completion.conflicts is None or later.operation not in completion.conflicts:
            return Overlap.NO
        places = [*self._in_tensor_memory(later)]
        return max((overlap(a, b) for a in places for b in before.places), default=Overlap.MAYBE)


def _by_register(conditions: Sequence[Condition]) -> Mapping[str, Condition]:
    """All that holds of each register but predicates."""
    found: dict[str, Condition] = {}
    for each in conditions:
        if each.width > 1:
            known = found.get(each.register)
            if known is None or known.width == each.width:
                found[each.register] = each if known is None else known.both(each)
    return found


def _exclude_each_other(choices: Sequence[_Choice]) -> bool:
    """True where one of some waits is reached at a time: each by its own entry of a table, or
    value."""
    return all(
        a.condition is None or b.condition is None or a.condition.contradicts(b.condition)
        for a, b in combinations(choices, 2)
    )


def _is_wait(statement: Statement, completion: Completion) -> bool:
    is_less = completion.unless and completion.unless in statement.opcode.modifiers
    return statement.operation in completion.waits | completion.all_waits and not is_less


def _publishes(statement: Statement) -> bool:
    """True if it releases the thread's past to other work-groups."""
    releases = statement.ordering is not None and statement.ordering.releases
    is_wide = statement.scope is not None and statement.scope.includes(Scope.AGENT)
    orders = statement.kind in _ORDERING and statement.operation not in PROXY_FENCES
    return releases and is_wide and orders


def _is_of(statement: Statement, completion: Completion) -> bool:
    has_word = not completion.word or completion.word in statement.opcode.words
    return statement.operation in completion.operations and has_word


def _met(a: Place, b: Place) -> Overlap:
    """As ``overlap``; places without a common variable or register are taken to be apart."""
    return overlap(a, b) if a.root == b.root or a.variables & b.variables else Overlap.NO
