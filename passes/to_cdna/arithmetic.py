"""Integer arithmetic of ``arith`` as CDNA instructions: a row for each operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import RmwKind
from fencewright.mlir_dialects.cdna import VGPR, VGPR_PAIR
from fencewright.passes.kernels.accept import float_bits, unsupported
from fencewright.passes.to_cdna.builder import ADD_64, CdnaBuilder, bits_of, register_type

if TYPE_CHECKING:
    from xdsl.dialects import arith

Convert = Callable[[CdnaBuilder, Operation, tuple[SSAValue, ...]], SSAValue]
"""Builds the replacement of an operation's result, from those of its operands."""


@dataclass(frozen=True, slots=True)
class CdnaBinaryRow:
    """The instruction for lane masks, 32 and 64 bits; empty where there is none.

    ``wide`` lists instructions best first. ``extend`` says what bits above the width an
    operand of less than 32 bits needs: none, zeros (``zero``) or copies of its sign (``sign``).
    """

    mask: str
    single: str
    wide: tuple[str, ...]
    extend: str = ""
    is_shift: bool = False


_BINARY: Mapping[str, CdnaBinaryRow] = MappingProxyType(
    {
        "arith.addi": CdnaBinaryRow("s_xor_b64", "v_add_u32_e32", ADD_64),
        "arith.subi": CdnaBinaryRow("s_xor_b64", "v_sub_u32_e32", ("v_sub_u64",)),
        "arith.muli": CdnaBinaryRow("s_and_b64", "v_mul_lo_u32", ("v_mul_u64",)),
        "arith.andi": CdnaBinaryRow("s_and_b64", "v_and_b32_e32", ("v_and_b64",)),
        "arith.ori": CdnaBinaryRow("s_or_b64", "v_or_b32_e32", ("v_or_b64",)),
        "arith.xori": CdnaBinaryRow("s_xor_b64", "v_xor_b32_e32", ("v_xor_b64",)),
        "arith.shli": CdnaBinaryRow("", "v_lshlrev_b32_e32", ("v_lshlrev_b64",), "", True),
        "arith.shrui": CdnaBinaryRow("", "v_lshrrev_b32_e32", ("v_lshrrev_b64",), "zero", True),
        "arith.shrsi": CdnaBinaryRow("", "v_ashrrev_i32_e32", ("v_ashrrev_i64",), "sign", True),
        "arith.minui": CdnaBinaryRow("", "v_min_u32_e32", (), "zero"),
        "arith.maxui": CdnaBinaryRow("", "v_max_u32_e32", (), "zero"),
        "arith.minsi": CdnaBinaryRow("", "v_min_i32_e32", (), "sign"),
        "arith.maxsi": CdnaBinaryRow("", "v_max_i32_e32", (), "sign"),
    }
)

# cmpi's predicates in the order of their numbers: name, signedness, instruction for masks.
_PREDICATES = (
    ("eq", "u", "s_xnor_b64"),
    ("ne", "u", "s_xor_b64"),
    ("lt", "i", ""),
    ("le", "i", ""),
    ("gt", "i", ""),
    ("ge", "i", ""),
    ("lt", "u", ""),
    ("le", "u", ""),
    ("gt", "u", ""),
    ("ge", "u", ""),
)


def integer_width(op: Operation, value: SSAValue) -> int:
    """The width of an integer operand; an error at ``op`` unless it has up to 32 bits or 64."""
    bits = bits_of(value.type)
    if bits is None or (bits > 32 and bits != 64):
        unsupported(op, f"'{op.name}' on {value.type} is not supported on the CDNA path")
    return bits


def _extend(build: CdnaBuilder, how: str, value: SSAValue, bits: int) -> SSAValue:
    if not how or bits >= 32:
        return value
    extend = build.zero_extend if how == "zero" else build.sign_extend
    return extend(value, bits, 32)


def _binary(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    row = _BINARY[op.name]
    bits = integer_width(op, op.operands[0])
    a, b = operands
    if bits == 1:
        if not row.mask:
            unsupported(op, f"'{op.name}' on i1 is not supported on the CDNA path")
        return build.alu(row.mask, a, b, type=build.mask)
    if bits == 64:
        if not row.wide:
            unsupported(op, f"'{op.name}' on i64 is not supported on the CDNA path")
        b = build.low(b) if row.is_shift else b
        return build.alu(build.choose(row.wide), a, b, type=VGPR_PAIR)
    a = _extend(build, row.extend, a, bits)
    b = _extend(build, "zero" if row.is_shift else row.extend, b, bits)
    return build.alu(row.single, a, b)


def _compare(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    number = cast("arith.CmpiOp", op).predicate.value.data
    name, signedness, mask = _PREDICATES[number]
    bits = integer_width(op, op.operands[0])
    a, b = operands
    if bits == 1:
        if not mask:
            unsupported(op, "i1 compares with eq and ne only on the CDNA path")
        return build.alu(mask, a, b, type=build.mask)
    how = "sign" if signedness == "i" else "zero"
    a, b = (_extend(build, how, each, bits) for each in (a, b))
    return build.compare(name, signedness, max(bits, 32), a, b)


def _select(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    integer_width(op, op.operands[1])
    return build.select(*operands)


def _constant(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    value = cast("arith.ConstantOp", op).value
    type = register_type(build.chip, op.results[0].type)
    if type is None or type.size.data > 2:
        unsupported(op, f"a constant of {op.results[0].type} is not supported on the CDNA path")
    if isinstance(value, FloatAttr):
        return build.const(float_bits(value), type)
    if not isinstance(value, IntegerAttr):
        unsupported(op, f"the constant {value} is not supported on the CDNA path")
    number = value.value.data
    if type == build.mask:
        number = -1 if number else 0
    return build.const(number, type)


def _zero_extend(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    return _resize(build, op, operands[0], build.zero_extend)


def _sign_extend(build: CdnaBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    return _resize(build, op, operands[0], build.sign_extend)


def _resize(
    build: CdnaBuilder,
    op: Operation,
    value: SSAValue,
    extend: Callable[[SSAValue, int, int], SSAValue],
) -> SSAValue:
    bits = integer_width(op, op.operands[0])
    to = integer_width(op, op.results[0])
    if to < bits:
        return build.truncate(value, to)
    return value if to == bits else extend(value, bits, to)


ARITHMETIC: Mapping[str, Convert] = MappingProxyType(
    {
        **dict.fromkeys(_BINARY, _binary),
        "arith.constant": _constant,
        "arith.cmpi": _compare,
        "arith.select": _select,
        "arith.extui": _zero_extend,
        "arith.extsi": _sign_extend,
        "arith.trunci": _zero_extend,
        "arith.index_cast": _sign_extend,
    }
)
"""The converter of each operation of ``arith`` that the CDNA path accepts."""


# The result of a read-modify-write on private memory that is no instruction: (32, 64 bits).
_RMW: Mapping[RmwKind, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        RmwKind.ADD: (("v_add_u32_e32",), ADD_64),
        RmwKind.SUB: (("v_sub_u32_e32",), ("v_sub_u64",)),
        RmwKind.AND: (("v_and_b32_e32",), ("v_and_b64",)),
        RmwKind.OR: (("v_or_b32_e32",), ("v_or_b64",)),
        RmwKind.XOR: (("v_xor_b32_e32",), ("v_xor_b64",)),
        RmwKind.FADD: (("v_add_f32_e32",), ("v_add_f64",)),
        RmwKind.FSUB: (("v_sub_f32_e32",), ("v_sub_f64",)),
        RmwKind.FMIN: (("v_min_f32_e32",), ("v_min_f64",)),
        RmwKind.FMAX: (("v_max_f32_e32",), ("v_max_f64",)),
    }
)
_RMW_CHOICE: Mapping[RmwKind, tuple[str, str]] = MappingProxyType(
    {
        RmwKind.MAX: ("gt", "i"),
        RmwKind.MIN: ("lt", "i"),
        RmwKind.UMAX: ("gt", "u"),
        RmwKind.UMIN: ("lt", "u"),
    }
)


def combine(
    build: CdnaBuilder, kind: RmwKind, old: SSAValue, data: SSAValue, width: int
) -> SSAValue:
    """The value that a read-modify-write of 32 or 64 bits stores. Source: LLVM LangRef,
    "atomicrmw".
    """
    type = VGPR if width == 32 else VGPR_PAIR
    if kind is RmwKind.XCHG:
        return data
    if kind in _RMW:
        return build.alu(build.choose(_RMW[kind][width == 64]), old, data, type=type)
    if kind in _RMW_CHOICE:
        predicate, signedness = _RMW_CHOICE[kind]
        return build.select(build.compare(predicate, signedness, width, old, data), old, data)
    ones, zero = build.const(-1, type), build.const(0, type)
    if kind is RmwKind.NAND:
        both = combine(build, RmwKind.AND, old, data, width)
        return combine(build, RmwKind.XOR, both, ones, width)
    if kind is RmwKind.UINC_WRAP:
        next_value = combine(build, RmwKind.SUB, old, ones, width)
        return build.select(build.compare("ge", "u", width, old, data), zero, next_value)
    assert kind is RmwKind.UDEC_WRAP, kind
    is_zero = build.compare("eq", "u", width, old, zero)
    is_above = build.compare("gt", "u", width, old, data)
    wraps = build.alu("s_or_b64", is_zero, is_above, type=build.mask)
    return build.select(wraps, data, build.add(old, ones))
