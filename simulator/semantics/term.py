"""Terms: expressions over the bits of registers, of which executors make functions.

A term is exact arithmetic. ``bound`` is the greatest magnitude of its value, so that an executor
with words of 64 bits knows which results are only right modulo 2**64: sums, differences and
products may be, until ``low`` takes bits of them; what is compared, chosen or shifted right is not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fencewright.lowering.vocabulary import FastStrEnum


class Sort(FastStrEnum):
    """The values of a term: a WORD is never negative, an INTEGER may be, a FLAG is a condition."""

    WORD = "word"
    INTEGER = "integer"
    FLOAT = "float"
    FLAG = "flag"


UNBOUNDED = 1 << 1100
"""The bound of a word that may be negative: its bits are those modulo 2**64."""
MOST_SHIFTED = 1 << 10
"""The places that a value may be shifted to the left by, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One operation on other terms; ``given``: the facts known before its execution."""

    op: str
    sort: Sort
    bound: int
    operands: tuple["Term", ...] = ()
    given: tuple[Any, ...] = ()

    def __add__(self, other: "Value") -> "Term":
        return _binary("+", self, other)

    def __radd__(self, other: int) -> "Term":
        return _binary("+", other, self)

    def __sub__(self, other: "Value") -> "Term":
        return _binary("-", self, other)

    def __rsub__(self, other: int) -> "Term":
        return _binary("-", other, self)

    def __mul__(self, other: "Value") -> "Term":
        return _binary("*", self, other)

    def __floordiv__(self, other: "Value") -> "Term":
        return _binary("//", self, other)

    def __mod__(self, other: "Value") -> "Term":
        return _binary("%", self, other)

    def __and__(self, other: "Value") -> "Term":
        return _binary("&", self, other)

    def __or__(self, other: "Value") -> "Term":
        return _binary("|", self, other)

    def __xor__(self, other: "Value") -> "Term":
        return _binary("^", self, other)

    def __lshift__(self, other: "Value") -> "Term":
        return _binary("<<", self, other)

    def __rlshift__(self, other: int) -> "Term":
        return _binary("<<", other, self)

    def __rshift__(self, other: "Value") -> "Term":
        return _binary(">>", self, other)

    def __lt__(self, other: "Value") -> "Term":
        return _binary("<", self, other)

    def __le__(self, other: "Value") -> "Term":
        return _binary("<=", self, other)

    def __gt__(self, other: "Value") -> "Term":
        return _binary(">", self, other)

    def __ge__(self, other: "Value") -> "Term":
        return _binary(">=", self, other)

    def equals(self, other: "Value") -> "Term":
        """True where both are the same number."""
        return _binary("==", self, other)

    def differs(self, other: "Value") -> "Term":
        """True where they are not."""
        return _binary("!=", self, other)

    def less(self, other: "Value") -> "Term":
        """The difference of words, of which the second is nowhere greater that it is used."""
        found = _binary("-", self, other)
        return found if found.op == "constant" else _made(found, bound=self.bound)

    @property
    def constant(self) -> int | None:
        """Its value, if it is a constant."""
        return self.given[0] if self.op == "constant" else None


Value: TypeAlias = "Term | int | float"


def _made(term: Term, *, bound: int) -> Term:
    return Term(term.op, term.sort, bound, term.operands, term.given)


def constant(value: float, sort: Sort = Sort.WORD) -> Term:
    """A number."""
    return Term("constant", sort, abs(value) if isinstance(value, int) else 0, (), (value,))


def operand(number: int, width: int) -> Term:
    """Operand ``number`` of an instruction, an unsigned number of so many bits."""
    return Term("operand", Sort.WORD, ones_of(width), (), (number,))


def ones_of(width: int) -> int:
    """Ones in the lowest bits."""
    return (1 << width) - 1


def _lifted(value: Value, sort: Sort) -> Term:
    if not isinstance(value, Term):
        return constant(value, sort)
    if value.sort is sort or sort is Sort.FLAG:
        return value
    if value.sort is Sort.FLAG:
        return Term("word", Sort.WORD, 1, (value,))
    if sort is Sort.INTEGER and value.op == "constant":
        return constant(value.given[0], sort)
    return value


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    **_COMPARISONS,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}
_MODULAR = frozenset({"+", "-", "*", "&", "|", "^", "<<"})
"""Operators whose low bits depend on the low bits of their operands alone."""
_LEAVES_FIRST = frozenset({("+", 0), ("-", 0), ("|", 0), ("^", 0), ("<<", 0), (">>", 0), ("*", 1)})
"""Operators that leave their first operand as it is, by the second."""


def _fits(term: Term) -> bool:
    if term.sort is Sort.INTEGER:
        return term.bound <= 1 << 63
    return term.bound < 1 << 64


def _binary(op: str, first: Value, second: Value) -> Term:
    sorts = [each.sort for each in (first, second) if isinstance(each, Term)]
    if op in ("<<", ">>"):
        a, b = _lifted(first, Sort.WORD if isinstance(first, int) else sorts[0]), second
        b = _lifted(b, Sort.WORD)
    else:
        sort = _widest(sorts)
        a, b = _lifted(first, sort), _lifted(second, sort)
    if a.op == b.op == "constant" and not (op in ("//", "%") and not b.given[0]):
        value = _OPERATORS[op](a.given[0], b.given[0])
        is_flag = op in _COMPARISONS
        return constant(int(value) if is_flag else value, Sort.WORD if is_flag else a.sort)
    if (op, b.constant) in _LEAVES_FIRST and b.sort is not Sort.FLOAT:
        return a
    if op in ("+", "|", "^") and a.constant == 0 and a.sort is not Sort.FLOAT:
        return b
    if op in ("&", "*") and 0 in (a.constant, b.constant) and a.sort is Sort.WORD:
        return constant(0)
    if op == "&" and b.op == "constant" and _covers(b.given[0], a):
        return a
    assert op in _MODULAR or a.sort is Sort.FLOAT or (_fits(a) and _fits(b)), (op, a, b)
    if op == "<<":
        assert b.bound < MOST_SHIFTED, b
    sort = Sort.FLAG if op in _COMPARISONS else a.sort
    return Term(op, sort, _bound(op, a, b), (a, b))


def _widest(sorts: Sequence[Sort]) -> Sort:
    return max(sorts, key=(Sort.FLAG, Sort.WORD, Sort.INTEGER, Sort.FLOAT).index)


def _covers(mask: int, term: Term) -> bool:
    return term.sort is Sort.WORD and not mask & mask + 1 and term.bound <= mask


def _bound(op: str, a: Term, b: Term) -> int:
    if op in _COMPARISONS or Sort.FLAG in (a.sort, b.sort):
        return 1
    if op == "+" or (op == "-" and a.sort is Sort.INTEGER):
        return min(a.bound + b.bound, UNBOUNDED)
    if op == "-":
        return UNBOUNDED
    if op == "*":
        return min(a.bound * b.bound, UNBOUNDED)
    if op == "&":
        return min(a.bound, b.bound)
    if op in ("|", "^"):
        return ones_of(max(a.bound, b.bound).bit_length())
    if op == "<<":
        return min(a.bound << b.bound, UNBOUNDED)
    if op == ">>":
        return a.bound if b.constant is None else a.bound >> b.constant
    return min(a.bound, b.bound) if op == "%" else a.bound


def low(value: Term, width: int) -> Term:
    """The lowest bits of a value, as a word."""
    value = _lifted(value, Sort.WORD)
    if value.sort is Sort.WORD:
        return value & ones_of(width)
    if value.op == "constant":
        return constant(value.given[0] & ones_of(width))
    return Term("low", Sort.WORD, ones_of(width), (value,), (width,))


def signed(value: Term, width: int) -> Term:
    """The lowest bits of a value as a number in two's complement."""
    value = low(value, width)
    if value.constant is not None:
        sign = 1 << width - 1
        return constant((value.constant ^ sign) - sign, Sort.INTEGER)
    return Term("signed", Sort.INTEGER, 1 << width - 1, (value,), (width,))


def integer(value: Term) -> Term:
    """A word below 2**63 as a number that can be negative."""
    assert value.bound < 1 << 63, value
    if value.constant is not None:
        return constant(value.constant, Sort.INTEGER)
    return Term("integer", Sort.INTEGER, value.bound, (value,))


def choose(condition: Term, first: Value, second: Value) -> Term:
    """The first where the condition holds, else the second."""
    sorts = [each.sort for each in (first, second) if isinstance(each, Term)]
    sort = _widest([Sort.WORD, *sorts])
    a, b = _lifted(first, sort), _lifted(second, sort)
    if condition.constant is not None:
        return a if condition.constant else b
    assert _fits(a), a
    assert _fits(b), b
    return Term("choose", sort, max(a.bound, b.bound), (condition, a, b))


def least(first: Term, second: Value) -> Term:
    """The lesser of two numbers."""
    return _extreme("least", first, second)


def most(first: Term, second: Value) -> Term:
    """The greater of two numbers."""
    return _extreme("most", first, second)


def _extreme(op: str, a: Term, second: Value) -> Term:
    b = _lifted(second, a.sort)
    assert _fits(a), a
    assert _fits(b), b
    if a.op == b.op == "constant":
        return constant((min if op == "least" else max)(a.given[0], b.given[0]), a.sort)
    bounds = a.bound, b.bound
    is_word = a.sort is Sort.WORD and op == "least"
    return Term(op, a.sort, min(bounds) if is_word else max(bounds), (a, b))


def high(a: Term, b: Term, width: int) -> Term:
    """The product of two numbers of so many bits, without its lowest ``width`` bits."""
    if 2 * width <= 64 or a.op == b.op == "constant":
        return (a * b) >> width if _fits(a * b) else constant(a.given[0] * b.given[0] >> width)
    return Term("high", a.sort, a.bound * b.bound >> width, (a, b), (width,))


def length(value: Term) -> Term:
    """The bits of a word up to its highest one."""
    return _counted("length", value, int.bit_length)


def ones(value: Term) -> Term:
    """The ones of a word."""
    return _counted("ones", value, int.bit_count)


def _counted(op: str, value: Term, count: Callable[[int], int]) -> Term:
    assert _fits(value), value
    if value.constant is not None:
        return constant(count(value.constant))
    return Term(op, Sort.WORD, value.bound.bit_length(), (value,))


def wide(*words: Term) -> Term:
    """A value of more than 64 bits, of words of 64 each, the lowest first."""
    return Term("wide", Sort.WORD, ones_of(64 * len(words)), words)


def word_of(value: Term, number: int) -> Term:
    """One word of 64 bits of a value that has more."""
    return Term("word of", Sort.WORD, ones_of(64), (value,), (number,))


def mask(count: Term) -> Term:
    """Ones in the lowest bits, modulo 2**64."""
    return (1 << count) - 1


# Floating point


def number(value: Term, type: str) -> Term:
    """The number that bits of a type are."""
    return Term("number", Sort.FLOAT, 0, (value,), (type,))


def real(value: Term) -> Term:
    """A whole number of at most 64 bits as a double: rounded to nearest from 54 bits on."""
    return Term("real", Sort.FLOAT, 0, (value,))


def bits(value: Term, type: str, width: int) -> Term:
    """A number as bits of a type: rounded to nearest even, and with the canonical NaN."""
    return Term("bits", Sort.WORD, ones_of(width), (value,), (type,))


def call(name: str, given: Sequence[object], operands: Sequence[Term], width: int) -> Term:
    """A function of ``floats`` or ``integers`` on given values and on operands: bits."""
    return Term("call", Sort.WORD, ones_of(width), tuple(operands), (name, *given))


def integral(value: Term, mode: str) -> Term:
    """A number rounded to a whole one: rni, rzi, rmi or rpi."""
    return Term("integral", Sort.FLOAT, 0, (value,), (mode,))


# Executors


def in_order(results: Sequence[Term]) -> Iterator[tuple[Term, int]]:
    """All terms that results are made of, operands first, each with the number of its uses."""
    uses: dict[Term, int] = {}
    order: list[Term] = []

    def visit(term: Term) -> None:
        uses[term] = uses.get(term, 0) + 1
        if uses[term] == 1:
            for each in term.operands:
                visit(each)
            order.append(term)

    for each in results:
        visit(each)
    for each in order:
        yield each, uses[each]
