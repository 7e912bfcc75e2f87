"""Arithmetic of ``arith`` and ``math`` as PTX instructions: a row for each operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ArrayAttr, BFloat16Type, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fencewright.lowering.ptx.instructions import RegisterClass, register_for
from fencewright.mlir_dialects import ptx
from fencewright.mlir_dialects.attributes import count_attr, opcode_attr
from fencewright.passes.kernels import accept as kernel_frontend
from fencewright.passes.kernels.accept import float_bits, unsupported

if TYPE_CHECKING:
    from xdsl.dialects import arith

PATH = "PTX"
"""The name of this path in errors."""

POINTER_BITS = 64
"""The width of every address. Source: PTX ISA, .address_size; LLVM NVPTX without short pointers."""


@cache
def bits_of(type: Attribute) -> int | None:
    """The width in bits of a value; None for a type that registers do not hold."""
    return kernel_frontend.bits_of(type, lambda _: POINTER_BITS)


@cache
def register_type(type: Attribute) -> ptx.RegisterType | None:
    """The register that holds a value; None if there is none."""
    bits = bits_of(type)
    register = None if bits is None or (bits > 64 and bits != 128) else register_for(bits)
    return None if register is None else ptx.REGISTER_TYPES[register]


class PtxBuilder:
    """Appends operations to ``block``; every method returns the new value.

    An integer of fewer bits than its register has undefined bits above.
    """

    __slots__ = ("block",)

    def __init__(self, block: Block):
        self.block = block

    def alu(self, mnemonic: str, *operands: SSAValue, type: ptx.RegisterType) -> SSAValue:
        """An arithmetic instruction."""
        op = ptx.AluOp.create(
            operands=operands, result_types=(type,), properties={"opcode": opcode_attr(mnemonic)}
        )
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: int, type: ptx.RegisterType) -> SSAValue:
        """A constant; of a predicate 0 or 1."""
        op = ptx.ConstOp.create(result_types=(type,), properties={"value": count_attr(value)})
        self.block.add_op(op)
        return op.results[0]

    def sequence(
        self, lines: Sequence[str], places: Mapping[str, SSAValue], type: ptx.RegisterType
    ) -> SSAValue:
        """Instructions with names in braces that stay together, as in ``SequenceOp``."""
        op = ptx.SequenceOp.create(
            operands=tuple(places.values()),
            result_types=(type,),
            properties={
                "places": ArrayAttr([StringAttr(place) for place in places]),
                "lines": ptx.LinesAttr.read(lines),
            },
        )
        self.block.add_op(op)
        return op.results[0]

    def extend(self, value: SSAValue, bits: int, to: RegisterClass, letter: str) -> SSAValue:
        """An integer of ``bits`` in all bits of a register; ``letter`` s: signed, u: unsigned."""
        type = ptx.REGISTER_TYPES[to]
        if bits == 1:
            ones = self.const(-1 if letter == "s" else 1, type)
            return self.alu(f"selp.b{to.bits}", ones, self.const(0, type), value, type=type)
        if bits not in _TYPED:
            value = self.resize(value, RegisterClass.B32)
            field = (self.const(0, ptx.B32), self.const(bits, ptx.B32))
            value, bits = self.alu(f"bfe.{letter}32", value, *field, type=ptx.B32), 32
        if bits == to.bits:
            return value
        return self.alu(f"cvt.{letter}{to.bits}.{letter}{bits}", value, type=type)

    def resize(self, value: SSAValue, to: RegisterClass) -> SSAValue:
        """The low bits of one register in another; bits above are undefined."""
        of = ptx.register_of(value)
        if of is to:
            return value
        widened = _widened(value, of, to)
        if widened is not None:
            return widened
        return self.alu(f"cvt.u{to.bits}.u{of.bits}", value, type=ptx.REGISTER_TYPES[to])

    def truncate(self, value: SSAValue, to: int) -> SSAValue:
        """The low ``to`` bits, in the register for so many."""
        register = register_for(to)
        assert register is not None
        if to > 1:
            return self.resize(value, register)
        type = ptx.REGISTER_TYPES[ptx.register_of(value)]
        bits = type.data.bits
        low = self.alu(f"and.b{bits}", value, self.const(1, type), type=type)
        return self.alu(f"setp.ne.b{bits}", low, self.const(0, type), type=ptx.PRED)


def _widened(value: SSAValue, of: RegisterClass, to: RegisterClass) -> SSAValue | None:
    """The value that ``value`` was widened from, if that has as many bits as ``to``.

    An id is 32 bits that ``index`` makes 64: ptxas sees that ``tid.x == 0`` is one thread, and
    leaves out the code that combines a warp's atomics, only where it is compared as it was read.
    """
    op = value.owner
    if not isinstance(op, ptx.AluOp):
        return None
    widenings = (f"cvt.{letter}{of.bits}.{letter}{to.bits}" for letter in "us")
    return op.arguments[0] if op.opcode.data in widenings else None


_TYPED = frozenset({8, 16, 32, 64})
"""The widths that instructions name."""

Convert = Callable[[PtxBuilder, Operation, tuple[SSAValue, ...]], SSAValue]
"""Builds the replacement of an operation's result, from those of its operands."""


@dataclass(frozen=True, slots=True)
class PtxBinaryRow:
    """The instruction on predicates (empty where there is none) and, less its width, on integers.

    ``extend`` says what an operand narrower than its register needs above it: nothing, zeros
    (``u``) or copies of its sign (``s``).
    """

    predicate: str
    integer: str
    extend: str = ""
    is_shift: bool = False


_BINARY: Mapping[str, PtxBinaryRow] = MappingProxyType(
    {
        "arith.addi": PtxBinaryRow("xor.pred", "add.s"),
        "arith.subi": PtxBinaryRow("xor.pred", "sub.s"),
        "arith.muli": PtxBinaryRow("and.pred", "mul.lo.s"),
        "arith.andi": PtxBinaryRow("and.pred", "and.b"),
        "arith.ori": PtxBinaryRow("or.pred", "or.b"),
        "arith.xori": PtxBinaryRow("xor.pred", "xor.b"),
        "arith.shli": PtxBinaryRow("", "shl.b", "", True),
        "arith.shrui": PtxBinaryRow("", "shr.u", "u", True),
        "arith.shrsi": PtxBinaryRow("", "shr.s", "s", True),
        "arith.minui": PtxBinaryRow("", "min.u", "u"),
        "arith.maxui": PtxBinaryRow("", "max.u", "u"),
        "arith.minsi": PtxBinaryRow("", "min.s", "s"),
        "arith.maxsi": PtxBinaryRow("", "max.s", "s"),
    }
)

# cmpi's predicates in the order of their numbers: comparison and type, how to extend.
_PREDICATES = (
    ("eq.b", "u"),
    ("ne.b", "u"),
    ("lt.s", "s"),
    ("le.s", "s"),
    ("gt.s", "s"),
    ("ge.s", "s"),
    ("lt.u", "u"),
    ("le.u", "u"),
    ("gt.u", "u"),
    ("ge.u", "u"),
)
_EQUAL, _NOT_EQUAL = 0, 1


def integer_width(op: Operation, value: SSAValue) -> int:
    """The width of an integer operand; an error at ``op`` unless it has up to 32 bits or 64."""
    bits = bits_of(value.type)
    if bits is None or (bits > 32 and bits != 64):
        unsupported(op, f"'{op.name}' on {value.type} is not supported on the {PATH} path")
    return bits


def _register(bits: int) -> RegisterClass:
    register = register_for(bits)
    assert register is not None, bits
    return register


def _binary(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    row = _BINARY[op.name]
    bits = integer_width(op, op.operands[0])
    a, b = operands
    if bits == 1:
        if not row.predicate:
            unsupported(op, f"'{op.name}' on i1 is not supported on the {PATH} path")
        return build.alu(row.predicate, a, b, type=ptx.PRED)
    register = _register(bits)
    if row.extend:
        a = build.extend(a, bits, register, row.extend)
    if row.is_shift:
        b = build.resize(build.extend(b, bits, register, "u"), RegisterClass.B32)
    elif row.extend:
        b = build.extend(b, bits, register, row.extend)
    return build.alu(f"{row.integer}{register.bits}", a, b, type=ptx.REGISTER_TYPES[register])


def _compare(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    number = cast("arith.CmpiOp", op).predicate.value.data
    bits = integer_width(op, op.operands[0])
    a, b = operands
    if bits > 1:
        comparison, letter = _PREDICATES[number]
        register = _register(bits)
        a, b = (build.extend(each, bits, register, letter) for each in operands)
        return build.alu(f"setp.{comparison}{register.bits}", a, b, type=ptx.PRED)
    if number not in (_EQUAL, _NOT_EQUAL):
        unsupported(op, f"i1 compares with eq and ne only on the {PATH} path")
    differs = build.alu("xor.pred", a, b, type=ptx.PRED)
    return differs if number == _NOT_EQUAL else build.alu("not.pred", differs, type=ptx.PRED)


def _select(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    bits = integer_width(op, op.operands[1])
    mask, a, b = operands
    if bits > 1:
        register = _register(bits)
        return build.alu(f"selp.b{register.bits}", a, b, mask, type=ptx.REGISTER_TYPES[register])
    chosen = build.alu("and.pred", a, mask, type=ptx.PRED)
    unmasked = build.alu("not.pred", mask, type=ptx.PRED)
    other = build.alu("and.pred", b, unmasked, type=ptx.PRED)
    return build.alu("or.pred", chosen, other, type=ptx.PRED)


def _constant(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    value = cast("arith.ConstantOp", op).value
    type = register_type(op.results[0].type)
    if type is None or type.data is RegisterClass.B128:
        unsupported(op, f"a constant of {op.results[0].type} is not supported on the {PATH} path")
    if isinstance(value, FloatAttr):
        return build.const(_signed(float_bits(value), type.data.bits), type)
    if not isinstance(value, IntegerAttr):
        unsupported(op, f"the constant {value} is not supported on the {PATH} path")
    number = value.value.data
    return build.const(number & 1 if type is ptx.PRED else _signed(number, type.data.bits), type)


def _signed(value: int, bits: int) -> int:
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


_FLOAT: Mapping[str, str] = MappingProxyType(
    {
        "arith.addf": "add.rn.f",
        "arith.subf": "sub.rn.f",
        "arith.mulf": "mul.rn.f",
        "math.fma": "fma.rn.f",
    }
)
# Without .rn ptxas may contract a multiplication and an addition. Source: PTX ISA, add (.f32).


def _float(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    type = register_type(op.results[0].type)
    if (
        type is None
        or type.data is RegisterClass.B128
        or isinstance(op.results[0].type, BFloat16Type)
    ):
        unsupported(op, f"'{op.name}' on {op.results[0].type} is not supported on the {PATH} path")
    return build.alu(f"{_FLOAT[op.name]}{type.data.bits}", *operands, type=type)


def _resize(letter: str) -> Convert:
    def convert(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
        bits = integer_width(op, op.operands[0])
        to = integer_width(op, op.results[0])
        (value,) = operands
        if to < bits:
            return build.truncate(value, to)
        return value if to == bits else build.extend(value, bits, _register(to), letter)

    return convert


ARITHMETIC: Mapping[str, Convert] = MappingProxyType(
    {
        **dict.fromkeys(_BINARY, _binary),
        **dict.fromkeys(_FLOAT, _float),
        "arith.constant": _constant,
        "arith.cmpi": _compare,
        "arith.select": _select,
        "arith.extui": _resize("u"),
        "arith.extsi": _resize("s"),
        "arith.trunci": _resize("u"),
        "arith.index_cast": _resize("s"),
    }
)
"""The converter of each operation of ``arith`` and ``math`` that the PTX path accepts."""
