"""What PTX instructions compute: for each opcode a function on the values of many lanes.

Numbers are rounded to nearest even, subnormals are kept, a result that is not a number is the
canonical NaN; what an opcode asks for beyond that is in ``NOT_EXECUTED``. An ``fma`` of f64 is
exact where the product neither overflows nor underflows, of all narrower types always.
Source: PTX ISA, Instruction Set; tests/data/memory/h200-arithmetic.txt, computed by an H200.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import Opcode, element_of, read_opcode
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import (
    WORD,
    Fold,
    flags,
    float_bits,
    floats,
    low,
    mask,
    signed,
    unsigned,
)

Function: TypeAlias = Callable[..., Values]
Floats: TypeAlias = NDArray[Any]


def unary(function: Callable[[Values], Values]) -> Function:
    """A function of one operand."""
    return function


def binary(function: Callable[[Values, Values], Values]) -> Function:
    """A function of two operands."""
    return function


def ternary(function: Callable[[Values, Values, Values], Values]) -> Function:
    """A function of three operands."""
    return function


@dataclass(frozen=True, slots=True)
class PtxType:
    """A type as ``s32``, ``bf16x2`` or ``pred``: ``bits`` of one element."""

    letter: str
    bits: int
    is_pair: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number, or two."""
        return self.letter in ("f", "bf")


def _type_of(word: str) -> PtxType | None:
    letter, bits, count = element_of(word) or ("", 0, 0)
    if letter == "pred":
        return PtxType("b", 1)
    return PtxType(letter, bits, count == 2) if letter in _LETTERS and count <= 2 else None


_LETTERS = frozenset({"b", "u", "s", "f", "bf"})


@dataclass(frozen=True, slots=True)
class _Computation:
    """An opcode to execute: ``type`` is its last type, ``to`` the one before it, if any."""

    opcode: Opcode
    type: PtxType
    to: PtxType | None

    @property
    def name(self) -> str:
        return self.opcode.head

    @property
    def words(self) -> frozenset[str]:
        """The words that say how it is done."""
        return self.opcode.modifiers

    @property
    def rounding(self) -> str:
        return self.opcode.rounding

    @property
    def last_type(self) -> str:
        return self.opcode.words[-1]

    def refused(self, reason: str) -> UnsupportedError:
        return UnsupportedError(f"'{self.opcode.name}'", f"it is not executed: {reason}")


@cache
def function_of(name: str) -> Function:
    """The function of an instruction on its operands. Raises ``UnsupportedError``."""
    opcode = read_opcode(name)
    row = ROWS.get(opcode.head)
    words = {word: _type_of(word) for word in opcode.words[1:]}
    types = [type_ for word in opcode.words[1:] if (type_ := words[word]) is not None]
    if row is None or not types:
        known = ", ".join(sorted(ROWS))
        raise UnsupportedError(f"'{name}'", f"it is not executed; executed are {known}")
    computation = _Computation(opcode, types[-1], types[-2] if len(types) > 1 else None)
    flushes = "ftz" in words and _SINGLE in (computation.type, computation.to)
    for word, type_ in words.items():
        if word in NOT_EXECUTED:
            raise computation.refused(NOT_EXECUTED[word])
        if type_ is None and word not in row.words and not (flushes and word == "ftz"):
            raise computation.refused(f"unknown word .{word}")
    function = row.make(computation)
    return _without_subnormals(computation, function) if flushes else function


_SINGLE = PtxType("f", 32)


def operands_of(opcode: Opcode) -> int | None:
    """The operands that an instruction's function takes; None for one that is not executed."""
    if opcode.kind is Kind.LANES:
        return _LANE_OPERANDS.get(opcode.head)
    row = ROWS.get(opcode.head)
    if row is None:
        return None
    is_pair = opcode.head == "cvt" and len(opcode.types) > 1 and opcode.types[0].endswith("x2")
    return row.operands + (opcode.boolean != "" or is_pair)


NOT_EXECUTED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("rz", "rm", "rp"), "numbers are rounded to nearest even only"),
        "sat": "results are not clamped",
        "relu": "results are not clamped",
    }
)
"""Words of opcodes that are not executed, and why."""


# Integers


def _integers(opcode: _Computation) -> int:
    if opcode.type.is_float or opcode.type.is_pair or opcode.type.bits > 64:
        raise opcode.refused(f"no such instruction on {opcode.last_type}")
    return opcode.type.bits


def _add(opcode: _Computation) -> Function:
    if opcode.type.is_float:
        return _on_floats(opcode, np.add)
    bits = _integers(opcode)
    return binary(lambda a, b: low(a + b, bits))


def _sub(opcode: _Computation) -> Function:
    if opcode.type.is_float:
        return _on_floats(opcode, np.subtract)
    bits = _integers(opcode)
    return binary(lambda a, b: low(a - b, bits))


def _mul(opcode: _Computation) -> Function:
    if opcode.type.is_float:
        return _on_floats(opcode, np.multiply)
    bits = _integers(opcode)
    if "hi" in opcode.words:
        return _mul_high(opcode.type.letter == "s", bits)
    if "wide" in opcode.words:
        return _mul_wide(opcode.type.letter == "s", bits)
    if "lo" not in opcode.words:
        raise opcode.refused("say .lo, .hi or .wide")
    return binary(lambda a, b: low(a * b, bits))


def _mul_wide(is_signed: bool, bits: int) -> Function:
    """The whole product of two numbers of up to 32 bits."""
    if not is_signed:
        return binary(lambda a, b: low(a, bits) * low(b, bits))
    return binary(lambda a, b: unsigned(signed(a, bits) * signed(b, bits), 2 * bits))


def _mul_high(is_signed: bool, bits: int) -> Function:
    def narrow(a: Values, b: Values) -> Values:
        if is_signed:
            return unsigned(signed(a, bits) * signed(b, bits) >> np.int64(bits), bits)
        return low(a, bits) * low(b, bits) >> np.uint64(bits)

    def wide(a: Values, b: Values) -> Values:
        half, ones = np.uint64(32), mask(32)
        cross = (a >> half) * (b & ones) + ((a & ones) * (b & ones) >> half)
        middle = (a & ones) * (b >> half) + (cross & ones)
        high = (a >> half) * (b >> half) + (cross >> half) + (middle >> half)
        if not is_signed:
            return high
        sign = np.uint64(63)
        return high - (a >> sign) * b - (b >> sign) * a

    return narrow if bits <= 32 else wide


def _mad(opcode: _Computation) -> Function:
    bits = _integers(opcode)
    multiply = _mul(opcode)
    width = 2 * bits if "wide" in opcode.words else bits
    return ternary(lambda a, b, c: low(multiply(a, b) + c, width))


def _divide(opcode: _Computation) -> Function:
    """Towards zero; by zero every bit is one, which is unspecified: so an H200 computes."""
    if opcode.type.is_float:
        if opcode.name == "rem" or opcode.rounding != "rn":
            raise opcode.refused("quotients are exact and rounded to nearest: .rn")
        return _with_nans(opcode, np.divide)
    bits, is_signed, zero, one = _integers(opcode), opcode.type.letter == "s", *_BITS
    sign = np.uint64(bits - 1)

    def size(a: Values) -> Values:
        return low(np.where(a >> sign & one != zero, ~a + one, a), bits) if is_signed else a

    def divide(a: Values, b: Values) -> Values:
        dividend, divisor = size(a), size(b)
        quotient = dividend // np.maximum(divisor, one)
        if opcode.name == "rem":
            found, of_sign = dividend - quotient * divisor, a
        else:
            found, of_sign = quotient, a ^ b
        if is_signed:
            found = np.where(of_sign >> sign & one != zero, ~found + one, found)
        return low(np.where(divisor == zero, mask(bits), found), bits)

    return binary(divide)


_BITS = (np.uint64(0), np.uint64(1))


def _difference(opcode: _Computation) -> Function:
    """sad: ``c`` and how far ``a`` is from ``b``."""
    bits = _integers(opcode)
    of_value = signed if opcode.type.letter == "s" else low
    return ternary(
        lambda a, b, c: low(np.where(of_value(a, bits) < of_value(b, bits), b - a, a - b) + c, bits)
    )


def _absolute(opcode: _Computation) -> Function:
    type_ = opcode.type
    if type_.is_float and type_.bits == 64:
        return unary(lambda a: np.where(np.isnan(floats(a, 64)), a, a & mask(63)))
    if type_.is_float:
        return _on_floats(opcode, np.absolute)
    bits = _integers(opcode)
    zero = np.uint64(0)
    return unary(lambda a: low(np.where(signed(a, bits) < 0, zero - a, a), bits))


def _neg(opcode: _Computation) -> Function:
    type_ = opcode.type
    if type_.is_float:
        return _negated(opcode)
    bits = _integers(opcode)
    return unary(lambda a: low(np.uint64(0) - a, bits))


def _negated(opcode: _Computation) -> Function:
    """A sign changes, but not a NaN's: narrow ones become canonical. Source: as an H200
    computes."""
    type_ = PtxType(opcode.type.letter, opcode.type.bits)
    if type_.bits == 32 and "ftz" not in opcode.words:
        return unary(lambda a: a ^ np.uint64(1 << 31))
    if type_.bits == 64:
        sign = np.uint64(1 << 63)
        return unary(lambda a: np.where(np.isnan(floats(a, 64)), a, a ^ sign))
    return _on_floats(opcode, np.negative)


def _extreme(opcode: _Computation) -> Function:
    is_min = opcode.name == "min"
    if opcode.type.is_float:
        return _extreme_of_floats(opcode, is_min)
    bits = _integers(opcode)
    choose = np.minimum if is_min else np.maximum
    if opcode.type.letter == "s":
        return binary(lambda a, b: unsigned(choose(signed(a, bits), signed(b, bits)), bits))
    return binary(lambda a, b: choose(low(a, bits), low(b, bits)))


def _bitwise(opcode: _Computation) -> Function:
    _integers(opcode)
    return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[opcode.name]


def _not(opcode: _Computation) -> Function:
    ones = mask(_integers(opcode))
    return unary(lambda a: a ^ ones)


def _shift_left(opcode: _Computation) -> Function:
    bits = _integers(opcode)
    zero, limit = np.uint64(0), np.uint64(bits)
    return binary(
        lambda a, b: np.where(b < limit, low(a << np.minimum(b, limit - np.uint64(1)), bits), zero)
    )


def _shift_right(opcode: _Computation) -> Function:
    bits = _integers(opcode)
    zero, limit, most = np.uint64(0), np.uint64(bits), np.uint64(bits - 1)
    if opcode.type.letter == "s":
        return binary(
            lambda a, b: unsigned(signed(a, bits) >> np.minimum(b, most).astype(np.int64), bits)
        )
    return binary(lambda a, b: np.where(b < limit, low(a, bits) >> np.minimum(b, most), zero))


_BYTE = np.uint64(0xFF)


def _extract(opcode: _Computation) -> Function:
    """bfe: ``length`` bits from ``start``; of a signed type those above are copies of the last."""
    bits = _integers(opcode)
    zero, most = np.uint64(0), np.uint64(bits - 1)

    def field(a: Values, start: Values, length: Values) -> Values:
        start, length = start & _BYTE, length & _BYTE
        moved = np.where(start <= most, a >> np.minimum(start, most), zero)
        return moved & _ones(length)

    if opcode.type.letter == "u":
        return field

    def with_sign(a: Values, start: Values, length: Values) -> Values:
        last = np.minimum((start & _BYTE) + (length & _BYTE) - np.uint64(1), most)
        sign = (a >> last & np.uint64(1)) * (length & _BYTE != zero)
        above = ~_ones(
            np.where(
                start & _BYTE <= most,
                np.minimum(length & _BYTE, last + np.uint64(1) - (start & _BYTE)),
                zero,
            )
        )
        return low(field(a, start, length) | above * sign, bits)

    return with_sign


def _ones(count: Values) -> Values:
    """Ones in as many of the lowest bits."""
    most = np.uint64(63)
    below = (np.uint64(1) << np.minimum(count, most)) - np.uint64(1)
    return np.where(count > most, mask(64), below)


def _insert(opcode: _Computation) -> Function:
    """bfi: the lowest ``length`` bits of ``a`` into ``b`` from ``start``."""
    bits = _integers(opcode)
    most = np.uint64(63)

    def insert(a: Values, b: Values, start: Values, length: Values) -> Values:
        start, length = start & _BYTE, length & _BYTE
        ones = np.where(start > most, np.uint64(0), _ones(length) << np.minimum(start, most))
        moved = a << np.minimum(start, most)
        return low(b & ~ones | moved & ones, bits)

    return insert


def _population(opcode: _Computation) -> Function:
    _integers(opcode)
    return unary(_count_ones)


def _count_ones(a: Values) -> Values:
    """The ones of a value. Source: Warren, Hacker's Delight, 5-1."""
    a = a - (a >> np.uint64(1) & np.uint64(0x5555555555555555))
    quarter = np.uint64(0x3333333333333333)
    a = (a & quarter) + (a >> np.uint64(2) & quarter)
    a = a + (a >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return a * np.uint64(0x0101010101010101) >> np.uint64(56)


def _length(a: Values) -> Values:
    """The place of the highest one, from 1; 0 if there is none."""
    for shift in (1, 2, 4, 8, 16, 32):
        a = a | a >> np.uint64(shift)
    return _count_ones(a)


def _leading_zeros(opcode: _Computation) -> Function:
    bits = np.uint64(_integers(opcode))
    return unary(lambda a: bits - _length(a))


def _find(opcode: _Computation) -> Function:
    """bfind: the highest bit that is no copy of the sign, or what a shift has to be; ones if
    none."""
    bits = _integers(opcode)
    one, most, ones = np.uint64(1), np.uint64(bits - 1), mask(32)
    is_signed, as_shift = opcode.type.letter == "s", "shiftamt" in opcode.words

    def find(a: Values) -> Values:
        if is_signed:
            a = np.where(a >> most & one != 0, a ^ mask(bits), a)
        place = _length(a) - one
        return np.where(a == 0, ones, most - place if as_shift else place)

    return unary(find)


def _reverse(opcode: _Computation) -> Function:
    bits = _integers(opcode)

    def reverse(a: Values) -> Values:
        found = np.zeros_like(a)
        for n in range(bits):
            found = found | (a >> np.uint64(n) & np.uint64(1)) << np.uint64(bits - 1 - n)
        return found

    return unary(reverse)


def _permute(opcode: _Computation) -> Function:
    """prmt: four of the eight bytes of ``a`` and ``b``, or eight copies of the sign of one."""
    one, seven, byte = np.uint64(1), np.uint64(7), np.uint64(8)

    def permute(a: Values, b: Values, selection: Values) -> Values:
        both = a | b << np.uint64(32)
        found = np.zeros_like(selection)
        for n in range(4):
            chosen = selection >> np.uint64(4 * n)
            picked = both >> (chosen & seven) * byte & _BYTE
            copies = (picked >> seven) * _BYTE
            picked = np.where(chosen & byte != 0, copies, picked)
            found = found | (picked & (one << byte) - one) << np.uint64(8 * n)
        return found

    return ternary(permute)


def _funnel(opcode: _Computation) -> Function:
    """shf: 32 bits of ``b`` and ``a`` side by side, moved; .wrap: by up to 31, .clamp: up to 32."""
    half = np.uint64(32)

    def amount(by: Values) -> Values:
        return by & np.uint64(31) if "wrap" in opcode.words else np.minimum(by, half)

    def left(a: Values, b: Values, by: Values) -> Values:
        return (b << half | a) << amount(by) >> half

    def right(a: Values, b: Values, by: Values) -> Values:
        return low((b << half | a) >> amount(by), 32)

    if not {"wrap", "clamp"} & opcode.words:
        raise opcode.refused("say .wrap or .clamp")
    return ternary(left if "l" in opcode.words else right)


def _lookup(opcode: _Computation) -> Function:
    """lop3: of each place the bit of a table that the three bits there say."""
    bits = _integers(opcode)

    def lookup(a: Values, b: Values, c: Values, table: Values) -> Values:
        found = np.zeros_like(a)
        for n in range(8):
            chosen = [each if n >> at & 1 else ~each for at, each in ((2, a), (1, b), (0, c))]
            bit = table >> np.uint64(n) & np.uint64(1)
            found = found | chosen[0] & chosen[1] & chosen[2] & (np.uint64(0) - bit)
        return low(found, bits)

    return lookup


def _is_zero(opcode: _Computation) -> Function:
    _integers(opcode)
    return unary(lambda a: flags(a == 0))


# Comparison and selection

_SIGNED: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
)
_UNSIGNED = MappingProxyType(
    {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
)
_JOINS = MappingProxyType({"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor})
_COMPARISONS = (*_SIGNED, *_UNSIGNED, *(f"{each}u" for each in _SIGNED), "num", "nan")


def _set_predicate(opcode: _Computation) -> Function:
    comparisons = [each for each in opcode.words if each in _COMPARISONS]
    joins = [_JOINS[each] for each in opcode.words if each in _JOINS]
    if len(comparisons) != 1 or len(joins) > 1:
        raise opcode.refused("one comparison")
    (name,) = comparisons
    compare = _compare_floats(opcode, name) if opcode.type.is_float else _compare(opcode, name)
    if not joins:
        return compare
    (join,) = joins
    return ternary(lambda a, b, predicate: join(compare(a, b), predicate))


def _set(opcode: _Computation) -> Function:
    """set: a comparison as a number, all ones or 1.0."""
    if opcode.to is None:
        raise opcode.refused("it compares one type and gives another")
    yes = np.uint64(_ONES[opcode.to.letter, opcode.to.bits])
    compare = _set_predicate(opcode)
    return lambda *operands: compare(*operands) * yes


_ONES: Mapping[tuple[str, int], int] = MappingProxyType(
    {("f", 32): 0x3F800000, **dict.fromkeys((("u", 32), ("s", 32)), (1 << 32) - 1)}
)


def _choose(opcode: _Computation) -> Function:
    """slct: ``a`` where ``c`` is not negative, else ``b``, also where it is no number."""
    if opcode.type.is_float:
        take = _taken(opcode)
        return ternary(lambda a, b, c: np.where(take(c) >= 0, a, b))
    bits = _integers(opcode)
    return ternary(lambda a, b, c: np.where(signed(c, bits) >= 0, a, b))


def _compare(opcode: _Computation, name: str) -> Function:
    bits, letter = _integers(opcode), opcode.type.letter
    if name in _UNSIGNED and letter == "u":
        unordered = _UNSIGNED[name]
        return binary(lambda a, b: flags(unordered(low(a, bits), low(b, bits))))
    if name not in _SIGNED:
        raise opcode.refused(f".{name} is not for such types")
    compare = _SIGNED[name]
    if letter == "s":
        return binary(lambda a, b: flags(compare(signed(a, bits), signed(b, bits))))
    return binary(lambda a, b: flags(compare(low(a, bits), low(b, bits))))


def _compare_floats(opcode: _Computation, name: str) -> Function:
    take = _taken(opcode)

    def compare(a: Values, b: Values) -> Values:
        left, right = take(a), take(b)
        unordered = np.isnan(left) | np.isnan(right)
        if name in ("num", "nan"):
            return flags(unordered if name == "nan" else ~unordered)
        if name in _SIGNED:
            return flags(_SIGNED[name](left, right) & ~unordered)
        if name.removesuffix("u") in _SIGNED:
            return flags(_SIGNED[name.removesuffix("u")](left, right) | unordered)
        raise opcode.refused(f".{name} is not for such types")

    return compare


def _select(opcode: _Computation) -> Function:
    return ternary(lambda a, b, predicate: np.where(predicate != np.uint64(0), a, b))


# Floating point


def _bfloat(value: Values) -> Floats:
    """bfloat16 is the upper half of a float32."""
    return floats(low(value, 16) << np.uint64(16), 32)


def _bfloat_bits(number: Floats) -> Values:
    wide = np.asarray(number).astype(np.float32).view(np.uint32).astype(np.uint64)
    even = wide >> np.uint64(16) & np.uint64(1)
    return wide + np.uint64(0x7FFF) + even >> np.uint64(16)


_MADE_NAN = np.uint64(0xFFF8 << 48)
"""The NaN of f64 that comes of numbers. Source: as an H200 computes."""

_CANONICAL = {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8000000000000}


def _taken(opcode: _Computation) -> Callable[[Values], Floats]:
    """How bits become numbers."""
    return _reader(opcode, opcode.type)


def _reader(opcode: _Computation, type_: PtxType) -> Callable[[Values], Floats]:
    if type_.is_pair:
        raise opcode.refused("a pair is not one number")
    if type_.letter == "bf" and type_.bits == 16:
        return _bfloat
    if type_.letter == "f" and type_.bits in _CANONICAL:
        return lambda value: floats(value, type_.bits)
    raise opcode.refused("there are no such numbers")


def _given(type_: PtxType) -> Callable[[Floats], Values]:
    """How numbers become bits: rounded, and with the canonical NaN."""
    nan = np.uint64(_CANONICAL[type_.bits])

    def given(number: Floats) -> Values:
        found = _bfloat_bits(number) if type_.letter == "bf" else float_bits(number, type_.bits)
        return np.where(np.isnan(number), nan, found)

    return given


def _on_floats(opcode: _Computation, compute: Callable[..., Floats]) -> Function:
    """A function on numbers as one on bits; of a pair on each half."""
    type_ = PtxType(opcode.type.letter, opcode.type.bits)
    take, give = _reader(opcode, type_), _given(type_)

    def single(*operands: Values) -> Values:
        numbers = [take(each) for each in operands]
        found = compute(*numbers)
        if type_.bits < 64:
            return give(found)
        made = np.isnan(found) & ~reduce(np.logical_or, map(np.isnan, numbers))
        return np.where(made, _MADE_NAN, give(found))

    if not opcode.type.is_pair:
        return single

    def pair(*operands: Values) -> Values:
        half = np.uint64(16)
        upper = single(*(each >> half for each in operands))
        return single(*(low(each, 16) for each in operands)) | upper << half

    return pair


def _extreme_of_floats(opcode: _Computation, is_min: bool) -> Function:
    """The number beside a NaN, unless the opcode says .NaN; -0 is less than 0."""
    keeps_nan = "NaN" in opcode.words

    def extreme(a: Floats, b: Floats) -> Floats:
        found = (np.fmin if is_min else np.fmax)(a, b)
        zeros = (a == 0) & (b == 0)
        negative = np.signbit(a) | np.signbit(b) if is_min else np.signbit(a) & np.signbit(b)
        found = np.where(zeros, np.copysign(np.zeros_like(found), np.where(negative, -1, 1)), found)
        either = np.isnan(a) | np.isnan(b)
        return np.where(either, a + b, found) if keeps_nan else found

    return _on_floats(opcode, extreme)


def _fma(opcode: _Computation) -> Function:
    if not opcode.type.is_float:
        raise opcode.refused("fma is for floating-point numbers")
    return _on_floats(opcode, _fused_64 if opcode.type.bits == 64 else _fused(opcode.type))


def _fused(type_: PtxType) -> Callable[..., Floats]:
    """The product is exact in float64; the sum is rounded to odd, so that rounding again is exact.

    Source: Boldo and Melquiond, Emulation of FMA and Correctly Rounded Sums, 2008.
    """

    def fused(a: Floats, b: Floats, c: Floats) -> Floats:
        wide = [np.asarray(each).astype(np.float64) for each in (a, b, c)]
        found = _sum_to_odd(wide[0] * wide[1], wide[2])
        return _single_to_odd(found) if type_.letter == "bf" else found

    return fused


def _sum_to_odd(a: Floats, b: Floats) -> Floats:
    found, error = _two_sum(a, b)
    return _to_odd(found, error, np.uint64)


def _to_odd(found: Floats, error: Floats, bits: type[np.unsignedinteger[Any]]) -> Floats:
    even = np.asarray(found).view(bits) & bits(1) == 0
    moves = even & (error != 0) & np.isfinite(found) & np.isfinite(error)
    towards = np.where(error > 0, np.inf, -np.inf).astype(found.dtype)
    return np.where(moves, np.nextafter(found, towards), found)


def _single_to_odd(number: Floats) -> Floats:
    single = number.astype(np.float32)
    return _to_odd(single, number - single.astype(np.float64), np.uint32)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A sum and what it lacks, exactly. Source: Knuth, The Art of Computer Programming, 4.2.2."""
    found = np.asarray(a + b)
    part = found - a
    return found, np.asarray((a - (found - part)) + (b - part))


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A product and what it lacks, exactly. Source: Dekker 1971."""
    found = np.asarray(a * b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    lacks = ((a_high * b_high - found) + a_high * b_low + a_low * b_high) + a_low * b_low
    return found, np.asarray(lacks)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    wide = a * np.float64(2**27 + 1)
    high = wide - (wide - a)
    return high, a - high


def _fused_64(a: Floats, b: Floats, c: Floats) -> Floats:
    product, lacks = _two_product(a, b)
    sum_, rest = _two_sum(c, lacks)
    high, low_ = _two_sum(product, sum_)
    found = high + _sum_to_odd(low_, rest)
    return np.where(np.isfinite(found), found, a * b + c)


def _root(opcode: _Computation) -> Function:
    if opcode.rounding != "rn":
        raise opcode.refused("roots are exact and rounded to nearest: .rn")
    return _with_nans(opcode, np.sqrt)


def _reciprocal(opcode: _Computation) -> Function:
    if opcode.rounding != "rn":
        raise opcode.refused("reciprocals are exact and rounded to nearest: .rn")
    return _with_nans(opcode, np.reciprocal)


def _with_nans(opcode: _Computation, compute: Callable[..., Floats]) -> Function:
    """As ``_on_floats``, but of f64 a NaN stays, quiet. Source: as an H200 computes."""
    function = _on_floats(opcode, compute)
    if opcode.type.bits < 64:
        return function

    def with_nans(*operands: Values) -> Values:
        found = function(*operands)
        for each in reversed(operands):
            found = np.where(np.isnan(floats(each, 64)), each | np.uint64(1 << 51), found)
        return found

    return with_nans


def _copy_sign(opcode: _Computation) -> Function:
    """copysign: ``b`` with the sign of ``a``."""
    sign = np.uint64(1 << opcode.type.bits - 1)
    return binary(lambda a, b: b & ~sign | a & sign)


def _without_subnormals(opcode: _Computation, function: Function) -> Function:
    """.ftz: subnormal numbers of f32 become zeros of their sign, before and after."""
    is_comparison = opcode.name in ("set", "setp")
    gives = not is_comparison and (opcode.to or opcode.type) == _SINGLE
    most = 2 if is_comparison else 3

    def flushed(*operands: Values) -> Values:
        # The third operand of a comparison is a predicate.
        if opcode.type == _SINGLE:
            operands = (*map(_flush, operands[:most]), *operands[most:])
        return _flush(function(*operands)) if gives else function(*operands)

    return flushed


def _flush(value: Values) -> Values:
    exponent = value & np.uint64(0x7F800000)
    return np.where(exponent == 0, value & np.uint64(0x80000000), value)


# Conversion


def _convert(opcode: _Computation) -> Function:
    source, to = opcode.type, opcode.to
    if to is None:
        raise opcode.refused("it converts from one type to another")
    if max(source.bits, to.bits) > WORD:
        raise opcode.refused("numbers of up to 64 bits are converted")
    if to.is_pair and source == _SINGLE:
        return _convert_pair(opcode, to)
    if source.is_pair or to.is_pair:
        raise opcode.refused("pairs are not converted")
    if not source.is_float and not to.is_float:
        return _convert_integer(source, to)
    rounding = opcode.rounding
    if to.is_float:
        give = _given(to)
        if source.is_float:
            take = _reader(opcode, source)
            round_ = _ROUNDINGS.get(rounding)
            narrow = _single_to_odd if to.letter == "bf" and source.bits == 64 else _same
            if (source.bits, to.bits) == (64, 32) and round_ is None:
                return unary(_narrowed)
            return unary(lambda a: give(narrow(take(a) if round_ is None else round_(take(a)))))
        return _integer_to_float(source, to, give)
    take, round_ = _reader(opcode, source), _ROUNDINGS.get(rounding)
    if round_ is None:
        raise opcode.refused("say how to round: .rzi, .rni, .rmi or .rpi")
    nan = 1 << to.bits - 1 if 64 in (source.bits, to.bits) else 0
    return unary(lambda a: _float_to_integer(round_(take(a).astype(np.float64)), to, nan))


def _convert_pair(opcode: _Computation, to: PtxType) -> Function:
    """Two numbers of f32 as a pair, the second one lower."""
    if opcode.rounding != "rn":
        raise opcode.refused("numbers are rounded to nearest even only")
    take, give = _reader(opcode, _SINGLE), _given(PtxType(to.letter, to.bits))
    half = np.uint64(16)
    return binary(lambda a, b: give(take(a)) << half | give(take(b)))


def _narrowed(value: Values) -> Values:
    """f64 to f32: NaNs keep what is in them. Source: as an H200 computes."""
    number = floats(value, 64)
    kept = value >> np.uint64(32) & np.uint64(1 << 31) | value >> np.uint64(29) & np.uint64(
        0x3FFFFF
    )
    return np.where(np.isnan(number), kept | np.uint64(0x7FC00000), float_bits(number, 32))


def _same(number: Floats) -> Floats:
    return number


_ROUNDINGS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
)


def _convert_integer(source: PtxType, to: PtxType) -> Function:
    """As wide as the source type, then as the target's, and what is above that in its register."""
    register = max(to.bits, 16)
    of_source = signed if source.letter == "s" else low
    if to.letter == "s" and to.bits < register:
        return unary(
            lambda a: unsigned(signed(of_source(a, source.bits).view(np.uint64), to.bits), register)
        )
    return unary(lambda a: low(np.asarray(of_source(a, source.bits)).view(np.uint64), to.bits))


def _integer_to_float(source: PtxType, to: PtxType, give: Callable[[Floats], Values]) -> Function:
    of_source = signed if source.letter == "s" else low

    def convert(a: Values) -> Values:
        number = of_source(a, source.bits)
        if to.bits == 64:
            return give(np.asarray(number).astype(np.float64))
        if to.bits == 32:
            return give(np.asarray(number).astype(np.float32))
        # Exact in float64 up to 53 bits; above, the lost bits are kept as one that is odd.
        wide = np.asarray(number).astype(np.float64)
        error = (number - wide.astype(number.dtype)).astype(np.float64)
        odd = _to_odd(wide, error, np.uint64)
        return give(_single_to_odd(odd) if to.letter == "bf" else odd)

    return convert


def _float_to_integer(number: Floats, to: PtxType, nan: int) -> Values:
    """A whole number; what is out of range becomes the nearest that is not, NaN becomes ``nan``.

    Source: PTX ISA 9.0, cvt.
    """
    is_signed = to.letter == "s"
    lowest = -(1 << to.bits - 1) if is_signed else 0
    highest = (1 << to.bits - 1) - 1 if is_signed else (1 << to.bits) - 1
    # 2^63 and 2^64 are floats, the greatest integers below them are not.
    above, below = number >= float(highest), number < lowest
    inside = np.where(above | below | np.isnan(number), 0, number)
    whole = inside.astype(np.int64 if is_signed else np.uint64).view(np.uint64)
    ones = (1 << max(to.bits, 16)) - 1
    special = (
        (above, highest),
        (below, lowest & ones),
        (np.isnan(number), _widened(nan, to) & ones),
    )
    for where, value in special:
        whole = np.where(where, np.uint64(value), whole)
    return low(whole, max(to.bits, 16))


def _widened(bits: int, to: PtxType) -> int:
    return bits - (1 << to.bits) if to.letter == "s" and bits >> to.bits - 1 else bits


def _move(opcode: _Computation) -> Function:
    return unary(lambda a: a)


@dataclass(frozen=True, slots=True)
class ArithmeticRow:
    """What makes an instruction's function, and the words that it knows beside types.

    ``operands``: how many the function takes, without a predicate that a comparison joins.
    """

    make: Callable[[_Computation], Function]
    operands: int
    words: tuple[str, ...] = ()


ROWS: Mapping[str, ArithmeticRow] = MappingProxyType(
    {
        "add": ArithmeticRow(_add, 2, ("rn",)),
        "sub": ArithmeticRow(_sub, 2, ("rn",)),
        "mul": ArithmeticRow(_mul, 2, ("rn", "lo", "hi", "wide")),
        "mad": ArithmeticRow(_mad, 3, ("lo", "hi", "wide")),
        "sad": ArithmeticRow(_difference, 3),
        "div": ArithmeticRow(_divide, 2, ("rn",)),
        "rem": ArithmeticRow(_divide, 2),
        "abs": ArithmeticRow(_absolute, 1),
        "popc": ArithmeticRow(_population, 1),
        "clz": ArithmeticRow(_leading_zeros, 1),
        "bfind": ArithmeticRow(_find, 1, ("shiftamt",)),
        "brev": ArithmeticRow(_reverse, 1),
        "sqrt": ArithmeticRow(_root, 1, ("rn",)),
        "rcp": ArithmeticRow(_reciprocal, 1, ("rn",)),
        "copysign": ArithmeticRow(_copy_sign, 2),
        "fma": ArithmeticRow(_fma, 3, ("rn",)),
        "min": ArithmeticRow(_extreme, 2, ("NaN",)),
        "max": ArithmeticRow(_extreme, 2, ("NaN",)),
        "neg": ArithmeticRow(_neg, 1),
        "and": ArithmeticRow(_bitwise, 2),
        "or": ArithmeticRow(_bitwise, 2),
        "xor": ArithmeticRow(_bitwise, 2),
        "not": ArithmeticRow(_not, 1),
        "shl": ArithmeticRow(_shift_left, 2),
        "shr": ArithmeticRow(_shift_right, 2),
        "cnot": ArithmeticRow(_is_zero, 1),
        "lop3": ArithmeticRow(_lookup, 4),
        "shf": ArithmeticRow(_funnel, 3, ("l", "r", "wrap", "clamp")),
        "prmt": ArithmeticRow(_permute, 3),
        "bfe": ArithmeticRow(_extract, 3),
        "bfi": ArithmeticRow(_insert, 4),
        "setp": ArithmeticRow(_set_predicate, 2, (*_COMPARISONS, *_JOINS)),
        "set": ArithmeticRow(_set, 2, (*_COMPARISONS, *_JOINS)),
        "selp": ArithmeticRow(_select, 3),
        "slct": ArithmeticRow(_choose, 3),
        "cvt": ArithmeticRow(_convert, 1, ("rn", *_ROUNDINGS)),
        "mov": ArithmeticRow(_move, 1),
    }
)
"""Instructions by the first word of their names."""


# Lanes of a warp together


@cache
def cross_lane_function_of(name: str, *, second: bool = False) -> Function:
    """What lanes compute together; it takes the active lanes first. Raises ``UnsupportedError``.

    A lane of the member mask that is not active counts as absent. ``second``: the predicate that
    an instruction may give beside its result.
    """
    words = read_opcode(name).words
    type_ = _type_of(words[-1])
    rows = SECOND_RESULTS if second else CROSS_LANE
    found = rows.get(".".join(words if type_ is None else words[:-1]))
    if found is None:
        known = ", ".join(sorted(rows))
        raise UnsupportedError(f"'{name}'", f"it is not executed; executed are {known}")
    return found(type_ or PtxType("b", 1))


def _sources(mode: str, a: Values, b: Values, c: Values) -> tuple[Numbers, LaneFlags]:
    """The lane that each lane of a shuffle reads, and true where that is in its segment."""
    lane = np.arange(a.shape[-1], dtype=np.int64)
    by, clamp = (b & np.uint64(31)).view(np.int64), (c & np.uint64(31)).view(np.int64)
    segment = (c >> np.uint64(8) & np.uint64(31)).view(np.int64)
    first = lane & segment
    last = first | clamp & ~segment
    source = {
        "up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | by & ~segment
    }[mode]  # fmt: skip
    inside = source >= last if mode == "up" else source <= last
    return np.where(inside, source, lane), inside


def _shuffle(mode: str) -> Callable[[PtxType], Function]:
    """shfl.sync: ``a`` of another lane, by ``b`` and the clamp and segments of ``c``."""

    def shuffle(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return np.take_along_axis(a, _sources(mode, a, b, c)[0], axis=-1)

    return lambda _: shuffle


def _is_inside(mode: str) -> Callable[[PtxType], Function]:
    def inside(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return flags(_sources(mode, a, b, c)[1])

    return lambda _: inside


def _match_any(_: PtxType) -> Function:
    """match.any.sync: the lanes that have the same value."""

    def match(active: LaneFlags, a: Values, members: Values) -> Values:
        there = _member(active, members)
        same = (a[..., :, None] == a[..., None, :]) & there[..., None, :]
        return _mask_of(same)[..., 0]

    return match


def _match_all(active: LaneFlags, a: Values, members: Values) -> LaneFlags:
    """True where all lanes have the value of the first."""
    there = _member(active, members)
    first = np.take_along_axis(a, there.argmax(axis=-1, keepdims=True), axis=-1)
    return ((a == first) | ~there).all(axis=-1, keepdims=True)


def _mask_of(lanes: LaneFlags) -> Values:
    bits = np.uint64(1) << np.arange(lanes.shape[-1], dtype=np.uint64)
    return np.where(lanes, bits, np.uint64(0)).sum(axis=-1, dtype=np.uint64, keepdims=True)


def _elect(active: LaneFlags, members: Values) -> Values:
    """elect.sync: the first lane, as it is on every chip so far."""
    return _member(active, members).argmax(axis=-1, keepdims=True).astype(np.uint64)


def _is_elected(active: LaneFlags, members: Values) -> Values:
    return flags(np.arange(active.shape[-1], dtype=np.uint64) == _elect(active, members))


def _member(active: LaneFlags, members: Values) -> LaneFlags:
    lane = np.arange(active.shape[-1], dtype=np.uint64)
    return active & (members >> lane & np.uint64(1) != 0)


def _vote(mode: str) -> Callable[[PtxType], Function]:
    def vote(active: LaneFlags, predicate: Values, members: Values) -> Values:
        there = _member(active, members)
        yes = there & (predicate != 0)
        if mode == "ballot":
            return _mask_of(yes)
        if mode == "any":
            return flags(yes.any(axis=-1, keepdims=True))
        return flags((yes | ~there).all(axis=-1, keepdims=True))

    return lambda _: vote


def _vote_uni(active: LaneFlags, predicate: Values, members: Values) -> Values:
    """True where all lanes have one value of the predicate."""
    return flags(_match_all(active, flags(predicate != 0), members))


_EMPTY_MIN, _EMPTY_MAX = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def _redux(reduce: Callable[..., Numbers], nothing: int) -> Callable[[PtxType], Function]:
    def of(type_: PtxType) -> Function:
        of_value = signed if type_.letter == "s" else low

        def redux(active: LaneFlags, a: Values, members: Values) -> Values:
            number = np.asarray(of_value(a, type_.bits)).astype(np.int64)
            kept = np.where(_member(active, members), number, nothing)
            return unsigned(reduce(kept, axis=-1, keepdims=True), type_.bits)

        return redux

    return of


CROSS_LANE: Mapping[str, Callable[[PtxType], Function]] = MappingProxyType(
    {
        **{f"shfl.sync.{mode}": _shuffle(mode) for mode in ("up", "down", "bfly", "idx")},
        **{f"vote.sync.{mode}": _vote(mode) for mode in ("ballot", "any", "all")},
        "vote.sync.uni": lambda _: _vote_uni,
        "match.any.sync": _match_any,
        "match.all.sync": lambda _: (
            lambda *given: np.where(
                _match_all(*given), _mask_of(_member(given[0], given[2])), np.uint64(0)
            )
        ),
        "elect.sync": lambda _: _elect,
        "activemask": lambda _: _mask_of,
        "redux.sync.add": _redux(np.sum, 0),
        "redux.sync.min": _redux(np.min, _EMPTY_MIN),
        "redux.sync.max": _redux(np.max, _EMPTY_MAX),
        "redux.sync.and": _redux(np.bitwise_and.reduce, -1),
        "redux.sync.or": _redux(np.bitwise_or.reduce, 0),
        "redux.sync.xor": _redux(np.bitwise_xor.reduce, 0),
    }
)
"""Instructions of a warp by their names without the type."""

_LANE_OPERANDS: Mapping[str, int] = MappingProxyType(
    {"shfl": 4, "vote": 2, "match": 2, "redux": 2, "elect": 1, "activemask": 0}
)

SECOND_RESULTS: Mapping[str, Callable[[PtxType], Function]] = MappingProxyType(
    {
        **{f"shfl.sync.{mode}": _is_inside(mode) for mode in ("up", "down", "bfly", "idx")},
        "match.all.sync": lambda _: lambda *given: flags(_match_all(*given)),
        "elect.sync": lambda _: _is_elected,
    }
)
"""The predicates that they may give beside their results."""


# Atomics


@cache
def update_of(operation: str) -> Function:
    """What an atomic leaves of the old value and its operands; ``operation`` as ``add.u32``.

    Raises ``UnsupportedError``.
    """
    opcode = read_opcode(operation)
    kind, type_ = opcode.head, opcode.words[-1]
    if operation == "add.f32":
        return _flushed(function_of(operation))
    if kind in ("add", "min", "max", "and", "or", "xor"):
        function = function_of(f"{kind}.{type_}")
        return function if type_.startswith(("f", "bf")) else Fold(function)
    if kind in _UPDATES:
        return _UPDATES[kind]
    raise UnsupportedError(f"atom '{operation}'", "it is not executed")


def _swap(old: Values, compare: Values, new: Values) -> Values:
    same = old == compare
    if old.ndim > 1:
        same = same.all(axis=0)
    return np.where(same, new, old)


def _increment(old: Values, limit: Values) -> Values:
    return np.where(old >= limit, np.uint64(0), old + np.uint64(1))


def _decrement(old: Values, limit: Values) -> Values:
    wraps = (old == 0) | (old > limit)
    return np.where(wraps, limit, old - np.uint64(1))


_UPDATES: Mapping[str, Function] = MappingProxyType(
    {"exch": Fold(lambda old, data: data), "cas": _swap, "inc": _increment, "dec": _decrement}
)


def _flushed(function: Function) -> Function:
    """f32 sums in global memory have no subnormal numbers. Source: PTX ISA, atom: .add.f32."""
    return binary(lambda old, data: _flush(function(_flush(old), _flush(data))))


# Several registers as one


def split(at: int, bits: int) -> Function:
    """The ``bits`` from bit ``at`` of a value of up to 128 bits."""
    piece, shift = divmod(at, 64)

    def part(whole: Values) -> Values:
        word = whole[piece] if whole.ndim > 2 else whole
        return low(word >> np.uint64(shift), bits)

    return part


def joined(sizes: Sequence[int]) -> Function:
    """One value of several, the first one lowest; of 128 bits in two pieces."""
    places = [sum(sizes[:n]) for n in range(len(sizes))]

    def whole(*parts: Values) -> Values:
        words = [np.zeros((), dtype=np.uint64)] * -(-sum(sizes) // 64)
        for at, bits, part in zip(places, sizes, parts, strict=True):
            piece, shift = divmod(at, 64)
            words[piece] = words[piece] | low(part, bits) << np.uint64(shift)
        if len(words) == 1:
            return words[0]
        shape = np.broadcast_shapes((1, 1), *(np.shape(each) for each in words))
        return np.stack([np.broadcast_to(each, shape) for each in words])

    return whole
