"""The values that atomics leave in memory, from the old value and their operands. Atomics keep
denormal numbers.

Source: MI300 ISA 12.15 (LDS), 12.17 (flat, global); LLVM LangRef, atomicrmw.
"""

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from fencewright.lowering.cdna.access_names import AccessName, Path
from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.execution.cdna import floats as fp
from fencewright.simulator.execution.cdna.integers import (
    Arithmetic,
    Binary,
    ordered,
    ternary,
    wrapping,
)
from fencewright.simulator.execution.cdna.registers import join, words
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import floats, low

_ONE = np.uint64(1)


def _increment(old: Values, data: Values, bits: int) -> Values:
    return np.where(old >= data, np.uint64(0), low(old + _ONE, bits))


def _decrement(old: Values, data: Values, bits: int) -> Values:
    return np.where((old == 0) | (old > data), data, low(old - _ONE, bits))


def _sum_of_bf16(a: Values, b: Values) -> Values:
    """The sum in single precision, rounded to the nearest, of two the even one."""
    return fp.to_bf16(fp.added(fp.of_bf16(a), fp.of_bf16(b), 32))


def _packed(add: Binary) -> Binary:
    """Two numbers of 16 bits, each by itself."""
    half = np.uint64(16)
    return lambda old, data: (
        add(low(old, 16), low(data, 16)) | add(old >> half, data >> half) << half
    )


def _replace(old: Values, data: Values) -> Values:
    del old
    return data


def _updates(bits: int) -> Mapping[RmwKind, Binary]:
    return {
        RmwKind.XCHG: _replace,
        RmwKind.ADD: wrapping(np.add, bits),
        RmwKind.SUB: wrapping(np.subtract, bits),
        RmwKind.AND: np.bitwise_and,
        RmwKind.OR: np.bitwise_or,
        RmwKind.XOR: np.bitwise_xor,
        RmwKind.MAX: ordered(np.maximum, bits),
        RmwKind.MIN: ordered(np.minimum, bits),
        RmwKind.UMAX: np.maximum,
        RmwKind.UMIN: np.minimum,
        RmwKind.UINC_WRAP: fp.of_bits(_increment, bits),
        RmwKind.UDEC_WRAP: fp.of_bits(_decrement, bits),
        RmwKind.FADD: fp.of_bits(fp.added, bits),
        RmwKind.FMIN: fp.of_bits(fp.minimum, bits),
        RmwKind.FMAX: fp.of_bits(fp.maximum, bits),
    }


_UPDATES = {bits: _updates(bits) for bits in (32, 64)}
_PACKED_SUMS = {"f": _packed(fp.of_bits(fp.added, 16)), "bf": _packed(_sum_of_bf16)}


def _swap(old: Values, compare: Values, new: Values) -> Values:
    return np.where(old == compare, new, old)


def _swap_pair(old: Values, pair: Values, bits: int) -> Values:
    """Vector memory has the new value below and the one to compare with above it."""
    registers = words(pair, bits // 16)
    new, compare = join(registers[: bits // 32]), join(registers[bits // 32 :])
    return _swap(old, compare, new)


def _swap_if_equal(bits: int, old: Values, compare: Values, new: Values) -> Values:
    """Floating-point numbers, of which zeros are equal and NaNs are not."""
    return np.where(floats(old, bits) == floats(compare, bits), new, old)


@cache
def update_of(name: AccessName) -> Arithmetic | None:
    """The function of an atomic; None: there is none."""
    if name.is_packed:
        return _PACKED_SUMS.get(name.letter)
    if name.rmw is not None:
        return _UPDATES[name.bits].get(name.rmw)
    if name.compares and name.is_float:
        return partial(_swap_if_equal, name.bits) if name.path is Path.LDS else None
    if name.compares:
        return _swap if name.path is Path.LDS else partial(_swap_pair, bits=name.bits)
    others: Mapping[str, Arithmetic] = {
        "rsub": wrapping(lambda old, data: data - old, name.bits),
        "mskor": ternary(lambda old, clear, data: old & ~clear | data),
    }
    return others.get(name.verb)
