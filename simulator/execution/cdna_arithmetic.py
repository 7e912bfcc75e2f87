"""CDNA arithmetic on the values of lanes: a row for each instruction, and for each atomic.

A value is an array of ``uint64`` as in ``program``; its shape does not matter here. A pair of
registers is one number of 64 bits, the low register below; three and four are two such pieces.
Carries are 0 or 1 in each lane; where they go to and come from is not known here.

Rows compute with denormal numbers; ``without_denormals`` is the same for a kernel whose descriptor
does not keep those of single precision, as where nothing sets ``float_denorm_mode_32``. Atomics
keep them. Approximations (``v_rcp_f32``, ``v_exp_f32``) are rounded to the nearest here; hardware
may differ in the last place.
Source: MI300 ISA 12, instructions; LLVM AMDGPUUsage, AMDHSA Assembler Directives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.cdna.instructions import MEMORY_ROWS, PACKED_ROWS
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind, ValueType
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.ptx_arithmetic import function_of
from fencewright.simulator.execution.values import (
    flags,
    float_bits,
    floats,
    low,
    mask,
    signed,
    unsigned,
)

Arithmetic: TypeAlias = Callable[..., Values]
"""Takes the operands in the order of the row's places, then its immediates."""

_Unary: TypeAlias = Callable[[Values], Values]
_Binary: TypeAlias = Callable[[Values, Values], Values]
_Ternary: TypeAlias = Callable[[Values, Values, Values], Values]
_OfBits: TypeAlias = Callable[[Values, Values, int], Values]
_Condition: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]

_HALF = np.uint64(32)
_ONE = np.uint64(1)


# Registers and values


def words(value: Values, count: int) -> list[Values]:
    """The registers of a value of ``count`` registers, the lowest first."""
    pieces = [value] if count <= 2 else list(value)
    halves = [half for piece in pieces for half in (low(piece, 32), piece >> _HALF)]
    return halves[:count]


def join(registers: Sequence[Values]) -> Values:
    """The value of consecutive registers, the lowest first."""
    pairs = [
        reduce(lambda below, above: below | above << _HALF, registers[first : first + 2])
        for first in range(0, len(registers), 2)
    ]
    if len(pairs) == 1:
        return pairs[0]
    return np.stack(np.broadcast_arrays(*[np.atleast_2d(each) for each in pairs]))


def shifted(value: Values, bits: int) -> Values:
    """A value so many bits further up."""
    return value << np.uint64(bits)


# Integers


def _wrapping(operation: _Binary, bits: int) -> _Binary:
    return lambda a, b: low(operation(a, b), bits)


def _ordered(operation: Callable[..., NDArray[np.int64]], bits: int) -> _Binary:
    return lambda a, b: unsigned(operation(signed(a, bits), signed(b, bits)), bits)


def _shift(operation: _Binary, bits: int) -> _Binary:
    """The low bits of the amount count: five of 32, six of 64."""
    return lambda a, b: low(operation(a, b & np.uint64(bits - 1)), bits)


def _shift_signed(bits: int) -> _Binary:
    return lambda a, b: unsigned(signed(a, bits) >> signed(b & np.uint64(bits - 1), 64), bits)


_COMPARISONS: Mapping[str, _Condition] = MappingProxyType(
    {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
)


# Floating point


_MANTISSA: Mapping[int, int] = MappingProxyType({16: 10, 32: 23, 64: 52})
"""Bits of the fraction; the highest of them says that a NaN is quiet."""


def _infinity(bits: int) -> int:
    return (1 << bits - 1) - (1 << _MANTISSA[bits])


def _is_nan(value: Values, bits: int) -> NDArray[np.bool_]:
    return value & mask(bits - 1) > np.uint64(_infinity(bits))


def _quietened(result: Values, bits: int, *operands: Values) -> Values:
    """The result, or the first operand that is a NaN, quiet; where none is, the NaN of no
    origin."""
    quiet = np.uint64(1 << _MANTISSA[bits] - 1)
    made = np.where(_is_nan(result, bits), np.uint64(_infinity(bits)) | quiet, result)
    for each in reversed(operands):
        made = np.where(_is_nan(each, bits), each | quiet, made)
    return made


def _sum(a: Values, b: Values, bits: int) -> Values:
    with np.errstate(all="ignore"):
        found = float_bits(floats(a, bits) + floats(b, bits), bits)
    return _quietened(found, bits, a, b)


def _order(value: Values, bits: int) -> NDArray[np.int64]:
    """Integers in the order of the numbers, -0 below 0: those of negative ones are turned over."""
    number = signed(value, bits)
    return number ^ (number >> np.int64(63) & np.int64((1 << bits - 1) - 1))


def _extreme(precedes: _Condition, a: Values, b: Values, bits: int) -> Values:
    """The number where the other operand is a quiet NaN; of a signalling NaN its quiet form."""
    chosen = np.where(precedes(_order(a, bits), _order(b, bits)), a, b)
    chosen = np.where(_is_nan(b, bits), a, chosen)
    chosen = np.where(_is_nan(a, bits), b, chosen)
    quiet = np.uint64(1 << _MANTISSA[bits] - 1)
    for each in (b, a):
        signals = _is_nan(each, bits) & (each & quiet == 0)
        chosen = np.where(signals, each | quiet, chosen)
    return chosen


def _at(operation: _OfBits, bits: int) -> _Binary:
    return lambda a, b: operation(a, b, bits)


def _minimum(a: Values, b: Values, bits: int) -> Values:
    return _extreme(np.less, a, b, bits)


def _maximum(a: Values, b: Values, bits: int) -> Values:
    return _extreme(np.greater, a, b, bits)


def _of_floats(opcode: str, bits: int) -> Arithmetic:
    """The arithmetic of a PTX instruction, which rounds alike, with the NaNs of this hardware."""

    def computed(*operands: Values) -> Values:
        return _quietened(function_of(opcode)(*operands), bits, *operands)

    return computed


def _on_numbers(function: Callable[..., NDArray[Any]], bits: int) -> Arithmetic:
    """A function of real numbers, computed in double precision and rounded."""

    def computed(*operands: Values) -> Values:
        numbers = [floats(each, bits).astype(np.float64) for each in operands]
        return _quietened(float_bits(function(*numbers), bits), bits, *operands)

    return computed


def _reciprocal_root(number: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / np.sqrt(number)


def _of_ptx(opcode: str) -> Arithmetic:
    return lambda *operands: function_of(opcode)(*operands)


def _difference(bits: int) -> _Binary:
    return lambda a, b: _sum(a, negated(b, bits), bits)


def negated(value: Values, bits: int) -> Values:
    """A floating-point number with the other sign."""
    return value ^ np.uint64(1 << bits - 1)


def magnitude(value: Values, bits: int) -> Values:
    """A floating-point number without its sign."""
    return low(value, bits - 1)


def _flushed(value: Values) -> Values:
    sign = np.uint64(1 << 31)
    return np.where(value & np.uint64(_infinity(32)) == 0, value & sign, value)


@dataclass(frozen=True, slots=True)
class Row:
    """Arithmetic of one instruction: ``sources`` are the bits of its operands.

    ``scc``: of scalar instructions, the flag that they leave, of the operands; None: as it was, or
    whether the result is not 0 (``tests_result``). ``is_float``: the operands are floating-point
    numbers, of which constants and signs depend.
    """

    compute: Arithmetic | _Unary | _Binary | _Ternary
    sources: tuple[int, ...] = (32, 32)
    scc: Arithmetic | _Unary | _Binary | None = None
    is_float: bool = False
    tests_result: bool = False

    def without_denormals(self) -> "Row":
        """The same where denormal numbers of single precision are zeros, before and after."""
        if not self.is_float or self.sources[0] != 32:
            return self
        compute: Arithmetic = self.compute

        def computed(*operands: Values) -> Values:
            return _flushed(compute(*map(_flushed, operands)))

        return replace(self, compute=computed)


def _same(value: Values) -> Values:
    return value


def nonzero(value: Values) -> Values:
    """True if a value is not 0."""
    return flags(value != 0)


def _reversed(operation: _Binary) -> _Binary:
    return lambda a, b: operation(b, a)


def _then(first: _Binary, second: _Binary, bits: int = 32) -> _Ternary:
    return lambda a, b, c: low(second(low(first(a, b), bits), c), bits)


def _shift_left_by(amount: int) -> _Binary:
    return lambda a, b: low((a << np.uint64(amount)) + b, 32)


def _field_of(a: Values, first: Values, width: Values, bits: int, is_signed: bool) -> Values:
    """The field of ``width`` bits from bit ``first`` on; numbers that are in range."""
    # In two steps, since no shift is by 64 bits: a field of no bits is 0.
    unused = np.uint64(63) - width
    if not is_signed:
        return low(((a >> first) << unused << _ONE) >> unused >> _ONE, bits)
    place = signed(a, bits) >> first.view(np.int64)
    found = (place << unused.view(np.int64) << 1) >> unused.view(np.int64) >> 1
    return np.where(width == 0, np.uint64(0), unsigned(found, bits))


def _vector_field(is_signed: bool) -> _Ternary:
    most = mask(5)
    return lambda a, first, width: _field_of(a, first & most, width & most, 32, is_signed)


def _scalar_field(bits: int, is_signed: bool) -> _Binary:
    """Scalar fields have both numbers in one operand: the first bit, and from bit 16 the width."""

    def computed(a: Values, place: Values) -> Values:
        width = np.minimum(place >> np.uint64(16) & mask(7), np.uint64(min(bits, 63)))
        first = place & np.uint64(bits - 1)
        return _field_of(a, first, width, bits, is_signed)

    return computed


def _insert(chosen: Values, a: Values, b: Values) -> Values:
    return chosen & a | low(~chosen, 32) & b


def _ones(count: Values, first: Values, bits: int) -> Values:
    most = np.uint64(bits - 1)
    return low(((_ONE << (count & most)) - _ONE) << (first & most), bits)


def _aligned(unit: int) -> _Ternary:
    return lambda a, b, c: low(
        (a << _HALF | b) >> (c & np.uint64(32 // unit - 1)) * np.uint64(unit), 32
    )


def _permuted(a: Values, b: Values, selector: Values) -> Values:
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


def _turned(bits: int) -> _Unary:
    def computed(a: Values) -> Values:
        found = a
        for step in (1, 2, 4, 8, 16, 32)[: bits.bit_length() - 1]:
            ones = np.uint64(sum((1 << step) - 1 << n for n in range(0, bits, 2 * step)))
            found = (found & ones) << np.uint64(step) | found >> np.uint64(step) & ones
        return found

    return computed


def count_ones(value: Values) -> Values:
    """How many bits are 1."""
    pairs, fours, eights = (np.uint64((1 << 64) // ((1 << n) + 1)) for n in (1, 2, 4))
    found = value - (value >> _ONE & pairs)
    found = (found & fours) + (found >> np.uint64(2) & fours)
    found = found + (found >> np.uint64(4)) & eights
    return found * np.uint64((1 << 64) // 255) >> np.uint64(56)


def _first_one(a: Values) -> Values:
    return np.where(a == 0, mask(32), count_ones((a & (~a + _ONE)) - _ONE))


def _leading_zeros(bits: int) -> _Unary:
    def computed(a: Values) -> Values:
        filled = a
        for step in (1, 2, 4, 8, 16, 32):
            filled = filled | filled >> np.uint64(step)
        return np.where(a == 0, mask(32), np.uint64(bits) - count_ones(filled))

    return computed


def _leading_signs(a: Values) -> Values:
    same = low(np.where(a >> np.uint64(31) != 0, ~a, a), 32)
    return _leading_zeros(32)(same)


def _middle(order: _Binary, other: _Binary) -> _Ternary:
    return lambda a, b, c: other(order(a, b), order(other(a, b), c))


def _high(is_signed: bool) -> _Binary:
    return _of_ptx("mul.hi.s32" if is_signed else "mul.hi.u32")


def _narrow(operation: Arithmetic, bits: int, is_signed: bool) -> Arithmetic:
    """An operation on the low ``bits`` of its first two operands."""

    def computed(a: Values, b: Values, *more: Values) -> Values:
        a, b = (
            unsigned(signed(each, bits), 64) if is_signed else low(each, bits) for each in (a, b)
        )
        return low(operation(a, b, *more), 32)

    return computed


def _product_and_sum(a: Values, b: Values, c: Values) -> Values:
    return a * b + c


def _extended(bits: int) -> _Unary:
    return lambda a: unsigned(signed(a, bits), 32)


def _scaled(a: Values, exponent: Values) -> Values:
    number = np.ldexp(floats(a, 32).astype(np.float64), signed(exponent, 32).clip(-400, 400))
    return _quietened(float_bits(number, 32), 32, a)


def carry_of_sum(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """The carry of a sum of 32 bits."""
    return a + b + np.uint64(carry) >> _HALF


def borrow(a: Values, b: Values, carry: Values | int = 0) -> Values:
    """The borrow of a difference of 32 bits."""
    return flags(a < b + np.uint64(carry))


def _inverse(bits: int) -> _Unary:
    return lambda a: low(~a, bits)


def _absolute(a: Values) -> Values:
    return unsigned(np.abs(signed(a, 32)), 32)


def _overflow(operation: Callable[..., NDArray[np.int64]]) -> _Binary:
    def computed(a: Values, b: Values) -> Values:
        exact = operation(signed(a, 32), signed(b, 32))
        return flags((exact < -(1 << 31)) | (exact >= 1 << 31))

    return computed


_ADD, _SUB = _wrapping(np.add, 32), _wrapping(np.subtract, 32)
_MULTIPLY = _wrapping(np.multiply, 32)
_AND, _OR, _XOR = np.bitwise_and, np.bitwise_or, np.bitwise_xor
_SHIFTS = {
    bits: (_shift(np.left_shift, bits), _shift(np.right_shift, bits), _shift_signed(bits))
    for bits in (16, 32, 64)
}
_ONE_32, _TWO = (32,), (32, 32)
_THREE = (32, 32, 32)


_VECTOR_UNARY: tuple[tuple[str, _Unary], ...] = (
    ("not_b32", lambda a: low(~a, 32)), ("bfrev_b32", _turned(32)), ("ffbl_b32", _first_one),
    ("ffbh_u32", _leading_zeros(32)), ("ffbh_i32", _leading_signs),
)  # fmt: skip
_VECTOR_BINARY: tuple[tuple[str, _Binary], ...] = (
    ("add_u32", _ADD), ("sub_u32", _SUB), ("subrev_u32", _reversed(_SUB)),
    ("add_i32", _ADD), ("sub_i32", _SUB),
    ("mul_lo_u32", _MULTIPLY), ("mul_hi_u32", _high(False)), ("mul_hi_i32", _high(True)),
    ("and_b32", _AND), ("or_b32", _OR), ("xor_b32", _XOR),
    ("xnor_b32", lambda a, b: low(~(a ^ b), 32)),
    ("min_u32", np.minimum), ("max_u32", np.maximum),
    ("min_i32", _ordered(np.minimum, 32)), ("max_i32", _ordered(np.maximum, 32)),
    ("mul_u32_u24", _narrow(np.multiply, 24, False)),
    ("mul_i32_i24", _narrow(np.multiply, 24, True)),
    ("bcnt_u32_b32", lambda a, b: low(count_ones(a) + b, 32)),
    ("bfm_b32", lambda a, b: _ones(a, b, 32)),
    ("add_u16", _narrow(_wrapping(np.add, 16), 16, False)),
    ("sub_u16", _narrow(_wrapping(np.subtract, 16), 16, False)),
    ("mul_lo_u16", _narrow(_wrapping(np.multiply, 16), 16, False)),
    ("min_u16", _narrow(np.minimum, 16, False)), ("max_u16", _narrow(np.maximum, 16, False)),
    ("min_i16", _ordered(np.minimum, 16)), ("max_i16", _ordered(np.maximum, 16)),
)  # fmt: skip
_VECTOR_TERNARY: tuple[tuple[str, _Ternary], ...] = (
    ("bfe_u32", _vector_field(False)), ("bfe_i32", _vector_field(True)), ("bfi_b32", _insert),
    ("alignbit_b32", _aligned(1)), ("alignbyte_b32", _aligned(8)), ("perm_b32", _permuted),
    ("lshl_add_u32", _then(_SHIFTS[32][0], np.add)),
    ("add_lshl_u32", _then(np.add, _SHIFTS[32][0])),
    ("lshl_or_b32", _then(_SHIFTS[32][0], _OR)), ("and_or_b32", _then(_AND, _OR)),
    ("or3_b32", _then(_OR, _OR)), ("add3_u32", _then(np.add, np.add)),
    ("xad_u32", _then(_XOR, np.add)),
    ("min3_u32", _then(np.minimum, np.minimum)), ("max3_u32", _then(np.maximum, np.maximum)),
    ("min3_i32", _then(_ordered(np.minimum, 32), _ordered(np.minimum, 32))),
    ("max3_i32", _then(_ordered(np.maximum, 32), _ordered(np.maximum, 32))),
    ("med3_u32", _middle(np.minimum, np.maximum)),
    ("med3_i32", _middle(_ordered(np.minimum, 32), _ordered(np.maximum, 32))),
    ("mad_u32_u24", lambda a, b, c: low(low(a, 24) * low(b, 24) + c, 32)),
    ("mad_i32_i24", _narrow(_product_and_sum, 24, True)),
)  # fmt: skip


def _vector_integers() -> Iterator[tuple[str, Row]]:
    """VOP1, VOP2 and VOP3. Source: MI300 ISA 12.7, 12.8 and 12.10."""
    for name in ("v_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"):
        yield name, Row(_same, _ONE_32)
    yield "v_mov_b64", Row(_same, (64,))
    for table, sources in (
        (_VECTOR_UNARY, _ONE_32), (_VECTOR_BINARY, _TWO), (_VECTOR_TERNARY, _THREE),
    ):  # fmt: skip
        for name, operation in table:
            yield f"v_{name}", Row(operation, sources)
    for bits in (16, 32, 64):
        names = (f"v_lshlrev_b{bits}", f"v_lshrrev_b{bits}", f"v_ashrrev_i{bits}")
        for name, shift in zip(names, _SHIFTS[bits], strict=True):
            narrow = _narrow(shift, bits, False) if bits == 16 else shift
            yield name, Row(_reversed(narrow), (32, bits))
    yield "v_lshl_add_u64", Row(lambda a, b, c: (a << (b & mask(3))) + c, (64, 32, 64))


def _vector_floats() -> Iterator[tuple[str, Row]]:
    """Floating point. Source: MI300 ISA 12.7, 12.8 and 12.10; 4.6 for NaNs."""
    for bits in (16, 32, 64):
        two, three = (bits, bits), (bits, bits, bits)
        least, most = _at(_minimum, bits), _at(_maximum, bits)
        add: _Binary = _at(_sum, bits)
        subtract = _difference(bits)
        for name, operation in (
            ("add", add), ("sub", subtract), ("subrev", _reversed(subtract)),
            ("mul", _of_floats(f"mul.rn.f{bits}", bits)), ("min", least), ("max", most),
        ):  # fmt: skip
            yield f"v_{name}_f{bits}", Row(operation, two, is_float=True)
        fused = Row(_of_floats(f"fma.rn.f{bits}", bits), three, is_float=True)
        yield f"v_fma_f{bits}", fused
        yield f"v_fmac_f{bits}", fused
        for name, operation in (
            ("min3", _then(least, least, bits)), ("max3", _then(most, most, bits)),
            ("med3", _middle(least, most)),
        ):  # fmt: skip
            yield f"v_{name}_f{bits}", Row(operation, three, is_float=True)
        for name, function in (
            ("trunc", np.trunc), ("floor", np.floor), ("ceil", np.ceil), ("rndne", np.rint),
            ("rcp", np.reciprocal), ("rsq", _reciprocal_root), ("sqrt", np.sqrt),
        ):  # fmt: skip
            if bits < 64 or name in ("trunc", "floor", "ceil", "rndne"):
                yield f"v_{name}_f{bits}", Row(_on_numbers(function, bits), (bits,), is_float=True)
        for type_, word in (("i32", "s32"), ("u32", "u32")):
            if bits > 16:
                yield f"v_cvt_f{bits}_{type_}", Row(_of_ptx(f"cvt.rn.f{bits}.{word}"), _ONE_32)
                yield (
                    f"v_cvt_{type_}_f{bits}",
                    Row(_of_ptx(f"cvt.rzi.{word}.f{bits}"), (bits,), is_float=True),
                )
    yield "v_rcp_iflag_f32", Row(_on_numbers(np.reciprocal, 32), _ONE_32, is_float=True)
    yield "v_exp_f32", Row(_on_numbers(np.exp2, 32), _ONE_32, is_float=True)
    yield "v_log_f32", Row(_on_numbers(np.log2, 32), _ONE_32, is_float=True)
    yield "v_ldexp_f32", Row(_scaled)
    for name, opcode, bits in (
        ("v_cvt_f16_f32", "cvt.rn.f16.f32", 32), ("v_cvt_f32_f16", "cvt.f32.f16", 16),
        ("v_cvt_f64_f32", "cvt.f64.f32", 32), ("v_cvt_f32_f64", "cvt.rn.f32.f64", 64),
    ):  # fmt: skip
        yield name, Row(_of_ptx(opcode), (bits,), is_float=True)
    for n in range(4):
        yield (
            f"v_cvt_f32_ubyte{n}",
            Row(
                lambda a, n=n: float_bits((a >> np.uint64(8 * n) & mask(8)).astype(np.float64), 32),
                _ONE_32,
            ),
        )


_LOGIC: tuple[tuple[str, _Binary], ...] = (
    ("and", _AND), ("or", _OR), ("xor", _XOR), ("nand", lambda a, b: ~(a & b)),
    ("nor", lambda a, b: ~(a | b)), ("xnor", lambda a, b: ~(a ^ b)),
    ("andn2", lambda a, b: a & ~b), ("orn2", lambda a, b: a | ~b),
)  # fmt: skip


def _scalar() -> Iterator[tuple[str, Row]]:
    """SOP1, SOP2 and SOPK. Source: MI300 ISA 12.1 to 12.3."""
    for bits in (32, 64):
        one, two, shifts = (bits,), (bits, bits), (bits, 32)
        for name, operation in _LOGIC:
            yield f"s_{name}_b{bits}", Row(_wrapping(operation, bits), two, tests_result=True)
        left, right, arithmetic = _SHIFTS[bits]
        for name, operation in (
            (f"lshl_b{bits}", left), (f"lshr_b{bits}", right), (f"ashr_i{bits}", arithmetic),
            (f"bfe_u{bits}", _scalar_field(bits, False)),
            (f"bfe_i{bits}", _scalar_field(bits, True)),
        ):  # fmt: skip
            yield f"s_{name}", Row(operation, shifts, tests_result=True)
        yield f"s_bfm_b{bits}", Row(partial(_ones, bits=bits))
        yield f"s_mov_b{bits}", Row(_same, one)
        yield f"s_not_b{bits}", Row(_inverse(bits), one, tests_result=True)
        yield f"s_brev_b{bits}", Row(_turned(bits), one)
        yield f"s_ff1_i32_b{bits}", Row(_first_one, one)
        yield f"s_flbit_i32_b{bits}", Row(_leading_zeros(bits), one)
        yield f"s_bcnt1_i32_b{bits}", Row(count_ones, one, tests_result=True)
    yield "s_movk_i32", Row(_extended(16), _ONE_32)
    yield "s_sext_i32_i8", Row(_extended(8), _ONE_32)
    yield "s_sext_i32_i16", Row(_extended(16), _ONE_32)
    yield "s_abs_i32", Row(_absolute, _ONE_32, tests_result=True)
    yield "s_add_u32", Row(_ADD, scc=carry_of_sum)
    yield "s_sub_u32", Row(_SUB, scc=borrow)
    yield "s_add_i32", Row(_ADD, scc=_overflow(np.add))
    yield "s_sub_i32", Row(_SUB, scc=_overflow(np.subtract))
    for name, operation, precedes in (
        ("min", np.minimum, np.less),
        ("max", np.maximum, np.greater),
    ):
        yield f"s_{name}_u32", Row(operation, scc=lambda a, b, p=precedes: flags(p(a, b)))
        yield (
            f"s_{name}_i32",
            Row(
                _ordered(operation, 32),
                scc=lambda a, b, p=precedes: flags(p(signed(a, 32), signed(b, 32))),
            ),
        )
    yield "s_mul_i32", Row(_MULTIPLY)
    yield "s_mul_hi_u32", Row(_high(False))
    yield "s_mul_hi_i32", Row(_high(True))
    for amount in range(1, 5):
        yield (
            f"s_lshl{amount}_add_u32",
            Row(
                _shift_left_by(amount),
                scc=lambda a, b, n=amount: nonzero(((a << np.uint64(n)) + b) >> _HALF),
            ),
        )
    for name, low_up, high_up in (("ll", False, False), ("lh", False, True), ("hh", True, True)):
        yield (
            f"s_pack_{name}_b32_b16",
            Row(
                lambda a, b, x=low_up, y=high_up: (
                    (a >> np.uint64(16 * x) & mask(16))
                    | (b >> np.uint64(16 * y) & mask(16)) << np.uint64(16)
                )
            ),
        )


ARITHMETIC: Mapping[str, Row] = MappingProxyType(
    dict((*_vector_integers(), *_vector_floats(), *_scalar()))
)
"""The result of each instruction from its sources, by its name without its encoding."""


# Comparisons


_UNORDERED = {"nge": "lt", "ngt": "le", "nle": "gt", "nlt": "ge", "nlg": "eq", "neq": "ne"}
"""Comparisons of floating-point numbers that also hold of a NaN, and those without it."""


_SPELLED = {"ne": "lg"}
"""Unequal values are called less or greater, but by vector comparisons of integers."""


def _integer_comparison(name: str, bits: int, is_signed: bool) -> _Binary:
    compare = _COMPARISONS[name]
    if is_signed:
        return lambda a, b: flags(compare(signed(a, bits), signed(b, bits)))
    return lambda a, b: flags(compare(low(a, bits), low(b, bits)))


def _float_comparison(name: str, bits: int) -> Arithmetic:
    compare = _COMPARISONS.get(_UNORDERED.get(name, name), np.equal)

    def computed(a: Values, b: Values) -> Values:
        unordered = _is_nan(a, bits) | _is_nan(b, bits)
        if name in ("o", "u"):
            return flags(unordered == (name == "u"))
        found = compare(floats(a, bits), floats(b, bits))
        return flags(unordered | found if name in _UNORDERED else ~unordered & found)

    return computed


def _comparisons() -> Iterator[tuple[str, Row]]:
    for bits in (16, 32, 64):
        both = (bits, bits)
        for name in (*_COMPARISONS, *_UNORDERED, "o", "u"):
            own = _SPELLED.get(name, name)
            row = Row(_float_comparison(name, bits), both, is_float=True)
            yield f"v_cmp_{own}_f{bits}", row
            if name in _COMPARISONS:
                for type_ in "iu":
                    compare = _integer_comparison(name, bits, type_ == "i")
                    yield f"v_cmp_{name}_{type_}{bits}", Row(compare, both)
                    yield f"s_cmp_{own}_{type_}{bits}", Row(compare, both)
                    if bits == 32:
                        yield f"s_cmpk_{own}_{type_}{bits}", Row(compare, both)
        for bit, name in enumerate(("s_bitcmp0_b", "s_bitcmp1_b")):
            yield (
                f"{name}{bits}",
                Row(
                    lambda a, b, bit=bit, bits=bits: flags(
                        a >> (b & np.uint64(bits - 1)) & _ONE == np.uint64(bit)
                    ),
                    (bits, 32),
                ),
            )


COMPARISONS: Mapping[str, Row] = MappingProxyType(dict(_comparisons()))
"""The relation of each comparison: SOPC and VOPC. Source: MI300 ISA 12.4 and 12.9."""


# Atomics


def _increment(old: Values, data: Values, bits: int) -> Values:
    return np.where(old >= data, np.uint64(0), low(old + _ONE, bits))


def _decrement(old: Values, data: Values, bits: int) -> Values:
    return np.where((old == 0) | (old > data), data, low(old - _ONE, bits))


def _sum_of_bf16(a: Values, b: Values) -> Values:
    """The sum in single precision, rounded to the nearest, of two the even one."""
    found = _sum(a << np.uint64(16), b << np.uint64(16), 32)
    rounded = found + mask(15) + (found >> np.uint64(16) & _ONE)
    return np.where(_is_nan(found, 32), found, rounded) >> np.uint64(16) & mask(16)


def _sum_of_f16(a: Values, b: Values) -> Values:
    return _sum(a, b, 16)


def _packed(add: _Binary) -> _Binary:
    """Two numbers of 16 bits, each by itself."""
    half = np.uint64(16)
    return lambda old, data: (
        add(low(old, 16), low(data, 16)) | add(old >> half, data >> half) << half
    )


def _replace(old: Values, data: Values) -> Values:
    del old
    return data


def _updates(bits: int) -> Mapping[RmwKind, _Binary]:
    return {
        RmwKind.XCHG: _replace,
        RmwKind.ADD: _wrapping(np.add, bits),
        RmwKind.SUB: _wrapping(np.subtract, bits),
        RmwKind.AND: np.bitwise_and,
        RmwKind.OR: np.bitwise_or,
        RmwKind.XOR: np.bitwise_xor,
        RmwKind.MAX: _ordered(np.maximum, bits),
        RmwKind.MIN: _ordered(np.minimum, bits),
        RmwKind.UMAX: np.maximum,
        RmwKind.UMIN: np.minimum,
        RmwKind.UINC_WRAP: _at(_increment, bits),
        RmwKind.UDEC_WRAP: _at(_decrement, bits),
        RmwKind.FADD: _at(_sum, bits),
        RmwKind.FMIN: _at(_minimum, bits),
        RmwKind.FMAX: _at(_maximum, bits),
    }


_UPDATES = {bits: _updates(bits) for bits in (32, 64)}
_PACKED_SUMS = {
    ValueType.F16X2: _packed(_sum_of_f16),
    ValueType.BF16X2: _packed(_sum_of_bf16),
}


def _swap(old: Values, compare: Values, new: Values) -> Values:
    return np.where(old == compare, new, old)


def _swap_pair(old: Values, pair: Values, bits: int) -> Values:
    """Vector memory has the new value below and the one to compare with above it."""
    registers = words(pair, bits // 16)
    new, compare = join(registers[: bits // 32]), join(registers[bits // 32 :])
    return _swap(old, compare, new)


def _atomics() -> Iterator[tuple[str, Arithmetic]]:
    for (operation, space, bits, kind, _), row in MEMORY_ROWS:
        if operation is Operation.ATOMIC_RMW and kind is not None:
            yield row.mnemonic, _UPDATES[bits][kind]
        elif operation is Operation.CMPXCHG:
            yield (
                row.mnemonic,
                _swap if space is AddressSpace.LOCAL else partial(_swap_pair, bits=bits),
            )
    for (_, _, type_, _), row in PACKED_ROWS:
        yield row.mnemonic, _PACKED_SUMS[type_]


ATOMICS: Mapping[str, Arithmetic] = MappingProxyType(dict(_atomics()))
"""The value that each atomic stores, from the old value and the operands, in the order of the row's
places."""
