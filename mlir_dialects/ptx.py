"""The ``ptx`` dialect: PTX instructions on virtual registers.

One operation class per shape of instruction; which instruction it is stands in ``opcode``,
whose registers are looked up in ``fencewright.lowering.ptx.instructions``.

    ptx.variable @buffer size 64 align 16
    ptx.kernel @store attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64>} {
      %p = ptx.param 0 : !ptx.reg<b64>
      %v = ptx.const 1 : !ptx.reg<b32>
      ptx.fence "fence.sc.gpu" {phase = #ptx<phase release>}
      ptx.store "st.relaxed.gpu.global.b32" %p, %v : !ptx.reg<b64>, !ptx.reg<b32>
      ptx.ret
    }

``!ptx.reg<b32>`` is a virtual register of 32 bits, ``!ptx.reg<pred>`` a predicate. Blocks
have arguments; printing turns them into copies where control goes to the block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    I64,
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.ir import Data, Dialect, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.code.effects import Effects, Kind
from fencewright.lowering.ptx.chip import CHIPS
from fencewright.lowering.ptx.code.statements import (
    Opcode,
    number,
    opcode_of,
    read_opcode,
    read_statement,
)
from fencewright.lowering.ptx.instructions import (
    BARRIERS,
    IMMEDIATES,
    WARP,
    RegisterClass,
    Registers,
    register_for,
    registers_of,
)
from fencewright.lowering.ptx.instructions import ROWS as FAMILIES
from fencewright.lowering.ptx.module import is_identifier
from fencewright.lowering.ptx.text import fill_places, read_line
from fencewright.lowering.sequence import Line
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import WordAttribute, parse_word
from fencewright.mlir_dialects.leaf_operation import LeafOperation, defined_in, operands_of

# Attributes and registers


@irdl_attr_definition
class PhaseAttr(WordAttribute[Phase]):
    """The part of a scoped operation that an instruction carries out: ``#ptx<phase release>``."""

    name = "ptx.phase"
    word_type = Phase
    noun = "phase"


PHASES: Mapping[str, PhaseAttr] = MappingProxyType({w: PhaseAttr(w) for w in Phase})


@irdl_attr_definition
class RegisterType(Data[RegisterClass], TypeAttribute):
    """A virtual register: ``!ptx.reg<b64>``."""

    name = "ptx.reg"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> RegisterClass:
        with parser.in_angle_brackets():
            return parse_word(parser, _REGISTERS, "kind of register")

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


_REGISTERS: Mapping[str, RegisterClass] = MappingProxyType(
    {each.value: each for each in RegisterClass}
)


@irdl_attr_definition
class LinesAttr(Data[tuple[Line, ...]]):
    """Instructions with places for registers: ``["neg.s32 {dst}, {data}"]``; text only where it is
    printed."""

    name = "ptx.lines"

    @classmethod
    def of(cls, lines: Iterable[Line]) -> "LinesAttr":
        """Those of a sequence or of rows, without other facts about them."""
        return cls(tuple([Line(each.mnemonic, each.operands, guard=each.guard) for each in lines]))

    @classmethod
    def read(cls, texts: Iterable[str]) -> "LinesAttr":
        """Those of texts, as rows have them."""
        return cls(tuple(map(read_line, texts)))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Line, ...]:
        texts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
        return tuple(map(read_line, texts))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_square_brackets():
            printer.print_list(self.data, lambda line: printer.print_string_literal(line.text))


REGISTER_TYPES: Mapping[str, RegisterType] = MappingProxyType(
    {each: RegisterType(each) for each in RegisterClass}
)
PRED = REGISTER_TYPES[RegisterClass.PRED]
B32 = REGISTER_TYPES[RegisterClass.B32]
B64 = REGISTER_TYPES[RegisterClass.B64]


def register_of(value: SSAValue) -> RegisterClass:
    """The kind of register that holds a value of this dialect."""
    type = value.type
    assert isinstance(type, RegisterType)
    return type.data


# Instructions

Namer = Callable[[SSAValue], str]
"""A function that writes a value: the name of its register, or a constant's number."""


class InstructionOp(LeafOperation, ABC):
    """An operation that may stand in a kernel."""


class OpcodeOp(InstructionOp, ABC):
    """An instruction named by ``opcode``: ``ptx.alu "add.s32"(%a, %b) : (..) -> ..``."""

    KINDS: ClassVar[frozenset[Kind]]

    opcode = prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        mnemonic, opcode = self.opcode.data, self.decoded
        registers, family = registers_of(opcode), FAMILIES.get(opcode.head)
        if registers is not None and family is not None and opcode.row is not None:
            if opcode.row.kind not in self.KINDS:
                raise VerifyException(f"{mnemonic} is of kind {family.noun}, not a {self.name}")
        if opcode.row is not None and family is not None and opcode.problem:
            raise VerifyException(f"{mnemonic} {opcode.problem}")
        if registers is None:
            raise VerifyException(f"unknown instruction '{mnemonic}'")
        if opcode.vector > 1:
            raise VerifyException(
                f"{mnemonic} is of {opcode.vector} registers, a {self.name} of one: "
                "write a ptx.sequence, with the registers in braces"
            )
        if tuple(map(register_of, self.operands)) != registers.operands:
            raise VerifyException(
                f"{mnemonic} takes {_listed(registers.operands)}, "
                f"not {_listed(map(register_of, self.operands))}"
            )
        self._verify_results(registers)

    @property
    def decoded(self) -> Opcode:
        """The name of the instruction, without operands that stand with it, decoded."""
        return opcode_of(self.opcode.data)

    @property
    def effects(self) -> Effects:
        """Its effects, by the decoder of PTX; accesses and registers are its operands."""
        return self.decoded.effects

    def _verify_results(self, found: Registers) -> None:
        given = tuple(map(register_of, self.results))
        wanted = () if found.result is None else (found.result,)
        if given != wanted:
            raise VerifyException(
                f"{self.opcode.data} gives {_listed(wanted)}, not {_listed(given)}"
            )


def _listed(registers: Iterable[RegisterClass]) -> str:
    return ", ".join(each.value for each in registers) or "nothing"


class SynchronisingOp(OpcodeOp, ABC):
    """An instruction that may carry out a phase of a scoped operation.

    ``phase`` and ``source`` say for which step of a scoped operation it stands and where the
    rule is written (absent: not synchronisation); ``remarks`` where it does more than was asked.
    """

    phase = opt_prop_def(PhaseAttr)
    source = opt_prop_def(StringAttr)
    remarks = opt_prop_def(ArrayAttr[StringAttr])

    @abstractmethod
    def line(self, name: Namer) -> str:
        """The statement in PTX."""

    @property
    def effects(self) -> Effects:
        """Its effects; registers are called ``%0``, ``%1`` as its operands, then its result."""
        values = (*self.operands, *self.results)
        names = {value: f"%{number}" for number, value in reversed([*enumerate(values)])}
        statement = read_statement(self.line(names.__getitem__).removesuffix(";"))
        assert statement is not None, "verified"
        return statement.effects


@irdl_op_definition
class LoadOp(SynchronisingOp):
    """A load: ``%v = ptx.load "ld.relaxed.gpu.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>``."""

    name = "ptx.load"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.LOAD})

    addr = operand_def(RegisterType)
    dst = result_def(RegisterType)

    assembly_format = "$opcode $addr attr-dict `:` type($addr) `->` type($dst)"

    def line(self, name: Namer) -> str:
        (addr,), (dst,) = operands_of(self), self.results
        return f"{self.opcode.data} {name(dst)}, [{name(addr)}];"


@irdl_op_definition
class StoreOp(SynchronisingOp):
    """A store of ``data``."""

    name = "ptx.store"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.STORE})

    addr = operand_def(RegisterType)
    data = operand_def(RegisterType)

    assembly_format = "$opcode $addr `,` $data attr-dict `:` type($addr) `,` type($data)"

    def line(self, name: Namer) -> str:
        addr, data = map(name, operands_of(self))
        return f"{self.opcode.data} [{addr}], {data};"


@irdl_op_definition
class AtomicOp(SynchronisingOp):
    """``atom`` or ``red``; an ``atom`` without a result drops the old value.

    A compare-and-swap takes what it compares with before what it stores.
    """

    name = "ptx.atomic"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.RMW})

    addr = operand_def(RegisterType)
    data = var_operand_def(RegisterType)
    dst = opt_result_def(RegisterType)

    assembly_format = "$opcode $addr `,` $data attr-dict `:` functional-type(operands, results)"

    def _verify_results(self, found: Registers) -> None:
        if self.results:
            super()._verify_results(found)

    def line(self, name: Namer) -> str:
        opcode = self.opcode.data
        addr, *data = map(name, operands_of(self))
        result = ""
        if self.decoded.head != "red":
            result = "_, " if self.dst is None else f"{name(self.dst)}, "
        return f"{opcode} {result}[{addr}], {', '.join(data)};"


@irdl_op_definition
class FenceOp(SynchronisingOp):
    """A memory fence: ``ptx.fence "fence.acq_rel.gpu"``."""

    name = "ptx.fence"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.FENCE})

    assembly_format = "$opcode attr-dict"

    def line(self, name: Namer) -> str:
        return f"{self.opcode.data};"


@irdl_op_definition
class BarrierOp(SynchronisingOp):
    """An execution barrier, with its immediate operands: ``ptx.barrier "barrier.sync 0"``."""

    name = "ptx.barrier"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.BARRIER, Kind.SIGNAL, Kind.WAIT})

    assembly_format = "$opcode attr-dict"

    def verify_(self) -> None:
        super().verify_()
        statement = read_statement(self.opcode.data)
        assert statement is not None, self.opcode.data
        least, most = IMMEDIATES[statement.operation]
        given = [number(each) for each in statement.operands]
        if not least <= len(given) <= most or None in given:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            name = self.decoded.name
            raise VerifyException(f"{name} takes {wanted} constants after its name")
        if statement.operation != "bar warp sync" and given:
            _verify_barrier(self.opcode.data, *(each or 0 for each in given))

    def line(self, name: Namer) -> str:
        return f"{self.opcode.data};"


def _verify_barrier(text: str, barrier: int, threads: int = WARP) -> None:
    if not 0 <= barrier < BARRIERS:
        raise VerifyException(f"{text}: there are the barriers 0 to {BARRIERS - 1}")
    if threads <= 0 or threads % WARP:
        raise VerifyException(f"{text}: {threads} threads are no multiple of a warp, {WARP}")


@irdl_op_definition
class AluOp(OpcodeOp):
    """Arithmetic: ``%c = ptx.alu "add.s32"(%a, %b) : (..) -> ..``."""

    name = "ptx.alu"
    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.COMPUTE})

    arguments = var_operand_def(RegisterType)
    dst = result_def(RegisterType)

    traits = traits_def(Pure())
    assembly_format = "$opcode `(` $arguments `)` attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class SequenceOp(InstructionOp):
    """Instructions that stay together, with registers and labels of their own.

    ``lines`` name operands and result in braces: ``places`` are the names of the operands,
    ``{dst}`` is the result; every other name is made fresh wherever the operation is printed.

        %old = ptx.sequence ["addr", "data"](%p, %v) [".reg .b32 {negated}",
            "neg.s32 {negated}, {data}", "atom.relaxed.gpu.global.add.u32 {dst}, [{addr}],
            {negated}"]
            : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b32>
    """

    name = "ptx.sequence"

    places = prop_def(ArrayAttr[StringAttr])
    lines = prop_def(LinesAttr)
    phase = opt_prop_def(PhaseAttr)
    source = opt_prop_def(StringAttr)
    remarks = opt_prop_def(ArrayAttr[StringAttr])
    arguments = var_operand_def(RegisterType)
    dst = opt_result_def(RegisterType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$places `(` $arguments `)` $lines attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        if len(self.places) != len(self.arguments):
            raise VerifyException(
                f"{len(self.places)} places for {len(self.arguments)} operands: one each"
            )
        names = {each.data for each in self.places}
        if len(names) != len(self.places) or "dst" in names:
            raise VerifyException("the places of operands have different names, none of them dst")
        if self.dst is not None and all("dst" not in line.names for line in self.lines.data):
            raise VerifyException("no line writes {dst}")
        for line in self.lines.data:
            _verify_line(line)

    def statements(self, name: Namer, prefix: str) -> list[str]:
        """The statements in PTX; the names of its own begin with ``prefix``, which no other name
        does."""
        places = {
            place.data: name(operand)
            for place, operand in zip(self.places, self.operands, strict=True)
        }
        if self.dst is not None:
            places["dst"] = name(self.dst)
        return fill_places(self.lines.data, places, prefix)


def _verify_line(line: Line) -> None:
    """Raise ``VerifyException`` for an instruction that is not known; declarations have none."""
    opcode = read_opcode(line.mnemonic)
    if opcode.head and opcode.problem:
        raise VerifyException(f"'{line.text}': {opcode.name} {opcode.problem}")


class ValueOp(InstructionOp, ABC):
    """A value that is known by a property."""

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    dst = result_def(RegisterType)


@irdl_op_definition
class ConstOp(ValueOp):
    """A constant; a predicate is 0 or 1."""

    name = "ptx.const"

    value = prop_def(IntegerAttr[I64])
    assembly_format = "$value attr-dict `:` type($dst)"

    def verify_(self) -> None:
        register = register_of(self.dst)
        if register is RegisterClass.B128:
            raise VerifyException("there are no constants of 128 bits")


@irdl_op_definition
class ParamOp(ValueOp):
    """The kernel's parameter number ``index``."""

    name = "ptx.param"

    index = prop_def(IntegerAttr[I64])
    assembly_format = "$index attr-dict `:` type($dst)"


@irdl_op_definition
class SpecialOp(ValueOp):
    """A special register of 32 bits: ``ptx.special "tid.x" : !ptx.reg<b32>``."""

    name = "ptx.special"
    ACCEPTED: ClassVar[tuple[str, ...]] = tuple(
        f"{name}.{dimension}" for name in ("tid", "ntid", "ctaid", "nctaid") for dimension in "xyz"
    )

    register = prop_def(StringAttr)
    assembly_format = "$register attr-dict `:` type($dst)"

    def verify_(self) -> None:
        if self.register.data not in self.ACCEPTED:
            raise VerifyException(
                f"unknown special register '{self.register.data}'; "
                f"accepted: {', '.join(self.ACCEPTED)}"
            )
        if register_of(self.dst) is not RegisterClass.B32:
            raise VerifyException(f"%{self.register.data} is 32 bits wide")


@irdl_op_definition
class AddressOfOp(ValueOp):
    """The address of a variable in shared memory."""

    name = "ptx.addressof"

    variable = prop_def(FlatSymbolRefAttr)
    assembly_format = "$variable attr-dict `:` type($dst)"


@irdl_op_definition
class LocalOp(InstructionOp):
    """The address of ``size`` bytes of the thread's own memory, which last as long as it does."""

    name = "ptx.local"

    size = prop_def(IntegerAttr[I64])
    alignment = prop_def(IntegerAttr[I64])
    dst = result_def(RegisterType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`size` $size `align` $alignment attr-dict `:` type($dst)"


@irdl_op_definition
class BranchOp(InstructionOp):
    """An unconditional branch; the operands become the block's arguments."""

    name = "ptx.bra"

    arguments = var_operand_def(RegisterType)
    target = successor_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    def verify_(self) -> None:
        _verify_edge(self.arguments, self.target.args)


@irdl_op_definition
class CondBranchOp(InstructionOp):
    """A branch of each thread for itself, on a predicate."""

    name = "ptx.cond_bra"

    predicate = operand_def(PRED)
    true_arguments = var_operand_def(RegisterType)
    false_arguments = var_operand_def(RegisterType)
    true_target = successor_def()
    false_target = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())
    assembly_format = """
    $predicate `,`
    $true_target (`(` $true_arguments^ `:` type($true_arguments) `)`)? `,`
    $false_target (`(` $false_arguments^ `:` type($false_arguments) `)`)?
    attr-dict
    """

    def verify_(self) -> None:
        _verify_edge(self.true_arguments, self.true_target.args)
        _verify_edge(self.false_arguments, self.false_target.args)


def _verify_edge(given: Sequence[SSAValue], wanted: Sequence[SSAValue]) -> None:
    if [each.type for each in given] != [each.type for each in wanted]:
        raise VerifyException("the operands of a branch must be of the block's arguments' types")


@irdl_op_definition
class RetOp(InstructionOp):
    """The end of the thread."""

    name = "ptx.ret"

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


# Kernels and variables


@irdl_op_definition
class VariableOp(IRDLOperation):
    """A variable in shared memory, in bytes; of size 0: as large as the launch says."""

    name = "ptx.variable"

    sym_name = prop_def(SymbolNameConstraint())
    size = prop_def(IntegerAttr[I64])
    alignment = prop_def(IntegerAttr[I64])

    traits = traits_def(SymbolOpInterface())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `size` $size `align` $alignment attr-dict"

    def verify_(self) -> None:
        _verify_name(self.sym_name.data)


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A kernel for one ``target`` and PTX ``version``.

    ``parameters`` are the widths of the parameters in bits, ``block_size`` the number of
    threads in each dimension that it must be launched with (absent: any).
    """

    name = "ptx.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    target = prop_def(StringAttr)
    version = prop_def(StringAttr)
    parameters = prop_def(DenseArrayBase[IntegerType])
    block_size = opt_prop_def(DenseArrayBase[I32])
    body = region_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name attr-dict-with-keyword $body"

    def verify_(self) -> None:
        _verify_name(self.sym_name.data)
        names = [chip.name for chip in CHIPS]
        if self.target.data not in names:
            raise VerifyException(
                f"unknown target '{self.target.data}'; accepted: {', '.join(names)}"
            )
        major, _, minor = self.version.data.partition(".")
        if not (major.isdigit() and minor.isdigit()):
            raise VerifyException(f"'{self.version.data}' is not a PTX version like 8.6")
        widths = self.parameters.get_values()
        for block in self.body.blocks:
            for op in block.ops:
                if not isinstance(op, InstructionOp):
                    raise VerifyException(f"'{op.name}' is not a PTX instruction")
                if isinstance(op, ParamOp):
                    _verify_parameter(op, widths)


def _verify_parameter(op: ParamOp, widths: Sequence[int | float]) -> None:
    number = op.index.value.data
    if not 0 <= number < len(widths):
        raise VerifyException(f"there is no parameter {number}")
    register = register_for(max(int(widths[number]), 16))
    if register_of(op.dst) is not register:
        raise VerifyException(
            f"parameter {number} of {widths[number]} bits goes to {register}, "
            f"not to {register_of(op.dst)}"
        )


def _verify_name(name: str) -> None:
    if not is_identifier(name):
        raise VerifyException(
            f"'{name}' is not a name in PTX; accepted: letters, digits, _ and $, "
            "not beginning with a digit"
        )


PTX = Dialect(
    "ptx",
    [*defined_in(globals())],
    [LinesAttr, PhaseAttr, RegisterType],
)
