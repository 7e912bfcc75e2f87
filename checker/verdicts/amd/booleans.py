"""Truth values of one lane: the lane's own bits of masks, kept short by their truth tables.

Code saves EXEC, narrows it and restores it (``s_and_saveexec``, ``s_or``): the result is a part of
the saved mask, and is taken for that part, so that a restored mask is the one that was saved.
"""

from collections.abc import Iterable, Set
from functools import reduce
from operator import is_

from fencewright.checker.verdicts.expressions import Expressions, number_of, parts_of
from fencewright.checker.verdicts.model import Literal
from fencewright.lowering.code.value import Apply, Value

_CONNECTIVES = frozenset({"and", "or", "xor", "not"})
_MOST_ATOMS = 10
"""The most conditions that one table is of: it has a bit for each of their combinations."""


class Booleans:
    """Makes truth values of one table of expressions."""

    def __init__(self, expressions: Expressions):
        self.expressions = expressions
        self.true = expressions.constant(1, 1)
        self.false = expressions.constant(0, 1)
        self._made: dict[tuple[str, Value, Value], Value] = {}
        self._literals: Iterable[Literal] = ()
        self._known: dict[Value, Value] = {}
        """The conditions that values were restricted by last, and what holds under them."""

    def both(self, a: Value, b: Value) -> Value:
        """Both hold."""
        if a is self.false or b is self.false:
            return self.false
        if a is self.true:
            return b
        return a if b is self.true or a is b else self._short("and", a, b)

    def either(self, a: Value, b: Value) -> Value:
        """One of the two holds."""
        return self.negated(self.both(self.negated(a), self.negated(b)))

    def differs(self, a: Value, b: Value) -> Value:
        """One of the two holds, and not the other."""
        for one, other in ((a, b), (b, a)):
            if number_of(one) is not None:
                return self.negated(other) if number_of(one) else other
        return self._short("xor", a, b)

    def negated(self, a: Value) -> Value:
        """It does not hold."""
        return self.expressions.negated(a)

    def implies(self, a: Value, b: Value) -> bool:
        """True where ``b`` holds whenever ``a`` does."""
        tables = self._tables((a, b))
        return tables is not None and not tables[0] & ~tables[1]

    def equal_under(self, condition: Value, a: Value, b: Value) -> bool:
        """True where two truth values are the same whenever a condition holds."""
        tables = self._tables((condition, a, b))
        return tables is not None and not tables[0] & (tables[1] ^ tables[2])

    def restricted(self, value: Value, literals: Iterable[Literal]) -> Value:
        """A truth value where some conditions hold."""
        if literals is not self._literals:
            self._literals = literals
            of = self.false, self.true
            self._known = {each.value: of[each.polarity] for each in literals}
        return self._restricted(value, self._known) if self._known else value

    def _restricted(self, value: Value, known: dict[Value, Value]) -> Value:
        if (found := known.get(value)) is not None or not _is_connective(value):
            return value if found is None else found
        assert isinstance(value, Apply)
        parts = [self._restricted(part, known) for part in value.arguments]
        if all(map(is_, parts, value.arguments)):
            found = value
        elif value.operation == "not":
            found = self.negated(parts[0])
        else:
            join = {"and": self.both, "or": self.either, "xor": self.differs}[value.operation]
            found = reduce(join, parts)
        known[value] = found
        return found

    def _short(self, operation: str, a: Value, b: Value) -> Value:
        key = operation, a, b
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = self._simplest(operation, a, b)
        return known

    def _simplest(self, operation: str, a: Value, b: Value) -> Value:
        """The first part of two values that has the table of the whole, else the whole."""
        parts = [*dict.fromkeys((*_parts(a), *_parts(b)))]
        tables = self._tables((a, b, *parts))
        if tables is None:
            return self._plain(operation, a, b)
        one, other, *rest = tables
        whole = one & other if operation == "and" else one ^ other
        every = self._every
        if whole in (0, every):
            return self.true if whole else self.false
        for part, table in sorted(zip(parts, rest, strict=True), key=lambda pair: pair[0].depth):
            if table == whole:
                return part
            if table ^ every == whole:
                return self.negated(part)
        if operation == "and":
            # The part that the other side has already is left out.
            a = self.restricted(a, self.expressions.literals(b, True, -1))
            b = self.restricted(b, self.expressions.literals(a, True, -1))
        return self._plain(operation, a, b)

    def _plain(self, operation: str, a: Value, b: Value) -> Value:
        return self.expressions.apply(operation, (a, b), 1)

    def _tables(self, values: Iterable[Value]) -> list[int] | None:
        """The truth table of each value; None of too many conditions."""
        own = [*values]
        atoms = [*dict.fromkeys(atom for value in own for atom in _atoms(value))]
        if len(atoms) > _MOST_ATOMS:
            return None
        rows = 1 << len(atoms)
        self._every = (1 << rows) - 1
        known: dict[Value, int] = {}
        for place, atom in enumerate(atoms):
            # Rows whose number has the bit of the atom.
            block = ((1 << (1 << place)) - 1) << (1 << place)
            known[atom] = sum(block << (n << (place + 1)) for n in range(rows >> (place + 1)))
        known[self.true], known[self.false] = self._every, 0
        return [self._table(value, known) for value in own]

    def _table(self, value: Value, known: dict[Value, int]) -> int:
        table = known.get(value)
        if table is not None:
            return table
        assert isinstance(value, Apply)
        parts = [self._table(part, known) for part in value.arguments]
        if value.operation == "not":
            table = parts[0] ^ self._every
        elif value.operation == "and":
            table = reduce(int.__and__, parts)
        else:
            table = reduce(int.__or__ if value.operation == "or" else int.__xor__, parts)
        known[value] = table
        return table


def _is_connective(value: Value) -> bool:
    return isinstance(value, Apply) and value.bits == 1 and value.operation in _CONNECTIVES


def _parts(value: Value) -> Set[Value]:
    """A value and the truth values that it is made of."""
    return parts_of((value,), lambda part: not _is_connective(part))


def _atoms(value: Value) -> list[Value]:
    return [part for part in _parts(value) if not _is_connective(part) and number_of(part) is None]
