"""Conditions on registers that hold at a point of a PTX function, whichever way leads there.

A branch says of its predicate that it is true on one way and false on the other, and with it what
the predicate was computed from: a comparison with a constant, a conjunction, a negation. A forward
dataflow keeps what holds on all ways, until a register that it is about is written again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import Statement, number
from fencewright.lowering.ptx.code.text import PtxBlock, PtxInstruction

_MOST = 32
"""Conditions that are kept at a point, of the last branches before it: code of thousands of
branches has more."""
_ATOMS = 16
"""The most predicates in one conjunction."""

_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A register of ``width`` bits has, as an unsigned number, a value in one of the ``ranges``.

    A predicate is of one bit. ``since``: the number of the block whose branch says so, -1 for a
    guard.
    """

    register: str
    width: int
    ranges: _Ranges
    since: int = -1

    def contradicts(self, other: "Condition") -> bool:
        """True where no value of the register satisfies both."""
        same = (self.register, self.width) == (other.register, other.width)
        return same and not self.both(other).ranges

    def both(self, other: "Condition") -> "Condition":
        """The conjunction of two conditions on one register."""
        common = tuple(
            (max(a, c), min(b, d))
            for a, b in self.ranges
            for c, d in other.ranges
            if a <= d and c <= b
        )
        return replace(self, ranges=common)


@dataclass(frozen=True, slots=True)
class Known:
    """The conditions that hold at a point. ``current``: the predicates whose operands have not been
    written since."""

    conditions: frozenset[Condition] = frozenset()
    current: frozenset[str] = frozenset()

    def join(self, other: "Known") -> "Known":
        """The conditions that hold on both paths."""
        return Known(self.conditions & other.conditions, self.current & other.current)


class Conditions:
    """The conditions at each instruction that some way leads to, in one function."""

    def __init__(self, places: Places):
        self.places = places
        self._tested = self._predicates()
        self._uses: dict[str, list[str]] = {}
        for name, statement in self._tested.items():
            for each in statement.uses:
                self._uses.setdefault(each, []).append(name)
        found = states(places.function, Known(), self._after, along=self._along)
        self._at: Mapping[int, Known] = {each.number: known for each, known in found}

    def at(self, each: PtxInstruction) -> tuple[Condition, ...]:
        """The conditions under which an instruction is executed, its guard among them."""
        known = self._at.get(each.number, Known())
        own = self._of_guard(each.statement.guard, True, known, -1)
        return (*known.conditions, *own)

    def on_edge(self, block: PtxBlock, following: int) -> tuple[Condition, ...]:
        """The condition that the branch at the end of a block adds on the edge to a successor."""
        last = block.instructions[-1] if block.instructions else None
        if last is None or last.statement.operation != "bra" or len(block.successors) < 2:
            return ()
        known = self._at.get(last.number, Known())
        taken = following != block.number + 1
        return tuple(self._of_guard(last.statement.guard, taken, known, block.number))

    def _predicates(self) -> Mapping[str, Statement]:
        """The predicates that are written once, by an instruction with known operands."""
        return {
            name: made.statement
            for name, made in self.places.written.items()
            if made is not None
            and not made.statement.guard
            and (made.statement.operation in ("setp", "and", "or", "not"))
        }

    def _after(self, each: PtxInstruction, known: Known) -> Known:
        written = each.statement.defines
        if not written:
            return known
        conditions = frozenset(c for c in known.conditions if c.register not in written)
        stale = {name for each in written for name in self._uses.get(each, ())}
        fresh = {each for each in written if each in self._tested} - stale
        return Known(conditions, known.current - stale | fresh)

    def _along(self, block: PtxBlock, following: int, known: Known) -> Known:
        # The state is that after the branch, which writes nothing.
        last = block.instructions[-1].statement if block.instructions else None
        if last is None or last.operation != "bra" or len(block.successors) < 2:
            return known
        taken = following != block.number + 1
        said = frozenset(self._of_guard(last.guard, taken, known, block.number))
        conditions = known.conditions | said
        if len(conditions) > _MOST:
            order = sorted(conditions, key=lambda c: (c.since, c.register, c.width, c.ranges))
            conditions = frozenset(order[-_MOST:])
        return Known(conditions, known.current)

    def _of_guard(self, guard: str, holds: bool, known: Known, since: int) -> Iterator[Condition]:
        """The conditions that a guard is, or is not."""
        work = [(guard.removeprefix("!"), holds is not guard.startswith("!"))] if guard else []
        for _ in range(_ATOMS):
            if not work:
                return
            name, value = work.pop()
            yield Condition(name, 1, ((int(value), int(value)),), since)
            statement = self._tested.get(name) if name in known.current else None
            if statement is None:
                continue
            if statement.operation == "not":
                work.append((statement.operands[1], not value))
            elif statement.operation == ("and" if value else "or"):
                work += [(each, value) for each in statement.operands[1:]]
            elif (found := _compared(statement, value, since)) is not None:
                yield found


def _compared(statement: Statement, value: bool, since: int) -> Condition | None:
    """The condition on a register that a comparison with a constant states, if it is true or
    false."""
    opcode = statement.opcode
    if statement.operation != "setp" or len(statement.operands) != 3 or not opcode.types:
        return None
    _, register, constant = statement.operands
    against = number(constant)
    if against is None or number(register) is not None or opcode.type[0] not in "bsu":
        return None
    ranges = _ranges(opcode.comparison, against, opcode.width, opcode.type[0] == "s")
    if ranges is None:
        return None
    return Condition(
        register, opcode.width, ranges if value else _others(ranges, opcode.width), since
    )


_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _ranges(word: str, against: int, width: int, is_signed: bool) -> _Ranges | None:
    """The unsigned values of a register for which a comparison with a constant is true."""
    word, top = _UNSIGNED.get(word, word), 1 << width
    least, most = (-top // 2, top // 2 - 1) if is_signed else (0, top - 1)
    value = against % top
    value -= top if value > most else 0
    if word in ("eq", "ne"):
        equal = ((value % top, value % top),)
        return equal if word == "eq" else _others(equal, width)
    spans = {
        "lt": (least, value - 1),
        "le": (least, value),
        "gt": (value + 1, most),
        "ge": (value, most),
    }
    if word not in spans:
        return None
    low, high = spans[word]
    parts = ((low, min(high, -1)), (max(low, 0), high))
    return tuple(sorted((a % top, b % top) for a, b in parts if a <= b))


def _others(ranges: _Ranges, width: int) -> _Ranges:
    """The values that are in none of the ranges, which are in order."""
    found: list[tuple[int, int]] = []
    low = 0
    for a, b in ranges:
        if low < a:
            found.append((low, a - 1))
        low = b + 1
    if low < 1 << width:
        found.append((low, (1 << width) - 1))
    return tuple(found)
