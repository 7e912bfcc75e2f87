"""Floating-point functions of lanes, with the NaNs of this hardware.

Approximations (``v_rcp_f32``, ``v_exp_f32``) are rounded to the nearest here; hardware may differ
in the last place. Source: MI300 ISA 4.6 and 12.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.cdna.integers import Arithmetic, Binary
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import float_bits, floats, low, mask, signed, unsigned
from fencewright.simulator.semantics.floats import round_exact, to_float

_OfBits: TypeAlias = Callable[[Values, Values, int], Values]
_Condition: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]

MANTISSA: Mapping[int, int] = MappingProxyType({16: 10, 32: 23, 64: 52})
"""Bits of the fraction; the highest of them says that a NaN is quiet."""


def infinity(bits: int) -> int:
    """The bits of infinity."""
    return (1 << bits - 1) - (1 << MANTISSA[bits])


def is_nan(value: Values, bits: int) -> NDArray[np.bool_]:
    """True of a NaN."""
    return value & mask(bits - 1) > np.uint64(infinity(bits))


def quietened(result: Values, bits: int, *operands: Values) -> Values:
    """The result, or the first operand that is a NaN, quiet; where none is, the NaN of no
    origin."""
    quiet = np.uint64(1 << MANTISSA[bits] - 1)
    made = np.where(is_nan(result, bits), np.uint64(infinity(bits)) | quiet, result)
    for each in reversed(operands):
        made = np.where(is_nan(each, bits), each | quiet, made)
    return made


def added(a: Values, b: Values, bits: int) -> Values:
    """The sum, rounded to the nearest, of two the even one."""
    with np.errstate(all="ignore"):
        found = float_bits(floats(a, bits) + floats(b, bits), bits)
    return quietened(found, bits, a, b)


def order(value: Values, bits: int) -> NDArray[np.int64]:
    """Integers in the order of the numbers, -0 below 0: those of negative ones are turned over."""
    number = signed(value, bits)
    return number ^ (number >> np.int64(63) & np.int64((1 << bits - 1) - 1))


def extreme(precedes: _Condition, a: Values, b: Values, bits: int) -> Values:
    """The number where the other operand is a quiet NaN; of a signalling NaN its quiet form."""
    chosen = np.where(precedes(order(a, bits), order(b, bits)), a, b)
    chosen = np.where(is_nan(b, bits), a, chosen)
    chosen = np.where(is_nan(a, bits), b, chosen)
    quiet = np.uint64(1 << MANTISSA[bits] - 1)
    for each in (b, a):
        signals = is_nan(each, bits) & (each & quiet == 0)
        chosen = np.where(signals, each | quiet, chosen)
    return chosen


def of_bits(operation: _OfBits, bits: int) -> Binary:
    """An operation at one width."""
    return lambda a, b: operation(a, b, bits)


def minimum(a: Values, b: Values, bits: int) -> Values:
    """The smaller one."""
    return extreme(np.less, a, b, bits)


def maximum(a: Values, b: Values, bits: int) -> Values:
    """The greater one."""
    return extreme(np.greater, a, b, bits)


def multiplied_by(bits: int) -> Binary:
    """The product, rounded to the nearest, of two the even one."""

    def computed(a: Values, b: Values) -> Values:
        return quietened(float_bits(floats(a, bits) * floats(b, bits), bits), bits, a, b)

    return computed


def fused(bits: int) -> Arithmetic:
    """``a * b + c``, rounded once."""
    operation = _fused_64 if bits == 64 else _fused_in_double

    def computed(*operands: Values) -> Values:
        numbers = [floats(each, bits).astype(np.float64) for each in operands]
        return quietened(float_bits(operation(*numbers), bits), bits, *operands)

    return computed


_Numbers: TypeAlias = NDArray[np.float64]


def _two_sum(a: _Numbers, b: _Numbers) -> tuple[_Numbers, _Numbers]:
    """A sum and its exact rounding error. Source: Knuth, The Art of Computer Programming, 4.2.2."""
    found = np.asarray(a + b)
    part = found - a
    return found, np.asarray((a - (found - part)) + (b - part))


def _to_odd(found: _Numbers, error: _Numbers) -> _Numbers:
    """The sum rounded to odd, so that rounding it again is exact.

    Source: Boldo and Melquiond, Emulation of FMA and Correctly Rounded Sums, 2008.
    """
    even = np.asarray(found).view(np.uint64) & np.uint64(1) == 0
    moves = even & (error != 0) & np.isfinite(found) & np.isfinite(error)
    return np.where(moves, np.nextafter(found, np.where(error > 0, np.inf, -np.inf)), found)


def _fused_in_double(a: _Numbers, b: _Numbers, c: _Numbers) -> _Numbers:
    """Of numbers whose product is exact."""
    return _to_odd(*_two_sum(np.asarray(a * b), c))


_SAFE = 400
"""Powers of 2 up to which nothing in between overflows or is denormal."""


def _fused_64(*operands: _Numbers) -> _Numbers:
    a, b, c = np.broadcast_arrays(*operands)
    product = np.asarray(a * b)
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    # The product and what it lacks, exactly. Source: Dekker 1971.
    lacks = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    middle, rest = _two_sum(c, np.asarray(lacks))
    high, low_ = _two_sum(product, middle)
    found = np.asarray(high + _to_odd(*_two_sum(low_, rest)))
    powers = [np.abs(np.frexp(each)[1]) for each in (a, b, c)]
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    # The sign of a zero is that of the plain sum, and a product with 0 is exact.
    plain = ~finite | (found == 0) | (a == 0) | (b == 0)
    found = np.where(plain, a * b + c, found)
    # The others one by one, as fractions: they are few.
    exact = finite & ((powers[0] > _SAFE) | (powers[1] > _SAFE) | (powers[2] > 2 * _SAFE))
    exact &= (a != 0) & (b != 0)
    for place in zip(*np.nonzero(exact), strict=True):
        found[place] = _nearest(
            Fraction(float(a[place])) * Fraction(float(b[place])) + Fraction(float(c[place]))
        )
    return found


def _split(a: _Numbers) -> tuple[_Numbers, _Numbers]:
    wide = a * np.float64(2**27 + 1)
    high = np.asarray(wide - (wide - a))
    return high, np.asarray(a - high)


def _nearest(number: Fraction) -> float:
    """The nearest double."""
    sign = -1.0 if number < 0 else 1.0
    try:
        return math.copysign(float(number), sign)
    except OverflowError:
        return math.copysign(math.inf, sign)


def on_numbers(function: Callable[..., NDArray[Any]], bits: int) -> Arithmetic:
    """A function of real numbers, computed in double precision and rounded."""

    def computed(*operands: Values) -> Values:
        numbers = [floats(each, bits).astype(np.float64) for each in operands]
        return quietened(float_bits(function(*numbers), bits), bits, *operands)

    return computed


def reciprocal_root(number: NDArray[np.float64]) -> NDArray[np.float64]:
    """One through the root."""
    return 1 / np.sqrt(number)


def converted(bits: int, to: int) -> Callable[[Values], Values]:
    """A number of one precision in another, of a NaN the upper bits."""
    shift = MANTISSA[bits] - MANTISSA[to]

    def computed(a: Values) -> Values:
        sign = a >> np.uint64(bits - 1) << np.uint64(to - 1)
        fraction = a & mask(MANTISSA[bits])
        rest = fraction >> np.uint64(shift) if shift > 0 else fraction << np.uint64(-shift)
        nan = sign | np.uint64(infinity(to) | 1 << MANTISSA[to] - 1) | rest
        return np.where(is_nan(a, bits), nan, float_bits(floats(a, bits), to))

    return computed


def difference(bits: int) -> Binary:
    """``a - b``."""
    return lambda a, b: added(a, negated(b, bits), bits)


def negated(value: Values, bits: int) -> Values:
    """A floating-point number with the other sign."""
    return value ^ np.uint64(1 << bits - 1)


def magnitude(value: Values, bits: int) -> Values:
    """A floating-point number without its sign."""
    return low(value, bits - 1)


def flushed(value: Values) -> Values:
    """The number of single precision, 0 for a denormal one."""
    sign = np.uint64(1 << 31)
    return np.where(value & np.uint64(infinity(32)) == 0, value & sign, value)


# Parts of numbers

_BIAS: Mapping[int, int] = MappingProxyType({16: 15, 32: 127, 64: 1023})


def exponent(value: Values, bits: int) -> NDArray[np.int64]:
    """The field of the exponent, as it is."""
    field = value >> np.uint64(MANTISSA[bits]) & mask(bits - 1 - MANTISSA[bits])
    return np.asarray(field).view(np.int64)


def scaled(a: Values, power: NDArray[np.int64], bits: int) -> Values:
    """A number times 2 to a power, rounded once."""
    most = 4 * _BIAS[bits]
    number = np.ldexp(floats(a, bits).astype(np.float64), power.clip(-most, most).astype(np.int32))
    return quietened(float_bits(number, bits), bits, a)


def load_exponent(bits: int) -> Binary:
    """``v_ldexp``: the power is a word with a sign, of half precision 16 bits."""
    return lambda a, power: scaled(a, signed(power, min(bits, 32)), bits)


def fraction(bits: int) -> Arithmetic:
    """``a - floor(a)``, less than 1."""
    below = np.uint64((_BIAS[bits] << MANTISSA[bits]) - 1)

    def computed(a: Values) -> Values:
        number = floats(a, bits)
        found = float_bits(number - np.floor(number), bits)
        return quietened(np.where(is_nan(found, bits), found, np.minimum(found, below)), bits, a)

    return computed


def fraction_of(bits: int) -> Arithmetic:
    """``v_frexp_mant``: from 0.5 to 1; of a number that is not finite, itself."""

    def computed(a: Values) -> Values:
        found = np.frexp(floats(a, bits).astype(np.float64))[0]
        return quietened(float_bits(found, bits), bits, a)

    return computed


def exponent_of(bits: int) -> Arithmetic:
    """``v_frexp_exp``: the power of 2 of it; 0 for 0 and for values that are not finite."""

    def computed(a: Values) -> Values:
        number = floats(a, bits).astype(np.float64)
        found = np.where(np.isfinite(number), np.frexp(number)[1], 0)
        return unsigned(found.astype(np.int64), 16 if bits == 16 else 32)

    return computed


def classes(a: Values, wanted: Values, bits: int) -> Values:
    """1 if a number is of one of ten classes. Source: MI300 ISA 12.9, V_CMP_CLASS_F32."""
    quiet = a & np.uint64(1 << MANTISSA[bits] - 1) != 0
    nan, negative = is_nan(a, bits), a >> np.uint64(bits - 1) & np.uint64(1) != 0
    size = low(a, bits - 1)
    infinite, zero = size == np.uint64(infinity(bits)), size == 0
    denormal = ~zero & (size < np.uint64(1 << MANTISSA[bits]))
    normal = ~(nan | infinite | zero | denormal)
    kinds = [nan & ~quiet, nan & quiet]
    kinds += [negative & each for each in (infinite, normal, denormal, zero)]
    kinds += [~negative & each for each in (zero, denormal, normal, infinite)]
    found = np.zeros(np.broadcast_shapes(a.shape, wanted.shape), dtype=np.bool_)
    for n, kind in enumerate(kinds):
        found = found | kind & (wanted >> np.uint64(n) & np.uint64(1) != 0)
    return found.astype(np.uint64)


# Division. Source: MI300 ISA 12.10, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP


@dataclass(frozen=True, slots=True)
class _Division:
    """The constants of one precision: powers of 2, and exponents where scaling begins."""

    bits: int
    scale: int
    near_most: int
    tiny: int
    least: int


_DIVISIONS: Mapping[int, _Division] = MappingProxyType(
    {32: _Division(32, 64, 96, 23, -150), 64: _Division(64, 128, 768, 53, -1075)}
)
_NO_CASE = 7
_WITH_FLAG = (1, 3, 5)


def _case(denominator: Values, numerator: Values, of: _Division) -> NDArray[np.int64]:
    """The first case of ``v_div_scale`` that holds, by its number in the manual's order."""
    bits = of.bits
    top, bottom = exponent(numerator, bits), exponent(denominator, bits)
    x, y = (floats(each, bits).astype(np.float64) for each in (numerator, denominator))
    least = np.ldexp(1.0, 1 - _BIAS[bits])
    with np.errstate(all="ignore"):
        small = [(each != 0) & (each < least) for each in (np.abs(1 / y), np.abs(x / y))]
    zero = (low(numerator, bits - 1) == 0) | (low(denominator, bits - 1) == 0)
    conditions = [
        zero, top - bottom >= of.near_most, bottom == 0, small[0] & small[1], *small,
        top <= of.tiny,
    ]  # fmt: skip
    return np.select(np.broadcast_arrays(*conditions), range(_NO_CASE), _NO_CASE)


def division_scale(bits: int) -> Arithmetic:
    """The operand of a division, scaled so that its steps are in range: the denominator or the
    numerator."""
    of = _DIVISIONS[bits]

    def computed(a: Values, denominator: Values, numerator: Values) -> Values:
        case = _case(denominator, numerator, of)
        is_denominator, is_numerator = a == denominator, a == numerator
        up = (case == 1) & is_denominator | np.isin(case, (2, 6)) | (case == 5) & is_numerator
        # Inferred, as of the step: the denominator of case 3 goes down; up it is out of range.
        down = (case == 3) & is_denominator | (case == 4)
        power = np.where(up, of.scale, np.where(down, -of.scale, 0))
        quiet = np.uint64(infinity(bits) | 1 << MANTISSA[bits] - 1)
        return np.where(case == 0, quiet, scaled(a, power, bits))

    return computed


def division_flag(bits: int) -> Arithmetic:
    """1 if the quotient of a scaled division is to be scaled back."""

    def computed(_: Values, denominator: Values, numerator: Values) -> Values:
        case = _case(denominator, numerator, _DIVISIONS[bits])
        return np.isin(case, _WITH_FLAG).astype(np.uint64)

    return computed


def division_step(bits: int) -> Arithmetic:
    """A fused multiply and add, scaled back where the flag is set: the way that ``c`` is large or
    small.

    Inferred: the side to which it scales back, by which the quotients of
    ``tests/unit/test_amd_random_functions.py`` are the rounded ones; intermediate values may
    differ from a chip's.
    """
    step, scale = fused(bits), _DIVISIONS[bits].scale

    def computed(a: Values, b: Values, c: Values, flag: Values) -> Values:
        found = step(a, b, c)
        back = np.where(exponent(c, bits) > _BIAS[bits], scale, -scale)
        result = np.asarray(np.where(flag != 0, scaled(found, back, bits), found))
        # The quotient is rounded once: what becomes subnormal by the scaling loses bits in it.
        is_small = (exponent(result, bits) == 0) | (exponent(found, bits) == 0)
        again = np.broadcast_to((flag != 0) & is_small & is_number(found, bits), result.shape)
        for at in zip(*np.nonzero(again), strict=True):
            parts = (np.broadcast_to(each, result.shape)[at] for each in (a, b, c))
            x, y, z = (Fraction(to_float(int(each), f"f{bits}")) for each in parts)
            power = int(np.broadcast_to(back, result.shape)[at])
            exact = (x * y + z) * Fraction(2) ** power
            if exact:
                result[at] = round_exact(exact, f"f{bits}")
        return result

    return computed


def is_number(a: Values, bits: int) -> NDArray[np.bool_]:
    """True of a finite number."""
    return np.isfinite(floats(a, bits))


def division_fixup(bits: int) -> Arithmetic:
    """The quotient, or its substitute for special operands."""
    least = -25 if bits == 16 else _DIVISIONS[bits].least
    infinite, quiet = np.uint64(infinity(bits)), np.uint64(1 << MANTISSA[bits] - 1)
    most = infinity(bits) >> MANTISSA[bits]
    nan = infinite | quiet | np.uint64(1 << bits - 1)

    def computed(quotient: Values, denominator: Values, numerator: Values) -> Values:
        sign = (denominator ^ numerator) & np.uint64(1 << bits - 1)
        size, of = low(numerator, bits - 1), low(denominator, bits - 1)
        top, bottom = exponent(numerator, bits), exponent(denominator, bits)
        cases = (
            (is_nan(numerator, bits), numerator | quiet),
            (is_nan(denominator, bits), denominator | quiet),
            ((size == 0) & (of == 0) | (size == infinite) & (of == infinite), nan),
            ((of == 0) | (size == infinite), sign | infinite),
            ((of == infinite) | (size == 0), sign),
            (top - bottom < least, sign),
            # The manual has the exponent of the denominator here, which was decided before.
            (exponent(quotient, bits) == most, sign | infinite),
        )
        found = sign | low(quotient, bits - 1)
        for condition, value in cases[::-1]:
            found = np.where(condition, value, found)
        return found

    return computed


# Conversions


def narrowed_towards_zero(a: Values) -> Values:
    """A number of single precision as one of half precision, rounded towards 0."""
    nearest = converted(32, 16)(a)
    grown = np.abs(floats(nearest, 16).astype(np.float32)) > np.abs(floats(a, 32))
    return nearest - grown.astype(np.uint64)


def to_bf16(a: Values) -> Values:
    """A number of single precision as bf16, rounded to the nearest, of two the even one."""
    rounded = a + mask(15) + (a >> np.uint64(16) & np.uint64(1))
    return np.where(is_nan(a, 32), a | np.uint64(1 << 22), rounded) >> np.uint64(16) & mask(16)


def of_bf16(a: Values) -> Values:
    """A bf16 as a number of single precision."""
    return low(a, 16) << np.uint64(16)


def normalised(bits: int, *, is_signed: bool) -> Arithmetic:
    """A number from -1 or 0 to 1 as an integer of 16 bits."""
    most, least = ((1 << 15) - 1, -1.0) if is_signed else ((1 << 16) - 1, 0.0)

    def computed(a: Values) -> Values:
        number = np.where(is_nan(a, bits), 0.0, floats(a, bits).astype(np.float64))
        return unsigned(np.rint(number.clip(least, 1.0) * most).astype(np.int64), 16)

    return computed


def to_byte(a: Values, place: Values, old: Values) -> Values:
    """``v_cvt_pk_u8_f32``: a number as a byte, in its place of a word."""
    number = np.where(is_nan(a, 32), 0.0, floats(a, 32).astype(np.float64))
    byte = np.rint(number.clip(0, 255)).astype(np.uint64)
    first = (place & np.uint64(3)) * np.uint64(8)
    return old & ~(mask(8) << first) | byte << first


def rounded_to_integer(function: Callable[..., NDArray[Any]]) -> Arithmetic:
    """A number of single precision as a word with a sign, rounded by ``function``."""

    def computed(a: Values) -> Values:
        number = np.where(is_nan(a, 32), 0.0, function(floats(a, 32).astype(np.float64)))
        return unsigned(number.clip(-(2.0**31), 2.0**31 - 1).astype(np.int64), 32)

    return computed


def clamped(bits: int) -> Callable[[Values], Values]:
    """A result with ``clamp``: from 0 to 1, of a NaN 0. Source: LLVM AMDGPUUsage,
    ``dx10_clamp``."""

    def computed(a: Values) -> Values:
        number = np.where(is_nan(a, bits), 0, floats(a, bits))
        return float_bits(np.where(number > 0, number, 0).clip(0, 1), bits)

    return computed


def multiplied(bits: int, factor: float) -> Callable[[Values], Values]:
    """A result with ``mul:`` or ``div:`` (an output modifier)."""
    return lambda a: quietened(float_bits(floats(a, bits) * factor, bits), bits, a)


def product_of_legacy(multiply: Binary) -> Binary:
    """A product in which 0 times anything is 0."""

    def computed(a: Values, b: Values) -> Values:
        zero = (low(a, 31) == 0) | (low(b, 31) == 0)
        return np.where(zero, np.uint64(0), multiply(a, b))

    return computed


def turns(function: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    """A function of an angle in turns: ``v_sin``, ``v_cos``."""

    def computed(number: NDArray[np.float64]) -> NDArray[Any]:
        return function(2 * np.pi * (number - np.floor(number)))

    return computed
