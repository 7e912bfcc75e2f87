"""Integer functions of lanes: arithmetic, shifts, fields, counts of bits."""

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import flags, low, mask, signed, unsigned

Arithmetic: TypeAlias = Callable[..., Values]
"""A function of the sources of an instruction, in their order."""
Unary: TypeAlias = Callable[[Values], Values]
Binary: TypeAlias = Callable[[Values, Values], Values]
Ternary: TypeAlias = Callable[[Values, Values, Values], Values]

_HALF = np.uint64(32)
_ONE = np.uint64(1)


def ternary(function: Ternary) -> Ternary:
    """A function of three operands."""
    return function


def wrapping(operation: Binary, bits: int) -> Binary:
    """An operation modulo 2 to the power of ``bits``."""
    return lambda a, b: low(operation(a, b), bits)


def ordered(operation: Callable[..., NDArray[np.int64]], bits: int) -> Binary:
    """An operation on numbers with a sign."""
    return lambda a, b: unsigned(operation(signed(a, bits), signed(b, bits)), bits)


def shift_left(bits: int) -> Binary:
    """The shift to the left; the low bits of the amount count: five of 32, six of 64."""
    return lambda a, b: low(a << (b & np.uint64(bits - 1)), bits)


def shift_right(bits: int) -> Binary:
    """The shift to the right of a value that has no more than ``bits``."""
    return lambda a, b: a >> (b & np.uint64(bits - 1))


def shift_signed(bits: int) -> Binary:
    """The shift to the right that repeats the sign."""
    above = np.uint64(64 - bits)

    def computed(a: Values, b: Values) -> Values:
        top = np.asarray(a << above).view(np.int64)
        amount = np.asarray((b & np.uint64(bits - 1)) + above).view(np.int64)
        return low(np.asarray(top >> amount).view(np.uint64), bits)

    def of_whole(a: Values, b: Values) -> Values:
        return unsigned(signed(a, 64) >> signed(b & np.uint64(63), 64), 64)

    return computed if bits < 64 else of_whole


def swapped(operation: Binary) -> Binary:
    """An operation with its operands in the other order."""
    return lambda a, b: operation(b, a)


def then(first: Binary, second: Binary, bits: int = 32) -> Ternary:
    """``(a first b) second c``."""
    return lambda a, b, c: low(second(low(first(a, b), bits), c), bits)


def shift_left_by(amount: int) -> Binary:
    """``(a << amount) + b``."""
    return lambda a, b: low((a << np.uint64(amount)) + b, 32)


def _field_of(a: Values, first: Values, width: Values, bits: int, is_signed: bool) -> Values:
    """The field of ``width`` bits from bit ``first`` on; numbers that are in range."""
    if not is_signed:
        return a >> first & (_ONE << width) - _ONE
    # In two steps, since no shift is by 64 bits: a field of no bits is 0.
    unused = np.uint64(63) - width
    place = signed(a, bits) >> first.view(np.int64)
    found = (place << unused.view(np.int64) << 1) >> unused.view(np.int64) >> 1
    return np.where(width == 0, np.uint64(0), unsigned(found, bits))


def vector_field(is_signed: bool) -> Ternary:
    """The field of ``a`` that two operands say."""
    most = mask(5)
    return lambda a, first, width: _field_of(a, first & most, width & most, 32, is_signed)


def scalar_field(bits: int, is_signed: bool) -> Binary:
    """The field that one operand says: its first bit, and from bit 16 on its width."""

    def computed(a: Values, place: Values) -> Values:
        width = np.minimum(place >> np.uint64(16) & mask(7), np.uint64(min(bits, 63)))
        first = place & np.uint64(bits - 1)
        return _field_of(a, first, width, bits, is_signed)

    return computed


def insert(chosen: Values, a: Values, b: Values) -> Values:
    """``a`` where ``chosen`` has ones, else ``b``."""
    return chosen & a | low(~chosen, 32) & b


def ones(count: Values, first: Values, bits: int) -> Values:
    """So many ones from a bit on."""
    most = np.uint64(bits - 1)
    return low(((_ONE << (count & most)) - _ONE) << (first & most), bits)


def aligned(unit: int) -> Ternary:
    """A word of the pair ``a:b``, so many units of bits further up."""
    return lambda a, b, c: low(
        (a << _HALF | b) >> (c & np.uint64(32 // unit - 1)) * np.uint64(unit), 32
    )


def permuted(a: Values, b: Values, selector: Values) -> Values:
    """Bytes of the pair ``a:b``, signs and constants, as a selector says."""
    data = a << _HALF | b
    found = np.zeros_like(selector)
    for n in range(4):
        chosen = selector >> np.uint64(8 * n) & mask(8)
        byte = data >> (chosen & np.uint64(7)) * np.uint64(8) & mask(8)
        sign = (data >> (np.uint64(15) + (chosen & np.uint64(3)) * np.uint64(16))) & _ONE
        byte = np.where(chosen >= 8, sign * mask(8), byte)
        byte = np.where(chosen == 12, np.uint64(0), byte)
        byte = np.where(chosen > 12, mask(8), byte)
        found = found | byte << np.uint64(8 * n)
    return found


def turned(bits: int) -> Unary:
    """The bits in the other order."""

    def computed(a: Values) -> Values:
        found = a
        for step in (1, 2, 4, 8, 16, 32)[: bits.bit_length() - 1]:
            ones = np.uint64(sum((1 << step) - 1 << n for n in range(0, bits, 2 * step)))
            found = (found & ones) << np.uint64(step) | found >> np.uint64(step) & ones
        return found

    return computed


def count_ones(value: Values) -> Values:
    """The number of bits that are 1."""
    pairs, fours, eights = (np.uint64((1 << 64) // ((1 << n) + 1)) for n in (1, 2, 4))
    found = value - (value >> _ONE & pairs)
    found = (found & fours) + (found >> np.uint64(2) & fours)
    found = found + (found >> np.uint64(4)) & eights
    return found * np.uint64((1 << 64) // 255) >> np.uint64(56)


def inverse(bits: int) -> Unary:
    """Every bit the other way round."""
    return lambda a: low(~a, bits)


def first_one(a: Values) -> Values:
    """The number of the lowest bit that is 1; -1: none."""
    return np.where(a == 0, mask(32), count_ones((a & (~a + _ONE)) - _ONE))


def leading_zeros(bits: int) -> Unary:
    """The zeros above the highest 1; -1: there is none."""

    def computed(a: Values) -> Values:
        filled = a
        for step in (1, 2, 4, 8, 16, 32):
            filled = filled | filled >> np.uint64(step)
        return np.where(a == 0, mask(32), np.uint64(bits) - count_ones(filled))

    return computed


def leading_signs(a: Values) -> Values:
    """The number of bits like the sign, from the highest on; -1: all."""
    same = low(np.where(a >> np.uint64(31) != 0, ~a, a), 32)
    return leading_zeros(32)(same)


def middle(order: Binary, other: Binary) -> Ternary:
    """The middle one of three."""
    return lambda a, b, c: other(order(a, b), order(other(a, b), c))


def high_word(is_signed: bool) -> Binary:
    """The upper word of a product of two words."""
    if is_signed:
        return lambda a, b: unsigned(signed(a, 32) * signed(b, 32) >> np.int64(32), 32)
    return lambda a, b: a * b >> _HALF


def narrow(operation: Arithmetic, bits: int, is_signed: bool) -> Arithmetic:
    """An operation on the low ``bits`` of its first two operands."""

    def computed(a: Values, b: Values, *more: Values) -> Values:
        a, b = (
            unsigned(signed(each, bits), 64) if is_signed else low(each, bits) for each in (a, b)
        )
        return low(operation(a, b, *more), 32)

    return computed


def extended(bits: int) -> Unary:
    """The lowest ``bits`` with their sign."""
    return lambda a: unsigned(signed(a, bits), 32)


def carry_of_sum(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """The carry of a sum of 32 bits."""
    return a + b + np.uint64(carry) >> _HALF


def borrow(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """The borrow of a difference of 32 bits."""
    return flags(a < b + np.uint64(carry))


def total(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """A sum of 32 bits, with a carry."""
    return low(a + b + np.uint64(carry), 32)


def rest(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """A difference of 32 bits, with a borrow."""
    return low(a - b - np.uint64(carry), 32)


def overflow(operation: Callable[..., NDArray[np.int64]]) -> Binary:
    """True if a sum or difference of two words with signs is no such word."""

    def computed(a: Values, b: Values) -> Values:
        found = operation(signed(a, 32), signed(b, 32))
        return flags(found != signed(found.view(np.uint64), 32))

    return computed


def saturated(
    operation: Callable[..., NDArray[np.int64]], bits: int, is_signed: bool
) -> Arithmetic:
    """An operation whose result is the nearest number of ``bits`` (``clamp``)."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)

    def computed(*operands: Values) -> Values:
        numbers = [
            signed(each, bits) if is_signed else low(each, bits).view(np.int64) for each in operands
        ]
        return unsigned(operation(*numbers).clip(least, most), bits)

    return computed


def absolute(a: Values) -> Values:
    """The magnitude of a word with a sign."""
    return np.where(a >> np.uint64(31) != 0, low(~a + _ONE, 32), a)


def difference_of(a: Values, b: Values) -> Values:
    """The magnitude of the difference of two words with signs, the lowest 32 bits of it."""
    return unsigned(np.abs(signed(a, 32) - signed(b, 32)), 32)


def parts(value: Values, bits: int, is_signed: bool = False) -> list[Values]:
    """The fields of ``bits`` each of a word, the lowest first; with their signs as 64 bits."""
    fields = [value >> np.uint64(first) & mask(bits) for first in range(0, 32, bits)]
    return [unsigned(signed(each, bits), 64) for each in fields] if is_signed else fields


def dot(bits: int, is_signed: bool) -> Ternary:
    """The sum of the products of the fields of two words, and a third word."""

    def computed(a: Values, b: Values, c: Values) -> Values:
        products = [
            x * y for x, y in zip(parts(a, bits, is_signed), parts(b, bits, is_signed), strict=True)
        ]
        return low(reduce(np.add, products, c), 32)

    return computed


def distance(bits: int, *, is_masked: bool = False) -> Ternary:
    """The sum of the distances of the fields of two words, and a third word; ``is_masked``: of
    those not 0 in ``b``."""

    def computed(a: Values, b: Values, c: Values) -> Values:
        found = c
        for x, y in zip(parts(a, bits), parts(b, bits), strict=True):
            each = np.maximum(x, y) - np.minimum(x, y)
            found = found + (np.where(y == 0, np.uint64(0), each) if is_masked else each)
        return low(found, 32)

    return computed


def mean_of_bytes(a: Values, b: Values, rounds: Values) -> Values:
    """The means of the bytes of two words, rounded up where the byte of the third is odd."""
    found = np.zeros_like(a)
    for n, (x, y, up) in enumerate(zip(parts(a, 8), parts(b, 8), parts(rounds, 8), strict=True)):
        found = found | (x + y + (up & _ONE) >> _ONE) << np.uint64(8 * n)
    return found


def by_table(table: int) -> Ternary:
    """The logic of three words by a truth table of eight bits. Source: CDNA4 ISA, V_BITOP3_B32."""

    def computed(a: Values, b: Values, c: Values) -> Values:
        found = a & np.uint64(0)
        for n in range(8):
            if table >> n & 1:
                chosen = [x if n & bit else ~x for x, bit in ((a, 4), (b, 2), (c, 1))]
                found = found | chosen[0] & chosen[1] & chosen[2]
        return low(found, 32)

    return computed


def wide_product(is_signed: bool) -> Ternary:
    """``a * b + c`` of two words and 64 bits."""

    def computed(a: Values, b: Values, c: Values) -> Values:
        if is_signed:
            a, b = (unsigned(signed(each, 32), 64) for each in (a, b))
        return a * b + c

    return computed


def groups_of_bits(each: Values, size: int, bits: int, *, fills: bool) -> Values:
    """A bit for each group of ``size`` bits that is not 0; ``fills``: as many ones as it has."""
    found = np.zeros_like(each)
    for n in range(bits // size):
        some = flags(each >> np.uint64(n * size) & mask(size) != 0)
        found = found | (
            some * mask(size) << np.uint64(n * size) if fills else some << np.uint64(n)
        )
    return found


def doubled(a: Values) -> Values:
    """Every bit of a word twice."""
    found = np.zeros_like(a)
    for n in range(32):
        found = found | (a >> np.uint64(n) & _ONE) * np.uint64(3) << np.uint64(2 * n)
    return found
