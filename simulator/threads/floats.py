"""Floating-point numbers as their bits: conversions, and arithmetic with exact rounding.

A result is computed exactly, then rounded once. For f32 and f64 to nearest Python's doubles do:
a double has more than twice the bits of a float, so that rounding twice is rounding once.
Source: PTX ISA, "Floating Point Instructions"; IEEE 754-2019, section 4.3.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any

from fencewright.simulator.threads.unknown import UnknownUsed

Bits = int


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits of the exponent and of the fraction; ``nan`` is its canonical NaN."""

    exponent: int
    fraction: int
    nan: int

    @property
    def width(self) -> int:
        """The bits of a number."""
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        """The number that is added to an exponent when it is stored."""
        return (1 << (self.exponent - 1)) - 1


FORMATS: Mapping[str, Format] = {
    "f16": Format(5, 10, 0x7FFF),
    "bf16": Format(8, 7, 0x7FFF),
    "f32": Format(8, 23, 0x7FFFFFFF),
    "f64": Format(11, 52, 0x7FF8000000000000),
}
"""The formats by PTX type.

Source: PTX ISA, "Fundamental Types"; "Alternate Floating-Point Data Formats".
"""

_four = bytearray(4)
_INT4, _FLOAT4 = memoryview(_four).cast("I"), memoryview(_four).cast("f")
_eight = bytearray(8)
_INT8, _FLOAT8 = memoryview(_eight).cast("Q"), memoryview(_eight).cast("d")


def absorbing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives an unknown operand back."""

    @wraps(function)
    def wrapped(*operands: Any) -> Any:
        try:
            return function(*operands)
        except UnknownUsed as used:
            return used.value

    return wrapped


def f32(bits: Any) -> Any:
    """The number that 32 bits are."""
    try:
        _INT4[0] = bits
    except UnknownUsed as used:
        return used.value
    return _FLOAT4[0]


def bits32(value: Any) -> Any:
    """The bits of a number rounded to f32, to nearest even."""
    try:
        _FLOAT4[0] = value
    except UnknownUsed as used:
        return used.value
    return _INT4[0] if value == value else 0x7FFFFFFF


def f64(bits: Any) -> Any:
    """The number that 64 bits are."""
    try:
        _INT8[0] = bits
    except UnknownUsed as used:
        return used.value
    return _FLOAT8[0]


def bits64(value: Any) -> Any:
    """The bits of a double; a NaN as the processor makes it, whose sign is that of a GPU's."""
    try:
        _FLOAT8[0] = value
    except UnknownUsed as used:
        return used.value
    return _INT8[0]


@absorbing
def to_float(bits: Bits, type: str) -> float:
    """The number that the bits of a type are."""
    if type == "f32":
        return f32(bits)
    if type == "f64":
        return f64(bits)
    if type == "bf16":
        return f32(bits << 16)
    form = FORMATS[type]
    sign = -1.0 if bits >> (form.width - 1) else 1.0
    exponent = bits >> form.fraction & (1 << form.exponent) - 1
    fraction = bits & (1 << form.fraction) - 1
    if exponent == (1 << form.exponent) - 1:
        return math.nan if fraction else sign * math.inf
    if not exponent:
        return sign * math.ldexp(fraction, 1 - form.bias - form.fraction)
    return sign * math.ldexp(fraction | 1 << form.fraction, exponent - form.bias - form.fraction)


def round_exact(value: Fraction, type: str, mode: str = "rn", negative: bool = False) -> Bits:
    """The bits of an exact value rounded to a type; ``negative``: the sign of a zero.

    Modes: rn to nearest even, rna away from zero at a tie, rz, rm to minus infinity, rp.
    """
    form = FORMATS[type]
    top = form.width - 1
    if value:
        negative = value < 0
    sign = int(negative) << top
    magnitude = abs(value)
    if not magnitude:
        return sign
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    # The last place of the result: that of a subnormal number is the least there is.
    last = max(exponent, 1 - form.bias) - form.fraction
    scaled = magnitude / Fraction(2) ** last
    units = scaled.numerator // scaled.denominator
    rest = scaled - units
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and units & 1 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": bool(rest) and negative,
        "rp": bool(rest) and not negative,
    }[mode]
    units += up
    # A carry out of the fraction is a carry into the exponent, which is what it has to be.
    stored = units + (max(exponent, 1 - form.bias) + form.bias - 1 << form.fraction)
    infinity = (1 << form.exponent) - 1 << form.fraction
    if stored >= infinity:
        inward = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        stored = infinity - 1 if inward else infinity
    return sign | stored


@absorbing
def from_float(value: float, type: str, mode: str = "rn") -> Bits:
    """The bits of a number rounded to a type."""
    if value != value:
        return FORMATS[type].nan
    if mode == "rn" and type == "f32":
        return bits32(value)
    if type == "f64":
        return bits64(value)
    form = FORMATS[type]
    if math.isinf(value):
        return int(value < 0) << form.width - 1 | (1 << form.exponent) - 1 << form.fraction
    return round_exact(Fraction(value), type, mode, math.copysign(1.0, value) < 0)


@absorbing
def exactly(operation: str, type: str, mode: str, *operands: Bits) -> Bits:
    """One of add, sub, mul, fma, div, rcp, sqrt on bits, rounded once.

    Of quotients and roots of 64 bits a NaN is the operand's, as an H200 has it.
    """
    numbers = [to_float(each, type) for each in operands]
    if type == "f64" and operation in ("div", "rcp", "sqrt"):
        for bits, number in zip(operands, numbers, strict=True):
            if number != number:
                return bits | 1 << 51
    if operation == "sub":
        operation, numbers = "add", [numbers[0], -numbers[1]]
    if operation == "rcp":
        operation, numbers = "div", [1.0, *numbers]
    if operation == "mul":
        operation, numbers = "fma", [*numbers, math.copysign(0.0, -1.0)]
    if operation == "sqrt":
        return _square_root(numbers[0], type, mode)
    if operation == "div":
        return _quotient(numbers[0], numbers[1], type, mode)
    one = 1.0
    first, second, third = (one, *numbers) if operation == "add" else numbers
    if not all(map(math.isfinite, (first, second, third))):
        # Infinities and NaNs come out of doubles as they are.
        return from_float(_special_sum(first, second, third), type)
    product = Fraction(first) * Fraction(second)
    total = product + Fraction(third)
    minus = math.copysign(1, first) * math.copysign(1, second) < 0
    if product or third:
        # An exact cancellation is +0, but for rounding downward.
        zero_is_minus = mode == "rm" if not total else False
    else:
        both = minus and math.copysign(1, third) < 0
        either = minus or math.copysign(1, third) < 0
        zero_is_minus = either if mode == "rm" else both
        if operation == "fma" and len(operands) == 2:
            zero_is_minus = minus
    if operation == "fma" and len(operands) == 2 and not product:
        zero_is_minus = minus
    return round_exact(total, type, mode, zero_is_minus)


def _special_sum(first: float, second: float, third: float) -> float:
    return first * second + third


def _quotient(first: float, second: float, type: str, mode: str) -> Bits:
    sign = math.copysign(1, first) * math.copysign(1, second)
    if first != first or second != second:
        return FORMATS[type].nan
    if math.isinf(first) or second == 0:
        if math.isinf(second) or first == 0:
            return FORMATS[type].nan
        return from_float(sign * math.inf, type)
    if math.isinf(second):
        return from_float(math.copysign(0.0, sign), type)
    return round_exact(Fraction(first) / Fraction(second), type, mode, sign < 0)


def _square_root(value: float, type: str, mode: str) -> Bits:
    if value < 0 and type == "f64":
        return 0xFFF8 << 48
    if value != value or value < 0:
        return FORMATS[type].nan
    if value == 0 or math.isinf(value):
        return from_float(value, type)
    exact = Fraction(value)
    # Enough digits of the root, however small, that the last one only says whether it is exact.
    shift = 2 * (120 + max(0, -math.frexp(value)[1]))
    scaled = exact * Fraction(2) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    inexact = Fraction(root) ** 2 != scaled
    # The sticky digit stands below every tie, so that no rounding takes it for one.
    return round_exact(Fraction(2 * root + inexact, 2 << shift // 2), type, mode)


@absorbing
def fma32(a: Bits, b: Bits, c: Bits) -> Bits:
    """a * b + c of f32, rounded once.

    The product is exact in a double. The sum is rounded to odd, which a second rounding cannot
    take for a tie. Source: Boldo and Melquiond, "Emulation of FMA", 2008.
    """
    product, addend = f32(a) * f32(b), f32(c)
    total = product + addend
    if not math.isfinite(total):
        return bits32(total)
    other = total - product
    error = (product - (total - other)) + (addend - other)
    if error:
        stored = bits64(total)
        if not stored & 1:
            total = f64(stored + 1 if (error > 0) == (total > 0) else stored - 1)
    return bits32(total)


def flush(bits: Any, type: str = "f32") -> Any:
    """A subnormal number as the zero of its sign, a NaN as the canonical one (.ftz)."""
    form = FORMATS[type]
    exponents = (1 << form.exponent) - 1 << form.fraction
    try:
        if bits & exponents == exponents and bits & (1 << form.fraction) - 1:
            return form.nan
        return bits if bits & exponents else bits & 1 << form.width - 1
    except UnknownUsed as used:
        return used.value


@absorbing
def saturate(bits: Bits, type: str) -> Bits:
    """A number clamped to 0 .. 1; NaN is 0 (.sat)."""
    value = to_float(bits, type)
    if value != value or value <= 0:
        return 0
    return from_float(1.0, type) if value >= 1 else bits


@absorbing
def absolute(bits: Bits, type: str) -> Bits:
    """abs; a NaN is the canonical one, of 64 bits it stays, as an H200 has it."""
    form = FORMATS[type]
    if to_float(bits, type) != to_float(bits, type):
        return bits if type == "f64" else form.nan
    return bits & (1 << form.width - 1) - 1


@absorbing
def negative(bits: Bits, type: str) -> Bits:
    """neg; a NaN of 16 bits is the canonical one, of 64 bits it stays, as an H200 has it."""
    form = FORMATS[type]
    is_nan = to_float(bits, type) != to_float(bits, type)
    if is_nan and type != "f32":
        return bits if type == "f64" else form.nan
    return bits ^ 1 << form.width - 1


@absorbing
def least(a: Bits, b: Bits, type: str, keeps_nan: bool = False) -> Bits:
    """min: of a NaN and a number the number, -0 below +0 (.NaN: the NaN)."""
    return _chosen(a, b, type, keeps_nan, True)


@absorbing
def greatest(a: Bits, b: Bits, type: str, keeps_nan: bool = False) -> Bits:
    """max: of a NaN and a number the number, +0 above -0 (.NaN: the NaN)."""
    return _chosen(a, b, type, keeps_nan, False)


def _chosen(a: Bits, b: Bits, type: str, keeps_nan: bool, is_least: bool) -> Bits:
    first, second = to_float(a, type), to_float(b, type)
    if first != first or second != second:
        if keeps_nan or (first != first and second != second):
            return FORMATS[type].nan
        return b if first != first else a
    if first == second:
        # Only zeros are equal and of two forms.
        return (a | b) if is_least else (a & b)
    return a if (first < second) == is_least else b


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "equ": lambda a, b: not (a < b or a > b),
    "neu": lambda a, b: a != b,
    "ltu": lambda a, b: not a >= b,
    "leu": lambda a, b: not a > b,
    "gtu": lambda a, b: not a <= b,
    "geu": lambda a, b: not a < b,
    "num": lambda a, b: a == a and b == b,
    "nan": lambda a, b: a != a or b != b,
}
"""The comparisons of numbers that may be NaN. Source: PTX ISA, "Floating Point Comparisons"."""


@absorbing
def compare(name: str, type: str, a: Bits, b: Bits) -> bool:
    """Two numbers compared."""
    return COMPARISONS[name](to_float(a, type), to_float(b, type))


def _base_two(value: float) -> float:
    if value <= 0 or value != value:
        return -math.inf if value == 0 else math.nan
    return math.inf if math.isinf(value) else math.log2(value)


def _power(value: float) -> float:
    if value != value or math.isinf(value):
        return 0.0 if value == -math.inf else value
    return math.inf if value > 1100 else 0.0 if value < -1200 else math.pow(2.0, value)


def _wave(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: function(value) if math.isfinite(value) else math.nan


def _reciprocal_root(value: float) -> float:
    if value == 0:
        return math.copysign(math.inf, value)
    return math.nan if not value > 0 else 1 / math.sqrt(value)


APPROXIMATE: Mapping[str, Callable[[float], float]] = {
    "sin": _wave(math.sin),
    "cos": _wave(math.cos),
    "lg2": _base_two,
    "ex2": _power,
    "tanh": math.tanh,
    "rsqrt": _reciprocal_root,
}
"""Functions that hardware computes to some bits less: here rounded to nearest."""


@absorbing
def approximately(name: str, type: str, a: Bits) -> Bits:
    """A function of APPROXIMATE on bits."""
    return from_float(APPROXIMATE[name](to_float(a, type)), type)


_TO_INTEGER: Mapping[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


@absorbing
def to_integer(bits: Bits, type: str, mode: str, signed: bool, width: int) -> int:
    """cvt to an integer, clamped to its range. The bits of the result.

    NaN is 0, but the lowest number from f64 and to 64 bits, as an H200 has it.
    """
    value = to_float(bits, type)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if value != value:
        return 1 << width - 1 if type == "f64" or width == 64 else 0
    if math.isinf(value):
        return (low if value < 0 else high) & (1 << width) - 1
    found = _TO_INTEGER[mode](Fraction(value))
    return max(low, min(high, found)) & (1 << width) - 1


@absorbing
def of_integer(value: int, type: str, mode: str) -> Bits:
    """cvt of an integer to a number."""
    return round_exact(Fraction(value), type, mode)


@absorbing
def convert(bits: Bits, source: str, target: str, mode: str) -> Bits:
    """cvt between formats; a mode as rzi rounds to an integer."""
    value = to_float(bits, source)
    if value != value and (source, target) == ("f64", "f32"):
        # The upper part of the fraction stays.
        return bits >> 32 & 0x80000000 | 0x7FC00000 | bits >> 29 & 0x3FFFFF
    if mode in _TO_INTEGER and math.isfinite(value):
        value = math.copysign(float(_TO_INTEGER[mode](Fraction(value))), value)
    return from_float(value, target, mode if mode in ("rz", "rm", "rp", "rna") else "rn")


@absorbing
def is_class(name: str, type: str, bits: Bits) -> bool:
    """testp: the class of a number."""
    value, form = to_float(bits, type), FORMATS[type]
    exponent = bits >> form.fraction & (1 << form.exponent) - 1
    return {
        "finite": math.isfinite(value),
        "infinite": math.isinf(value),
        "number": value == value,
        "notanumber": value != value,
        "normal": math.isfinite(value) and exponent != 0,
        "subnormal": exponent == 0 and value != 0,
    }[name]
