"""What PTX instructions compute, beside their definitions on single numbers, and LLVM's folding."""

import math
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from campaigns import some_of

from fencewright.lowering.ptx import instructions
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.instructions import registers_of
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.vectorised import function_of as of_formula
from fencewright.simulator.kernels.ptx.functions import (
    cross_lane_function_of,
    function_of,
    update_of,
)
from fencewright.simulator.semantics import python, term
from fencewright.simulator.semantics.elements import joined, part_of
from fencewright.simulator.semantics.formulas import HEADS
from fencewright.simulator.semantics.lanes import NAMES
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

INTEGERS = (16, 32, 64)
FLOATS = ("f16", "bf16", "f32", "f64")
ELSEWHERE = frozenset(
    "addc subc madc mul24 mad24 fns szext bmsk dp4a dp2a testp sin cos lg2 ex2 tanh rsqrt mapa "
    "getctarank".split()
)
"""Operations that are held to a definition by ``test_semantics`` alone."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def opcodes() -> Iterator[str]:
    """Every opcode that is executed, each with its types."""
    for bits in INTEGERS:
        for letter in "su":
            for name in ("add", "sub", "mul.lo", "mul.hi", "mad.lo", "min", "max", "shr"):
                yield f"{name}.{letter}{bits}"
            for name in COMPARISONS:
                yield f"setp.{name}.{letter}{bits}"
        for name in ("and", "or", "xor", "not", "shl", "selp", "setp.eq", "setp.ne", "mov"):
            yield f"{name}.b{bits}"
        yield f"neg.s{bits}"
        yield from (f"setp.{name}.u{bits}" for name in ("lo", "ls", "hi", "hs"))
    for bits in (32, 64):
        yield f"bfi.b{bits}"
        yield from (f"bfe.{letter}{bits}" for letter in "su")
    yield from (f"{name}.pred" for name in ("and", "or", "xor", "not"))
    yield from (f"setp.{name}.and.b64" for name in ("eq", "ne"))
    for type_ in FLOATS:
        yield from (f"{name}.rn.{type_}" for name in ("add", "sub", "mul", "fma"))
        yield from (f"{name}.{type_}" for name in ("min", "max", "min.NaN", "max.NaN", "neg"))
        for name in COMPARISONS:
            yield from (f"setp.{name}.{type_}", f"setp.{name}u.{type_}")
        yield from (f"setp.{name}.{type_}" for name in ("num", "nan"))
    for name in ("add.rn", "sub.rn", "mul.rn", "fma.rn", "min", "max", "neg"):
        yield from (f"{name}.{type_}" for type_ in ("f16x2", "bf16x2"))
    yield from widened()
    yield from (
        f"{name}.{letter}{bits}"
        for name in ("div", "rem", "sad")
        for letter in "su"
        for bits in INTEGERS
    )
    yield from (f"abs.s{bits}" for bits in INTEGERS)
    yield from (f"cnot.b{bits}" for bits in INTEGERS)
    for bits in (32, 64):
        yield from (f"{name}.b{bits}" for name in ("popc", "clz", "brev"))
        yield from (f"bfind{how}.{letter}{bits}" for how in ("", ".shiftamt") for letter in "su")
    yield from (f"shf.{way}.{how}.b32" for way in "lr" for how in ("wrap", "clamp"))
    yield from ("prmt.b32", "lop3.b32", "slct.s32.s32", "slct.u64.s32", "slct.f32.f32")
    yield from ("set.lt.u32.s32", "set.gtu.f32.f32", "set.eq.s32.f64", "set.ne.f32.u64")
    for type_ in ("f32", "f64"):
        yield from (f"{name}.rn.{type_}" for name in ("div", "sqrt", "rcp"))
        yield f"copysign.{type_}"
    yield from (f"abs.{type_}" for type_ in (*FLOATS, "f16x2", "bf16x2"))
    yield from (f"{name}.rn.ftz.f32" for name in ("add", "sub", "mul", "fma", "div"))
    yield from ("min.ftz.f32", "neg.ftz.f32", "setp.lt.ftz.f32", "setp.eq.and.ftz.f32")
    yield from (
        "cvt.rzi.ftz.s32.f32",
        "cvt.rn.ftz.f16.f32",
        "cvt.rn.f16x2.f32",
        "cvt.rn.bf16x2.f32",
    )
    yield from conversions()


def widened() -> Iterator[str]:
    for bits in (16, 32):
        for letter in "su":
            yield from (f"{name}.wide.{letter}{bits}" for name in ("mul", "mad"))
    yield from (f"mad.hi.{letter}{bits}" for letter in "su" for bits in INTEGERS)


def conversions() -> Iterator[str]:
    whole = [f"{letter}{bits}" for letter in "su" for bits in (8, 16, 32, 64)]
    yield from (f"cvt.{to}.{source}" for to in whole for source in whole if to != source)
    for each in whole:
        for type_ in ("f16", "f32", "f64"):
            yield f"cvt.rn.{type_}.{each}"
            yield from (f"cvt.{way}.{each}.{type_}" for way in ("rzi", "rni", "rmi", "rpi"))
    yield from ("cvt.rn.f16.f32", "cvt.rn.f32.f64", "cvt.rn.f16.f64", "cvt.rn.bf16.f32")
    yield from ("cvt.f32.f16", "cvt.f64.f32", "cvt.f64.f16", "cvt.f32.bf16", "cvt.rzi.f32.f32")


OPCODES = tuple(dict.fromkeys(opcodes()))


# Definitions


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


FORMATS = {"f16": (16, 11), "bf16": (16, 8), "f32": (32, 24), "f64": (64, 53)}
"""Bits, and those of the significand."""


def number(bits: int, type_: str) -> Fraction | float:
    """The number that bits are: a fraction; else an infinity, NaN or -0 as a float."""
    size, precision = FORMATS[type_]
    exponent_bits = size - precision
    fraction = bits & (1 << precision - 1) - 1
    exponent = bits >> precision - 1 & (1 << exponent_bits) - 1
    sign = -1 if bits >> size - 1 & 1 else 1
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        scaled = Fraction(fraction, 1 << precision - 1) * Fraction(2) ** (1 - bias)
    else:
        scaled = (1 + Fraction(fraction, 1 << precision - 1)) * Fraction(2) ** (exponent - bias)
    return -0.0 if sign < 0 and scaled == 0 else sign * scaled


NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}


def bits_of(value: Fraction | float, type_: str) -> int:
    """The bits of the nearest number, the even one of two."""
    size, precision = FORMATS[type_]
    exponent_bits = size - precision
    infinity = ((1 << exponent_bits) - 1) << precision - 1
    if isinstance(value, float) and math.isnan(value):
        return NAN[type_]
    negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    sign = 1 << size - 1 if negative else 0
    if isinstance(value, float) and math.isinf(value):
        return sign | infinity
    size_of = abs(Fraction(value))
    if size_of == 0:
        return sign
    bias = (1 << exponent_bits - 1) - 1
    exponent = max(_exponent(size_of), 1 - bias)
    scaled = size_of / Fraction(2) ** (exponent - precision + 1)
    whole = round(scaled)
    # In units of the last place: a carry, and subnormal numbers, come out by themselves.
    found = whole + ((exponent + bias - 1) << precision - 1)
    return sign | min(found, infinity)


def _exponent(value: Fraction) -> int:
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if Fraction(2) ** found <= value else found - 1


def is_negative(value: Fraction | float) -> bool:
    return math.copysign(1, value) < 0 if isinstance(value, float) else value < 0


def is_finite(value: Fraction | float) -> bool:
    return isinstance(value, Fraction) or math.isfinite(value)


def product(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and a and b:
        return a * b
    if is_finite(a) and is_finite(b):
        return -0.0 if is_negative(a) != is_negative(b) else Fraction(0)
    return _special(a) * _special(b)


def _special(a: Fraction | float) -> float:
    """An infinity, NaN or zero as it is; of other numbers the sign is enough."""
    return a if isinstance(a, float) else float((a > 0) - (a < 0))


def total(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    if not (is_finite(a) and is_finite(b)):
        return _special(a) + _special(b)
    if a == 0 and b == 0:
        return -0.0 if is_negative(a) and is_negative(b) else Fraction(0)
    return Fraction(a) + Fraction(b)


def extreme(a: Fraction | float, b: Fraction | float, name: str, keeps: bool) -> Fraction | float:
    if math.isnan(a) or math.isnan(b):
        return math.nan if keeps or (math.isnan(a) and math.isnan(b)) else b if math.isnan(a) else a

    def key(each: Fraction | float) -> tuple[Fraction | float, bool]:
        return each, not is_negative(each)

    return min(a, b, key=key) if name == "min" else max(a, b, key=key)


def on_floats(name: str, words: Sequence[str], type_: str, operands: Sequence[int]) -> int:
    """Not-a-numbers are as an H200 makes them: negated, and of f64."""
    numbers = [number(each, type_) for each in operands]
    nans = [bits for bits, each in zip(operands, numbers, strict=True) if math.isnan(each)]
    if name in ("div", "rcp", "sqrt") and type_ == "f64" and nans:
        return nans[0] | 1 << 51
    if name == "abs" and math.isnan(numbers[0]):
        return operands[0] if type_ == "f64" else NAN[type_]
    if name == "neg" and math.isnan(numbers[0]):
        return operands[0] if type_ == "f64" else NAN[type_]
    found = of_numbers(name, words, type_, operands, numbers)
    is_made = (
        type_ == "f64" and name not in ("setp", "copysign") and not any(map(math.isnan, numbers))
    )
    return 0xFFF8 << 48 if is_made and math.isnan(number(found, type_)) else found


def quotient(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    sign = -1 if is_negative(a) != is_negative(b) else 1
    if is_finite(a) and is_finite(b) and a and b:
        return Fraction(a) / Fraction(b)
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or not (is_finite(a) or is_finite(b)):
        return math.nan
    return sign * math.inf if b == 0 or not is_finite(a) else math.copysign(0.0, sign)


def root(a: Fraction | float) -> Fraction | float:
    """Near enough to round to any type: a fraction of 200 bits, a little off if it is not exact."""
    if not is_finite(a) or a <= 0:
        return math.nan if a < 0 else a
    scaled = Fraction(a) * 4**200
    whole = math.isqrt(int(scaled * 4**600))
    found = Fraction(whole, 2**800)
    return found if found**2 == a else found + Fraction(1, 2**801)


def of_numbers(
    name: str,
    words: Sequence[str],
    type_: str,
    operands: Sequence[int],
    numbers: Sequence[Fraction | float],
) -> int:
    match name:
        case "add":
            return bits_of(total(*numbers), type_)
        case "sub":
            a, b = numbers
            return bits_of(total(a, product(Fraction(-1), b)), type_)
        case "mul":
            return bits_of(product(*numbers), type_)
        case "fma":
            a, b, c = numbers
            return bits_of(total(product(a, b), c), type_)
        case "min" | "max":
            a, b = numbers
            return bits_of(extreme(a, b, name, "NaN" in words), type_)
        case "div":
            return bits_of(quotient(*numbers), type_)
        case "rcp":
            return bits_of(quotient(Fraction(1), *numbers), type_)
        case "sqrt":
            return bits_of(root(*numbers), type_)
        case "copysign":
            sign = 1 << FORMATS[type_][0] - 1
            return operands[1] & ~sign | operands[0] & sign
        case "abs":
            return operands[0] & (1 << FORMATS[type_][0] - 1) - 1
        case "neg":
            return operands[0] ^ 1 << FORMATS[type_][0] - 1
        case "setp":
            a, b, *_ = numbers
            return compare_floats(words[0], a, b) & (operands[2] if "and" in words else 1)
        case _:
            raise AssertionError(name)


def compare_floats(name: str, a: Fraction | float, b: Fraction | float) -> int:
    unordered = math.isnan(a) or math.isnan(b)
    if name in ("num", "nan"):
        return int(unordered == (name == "nan"))
    if unordered:
        return int(name.endswith("u"))
    return compare(name.removesuffix("u"), a, b)


def compare(name: str, a: Fraction | float, b: Fraction | float) -> int:
    return int(
        {
            "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
            "lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b,
        }[name]
    )  # fmt: skip


def meaning(opcode: str, operands: Sequence[int]) -> int:
    """What an instruction computes of operands as bits."""
    name, *words = opcode.split(".")
    type_ = words[-1]
    if "ftz" in words:
        return flushed(opcode, operands)
    if name == "cvt" and words[-2].endswith("x2"):
        upper, lower = (meaning(opcode.replace("x2", ""), [each]) for each in operands)
        return upper << 16 | lower
    if name == "cvt":
        return converted(words, operands[0])
    if name == "set":
        compared = meaning(f"setp.{words[0]}.{type_}", operands)
        return compared * (0x3F800000 if words[1] == "f32" else 0xFFFFFFFF)
    if name == "slct":
        a, b, c = operands
        chosen = number(c, type_) if type_ in FLOATS else signed(c, 32)
        return a if chosen >= 0 else b
    if type_.endswith("x2"):
        type_ = type_.removesuffix("x2")
        halves = (
            on_floats(name, words, type_, [each >> at & 0xFFFF for each in operands])
            << at
            for at in (0, 16)
        )  # fmt: skip
        return sum(halves)
    if type_ in FLOATS:
        return on_floats(name, words, type_, operands)
    bits = 1 if type_ == "pred" else int(type_[1:])

    def take(value: int) -> int:
        return signed(value, bits) if type_[0] == "s" else value

    if name in ("popc", "clz", "brev", "bfind", "prmt", "lop3", "shf", "cnot"):
        return placed(name, words, take, bits, operands)
    if name in ("div", "rem"):
        return divided(name, take, bits, operands)
    if name in ("shl", "shr", "bfe", "bfi"):
        return shifted(name, take, bits, operands) & (1 << bits) - 1
    if "wide" in words or name == "mad":
        a, b, *more = operands
        whole = take(a) * take(b) >> (bits if "hi" in words else 0)
        bits *= 2 if "wide" in words else 1
        return whole + sum(more) & (1 << bits) - 1
    a, *rest = [take(each) for each in operands]
    b, c = (*rest, 0, 0)[:2]
    if name == "setp":
        found = compare(words[0], a, b)
        return found & operands[2] if "and" in words else found
    found = {
        "add": lambda: a + b, "sub": lambda: a - b, "abs": lambda: abs(a),
        "sad": lambda: abs(a - b) + c,
        "mul": lambda: a * b >> bits if "hi" in words else a * b,
        "min": lambda: min(a, b), "max": lambda: max(a, b), "and": lambda: a & b,
        "or": lambda: a | b, "xor": lambda: a ^ b, "not": lambda: ~a, "neg": lambda: -a,
        "selp": lambda: a if operands[2] else b, "mov": lambda: a,
    }[name]()  # fmt: skip
    return found & (1 << bits) - 1


def flushed(opcode: str, operands: Sequence[int]) -> int:
    """PTX ISA, .ftz: subnormal numbers of f32 are zeros of their sign, as operands and results."""

    def flush(value: int) -> int:
        return value if value >> 23 & 0xFF else value & 1 << 31

    count = 2 if opcode.startswith("setp") else len(operands)
    given = [*map(flush, operands[:count]), *operands[count:]]
    found = meaning(opcode.replace(".ftz", ""), given)
    return flush(found) if opcode.endswith("f32") and opcode[:4] not in ("setp", "cvt.") else found


def placed(
    name: str, words: Sequence[str], take: Callable[[int], int], bits: int, operands: Sequence[int]
) -> int:
    """What is done with the places of bits."""
    a, *rest = operands
    digits = f"{a:0{bits}b}"
    match name:
        case "popc":
            return digits.count("1")
        case "clz":
            return bits - a.bit_length()
        case "brev":
            return int(digits[::-1], 2)
        case "cnot":
            return int(a == 0)
        case "bfind":
            value = take(a)
            length = (~value if value < 0 else value).bit_length()
            if not length:
                return 0xFFFFFFFF
            return bits - length if "shiftamt" in words else length - 1
        case "shf":
            b, by = rest
            by = by % 32 if "wrap" in words else min(by, 32)
            both = b << 32 | a
            return (both << by >> 32 if words[0] == "l" else both >> by) & 0xFFFFFFFF
        case "lop3":
            b, c, table = rest
            chosen = (4 * (a >> n & 1) + 2 * (b >> n & 1) + (c >> n & 1) for n in range(bits))
            return sum((table >> each & 1) << n for n, each in enumerate(chosen))
        case _:
            b, selection = rest
            every = (b << 32 | a).to_bytes(8, "little")
            found = bytearray()
            for n in range(4):
                chosen = selection >> 4 * n & 15
                byte = every[chosen & 7]
                found.append(0xFF * (byte >> 7) if chosen & 8 else byte)
            return int.from_bytes(found, "little")


def divided(name: str, take: Callable[[int], int], bits: int, operands: Sequence[int]) -> int:
    """Towards zero; by zero as an H200 computes."""
    a, b = map(take, operands)
    ones = (1 << bits) - 1
    if b == 0:
        return ones
    whole = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    return (whole if name == "div" else a - whole * b) & ones


def shifted(name: str, take: Callable[[int], int], bits: int, operands: Sequence[int]) -> int:
    if name in ("shl", "shr"):
        a, by = operands
        return take(a) << min(by, bits) if name == "shl" else take(a) >> min(by, bits)
    start, length = (each & 0xFF for each in operands[-2:])
    if name == "bfi":
        a, b, *_ = operands
        for n in range(length):
            if start + n < bits:
                b = b & ~(1 << start + n) | (a >> n & 1) << start + n
        return b
    # PTX ISA, bfe: bits beyond the last one are copies of the sign, or zeros.
    a = operands[0]
    last = min(start + length - 1, bits - 1)
    sign = a >> last & 1 if take(1 << bits - 1) < 0 and length else 0
    found = 0
    for n in range(bits):
        bit = a >> start + n & 1 if n < length and start + n < bits else sign
        found |= bit << n
    return found


def converted(words: Sequence[str], value: int) -> int:
    *how, to, source = words
    if source[0] in "su":
        bits = int(source[1:])
        whole = signed(value, bits) if source[0] == "s" else value & (1 << bits) - 1
        return bits_of(Fraction(whole), to) if to in FLOATS else _stored(whole, to)
    found = number(value, source)
    if (to, source) == ("f32", "f64") and math.isnan(found):
        return 0x7FC00000 | value >> 32 & 1 << 31 | value >> 29 & 0x3FFFFF
    widens = (to, source) in (("f64", "f32"), ("f64", "f16"), ("f32", "bf16"))
    if widens and math.isnan(found):
        (size, precision), (wide, bits) = FORMATS[source], FORMATS[to]
        infinity = (1 << wide - 1) - (1 << bits - 1)
        fraction = (value & (1 << precision - 1) - 1) << bits - precision
        return (value >> size - 1 & 1) << wide - 1 | infinity | fraction
    if to in FLOATS:
        if "rzi" in how and isinstance(found, Fraction):
            cut = Fraction(math.trunc(found))
            found = -0.0 if cut == 0 and found < 0 else cut
        return bits_of(found, to)
    bits = int(to[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    if math.isnan(found):
        # PTX ISA 9.0, cvt.
        return _stored(1 << bits - 1 if 64 in (bits, FORMATS[source][0]) else 0, to)
    if math.isinf(found):
        return _stored(low if found < 0 else high, to)
    way = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[how[0]]
    return _stored(min(max(way(Fraction(found)), low), high), to)


def _stored(value: int, to: str) -> int:
    """As a register of at least 16 bits holds it."""
    bits = int(to[1:])
    kept = signed(value, bits) if to[0] == "s" else value & (1 << bits) - 1
    return kept & (1 << max(bits, 16)) - 1


# Operands


_WIDTHS = {
    **dict.fromkeys(("div", "rem", "copysign"), (0, 0)), "sad": (0, 0, 0),
    **dict.fromkeys(("abs", "popc", "clz", "brev", "bfind", "cnot", "sqrt", "rcp"), (0,)),
    "prmt": (32, 32, 16), "lop3": (32, 32, 32, 8), "shf": (32, 32, 6),
}  # fmt: skip
"""The bits of operands of what the dialect has not; 0: those of the type."""


def widths(opcode: str) -> tuple[int, ...]:
    """The bits of each operand's register."""
    name, *words = opcode.split(".")
    if name in ("bfi", "neg", "mov"):
        bits = int(words[-1].removesuffix("x2").lstrip("busf"))
        bits *= 2 if words[-1].endswith("x2") else 1
        return (bits, bits, 32, 32) if name == "bfi" else (bits,)
    if name in _WIDTHS:
        bits = 1 if words[-1] == "pred" else read_opcode(opcode).width
        return tuple(bits if each == 0 else each for each in _WIDTHS[name])
    if name in ("slct", "set"):
        first = int(words[-2].lstrip("busf"))
        last = read_opcode(opcode).width
        return (first, first, last) if name == "slct" else (last, last)
    if name == "cvt" and words[-2].endswith("x2"):
        return (32, 32)
    if "wide" in words or name == "mad":
        bits = read_opcode(opcode).width
        return (bits, bits, 2 * bits if "wide" in words else bits)[: 3 if name == "mad" else 2]
    found = registers_of(read_opcode(opcode.replace(".ftz", "")))
    assert found is not None, opcode
    return tuple(each.bits for each in found.operands)


SPECIAL = (0, 1, 2, 0x7F, 0x80, 0xFF)
SPECIAL_FLOATS: dict[int, tuple[int, ...]] = {
    16: (0, 0x8000, 1, 0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x3FF, 0x7BFF, 0x3F80, 0x7F80, 0x7F7F),
    32: (0, 1 << 31, 1, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFF, 0x7F7FFFFF,
         0x4F000000, 0xCF000000, 0x5F000000, 0x4EFFFFFF, 0x3FC00000, 0x40200000),
    64: (0, 1 << 63, 1, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (1 << 52) - 1,
         0x43E << 52, 0x41E << 52, (1 << 54) - 1 << 9, 0x3FF8 << 48, 0x4004 << 48),
}  # fmt: skip


def operand(generator: random.Random, bits: int, is_float: bool) -> int:
    if bits == 1:
        return generator.getrandbits(1)
    if generator.random() < 0.3:
        special = SPECIAL_FLOATS.get(bits, SPECIAL) if is_float else SPECIAL
        value = generator.choice(special)
        return value if is_float or generator.random() < 0.5 else ~value & (1 << bits) - 1
    if is_float and generator.random() < 0.6 and bits in (16, 32, 64):
        # Exponents near each other: sums that cancel and round.
        precision = {16: 10, 32: 23, 64: 52}[bits]
        bias = {16: 15, 32: 127, 64: 1023}[bits]
        exponent = bias + generator.randint(-5, 5)
        return (
            generator.getrandbits(1) << bits - 1
            | exponent << precision
            | generator.getrandbits(precision)
        )
    return generator.getrandbits(bits)


def cases(opcode: str, count: int) -> list[tuple[int, ...]]:
    generator = random.Random(opcode)
    last = opcode.rpartition(".")[2]
    is_float = last in FLOATS or last.endswith("x2")
    found: list[tuple[int, ...]] = []
    for _ in range(count):
        operands = [operand(generator, bits, is_float) for bits in widths(opcode)]
        if opcode.partition(".")[0] in ("shl", "shr", "bfe", "bfi"):
            amounts = 1 if opcode.startswith("sh") else 2
            operands[-amounts:] = [
                generator.choice((0, 1, 7, 8, 31, 32, 63, 64, 255, 40)) for _ in range(amounts)
            ]
        found.append(tuple(operands))
    return found


def computed(opcode: str, operands: Sequence[Sequence[int]]) -> list[int]:
    columns = [np.array(each, dtype=np.uint64)[None, :] for each in zip(*operands, strict=True)]
    with np.errstate(all="ignore"):
        return np.broadcast_to(function_of(opcode)(*columns), columns[0].shape)[0].tolist()


@pytest.mark.parametrize("opcode", some_of(OPCODES, 3))
def test_an_opcode_is_what_its_definition_says(opcode: str) -> None:
    operands = cases(opcode, 300)
    for given, found in zip(operands, computed(opcode, operands), strict=True):
        wanted = meaning(opcode, given)
        assert found == wanted, f"{opcode} of {[*map(hex, given)]}: {found:#x}, not {wanted:#x}"


@pytest.mark.parametrize("opcode", ["add.s32", "shr.s64", "fma.rn.f32", "cvt.rzi.s32.f32"])
def test_all_lanes_alike(opcode: str) -> None:
    """Operands without axes, as constants are."""
    (given,) = cases(opcode, 1)
    with np.errstate(all="ignore"):
        found = function_of(opcode)(*(np.array(each, dtype=np.uint64) for each in given))
    assert int(found) == meaning(opcode, given)


# Hardware

COMPUTED = Path(__file__).parents[1] / "data" / "memory" / "h200-arithmetic.txt"


def test_an_h200_computes_the_same() -> None:
    lines = [each for each in COMPUTED.read_text().splitlines() if not each.startswith("#")]
    assert len(lines) > 300
    for line in lines:
        opcode, _, rest = line.partition(": ")
        pairs = [each.split("=") for each in rest.split()]
        operands = [[int(word, 16) for word in given.split(",")] for given, _ in pairs]
        found = [f"{each:x}" for each in computed(opcode, operands)]
        assert found == [wanted for _, wanted in pairs], opcode


# Which opcodes there are


def test_every_instruction_has_a_row() -> None:
    names = {name for name, row in instructions.ROWS.items() if row.noun == "alu"}
    assert names <= HEADS
    assert {opcode.split(".")[0] for opcode in OPCODES} == HEADS - ELSEWHERE


@pytest.mark.parametrize(
    ("opcode", "reason"),
    [
        ("div.f32", "it has no formula"),
        ("add.ftz.f64", r"it is no form of add \(\.ftz does not belong"),
        ("mul.s32", r"hi\|lo is missing"),
        ("cvt.s32.f32", "TO_INTEGER is missing"),
        ("setp.s32", r"eq\|ne.* is missing"),
        ("setp.lo.s32", r"\.lo does not belong"),
        ("add.s128", r"\.s128 does not belong"),
        ("fma.rn.s32", r"\.s32 does not belong"),
        ("cvt.rn.f32.f16x2", "it has no formula"),
        ("frob.b32", "it is not known"),
    ],
)
def test_unknown_opcodes_are_refused(opcode: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        function_of(opcode)


# A second source: LLVM folds constants with code of its own

OPT = find_llvm_tool("opt")

_LLVM = {
    "add": "add", "sub": "sub", "mul.lo": "mul", "and": "and", "or": "or", "xor": "xor",
    "shl": "shl", "shr.u": "lshr", "shr.s": "ashr", "div.u": "udiv", "div.s": "sdiv",
    "rem.u": "urem", "rem.s": "srem",
}  # fmt: skip
_LLVM_FLOATS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_LLVM_COUNTS = {"popc": "ctpop", "clz": "ctlz", "brev": "bitreverse"}
_LLVM_TYPES = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def as_llvm(opcode: str, given: Sequence[int]) -> tuple[str, int] | None:
    """Lines that compute %r, and its width; None for what LLVM has not as one instruction."""
    name, *words = opcode.split(".")
    type_ = words[-1]
    if {"ftz", "wide"} & {*words} or words[-2:-1] in (["f16x2"], ["bf16x2"]) or name == "set":
        return None
    if name in _LLVM_COUNTS:
        more = ", i1 false" if name == "clz" else ""
        bits = int(type_[1:])
        return (
            f"%r = call i{bits} @llvm.{_LLVM_COUNTS[name]}.i{bits}(i{bits} {given[0]}{more})",
            bits,
        )
    if type_ in FLOATS:
        llvm, bits = _LLVM_TYPES[type_], FORMATS[type_][0]
        floats = "\n".join(
            f"%f{n} = bitcast i{bits} {each} to {llvm}" for n, each in enumerate(given)
        )
        if name in _LLVM_FLOATS:
            line = f"%x = {_LLVM_FLOATS[name]} {llvm} %f0, %f1"
        elif name == "fma":
            suffix = type_
            line = f"%x = call {llvm} @llvm.fma.{suffix}({llvm} %f0, {llvm} %f1, {llvm} %f2)"
        elif name == "setp" and words[0] in COMPARISONS:
            line = f"%r = fcmp o{words[0]} {llvm} %f0, %f1"
            return f"{floats}\n{line}", 1
        else:
            return None
        return f"{floats}\n{line}\n%r = bitcast {llvm} %x to i{bits}", bits
    if name == "cvt":
        return _conversion(words, given[0])
    if (
        type_ == "pred"
        or type_.endswith("x2")
        or name in ("bfe", "bfi", "selp", "mov", "neg", "not", "mad", "sad", "slct")
    ):
        return None
    bits, letter = int(type_[1:]), type_[0]
    key = next(
        (each for each in (f"{name}.{words[0]}", f"{name}.{letter}", name) if each in _LLVM), None
    )
    if key is not None and "hi" not in words:
        if name in ("shl", "shr") and given[1] >= bits:
            return None
        overflows = given == (1 << bits - 1, (1 << bits) - 1)
        if name in ("div", "rem") and (not given[1] or overflows):
            return None
        return f"%r = {_LLVM[key]} i{bits} {given[0]}, {given[1]}", bits
    if name in ("min", "max"):
        return (
            f"%r = call i{bits} @llvm.{letter}{name}.i{bits}(i{bits} {given[0]}, i{bits} {given[1]})",
            bits,
        )
    if name == "setp" and words[0] in COMPARISONS and len(given) == 2:
        sign = "" if words[0] in ("eq", "ne") else letter
        return f"%r = icmp {sign}{words[0]} i{bits} {given[0]}, {given[1]}", 1
    return None


def _conversion(words: Sequence[str], value: int) -> tuple[str, int] | None:
    *how, to, source = words
    if source[0] in "su" and to[0] in "su":
        from_bits, to_bits = int(source[1:]), int(to[1:])
        value &= (1 << from_bits) - 1
        if to_bits < 16:
            return None
        change = "trunc" if to_bits < from_bits else "sext" if source[0] == "s" else "zext"
        line = f"%x = add i{from_bits} {value}, 0\n"
        if to_bits == from_bits:
            return f"{line}%r = add i{to_bits} %x, 0", to_bits
        return f"{line}%r = {change} i{from_bits} %x to i{to_bits}", to_bits
    if source[0] in "su":
        from_bits, llvm = int(source[1:]), _LLVM_TYPES[to]
        line = f"%x = {source[0]}itofp i{from_bits} {value & (1 << from_bits) - 1} to {llvm}"
        bits = FORMATS[to][0]
        return f"{line}\n%r = bitcast {llvm} %x to i{bits}", bits
    bits, llvm = FORMATS[source][0], _LLVM_TYPES[source]
    line = f"%f = bitcast i{bits} {value} to {llvm}\n"
    if to in FLOATS and how in ([], ["rn"]):
        change = "fptrunc" if FORMATS[to][0] < bits else "fpext"
        size = FORMATS[to][0]
        return (
            f"{line}%x = {change} {llvm} %f to {_LLVM_TYPES[to]}\n%r = bitcast {_LLVM_TYPES[to]} %x to i{size}",
            size,
        )
    if (
        to[0] in "su"
        and how == ["rzi"]
        and int(to[1:]) >= 16
        and not math.isnan(number(value, source))
    ):
        size = int(to[1:])
        call = f"@llvm.fpto{to[0]}i.sat.i{size}.{source}({llvm} %f)"
        return f"{line}%r = call i{size} {call}", size
    return None


@cache
def folded(cases_: tuple[tuple[str, int], ...]) -> list[int]:
    """What LLVM folds each of many computations to."""
    functions = [
        f"define i{bits} @f{n}() {{\n{body}\nret i{bits} %r\n}}"
        for n, (body, bits) in enumerate(cases_)
    ]
    assert OPT is not None
    done = subprocess.run(
        [OPT, "-S", "-passes=instsimplify"],
        input="\n".join(functions),
        capture_output=True,
        text=True,
        check=True,
    )
    returned = [
        line.split()[2] for line in done.stdout.splitlines() if line.strip().startswith("ret i")
    ]
    named = {"true": 1, "false": 0}
    return [
        (named[each] if each in named else int(each)) & (1 << bits) - 1
        for each, (_, bits) in zip(returned, cases_, strict=True)
    ]


@pytest.mark.skipif(OPT is None, reason=f"needs opt: {LLVM_HINT}")
def test_llvm_folds_to_the_same() -> None:
    asked: list[tuple[str, tuple[int, ...], str, int]] = []
    for opcode in OPCODES:
        for given in cases(opcode, 40):
            found = as_llvm(opcode, given)
            if found is not None:
                asked.append((opcode, given, *found))
    wanted = folded(tuple((body, bits) for _, _, body, bits in asked))
    assert len({opcode for opcode, *_ in asked}) > 150
    for (opcode, given, _, _), want in zip(asked, wanted, strict=True):
        (found,) = computed(opcode, [given])
        if not _both_are_nan(opcode, found, want):
            assert found == want, f"{opcode} of {[*map(hex, given)]}: {found:#x}, LLVM {want:#x}"


def _both_are_nan(opcode: str, found: int, want: int) -> bool:
    """LLVM keeps what is in a NaN."""
    words = opcode.split(".")
    type_ = words[-2] if words[0] == "cvt" else words[-1]
    if type_ not in FLOATS or words[0] == "setp":
        return False
    return all(math.isnan(number(each, type_)) for each in (found, want))


# Lanes together


def shuffled(mode: str, lane: int, by: int, c: int) -> int:
    """The lane that shfl.sync reads. Source: PTX ISA, shfl.sync, the code under Semantics."""
    segment, clamp = c >> 8 & 31, c & 31
    last = lane & segment | clamp & ~segment & 31
    first = lane & segment
    if mode == "up":
        source = lane - by
        return source if source >= last else lane
    source = {"down": lane + by, "bfly": lane ^ by, "idx": first | by & ~segment & 31}[mode]
    return source if source <= last else lane


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str) -> None:
    generator = random.Random(mode)
    shuffle = cross_lane_function_of(f"shfl.sync.{mode}.b32")
    active = np.ones((1, 32), dtype=np.bool_)
    for _ in range(100):
        by, width = generator.randrange(32), generator.choice((2, 4, 8, 16, 32))
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        a = np.arange(100, 132, dtype=np.uint64)[None, :]
        full = [np.full((1, 32), each, dtype=np.uint64) for each in (by, c, 0xFFFFFFFF)]
        wanted = [100 + shuffled(mode, lane, by, c) for lane in range(32)]
        assert shuffle(active, a, *full)[0].tolist() == wanted


def test_votes_and_reductions() -> None:
    generator = random.Random(4)
    for _ in range(60):
        who = [generator.random() < 0.7 for _ in range(32)]
        values = [generator.getrandbits(32) for _ in range(32)]
        members = generator.getrandbits(32)
        there = [n for n in range(32) if who[n] and members >> n & 1]
        if not there:
            continue
        active, a = np.array([who]), np.array([values], dtype=np.uint64)
        mask = np.full((1, 32), members, dtype=np.uint64)

        def of(name: str, operand: Values) -> int:
            found = cross_lane_function_of(name)(active, operand, mask)
            return int(np.broadcast_to(found, (1, 32))[0, there[0]])

        flags = a & np.uint64(1)
        for kind in ("ballot", "any", "all", "uni"):
            operand = f".{'b32' if kind == 'ballot' else 'pred'}"
            assert of(f"vote.{kind}.sync{operand}", flags) == of(
                f"vote.sync.{kind}{operand}", flags
            )
        assert of("vote.sync.ballot.b32", flags) == sum((values[n] & 1) << n for n in there)
        assert of("vote.sync.any.pred", flags) == max(values[n] & 1 for n in there)
        assert of("vote.sync.all.pred", flags) == min(values[n] & 1 for n in there)
        own = [values[n] for n in there]
        numbers = [signed(each, 32) for each in own]
        low = 0xFFFFFFFF
        assert of("redux.sync.add.s32", a) == sum(own) & low
        assert of("redux.sync.min.s32", a) == min(numbers) & low
        assert of("redux.sync.max.s32", a) == max(numbers) & low
        assert of("redux.sync.min.u32", a) == min(own)
        assert of("redux.sync.max.u32", a) == max(own)
        for name, fold in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
            wanted = own[0]
            for each in own[1:]:
                wanted = fold(wanted, each)
            assert of(f"redux.sync.{name}.b32", a) == wanted
        same = [n for n in there if values[n] == values[there[0]]]
        assert of("match.any.sync.b32", a) == sum(1 << n for n in same)
        everyone = sum(1 << n for n in there)
        agree = len({*own}) == 1
        assert of("match.all.sync.b32", a) == agree * everyone
        assert of("match.all.sync.b32", a * np.uint64(0)) == everyone
        assert of("vote.sync.uni.pred", flags) == (len({each & 1 for each in own}) == 1)
        first = cross_lane_function_of("elect.sync")(active, mask)
        leads = cross_lane_function_of("elect.sync", second=True)(active, mask)
        assert int(first[0, 0]) == there[0]
        assert [n for n in range(32) if leads[0, n]] == [there[0]]
        here = cross_lane_function_of("activemask.b32")(active)
        assert int(here[0, 0]) == sum(1 << n for n in range(32) if who[n])
    assert len(NAMES) == 22


def test_lanes_with_other_member_masks_are_apart() -> None:
    active = np.array([[n != 9 for n in range(32)]])
    values = np.array([[n * 7 % 5 for n in range(32)]], dtype=np.uint64)
    mask = np.array([[0xFF << (n & 24) for n in range(32)]], dtype=np.uint64)

    def of(name: str) -> list[int]:
        found = cross_lane_function_of(name)(active, values, mask)
        return [int(each) for each in np.broadcast_to(found, (1, 32))[0]]

    groups = [[n for n in range(begin, begin + 8) if n != 9] for begin in (0, 8, 16, 24)]
    word = values[0].tolist()
    ballots, sums = of("vote.sync.ballot.b32"), of("redux.sync.add.u32")
    same = of("match.any.sync.b32")
    for group in groups:
        for n in group:
            assert ballots[n] == sum(1 << other for other in group if word[other])
            assert sums[n] == sum(word[other] for other in group)
            assert same[n] == sum(1 << other for other in group if word[other] == word[n])
    leaders = cross_lane_function_of("elect.sync", second=True)(active, mask)
    assert [n for n in range(32) if leaders[0, n]] == [group[0] for group in groups]


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_a_shuffle_says_which_lanes_had_a_source(mode: str) -> None:
    active = np.ones((1, 32), dtype=np.bool_)
    operands = [np.full((1, 32), each, dtype=np.uint64) for each in (0, 3, 31, 0xFFFFFFFF)]
    if mode == "up":
        operands[2] = np.zeros((1, 32), dtype=np.uint64)
    inside = cross_lane_function_of(f"shfl.sync.{mode}.b32", second=True)(active, *operands)
    wanted = {"up": range(3, 32), "down": range(29)}.get(mode, range(32))
    assert [n for n in range(32) if inside[0, n]] == [*wanted]


# Atomics, and several registers as one


@pytest.mark.parametrize("bits", [32, 64])
def test_updates(bits: int) -> None:
    generator = random.Random(bits)
    for _ in range(200):
        old, data = (
            generator.choice((generator.getrandbits(bits), generator.randrange(3)))
            for _ in range(2)
        )
        arrays = np.array([[old]], dtype=np.uint64), np.array([[data]], dtype=np.uint64)

        def of(operation: str) -> int:
            return int(update_of(read_opcode(f"atom.{operation}"))(*arrays)[0, 0])

        mask = (1 << bits) - 1
        assert of(f"exch.b{bits}") == data
        assert of(f"add.u{bits}") == old + data & mask
        assert of(f"inc.u{bits}") == (0 if old >= data else old + 1)
        assert of(f"dec.u{bits}") == (data if old == 0 or old > data else old - 1)
        assert of(f"max.s{bits}") == max(signed(old, bits), signed(data, bits)) & mask
        swapped = update_of(read_opcode(f"atom.cas.b{bits}"))(
            *arrays, np.array([[7]], dtype=np.uint64)
        )
        assert int(swapped[0, 0]) == (7 if old == data else old)


def test_a_sum_of_floats_in_global_memory_has_no_subnormals() -> None:
    one = np.array([[1]], dtype=np.uint64)

    def of(name: str) -> int:
        return int(update_of(read_opcode(name))(one, one)[0, 0])

    assert of("atom.add.f32") == of("red.global.add.f32") == 0
    assert of("atom.shared.add.f32") == of("atom.add.noftz.f16") == 2


def test_an_unknown_atomic_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="it is not executed"):
        update_of(read_opcode("atom.popc.u32"))


@pytest.mark.parametrize(
    ("bits", "count"), [(8, 2), (16, 2), (32, 2), (16, 4), (32, 4), (64, 2), (32, 8), (64, 4)]
)
def test_packing(bits: int, count: int) -> None:
    """A value of several registers: the lowest first, as single threads have it, and back."""
    generator, widths = random.Random(bits * count), (bits,) * count
    values = [generator.getrandbits(bits) for _ in widths]
    parts = [np.full((2, 4), each, dtype=np.uint64) for each in values]
    whole = of_formula(joined, (64,) * count, bits)(*parts)
    assert whole.shape == ((bits * count // 64, 2, 4) if bits * count > 64 else (2, 4))
    joining = joined(bits, *(term.operand(at, bits) for at in range(count)))
    number_ = python.function(joining, count)(*values)
    assert number_ == sum(each << bits * n for n, each in enumerate(values))
    pieces = whole if whole.ndim > 2 else whole[None]
    assert number_ == sum(int(piece[0, 0]) << 64 * n for n, piece in enumerate(pieces))
    for n, value in enumerate(values):
        assert (of_formula(part_of, (bits * count,), bits * n, bits)(whole) == value).all()
        part = part_of(bits * n, bits, term.operand(0, bits * count))
        assert python.function(part, 1)(number_) == value
