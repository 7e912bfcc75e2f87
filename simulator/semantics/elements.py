"""Elements of values, and the functions of them that rows of every vendor are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

from fencewright.simulator.semantics.floats import FORMATS
from fencewright.simulator.semantics.term import (
    Term,
    Value,
    choose,
    constant,
    high,
    integer,
    least,
    low,
    most,
    number,
    ones_of,
    signed,
    wide,
    word_of,
)


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a type.

    ``letter``: u, s, b; f of f32 and f64, h of 16 bits, p of a predicate.
    """

    name: str
    letter: str
    width: int

    @property
    def ones(self) -> int:
        """All its bits."""
        return ones_of(self.width)

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << self.width - 1

    @property
    def infinity(self) -> int:
        """The bits of infinity, which are those of the exponent."""
        form = FORMATS[self.name]
        return (1 << form.exponent) - 1 << form.fraction

    @property
    def nan(self) -> int:
        """The canonical NaN."""
        return FORMATS[self.name].nan

    @property
    def fraction(self) -> int:
        """The number of bits of its fraction."""
        return FORMATS[self.name].fraction

    @property
    def quiet(self) -> int:
        """The bit of the fraction that a quiet NaN has."""
        return 1 << self.fraction - 1

    @property
    def bias(self) -> int:
        """The number that is added to an exponent when it is stored."""
        return FORMATS[self.name].bias

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.fraction

    def number(self, value: Term) -> Term:
        """The number that bits are."""
        return number(value, self.name)

    def value(self, value: Term) -> Term:
        """The bits as a number of either sign where the type has one."""
        return signed(value, self.width) if self.letter == "s" else value

    def ordered(self, value: Term) -> Term:
        """A word that is as much less or greater as the number is."""
        return value ^ self.sign if self.letter == "s" else value


def first_of(cases: Sequence[tuple[Term, Value]], otherwise: Term) -> Term:
    """The value of the first case whose condition holds."""
    for condition, value in reversed(cases):
        otherwise = choose(condition, value, otherwise)
    return otherwise


# Integers


def exact(t: Element, a: Term) -> Term:
    return t.value(a) if t.letter == "s" else integer(a)


def clamped(t: Element, value: Term) -> Term:
    """.sat: a result in the range of the type."""
    lowest, greatest = (-t.sign, t.sign - 1) if t.letter == "s" else (0, t.ones)
    return low(most(least(value, greatest), lowest), t.width)


def higher(t: Element, a: Term, b: Term) -> Term:
    """The upper half of a product."""
    return low(high(t.value(a), t.value(b), t.width), t.width)


def is_negative(t: Element, a: Term) -> Term:
    return a > t.sign - 1


def magnitude(t: Element, a: Term) -> Term:
    return choose(is_negative(t, a), low(0 - a, t.width), a) if t.letter == "s" else a


def lesser(t: Element, a: Term, b: Term) -> Term:
    return choose(t.ordered(a) < t.ordered(b), a, b)


def larger(t: Element, a: Term, b: Term) -> Term:
    return choose(t.ordered(a) > t.ordered(b), a, b)


def by_table(t: Element, variables: Sequence[Term], table: int) -> Term:
    """A function as the sum modulo 2 of one without a variable and of one times it.

    Source: Reed-Muller expansion; few of the functions that compilers emit have many terms.
    """
    if not variables:
        return constant(t.ones if table else 0)
    half = 1 << len(variables) - 1
    without, along = table & ones_of(half), table >> half
    rest = by_table(t, variables[1:], without)
    return rest ^ variables[0] & by_table(t, variables[1:], without ^ along)


# Floating point


def is_nan(t: Element, a: Term) -> Term:
    """True of bits that are no number."""
    return (a & t.sign - 1) > t.infinity


def flushed(t: Element, a: Term) -> Term:
    """.ftz: a subnormal number as the zero of its sign."""
    return choose((a & t.infinity).equals(0), a & t.sign, a)


def saturated(t: Element, a: Term) -> Term:
    """.sat: a number within 0 and 1; NaN is 0."""
    value = t.number(a)
    return choose(value > 0.0, choose(value >= 1.0, t.one, a), 0)


# Comparisons

ORDERED: Mapping[str, Callable[[Term, Term], Term]] = MappingProxyType(
    {
        "eq": lambda a, b: a.equals(b),
        "ne": lambda a, b: a.differs(b),
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
)
"""Relations of words."""
COMPARED_NUMBERS: Mapping[str, Callable[[Term, Term], Term]] = MappingProxyType(
    {
        **ORDERED,
        "ne": lambda a, b: (a < b) | (a > b),
        "equ": lambda a, b: ((a < b) | (a > b)) ^ 1,
        "neu": lambda a, b: a.differs(b),
        "ltu": lambda a, b: (a >= b) ^ 1,
        "leu": lambda a, b: (a > b) ^ 1,
        "gtu": lambda a, b: (a <= b) ^ 1,
        "geu": lambda a, b: (a < b) ^ 1,
        "num": lambda a, b: a.equals(a) & b.equals(b),
        "nan": lambda a, b: a.differs(a) | b.differs(b),
    }
)
"""The comparisons of numbers that may be NaN. Source: PTX ISA, "Floating Point Comparisons"."""


# Several registers as one


def part_of(at: int, bits: int, whole: Term) -> Term:
    """The bits of a value from bit ``at`` on, all in one word of 64."""
    if whole.bound >= 1 << 64:
        whole, at = word_of(whole, at // 64), at % 64
    return low(whole >> at, bits)


def extended(at: int, bits: int, size: int, whole: Term) -> Term:
    """The same in ``size`` bits, with its sign above it."""
    return low(signed(part_of(at, bits, whole), bits), size)


def replaced(at: int, bits: int, part: Term, whole: Term) -> Term:
    """A value with the part from bit ``at`` on in the place of its own."""
    return low(part, bits) << at | whole & (ones_of(64) ^ ones_of(bits) << at)


def joined(bits: int, *parts: Term) -> Term:
    """One value of parts of so many bits, the first one lowest."""
    count = max(64 // bits, 1)
    words = [
        reduce(
            lambda a, b: a | b,
            [low(each, bits) << bits * at for at, each in enumerate(parts[first : first + count])],
        )
        for first in range(0, len(parts), count)
    ]
    return words[0] if len(words) == 1 else wide(*words)


# Read-modify-writes


def exchanged(old: Term, data: Term) -> Term:
    return data


def swapped(old: Term, compare: Term, data: Term) -> Term:
    """Of 128 bits both words have to be equal."""
    if old.bound < 1 << 64:
        return choose(old.equals(compare), data, old)
    words = [[word_of(each, at) for each in (old, compare, data)] for at in range(2)]
    same = words[0][0].equals(words[0][1]) & words[1][0].equals(words[1][1])
    return wide(*(choose(same, new, was) for was, _, new in words))


def incremented(old: Term, limit: Term) -> Term:
    return choose(old >= limit, 0, low(old + 1, 64))


def decremented(old: Term, limit: Term) -> Term:
    return choose(old.equals(0) | (old > limit), limit, low(old - 1, 64))


UPDATES: Mapping[str, Callable[..., Term]] = MappingProxyType(
    {"exch": exchanged, "cas": swapped, "inc": incremented, "dec": decremented}
)
"""The updates that are no operation on registers."""
