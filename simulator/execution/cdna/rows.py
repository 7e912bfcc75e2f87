"""The arithmetic of instructions on the values of lanes: a row for each, by mnemonic without
encoding.

A value is an array of ``uint64`` as in ``program``; its shape does not matter here. Those whose
meaning the memory model's threads have too are of ``instructions.amd``. Carries and conditions are
0 or 1 in each lane; where they go to and come from is not known here. Rows compute with denormal
numbers;
``without_denormals`` is the same for a kernel that does not keep those of single precision.
Source: MI300 ISA 12, CDNA4 ISA 12, instructions; LLVM AMDGPUUsage, AMDHSA Assembler Directives.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.execution.cdna import floats as fp
from fencewright.simulator.execution.cdna import integers as ints
from fencewright.simulator.execution.cdna.integers import Arithmetic, Binary, Ternary, Unary
from fencewright.simulator.execution.program import Values
from fencewright.simulator.execution.values import flags, float_bits, floats, low, mask, signed
from fencewright.simulator.semantics import amd
from fencewright.simulator.semantics.amd import MASK, MEANINGS, MeaningRow


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

    compute: Arithmetic
    sources: tuple[int, ...] = (32, 32)
    result: int = 32
    scc: Arithmetic | None = None
    is_float: bool = False
    tests_result: bool = False
    implicit: tuple[str, ...] = ()
    own: int | None = None
    flag: Arithmetic | None = None
    flushes: bool = True
    clamped: Arithmetic | None = None
    keeps_half: bool = False

    def without_denormals(self) -> "Row":
        """The same where denormal numbers of single precision are zeros, before and after."""
        if not self.is_float or not self.flushes or self.sources[0] != 32:
            return self
        compute = self.compute
        after = fp.flushed if self.result == 32 else same

        def computed(*operands: Values) -> Values:
            return after(compute(*map(fp.flushed, operands)))

        return replace(self, compute=computed)


_Entry = tuple[str, Row]
_ONE_32, _TWO, _THREE = (32,), (32, 32), (32, 32, 32)
_ADD, _SUB = ints.wrapping(np.add, 32), ints.wrapping(np.subtract, 32)
_MULTIPLY = ints.wrapping(np.multiply, 32)
_AND, _OR, _XOR = np.bitwise_and, np.bitwise_or, np.bitwise_xor
_SHIFTS = {
    bits: (
        ints.shift_left(bits), ints.shift_right(bits), ints.shift_signed(bits),
    )
    for bits in (16, 32, 64)
}  # fmt: skip


def _plain_product_and_sum(a: Values, b: Values, c: Values) -> Values:
    return a * b + c


_PRODUCT_AND_SUM: Callable[..., NDArray[Any]] = _plain_product_and_sum
"""Of numbers with or without signs."""


def same(value: Values) -> Values:
    """The value."""
    return value


def nonzero(value: Values) -> Values:
    """1 for every number but 0."""
    return flags(value != 0)


def chosen(flag: Values, a: Values, b: Values) -> Values:
    """``a`` where the flag is set, else ``b``."""
    return np.where(flag != 0, a, b)


def _chosen_last(a: Values, b: Values, flag: Values) -> Values:
    return chosen(flag, a, b)


def _selected(a: Values, b: Values, flag: Values) -> Values:
    return chosen(flag, b, a)


# Of meanings

_K = ArithmeticKind
_BITWISE = {_K.AND: _AND, _K.OR: _OR, _K.XOR: _XOR}
_RELATIONS = {_K.EQ: np.equal, _K.NE: np.not_equal, _K.LT: np.less, _K.LE: np.less_equal}
_EXTREMES = {_K.MIN: np.minimum, _K.MAX: np.maximum}


def _logic(logic: amd.Logic, bits: int) -> Binary:
    operation = _BITWISE[logic.kind]
    if not (logic.invert_a or logic.invert_b or logic.invert):
        return operation

    def computed(a: Values, b: Values) -> Values:
        found = operation(~a if logic.invert_a else a, ~b if logic.invert_b else b)
        return low(~found if logic.invert else found, bits)

    return computed


def _sum(name: str, sum: amd.Sum, of: MeaningRow) -> Row:
    is_scalar, adds = name.startswith("s_"), sum.kind is _K.ADD
    order = ints.swapped if sum.reverse else same_order
    implicit = ("scc",) if is_scalar and sum.takes else ()
    if sum.takes or (sum.carries and not is_scalar):
        value, carry = (ints.total, ints.carry_of_sum) if adds else (ints.rest, ints.borrow)
        after = _carrying(carry, reverse=sum.reverse)
        row = Row(_carrying(value, reverse=sum.reverse), of.sources, implicit=implicit)
        return replace(row, scc=after) if is_scalar else replace(row, flag=after)
    wide = np.add if adds else np.subtract
    compute = order(_ADD if adds else _SUB)
    if not is_scalar:
        clamped = ints.saturated(wide, 32, name.endswith("i32"))
        return Row(compute, clamped=_carrying(clamped, reverse=sum.reverse))
    scc = (ints.carry_of_sum if adds else ints.borrow) if sum.carries else ints.overflow(wide)
    return Row(compute, scc=scc)


def same_order(operation: Binary) -> Binary:
    """The operation."""
    return operation


def _carrying(operation: Arithmetic, *, reverse: bool) -> Arithmetic:
    def computed(a: Values, b: Values, *carry: Values) -> Values:
        return operation(b, a, *carry)

    return computed if reverse else operation


def _compare(compare: amd.Compare, bits: int) -> Binary:
    relation = _RELATIONS[compare.kind]
    order = ints.swapped if compare.swap else same_order
    if compare.signed and relation not in (np.equal, np.not_equal):
        return order(lambda a, b: flags(relation(signed(a, bits), signed(b, bits))))
    if bits == 16:
        return order(lambda a, b: flags(relation(low(a, 16), low(b, 16))))
    return order(lambda a, b: flags(relation(a, b)))


def _below(first: int) -> Ternary:
    def computed(bits: Values, more: Values, lane: Values) -> Values:
        below = (np.uint64(1) << lane) - np.uint64(1) >> np.uint64(first)
        return low(ints.count_ones(bits & below & mask(32)) + more, 32)

    return computed


def _of_meaning(name: str, of: MeaningRow) -> Row | None:
    """The row of a computation that each lane does by itself."""
    is_scalar, result = name.startswith("s_"), (of.results or (MASK,))[0]
    match of.meaning:
        case amd.Copy():
            return Row(same, of.sources, result)
        case amd.Logic():
            return Row(_logic(of.meaning, result), of.sources, result, tests_result=is_scalar)
        case amd.Sum():
            return _sum(name, of.meaning, of)
        case amd.Product():
            return Row(_MULTIPLY)
        case amd.Extreme(kind, is_signed):
            operation = _EXTREMES[kind]
            return Row(ints.ordered(operation, 32) if is_signed else operation)
        case amd.TakeBits(packed):
            field = ints.scalar_field(32, False) if packed else ints.vector_field(False)
            return Row(field, of.sources, tests_result=is_scalar)
        case amd.ShiftRight():
            return Row(_SHIFTS[32][1], tests_result=True)
        case amd.Compare():
            return Row(_compare(of.meaning, of.sources[0]), of.sources, MASK)
        case amd.Select() if is_scalar:
            return Row(_chosen_last, of.sources, result, implicit=("scc",))
        case amd.Select():
            return Row(_selected, of.sources, is_float=True, flushes=False)
        case amd.CountBits():
            return Row(ints.count_ones, of.sources, tests_result=True)
        case amd.CountLanesBelow(first):
            return Row(_below(first), implicit=("lane",))
        case amd.FirstLane() | amd.SaveExec():
            return None


def _meanings() -> Iterator[_Entry]:
    for name, meaning in MEANINGS.items():
        row = _of_meaning(name, meaning)
        if row is not None:
            yield name, row


def logic_of(meaning: amd.SaveExec, bits: int) -> Binary:
    """The mask that an instruction leaves in exec."""
    return _logic(meaning.logic, bits)


# Vector integers. Source: MI300 ISA 12.7, 12.8 and 12.10


def _to_i16(a: Values) -> Values:
    return low(np.asarray(signed(a, 32).clip(-(1 << 15), (1 << 15) - 1)).view(np.uint64), 16)


_VECTOR_UNARY: tuple[tuple[str, Unary], ...] = (
    ("not_b32", ints.inverse(32)), ("bfrev_b32", ints.turned(32)), ("ffbl_b32", ints.first_one),
    ("ffbh_u32", ints.leading_zeros(32)), ("ffbh_i32", ints.leading_signs),
)  # fmt: skip
_VECTOR_BINARY: tuple[tuple[str, Binary], ...] = (
    ("mul_hi_u32", ints.high_word(False)), ("mul_hi_i32", ints.high_word(True)),
    ("mul_u32_u24", ints.narrow(np.multiply, 24, False)),
    ("mul_i32_i24", ints.narrow(np.multiply, 24, True)),
    ("mul_hi_u32_u24", lambda a, b: low(a, 24) * low(b, 24) >> np.uint64(32)),
    ("mul_hi_i32_i24", lambda a, b: low(
        np.asarray(signed(a, 24) * signed(b, 24) >> np.int64(32)).view(np.uint64), 32)),
    ("bcnt_u32_b32", lambda a, b: low(ints.count_ones(a) + b, 32)),
    ("bfm_b32", lambda a, b: ints.ones(a, b, 32)),
    ("cvt_pk_u16_u32", lambda a,
     b: np.minimum(a, mask(16)) | np.minimum(b, mask(16)) << np.uint64(16)),
    ("cvt_pk_i16_i32", lambda a, b: _to_i16(a) | _to_i16(b) << np.uint64(16)),
)  # fmt: skip


_VECTOR_TERNARY: tuple[tuple[str, Ternary], ...] = (
    ("bfe_i32", ints.vector_field(True)), ("bfi_b32", ints.insert),
    ("alignbit_b32", ints.aligned(1)), ("alignbyte_b32", ints.aligned(8)),
    ("perm_b32", ints.permuted),
    ("lshl_add_u32", ints.then(_SHIFTS[32][0], np.add)),
    ("add_lshl_u32", ints.then(np.add, _SHIFTS[32][0])),
    ("lshl_or_b32", ints.then(_SHIFTS[32][0], _OR)), ("and_or_b32", ints.then(_AND, _OR)),
    ("or3_b32", ints.then(_OR, _OR)), ("add3_u32", ints.then(np.add, np.add)),
    ("xad_u32", ints.then(_XOR, np.add)),
    ("mad_u32_u24", lambda a, b, c: low(low(a, 24) * low(b, 24) + c, 32)),
    ("mad_i32_i24", ints.narrow(_PRODUCT_AND_SUM, 24, True)),
    ("sad_u8", ints.distance(8)), ("msad_u8", ints.distance(8, is_masked=True)),
    ("xor3_b32", lambda a, b, c: a ^ b ^ c),
    ("sad_u16", ints.distance(16)), ("sad_u32", ints.distance(32)),
    ("sad_hi_u8", lambda a, b, c: low(
        (ints.distance(8)(a, b, np.zeros_like(c)) << np.uint64(16)) + c, 32)),
    ("lerp_u8", ints.mean_of_bytes),
    ("dot4_i32_i8", ints.dot(8, True)), ("dot4_u32_u8", ints.dot(8, False)),
    ("dot8_i32_i4", ints.dot(4, True)), ("dot8_u32_u4", ints.dot(4, False)),
    ("dot2_i32_i16", ints.dot(16, True)), ("dot2_u32_u16", ints.dot(16, False)),
)  # fmt: skip


def _vector_integers() -> Iterator[_Entry]:
    for name in ("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"):
        yield name, Row(same, _ONE_32)
    for table, sources in (
        (_VECTOR_UNARY, _ONE_32), (_VECTOR_BINARY, _TWO), (_VECTOR_TERNARY, _THREE),
    ):  # fmt: skip
        for name, operation in table:
            yield f"v_{name}", Row(operation, sources)
    for name, size, is_signed in (
        ("dot4c_i32_i8", 8, True),
        ("dot8c_i32_i4", 4, True),
        ("dot2c_i32_i16", 16, True),
    ):
        yield f"v_{name}", Row(ints.dot(size, is_signed), _THREE, own=-1)
    for type in "iu":
        least, most = (
            ints.ordered(each, 32) if type == "i" else each for each in (np.minimum, np.maximum)
        )
        yield f"v_min3_{type}32", Row(ints.then(least, least), _THREE)
        yield f"v_max3_{type}32", Row(ints.then(most, most), _THREE)
        yield f"v_maxmin_{type}32", Row(ints.then(most, least), _THREE)
        yield f"v_minmax_{type}32", Row(ints.then(least, most), _THREE)
        yield f"v_med3_{type}32", Row(ints.middle(least, most), _THREE)
        wide = f"v_mad_{type}64_{type}32"
        product = ints.wide_product(type == "i")
        yield wide, Row(product, (32, 32, 64), 64, flag=_carry_of_product(product, type == "i"))
    for bits in (16, 32, 64):
        names = (f"v_lshlrev_b{bits}", f"v_lshrrev_b{bits}", f"v_ashrrev_i{bits}")
        for name, shift in zip(names, _SHIFTS[bits], strict=True):
            narrow = ints.narrow(shift, bits, False) if bits == 16 else shift
            yield name, Row(ints.swapped(narrow), (min(bits, 32), bits), bits)
    yield (
        "v_lshl_add_u64",
        Row(ints.ternary(lambda a, b, c: (a << (b & mask(3))) + c), (64, 32, 64), 64),
    )


def _carry_of_product(product: Ternary, is_signed: bool) -> Ternary:
    if is_signed:
        return partial(_overflow_of_product, product)
    return lambda a, b, c: flags(product(a, b, c) < c)


def _overflow_of_product(product: Ternary, a: Values, b: Values, c: Values) -> Values:
    """A sum of numbers with signs overflows where both have another sign than it."""
    found = product(a, b, c)
    return ((found ^ c) & (found ^ (found - c))) >> np.uint64(63)


def _halves() -> Iterator[_Entry]:
    """Integers of 16 bits."""
    for name, operation in (("add", np.add), ("sub", np.subtract), ("mul_lo", np.multiply)):
        narrow = ints.narrow(ints.wrapping(operation, 16), 16, False)
        for type in "iu":
            clamped = ints.saturated(operation, 16, type == "i")
            row = Row(narrow, (16, 16), 16, clamped=clamped, keeps_half=type == "i")
            yield f"v_{name}_{type}16", row
            if name == "sub":
                reverse = replace(
                    row, compute=ints.swapped(narrow), clamped=_carrying(clamped, reverse=True)
                )
                yield f"v_subrev_{type}16", reverse
    for name, operation in (("min", np.minimum), ("max", np.maximum)):
        yield f"v_{name}_u16", Row(ints.narrow(operation, 16, False), (16, 16), 16)
        yield f"v_{name}_i16", Row(ints.ordered(operation, 16), (16, 16), 16)
    for name, logic in (("and", _AND), ("or", _OR), ("xor", _XOR)):
        yield f"v_{name}_b16", Row(logic, (16, 16), 16)
    yield "v_mov_b16", Row(same, (16,), 16)
    yield "v_not_b16", Row(ints.inverse(16), (16,), 16)
    yield "v_cndmask_b16", Row(_selected, (16, 16, MASK), 16)
    three = (16, 16, 16)
    for type in "iu":
        least, most = (
            ints.ordered(each, 16) if type == "i" else ints.narrow(each, 16, False)
            for each in (np.minimum, np.maximum)
        )
        clamped = ints.saturated(_PRODUCT_AND_SUM, 16, type == "i")
        row = Row(ints.ternary(lambda a, b, c: low(a * b + c, 16)), three, 16, clamped=clamped)
        yield f"v_mad_{type}16", replace(row, keeps_half=True)
        yield f"v_mad_legacy_{type}16", row
        yield f"v_min3_{type}16", Row(ints.then(least, least, 16), three, 16, keeps_half=True)
        yield f"v_max3_{type}16", Row(ints.then(most, most, 16), three, 16, keeps_half=True)
        yield f"v_med3_{type}16", Row(ints.middle(least, most), three, 16, keeps_half=True)


# Floating point. Source: MI300 ISA 12.7, 12.8 and 12.10; 4.6 for NaNs

_ROUNDINGS = (("trunc", np.trunc), ("floor", np.floor), ("ceil", np.ceil), ("rndne", np.rint))
_APPROXIMATIONS = (
    ("rcp", np.reciprocal), ("rsq", fp.reciprocal_root), ("sqrt", np.sqrt), ("exp", np.exp2),
    ("log", np.log2), ("sin", fp.turns(np.sin)), ("cos", fp.turns(np.cos)),
)  # fmt: skip
_DOUBLE = frozenset({"rcp", "rsq", "sqrt"})
"""The approximations that there are in double precision."""


def _vector_floats() -> Iterator[_Entry]:
    for bits in (16, 32, 64):
        one, two, three = (bits,), (bits, bits), (bits, bits, bits)
        least, most = fp.of_bits(fp.minimum, bits), fp.of_bits(fp.maximum, bits)
        add, subtract = fp.of_bits(fp.added, bits), fp.difference(bits)
        multiply: Binary = fp.multiplied_by(bits)
        row = partial(Row, result=bits, is_float=True)
        for name, operation in (
            ("add", add), ("sub", subtract), ("subrev", ints.swapped(subtract)),
            ("mul", multiply), ("min", least), ("max", most),
        ):  # fmt: skip
            yield f"v_{name}_f{bits}", row(operation, two)
        fused = row(fp.fused(bits), three)
        yield f"v_fma_f{bits}", replace(fused, keeps_half=True)
        yield f"v_fmac_f{bits}", replace(fused, own=-1)
        for name, operation in (
            ("min3", ints.then(least, least, bits)), ("max3", ints.then(most, most, bits)),
            ("maxmin", ints.then(most, least, bits)), ("minmax", ints.then(least, most, bits)),
            ("med3", ints.middle(least, most)),
        ):  # fmt: skip
            yield f"v_{name}_f{bits}", row(operation, three, keeps_half=True)
        for name, function in (*_ROUNDINGS, *_APPROXIMATIONS):
            if bits < 64 or name in _DOUBLE or (name, function) in _ROUNDINGS:
                yield f"v_{name}_f{bits}", row(fp.on_numbers(function, bits), one)
        yield f"v_fract_f{bits}", row(fp.fraction(bits), one)
        yield f"v_frexp_mant_f{bits}", row(fp.fraction_of(bits), one)
        size = 16 if bits == 16 else 32
        powers = row(fp.exponent_of(bits), one)
        yield f"v_frexp_exp_i{size}_f{bits}", replace(powers, result=size, flushes=False)
        yield f"v_ldexp_f{bits}", row(fp.load_exponent(bits), (bits, size), flushes=False)
        yield f"v_div_fixup_f{bits}", row(fp.division_fixup(bits), three, keeps_half=True)
        if bits > 16:
            scale = row(fp.division_scale(bits), three, flag=fp.division_flag(bits))
            yield f"v_div_scale_f{bits}", replace(scale, flushes=False)
            step = row(fp.division_step(bits), three, implicit=("vcc",))
            yield f"v_div_fmas_f{bits}", replace(step, flushes=False)
        if bits < 64:
            # Two roundings. Source: MI200 ISA 12, V_MAD_F32 and V_MAC_F32.
            mad = _product_and_sum(multiply, add)
            yield f"v_mad_f{bits}", row(mad, three)
            yield f"v_mac_f{bits}", row(mad, three, own=-1)
            for name, compute in (("fma", fused.compute), ("mad", mad)):
                yield f"v_{name}ak_f{bits}", row(compute, three)
                yield f"v_{name}mk_f{bits}", row(compute, three)
    multiply = fp.product_of_legacy(fp.multiplied_by(32))
    yield "v_mul_legacy_f32", Row(multiply, _TWO, is_float=True)
    yield "v_rcp_iflag_f32", Row(fp.on_numbers(np.reciprocal, 32), _ONE_32, is_float=True)


def _product_and_sum(multiply: Binary, add: Binary) -> Ternary:
    return lambda a, b, c: add(multiply(a, b), c)


def _half_up(number: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.floor(number + 0.5)


def _of_byte(first: np.uint64, a: Values) -> Values:
    return float_bits((a >> first & mask(8)).astype(np.float64), 32)


def _of_integer(bits: int, is_signed: bool, size: int = 32) -> Unary:
    def computed(a: Values) -> Values:
        number = signed(a, size) if is_signed else low(a, size)
        return float_bits(np.asarray(number).astype(np.float64), bits)

    return computed


def _to_integer(bits: int, is_signed: bool, size: int = 32) -> Unary:
    least, most = (-(1 << size - 1), (1 << size - 1) - 1) if is_signed else (0, (1 << size) - 1)

    def computed(a: Values) -> Values:
        number = np.where(fp.is_nan(a, bits), 0.0, np.trunc(floats(a, bits).astype(np.float64)))
        return low(np.asarray(number.clip(least, most).astype(np.int64)).view(np.uint64), size)

    return computed


def _pair(half: Unary) -> Binary:
    return lambda a, b: low(half(a), 16) | low(half(b), 16) << np.uint64(16)


def _conversions() -> Iterator[_Entry]:
    single = partial(Row, sources=_ONE_32, is_float=True, flushes=False)
    for type, is_signed in (("i32", True), ("u32", False)):
        for bits in (32, 64):
            yield f"v_cvt_f{bits}_{type}", Row(_of_integer(bits, is_signed), _ONE_32, bits)
            yield (
                f"v_cvt_{type}_f{bits}",
                Row(_to_integer(bits, is_signed), (bits,), is_float=True, flushes=False),
            )
        short = type.replace("32", "16")
        yield f"v_cvt_f16_{short}", Row(_of_integer(16, is_signed, 16), (16,), 16)
        yield f"v_cvt_{short}_f16", Row(_to_integer(16, is_signed, 16), (16,), 16, is_float=True)
        for bits in (16, 32):
            half = fp.normalised(bits, is_signed=is_signed)
            pair = Row(_pair(half), (bits, bits), is_float=True, flushes=False)
            yield f"v_cvt_pknorm_{short}_f{bits}", pair
        half = fp.normalised(16, is_signed=is_signed)
        yield f"v_cvt_norm_{short}_f16", Row(half, (16,), 16, is_float=True)
    for bits, to in ((32, 16), (16, 32), (32, 64), (64, 32)):
        yield f"v_cvt_f{to}_f{bits}", Row(fp.converted(bits, to), (bits,), to, is_float=True)
    for n in range(4):
        yield f"v_cvt_f32_ubyte{n}", Row(partial(_of_byte, np.uint64(8 * n)), _ONE_32)
    yield "v_cvt_flr_i32_f32", single(fp.rounded_to_integer(np.floor))
    yield "v_cvt_rpi_i32_f32", single(fp.rounded_to_integer(_half_up))
    for name, half in (
        ("pkrtz_f16", fp.narrowed_towards_zero), ("pk_f16", fp.converted(32, 16)),
        ("pk_bf16", fp.to_bf16),
    ):  # fmt: skip
        yield f"v_cvt_{name}_f32", Row(_pair(half), is_float=True, flushes=False)
    yield "v_cvt_f32_bf16", Row(fp.of_bf16, (16,))
    yield "v_cvt_pk_u8_f32", Row(fp.to_byte, _THREE, is_float=True, flushes=False)
    yield "v_pack_b32_f16", Row(_pair(same), (16, 16), is_float=True)


# Scalar. Source: MI300 ISA 12.1 to 12.4

_WIDE_EXTENDED = ints.extended(16)


def _scalar() -> Iterator[_Entry]:
    for bits in (32, 64):
        one, shifts = (bits,), (bits, 32)
        left, right, arithmetic = _SHIFTS[bits]
        for name, operation in (
            (f"lshl_b{bits}", left), (f"lshr_b{bits}", right), (f"ashr_i{bits}", arithmetic),
            (f"bfe_u{bits}", ints.scalar_field(bits, False)),
            (f"bfe_i{bits}", ints.scalar_field(bits, True)),
        ):  # fmt: skip
            if f"s_{name}" not in MEANINGS:
                yield f"s_{name}", Row(operation, shifts, bits, tests_result=True)
        yield f"s_bfm_b{bits}", Row(partial(ints.ones, bits=bits), result=bits)
        yield f"s_not_b{bits}", Row(ints.inverse(bits), one, bits, tests_result=True)
        yield f"s_brev_b{bits}", Row(ints.turned(bits), one, bits)
        yield f"s_ff1_i32_b{bits}", Row(ints.first_one, one)
        yield f"s_ff0_i32_b{bits}", Row(_after(ints.inverse(bits), ints.first_one), one)
        yield f"s_flbit_i32_b{bits}", Row(ints.leading_zeros(bits), one)
        zeros: Unary = _after(ints.inverse(bits), ints.count_ones)
        yield f"s_bcnt0_i32_b{bits}", Row(zeros, one, tests_result=True)
        for name, fills in (("quadmask", False), ("wqm", True)):
            groups = partial(ints.groups_of_bits, size=4, bits=bits, fills=fills)
            yield f"s_{name}_b{bits}", Row(groups, one, bits, tests_result=True)
        for sets in (False, True):
            row = Row(_bit_set(bits, sets), (bits, 32), bits, own=0)
            yield f"s_bitset{int(sets)}_b{bits}", row
            yield f"s_bitcmp{int(sets)}_b{bits}", Row(_bit_is(bits, sets), (bits, 32), MASK)
        moved = Row(_chosen_last, (bits, bits), bits, implicit=("scc",), own=-1)
        yield f"s_cmov_b{bits}", moved
    constant: Ternary = _of_first(_WIDE_EXTENDED, _chosen_last)
    yield "s_cmovk_i32", Row(constant, implicit=("scc",), own=-1)
    for name, (kind, swap) in amd.RELATIONS.items():
        own = "lg" if name == "ne" else name
        for type in "iu":
            compare = _compare(amd.Compare(kind, type == "i", swap), 32)
            yield f"s_cmpk_{own}_{type}32", Row(_with_constant(compare, type == "i"), result=MASK)
    yield "s_flbit_i32", Row(ints.leading_signs, _ONE_32)
    yield "s_flbit_i32_i64", Row(_leading_signs_64, (64,))
    yield "s_bitreplicate_b64_b32", Row(ints.doubled, _ONE_32, 64)
    yield "s_movk_i32", Row(_WIDE_EXTENDED, _ONE_32)
    yield "s_sext_i32_i8", Row(ints.extended(8), _ONE_32)
    yield "s_sext_i32_i16", Row(_WIDE_EXTENDED, _ONE_32)
    yield "s_abs_i32", Row(ints.absolute, _ONE_32, tests_result=True)
    yield "s_absdiff_i32", Row(ints.difference_of, tests_result=True)
    added = ints.overflow(np.add)
    add = Row(_with_constant(_ADD, True), scc=_with_constant(added, True), own=0)
    yield "s_addk_i32", add
    yield "s_mulk_i32", Row(_with_constant(_MULTIPLY, True), own=0)
    for name, operation, precedes in (
        ("min", np.minimum, np.less), ("max", np.maximum, np.greater),
    ):  # fmt: skip
        yield f"s_{name}_u32", Row(operation, scc=partial(_holds, precedes, same))
        before = partial(_holds, precedes, partial(signed, bits=32))
        yield f"s_{name}_i32", Row(ints.ordered(operation, 32), scc=before)
    yield "s_mul_hi_u32", Row(ints.high_word(False))
    yield "s_mul_hi_i32", Row(ints.high_word(True))
    for amount in range(1, 5):
        carry = partial(_carry_of_shift, np.uint64(amount))
        yield f"s_lshl{amount}_add_u32", Row(ints.shift_left_by(amount), scc=carry)
    for name, low_up, high_up in (("ll", 0, 0), ("lh", 0, 16), ("hh", 16, 16)):
        yield f"s_pack_{name}_b32_b16", Row(partial(_packed, np.uint64(low_up), np.uint64(high_up)))


def _holds(relation: Binary, number: Callable[..., NDArray[Any]], a: Values, b: Values) -> Values:
    return flags(np.asarray(relation(number(a), number(b)), dtype=np.bool_))


def _carry_of_shift(amount: np.uint64, a: Values, b: Values) -> Values:
    return nonzero(((a << amount) + b) >> np.uint64(32))


def _packed(first: np.uint64, second: np.uint64, a: Values, b: Values) -> Values:
    return (a >> first & mask(16)) | (b >> second & mask(16)) << np.uint64(16)


def _of_first(first: Unary, operation: Ternary) -> Ternary:
    return lambda a, b, c: operation(first(a), b, c)


def _after(first: Unary, second: Unary) -> Unary:
    return lambda a: second(first(a))


def _with_constant(operation: Binary, is_signed: bool) -> Binary:
    """Of a constant of 16 bits, which is extended. Source: MI300 ISA 12.2, SOPK."""
    extended: Callable[[Values], Values] = _WIDE_EXTENDED if is_signed else partial(low, bits=16)
    return lambda a, b: operation(a, extended(b))


def _leading_signs_64(a: Values) -> Values:
    return ints.leading_zeros(64)(np.where(a >> np.uint64(63) != 0, ~a, a))


def _bit_set(bits: int, sets: bool) -> Binary:
    def computed(old: Values, place: Values) -> Values:
        bit = np.uint64(1) << (place & np.uint64(bits - 1))
        return old | bit if sets else old & ~bit

    return computed


def _bit_is(bits: int, wanted: bool) -> Binary:
    return lambda a, b: flags(a >> (b & np.uint64(bits - 1)) & np.uint64(1) == np.uint64(wanted))


# Comparisons of floating-point numbers. Source: MI300 ISA 12.9

_FLOAT_RELATIONS: Mapping[str, tuple[Callable[..., NDArray[Any]], bool]] = MappingProxyType(
    {
        "lt": (np.less, False), "eq": (np.equal, False), "le": (np.less_equal, False),
        "gt": (np.greater, False), "lg": (np.not_equal, False), "ge": (np.greater_equal, False),
        "nge": (np.less, True), "nlg": (np.equal, True), "ngt": (np.less_equal, True),
        "nle": (np.greater, True), "neq": (np.not_equal, True), "nlt": (np.greater_equal, True),
    }
)  # fmt: skip
"""Relations, and whether they also hold of a NaN."""


def _float_comparison(name: str, bits: int) -> Binary:
    relation, of_nan = _FLOAT_RELATIONS[name]

    def computed(a: Values, b: Values) -> Values:
        unordered = fp.is_nan(a, bits) | fp.is_nan(b, bits)
        found = relation(floats(a, bits), floats(b, bits))
        return flags(unordered | found if of_nan else ~unordered & found)

    return computed


def _ordered(bits: int, wanted: bool) -> Binary:
    return lambda a, b: flags((fp.is_nan(a, bits) | fp.is_nan(b, bits)) != wanted)


def _always(value: int) -> Binary:
    return lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape), value, dtype=np.uint64)


def _comparisons() -> Iterator[_Entry]:
    for prefix in ("v_cmp", "v_cmpx"):
        for bits in (16, 32, 64):
            both = partial(Row, sources=(bits, bits), result=MASK)
            for name in _FLOAT_RELATIONS:
                yield f"{prefix}_{name}_f{bits}", both(_float_comparison(name, bits), is_float=True)
            yield f"{prefix}_o_f{bits}", both(_ordered(bits, True), is_float=True, flushes=False)
            yield f"{prefix}_u_f{bits}", both(_ordered(bits, False), is_float=True, flushes=False)
            classes = partial(fp.classes, bits=bits)
            row = Row(classes, (bits, 32), MASK, is_float=True, flushes=False)
            yield f"{prefix}_class_f{bits}", row
            for type, always in (("f", "tru"), ("i", "t"), ("u", "t")):
                yield f"{prefix}_f_{type}{bits}", both(_always(0))
                yield f"{prefix}_{always}_{type}{bits}", both(_always(1))


# Two numbers in one register. Source: MI300 ISA 12.11, VOP3P


PACKED: Mapping[str, str] = MappingProxyType(
    {
        **{f"v_pk_{name}_f16": f"v_{name}_f16" for name in ("add", "mul", "fma", "min", "max")},
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


def _unique(rows: Iterator[_Entry]) -> Mapping[str, Row]:
    found: dict[str, Row] = {}
    for name, row in rows:
        if found.setdefault(name, row) is not row:
            raise AssertionError(f"two rows for {name}")
    return MappingProxyType(found)


def _all() -> Iterator[_Entry]:
    for part in (
        _meanings, _vector_integers, _halves, _vector_floats, _conversions, _scalar, _comparisons,
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


_FIRST_ROWS = _unique(_all())
ROWS = _unique(chain(_FIRST_ROWS.items(), _renamed()))
"""The computation of each instruction, by its mnemonic without encoding."""
