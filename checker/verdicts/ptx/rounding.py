"""Addresses in shared memory that a kernel rounds to a multiple: the variable, and bytes from it.

A kernel that needs a larger alignment than its text declares computes one from the address. That is
a number which all threads of a CTA have alike, and of which the low bits are not known.
"""

from collections.abc import Callable, Sequence

from fencewright.checker.verdicts.expressions import (
    Expressions,
    is_variable,
    leaves,
    number_of,
    ones,
    trailing_zeros,
)
from fencewright.lowering.code.value import Apply, Param, Value, parts_first

_WIDE = 64
_Based = tuple[Value | None, Value]
"""An address as a number, of the variable or a multiple that it is rounded to, and what is added to
it; None and all of a value without one."""


def rounded(
    e: Expressions, address: Value, alignment_of: Callable[[str], int]
) -> tuple[Param, Value] | None:
    """The variable that an address begins with, and the bytes from there on; None where it is not
    computed from that of one variable."""
    variables = [each for each in leaves((address,)) if is_variable(each)]
    if len(variables) != 1:
        return None
    variable = variables[0]
    assert isinstance(variable, Param)
    name, zero = variable.name[1:], e.constant(0, _WIDE)
    by = e.constant((alignment_of(name) or 1).bit_length() - 1, _WIDE)
    begin = e.apply("shl", (e.table.param(f"address of {name}", _WIDE), by), _WIDE)
    done: dict[Value, _Based] = {}
    for each in parts_first((address,)):
        if isinstance(each, Apply):
            done[each] = _combined(e, each, [done[part] for part in each.arguments])
        else:
            done[each] = (begin, zero) if each is variable else (None, each)
    base, rest = done[address]
    if base is None:
        return None
    whole = e.apply("add", (base, e.resized(rest, _WIDE, signed=True)), _WIDE)
    return variable, rest if base is begin else e.apply("sub", (whole, begin), _WIDE)


def _combined(e: Expressions, value: Apply, parts: Sequence[_Based]) -> _Based:
    operation, bits = value.operation, value.bits
    bases = [base for base, _ in parts]
    # What is added to a base may be negative, however their sum, an address, is extended.
    rests = [e.resized(rest, bits, signed=base is not None) for base, rest in parts]
    wholes = [
        rest if base is None else _sum(e, base, rest, own.bits)
        for (base, rest), own in zip(parts, value.arguments, strict=True)
    ]
    if operation == "add" and bases.count(None) == 1:
        return bases[0] or bases[1], e.apply("add", rests, bits)
    if operation == "sub" and bases[0] is not None and bases[1] in (None, bases[0]):
        is_distance = bases[1] is not None
        return None if is_distance else bases[0], e.apply("sub", rests, bits)
    if operation in ("zext", "sext", "trunc"):
        return bases[0], rests[0] if bases[0] else e.substituted(
            value, {value.arguments[0]: wholes[0]}
        )
    if operation == "ite" and bases[1] is not None:
        if (multiple := _multiple_above(e, wholes[0], parts[1:])) is not None:
            return multiple, e.constant(0, bits)
        if bases[1] is bases[2]:
            return bases[1], e.chosen(wholes[0], rests[1], rests[2])
    base = next((each for each in bases if each is not None), None)
    if operation == "xor" and base is not None:  # A swizzle.
        if bases.count(None) == 1 and _most(rests[bases.index(None)]) >> trailing_zeros(base) == 0:
            return base, e.apply("xor", rests, bits)
        return base, e.apply("sub", (e.apply("xor", wholes, bits), e.resized(base, bits)), bits)
    mask = number_of(wholes[-1])
    if operation == "and" and mask is not None and len(wholes) == 2:
        if base is not None and trailing_zeros(base) >= mask.bit_length():
            return None, e.apply("and", (rests[0], e.constant(mask, bits)), bits)
        low = ones(bits) & ~mask
        if base is not None and not low & (low + 1):
            return _multiple(e, wholes[0], low), e.constant(0, bits)
    return None, e.substituted(value, dict(zip(value.arguments, wholes, strict=True)))


def _multiple_above(e: Expressions, condition: Value, arms: Sequence[_Based]) -> Value | None:
    """The multiple that an address is rounded up to, unless it is one: ``x & 31 ? x + 32 - (x & 31)
    : x``."""
    (base, rest), (other, further) = arms
    if not isinstance(condition, Apply) or condition.operation != "eq" or base is not other:
        return None
    mask = e.linear(further).constant - e.linear(rest).constant - 1
    low, zero = condition.arguments
    if mask <= 0 or mask & (mask + 1) or number_of(zero) != 0 or base is None:
        return None
    whole = _sum(e, base, rest, _WIDE)
    if low is not e.apply("and", (whole, e.constant(mask, _WIDE)), _WIDE):
        return None
    up = e.apply("sub", (e.constant(mask + 1, _WIDE), low), _WIDE)
    if e.linear(further) != e.linear(e.apply("add", (rest, up), _WIDE)):
        return None
    return _multiple(e, e.apply("add", (whole, e.constant(mask, _WIDE)), _WIDE), mask)


def _multiple(e: Expressions, value: Value, low: int) -> Value:
    """A number without its low bits."""
    whole = e.resized(value, _WIDE)
    return e.apply("and", (whole, e.constant(~low, _WIDE)), _WIDE)


def _most(value: Value) -> int:
    """A number that a value is not above."""
    if (number := number_of(value)) is not None:
        return number
    if not isinstance(value, Apply):
        return ones(value.bits)
    if value.operation == "zext":
        return _most(value.arguments[0])
    by = number_of(value.arguments[-1])
    if value.operation == "and" and by is not None:
        return by
    if value.operation == "lshr" and by is not None:
        return _most(value.arguments[0]) >> by
    if value.operation == "shl" and by is not None:
        return min(_most(value.arguments[0]) << by, ones(value.bits))
    return ones(value.bits)


def _sum(e: Expressions, base: Value, rest: Value, bits: int) -> Value:
    return e.apply("add", (e.resized(base, bits), e.resized(rest, bits)), bits)
