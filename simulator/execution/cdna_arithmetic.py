"""CDNA arithmetic on the values of lanes: a row for each instruction, and for each atomic.

A value is an array of ``uint64`` as in ``program``; its shape does not matter here. A pair of
registers is one number of 64 bits, the low register below; three and four are two such pieces.
A lane mask, which hardware keeps as one bit a lane in a pair of scalar registers, is 0 or 1 in
each lane: its own bit. Bits of inactive lanes do not exist. What else is in scalar registers is
the same in every lane of a wave.

Single precision is without denormal numbers, which become zeros before and after an operation:
what a kernel descriptor says that does not set ``float_denorm_mode_32``. Atomics keep them.
Source: MI300 ISA 16, instructions; LLVM AMDGPUUsage, AMDHSA Assembler Directives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.cdna.instructions import MEMORY_ROWS, PACKED_ROWS
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind, ValueType
from fencewright.simulator.execution.lanes import LaneFlags
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

Arithmetic: TypeAlias = Callable[..., Values]
"""Takes the operands in the order of the row's places, then its immediates."""

_Binary: TypeAlias = Callable[[Values, Values], Values]
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


def any_lane(active: LaneFlags, lanes: Values) -> Values:
    """Whether a mask has a bit of an active lane, in every lane of the wave."""
    some = (active & (lanes != 0)).any(axis=-1, keepdims=True)
    return flags(np.broadcast_to(some, active.shape))


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


def _field(a: Values, first: int, width: int) -> Values:
    return low(a >> np.uint64(first & 31), width & 31)


def _signed_field(a: Values, first: int, width: int) -> Values:
    if width & 31 == 0:
        return np.zeros_like(a)
    shifted = unsigned(signed(a, 32) >> np.int64(first & 31), 64)
    return unsigned(signed(shifted, width & 31), 32)


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


def _compare_unsigned(name: str) -> _Binary:
    return lambda a, b: flags(_COMPARISONS[name](a, b))


def _compare_signed(name: str, bits: int) -> _Binary:
    return lambda a, b: flags(_COMPARISONS[name](signed(a, bits), signed(b, bits)))


def _same(a: Values) -> Values:
    return a


def _choose(chosen: Values, a: Values, b: Values) -> Values:
    return np.where(chosen != 0, a, b)


# Floating point


_MANTISSA: Mapping[int, int] = MappingProxyType({16: 10, 32: 23, 64: 52})
"""Bits of the fraction; the highest of them says that a NaN is quiet."""


def _infinity(bits: int) -> int:
    return (1 << bits - 1) - (1 << _MANTISSA[bits])


def _is_nan(value: Values, bits: int) -> NDArray[np.bool_]:
    return value & mask(bits - 1) > np.uint64(_infinity(bits))


def _without_denormals(value: Values) -> Values:
    sign = np.uint64(1 << 31)
    return np.where(value & np.uint64(_infinity(32)) == 0, value & sign, value)


def _quietened(result: Values, a: Values, b: Values, bits: int) -> Values:
    """The result, or the first operand that is a NaN, quiet; where none is, the NaN of no origin."""
    quiet = np.uint64(1 << _MANTISSA[bits] - 1)
    made = np.where(_is_nan(result, bits), np.uint64(_infinity(bits)) | quiet, result)
    made = np.where(_is_nan(b, bits), b | quiet, made)
    return np.where(_is_nan(a, bits), a | quiet, made)


def _sum(a: Values, b: Values, bits: int) -> Values:
    with np.errstate(all="ignore"):
        found = float_bits(floats(a, bits) + floats(b, bits), bits)
    return _quietened(found, a, b, bits)


def _negated(value: Values, bits: int) -> Values:
    return value ^ np.uint64(1 << bits - 1)


def _difference(a: Values, b: Values, bits: int) -> Values:
    return _sum(a, _negated(b, bits), bits)


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


def _single(operation: _OfBits) -> _Binary:
    """An operation on single precision, without denormals."""

    def computed(a: Values, b: Values) -> Values:
        return _without_denormals(operation(_without_denormals(a), _without_denormals(b), 32))

    return computed


def _minimum(a: Values, b: Values, bits: int) -> Values:
    return _extreme(np.less, a, b, bits)


def _maximum(a: Values, b: Values, bits: int) -> Values:
    return _extreme(np.greater, a, b, bits)


# Instructions


def _and_not(a: Values, b: Values) -> Values:
    return a & (b ^ _ONE)


def _equal_masks(a: Values, b: Values) -> Values:
    return a ^ b ^ _ONE


def _ones_where(lanes: Values) -> Values:
    return lanes * mask(32)


def _sign_extended(value: Values) -> Values:
    return unsigned(signed(value, 32), 64)


def _rows() -> Iterator[tuple[str, Arithmetic]]:
    for mnemonic in (
        "v_mov_b32_e32",
        "s_mov_b32",
        "s_mov_b64",
        "v_zext_mask_b32",
        "v_zext_b32_b64",
    ):
        yield mnemonic, _same
    for bits, add, subtract, multiply in (
        (32, "v_add_u32_e32", "v_sub_u32_e32", "v_mul_lo_u32"),
        (64, "v_add_u64", "v_sub_u64", "v_mul_u64"),
    ):
        yield add, _wrapping(np.add, bits)
        yield subtract, _wrapping(np.subtract, bits)
        yield multiply, _wrapping(np.multiply, bits)
    yield "v_lshl_add_u64", _wrapping(np.add, 64)
    for name, operation in (
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ):
        for mnemonic in (f"v_{name}_b32_e32", f"v_{name}_b64", f"s_{name}_b64"):
            yield mnemonic, operation
    yield "s_andn2_b64", _and_not
    yield "s_xnor_b64", _equal_masks
    for name, operation in (("min", np.minimum), ("max", np.maximum)):
        yield f"v_{name}_u32_e32", operation
        yield f"v_{name}_i32_e32", _ordered(operation, 32)
    for bits, left, right, arithmetic in (
        (32, "v_lshlrev_b32_e32", "v_lshrrev_b32_e32", "v_ashrrev_i32_e32"),
        (64, "v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"),
    ):
        yield left, _shift(np.left_shift, bits)
        yield right, _shift(np.right_shift, bits)
        yield arithmetic, _shift_signed(bits)
    yield "v_bfe_u32", _field
    yield "v_bfe_i32", _signed_field
    yield "v_cndmask_b32_e64", _choose
    yield "v_cndmask_b64", _choose
    yield "v_sext_mask_b32", _ones_where
    yield "v_sext_b32_b64", _sign_extended
    for bits in (32, 64):
        for name in _COMPARISONS:
            yield f"v_cmp_{name}_u{bits}_e64", _compare_unsigned(name)
            if name not in ("eq", "ne"):
                yield f"v_cmp_{name}_i{bits}_e64", _compare_signed(name, bits)
    for name, operation in (
        ("add", _sum),
        ("sub", _difference),
        ("min", _minimum),
        ("max", _maximum),
    ):
        yield f"v_{name}_f32_e32", _single(operation)
        yield f"v_{name}_f64", _at(operation, 64)


ARITHMETIC: Mapping[str, Arithmetic] = MappingProxyType(dict(_rows()))
"""What each arithmetic instruction computes; scalar logic is on lane masks."""

WITHOUT_VALUE: Mapping[str, str] = MappingProxyType(
    {"s_add_scratch_offset": "the place of private memory, which each lane has for itself here"}
)
"""Arithmetic instructions that compute nothing a lane sees, and why."""


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
"""What each atomic stores: of the old value and the operands, in the order of the row's places."""
