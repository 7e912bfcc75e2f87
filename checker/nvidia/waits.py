"""Hazards of a PTX thread with operations of its own in flight: registers of products, and tensor
memory; and waits for nothing.

A forward dataflow has the operations of ``COMPLETIONS`` that some path brings to a point in flight,
each with the groups that were closed since its issue, so that a wait which leaves some is followed
exactly. What is in conflict with memory that threads share is a question of verdicts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fencewright.checker.verdicts.intervals import is_steady
from fencewright.checker.verdicts.ptx.values import Registers
from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.code.value import Value
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ARRIVALS,
    SILENT,
    Opcode,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxBlock, PtxInstruction
from fencewright.lowering.ptx.completions import COMPLETIONS, MEETS, SIGNALS, Completion, Hazard

_Literals = frozenset[tuple[Value, bool]]
"""Conditions, each with whether it is true."""
_DEPTH = 8
"""The number of groups that are distinguished; PTX code of today waits for all but 7 at most."""


_ROWS = {
    name: tuple(row for row in COMPLETIONS if name in row.operations)
    for name in frozenset[str]().union(*(each.operations for each in COMPLETIONS))
}
"""The rows of each operation."""
_WAITS = frozenset[str]().union(*(each.waits | each.all_waits for each in COMPLETIONS))


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
class _Operation:
    """An operation of a row: the registers and places that it is not done with when it is issued.

    ``conditions``: those that hold where it is issued, in block ``block``.
    """

    instruction: PtxInstruction
    completion: Completion
    registers: frozenset[str]
    places: tuple[Place, ...]
    conditions: _Literals
    block: int


@dataclass(frozen=True, slots=True)
class _Flight:
    """An operation in flight on some path, by its number; ``groups`` were closed since its issue.

    ``conditions``: those under which it was issued; from another iteration on those alone that are
    the same in all. ``is_same``: the registers of its address have not been written since.
    ``is_met``: it was in flight at the last barrier, from which others may go on. ``is_waited``: a
    wait has left it. ``is_again``: it was issued anew with no wait since the time before.
    """

    operation: int
    conditions: _Literals
    groups: int = 0
    is_same: bool = True
    is_met: bool = False
    is_waited: bool = False
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    flights: frozenset[_Flight] = frozenset()

    def join(self, other: "_State") -> "_State":
        """The operations in flight on either path."""
        return _State(self.flights | other.flights)


_NOTHING = _State()


class WaitAnalysis:
    """The asynchronous operations of one function, and the uses that come too early after them."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self.operations = [*self._operations()]
        self._of: dict[int, list[int]] = {}
        self._watched: set[str] = set()
        for number_, each in enumerate(self.operations):
            self._of.setdefault(each.instruction.number, []).append(number_)
            self._watched |= {place.root for place in each.places}
        waits = [each for each in self.function.opcodes if each.operation in _WAITS]
        self._waited = [row for row in COMPLETIONS if any(_is_wait(each, row) for each in waits)]

    def missing(self) -> Iterator[MissingWait]:
        """The missing waits, in the order of the text."""
        for each, state in self._states():
            early = {
                flight: missing
                for flight in state.flights
                if (missing := self._too_early(each, flight))
            }
            yield from (early[flight] for flight in sorted(early, key=_first))

    def idle(self) -> Iterator[PtxInstruction]:
        """The waits for groups that leave all that can be in flight, in the order of the text."""
        committed = [row for row in self._waited if row.commit]
        if not self.function.is_entry or not committed:
            return
        for each, state in self._states(is_exact=True):
            rows = [
                row
                for row in committed
                if each.statement.operation in row.waits and _is_wait(each.statement.opcode, row)
            ]
            left = _left_by(each.statement)
            if rows and not any(
                self.operations[flight.operation].completion in rows
                and (not flight.groups or flight.groups > left)
                for flight in state.flights
            ):
                yield each

    def _states(self, *, is_exact: bool = False) -> Iterator[tuple[PtxInstruction, _State]]:
        """The states before each instruction; ``is_exact``: not those of hazards alone."""
        rows = {each.completion for each in self.operations}
        if is_exact or any(each.hazard is not Hazard.NONE for each in rows):
            yield from states(self.function, _NOTHING, self._after, along=self._along)

    # The function

    @cached_property
    def registers(self) -> Registers:
        """The values of registers, and the conditions of blocks and edges."""
        return Registers(self.places)

    def _operations(self) -> Iterator[_Operation]:
        if _ROWS.keys().isdisjoint(self.function.operations):
            return
        for block in self.function.blocks:
            for each in block.instructions:
                for row in _ROWS.get(each.statement.operation, ()):
                    if row.word and row.word not in each.statement.opcode.words:
                        continue
                    if block.number in self.registers.dominators:
                        yield self._operation(each, row, block.number)

    def _operation(self, each: PtxInstruction, row: Completion, block: int) -> _Operation:
        is_product = row.hazard is Hazard.PRODUCT
        registers = frozenset(self._registers_of(each) if is_product else ())
        places = tuple(self._in_tensor_memory(each.statement) if row.conflicts else ())
        known, guard = self.registers, self.registers.guard(each)
        own = known.expressions.literals(*guard, -1) if guard is not None else ()
        literals = (*known.conditions[block], *own)
        conditions = frozenset((literal.value, literal.polarity) for literal in literals)
        return _Operation(each, row, registers, places, conditions, block)

    def _registers_of(self, each: PtxInstruction) -> Sequence[str]:
        """The registers that it writes, and those that are copies of one of them alone."""
        found = [*each.statement.defines]
        for name in found:
            found += self._copies.get(name, ())
        return found

    @cached_property
    def _copies(self) -> Mapping[str, Sequence[str]]:
        """The registers that are written once, by a copy; the key is the copied register."""
        found: dict[str, list[str]] = {}
        for name, made in self.places.written.items():
            if made is not None and made.statement.operation == "mov":
                for each in made.statement.uses:
                    found.setdefault(each, []).append(name)
        return found

    def _in_tensor_memory(self, statement: Statement) -> Iterator[Place]:
        for role, operand in statement.roles:
            is_matrix = role is OperandRole.DESCRIPTOR and operand.startswith("[")
            if role is OperandRole.TENSOR_MEMORY or is_matrix:
                address = operand.strip("[] ")
                yield self.places.of(Access(address, True, True, Proxy.GENERIC, None, size=None))

    # The transfer functions

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, flights = each.statement, state.flights
        if statement.kind is Kind.OPAQUE or statement.operation == "call":
            # It may wait for anything.
            return _NOTHING
        if flights and (written := self._watched.intersection(statement.defines)):
            flights = frozenset(self._rewritten(flight, written) for flight in flights)
        if flights and statement.kind not in SILENT:
            flights = frozenset(
                after for flight in flights for after in self._through(statement, flight)
            )
        for issued in self._of.get(each.number, ()):
            is_again = any(own.operation == issued and not own.is_waited for own in flights)
            new = _Flight(issued, self.operations[issued].conditions, is_again=is_again)
            flights |= {new}
        return state if flights is state.flights else _State(flights)

    def _rewritten(self, flight: _Flight, written: set[str]) -> _Flight:
        places = self.operations[flight.operation].places
        is_same = flight.is_same and written.isdisjoint(each.root for each in places)
        return replace(flight, is_same=is_same)

    def _along(self, block: PtxBlock, following: int, state: _State) -> _State:
        """Without the operations that are not issued where the branch goes that way."""
        if not state.flights or self.registers.is_irreducible:
            return state
        registers, edge = self.registers, (block.number, following)
        said = registers.edge_literals.get(edge)
        literals = registers.expressions.literals(said, True, -1) if said is not None else ()
        excluded = {(each.value, not each.polarity) for each in literals}
        return _State(
            frozenset(
                self._later(each, *edge)
                for each in state.flights
                if excluded.isdisjoint(each.conditions)
            )
        )

    def _later(self, flight: _Flight, block: int, following: int) -> _Flight:
        """An operation after an edge, which may lead to another iteration than its issue's."""
        loop = self.registers.loops.get(following)
        issue = self.operations[flight.operation].block
        if loop is None or not {block, issue} <= loop.blocks:
            return flight
        kept = frozenset(each for each in flight.conditions if is_steady(each[0]))
        return replace(flight, conditions=kept)

    def _through(self, statement: Statement, flight: _Flight) -> Iterator[_Flight]:
        row = self.operations[flight.operation].completion
        if flight.is_met:
            if statement.operation not in MEETS:
                yield flight
            return
        if row.conflicts and statement.operation in MEETS:
            yield replace(flight, is_met=True)
        if row.commit and statement.operation == row.commit:
            yield replace(flight, groups=min(flight.groups + 1, _DEPTH))
        elif not _is_wait(statement.opcode, row):
            yield flight
        elif row.commit and statement.operation in row.waits:
            if flight.groups <= _left_by(statement):
                yield replace(flight, is_waited=True, is_again=False)

    # Uses that come too early

    def _too_early(self, each: PtxInstruction, flight: _Flight) -> MissingWait | None:
        before = self.operations[flight.operation]
        row, is_waited = before.completion, before.completion in self._waited
        if before.instruction.number == each.number:
            return None
        if row.hazard is Hazard.PRODUCT:
            what = self._register(each.statement, before)
            found = Overlap.SURE if what else Overlap.NO
            if not what and each.statement.operation in ARRIVALS:
                # In a pipeline that is of an earlier one.
                is_unheld = flight.is_again or not is_waited
                what, found = "shared memory", Overlap.MAYBE if is_unheld else Overlap.NO
                is_waited = False
        else:
            what, found = "tensor memory", self._of_tensor_memory(each.statement, before)
        sure = found is Overlap.SURE and flight.is_same
        if found is Overlap.NO or not (sure or not is_waited):
            return None
        return MissingWait(before.instruction, each, row, what, sure, flight.is_met)

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

    def _of_tensor_memory(self, later: Statement, before: _Operation) -> Overlap:
        row = before.completion
        if row.is_signalled and later.operation in SIGNALS:
            return Overlap.SURE
        if later.operation not in row.conflicts:
            return Overlap.NO
        places = [*self._in_tensor_memory(later)]
        return max((overlap(a, b) for a in places for b in before.places), default=Overlap.MAYBE)


def _first(flight: _Flight) -> tuple[object, ...]:
    """The key by which of the flights of one operation the surest comes first."""
    surest = flight.operation, flight.is_met, not flight.is_same
    conditions = sorted((value.number, polarity) for value, polarity in flight.conditions)
    return *surest, flight.groups, flight.is_waited, flight.is_again, conditions


def _left_by(wait: Statement) -> int:
    """The number of groups that a wait leaves."""
    return (number(wait.operands[0]) or 0) if wait.operands else 0


def _is_wait(opcode: Opcode, completion: Completion) -> bool:
    is_less = completion.unless and completion.unless in opcode.modifiers
    return opcode.operation in completion.waits | completion.all_waits and not is_less
