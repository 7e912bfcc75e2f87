"""Expressions over hash-consed values: folding, substitution, uniformity, and linear forms.

Conditions keep few comparisons, ``eq ult slt`` and their negations, so that what is computed again
in another form is the same value. Addresses are sums of products of 64-bit values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import product

from fencewright.checker.verdicts.model import (
    OBJECTS_APART,
    Access,
    LinearForm,
    Literal,
    Place,
    Region,
    Root,
)
from fencewright.lowering.code.quotients import signed_quotient, unsigned_quotient
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Opaque,
    Param,
    Result,
    Thread,
    Value,
    ValueTable,
    parts_first,
)

WIDE = 64
_START = 0x3FFF
"""The bits of a matrix descriptor that are its address."""
_SPACE = 0x3FFFF
"""The bits of an address in shared memory."""
_MOST_TERMS = 24
"""The most terms that a linear form is given; a sum of more is one value."""
_VARIABLE = "&"
"""The first character of a parameter's name that stands for the address of a variable."""

# Operations on numbers. Their meaning is that of bit-vectors in SMT-LIB


def ones(bits: int) -> int:
    """Ones in the lowest bits."""
    return (1 << bits) - 1


def as_signed(number: int, bits: int) -> int:
    """The low bits of a number as a signed one; of no width the number."""
    if not bits:
        return number
    number &= ones(bits)
    return number - (1 << bits) if number >> (bits - 1) else number


COMPARISONS: Mapping[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, bits: a == b,
    "ne": lambda a, b, bits: a != b,
    "ult": lambda a, b, bits: a < b,
    "ule": lambda a, b, bits: a <= b,
    "slt": lambda a, b, bits: as_signed(a, bits) < as_signed(b, bits),
}


def _sdiv(a: int, b: int, bits: int) -> int:
    one, other = as_signed(a, bits), as_signed(b, bits)
    if not other:
        return 1 if one < 0 else -1
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _srem(a: int, b: int, bits: int) -> int:
    one, other = as_signed(a, bits), as_signed(b, bits)
    if not other:
        return one
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


OPERATIONS: Mapping[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b if b < bits else 0,
    "lshr": lambda a, b, bits: a >> b if b < bits else 0,
    "ashr": lambda a, b, bits: as_signed(a, bits) >> min(b, bits),
    "udiv": lambda a, b, bits: a // b if b else -1,
    "urem": lambda a, b, bits: a % b if b else a,
    "sdiv": _sdiv,
    "srem": _srem,
    "umin": lambda a, b, bits: min(a, b),
    "umax": lambda a, b, bits: max(a, b),
    "smin": lambda a, b, bits: a if as_signed(a, bits) < as_signed(b, bits) else b,
    "smax": lambda a, b, bits: b if as_signed(a, bits) < as_signed(b, bits) else a,
}


# Expressions

_OF_QUOTIENTS = frozenset({"add", "lshr", "trunc"})
"""Operations by which a quotient by a constant may end."""
_COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor", "eq", "umin", "umax", "smin", "smax"})
_WIDTHS = (8, 16, 32)
"""Widths of parts of a register."""
_MOST_SIZE = 0xFFFFFF
"""The bits that ``mul24`` takes of an index or a size of a launch."""
_FEW = (0, 7)
_REACHED: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("%tid.x", "%tid.y"), (0, 1023)),
    **dict.fromkeys(("%ctaid.x", "%ctaid.y", "%ctaid.z"), _FEW),
    "%tid.z": (0, 63),
    "%laneid": (0, 31),
    "%ntid.x": (1, 1024),
    "%nctaid.x": (1, 8),
}
"""The least and the most that indices and sizes are in usual launches, of a few CTAs; iterations
and numbers in memory are a few, all others 0 or 1."""
_BY_ENDS = frozenset({"zext", "sext", "trunc", "add", "sub", "mul"})
_BY_COUNTS = frozenset({"shl", "lshr", "ashr", "udiv"})
"""Operations whose results of the ends of ranges are the ends of theirs; by a count that is not
negative."""
_WITHIN = frozenset({"and", "urem", "umin"})
"""Operations whose results are from 0 to their arguments."""
_NEUTRAL: Mapping[str, int] = {
    "add": 0,
    "sub": 0,
    "or": 0,
    "xor": 0,
    "shl": 0,
    "lshr": 0,
    "ashr": 0,
}


class Expressions:
    """Makes values of one table, folded where their arguments are constants."""

    def __init__(self, table: ValueTable):
        self.table = table
        self._linear: dict[_Signed, tuple[int, Mapping[Value, int]]] = {}
        self._forms: dict[Value, LinearForm] = {}
        self._reached: dict[Value, tuple[int, int]] = {}

    def constant(self, number: int, bits: int) -> Value:
        """A constant of a width, as an unsigned number."""
        return self.table.constant(number & (1 << bits) - 1, bits)

    def apply(self, operation: str, arguments: Iterable[Value], bits: int) -> Value:
        """An operation; of constants, its result."""
        own = tuple(arguments)
        if operation in _COMMUTATIVE:
            # The constant last, else the order of the table: one sum has one value.
            own = _in_order(own)
        if (folded := self._folded(operation, own, bits)) is not None:
            return folded
        return self._divided(self.table.apply(operation, own, bits))

    def _divided(self, value: Value) -> Value:
        """A value, as a quotient where it is one by a constant."""
        if not isinstance(value, Apply) or value.operation not in _OF_QUOTIENTS:
            return value
        found, operation = unsigned_quotient(value, is_small), "udiv"
        if found is None:
            found, operation = signed_quotient(value), "sdiv"
        if found is None:
            return value
        number, divisor = found
        if divisor >> number.bits - is_small(number):
            return self.constant(0, value.bits)  # Of signed numbers no divisor is as large.
        by = self.constant(divisor, number.bits)
        operation = "udiv" if is_small(number) else operation
        return self.resized(self.apply(operation, (number, by), number.bits), value.bits)

    def compared(self, relation: str, a: Value, b: Value, *, signed: bool) -> Value:
        """The truth value of a relation, as ``lt``, of two numbers of one width."""
        if relation in ("eq", "ne"):
            holds = self._is_zero(a) if number_of(b) == 0 else self.apply("eq", (a, b), 1)
        else:
            pair = (b, a) if relation in ("gt", "le") else (a, b)
            holds = self.apply("slt" if signed else "ult", pair, 1)
        return self.negated(holds) if relation in ("ne", "le", "ge") else holds

    def _is_zero(self, value: Value) -> Value:
        """The truth value of ``value == 0``: of low bits alone in several numbers, as compilers
        write ``i < 256 and j < 256``, a bound of each."""
        whole, mask = value, value
        if isinstance(value, Apply) and value.operation == "and":
            whole, mask = value.arguments
        low = -(number_of(mask) or 0) & ones(value.bits)
        if low < 2 or low & (low - 1):
            return self.apply("eq", (value, self.constant(0, value.bits)), 1)
        if isinstance(whole, Apply) and whole.operation == "or":
            parts = (self.apply("and", (part, mask), value.bits) for part in whole.arguments)
            return self.apply("and", map(self._is_zero, parts), 1)
        return self.apply("ult", (whole, self.constant(low, value.bits)), 1)

    def negated(self, value: Value) -> Value:
        """The negation of a truth value."""
        if isinstance(value, Apply) and value.operation == "not":
            return value.arguments[0]
        if (number := number_of(value)) is not None:
            return self.constant(1 - number, 1)
        return self.table.apply("not", (value,), 1)

    def resized(self, value: Value, bits: int, *, signed: bool = False) -> Value:
        """A value in another width: truncated, or extended by zeros or its sign."""
        if value.bits == bits or (isinstance(value, Param) and is_variable(value)):
            return value
        if (number := number_of(value)) is not None:
            return self.constant(as_signed(number, value.bits) if signed else number, bits)
        if isinstance(value, Apply) and value.operation == "ite":
            condition, *arms = value.arguments
            if all(number_of(each) is not None for each in arms):
                yes, no = (self.resized(each, bits, signed=signed) for each in arms)
                return self.chosen(condition, yes, no)
        if bits < value.bits:
            inner = value.arguments[0] if isinstance(value, Apply) else None
            extends = isinstance(value, Apply) and value.operation in ("zext", "sext")
            if inner is not None and extends and inner.bits >= bits:
                return self.resized(inner, bits)
            return self._divided(self.table.apply("trunc", (value,), bits))
        if signed and not is_small(value):
            return self.table.apply("sext", (value,), bits)
        return self.table.apply("zext", (value,), bits)

    def chosen(self, condition: Value, yes: Value, no: Value) -> Value:
        """``yes`` where a condition holds, else ``no``."""
        if yes is no:
            return yes
        if (number := number_of(condition)) is not None:
            return yes if number else no
        if isinstance(condition, Apply) and condition.operation == "not":
            condition, yes, no = condition.arguments[0], no, yes
        if (number_of(yes), number_of(no), yes.bits) == (1, 0, 1):
            return condition
        if (number_of(yes), number_of(no), yes.bits) == (0, 1, 1):
            return self.negated(condition)
        return self.table.apply("ite", (condition, yes, no), yes.bits)

    def literals(self, value: Value, polarity: bool, branch: int) -> Iterator[Literal]:
        """The conditions that a truth value of a polarity consists of: a conjunction in its
        parts."""
        if isinstance(value, Apply):
            if value.operation == "not":
                yield from self.literals(value.arguments[0], not polarity, branch)
                return
            if value.bits == 1 and value.operation == ("and" if polarity else "or"):
                for part in value.arguments:
                    yield from self.literals(part, polarity, branch)
                return
            unwrapped = self._unwrapped(value)
            if unwrapped is not None:
                yield from self.literals(unwrapped[0], unwrapped[1] == polarity, branch)
                return
        yield Literal(value, polarity, branch)

    def substituted(self, value: Value, replacement: Mapping[Value, Value]) -> Value:
        """A value with others in the place of some of its parts."""
        done = dict(replacement)
        for each in parts_first((value,), done.__contains__):
            done[each] = each
            if isinstance(each, Apply):
                parts = [done[part] for part in each.arguments]
                if any(new is not old for new, old in zip(parts, each.arguments, strict=True)):
                    done[each] = self._remade(each, parts)
        return done[value]

    def linear(self, value: Value) -> LinearForm:
        """A value as a sum of products of 64-bit values, if nothing wraps around."""
        if (form := self._forms.get(value)) is None:
            form = self._forms[value] = self._with_rests(_ordered(self._sum_of(value)))
        return form

    def _with_rests(self, form: LinearForm) -> LinearForm:
        """A sum with ``x % n`` in the place of ``x - n*(x / n)``, where n is a constant.

        The division takes x as unsigned. A sum of 32 bits has the remainder of a negative x too,
        whose sign extends it there; one of 64 bits leads far out of every object.
        """
        terms = dict(form.terms)
        for value, times in form.terms:
            inner = value.arguments[0] if isinstance(value, Apply) and value.bits == WIDE else value
            if times >= 0 or not isinstance(inner, Apply) or inner.operation != "udiv":
                continue
            by, is_part = divmod(-times, number_of(inner.arguments[1]) or -times + 1)
            whole = None if is_part else self._whole_in(terms, inner.arguments[0], by)
            if whole is None:
                continue
            rest = self.resized(self.apply("urem", inner.arguments, inner.bits), WIDE)
            left = self.sum_of(form, LinearForm(0, ((value, -1),)), times)
            form = self.sum_of(self.sum_of(left, whole, -by), LinearForm(0, ((rest, 1),)), by)
            terms = dict(form.terms)
        return form

    def _whole_in(self, terms: Mapping[Value, int], value: Value, times: int) -> LinearForm | None:
        """The sum that a value is, however it is extended, if a sum has so many times its terms."""
        for signed in (False, True):
            whole = self.linear(self.resized(value, WIDE, signed=signed))
            if whole.terms and all(terms.get(each) == n * times for each, n in whole.terms):
                return whole
        return None

    def multiplied(self, factors: Iterable[Value], form: LinearForm) -> LinearForm:
        """The product of some values of 64 bits and a sum."""
        total = form.constant, dict(form.terms)
        for each in factors:
            total = self._multiplied((0, {each: 1}), total)
        return _ordered(total)

    def sum_of(self, left: LinearForm, right: LinearForm, times: int) -> LinearForm:
        """A sum and so many times another one."""
        return _ordered(
            _added((left.constant, dict(left.terms)), (right.constant, dict(right.terms)), times)
        )

    def start_of_matrix(self, descriptor: Value) -> tuple[Value, int | None] | None:
        """The address that a matrix descriptor of 64 bits begins with, and all that is constant in
        it; None where it is not computed from an address.

        None of the fields is known where another part of it is no constant. Source: PTX ISA,
        "Matrix Descriptor Format": bits 0 to 13 are the address without its last 4 bits.
        """
        starts: list[Value] = []
        fields: int | None = 0
        work = [descriptor]
        while work:
            part = work.pop()
            if (number := number_of(part)) is not None:
                fields = None if fields is None else fields + (number & ~_START)
                starts.append(self.constant((number & _START) << 4, WIDE))
            elif isinstance(part, Apply) and part.operation in ("or", "add"):
                work += part.arguments
            elif (start := self._start_in(part)) is not None:
                starts.append(start)
            elif trailing_zeros(part) >= _START.bit_length():
                fields = None
            else:
                return None
        address = starts[0]
        for each in starts[1:]:
            address = self.apply("add", (address, each), WIDE)
        return (address, fields) if any(map(is_variable, leaves((address,)))) else None

    def _start_in(self, value: Value) -> Value | None:
        """The bytes that a value of at most 14 bits is 1/16 of, if it says nothing else."""
        number = None
        while isinstance(value, Apply) and value.operation in ("zext", "and"):
            if value.operation == "and":
                number = number_of(value.arguments[1])
                if number is None or number & _START != _START or number & ~_START:
                    return None
            value = value.arguments[0]
        if not isinstance(value, Apply) or value.operation != "lshr":
            return None
        inner, by = value.arguments
        if number_of(by) != 4:
            return None
        mask = None
        if isinstance(inner, Apply) and inner.operation == "and":
            mask = number_of(inner.arguments[1])
            inner = inner.arguments[0]
        # Some mask has to keep the fields above clear of the address.
        if number is None and (mask is None or mask & ~_SPACE):
            return None
        if mask is not None and mask & _SPACE & ~15 != _SPACE & ~15:
            return None
        return self.resized(inner, WIDE)

    def _remade(self, value: Apply, parts: list[Value]) -> Value:
        if value.operation == "ite":
            return self.chosen(*parts)
        if value.operation == "not":
            return self.negated(parts[0])
        if value.operation in ("zext", "sext", "trunc"):
            return self.resized(parts[0], value.bits, signed=value.operation == "sext")
        return self.apply(value.operation, parts, value.bits)

    def _folded(self, operation: str, own: tuple[Value, ...], bits: int) -> Value | None:
        if len(own) != 2:
            return None
        first, second = number_of(own[0]), number_of(own[1])
        if second is None and own[0] is not own[1]:
            return None  # Nothing below is about any others.
        if first is not None and second is not None:
            compute = COMPARISONS.get(operation) or OPERATIONS.get(operation)
            if compute is None:
                return None
            return self.constant(int(compute(first, second, own[0].bits)), bits)
        if second is not None and _NEUTRAL.get(operation) == second:
            return own[0]
        if operation in ("mul", "udiv") and second == 1:
            return own[0]
        if operation in ("mul", "and") and second == 0:
            return self.constant(0, bits)
        if operation == "and" and second == (1 << bits) - 1:
            return own[0]
        if operation == "and" and _MOST_SIZE & ~(second or 0) == 0 and _is_size(own[0]):
            return own[0]
        if operation == "ashr" and second == bits - 1 and is_small(own[0]):
            return self.constant(0, bits)
        if operation == "and" and second is not None and isinstance(own[0], Apply):
            # (x << 3) & 24 is (x & 3) << 3.
            inner = own[0]
            if inner.operation == "shl" and (by := number_of(inner.arguments[1])) is not None:
                kept = self.apply(
                    "and", (inner.arguments[0], self.constant(second >> by, bits)), bits
                )
                return self.apply("shl", (kept, inner.arguments[1]), bits)
        if operation in ("ashr", "lshr") and second is not None and isinstance(own[0], Apply):
            # (x << 32) >> 30 is the low half of x, with its sign, times 4.
            inner = own[0]
            by = number_of(inner.arguments[1]) if inner.operation == "shl" else None
            widths = _WIDTHS if operation == "lshr" else (*_WIDTHS, _MOST_SIZE.bit_length())
            if by is not None and second <= by and bits - by in widths:
                low = self.resized(inner.arguments[0], bits - by)
                whole = self.resized(low, bits, signed=operation == "ashr")
                return self.apply("shl", (whole, self.constant(by - second, bits)), bits)
        if own[0] is own[1] and operation in ("eq", "sub", "xor", "ult", "slt"):
            return self.constant(1 if operation == "eq" else 0, bits)
        if operation == "xor" and bits == 1 and second == 1:
            return self.negated(own[0])
        if operation == "add" and second is not None and isinstance(own[0], Apply):
            # (x + 1) + 2 is x + 3.
            inner = own[0]
            if inner.operation == "add" and (other := number_of(inner.arguments[1])) is not None:
                return self.apply(
                    "add", (inner.arguments[0], self.constant(second + other, bits)), bits
                )
        return None

    def _unwrapped(self, value: Apply) -> tuple[Value, bool] | None:
        """The condition that a comparison of a chosen 1 or 0 with a constant stands for."""
        if value.operation != "eq" or (number := number_of(value.arguments[1])) is None:
            return None
        inner = value.arguments[0]
        if isinstance(inner, Apply) and inner.operation == "zext" and inner.arguments[0].bits == 1:
            return (inner.arguments[0], bool(number)) if number in (0, 1) else None
        if not isinstance(inner, Apply) or inner.operation != "ite":
            return None
        condition, yes, no = inner.arguments
        if number_of(yes) is None or number_of(no) is None:
            return None
        if number_of(yes) == number != number_of(no):
            return condition, True
        return (condition, False) if number_of(no) == number != number_of(yes) else None

    # Linear forms

    def _sum_of(self, value: Value) -> tuple[int, Mapping[Value, int]]:
        top = value, False
        # Of long chains the parts first: expressions are deeper than the stack.
        stack = [top]
        while top not in self._linear:
            own = stack[-1]
            missing = [part for part in self._parts(*own) if part not in self._linear]
            if missing:
                stack += missing
                continue
            self._linear[own] = self._combined(*own)
            stack.pop()
        return self._linear[top]

    @staticmethod
    def _parts(value: Value, signed: bool) -> "tuple[_Signed, ...]":
        """The parts of a sum, each with how it is extended."""
        if not isinstance(value, Apply):
            return ()
        parts: tuple[Value, ...] = ()
        if value.operation in ("add", "sub", "mul", "zext", "sext", "trunc", "or"):
            parts = value.arguments
        elif value.operation == "shl" or _is_from_zero(value) or _is_inverted(value):
            parts = value.arguments[:1]
        elif value.operation == "ite":
            parts = value.arguments[1:]
        if value.operation in ("zext", "sext"):
            signed = value.operation == "sext"
        is_sum = value.operation in ("add", "sub")
        return tuple((each, signed or (is_sum and _is_negative(each))) for each in parts)

    def _combined(self, value: Value, signed: bool) -> tuple[int, Mapping[Value, int]]:
        if (number := number_of(value)) is not None:
            return as_signed(number, value.bits), {}
        if not isinstance(value, Apply):
            return 0, {self._wide(value, signed=signed): 1}
        sums = [self._linear[part] for part in self._parts(value, signed)]
        operation, own = value.operation, value.arguments
        form: _Sum | None = None
        if operation == "add" or (operation == "or" and self._is_disjoint(*own)):
            form = _added(sums[0], sums[1], 1)
        elif operation == "sub":
            form = _added(sums[0], sums[1], -1)
        elif operation == "shl" and (by := number_of(own[1])) is not None and by < WIDE:
            form = _scaled(sums[0], 1 << by)
        elif _is_inverted(value):
            form = _added((-1, {}), sums[0], -1)
        elif _is_from_zero(value) and sums[0][0] >= 0 and all(map(is_counted, sums[0][1].items())):
            form = sums[0]
        elif operation == "mul":
            form = self._multiplied(sums[0], sums[1])
        elif operation in ("zext", "sext", "trunc"):
            form = sums[0]
        elif operation == "ite":
            form = self._common(own[0], sums[0], sums[1])
        if form is None or len(form[1]) > _MOST_TERMS or self._wraps(form, value.bits, signed):
            return 0, {self._wide(value, signed=signed): 1}
        return form

    def _wraps(self, form: "_Sum", bits: int, signed: bool) -> bool:
        """True of a sum that more numbers than its bits has in usual launches: by its constants,
        not by parameters."""
        least = most = form[0]
        for value, times in form[1].items():
            ends = sorted(times * each for each in self._reach(value))
            least, most = least + ends[0], most + ends[1]
        # Of unsigned numbers large constants are negative ones here.
        below = 1 << bits - signed
        return most >= below or least < -below or most - least >= 1 << bits

    def _reach(self, value: Value) -> tuple[int, int]:
        """The least and the most that a value is in usual launches; 0 and 1 of a number that these
        say nothing of."""
        known = self._reached
        for each in parts_first((value,), known.__contains__):
            known[each] = self._reach_of(each)
        return known[value]

    def _reach_of(self, value: Value) -> tuple[int, int]:
        if (number := number_of(value)) is not None:
            return number, number
        if isinstance(value, Iteration | Result):
            return _FEW
        if not isinstance(value, Apply):
            name = str(getattr(value, "name", getattr(value, "constant", "")))
            return _REACHED.get(name, (0, 1))
        ranges = [self._reached[each] for each in value.arguments]
        if value.operation in _WITHIN:
            ends = {0, min(most for _, most in ranges)}
        elif value.operation == "ite":
            ends = {*ranges[1], *ranges[2]}
        elif value.operation in _BY_ENDS or (value.operation in _BY_COUNTS and ranges[1][0] >= 0):
            ends = {*ranges[0]}
            for each in ranges[1:]:
                compute = OPERATIONS[value.operation]
                ends = {compute(a, b, 2 * WIDE) for a, b in product(ends, each)}
        else:
            ends = {0, 1}
        is_within = -1 << value.bits - 1 <= min(ends) and max(ends) < 1 << value.bits
        return (min(ends), max(ends)) if is_within else (0, ones(value.bits))

    def _wide(self, value: Value, *, signed: bool = False) -> Value:
        return value if is_variable(value) else self.resized(value, WIDE, signed=signed)

    def _is_disjoint(self, left: Value, right: Value) -> bool:
        """True where ``or`` is a sum: the right side is a constant below the other's trailing
        zeros."""
        number = number_of(right)
        return number is not None and number < 1 << trailing_zeros(left)

    def _multiplied(
        self, left: tuple[int, Mapping[Value, int]], right: tuple[int, Mapping[Value, int]]
    ) -> tuple[int, Mapping[Value, int]]:
        constant = left[0] * right[0]
        terms: dict[Value, int] = {}
        for (a, times), other in ((t, right[0]) for t in left[1].items()):
            terms[a] = terms.get(a, 0) + times * other
        for (b, times), other in ((t, left[0]) for t in right[1].items()):
            terms[b] = terms.get(b, 0) + times * other
        for (a, times), (b, others) in product(left[1].items(), right[1].items()):
            factors = sorted((*factors_of(a), *factors_of(b)), key=lambda value: value.number)
            monomial = self.table.apply("mul", factors, WIDE)
            terms[monomial] = terms.get(monomial, 0) + times * others
        return constant, {value: times for value, times in terms.items() if times}

    def _common(
        self,
        condition: Value,
        yes: tuple[int, Mapping[Value, int]],
        no: tuple[int, Mapping[Value, int]],
    ) -> tuple[int, Mapping[Value, int]] | None:
        """The form of a choice of two sums that differ in their constants alone."""
        terms = {value: times for value, times in yes[1].items() if times}
        if terms != {value: times for value, times in no[1].items() if times}:
            return None
        chosen = self.chosen(condition, self.constant(1, WIDE), self.constant(0, WIDE))
        if number_of(chosen) is not None:
            return yes if number_of(chosen) else no
        terms[chosen] = terms.get(chosen, 0) + yes[0] - no[0]
        return no[0], terms


_Sum = tuple[int, Mapping[Value, int]]
_Signed = tuple[Value, bool]
"""A value, and True where it is extended by its sign."""


def _is_inverted(value: Apply) -> bool:
    """True of all bits of a number the other way: -1 minus it."""
    return value.operation == "xor" and number_of(value.arguments[1]) == ones(value.bits)


def _is_negative(value: Value) -> bool:
    """True of a value whose sign bit is known to be 1: a number that sums subtract."""
    if not isinstance(value, Apply) or value.operation not in ("or", "xor", "smin"):
        return False
    number = number_of(value.arguments[-1])
    is_of_other = value.operation != "xor" or is_small(value.arguments[0])
    return number is not None and number >> (value.bits - 1) == 1 and is_of_other


def _is_from_zero(value: Apply) -> bool:
    """True of the larger one of a signed number and 0."""
    return value.operation == "smax" and number_of(value.arguments[1]) == 0


def is_counted(term: tuple[Value, int]) -> bool:
    """True of a multiple of indices, sizes and others that are not negative as signed numbers."""
    value, times = term
    return times > 0 and all(
        isinstance(each, Apply) and each.operation == "zext" and is_small(each.arguments[0])
        for each in factors_of(value)
    )


def _ordered(form: _Sum) -> LinearForm:
    terms = ((value, times) for value, times in form[1].items() if times)
    return LinearForm(form[0], tuple(sorted(terms, key=lambda term: term[0].number)))


def _added(left: _Sum, right: _Sum, times: int) -> _Sum:
    terms = dict(left[1])
    for value, count in right[1].items():
        terms[value] = terms.get(value, 0) + times * count
    return left[0] + times * right[0], {value: count for value, count in terms.items() if count}


def _scaled(form: _Sum, times: int) -> _Sum:
    return form[0] * times, {value: count * times for value, count in form[1].items()}


def factors_of(value: Value) -> tuple[Value, ...]:
    """The factors of a product of 64-bit values; of any other value, itself."""
    is_product = isinstance(value, Apply) and value.operation == "mul" and value.bits == WIDE
    return value.arguments if is_product and isinstance(value, Apply) else (value,)


def number_of(value: Value) -> int | None:
    """The number that a value is; None if it is no constant."""
    if isinstance(value, Const) and isinstance(value.constant, int):
        return value.constant
    return None


def is_variable(value: Value) -> bool:
    """True of the address of a variable."""
    return isinstance(value, Param) and value.name.startswith(_VARIABLE)


def variable_named(name: str) -> str:
    """The name of the value that is a variable's address."""
    return f"{_VARIABLE}{name}"


UNKNOWN_PLACE = Place(Root(Region.UNKNOWN, "global"), None)
"""A place in global memory of which no more is known."""


def object_at(place: Place, tables: dict[Root, Root]) -> Place:
    """The beginning of the object that a pointer at a place points to.

    Of a constant place it is an object of its own; of a table with an index, one of a family, which
    is put into ``tables`` with the root of the table.
    """
    form = place.offset
    if form is None or place.rank is not None:
        return UNKNOWN_PLACE
    family = Root(Region.POINTER, f"[{place.root.name}]")
    if not form.terms and family not in tables:
        return Place(replace(family, name=f"[{place.root.name}+{form.constant}]"), LinearForm(0))
    numbers = (form.constant, *(times for _, times in form.terms))
    is_data_part = any(map(is_data, leaves(value for value, _ in form.terms)))
    if is_data_part or max(map(abs, numbers)) >= OBJECTS_APART:
        return UNKNOWN_PLACE
    if place.root.region is Region.UNKNOWN:
        return UNKNOWN_PLACE
    tables[family] = place.root
    terms = tuple((value, times * OBJECTS_APART) for value, times in form.terms)
    return Place(family, LinearForm(form.constant * OBJECTS_APART, terms))


def moved(place: Place, form: LinearForm, rank: Value | None) -> Place:
    """A place so many bytes after another, in the CTA of a rank."""
    begin = place.offset
    if begin is None:
        return replace(place, rank=rank)
    terms = dict(begin.terms)
    for value, times in form.terms:
        terms[value] = terms.get(value, 0) + times
    ordered = tuple(sorted(terms.items(), key=lambda term: term[0].number))
    return Place(place.root, LinearForm(begin.constant + form.constant, ordered), rank)


def with_constant_tables(
    accesses: Iterable[Access], tables: dict[Root, Root]
) -> tuple[Access, ...]:
    """Accesses of which those are of unknown places that come from a table which the kernel
    writes; only the tables that it does not write stay in ``tables``."""
    own = [*accesses]
    if not tables:
        return tuple(own)
    written = {each.place.root for each in own if each.writes}
    for family in [family for family, table in tables.items() if table in written]:
        del tables[family]
        own = [
            replace(each, place=UNKNOWN_PLACE, obstacle="an address that is not known")
            if each.place.root == family
            else each
            for each in own
        ]
    return tuple(own)


def is_small(value: Value) -> bool:
    """True of a value whose sign bit is known to be 0."""
    known: dict[Value, bool] = {}
    if isinstance(value, Apply) and value.operation in _BY_SIGNS:
        for each in parts_first((value,)):
            known[each] = _is_small(each, known)
    return known[value] if known else _is_small(value, known)


_BY_SIGNS = frozenset({"and", "ite", "lshr", "udiv", "urem", "umin"})
"""Operations whose sign bit follows from those of their operands."""


def _is_small(value: Value, known: Mapping[Value, bool]) -> bool:
    """As ``is_small``, by its operands."""
    if isinstance(value, Const):
        return isinstance(value.constant, str) or value.constant >> (value.bits - 1) == 0
    if not isinstance(value, Apply):
        return isinstance(value, Thread | Iteration)
    own, operation = value.arguments, value.operation
    if operation == "and":
        return any(map(known.__getitem__, own))
    if operation == "ite":
        return all(map(known.__getitem__, own[1:]))
    if operation == "lshr":
        return known[own[0]] or bool(number_of(own[1]))
    return operation == "zext" or (operation in _BY_SIGNS and known[own[0]])


def _is_size(value: Value) -> bool:
    """True of an index or a size of a launch: one of more than 24 bits is taken not to wrap."""
    name = value.name if isinstance(value, Thread) else str(getattr(value, "constant", ""))
    return name.startswith(("%tid.", "%ntid.", "%ctaid.", "%nctaid."))


def trailing_zeros(value: Value) -> int:
    """The number of low bits of a value that are known to be 0."""
    while isinstance(value, Apply) and value.operation in ("zext", "sext", "trunc"):
        (value,) = value.arguments
    if not isinstance(value, Apply):
        return _trailing_zeros(value, {})
    known: dict[Value, int] = {}
    for each in parts_first((value,), known.__contains__):
        known[each] = _trailing_zeros(each, known)
    return known[value]


def _trailing_zeros(value: Value, known: Mapping[Value, int]) -> int:
    """The low bits of a value that are 0, by those of its operands."""
    if (number := number_of(value)) is not None:
        return (number & -number).bit_length() - 1 if number else value.bits
    if not isinstance(value, Apply):
        return 0
    own, operation = value.arguments, value.operation
    if operation in ("shl", "lshr", "ashr") and (by := number_of(own[1])) is not None:
        zeros = known[own[0]]
        return by + zeros if operation == "shl" else max(zeros - by, 0)
    if operation in ("zext", "sext", "trunc"):
        return known[own[0]]
    return _ZEROS[operation](map(known.__getitem__, own)) if operation in _ZEROS else 0


_ZEROS: Mapping[str, Callable[[Iterable[int]], int]] = {
    "mul": sum, "and": max, "add": min, "sub": min, "or": min, "xor": min,
}  # fmt: skip
"""The zeros below a result, by those of its operands."""


def leaves(values: Iterable[Value], is_whole: Callable[[Apply], bool] | None = None) -> Set[Value]:
    """The values without parts that some values are computed from, always in one order.

    ``is_whole``: true of a value whose parts do not count.
    """
    parts = parts_of(values, is_whole)
    return {value: None for value in parts if not isinstance(value, Apply)}.keys()


def parts_of(
    values: Iterable[Value], is_whole: Callable[[Apply], bool] | None = None
) -> Set[Value]:
    """Values with all that they are computed from, as ``leaves`` has it, always in one order."""
    seen: dict[Value, None] = {}
    work = [*values]
    while work:
        value = work.pop()
        if value not in seen:
            seen[value] = None
            if isinstance(value, Apply) and not (is_whole and is_whole(value)):
                work += value.arguments
    return seen.keys()


def names_in(
    values: Iterable[Value], is_whole: Callable[[Apply], bool] | None = None
) -> frozenset[str]:
    """The indices and sizes of a launch that values depend on; ``is_whole`` as of ``leaves``."""
    names = (
        getattr(leaf, "name" if isinstance(leaf, Thread) else "constant", "")
        for leaf in leaves(values, is_whole)
    )
    return frozenset(each for each in names if isinstance(each, str))


def origins_of(values: Iterable[Value], *known: Mapping[Value, Iterable[Value]]) -> Set[Value]:
    """The leaves of values, and of those that a leaf depends on by way of loops and of instructions
    that are not followed: ``known`` has these by the leaf."""
    found: dict[Value, None] = {}
    while fresh := leaves(values) - found.keys():
        found |= dict.fromkeys(fresh)
        values = [each for leaf in fresh for some in known for each in some.get(leaf, ())]
    return found.keys()


def is_data(value: Value) -> bool:
    """True of a value that only memory, another lane or an unknown instruction decides."""
    return isinstance(value, Result | Opaque)


def _in_order(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The arguments of a sum in their order; most are two that are in it."""
    if len(values) == 2 and values[0].number <= values[1].number:
        if number_of(values[0]) is None:
            return values
    return tuple(sorted(values, key=_place_in_sum))


def _place_in_sum(value: Value) -> tuple[bool, int]:
    return number_of(value) is not None, value.number


def remainder(e: Expressions, value: Value, size: int) -> Value:
    """A value modulo a size."""
    if size & (size - 1):
        return e.apply("urem", (value, e.constant(size, value.bits)), value.bits)
    return e.apply("and", (value, e.constant(size - 1, value.bits)), value.bits)


def quotient(e: Expressions, value: Value, size: int) -> Value:
    """A value divided by a size."""
    if size & (size - 1):
        return e.apply("udiv", (value, e.constant(size, value.bits)), value.bits)
    by = e.constant(size.bit_length() - 1, value.bits)
    return e.apply("lshr", (value, by), value.bits)


@dataclass(frozen=True, slots=True)
class Choice:
    """An address with one arm of every choice between pointers in it, and their conditions."""

    address: Value
    literals: tuple[Literal, ...] = ()


_MOST_CHOICES = 4
"""Objects that one access may be of."""


def choices(
    e: Expressions, address: Value, is_known: Callable[[LinearForm], bool]
) -> Iterator[Choice]:
    """The objects that an access may be of, where a condition chooses one of two pointers;
    ``is_known``: true of an address in which one pointer is known."""
    work = [Choice(address)]
    for choice in work:
        form = e.linear(choice.address)
        is_end = is_known(form) or len(work) > _MOST_CHOICES
        for part in () if is_end else (part for part, times in form.terms if times == 1):
            if isinstance(part, Apply) and part.operation == "ite":
                condition, *arms = part.arguments
                for arm, polarity in zip(arms, (True, False), strict=True):
                    own = e.literals(condition, polarity, -1)
                    of_arm = e.substituted(choice.address, {part: arm})
                    work.append(Choice(of_arm, (*choice.literals, *own)))
                break
        else:
            yield choice
