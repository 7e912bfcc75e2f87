"""The arithmetic of AMD instructions as formulas: a row for each mnemonic without encoding.

A formula takes the sources as terms and gives a term. Those whose meaning the memory model's
threads have too are of ``amd``. Carries and conditions are 0 or 1 in each lane; where they go to
and come from is not known here. Rows compute with denormal numbers; ``without_denormals`` is the
same for a kernel that does not keep those of single precision. Approximations (``v_rcp_f32``,
``v_exp_f32``) are rounded to the nearest; hardware may differ in the last place.
Source: MI300 ISA 12, CDNA4 ISA 12, instructions; LLVM AMDGPUUsage, AMDHSA Assembler Directives.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import chain, product
from types import MappingProxyType
from typing import TypeAlias

from fencewright.lowering.cdna.access_names import AccessName, Path
from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.semantics import amd
from fencewright.simulator.semantics.amd import MASK, MEANINGS, MeaningRow, unique
from fencewright.simulator.semantics.elements import (
    COMPARED_NUMBERS,
    UPDATES,
    Element,
    by_table,
    clamped,
    exact,
    first_of,
    flushed,
    higher,
    is_nan,
    is_negative,
    larger,
    lesser,
    magnitude,
    saturated,
)
from fencewright.simulator.semantics.term import (
    Term,
    bits,
    call,
    choose,
    constant,
    integral,
    least,
    length,
    low,
    mask,
    most,
    number,
    ones,
    ones_of,
    real,
    signed,
)

Unary: TypeAlias = Callable[[Term], Term]
Binary: TypeAlias = Callable[[Term, Term], Term]
Ternary: TypeAlias = Callable[[Term, Term, Term], Term]
Formula: TypeAlias = Unary | Binary | Ternary | Callable[[Term, Term, Term, Term], Term]
"""A function of a term for each source."""
Operation: TypeAlias = Callable[..., Term]
"""A function of terms, however many."""


@dataclass(frozen=True, slots=True)
class Row:
    """Arithmetic of one instruction: ``sources`` and ``result`` are bits, ``MASK``: one in each
    lane.

    ``implicit``: sources that are not printed, after the others: ``scc``, ``vcc`` (of the lane),
    ``lane``. ``own``: the place of the result among the sources, -1: after the printed ones; None:
    it is none. ``scc``: of scalar instructions, the flag that they leave, of the operands; None: as
    it was, or whether the result is not 0 (``tests_result``). ``flag``: of vector ones, the lane
    mask that is a second result. ``is_float``: the sources are floating-point numbers, of which
    constants and signs depend; ``flushes``: and denormal ones may be zeros. ``clamped``: with
    ``clamp``.
    ``keeps_half``: of 16 bits, it leaves the other half of its result as it was.
    """

    formula: Formula
    sources: tuple[int, ...] = (32, 32)
    result: int = 32
    scc: Formula | None = None
    is_float: bool = False
    tests_result: bool = False
    implicit: tuple[str, ...] = ()
    own: int | None = None
    flag: Formula | None = None
    flushes: bool = True
    clamped: Formula | None = None
    keeps_half: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """The bits of all operands of the formulas."""
        return (*self.sources, *(_IMPLICIT[each] for each in self.implicit))

    def without_denormals(self) -> "Row":
        """The same where denormal numbers of single precision are zeros, before and after."""
        if not self.is_float or not self.flushes or self.sources[0] != 32:
            return self
        formula, is_single = self.formula, self.result == 32

        def computed(*operands: Term) -> Term:
            found = formula(*[flushed(_F[32], each) for each in operands])
            return flushed(_F[32], found) if is_single else found

        return replace(self, formula=computed)


_IMPLICIT = MappingProxyType({"scc": MASK, "vcc": MASK, "lane": 6})
_Entry = tuple[str, Row]
_ONE, _THREE = (32,), (32, 32, 32)
_F = {width: Element(f"f{width}", "f", width) for width in (16, 32, 64)}
_U, _S = (
    {width: Element(f"{letter}{width}", letter, width) for width in (8, 16, 24, 32, 64)}
    for letter in "us"
)
_INTEGERS = MappingProxyType({"i": _S, "u": _U})
"""Integers with a sign and without one."""


def same(value: Term) -> Term:
    """The value."""
    return value


def nonzero(value: Term) -> Term:
    """1 for every number but 0."""
    return value.differs(0)


def _swapped(formula: Operation) -> Operation:
    """The formula of its first two operands in the other order."""

    def computed(a: Term, b: Term, *more: Term) -> Term:
        return formula(b, a, *more)

    return computed


def _added(a: Term, b: Term) -> Term:
    return a + b


def _subtracted(a: Term, b: Term) -> Term:
    return a - b


def _multiplied(a: Term, b: Term) -> Term:
    return a * b


def _product_and_sum(a: Term, b: Term, c: Term) -> Term:
    return a * b + c


def _modulo(width: int, operation: Operation, *operands: Term) -> Term:
    return low(operation(*operands), width)


def _saturated(t: Element, operation: Operation, *operands: Term) -> Term:
    """An operation whose result is the nearest number of its type (``clamp``)."""
    return clamped(t, operation(*(exact(t, each) for each in operands)))


def _limited_sum(
    t: Element, extreme: Callable[[Element, Term, Term], Term], a: Term, b: Term, c: Term
) -> Term:
    """The lesser or larger of a saturated sum and a number.

    Source: LLVM 22 selects V_ADD_MIN_U32 for umin of uadd.sat, and never for umin of add.
    """
    return extreme(t, low(_saturated(t, _added, a, b), t.width), c)


# Of meanings

_K = ArithmeticKind
_BINARY: Mapping[ArithmeticKind, Binary] = MappingProxyType(
    {
        _K.AND: lambda a, b: a & b, _K.OR: lambda a, b: a | b, _K.XOR: lambda a, b: a ^ b,
        _K.EQ: lambda a, b: a.equals(b), _K.NE: lambda a, b: a.differs(b),
        _K.LT: lambda a, b: a < b, _K.LE: lambda a, b: a <= b,
    }
)  # fmt: skip


def logic_of(logic: amd.Logic, width: int, a: Term, b: Term) -> Term:
    """Logic, with an operand or the result inverted."""
    inverted = ones_of(width)
    a, b = a ^ inverted if logic.invert_a else a, b ^ inverted if logic.invert_b else b
    found = _BINARY[logic.kind](a, b)
    return found ^ inverted if logic.invert else found


_ZERO = constant(0)


def _total(a: Term, b: Term, carry: Term = _ZERO) -> Term:
    return low(a + b + carry, 32)


def _rest(a: Term, b: Term, carry: Term = _ZERO) -> Term:
    return low(a - b - carry, 32)


def _carry(a: Term, b: Term, carry: Term = _ZERO) -> Term:
    return (a + b + carry) >> 32


def _borrow(a: Term, b: Term, carry: Term = _ZERO) -> Term:
    return a < b + carry


def _overflow(operation: Binary, a: Term, b: Term) -> Term:
    """True if a sum or difference of two words with signs is no such word."""
    found = operation(signed(a, 32), signed(b, 32))
    return found.differs(signed(low(found, 32), 32))


def _sum(name: str, sum: amd.Sum, of: MeaningRow) -> Row:
    is_scalar, adds = name.startswith("s_"), sum.kind is _K.ADD
    value, carry, plain = (_total, _carry, _added) if adds else (_rest, _borrow, _subtracted)
    implicit = ("scc",) if is_scalar and sum.takes else ()
    row = Row(_swapped(value) if sum.reverse else value, of.sources, implicit=implicit)
    if is_scalar:
        return replace(row, scc=carry if sum.carries else partial(_overflow, plain))
    if sum.takes or sum.carries:
        return replace(row, flag=_swapped(carry) if sum.reverse else carry)
    t = _INTEGERS[name[-3]][32]
    return replace(row, clamped=partial(_saturated, t, _swapped(plain) if sum.reverse else plain))


def _compared_words(compare: amd.Compare, width: int, a: Term, b: Term) -> Term:
    t = _INTEGERS["i" if compare.signed else "u"][width]
    a, b = (b, a) if compare.swap else (a, b)
    return _BINARY[compare.kind](t.ordered(a), t.ordered(b))


def _field(t: Element, a: Term, first: Term, size: Term) -> Term:
    """The field of ``size`` bits, less than 64, from bit ``first`` on."""
    if t.letter == "u":
        return a >> first & mask(size)
    field = low(t.value(a) >> first, 64) & mask(size)
    sign = field >> (size + 63 & 63) & 1
    found = low(field | 0 - sign & (mask(size) ^ ones_of(64)), t.width)
    return choose(size.equals(0), 0, found)


def _vector_field(t: Element, a: Term, first: Term, size: Term) -> Term:
    return _field(t, a, first & 31, size & 31)


def _scalar_field(t: Element, a: Term, place: Term) -> Term:
    """The field that one operand says: its first bit, and from bit 16 on its width."""
    size = least(place >> 16 & 127, min(t.width, 63))
    return _field(t, a, place & t.width - 1, size)


def _lanes_below(first: int, given: Term, more: Term, lane: Term) -> Term:
    return low(ones(given & (1 << lane).less(1) >> first) + more, 32)


def _shift_left(t: Element, a: Term, by: Term) -> Term:
    return low(a << (by & t.width - 1), t.width)


def _shift_right(t: Element, a: Term, by: Term) -> Term:
    return low(t.value(a) >> (by & t.width - 1), t.width)


def _of_meaning(name: str, of: MeaningRow) -> Row | None:
    """The row of a computation that each lane does by itself."""
    is_scalar, result = name.startswith("s_"), (of.results or (MASK,))[0]
    match of.meaning:
        case amd.Copy():
            return Row(same, of.sources, result)
        case amd.Logic():
            logic = partial(logic_of, of.meaning, result)
            return Row(logic, of.sources, result, tests_result=is_scalar)
        case amd.Sum():
            return _sum(name, of.meaning, of)
        case amd.Product():
            return Row(partial(_modulo, 32, _multiplied))
        case amd.Extreme(kind, is_signed):
            t = _INTEGERS["i" if is_signed else "u"][32]
            return Row(partial(lesser if kind is _K.MIN else larger, t))
        case amd.TakeBits(packed):
            field = _scalar_field if packed else _vector_field
            return Row(partial(field, _U[32]), of.sources, tests_result=is_scalar)
        case amd.ShiftRight():
            return Row(partial(_shift_right, _U[32]), tests_result=True)
        case amd.Compare():
            return Row(partial(_compared_words, of.meaning, of.sources[0]), of.sources, MASK)
        case amd.Select() if is_scalar:
            return Row(_chosen_last, of.sources, result, implicit=("scc",))
        case amd.Select():
            return Row(_selected, of.sources, is_float=True, flushes=False)
        case amd.CountBits():
            return Row(ones, of.sources, tests_result=True)
        case amd.CountLanesBelow(first):
            return Row(partial(_lanes_below, first), implicit=("lane",))
        case amd.FirstLane() | amd.SaveExec():
            return None


def _chosen_last(a: Term, b: Term, flag: Term) -> Term:
    return choose(flag, a, b)


def _selected(a: Term, b: Term, flag: Term) -> Term:
    return choose(flag, b, a)


def _meanings() -> Iterator[_Entry]:
    for name, meaning in MEANINGS.items():
        if (row := _of_meaning(name, meaning)) is not None:
            yield name, row


# Vector integers. Source: MI300 ISA 12.7, 12.8 and 12.10


def _inverted(width: int, a: Term) -> Term:
    return a ^ ones_of(width)


def _turned(width: int, a: Term) -> Term:
    return call("reverse", (width,), (a,), width)


def _first_one(a: Term) -> Term:
    """The number of the lowest bit that is 1; -1: none."""
    return choose(a.equals(0), ones_of(32), length(a & 0 - a).less(1))


def _leading_zeros(width: int, a: Term) -> Term:
    """The zeros above the highest 1; -1: there is none."""
    return choose(a.equals(0), ones_of(32), constant(width).less(length(a)))


def _leading_signs(width: int, a: Term) -> Term:
    """The number of bits like the sign, from the highest on; -1: all."""
    negative = is_negative(_S[width], a)
    return _leading_zeros(width, choose(negative, _inverted(width, a), a))


def _product_of_24(t: Element, a: Term, b: Term) -> Term:
    return t.value(low(a, 24)) * t.value(low(b, 24))


def _ones_from(width: int, count: Term, first: Term) -> Term:
    return low(mask(count & width - 1) << (first & width - 1), width)


def _permuted(a: Term, b: Term, selector: Term) -> Term:
    """Bytes of the pair ``a:b``, signs and constants, as a selector says."""
    data, found = a << 32 | b, constant(0)
    for n in range(4):
        chosen = selector >> 8 * n & 0xFF
        sign = (data >> (chosen & 3) * 16 + 15 & 1) * 0xFF
        byte = data >> (chosen & 7) * 8 & 0xFF
        constants = (chosen > 12, 0xFF), (chosen.equals(12), 0)
        found = found | first_of((*constants, (chosen >= 8, sign)), byte) << 8 * n
    return found


def _parts(value: Term, width: int) -> list[Term]:
    """The fields of so many bits of a word, the lowest first."""
    return [low(value >> at, width) for at in range(0, 32, width)]


def _distance(width: int, a: Term, b: Term, c: Term, is_masked: bool = False) -> Term:
    """The sum of the distances of the fields of two words, and a third word; ``is_masked``: of
    those not 0 in ``b``."""
    for x, y in zip(_parts(a, width), _parts(b, width), strict=True):
        each = most(x, y).less(least(x, y))
        c = c + (choose(y.equals(0), 0, each) if is_masked else each)
    return low(c, 32)


def _mean_of_bytes(a: Term, b: Term, rounds: Term) -> Term:
    """The means of the bytes of two words, rounded up where the byte of the third is odd."""
    found = constant(0)
    for n, (x, y, up) in enumerate(zip(*(_parts(each, 8) for each in (a, b, rounds)), strict=True)):
        found = found | (x + y + (up & 1)) >> 1 << 8 * n
    return found


def _dot(t: Element, a: Term, b: Term, c: Term) -> Term:
    """The sum of the products of the fields of two words, and a third word."""
    pairs = zip(_parts(a, t.width), _parts(b, t.width), strict=True)
    products = [exact(t, x) * exact(t, y) for x, y in pairs]
    return low(reduce(_added, products, signed(c, 32)), 32)


def _pair(half: Unary, a: Term, b: Term) -> Term:
    """A pair of halves."""
    return low(half(a), 16) | low(half(b), 16) << 16


_VECTOR_UNARY: Mapping[str, Unary] = {
    "not_b32": partial(_inverted, 32), "bfrev_b32": partial(_turned, 32), "ffbl_b32": _first_one,
    "ffbh_u32": partial(_leading_zeros, 32), "ffbh_i32": partial(_leading_signs, 32),
}  # fmt: skip
_VECTOR_BINARY: Mapping[str, Binary] = {
    "mul_hi_u32": partial(higher, _U[32]), "mul_hi_i32": partial(higher, _S[32]),
    "mul_u32_u24": lambda a, b: low(_product_of_24(_U[24], a, b), 32),
    "mul_i32_i24": lambda a, b: low(_product_of_24(_S[24], a, b), 32),
    "mul_hi_u32_u24": lambda a, b: _product_of_24(_U[24], a, b) >> 32,
    "mul_hi_i32_i24": lambda a, b: low(_product_of_24(_S[24], a, b) >> 32, 32),
    "bcnt_u32_b32": lambda a, b: low(ones(a) + b, 32), "bfm_b32": partial(_ones_from, 32),
    "cvt_pk_u16_u32": partial(_pair, lambda a: least(a, 0xFFFF)),
    "cvt_pk_i16_i32": partial(_pair, lambda a: clamped(_S[16], signed(a, 32))),
}  # fmt: skip
_VECTOR_TERNARY: Mapping[str, Ternary] = {
    "bfe_i32": partial(_vector_field, _S[32]), "perm_b32": _permuted, "lerp_u8": _mean_of_bytes,
    "bfi_b32": lambda a, b, c: a & b | _inverted(32, a) & c,
    "alignbit_b32": lambda a, b, c: low((a << 32 | b) >> (c & 31), 32),
    "alignbyte_b32": lambda a, b, c: low((a << 32 | b) >> (c & 3) * 8, 32),
    "lshl_add_u32": lambda a, b, c: low((a << (b & 31)) + c, 32),
    "add_lshl_u32": lambda a, b, c: low(a + b << (c & 31), 32),
    "lshl_or_b32": lambda a, b, c: low(a << (b & 31), 32) | c,
    "and_or_b32": lambda a, b, c: a & b | c, "or3_b32": lambda a, b, c: a | b | c,
    "xor3_b32": lambda a, b, c: a ^ b ^ c, "xad_u32": lambda a, b, c: low((a ^ b) + c, 32),
    "add3_u32": lambda a, b, c: low(a + b + c, 32),
    "mad_u32": partial(_modulo, 32, _product_and_sum),
    "mad_u32_u24": lambda a, b, c: low(_product_of_24(_U[24], a, b) + c, 32),
    "mad_i32_i24": lambda a, b, c: low(_product_of_24(_S[24], a, b) + signed(c, 32), 32),
    "sad_u8": partial(_distance, 8), "msad_u8": partial(_distance, 8, is_masked=True),
    "sad_u16": partial(_distance, 16), "sad_u32": partial(_distance, 32),
    "sad_hi_u8": lambda a, b, c: low((_distance(8, a, b, _ZERO) << 16) + c, 32),
}  # fmt: skip


@cache
def table_of(table: int, width: int) -> Formula:
    """The logic of three words by a truth table of eight bits, or of two, with 0 as the third.

    Source: CDNA4 ISA, V_BITOP3_B32; LLVM 22, V_BITOP2_B32 of gfx1250.
    """
    return lambda a, b, c=_ZERO: by_table(_U[width], (a, b, c), table)


def _of_three(one: Binary, other: Binary) -> Mapping[str, Ternary]:
    """The functions of three operands by the lesser and the larger one of two."""
    return {
        "min3": lambda a, b, c: one(one(a, b), c), "max3": lambda a, b, c: other(other(a, b), c),
        "med3": lambda a, b, c: other(one(a, b), one(other(a, b), c)),
        "maxmin": lambda a, b, c: one(other(a, b), c),
        "minmax": lambda a, b, c: other(one(a, b), c),
    }  # fmt: skip


def _vector_integers() -> Iterator[_Entry]:
    for name in ("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"):
        yield name, Row(same, _ONE)
    tables = _VECTOR_UNARY, _VECTOR_BINARY, _VECTOR_TERNARY
    for count, table in enumerate(tables, 1):
        for name, formula in table.items():
            yield f"v_{name}", Row(formula, (32,) * count)
    nibbles = {letter: Element(f"{letter}4", letter, 4) for letter in "us"}
    for letter, integers in _INTEGERS.items():
        t = integers[32]
        for count, part in ((8, nibbles[t.letter]), (4, integers[8]), (2, integers[16])):
            dot = Row(partial(_dot, part), _THREE)
            yield f"v_dot{count}_{letter}32_{letter}{part.width}", dot
            if letter == "i":
                yield f"v_dot{count}c_i32_i{part.width}", replace(dot, own=-1)
        for name, formula in _of_three(partial(lesser, t), partial(larger, t)).items():
            yield f"v_{name}_{letter}32", Row(formula, _THREE)
        wide = Row(partial(_wide_product, t), (32, 32, 64), 64)
        with_carry = replace(wide, flag=partial(_wide_carry, t))
        for name in ("mad", "mad_co"):
            yield f"v_{name}_{letter}64_{letter}32", with_carry
        yield f"v_mad_nc_{letter}64_{letter}32", wide
        for name, formula in (("min", lesser), ("max", larger)):
            yield f"v_add_{name}_{letter}32", Row(partial(_limited_sum, t, formula), _THREE)
            yield f"v_{name}_{letter}64", Row(partial(formula, integers[64]), (64, 64), 64)
    for name, each in (("add_nc", _added), ("sub_nc", _subtracted), ("mul", _multiplied)):
        of_pairs = Row(partial(_modulo, 64, each), (64, 64), 64)
        yield f"v_{name}_u64", of_pairs
        yield f"s_{name}_u64", replace(of_pairs)
    for width in (16, 32, 64):
        for name, shift in _shifts(width).items():
            name = name.replace("_", "rev_")
            yield f"v_{name}", Row(_swapped(shift), (min(width, 32), width), width)
    yield "v_lshl_add_u64", Row(lambda a, b, c: low((a << (b & 7)) + c, 64), (64, 32, 64), 64)


def _shifts(width: int) -> Mapping[str, Binary]:
    """Shifts, of which the low bits of the amount count: five of 32, six of 64."""
    return {
        f"lshl_b{width}": partial(_shift_left, _U[width]),
        f"lshr_b{width}": partial(_shift_right, _U[width]),
        f"ashr_i{width}": partial(_shift_right, _S[width]),
    }


def _wide_product(t: Element, a: Term, b: Term, c: Term) -> Term:
    """``a * b + c`` of two words and 64 bits."""
    return low(low(t.value(a) * t.value(b), 64) + c, 64)


def _wide_carry(t: Element, a: Term, b: Term, c: Term) -> Term:
    """A sum of numbers with signs overflows where both have another sign than it."""
    found = _wide_product(t, a, b, c)
    if t.letter == "u":
        return found < c
    return ((found ^ c) & (found ^ low(found - c, 64))) >> 63


def _halves() -> Iterator[_Entry]:
    """Integers of 16 bits."""
    three, two = (16, 16, 16), partial(Row, sources=(16, 16), result=16)
    operations: Mapping[str, Operation] = {
        "add": _added, "sub": _subtracted, "subrev": _swapped(_subtracted), "mul_lo": _multiplied,
    }  # fmt: skip
    for letter, integers in _INTEGERS.items():
        t = integers[16]
        less, more = partial(lesser, t), partial(larger, t)
        for name, each in operations.items():
            row = two(partial(_modulo, 16, each), clamped=partial(_saturated, t, each))
            yield f"v_{name}_{letter}16", replace(row, keeps_half=letter == "i")
        yield f"v_min_{letter}16", two(less)
        yield f"v_max_{letter}16", two(more)
        mad = partial(_modulo, 16, _product_and_sum)
        row = Row(mad, three, 16, clamped=partial(_saturated, t, _product_and_sum))
        yield f"v_mad_{letter}16", replace(row, keeps_half=True)
        yield f"v_mad_legacy_{letter}16", row
        for name, formula in _of_three(less, more).items():
            if name.endswith("3"):
                yield f"v_{name}_{letter}16", Row(formula, three, 16, keeps_half=True)
    for name in ("and", "or", "xor"):
        yield f"v_{name}_b16", two(partial(logic_of, amd.LOGIC[name], 16))
    yield "v_mov_b16", Row(same, (16,), 16)
    yield "v_not_b16", Row(partial(_inverted, 16), (16,), 16)
    yield "v_cndmask_b16", Row(_selected, (16, 16, MASK), 16)


# Floating point. Source: MI300 ISA 12.7, 12.8 and 12.10; 4.6 for NaNs


def _quietened(t: Element, result: Term, *operands: Term) -> Term:
    """The result, or the first operand that is a NaN, quiet; where none is, the NaN of no
    origin."""
    nans = [(is_nan(t, each), each | t.quiet) for each in operands]
    return first_of((*nans, (is_nan(t, result), t.infinity | t.quiet)), result)


def _on_numbers(t: Element, compute: Operation, *operands: Term) -> Term:
    """A function of numbers, rounded to the nearest, of two the even one."""
    return _quietened(t, bits(compute(*map(t.number, operands)), t.name, t.width), *operands)


def _on_bits(t: Element, name: str, given: tuple[str, ...], *operands: Term) -> Term:
    return _quietened(t, call(name, given, operands, t.width), *operands)


def _exactly(name: str, t: Element, *operands: Term) -> Term:
    return _on_bits(t, "exactly", (name, t.name, "rn"), *operands)


def negated(width: int, value: Term) -> Term:
    """A floating-point number with the other sign."""
    return value ^ 1 << width - 1


def unsigned(width: int, value: Term) -> Term:
    """A floating-point number without its sign."""
    return low(value, width - 1)


def clamped_number(width: int, value: Term) -> Term:
    """A result with ``clamp``: from 0 to 1, of a NaN 0. Source: LLVM AMDGPUUsage,
    ``dx10_clamp``."""
    return saturated(_F[width], value)


def multiplied(width: int, factor: float, value: Term) -> Term:
    """A result with ``mul:`` or ``div:`` (an output modifier)."""
    t = _F[width]
    return _quietened(t, bits(t.number(value) * factor, t.name, width), value)


def _of_two(t: Element, is_least: bool, a: Term, b: Term) -> Term:
    """One of two numbers; -0 is below 0."""
    x, y = (choose(is_negative(t, each), each ^ t.ones, each ^ t.sign) for each in (a, b))
    return choose(x < y if is_least else x > y, a, b)


def _extreme(t: Element, is_least: bool, a: Term, b: Term) -> Term:
    """The number where the other operand is a quiet NaN; of a signalling NaN its quiet form."""
    signals = [(is_nan(t, each) & (each & t.quiet).equals(0), each | t.quiet) for each in (a, b)]
    cases = (*signals, (is_nan(t, a), b), (is_nan(t, b), a))
    return first_of(cases, _of_two(t, is_least, a, b))


def _extreme_number(t: Element, is_least: bool, a: Term, b: Term) -> Term:
    """The number where the other operand is a NaN; of two NaNs the first, quiet. Source: RDNA4
    ISA, V_MIN_NUM_F32."""
    of_first = choose(is_nan(t, b), a | t.quiet, b)
    cases = ((is_nan(t, a), of_first), (is_nan(t, b), a))
    return first_of(cases, _of_two(t, is_least, a, b))


def _extreme_or_nan(t: Element, is_least: bool, a: Term, b: Term) -> Term:
    """The lesser or the larger number; a NaN where an operand is one. Source: RDNA4 ISA,
    V_MINIMUM_F32."""
    return _quietened(t, _of_two(t, is_least, a, b), a, b)


_ROUNDINGS = MappingProxyType({"trunc": "rzi", "floor": "rmi", "ceil": "rpi", "rndne": "rni"})
_APPROXIMATE = MappingProxyType(
    {"rsq": "rsqrt", "exp": "ex2", "log": "lg2", "sin": "sin of turns", "cos": "cos of turns"}
)
_DOUBLE = frozenset({"rsq"})
"""The approximations that there are in double precision."""


def _vector_floats() -> Iterator[_Entry]:
    for width, t in _F.items():
        one, two, three = (width,), (width, width), (width, width, width)
        row = partial(Row, result=width, is_float=True)
        add, multiply = partial(_on_numbers, t, _added), partial(_on_numbers, t, _multiplied)
        less, more = (partial(_extreme, t, each) for each in (True, False))
        subtract = partial(_difference, t)
        binary: Mapping[str, Operation] = {
            "add": add, "sub": subtract, "subrev": _swapped(subtract), "mul": multiply, "min": less,
            "max": more,
        }  # fmt: skip
        for name, formula in binary.items():
            yield f"v_{name}_f{width}", row(formula, two)
        fused = row(partial(_exactly, "fma", t), three)
        yield f"v_fma_f{width}", replace(fused, keeps_half=True)
        yield f"v_fmac_f{width}", replace(fused, own=-1)
        for name in ("fmaak", "fmamk"):
            yield f"v_{name}_f{width}", fused
        for name, formula in _of_three(less, more).items():
            yield f"v_{name}_f{width}", row(formula, three, keeps_half=True)
        unary: dict[str, Unary] = {
            **{name: partial(_on_numbers, t, partial(integral, mode=mode))
               for name, mode in _ROUNDINGS.items()},
            **{name: partial(_exactly, name, t) for name in ("rcp", "sqrt")},
            **{name: partial(_on_bits, t, "approximately", (of, t.name))
               for name, of in _APPROXIMATE.items() if width < 64 or name in _DOUBLE},
            "fract": partial(_fraction, t), "frexp_mant": partial(_significand, t),
        }  # fmt: skip
        for name, formula in unary.items():
            yield f"v_{name}_f{width}", row(formula, one)
        size = min(width, 32)
        powers = Row(partial(_power, t), one, size, is_float=True, flushes=False)
        yield f"v_frexp_exp_i{size}_f{width}", powers
        yield f"v_ldexp_f{width}", row(partial(_load_exponent, t), (width, size), flushes=False)
        yield f"v_div_fixup_f{width}", row(partial(_division_fixup, t), three, keeps_half=True)
        if width > 16:
            of = _DIVISIONS[width]
            scale = row(partial(_division_scale, of), three, flag=partial(_division_flag, of))
            yield f"v_div_scale_f{width}", replace(scale, flushes=False)
            step = row(partial(_division_step, of), three, implicit=("vcc",))
            yield f"v_div_fmas_f{width}", replace(step, flushes=False)
        if width < 64:
            # Two roundings. Source: MI200 ISA 12, V_MAD_F32 and V_MAC_F32.
            mad = row(partial(_product_then_sum, multiply, add), three)
            yield f"v_mad_f{width}", mad
            yield f"v_mac_f{width}", replace(mad, own=-1)
            for name in ("madak", "madmk"):
                yield f"v_{name}_f{width}", mad
    yield "v_mul_legacy_f32", Row(_product_of_legacy, is_float=True)
    yield "v_rcp_iflag_f32", Row(partial(_exactly, "rcp", _F[32]), _ONE, is_float=True)


_NUMBER, _OR_NAN = {
    "min3": "min3_num", "max3": "max3_num", "med3": "med3_num", "maxmin": "maxmin_num",
    "minmax": "minmax_num",
}, {
    "min3": "minimum3", "max3": "maximum3", "maxmin": "maximumminimum",
    "minmax": "minimummaximum",
}  # fmt: skip
"""The functions of three operands by the two rules of NaNs that gfx12 has."""


def _floats_of_gfx12() -> Iterator[_Entry]:
    """Extremes by the rules of IEEE 754-2019, and floating point of scalar registers. Source: RDNA4
    ISA 16."""
    for width, t in _F.items():
        row = partial(Row, sources=(width, width), result=width, is_float=True)
        for extreme, two, three in (
            (_extreme_number, ("min_num", "max_num"), _NUMBER),
            (_extreme_or_nan, ("minimum", "maximum"), _OR_NAN),
        ):
            less, more = (partial(extreme, t, each) for each in (True, False))
            for name, formula in zip(two, (less, more), strict=True):
                yield f"v_{name}_f{width}", row(formula)
                if width < 64:
                    yield f"s_{name}_f{width}", row(formula, flushes=False)
            formulas = _of_three(less, more)
            for of, name in three.items() if width < 64 else ():
                found = row(formulas[of], sources=(width,) * 3, keeps_half=True)
                yield f"v_{name}_f{width}", found


_SCALAR_FLOATS = (
    "add", "sub", "mul", "fmac", "fmaak", "fmamk", "ceil", "floor", "trunc", "rndne",
)  # fmt: skip
_SCALAR_APPROXIMATIONS = ("exp", "log", "rcp", "rsq", "sqrt")
_SCALAR_CONVERSIONS = ("f32_i32", "f32_u32", "i32_f32", "u32_f32", "f16_f32", "f32_f16")


def _scalar_floats(rows: Mapping[str, Row]) -> Iterator[_Entry]:
    """The rows of vector floating point that scalar registers have too. Source: RDNA4 ISA 16."""
    for width in (16, 32):
        for name in _SCALAR_FLOATS:
            if (found := rows.get(f"v_{name}_f{width}")) is not None:
                yield f"s_{name}_f{width}", replace(found)
        for name in _SCALAR_APPROXIMATIONS:
            yield f"v_s_{name}_f{width}", replace(rows[f"v_{name}_f{width}"])
        for name in _FLOAT_RELATIONS:
            yield f"s_cmp_{name}_f{width}", replace(rows[f"v_cmp_{name}_f{width}"])
    for name in _SCALAR_CONVERSIONS:
        yield f"s_cvt_{name}", replace(rows[f"v_cvt_{name}"])
    yield "s_cvt_pk_rtz_f16_f32", replace(rows["v_cvt_pkrtz_f16_f32"])
    yield "s_cvt_hi_f32_f16", Row(lambda a: converted(16, 32, a >> 16), _ONE, is_float=True)


def _difference(t: Element, a: Term, b: Term) -> Term:
    return _on_numbers(t, _added, a, negated(t.width, b))


def _product_then_sum(multiply: Operation, add: Operation, a: Term, b: Term, c: Term) -> Term:
    return add(multiply(a, b), c)


def _product_of_legacy(a: Term, b: Term) -> Term:
    """A product in which 0 times anything is 0."""
    zero = low(a, 31).equals(0) | low(b, 31).equals(0)
    return choose(zero, 0, _on_numbers(_F[32], _multiplied, a, b))


# Parts of numbers


def _exponent(t: Element, a: Term) -> Term:
    """The field of the exponent, as it is."""
    return (a & t.infinity) >> t.fraction


def _scaled(t: Element, a: Term, power: Term) -> Term:
    """A number times 2 to a power of 32 bits, rounded once."""
    return _quietened(t, call("scaled", (t.name,), (a, power), t.width), a)


def _load_exponent(t: Element, a: Term, power: Term) -> Term:
    """``v_ldexp``: the power is a word with a sign, of half precision 16 bits."""
    return _scaled(t, a, low(signed(power, min(t.width, 32)), 32))


def _fraction(t: Element, a: Term) -> Term:
    """``a - floor(a)``, less than 1."""
    value = t.number(a)
    found = bits(value - integral(value, "rmi"), t.name, t.width)
    return _quietened(t, choose(is_nan(t, found), found, least(found, t.one - 1)), a)


def _significand(t: Element, a: Term) -> Term:
    """``v_frexp_mant``: from 0.5 to 1; of a number that is not finite, itself."""
    field = low(a, t.fraction)
    moved = low(field << constant(t.fraction + 1).less(length(field)), t.fraction)
    found = a & t.sign | t.bias - 1 << t.fraction | choose((a & t.infinity).equals(0), moved, field)
    is_itself = low(a, t.width - 1).equals(0) | (a & t.infinity).equals(t.infinity)
    return _quietened(t, choose(is_itself, a, found), a)


def _power(t: Element, a: Term) -> Term:
    """``v_frexp_exp``: the power of 2 of it; 0 for 0 and for values that are not finite."""
    field, is_none = _exponent(t, a), low(a, t.width - 1).equals(0)
    is_none = is_none | (a & t.infinity).equals(t.infinity)
    subnormal = length(low(a, t.fraction)) - t.fraction
    found = low(choose(field.equals(0), low(subnormal, 32), field) - (t.bias - 1), min(t.width, 32))
    return choose(is_none, 0, found)


def _class(t: Element, a: Term, wanted: Term) -> Term:
    """1 if a number is of one of ten classes. Source: MI300 ISA 12.9, V_CMP_CLASS_F32."""
    size, negative = low(a, t.width - 1), is_negative(t, a)
    kinds = (
        (size >= (t.infinity | t.quiet), constant(1)), (size > t.infinity, constant(0)),
        (size.equals(t.infinity), choose(negative, 2, 9)),
        (size >= 1 << t.fraction, choose(negative, 3, 8)), (size > 0, choose(negative, 4, 7)),
    )  # fmt: skip
    return wanted >> first_of(kinds, choose(negative, 5, 6)) & 1


# Division. Source: MI300 ISA 12.10, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP


@dataclass(frozen=True, slots=True)
class _Division:
    """The constants of one precision: powers of 2, and exponents where scaling begins."""

    t: Element
    scale: int
    near_most: int
    tiny: int


_DIVISIONS: Mapping[int, _Division] = MappingProxyType(
    {32: _Division(_F[32], 64, 96, 23), 64: _Division(_F[64], 128, 768, 53)}
)
_LEAST = MappingProxyType({16: 25, 32: 150, 64: 1075})
"""The difference of exponents below which a quotient is 0."""


def _wide(t: Element, a: Term) -> Term:
    """A number in double precision."""
    return a if t.width == 64 else bits(t.number(a), "f64", 64)


def _case(of: _Division, denominator: Term, numerator: Term) -> Term:
    """The first case of ``v_div_scale`` that holds, by its number in the manual's order."""
    t, least_normal = of.t, 1024 - of.t.bias << 52
    top, bottom = _exponent(t, numerator), _exponent(t, denominator)
    x, y = _wide(t, numerator), _wide(t, denominator)
    sizes = [
        low(call("exactly", (name, "f64", "rn"), given, 64), 63)
        for name, given in (("rcp", (y,)), ("div", (x, y)))
    ]
    small = [(each > 0) & (each < least_normal) for each in sizes]
    conditions = (
        low(numerator, t.width - 1).equals(0) | low(denominator, t.width - 1).equals(0),
        top >= bottom + of.near_most, bottom.equals(0), small[0] & small[1], *small,
        top <= of.tiny,
    )  # fmt: skip
    cases = [(condition, n) for n, condition in enumerate(conditions)]
    return first_of(cases, constant(len(cases)))


def _division_scale(of: _Division, a: Term, denominator: Term, numerator: Term) -> Term:
    """The operand of a division, scaled so that its steps are in range: the denominator or the
    numerator."""
    case, is_denominator = _case(of, denominator, numerator), a.equals(denominator)
    up = case.equals(1) & is_denominator | case.equals(2) | case.equals(6)
    up = up | case.equals(5) & a.equals(numerator)
    # Inferred, as of the step: the denominator of case 3 goes down; up it is out of range.
    down = case.equals(3) & is_denominator | case.equals(4)
    power = first_of(((up, of.scale), (down, (1 << 32) - of.scale)), _ZERO)
    return choose(case.equals(0), of.t.infinity | of.t.quiet, _scaled(of.t, a, power))


def _division_flag(of: _Division, _: Term, denominator: Term, numerator: Term) -> Term:
    """1 if the quotient of a scaled division is to be scaled back."""
    case = _case(of, denominator, numerator)
    return case.equals(1) | case.equals(3) | case.equals(5)


def _division_step(of: _Division, a: Term, b: Term, c: Term, flag: Term) -> Term:
    """A fused multiply and add, scaled back where the flag is set: the way that ``c`` is large or
    small; rounded once.

    Inferred: the side to which it scales back, by which the quotients of
    ``tests/unit/test_amd_random_functions.py`` are the rounded ones; intermediate values may
    differ from a chip's.
    """
    t, is_large = of.t, _exponent(of.t, c) > of.t.bias
    back = choose(flag, choose(is_large, of.scale, (1 << 32) - of.scale), 0)
    return _quietened(t, call("fused_and_scaled", (t.name,), (a, b, c, back), t.width), a, b, c)


def _division_fixup(t: Element, quotient: Term, denominator: Term, numerator: Term) -> Term:
    """The quotient, or its substitute for special operands."""
    infinite, sign = t.infinity, (denominator ^ numerator) & t.sign
    size, of = low(numerator, t.width - 1), low(denominator, t.width - 1)
    both = size.equals(0) & of.equals(0) | size.equals(infinite) & of.equals(infinite)
    cases = (
        (is_nan(t, numerator), numerator | t.quiet),
        (is_nan(t, denominator), denominator | t.quiet),
        (both, constant(infinite | t.quiet | t.sign)),
        (of.equals(0) | size.equals(infinite), sign | infinite),
        (of.equals(infinite) | size.equals(0), sign),
        (_exponent(t, numerator) + _LEAST[t.width] < _exponent(t, denominator), sign),
        # The manual has the exponent of the denominator here, which was decided before.
        ((quotient & infinite).equals(infinite), sign | infinite),
    )
    return first_of(cases, sign | low(quotient, t.width - 1))


# Conversions


def converted(width: int, to: int, a: Term) -> Term:
    """A number of one precision in another, of a NaN the upper bits."""
    t, target = _F[width], _F[to]
    shift, field = t.fraction - target.fraction, low(a, t.fraction)
    rest = field >> shift if shift > 0 else field << -shift
    nan = a >> width - 1 << to - 1 | (target.infinity | target.quiet) | rest
    return choose(is_nan(t, a), nan, bits(t.number(a), target.name, to))


def _towards_zero(a: Term) -> Term:
    """A number of single precision as one of half precision, rounded towards 0."""
    nearest = converted(32, 16, a)
    return nearest - (number(low(nearest, 15), "f16") > number(low(a, 31), "f32"))


def _to_bf16(a: Term) -> Term:
    """A number of single precision as bf16, rounded to the nearest, of two the even one."""
    rounded = a + 0x7FFF + (a >> 16 & 1)
    return choose(is_nan(_F[32], a), a | _F[32].quiet, rounded) >> 16 & 0xFFFF


def _of_integer(width: int, t: Element, a: Term) -> Term:
    return bits(real(t.value(a)), f"f{width}", width)


def _to_integer(t: Element, to: Element, mode: str, a: Term) -> Term:
    """The nearest integer of the type; of a NaN 0."""
    given = (t.name, mode, to.letter == "s", to.width)
    return choose(is_nan(t, a), 0, call("to_integer", given, (a,), to.width))


def _normalised(t: Element, to: Element, a: Term) -> Term:
    """A number from -1 or 0 to 1 as an integer of 16 bits."""
    greatest = to.sign - 1 if to.letter == "s" else to.ones
    value = number(_wide(t, a), "f64") * float(greatest)
    found = _to_integer(_F[64], to, "rni", bits(value, "f64", 64))
    return choose(value < -float(greatest), to.sign + 1, found) if to.letter == "s" else found


def _to_byte(a: Term, place: Term, old: Term) -> Term:
    """``v_cvt_pk_u8_f32``: a number as a byte, in its place of a word."""
    first = (place & 3) * 8
    return old & (0xFF << first ^ ones_of(32)) | _to_integer(_F[32], _U[8], "rni", a) << first


def _half_up(a: Term) -> Term:
    """A number of single precision as a word with a sign, halves rounded up."""
    value = bits(number(_wide(_F[32], a), "f64") + 0.5, "f64", 64)
    return _to_integer(_F[64], _S[32], "rmi", value)


def _conversions() -> Iterator[_Entry]:
    single = partial(Row, sources=_ONE, is_float=True, flushes=False)
    pair = partial(Row, is_float=True, flushes=False)
    for letter, integers in _INTEGERS.items():
        t, short = integers[32], integers[16]
        for width in (32, 64):
            yield f"v_cvt_f{width}_{letter}32", Row(partial(_of_integer, width, t), _ONE, width)
            to = single(partial(_to_integer, _F[width], t, "rzi"))
            yield f"v_cvt_{letter}32_f{width}", replace(to, sources=(width,))
        yield f"v_cvt_f16_{letter}16", Row(partial(_of_integer, 16, short), (16,), 16)
        half = partial(Row, sources=(16,), result=16, is_float=True)
        yield f"v_cvt_{letter}16_f16", half(partial(_to_integer, _F[16], short, "rzi"))
        yield f"v_cvt_norm_{letter}16_f16", half(partial(_normalised, _F[16], short))
        for width in (16, 32):
            both = partial(_pair, partial(_normalised, _F[width], short))
            yield f"v_cvt_pknorm_{letter}16_f{width}", pair(both, (width, width))
    for width, to in ((32, 16), (16, 32), (32, 64), (64, 32)):
        row = Row(partial(converted, width, to), (width,), to, is_float=True)
        yield f"v_cvt_f{to}_f{width}", row
    for n in range(4):
        yield f"v_cvt_f32_ubyte{n}", Row(partial(_of_byte, n), _ONE)
    yield "v_cvt_flr_i32_f32", single(partial(_to_integer, _F[32], _S[32], "rmi"))
    yield "v_cvt_rpi_i32_f32", single(_half_up)
    yield "v_cvt_pkrtz_f16_f32", pair(partial(_pair, _towards_zero))
    yield "v_cvt_pk_f16_f32", pair(partial(_pair, partial(converted, 32, 16)))
    yield "v_cvt_pk_bf16_f32", pair(partial(_pair, _to_bf16))
    yield "v_cvt_f32_bf16", Row(lambda a: a << 16, (16,))
    yield "v_cvt_pk_u8_f32", pair(_to_byte, _THREE)
    yield "v_pack_b32_f16", Row(partial(_pair, same), (16, 16), is_float=True)


def _of_byte(n: int, a: Term) -> Term:
    return _of_integer(32, _U[8], a >> 8 * n & 0xFF)


# Scalar. Source: MI300 ISA 12.1 to 12.4


def _scalar() -> Iterator[_Entry]:
    for width in (32, 64):
        one, tested = (width,), partial(Row, result=width, tests_result=True)
        fields = {
            f"bfe_{letter}{width}": partial(_scalar_field, integers[width])
            for letter, integers in _INTEGERS.items()
        }
        for name, formula in {**_shifts(width), **fields}.items():
            if f"s_{name}" not in MEANINGS:
                yield f"s_{name}", tested(formula, (width, 32))
        yield f"s_not_b{width}", tested(partial(_inverted, width), one)
        yield f"s_quadmask_b{width}", tested(partial(_groups_of_bits, width, False), one)
        yield f"s_wqm_b{width}", tested(partial(_groups_of_bits, width, True), one)
        yield f"s_bfm_b{width}", Row(partial(_ones_from, width), result=width)
        yield f"s_brev_b{width}", Row(partial(_turned, width), one, width)
        yield f"s_ff1_i32_b{width}", Row(_first_one, one)
        yield f"s_ff0_i32_b{width}", Row(partial(_of_inverted, _first_one, width), one)
        yield f"s_flbit_i32_b{width}", Row(partial(_leading_zeros, width), one)
        zeros = Row(partial(_of_inverted, ones, width), one, tests_result=True)
        yield f"s_bcnt0_i32_b{width}", zeros
        for bit in (0, 1):
            sets = partial(_bit_set, width, bit)
            yield f"s_bitset{bit}_b{width}", Row(sets, (width, 32), width, own=0)
            yield f"s_bitcmp{bit}_b{width}", Row(partial(_bit_is, width, bit), (width, 32), MASK)
        moved = Row(_chosen_last, (width, width), width, implicit=("scc",), own=-1)
        yield f"s_cmov_b{width}", moved
    extended = partial(_extended, 16)
    yield (
        "s_cmovk_i32",
        Row(lambda a, old, scc: choose(scc, extended(a), old), implicit=("scc",), own=-1),
    )
    for name, (kind, swap) in amd.RELATIONS.items():
        for letter in "iu":
            compare = partial(_compared_words, amd.Compare(kind, letter == "i", swap), 32)
            row = Row(partial(_with_constant, compare, letter == "i"), result=MASK)
            yield f"s_cmpk_{name.replace('ne', 'lg')}_{letter}32", row
    unary: Mapping[str, Unary] = {
        "flbit_i32": partial(_leading_signs, 32), "movk_i32": extended, "sext_i32_i16": extended,
        "sext_i32_i8": partial(_extended, 8),
    }  # fmt: skip
    for name, formula in unary.items():
        yield f"s_{name}", Row(formula, _ONE)
    yield "s_flbit_i32_i64", Row(partial(_leading_signs, 64), (64,))
    yield "s_bitreplicate_b64_b32", Row(_doubled, _ONE, 64)
    yield "s_abs_i32", Row(partial(magnitude, _S[32]), _ONE, tests_result=True)
    yield "s_absdiff_i32", Row(_difference_of, tests_result=True)
    overflow = partial(_with_constant, partial(_overflow, _added), True)
    for name in ("s_addk_i32", "s_addk_co_i32"):
        yield name, Row(partial(_with_constant, _total, True), scc=overflow, own=0)
    yield "s_mulk_i32", Row(partial(_with_constant, partial(_modulo, 32, _multiplied), True), own=0)
    for letter, integers in _INTEGERS.items():
        t = integers[32]
        for name, formula, swap in (("min", lesser, False), ("max", larger, True)):
            before = partial(_compared_words, amd.Compare(_K.LT, letter == "i", swap), 32)
            yield f"s_{name}_{letter}32", Row(partial(formula, t), scc=before)
        yield f"s_mul_hi_{letter}32", Row(partial(higher, t))
    for amount in range(1, 5):
        row = Row(partial(_moved_sum, amount, False), scc=partial(_moved_sum, amount, True))
        yield f"s_lshl{amount}_add_u32", row
    for name, first, second in (("ll", 0, 0), ("lh", 0, 16), ("hh", 16, 16)):
        yield f"s_pack_{name}_b32_b16", Row(partial(_packed, first, second))


def _of_inverted(formula: Unary, width: int, a: Term) -> Term:
    return formula(_inverted(width, a))


def _moved_sum(amount: int, is_carry: bool, a: Term, b: Term) -> Term:
    found = (a << amount) + b
    return nonzero(found >> 32) if is_carry else low(found, 32)


def _packed(first: int, second: int, a: Term, b: Term) -> Term:
    return low(a >> first, 16) | low(b >> second, 16) << 16


def _extended(width: int, a: Term) -> Term:
    """The lowest bits of a word with their sign."""
    return low(signed(a, width), 32)


def _with_constant(formula: Binary, is_signed: bool, a: Term, b: Term) -> Term:
    """Of a constant of 16 bits, which is extended. Source: MI300 ISA 12.2, SOPK."""
    return formula(a, _extended(16, b) if is_signed else low(b, 16))


def _difference_of(a: Term, b: Term) -> Term:
    """The magnitude of the difference of two words with signs, the lowest 32 bits of it."""
    x, y = signed(a, 32), signed(b, 32)
    return low(most(x, y) - least(x, y), 32)


def _groups_of_bits(width: int, fills: bool, a: Term) -> Term:
    """A bit for each four bits that are not 0; ``fills``: four ones."""
    groups = [choose((a >> at & 15).differs(0), 15 << at if fills else 1 << at // 4, 0)
              for at in range(0, width, 4)]  # fmt: skip
    return reduce(_BINARY[_K.OR], groups)


def _doubled(a: Term) -> Term:
    """Every bit of a word twice."""
    for by, kept in ((16, 0xFFFF), (8, 0xFF), (4, 0xF), (2, 3), (1, 1)):
        a = (a | a << by) & sum(kept << at for at in range(0, 64, 2 * by))
    return a | a << 1


def _bit_set(width: int, sets: int, old: Term, place: Term) -> Term:
    bit = 1 << (place & width - 1)
    return old | bit if sets else old & _inverted(width, bit)


def _bit_is(width: int, wanted: int, a: Term, b: Term) -> Term:
    return (a >> (b & width - 1) & 1).equals(wanted)


# Comparisons of floating-point numbers. Source: MI300 ISA 12.9

_FLOAT_RELATIONS: Mapping[str, str] = MappingProxyType(
    {
        "lt": "lt", "eq": "eq", "le": "le", "gt": "gt", "lg": "ne", "ge": "ge", "nge": "ltu",
        "nlg": "equ", "ngt": "leu", "nle": "gtu", "neq": "neu", "nlt": "geu", "o": "num",
        "u": "nan",
    }
)  # fmt: skip
"""Relations, by their names in ``COMPARED_NUMBERS``."""


def _always(value: int, a: Term, b: Term) -> Term:
    return (a ^ a) | value


def _compared(relation: Binary, t: Element, a: Term, b: Term) -> Term:
    return relation(t.number(a), t.number(b))


def _comparisons() -> Iterator[_Entry]:
    for prefix, (width, t) in product(("v_cmp", "v_cmpx"), _F.items()):
        both = partial(Row, sources=(width, width), result=MASK)
        for name, of in _FLOAT_RELATIONS.items():
            relation = partial(_compared, COMPARED_NUMBERS[of], t)
            row = both(relation, is_float=True, flushes=name not in ("o", "u"))
            yield f"{prefix}_{name}_f{width}", row
        row = both(partial(_class, t), sources=(width, 32), is_float=True, flushes=False)
        yield f"{prefix}_class_f{width}", row
        for letter, always in (("f", "tru"), ("i", "t"), ("u", "t")):
            yield f"{prefix}_f_{letter}{width}", both(partial(_always, 0))
            yield f"{prefix}_{always}_{letter}{width}", both(partial(_always, 1))


# Two numbers in one register. Source: MI300 ISA 12.11, VOP3P


PACKED: Mapping[str, str] = MappingProxyType(
    {
        **{f"v_pk_{name}_f16": f"v_{name}_f16" for name in (
            "add", "mul", "fma", "min", "max", "min_num", "max_num", "minimum", "maximum",
            "minimum3", "maximum3")},
        **{f"v_pk_{name}_{type}16": f"v_{name}_{type}16"
            for name in ("add", "sub", "min", "max", "mad") for type in "iu"},
        **{f"v_pk_{name}": f"v_{name}" for name in (
            "mul_lo_u16", "lshlrev_b16", "lshrrev_b16", "ashrrev_i16", "add_f32", "mul_f32",
            "fma_f32")},
        "v_pk_mov_b32": "v_mov_b32",
        "v_pk_fmac_f16": "v_fmac_f16",
    }
)  # fmt: skip
"""The instruction of one half of each packed one."""


def _all() -> Iterator[_Entry]:
    for part in (
        _meanings, _vector_integers, _halves, _vector_floats, _floats_of_gfx12, _conversions,
        _scalar, _comparisons,
    ):  # fmt: skip
        yield from part()


_RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "v_ctz_i32_b32": "v_ffbl_b32", "v_clz_i32_u32": "v_ffbh_u32", "v_cls_i32": "v_ffbh_i32",
        "s_ctz_i32_b32": "s_ff1_i32_b32", "s_ctz_i32_b64": "s_ff1_i32_b64",
        "s_clz_i32_u32": "s_flbit_i32_b32", "s_clz_i32_u64": "s_flbit_i32_b64",
        "s_cls_i32": "s_flbit_i32",
        **{f"v_{name}_nc_{type}": f"v_{name}_{type}"
            for name in ("add", "sub") for type in ("i16", "u16", "i32")},
    }
)  # fmt: skip
"""Instructions that RDNA3 calls otherwise. Source: RDNA3 ISA 16."""


def _renamed() -> Iterator[_Entry]:
    for name, of in _RENAMED.items():
        yield name, replace(_FIRST_ROWS[of])


_FIRST_ROWS = unique(_all())
ROWS = unique(chain(_FIRST_ROWS.items(), _renamed(), _scalar_floats(_FIRST_ROWS)))
"""The computation of each instruction, by its mnemonic without encoding."""


# Read-modify-writes, which keep denormal numbers. Source: MI300 ISA 12.15 (LDS), 12.17 (flat,
# global); LLVM LangRef, atomicrmw


def _packed_sum(add: Binary, old: Term, data: Term) -> Term:
    """Two numbers of 16 bits, each by itself."""
    return add(low(old, 16), low(data, 16)) | add(old >> 16, data >> 16) << 16


def _sum_of_bf16(a: Term, b: Term) -> Term:
    """The sum in single precision, rounded to the nearest, of two the even one."""
    return _to_bf16(_on_numbers(_F[32], _added, a << 16, b << 16))


def _updates(width: int) -> Mapping[RmwKind, Formula]:
    t, k = _F[width], RmwKind
    return {
        k.XCHG: UPDATES["exch"], k.UINC_WRAP: UPDATES["inc"], k.UDEC_WRAP: UPDATES["dec"],
        k.AND: _BINARY[_K.AND], k.OR: _BINARY[_K.OR], k.XOR: _BINARY[_K.XOR],
        k.ADD: partial(_modulo, width, _added), k.SUB: partial(_modulo, width, _subtracted),
        k.MAX: partial(larger, _S[width]), k.MIN: partial(lesser, _S[width]),
        k.UMAX: partial(larger, _U[width]), k.UMIN: partial(lesser, _U[width]),
        k.FADD: partial(_on_numbers, t, _added), k.FMIN: partial(_extreme, t, True),
        k.FMAX: partial(_extreme, t, False),
    }  # fmt: skip


_UPDATES = {width: _updates(width) for width in (32, 64)}
_PACKED_SUMS: Mapping[str, Formula] = {
    "f": partial(_packed_sum, partial(_on_numbers, _F[16], _added)),
    "bf": partial(_packed_sum, _sum_of_bf16),
}


@cache
def update_of(name: AccessName) -> Formula | None:
    """The value that an atomic leaves, of the old one and its operands, of a compare-exchange
    the compared one first; None: there is no row."""
    if name.is_packed:
        return _PACKED_SUMS.get(name.letter)
    if name.rmw is not None:
        return _UPDATES[name.bits].get(name.rmw)
    if name.compares and name.is_float:
        return partial(_swapped_if_equal, _F[name.bits]) if name.path is Path.LDS else None
    if name.compares:
        return UPDATES["cas"]
    if name.verb == "mskor":
        return lambda old, clear, data: old & _inverted(name.bits, clear) | data
    return partial(_modulo, name.bits, _swapped(_subtracted)) if name.verb == "rsub" else None


def _swapped_if_equal(t: Element, old: Term, compare: Term, new: Term) -> Term:
    """Floating-point numbers, of which zeros are equal and NaNs are not."""
    return choose(t.number(old).equals(t.number(compare)), new, old)
