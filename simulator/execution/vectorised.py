"""Terms as functions of numpy, on the values of many lanes.

An operation on numbers that has no fast form here is done lane by lane, as single threads do it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import (
    flags,
    float_bits,
    floats,
    low,
    mask,
    signed,
    unsigned,
)
from fencewright.simulator.semantics import python
from fencewright.simulator.semantics.floats import FORMATS
from fencewright.simulator.semantics.term import Sort, Term, in_order, operand

Function: TypeAlias = Callable[..., Values]
Floats: TypeAlias = NDArray[Any]


@cache
def function_of(formula: Callable[..., Term], widths: tuple[int, ...], *given: object) -> Function:
    """A formula on operands of so many bits, after what is given; 0 of a flag; of 16 bits in more
    the lowest."""
    taken = [
        operand(at, 32) & 0xFFFF if width == 16 else operand(at, width or 1)
        for at, width in enumerate(widths)
    ]
    return vectorised(formula(*given, *taken), range(len(widths)))


def vectorised(result: Term, operands: Iterable[int]) -> Function:
    """A term as a function of arrays: the operands of those numbers."""
    names = [f"o{at}" for at in operands]
    space: dict[str, Any] = {"np": np, **_NAMES}
    text: dict[Term, str] = {}
    lines: list[str] = []
    for term, uses in in_order([result]):
        found = _text(term, [text[_taken(term, each)] for each in term.operands], space)
        if uses > 1 and not found.isidentifier():
            lines.append(f"v{len(lines)} = {found}")
            found = f"v{len(lines) - 1}"
        text[term] = found
    value = f"flags({text[result]})" if result.sort is Sort.FLAG else text[result]
    return python.compiled(names, lines, value, space)


def _taken(term: Term, operand_: Term) -> Term:
    """An operand without a mask whose bits ``signed`` moves out of a word."""
    if term.op != "signed" or operand_.op != "&":
        return operand_
    value, mask_ = operand_.operands
    return value if mask_.constant == (1 << term.given[0]) - 1 else operand_


def _text(term: Term, given: Sequence[str], space: dict[str, Any]) -> str:
    """One operation on arrays; ``space`` gets the constants and functions that it names."""
    match term.op:
        case "constant":
            return _named(space, _CONSTANTS[term.sort](term.given[0]))
        case "operand":
            return f"o{term.given[0]}"
        case "choose":
            is_flag = term.operands[0].sort is Sort.FLAG
            condition = given[0] if is_flag else f"{given[0]} != {_named(space, np.uint64(0))}"
            return f"np.where({condition}, {given[1]}, {given[2]})"
        case "word of":
            return f"{given[0]}[{term.given[0]}]"
        case "&" if term.operands[1].constant == _WHOLE:
            return given[0]
        case "<<" | ">>":
            return _shift(term, given)
        case "call":
            return f"{_named(space, _called(term.given))}({', '.join(given)})"
        case "low" | "signed" | "number" | "bits" | "integral":
            return f"{term.op}({given[0]}, {term.given[0]!r})"
        case "high" if term.sort is Sort.INTEGER:
            return f"high_signed({given[0]}, {given[1]})"
        case "//" | "%":
            return f"{'quotient' if term.op == '//' else 'remainder'}({given[0]}, {given[1]})"
        case name if name in _NAMES:
            return f"{name}({', '.join(given)})"
        case _:
            return f"({given[0]} {term.op} {given[1]})"


_WHOLE = (1 << 64) - 1
_CONSTANTS: Mapping[Sort, Callable[[Any], Any]] = MappingProxyType(
    {
        Sort.WORD: lambda value: np.uint64(value & _WHOLE),
        Sort.INTEGER: np.int64,
        Sort.FLOAT: float,
        Sort.FLAG: np.bool_,
    }
)


def _named(space: dict[str, Any], value: Any) -> str:
    name = f"k{len(space)}"
    space[name] = value
    return name


def _shift(term: Term, given: Sequence[str]) -> str:
    value, by = term.operands
    if value.sort is Sort.INTEGER:
        return f"({given[0]} >> integer({given[1]}))"
    if by.bound < 64:
        return f"({given[0]} {term.op} {given[1]})"
    return f"{'left' if term.op == '<<' else 'right'}({given[0]}, {given[1]})"


def _wide(*words: Values) -> Values:
    shape = np.broadcast_shapes(*map(np.shape, words)) or (1, 1)
    return np.stack([np.broadcast_to(each, shape) for each in words])


def _left(value: Values, by: Values) -> Values:
    return np.where(by < np.uint64(64), value << (by & np.uint64(63)), np.uint64(0))


def _right(value: Values, by: Values) -> Values:
    return np.where(by < np.uint64(64), value >> (by & np.uint64(63)), np.uint64(0))


def _high(a: Values, b: Values) -> Values:
    """The upper half of a product of 64 bits."""
    half, ones = np.uint64(32), mask(32)
    cross = (a >> half) * (b & ones) + ((a & ones) * (b & ones) >> half)
    middle = (a & ones) * (b >> half) + (cross & ones)
    return (a >> half) * (b >> half) + (cross >> half) + (middle >> half)


def _high_signed(a: Numbers, b: Numbers) -> Numbers:
    left, right = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
    sign = np.uint64(63)
    found = _high(left, right) - (left >> sign) * right - (right >> sign) * left
    return np.asarray(found).view(np.int64)


def _integer(value: Values) -> Numbers:
    return np.asarray(value).view(np.int64)


def _quotient(a: Values, b: Values) -> Values:
    return a // np.maximum(b, np.uint64(1))


def _remainder(a: Values, b: Values) -> Values:
    return a % np.maximum(b, np.uint64(1))


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


# Floating point

_WIDTHS: Mapping[str, int] = MappingProxyType({name: each.width for name, each in FORMATS.items()})


def _number(value: Values, type_: str) -> Floats:
    return _bfloat(value) if type_ == "bf16" else floats(value, _WIDTHS[type_])


def _bits(number: Floats, type_: str) -> Values:
    """Numbers rounded, and with the canonical NaN."""
    number = np.asarray(number)
    if type_ == "bf16":
        found = _bfloat_bits(_single_to_odd(number) if number.dtype == np.float64 else number)
    else:
        found = float_bits(number, _WIDTHS[type_])
    return np.where(np.isnan(number), np.uint64(FORMATS[type_].nan), found)


def _real(value: Values) -> Floats:
    return np.asarray(value).astype(np.float64)


def _integral(number: Floats, mode: str) -> Floats:
    return _ROUNDINGS[mode](number)


_ROUNDINGS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
)


def _bfloat(value: Values) -> Floats:
    """bfloat16 is the upper half of a float32."""
    return floats(low(value, 16) << np.uint64(16), 32)


def _bfloat_bits(number: Floats) -> Values:
    wide = np.asarray(number).astype(np.float32).view(np.uint32).astype(np.uint64)
    even = wide >> np.uint64(16) & np.uint64(1)
    return wide + np.uint64(0x7FFF) + even >> np.uint64(16)


def _fused(type_: str) -> Callable[..., Floats]:
    """The product is exact in float64; the sum is rounded to odd, so that rounding again is exact.

    Source: Boldo and Melquiond, Emulation of FMA and Correctly Rounded Sums, 2008.
    """

    def fused(a: Floats, b: Floats, c: Floats) -> Floats:
        wide = [np.asarray(each).astype(np.float64) for each in (a, b, c)]
        found = _sum_to_odd(wide[0] * wide[1], wide[2])
        return _single_to_odd(found) if type_ == "bf16" else found

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
    """A sum and its exact rounding error. Source: Knuth, The Art of Computer Programming, 4.2.2."""
    found = np.asarray(a + b)
    part = found - a
    return found, np.asarray((a - (found - part)) + (b - part))


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A product and its exact rounding error. Source: Dekker 1971."""
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
    # The sign of a zero is that of the plain sum.
    return np.where(np.isfinite(found) & (found != 0), found, a * b + c)


def _whole(number: Floats, width: int, is_signed: bool, nan: int) -> Values:
    """Whole numbers as bits; a number out of range becomes the nearest one in it.

    Source: PTX ISA 9.0, cvt.
    """
    lowest = -(1 << width - 1) if is_signed else 0
    highest = (1 << width - 1) - 1 if is_signed else (1 << width) - 1
    # 2^63 and 2^64 are floats, the greatest integers below them are not.
    above, below = number >= float(highest), number < lowest
    inside = np.where(above | below | np.isnan(number), 0, number)
    found = inside.astype(np.int64 if is_signed else np.uint64).view(np.uint64)
    for where, value in ((above, highest), (below, lowest), (np.isnan(number), nan)):
        found = np.where(where, np.uint64(value & _WHOLE), found)
    return low(found, width)


# Functions of bits: fast forms of those of ``semantics.floats``


def _called(call: tuple[Any, ...]) -> Function:
    name, *given = call
    make = _FAST_BY_NAME.get(name)
    fast = make(*given) if make is not None else _FAST.get(call)
    return fast or _lane_by_lane(name, tuple(given))


def _lane_by_lane(name: str, given: tuple[Any, ...]) -> Function:
    """A function of single numbers on each lane."""
    single: Any = python.NAMES[name]

    def each_lane(*operands: Values) -> Values:
        compute = np.frompyfunc(lambda *values: single(*given, *map(int, values)), len(operands), 1)
        return np.asarray(compute(*operands)).astype(np.uint64)

    return each_lane


def _on_numbers(type_: str, compute: Callable[..., Floats]) -> Function:
    """A function of numbers as one of bits; of f64 a NaN of numbers is negative."""

    def of_bits(*operands: Values) -> Values:
        numbers = [_number(each, type_) for each in operands]
        found = compute(*numbers)
        if type_ != "f64":
            return _bits(found, type_)
        made = np.isnan(found) & ~reduce(np.logical_or, map(np.isnan, numbers))
        return np.where(made, np.uint64(0xFFF8 << 48), _bits(found, type_))

    return of_bits


def _with_nans(type_: str, compute: Callable[..., Floats]) -> Function:
    """As ``_on_numbers``, but of f64 a NaN stays, quiet. Source: as an H200 computes."""
    function = _on_numbers(type_, compute)
    if type_ != "f64":
        return function

    def with_nans(*operands: Values) -> Values:
        found = function(*operands)
        for each in reversed(operands):
            found = np.where(np.isnan(floats(each, 64)), each | np.uint64(1 << 51), found)
        return found

    return with_nans


def _fma_64() -> Function:
    """Lane by lane where a product, or its rounding error, may leave the range of numbers."""
    fast, exact = _on_numbers("f64", _fused_64), _lane_by_lane("exactly", ("fma", "f64", "rn"))

    def fma(a: Values, b: Values, c: Values) -> Values:
        a, b, c = np.broadcast_arrays(a, b, c)
        found = np.array(fast(a, b, c))
        x, y, z = (np.abs(floats(each, 64)) for each in (a, b, c))
        product = x * y
        is_middle = (product > 1e-250) & (product < 1e250) & (x < 1e290) & (y < 1e290)
        is_middle &= (z < 1e250) | ~np.isfinite(z)
        plain = is_middle | (x == 0) | (y == 0) | ~np.isfinite(x) | ~np.isfinite(y)
        if not plain.all():
            found[~plain] = exact(a[~plain], b[~plain], c[~plain])
        return found

    return fma


def _reverse(width: int) -> Function:
    def reverse(value: Values) -> Values:
        by = width >> 1
        while by:
            ones, shift = np.uint64(((1 << width) - 1) // ((1 << by) + 1)), np.uint64(by)
            value = value >> shift & ones | (value & ones) << shift
            by >>= 1
        return value

    return reverse


def _to_integers(type_: str, mode: str, is_signed: bool, width: int) -> Function:
    nan = 1 << width - 1 if type_ == "f64" or width == 64 else 0

    def convert(value: Values) -> Values:
        return _whole(
            _integral(_number(value, type_).astype(np.float64), mode), width, is_signed, nan
        )

    return convert


def _of_integers(type_: str, mode: str) -> Function | None:
    if mode != "rn":
        return _of_integers_rounded(type_, mode) if type_ in ("f32", "f64") else None

    def convert(number: Values) -> Values:
        if type_ == "f32":
            return _bits(np.asarray(number).astype(np.float32), type_)
        # Exact in float64 up to 53 bits; above, the lost bits are kept as one that is odd.
        wide = np.asarray(number).astype(np.float64)
        error = (number - wide.astype(np.asarray(number).dtype)).astype(np.float64)
        return _bits(_to_odd(wide, error, np.uint64), type_)

    return convert


def _of_integers_rounded(type_: str, mode: str) -> Function:
    """Directed rounding: the nearest number, or its neighbour. Lane by lane above 53 bits."""
    exact = _lane_by_lane("of_integer", (type_, mode))
    real = np.float32 if type_ == "f32" else np.float64

    def convert(number: Values) -> Values:
        wide = np.asarray(number).astype(np.float64)
        nearest = wide.astype(real)
        beyond = nearest.astype(np.float64) - wide
        if mode == "rz":
            wrong, way = beyond * wide > 0, real(0)
        else:
            wrong = beyond > 0 if mode == "rm" else beyond < 0
            way = real(-np.inf if mode == "rm" else np.inf)
        found = np.asarray(_bits(np.where(wrong, np.nextafter(nearest, way), nearest), type_))
        is_large = np.abs(wide) >= 2.0**53
        if is_large.any():
            found = found.copy()
            found[is_large] = exact(np.asarray(number)[is_large])
        return found

    return convert


def _turns(function: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda number: function(2 * np.pi * (number - np.floor(number)))


def _reciprocal_root(number: Floats) -> Floats:
    return 1 / np.sqrt(number)


_APPROXIMATE: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "rsqrt": _reciprocal_root, "lg2": np.log2, "ex2": np.exp2,
        "sin of turns": _turns(np.sin), "cos of turns": _turns(np.cos),
    }
)  # fmt: skip


def _approximate(name: str, type_: str) -> Function | None:
    compute = _APPROXIMATE.get(name)

    def approximate(value: Values) -> Values:
        assert compute is not None
        return _bits(compute(_number(value, type_).astype(np.float64)), type_)

    return compute and approximate


def _scaled(type_: str) -> Function:
    def scaled(value: Values, power: Values) -> Values:
        by = signed(power, 32).clip(-5000, 5000).astype(np.int32)
        return _bits(np.ldexp(_number(value, type_).astype(np.float64), by), type_)

    return scaled


def _fused_and_scaled(type_: str) -> Function:
    """Lane by lane where the scaled number is subnormal, and so loses bits by it."""
    fused = _FAST["exactly", "fma", type_, "rn"]
    scaled, exact = _scaled(type_), _lane_by_lane("fused_and_scaled", (type_,))
    form = FORMATS[type_]
    least, most = (np.uint64(each << form.fraction) for each in (1, (1 << form.exponent) - 1))

    def computed(*operands: Values) -> Values:
        *sources, power = np.broadcast_arrays(*operands)
        found = fused(*sources)
        result = np.array(np.where(power != 0, scaled(found, power), found))
        size, before = (low(each, form.width - 1) for each in (result, found))
        again = (power != 0) & ((size < least) | (before < least)) & (before < most)
        if again.any():
            result[again] = exact(*(each[again] for each in (*sources, power)))
        return result

    return computed


_FAST: Mapping[tuple[Any, ...], Function] = MappingProxyType(
    {
        **{("exactly", "fma", each, "rn"): _on_numbers(each, _fused(each))
           for each in ("f16", "bf16", "f32")},
        ("exactly", "fma", "f64", "rn"): _fma_64(),
        **{("exactly", name, each, "rn"): _with_nans(each, compute)
           for each in ("f16", "f32", "f64")
           for name, compute in (("div", np.divide), ("sqrt", np.sqrt), ("rcp", np.reciprocal))},
    }
)  # fmt: skip
_FAST_BY_NAME: Mapping[str, Callable[..., Function | None]] = MappingProxyType(
    {
        "reverse": _reverse, "to_integer": _to_integers, "of_integer": _of_integers,
        "approximately": _approximate, "scaled": _scaled, "fused_and_scaled": _fused_and_scaled,
    }
)  # fmt: skip
_NAMES: Mapping[str, Any] = MappingProxyType(
    {
        "flags": flags, "word": flags, "low": unsigned, "signed": signed, "number": _number,
        "bits": _bits, "integral": _integral, "real": _real, "integer": _integer, "high": _high,
        "high_signed": _high_signed, "length": _length, "ones": _count_ones, "left": _left,
        "right": _right, "quotient": _quotient, "remainder": _remainder, "least": np.minimum,
        "most": np.maximum, "wide": _wide,
    }
)  # fmt: skip
"""The functions that the text of terms calls."""
