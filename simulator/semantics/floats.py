"""Floating-point numbers as their bits: conversions, and arithmetic with exact rounding.

A result is computed exactly, then rounded once. For f32 and f64 to nearest Python's doubles do:
a double has more than twice the bits of a float, so that rounding twice is rounding once.
Source: PTX ISA, "Floating Point Instructions"; IEEE 754-2019, section 4.3.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Bits = int


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits of the exponent and of the fraction; ``nan`` is its canonical NaN.

    Without infinity the greatest exponent has numbers, and one NaN of each sign.
    """

    exponent: int
    fraction: int
    nan: int
    has_infinity: bool = True

    @property
    def width(self) -> int:
        """The bits of a number."""
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        """The number that is added to an exponent when it is stored."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def greatest(self) -> int:
        """The greatest finite number."""
        return ((1 << self.exponent) - 1 << self.fraction if self.has_infinity else self.nan) - 1


FORMATS: Mapping[str, Format] = {
    "f16": Format(5, 10, 0x7FFF),
    "bf16": Format(8, 7, 0x7FFF),
    "f32": Format(8, 23, 0x7FFFFFFF),
    "f64": Format(11, 52, 0x7FF8000000000000),
    "e4m3": Format(4, 3, 0x7F, has_infinity=False),
    "e5m2": Format(5, 2, 0x7F),
    "tf32": Format(8, 10, 0x3FFFF),
}
"""The formats by PTX type.

Source: PTX ISA, "Fundamental Types"; "Alternate Floating-Point Data Formats".
"""

_four = bytearray(4)
_INT4, _FLOAT4 = memoryview(_four).cast("I"), memoryview(_four).cast("f")
_eight = bytearray(8)
_INT8, _FLOAT8 = memoryview(_eight).cast("Q"), memoryview(_eight).cast("d")


def f32(bits: Any) -> Any:
    """The number that 32 bits are."""
    _INT4[0] = bits
    return _FLOAT4[0]


def bits32(value: Any) -> Any:
    """The bits of a number rounded to f32, to nearest even."""
    _FLOAT4[0] = value
    return _INT4[0] if value == value else 0x7FFFFFFF


def f64(bits: Any) -> Any:
    """The number that 64 bits are."""
    _INT8[0] = bits
    return _FLOAT8[0]


def bits64(value: Any) -> Any:
    """The bits of a double; a NaN as the processor makes it."""
    _FLOAT8[0] = value
    return _INT8[0]


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
    if bits & (1 << form.width - 1) - 1 > form.greatest:
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
    if stored > form.greatest:
        inward = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        stored = form.greatest + (not inward and form.has_infinity)
    return sign | stored


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
        return int(value < 0) << form.width - 1 | form.greatest + form.has_infinity
    return round_exact(Fraction(value), type, mode, math.copysign(1.0, value) < 0)


def exactly(operation: str, type: str, mode: str, *operands: Bits) -> Bits:
    """One of add, sub, mul, fma, div, rcp, sqrt on bits, rounded once.

    Of 64 bits a NaN of numbers is negative, and of quotients and roots a NaN is the operand's, as
    an H200 has it.
    """
    numbers = [to_float(each, type) for each in operands]
    nans = [each for each, number in zip(operands, numbers, strict=True) if number != number]
    if nans and type == "f64" and operation in ("div", "rcp", "sqrt"):
        return nans[0] | 1 << 51
    found = _exactly(operation, type, mode, numbers)
    if type == "f64" and not nans and found == FORMATS["f64"].nan:
        return found | 1 << 63
    return found


def _exactly(operation: str, type: str, mode: str, numbers: Sequence[float]) -> Bits:
    match operation:
        case "add":
            return _sum(1.0, numbers[0], numbers[1], type, mode)
        case "sub":
            return _sum(1.0, numbers[0], -numbers[1], type, mode)
        case "mul":
            # Nothing that is added changes a product, but for the sign of its zero.
            sign = math.copysign(1, numbers[0]) * math.copysign(1, numbers[1])
            return _sum(numbers[0], numbers[1], math.copysign(0.0, sign), type, mode)
        case "fma":
            return _sum(numbers[0], numbers[1], numbers[2], type, mode)
        case "rcp":
            return _quotient(1.0, numbers[0], type, mode)
        case "div":
            return _quotient(numbers[0], numbers[1], type, mode)
        case _:
            return _square_root(numbers[0], type, mode)


def _sum(first: float, second: float, third: float, type: str, mode: str) -> Bits:
    """A product and an addend."""
    if math.isinf(first) or math.isinf(second) or first != first or second != second:
        return from_float(first * second + third, type)
    if not math.isfinite(third):
        return from_float(third, type)
    product = Fraction(first) * Fraction(second)
    total = product + Fraction(third)
    if product or third:
        # An exact cancellation is +0, but for rounding downward.
        return round_exact(total, type, mode, mode == "rm")
    signs = [math.copysign(1, first) * math.copysign(1, second) < 0, math.copysign(1, third) < 0]
    return round_exact(total, type, mode, any(signs) if mode == "rm" else all(signs))


_ONCE_MORE = frozenset({"f32", "f64"})
"""Types whose quotients and roots to nearest are those of doubles, rounded once more."""


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
    if mode == "rn" and type in _ONCE_MORE:
        return from_float(first / second, type)
    return round_exact(Fraction(first) / Fraction(second), type, mode, sign < 0)


def _square_root(value: float, type: str, mode: str) -> Bits:
    if value != value or value < 0:
        return FORMATS[type].nan
    if value == 0 or math.isinf(value):
        return from_float(value, type)
    if mode == "rn" and type in _ONCE_MORE:
        return from_float(math.sqrt(value), type)
    exact = Fraction(value)
    # Enough digits of the root, however small, that the last one only says whether it is exact.
    shift = 2 * (120 + max(0, -math.frexp(value)[1]))
    scaled = exact * Fraction(2) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    inexact = Fraction(root) ** 2 != scaled
    # The sticky digit stands below every tie, so that no rounding takes it for one.
    return round_exact(Fraction(2 * root + inexact, 2 << shift // 2), type, mode)


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


def _angle(turns: float) -> float:
    return 2 * math.pi * (turns - math.floor(turns) + 0.0)


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
    "sin of turns": _wave(lambda value: math.sin(_angle(value))),
    "cos of turns": _wave(lambda value: math.cos(_angle(value))),
}
"""Functions that hardware computes to some bits less: here rounded to nearest."""


def approximately(name: str, type: str, a: Bits) -> Bits:
    """A function of APPROXIMATE on bits."""
    return from_float(APPROXIMATE[name](to_float(a, type)), type)


_TO_INTEGER: Mapping[str, Callable[[float], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def integral(mode: str, value: float) -> float:
    """A number rounded to a whole one, with its sign."""
    if not math.isfinite(value):
        return value
    return math.copysign(float(_TO_INTEGER[mode](value)), value)


def to_integer(type: str, mode: str, signed: bool, width: int, bits: Bits) -> int:
    """cvt to an integer, clamped to its range. The bits of the result.

    NaN is 0, but the lowest number from f64 and to 64 bits, as an H200 has it.
    """
    value = to_float(bits, type)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if value != value:
        return 1 << width - 1 if type == "f64" or width == 64 else 0
    if math.isinf(value):
        return (low if value < 0 else high) & (1 << width) - 1
    return max(low, min(high, _TO_INTEGER[mode](value))) & (1 << width) - 1


def of_integer(type: str, mode: str, value: int) -> Bits:
    """cvt of an integer to a number."""
    if type != "f32" or mode not in _DIRECTIONS or not -_EXACT < value < _EXACT:
        return round_exact(Fraction(value), type, mode)
    nearest = bits32(value)
    beyond = f32(nearest) - value
    # The bits of a number and its sign: one less is the next number towards zero.
    if mode == "rz":
        return nearest - 1 if beyond * value > 0 else nearest
    if beyond > 0 and mode == "rm":
        return nearest - 1 if value > 0 else nearest + 1
    if beyond < 0 and mode == "rp":
        return nearest + 1 if value > 0 else nearest - 1
    return nearest


_DIRECTIONS = frozenset({"rn", "rz", "rm", "rp"})
_EXACT = 1 << 53
"""Integers below are exact as numbers of 64 bits."""


def convert(source: str, target: str, mode: str, bits: Bits) -> Bits:
    """cvt between formats, rounded once."""
    return from_float(to_float(bits, source), target, mode)


def convert_small(
    source: str, target: str, mode: str, saturates: bool, is_relu: bool, bits: Bits
) -> Bits:
    """cvt to or from e4m3 and e5m2, and to tf32, which is the upper part of its register.

    A NaN is the canonical one, of tf32 taken to be 0x7FFFFFFF. Source: PTX ISA, cvt: .satfinite,
    .relu, .tf32.
    """
    value, form = to_float(bits, source), FORMATS[target]
    unused = 32 - form.width if target == "tf32" else 0
    if value != value:
        return form.nan << unused | (1 << unused) - 1
    found = from_float(value, target, mode)
    sign = found & 1 << form.width - 1
    if is_relu and sign:
        return 0
    return (sign | min(found - sign, form.greatest) if saturates else found) << unused


# Times a power of 2, which is a word with a sign


def scaled(type: str, bits: Bits, power: int) -> Bits:
    """A number times 2 to a power, rounded once."""
    value = to_float(bits, type)
    if not math.isfinite(value):
        return from_float(value, type)
    exact = Fraction(value) * Fraction(2) ** _bounded(power)
    return round_exact(exact, type, negative=math.copysign(1.0, value) < 0)


def fused_and_scaled(type: str, a: Bits, b: Bits, c: Bits, power: int) -> Bits:
    """a * b + c times 2 to a power, rounded once; not finite where the sum is not."""
    found = exactly("fma", type, "rn", a, b, c)
    x, y, z = (to_float(each, type) for each in (a, b, c))
    if not power or not math.isfinite(to_float(found, type)):
        return found
    exact = (Fraction(x) * Fraction(y) + Fraction(z)) * Fraction(2) ** _bounded(power)
    return round_exact(exact, type) if exact else scaled(type, found, power)


def _bounded(power: int) -> int:
    """The power as a number, within those that change a result."""
    return max(-5000, min(5000, (power ^ 1 << 31) - (1 << 31)))
