"""Every arithmetic row of AMD instructions against a formula in plain Python, on operands at the edges.

Sources of the formulas: MI300 ISA 12, CDNA4 ISA 12 (truth tables, conversions to bf16).
"""

# Formulas are short functions of integers, whose parameters have no types of their own.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import math
import random
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fencewright.simulator.execution.vectorised import function_of
from fencewright.simulator.semantics import python
from fencewright.simulator.semantics.amd import MASK
from fencewright.simulator.semantics.amd_rows import ROWS, Row
from fencewright.simulator.semantics.term import operand

Formula = Callable[..., Any]
FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
FRACTION, BIAS = {16: 10, 32: 23, 64: 52}, {16: 15, 32: 127, 64: 1023}


def ones(bits: int) -> int:
    return (1 << bits) - 1


def s(value: int, bits: int) -> int:
    value &= ones(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


# Numbers


def number(value: int, bits: int) -> float:
    to, of = FORMATS[bits]
    return struct.unpack(to, struct.pack(of, value & ones(bits)))[0]


def infinity(bits: int) -> int:
    return (1 << bits - 1) - (1 << FRACTION[bits])


def is_nan(value: int, bits: int) -> bool:
    return value & ones(bits - 1) > infinity(bits)


def is_signalling(value: int, bits: int) -> bool:
    return is_nan(value, bits) and not value >> (FRACTION[bits] - 1) & 1


NAN = {bits: infinity(bits) | 1 << FRACTION[bits] - 1 for bits in FORMATS}


def encoded(value: Fraction | float, bits: int, negative_zero: bool = False) -> int:
    """The nearest number of a format, of two the even one."""
    sign = 1 << bits - 1
    if isinstance(value, float):
        if math.isnan(value):
            return NAN[bits]
        if math.isinf(value):
            return infinity(bits) | (sign if value < 0 else 0)
        negative_zero |= math.copysign(1, value) < 0
        value = Fraction(value)
    if not value:
        return sign if negative_zero else 0
    size = abs(value)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= size < Fraction(2) ** power
    power = max(power, 1 - BIAS[bits])
    units = round(size / Fraction(2) ** (power - FRACTION[bits]))
    found = min((power + BIAS[bits] - 1 << FRACTION[bits]) + units, infinity(bits))
    return found | (sign if value < 0 else 0)


def exact(bits: int, operation: Callable[..., Any]) -> Formula:
    """An operation on exact numbers; what is not finite, and the sign of zeros, as Python has them."""

    def formula(*operands: int) -> int:
        numbers = [number(each, bits) for each in operands]
        if not all(map(math.isfinite, numbers)):
            return encoded(float(operation(*numbers)), bits)
        found = operation(*map(Fraction, numbers))
        negative = False
        if not found:
            small = [math.copysign(0.0 if not each else 1.0, each) for each in numbers]
            plain = operation(*small)
            negative = not plain and math.copysign(1, plain) < 0
        return encoded(found, bits, negative)

    return formula


NAN_RULES: dict[str, Callable[[int, int, int], bool]] = {
    "": lambda a, b, n: (
        is_signalling(a, n) or is_signalling(b, n) or (is_nan(a, n) and is_nan(b, n))
    ),
    "_num": lambda a, b, n: is_nan(a, n) and is_nan(b, n),
    "imum": lambda a, b, n: is_nan(a, n) or is_nan(b, n),
}
"""The test for a NaN of the instructions before gfx12, and its two kinds."""


def extreme(bits: int, *, largest: bool, rule: str = "") -> Formula:
    def formula(a: int, b: int) -> int:
        if NAN_RULES[rule](a, b, bits):
            return NAN[bits]
        if is_nan(a, bits) or is_nan(b, bits):
            return b if is_nan(a, bits) else a
        first, second = ((number(each, bits), -(each >> bits - 1)) for each in (a, b))
        return a if (first > second) is largest else b

    return formula


def rounding(bits: int, function: Callable[[float], float]) -> Formula:
    def formula(a: int) -> int:
        value = number(a, bits)
        found = float(function(value)) if math.isfinite(value) else value
        return encoded(found or math.copysign(found, value), bits)

    return formula


def to_integer(
    bits: int, size: int, is_signed: bool, function: Callable[[float], int] = math.trunc
) -> Formula:
    least, most = (-(1 << size - 1), ones(size - 1)) if is_signed else (0, ones(size))

    def formula(a: int) -> int:
        value = number(a, bits)
        if math.isnan(value):
            return 0
        whole = function(value) if math.isfinite(value) else (1 << 70) * (1 if value > 0 else -1)
        return min(max(whole, least), most) & ones(size)

    return formula


def near(bits: int, function: Callable[[float], float]) -> Formula:
    """An approximation: the result may be off by one in the last place."""

    def formula(a: int) -> tuple[int, ...]:
        try:
            found = encoded(function(number(a, bits)), bits)
        except (ValueError, ZeroDivisionError, OverflowError):
            return ()
        return found, found - 1, found + 1

    return formula


def _half(a: int) -> int:
    """Half precision, of a NaN its upper bits."""
    if is_nan(a, 32):
        return a >> 31 << 15 | 0x7E00 | a >> 13 & 0x3FF
    return encoded(number(a, 32), 16)


def _half_down(a: int) -> int:
    """Half precision, rounded towards 0."""
    found, value = _half(a), number(a, 32)
    return found - (math.isfinite(value) and abs(number(found, 16)) > abs(value))


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lg": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def relation(name: str, bits: int) -> Formula:
    """A relation of numbers; with ``n`` before it, the opposite of it, a NaN's too."""

    def formula(a: int, b: int) -> int:
        x, y = number(a, bits), number(b, bits)
        unordered = math.isnan(x) or math.isnan(y)
        if name in ("o", "u"):
            return int(unordered is (name == "u"))
        if name[0] == "n" and name != "ne":
            opposite = name[1:]
            return int(unordered or not RELATIONS["eq" if opposite == "eq" else opposite](x, y))
        return int(not unordered and RELATIONS[name](x, y))

    return formula


def _class(a: int, wanted: int, bits: int) -> int:
    size, negative = a & ones(bits - 1), a >> bits - 1 & 1
    if is_nan(a, bits):
        kind = 0 if is_signalling(a, bits) else 1
    elif size == infinity(bits):
        kind = 2 if negative else 9
    elif not size:
        kind = 5 if negative else 6
    elif size < 1 << FRACTION[bits]:
        kind = 4 if negative else 7
    else:
        kind = 3 if negative else 8
    return wanted >> kind & 1


# Integers

LOGIC: dict[str, Formula] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b, "and_not1": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b,
    "or_not1": lambda a, b: a | ~b, "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}  # fmt: skip


def bytes_of(value: int, size: int = 8) -> list[int]:
    return [value >> n & ones(size) for n in range(0, 32, size)]


def leading(value: int, bits: int) -> int:
    return bits - value.bit_length() if value else -1


def _signs(value: int, bits: int) -> int:
    return leading(value if not value >> bits - 1 else ~value & ones(bits), bits)


def _perm(a: int, b: int, selector: int) -> int:
    data, found = a << 32 | b, 0
    for n, chosen in enumerate(bytes_of(selector)):
        if chosen >= 13:
            byte = 0xFF
        elif chosen == 12:
            byte = 0
        elif chosen >= 8:
            byte = 0xFF * (data >> 15 + 16 * (chosen - 8) & 1)
        else:
            byte = data >> 8 * chosen & 0xFF
        found |= byte << 8 * n
    return found


def _groups(a: int, bits: int, fills: bool) -> int:
    some = [n for n in range(bits // 4) if a >> 4 * n & 15]
    return sum(15 << 4 * n if fills else 1 << n for n in some)


def _dot(size: int, is_signed: bool) -> Formula:
    def formula(a: int, b: int, c: int) -> int:
        read = (lambda x: s(x, size)) if is_signed else (lambda x: x)
        pairs = zip(bytes_of(a, size), bytes_of(b, size), strict=True)
        return c + sum(read(x) * read(y) for x, y in pairs)

    return formula


def _field(a: int, first: int, width: int, bits: int, is_signed: bool) -> int:
    found = (s(a, bits) if is_signed else a) >> first & ones(width)
    return s(found, width) if is_signed and width else found


def formula_of(name: str) -> Formula | None:
    """The formula of an instruction: integers modulo the width of the result."""
    for pattern, make in FORMULAS:
        if (found := re.fullmatch(pattern, name)) is not None:
            return make(*found.groups())
    return None


def _read(letter: str, bits: int) -> Callable[[int], int]:
    return (lambda a: s(a, bits)) if letter == "i" else (lambda a: a & ones(bits))


def _of_reads(letter: str, bits: str, operation: Callable[..., Any]) -> Formula:
    read = _read(letter, int(bits))
    return lambda *operands: operation(*map(read, operands))


def _float(bits: str, operation: Callable[..., Any]) -> Formula:
    return exact(int(bits), operation)


def _mad(bits: str) -> Formula:
    size = int(bits)
    product, add = exact(size, lambda a, b: a * b), exact(size, lambda a, b: a + b)
    return lambda a, b, c: add(product(a, b), c)


def _of_three(first: str, second: str, bits: str, rule: str) -> Formula:
    one, other = (extreme(int(bits), largest=each == "max", rule=rule) for each in (first, second))
    return lambda a, b, c: other(one(a, b), c)


def _med3(rule: str, bits: str) -> Formula:
    least, most = (extreme(int(bits), largest=each, rule=rule) for each in (False, True))
    return lambda a, b, c: most(least(a, b), least(most(a, b), c))


def _pack(half: Formula) -> Formula:
    return lambda a, b: half(a) & 0xFFFF | (half(b) & 0xFFFF) << 16


def _norm(bits: int, letter: str) -> Formula:
    def formula(a: int) -> int:
        value = number(a, bits)
        value = 0.0 if math.isnan(value) else min(max(value, -1.0 if letter == "i" else 0.0), 1.0)
        return round(Fraction(value) * (32767 if letter == "i" else 65535)) & 0xFFFF

    return formula


def _fixup(bits: str) -> Formula:
    size = int(bits)

    def formula(quotient: int, denominator: int, numerator: int) -> Any:
        x, y = number(numerator, size), number(denominator, size)
        if math.isnan(x) or math.isnan(y) or (not x and not y) or (math.isinf(x) and math.isinf(y)):
            return NAN[size]
        sign = (numerator ^ denominator) & 1 << size - 1
        if not y or math.isinf(x):
            return sign | infinity(size)
        if not x or math.isinf(y):
            return sign
        powers = [
            each >> FRACTION[size] & ones(size - 1 - FRACTION[size])
            for each in (numerator, denominator)
        ]
        least = {16: -25, 32: -150, 64: -1075}[size]
        if powers[0] - powers[1] < least:
            return sign
        if not math.isfinite(number(quotient, size)):
            return sign | infinity(size)
        return sign | quotient & ones(size - 1)

    return formula


def _scaled(bits: str) -> Formula:
    """A scaled operand: the number itself, or times a power of 2."""
    size = int(bits)
    powers = (0, 64, -64) if size == 32 else (0, 128, -128)

    def formula(a: int, denominator: int, numerator: int) -> Any:
        value = number(a, size)
        if not number(denominator, size) or not number(numerator, size) or not math.isfinite(value):
            return (NAN[size], a)
        found = [encoded(Fraction(value) * Fraction(2) ** each, size) for each in powers]
        return (*found, a)

    return formula


def _step(bits: str) -> Formula:
    size = int(bits)
    scale = 64 if size == 32 else 128
    fused = exact(size, lambda a, b, c: a * b + c)

    def formula(a: int, b: int, c: int, flag: int) -> int:
        found = fused(a, b, c)
        value = number(found, size)
        if not flag or not math.isfinite(value):
            return found
        power = (
            scale if c >> FRACTION[size] & ones(size - 1 - FRACTION[size]) > BIAS[size] else -scale
        )
        x, y, z = (Fraction(number(each, size)) for each in (a, b, c))
        once = (x * y + z) * Fraction(2) ** power
        return encoded(once, size, (once or math.copysign(1, value)) < 0)

    return formula


def _ldexp(bits: str) -> Formula:
    size = int(bits)

    def formula(a: int, power: int) -> int:
        value, by = number(a, size), s(power, min(size, 32))
        if not math.isfinite(value):
            return encoded(value, size)
        by = min(max(by, -5000), 5000)
        return encoded(Fraction(value) * Fraction(2) ** by, size, math.copysign(1, value) < 0)

    return formula


def _fract(bits: str) -> Formula:
    size = int(bits)
    below = (BIAS[size] << FRACTION[size]) - 1

    def formula(a: int) -> int:
        value = number(a, size)
        if not math.isfinite(value):
            return NAN[size]
        return min(encoded(Fraction(value) - math.floor(value), size), below)

    return formula


def _frexp(bits: int, *, power: bool) -> Formula:
    def formula(a: int) -> int:
        value = number(a, bits)
        if not math.isfinite(value):
            return 0 if power else encoded(value, bits)
        fraction, by = math.frexp(value)
        return by if power else encoded(fraction, bits)

    return formula


def _converted(to: str, of: str) -> Formula:
    return lambda a: encoded(number(a, int(of)), int(to))


def _to_bf16(a: int) -> int:
    if is_nan(a, 32):
        return (a | 1 << 22) >> 16
    return a + 0x7FFF + (a >> 16 & 1) >> 16


def _shift(name: str, bits: str) -> Formula:
    size = int(bits)
    by: Formula = {
        "lshl": lambda a, n: a << n, "lshr": lambda a, n: a >> n, "ashr": lambda a, n: s(a, size) >> n,
    }[name]  # fmt: skip
    return lambda a, b: by(a & ones(size), b & size - 1)


def _reversed_shift(name: str, bits: str) -> Formula:
    return lambda b, a: _shift(name, bits)(a, b)


def _sum(name: str, carry: Sequence[int]) -> int:
    a, b, *more = carry
    if name == "add":
        return a + b + sum(more)
    return (b - a if name == "subrev" else a - b) - sum(more)


def _to_byte(a: int, place: int, old: int) -> int:
    value = number(a, 32)
    value = 0.0 if math.isnan(value) else min(max(value, 0.0), 255.0)
    first = 8 * (place & 3)
    return old & ~(0xFF << first) | round(Fraction(value)) << first


def _lerp(a: int, b: int, c: int) -> int:
    triples = zip(*map(bytes_of, (a, b, c)), strict=True)
    return sum((x + y + (up & 1) >> 1) << 8 * n for n, (x, y, up) in enumerate(triples))


def _sad(size: int, *, masked: bool = False, shift: int = 0) -> Formula:
    return lambda a, b, c: (
        c
        + (
            sum(
                abs(x - y)
                for x, y in zip(bytes_of(a, size), bytes_of(b, size), strict=True)
                if y or not masked
            )
            << shift
        )
    )


MATHS: dict[str, Callable[[float], float]] = {
    "rcp": lambda a: 1 / a, "rcp_iflag": lambda a: 1 / a, "rsq": lambda a: 1 / math.sqrt(a),
    "sqrt": math.sqrt, "exp": lambda a: 2**a, "log": math.log2,
    "sin": lambda a: math.sin(2 * math.pi * (a - math.floor(a) + 0.0)),
    "cos": lambda a: math.cos(2 * math.pi * (a - math.floor(a))),
}  # fmt: skip
ROUNDINGS: dict[str, Callable[[float], float]] = {
    "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "rndne": round,
}  # fmt: skip
EXTREMES: dict[str, Callable[..., int]] = {"min": min, "max": max}
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "subrev": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
}  # fmt: skip

FORMULAS: tuple[tuple[str, Callable[..., Formula]], ...] = (
    (r"[sv]_(?:mov_b\d+|accvgpr_\w+)", lambda: lambda a: a),
    (r"[sv]_(and|or|xor|andn2|and_not1|orn2|or_not1|nand|nor|xnor)_b\d+", LOGIC.__getitem__),
    (r"s_not_b\d+|v_not_b(?:16|32)", lambda: lambda a: ~a),
    (r"s_cselect_b\d+", lambda: lambda a, b, c: a if c else b),
    (r"v_cndmask_b(?:16|32)", lambda: lambda a, b, c: b if c else a),
    (r"s_cmov_b\d+", lambda: lambda a, old, c: a if c else old),
    (r"s_cmovk_i32", lambda: lambda a, old, c: s(a, 16) if c else old),
    (r"s_bcnt1_i32_b\d+", lambda: lambda a: a.bit_count()),
    (r"s_bcnt0_i32_b(\d+)", lambda n: lambda a: int(n) - a.bit_count()),
    (r"v_bcnt_u32_b32", lambda: lambda a, b: a.bit_count() + b),
    (r"v_mbcnt_(lo|hi)_u32_b32", lambda half: lambda a, b, lane: b + (
        (a << (0 if half == "lo" else 32)) & ones(lane)).bit_count()),
    (r"[sv]_(add|sub|subrev)_(?:co_|nc_)?[iu]32", lambda name: lambda *a: _sum(name, a)),
    (r"[sv]_(add|sub|subrev)(?:c|b)(?:_co)?_u32", lambda name: lambda *a: _sum(name, a)),
    (r"v_subb(rev)_co_u32", lambda _: lambda *a: _sum("subrev", a)),
    (r"[sv]_(add|sub|subrev)_co_ci_u32", lambda name: lambda *a: _sum(name, a)),
    (r"s_addk(?:_co)?_i32", lambda: lambda a, b: a + s(b, 16)),
    (r"v_add_(min|max)_u32", lambda x: lambda a, b, c: EXTREMES[x](min(a + b, ones(32)), c)),
    (r"v_add_(min|max)_i32", lambda x: lambda a, b, c: EXTREMES[x](
        max(-(1 << 31), min(s(a, 32) + s(b, 32), (1 << 31) - 1)), s(c, 32))),
    (r"s_mulk_i32", lambda: lambda a, b: a * s(b, 16)),
    (r"s_mul_i32|v_mul_lo_u32|v_mul_lo_[iu]16", lambda: lambda a, b: a * b),
    (r"[sv]_mul_hi_([iu])32", lambda t: _of_reads(t, "32", lambda a, b: a * b >> 32)),
    (r"v_mul_([iu])32_[iu]24", lambda t: _of_reads(t, "24", lambda a, b: a * b)),
    (r"v_mul_hi_([iu])32_[iu]24", lambda t: _of_reads(t, "24", lambda a, b: a * b >> 32)),
    (r"v_mad_([iu])32_[iu]24", lambda t: lambda a, b, c: _read(t, 24)(a) * _read(t, 24)(b) + c),
    (r"v_mad_u32", lambda: lambda a, b, c: a * b + c),
    (r"[sv]_(add|sub|mul)(?:_nc)?_u64", lambda name: ARITHMETIC[name]),
    (r"v_(min|max)_([iu])(64)", lambda e, t, n: _of_reads(t, n, EXTREMES[e])),
    (r"v_mad_(?:nc_|co_)?([iu])64_[iu]32", lambda t: lambda a, b, c: _read(t, 32)(a) * _read(t, 32)(b) + c),
    (r"v_mad_(?:legacy_)?[iu]16", lambda: lambda a, b, c: a * b + c),
    (r"v_(add|sub|subrev)_(?:nc_)?[iu]16", lambda name: lambda *a: _sum(name, a)),
    (r"[sv]_(min|max)_([iu])(16|32)", lambda e, t, n: _of_reads(t, n, EXTREMES[e])),
    (r"v_(min|max)3_([iu])(16|32)", lambda e, t, n: _of_reads(t, n, EXTREMES[e])),
    (r"v_(minmax|maxmin)_([iu])32", lambda e, t: _of_reads(t, "32", lambda a, b, c: (
        max(min(a, b), c) if e == "minmax" else min(max(a, b), c)))),
    (r"v_(min|max)(min|max)(_num|)_f(\d+)", lambda e, f, rule, n: _of_three(e, f, n, rule)),
    (r"v_(min|max)imum(min|max)(imum)_f(\d+)", lambda e, f, rule, n: _of_three(e, f, n, rule)),
    (r"v_med3_([iu])(16|32)", lambda t, n: _of_reads(t, n, lambda *a: sorted(a)[1])),
    (r"v_(lshl|lshr|ashr)rev_[bi](\d+)", _reversed_shift),
    (r"s_(lshl|lshr|ashr)_[bi](\d+)", _shift),
    (r"v_bfe_([iu])32", lambda t: lambda a, b, c: _field(a, b & 31, c & 31, 32, t == "i")),
    (r"s_bfe_([iu])(\d+)", lambda t, n: lambda a, b: _field(
        a, b & int(n) - 1, min(b >> 16 & 127, int(n) if n == "32" else 63), int(n), t == "i")),
    (r"[sv]_bfm_b(\d+)", lambda n: lambda a, b: ones(a & int(n) - 1) << (b & int(n) - 1)),
    (r"v_bfi_b32", lambda: lambda a, b, c: a & b | ~a & c),
    (r"s_brev_b(\d+)", lambda n: lambda a: int(f"{a:0{n}b}"[::-1], 2)),
    (r"v_bfrev_b32", lambda: lambda a: int(f"{a:032b}"[::-1], 2)),
    (r"v_ffbl_b32|s_ff1_i32_b\d+|[sv]_ctz_i32_b\d+", lambda: lambda a: (a & -a).bit_length() - 1),
    (r"s_ff0_i32_b(\d+)", lambda n: lambda a: (~a & ones(int(n)) & -(~a)).bit_length() - 1),
    (r"v_ffbh_u32", lambda: lambda a: leading(a, 32)),
    (r"[sv]_clz_i32_u(\d+)", lambda n: lambda a: leading(a, int(n))),
    (r"s_flbit_i32_b(\d+)", lambda n: lambda a: leading(a, int(n))),
    (r"v_ffbh_i32|s_flbit_i32|[sv]_cls_i32", lambda: lambda a: _signs(a, 32)),
    (r"s_flbit_i32_i64", lambda: lambda a: _signs(a, 64)),
    (r"s_sext_i32_i(8|16)", lambda n: lambda a: s(a, int(n))),
    (r"s_movk_i32", lambda: lambda a: s(a, 16)),
    (r"s_abs_i32", lambda: lambda a: abs(s(a, 32))),
    (r"s_absdiff_i32", lambda: lambda a, b: abs(s(a, 32) - s(b, 32))),
    (r"s_bitset([01])_b(\d+)", lambda bit, n: lambda old, place: (
        old | 1 << (place & int(n) - 1) if bit == "1" else old & ~(1 << (place & int(n) - 1)))),
    (r"s_bitcmp([01])_b(\d+)", lambda bit, n: lambda a, b: int(a >> (b & int(n) - 1) & 1 == int(bit))),
    (r"s_bitreplicate_b64_b32", lambda: lambda a: sum((a >> n & 1) * 3 << 2 * n for n in range(32))),
    (r"s_quadmask_b(\d+)", lambda n: lambda a: _groups(a, int(n), False)),
    (r"s_wqm_b(\d+)", lambda n: lambda a: _groups(a, int(n), True)),
    (r"s_lshl([1-4])_add_u32", lambda n: lambda a, b: (a << int(n)) + b),
    (r"s_pack_(l|h)(l|h)_b32_b16", lambda x, y: lambda a, b: (
        (a >> 16 * (x == "h") & 0xFFFF) | (b >> 16 * (y == "h") & 0xFFFF) << 16)),
    (r"v_alignbit_b32", lambda: lambda a, b, c: (a << 32 | b) >> (c & 31)),
    (r"v_alignbyte_b32", lambda: lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
    (r"v_perm_b32", lambda: _perm),
    (r"v_lshl_add_u32", lambda: lambda a, b, c: (a << (b & 31)) + c),
    (r"v_lshl_add_u64", lambda: lambda a, b, c: (a << (b & 7)) + c),
    (r"v_add_lshl_u32", lambda: lambda a, b, c: (a + b & ones(32)) << (c & 31)),
    (r"v_lshl_or_b32", lambda: lambda a, b, c: (a << (b & 31)) | c),
    (r"v_and_or_b32", lambda: lambda a, b, c: a & b | c),
    (r"v_xor3_b32", lambda: lambda a, b, c: a ^ b ^ c),
    (r"v_or3_b32", lambda: lambda a, b, c: a | b | c),
    (r"v_add3_u32", lambda: lambda a, b, c: a + b + c),
    (r"v_xad_u32", lambda: lambda a, b, c: (a ^ b) + c),
    (r"v_sad_u8", lambda: _sad(8)), (r"v_msad_u8", lambda: _sad(8, masked=True)),
    (r"v_sad_u16", lambda: _sad(16)), (r"v_sad_u32", lambda: _sad(32)),
    (r"v_sad_hi_u8", lambda: _sad(8, shift=16)), (r"v_lerp_u8", lambda: _lerp),
    (r"v_dot(?:4|8|2)c?_([iu])32_[iu](4|8|16)", lambda t, n: _dot(int(n), t == "i")),
    (r"v_pack_b32_f16", lambda: lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    (r"v_cvt_pk_u16_u32", lambda: lambda a, b: min(a, 65535) | min(b, 65535) << 16),
    (r"v_cvt_pk_i16_i32", lambda: _pack(lambda a: min(max(s(a, 32), -32768), 32767))),
    (r"[sv]_cmpx?_(eq|ne|lg|lt|le|gt|ge)_([iu])(\d+)", lambda r, t, n: _of_reads(
        t, n, lambda a, b: int(RELATIONS[r](a, b)))),
    (r"s_cmpk_(eq|lg|lt|le|gt|ge)_([iu])32", lambda r, t: lambda a, b: int(
        RELATIONS[r](_read(t, 32)(a), _read(t, 16)(b)))),
    (r"v_cmpx?_f_\w+", lambda: lambda a, b: 0), (r"v_cmpx?_(?:tru|t)_\w+", lambda: lambda a, b: 1),
    (r"v_cmpx?_class_f(\d+)", lambda n: lambda a, b: _class(a, b, int(n))),
    (r"(?:s_cmp|v_cmpx?)_(\w+)_f(\d+)", lambda name, n: relation(name, int(n))),
    (r"[sv]_(add|sub|subrev|mul)_f(\d+)", lambda name, n: _float(n, ARITHMETIC[name])),
    (r"v_mul_legacy_f32", lambda: lambda a, b: (
        0 if not a & ones(31) or not b & ones(31) else exact(32, ARITHMETIC["mul"])(a, b))),
    (r"[sv]_fma(?:c|ak|mk)?_f(\d+)", lambda n: _float(n, lambda a, b, c: a * b + c)),
    (r"v_(?:mad|mac|madak|madmk)_f(\d+)", _mad),
    (r"[sv]_(min|max)(_num|imum|)_f(\d+)", lambda e, rule, n: extreme(
        int(n), largest=e == "max", rule=rule)),
    (r"v_(min|max)3(_num|)_f(\d+)", lambda e, rule, n: _of_three(e, e, n, rule)),
    (r"v_(min|max)(imum)3_f(\d+)", lambda e, rule, n: _of_three(e, e, n, rule)),
    (r"v_med3(_num|)_f(\d+)", _med3),
    (r"[sv]_(trunc|floor|ceil|rndne)_f(\d+)", lambda name, n: rounding(int(n), ROUNDINGS[name])),
    (r"v_(?:s_)?(rcp|rcp_iflag|rsq|sqrt|exp|log|sin|cos)_f(\d+)", lambda name, n: near(int(n), MATHS[name])),
    (r"v_fract_f(\d+)", _fract), (r"v_ldexp_f(\d+)", _ldexp),
    (r"v_frexp_mant_f(\d+)", lambda n: _frexp(int(n), power=False)),
    (r"v_frexp_exp_i\d+_f(\d+)", lambda n: _frexp(int(n), power=True)),
    (r"v_div_fixup_f(\d+)", _fixup), (r"v_div_scale_f(\d+)", _scaled), (r"v_div_fmas_f(\d+)", _step),
    (r"[sv]_cvt_f(\d+)_([iu])(16|32)", lambda n, t, size: lambda a: encoded(
        Fraction(_read(t, int(size))(a)), int(n))),
    (r"[sv]_cvt_([iu])(16|32)_f(\d+)", lambda t, size, n: to_integer(int(n), int(size), t == "i")),
    (r"v_cvt_flr_i32_f32", lambda: to_integer(32, 32, True, math.floor)),
    (r"v_cvt_rpi_i32_f32", lambda: to_integer(32, 32, True, lambda a: math.floor(Fraction(a) + Fraction(1, 2)))),
    (r"[sv]_cvt_f(16|32|64)_f(16|32|64)", _converted),
    (r"s_cvt_hi_f32_f16", lambda: lambda a: _converted("32", "16")(a >> 16)),
    (r"v_cvt_f32_ubyte([0-3])", lambda n: lambda a: encoded(Fraction(a >> 8 * int(n) & 255), 32)),
    (r"v_cvt_norm_([iu])16_f16", lambda t: _norm(16, t)),
    (r"v_cvt_pknorm_([iu])16_f(\d+)", lambda t, n: _pack(_norm(int(n), t))),
    (r"v_cvt_pkrtz_f16_f32|s_cvt_pk_rtz_f16_f32", lambda: _pack(_half_down)),
    (r"v_cvt_pk_f16_f32", lambda: _pack(_half)),
    (r"v_cvt_pk_bf16_f32", lambda: _pack(_to_bf16)), (r"v_cvt_f32_bf16", lambda: lambda a: a << 16),
    (r"v_cvt_pk_u8_f32", lambda: _to_byte),
)  # fmt: skip

EDGES = {
    bits: [0, 1, 2, 31, 33, ones(bits), ones(bits - 1), 1 << bits - 1, (1 << bits - 1) + 1]
    for bits in (16, 32, 64)
}
NUMBERS = {
    bits: [
        *(encoded(each, bits) for each in (1.0, -1.5, 0.5, 2.5, -0.75, 3e4, -7e9, 3e9, 65504.0)),
        infinity(bits), infinity(bits) | 1 << bits - 1, infinity(bits) - 1, 1 << FRACTION[bits],
        NAN[bits], infinity(bits) + 1, 0, 1 << bits - 1, 1, (1 << FRACTION[bits]) - 1,
    ]
    for bits in FORMATS
}  # fmt: skip


def operands_of(name: str, row: Row) -> list[tuple[int, ...]]:
    chance = random.Random(name)
    widths = [*row.sources, *({"lane": 6, "scc": 0, "vcc": 0}[each] for each in row.implicit)]

    def one(bits: int) -> int:
        if bits in (0, 6):
            return chance.getrandbits(bits or 1)
        if row.is_float and chance.random() < 0.6:
            return chance.choice(NUMBERS[bits])
        return chance.choice((chance.choice(EDGES[bits]), chance.getrandbits(bits)))

    found = [tuple(map(one, widths)) for _ in range(160)]
    if name.startswith("v_div_scale"):
        # The first operand is one of the others.
        found = [(each[chance.randrange(1, 3)], *each[1:]) for each in found]
    return found


def faults(name: str, row: Row) -> list[str]:
    """The operands of which a row computes something else than its formula."""
    formula = formula_of(name)
    assert formula is not None, f"no formula for {name}"
    given = operands_of(name, row)
    columns = [np.array([column], dtype=np.uint64) for column in zip(*given, strict=True)]
    with np.errstate(all="ignore"):
        values = np.broadcast_to(function_of(row.formula, row.widths)(*columns), columns[0].shape)[
            0
        ].tolist()
    bits, wrong = 1 if row.result == MASK else row.result, list[str]()
    is_number = (
        row.is_float
        and row.result in FORMATS
        and not re.search(r"cvt_(pk|[iu]|norm|flr|rpi)|frexp_exp|pack", name)
    )
    for operands, value in zip(given, values, strict=True):
        wanted = formula(*operands)
        every = wanted if isinstance(wanted, tuple) else (wanted,)
        if every == () or value in [each & ones(bits) for each in every]:
            continue
        if is_number and is_nan(value, bits) and any(is_nan(each, bits) for each in every):
            continue
        wrong.append(
            f"{name} {[hex(each) for each in operands]}: {value:#x}, not {every[0] & ones(bits):#x}"
        )
    return wrong


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_row_computes_its_formula(name: str) -> None:
    assert faults(name, ROWS[name]) == []


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_row_computes_the_same_on_one_lane(name: str) -> None:
    row = ROWS[name]
    terms = [
        operand(at, 32) & 0xFFFF if bits == 16 else operand(at, bits or 1)
        for at, bits in enumerate(row.widths)
    ]
    single = python.function(row.formula(*terms), len(terms))
    given = operands_of(name, row)[:40]
    columns = [np.array([column], dtype=np.uint64) for column in zip(*given, strict=True)]
    with np.errstate(all="ignore"):
        many = np.broadcast_to(function_of(row.formula, row.widths)(*columns), columns[0].shape)[0]
    assert [single(*each) for each in given] == many.tolist()


@pytest.mark.parametrize(
    "name", ["v_add_u32", "s_bfe_i64", "v_perm_b32", "v_fma_f64", "v_cmp_nlt_f16", "v_cvt_u32_f32"]
)
def test_a_row_that_computes_something_else_is_found(name: str) -> None:
    row = ROWS[name]

    def broken(*operands: Any) -> Any:
        return row.formula(*operands) ^ 1

    assert faults(name, replace(row, formula=broken))


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("s_add_u32", lambda a, b: a + b >> 32),
        ("s_sub_u32", lambda a, b: a < b),
        ("s_add_i32", lambda a, b: not -(1 << 31) <= s(a, 32) + s(b, 32) < 1 << 31),
        ("s_sub_i32", lambda a, b: not -(1 << 31) <= s(a, 32) - s(b, 32) < 1 << 31),
        ("s_addc_u32", lambda a, b, c: a + b + c >> 32),
        ("s_subb_u32", lambda a, b, c: a < b + c),
        ("s_min_i32", lambda a, b: s(a, 32) < s(b, 32)),
        ("s_max_u32", lambda a, b: a > b),
        ("s_lshl3_add_u32", lambda a, b: (a << 3) + b >> 32 != 0),
        ("s_addk_i32", lambda a, b: not -(1 << 31) <= s(a, 32) + s(b, 16) < 1 << 31),
        ("v_add_co_u32", lambda a, b: a + b >> 32),
        ("v_subrev_co_u32", lambda a, b: b < a),
        ("v_subb_co_u32", lambda a, b, c: a < b + c),
        ("v_mad_u64_u32", lambda a, b, c: a * b + c >> 64),
        (
            "v_mad_i64_i32",
            lambda a, b, c: not -(1 << 63) <= s(a, 32) * s(b, 32) + s(c, 64) < 1 << 63,
        ),
    ],
)
def test_the_flag_of_a_row(name: str, flag: Callable[..., Any]) -> None:
    row = ROWS[name]
    compute = row.flag or row.scc
    assert compute is not None
    row = replace(row, sources=tuple([each or 6 for each in row.sources]))
    given = [
        tuple(
            [
                each & 1 if bits == 6 else each
                for each, bits in zip(one, (*row.sources, 6), strict=False)
            ]
        )
        for one in operands_of(name, row)
    ]
    columns = [np.array([column], dtype=np.uint64) for column in zip(*given, strict=True)]
    found = np.broadcast_to(function_of(compute, row.widths)(*columns), columns[0].shape)[
        0
    ].tolist()
    assert found == [int(flag(*each)) for each in given]
