"""Computations of PTX instructions on the values of many lanes: formulas as functions of numpy.

An operation on numbers that has no fast form here is done lane by lane, as single threads do it.
Source: ``simulator.semantics``; tests/data/memory/h200-arithmetic.txt, computed by an H200.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.ptx.code.statements import Opcode, element_of, read_opcode
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import (
    Fold,
    flags,
    float_bits,
    floats,
    low,
    mask,
    signed,
    unsigned,
)
from fencewright.simulator.semantics import formulas, python
from fencewright.simulator.semantics.floats import FORMATS
from fencewright.simulator.semantics.operands import LANE_MASKS
from fencewright.simulator.semantics.term import Sort, Term, constant, in_order, operand

Function: TypeAlias = Callable[..., Values]
Floats: TypeAlias = NDArray[Any]


@cache
def function_of(name: str) -> Function:
    """The first result of an instruction, of its operands. Raises ``UnsupportedError``."""
    return compiled(read_opcode(name))


@cache
def compiled(
    opcode: Opcode, constants: tuple[int | None, ...] = (), result: int = 0, register: int = 16
) -> Function:
    """A result of an instruction as a function of its operands. Raises ``UnsupportedError``.

    ``constants``: operands that are known, which it does not take. ``register``: the bits of the
    register that it goes to, where the type is narrower.
    """
    formula = formulas.formula_of(opcode)
    if formula is None:
        problem = f"it {opcode.problem}" if opcode.problem else "it has no formula"
        raise UnsupportedError(f"'{opcode.name}'", f"it is not executed: {problem}")
    types = (*formula.types, "pred") if formula.takes_carry else formula.types
    known = (*constants, *(None for _ in types))
    operands = [_operand(at, type_, known[at]) for at, type_ in enumerate(types)]
    taken = [at for at, value in enumerate(known[: len(types)]) if value is None]
    return vectorised(formula.compute(operands, register)[result], taken)


@cache
def filling(opcode: Opcode, register: int) -> Function:
    """A loaded value in a register that may be wider than the type of the load."""
    return vectorised(formulas.filled(opcode, operand(0, opcode.width), register), (0,))


@cache
def lane_mask(name: str) -> Function:
    """A special register that is made of the number of the lane."""
    return vectorised(LANE_MASKS[name](operand(0, 5)), (0,))


def _operand(at: int, type_: str, known: int | None) -> Term:
    if known is not None:
        return constant(known)
    element = element_of(type_)
    assert element is not None, type_
    return operand(at, element[1] * element[2])


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
    return np.where(np.isfinite(found), found, a * b + c)


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


_FAST: Mapping[tuple[Any, ...], Function] = MappingProxyType(
    {
        **{("exactly", "fma", each, "rn"): _on_numbers(each, _fused(each))
           for each in ("f16", "bf16", "f32")},
        ("exactly", "fma", "f64", "rn"): _fma_64(),
        **{("exactly", name, each, "rn"): _with_nans(each, compute)
           for each in ("f32", "f64")
           for name, compute in (("div", np.divide), ("sqrt", np.sqrt), ("rcp", np.reciprocal))},
    }
)  # fmt: skip
_FAST_BY_NAME: Mapping[str, Callable[..., Function | None]] = MappingProxyType(
    {"reverse": _reverse, "to_integer": _to_integers, "of_integer": _of_integers}
)
_NAMES: Mapping[str, Any] = MappingProxyType(
    {
        "flags": flags, "word": flags, "low": unsigned, "signed": signed, "number": _number,
        "bits": _bits, "integral": _integral, "real": _real, "integer": _integer, "high": _high,
        "high_signed": _high_signed, "length": _length, "ones": _count_ones, "left": _left,
        "right": _right, "quotient": _quotient, "remainder": _remainder, "least": np.minimum,
        "most": np.maximum,
    }
)  # fmt: skip
"""The functions that the text of terms calls."""


# Lanes of a warp together


@cache
def cross_lane_function_of(name: str, *, second: bool = False) -> Function:
    """The function that lanes compute together; it takes the active lanes first. Raises
    ``UnsupportedError``.

    A lane of the member mask that is not active counts as absent. ``second``: the predicate that
    an instruction may give beside its result.
    """
    opcode = read_opcode(name)
    rows = SECOND_RESULTS if second else CROSS_LANE
    found = rows.get(".".join(each for each in opcode.words if each not in opcode.types))
    if found is None:
        known = ", ".join(sorted(rows))
        raise UnsupportedError(f"'{name}'", f"it is not executed; executed are {known}")
    return _by_mask(found(opcode.type)) if opcode.head in _MASKED else found(opcode.type)


_MASKED = ("vote", "match", "redux", "elect")


def _by_mask(function: Function) -> Function:
    """The function where lanes may give different member masks: each lane's of its own members."""

    def of(active: LaneFlags, *operands: Values) -> Values:
        *values, members = operands
        if members.shape[-1] == 1 or (members == members[..., :1]).all():
            return function(active, *operands)
        found: list[Values] = []
        for lane in range(members.shape[-1]):
            row = function(active, *values, members[..., [lane]])
            found.append(row[..., [min(lane, row.shape[-1] - 1)]])
        return np.concatenate(found, axis=-1)

    return of


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


def _shuffle(mode: str) -> Callable[[str], Function]:
    """shfl.sync: ``a`` of another lane, by ``b`` and the clamp and segments of ``c``."""

    def shuffle(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return np.take_along_axis(a, _sources(mode, a, b, c)[0], axis=-1)

    return lambda _: shuffle


def _is_inside(mode: str) -> Callable[[str], Function]:
    def inside(_: LaneFlags, a: Values, b: Values, c: Values, members: Values) -> Values:
        return flags(_sources(mode, a, b, c)[1])

    return lambda _: inside


def _match_any(_: str) -> Function:
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


def _vote(mode: str) -> Callable[[str], Function]:
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


def _redux(reduce: Callable[..., Numbers], nothing: int) -> Callable[[str], Function]:
    def of(type_: str) -> Function:
        letter, bits, _ = element_of(type_) or ("b", 32, 1)
        of_value = signed if letter == "s" else low

        def redux(active: LaneFlags, a: Values, members: Values) -> Values:
            number = np.asarray(of_value(a, bits)).astype(np.int64)
            kept = np.where(_member(active, members), number, nothing)
            return unsigned(reduce(kept, axis=-1, keepdims=True), bits)

        return redux

    return of


CROSS_LANE: Mapping[str, Callable[[str], Function]] = MappingProxyType(
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

LANE_OPERANDS: Mapping[str, int] = MappingProxyType(
    {"shfl": 4, "vote": 2, "match": 2, "redux": 2, "elect": 1, "activemask": 0}
)

SECOND_RESULTS: Mapping[str, Callable[[str], Function]] = MappingProxyType(
    {
        **{f"shfl.sync.{mode}": _is_inside(mode) for mode in ("up", "down", "bfly", "idx")},
        "match.all.sync": lambda _: lambda *given: flags(_match_all(*given)),
        "elect.sync": lambda _: _is_elected,
    }
)
"""The predicates that they may give beside their results."""


# Atomics


@cache
def update_of(opcode: Opcode) -> Function:
    """The value after an atomic, from old value and operands. Raises ``UnsupportedError``."""
    if opcode.width > 64 and opcode.update in _WIDE:
        return _WIDE[opcode.update]
    update = formulas.update_of(opcode)
    if update is None or opcode.width > 64:
        raise UnsupportedError(f"'{opcode.name}'", "it is not executed")
    count = 3 if opcode.update == "cas" else 2
    function = vectorised(update([operand(at, opcode.width) for at in range(count)]), range(count))
    is_fold = opcode.update in formulas.FOLDS and not opcode.is_float
    return Fold(function) if is_fold or opcode.update == "exch" else function


def _swap(old: Values, compare: Values, new: Values) -> Values:
    return np.where((old == compare).all(axis=0), new, old)


_WIDE: Mapping[str, Function] = MappingProxyType(
    {"exch": Fold(lambda old, data: data), "cas": _swap}
)
"""The updates of 128 bits, in pieces."""


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
