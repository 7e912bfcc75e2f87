"""The ``cdna`` dialect: CDNA machine instructions on virtual or allocated registers.

One operation class per instruction format; which instruction it is stands in ``opcode`` and
is looked up in the rows of ``fencewright.lowering.cdna.instructions`` (``op.row``).

    cdna.kernel @store attributes {chip = "gfx942", ...} {
    ^bb0(%kernarg : !cdna.sgpr<2, 0>):
      %p  = cdna.load s_load_dwordx2 %kernarg {offset = 0 : i64} : (!cdna.sgpr<2, 0>) ->
      !cdna.sgpr<2> %a  = cdna.mov %p : !cdna.sgpr<2> -> !cdna.vgpr<2>
      %v  = cdna.const 1 : !cdna.vgpr
      cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
      cdna.store global_store_dword %a, %v {modifiers = ["sc1"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
      cdna.end s_endpgm
    }

``!cdna.vgpr<2>`` is a pair of consecutive vector registers, ``!cdna.vgpr<2, 4>`` is v[4:5].
Block arguments stay block arguments until registers are assigned; branches carry their
operands, and the register allocation turns them into copies.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.ir import (
    Attribute,
    Block,
    Dialect,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AnyOf,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.cdna.caches import ACCESS_NOUNS
from fencewright.lowering.cdna.chips import CHIPS, KNOWN_CHIPS, ChipRow, Counter
from fencewright.lowering.cdna.counters.waits import operand_of, split_counts
from fencewright.lowering.cdna.instructions import (
    InstructionRow,
    either_form,
    instruction,
    operand_places,
)
from fencewright.lowering.cdna.target_id import parse_target_id
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import Line, UnsupportedError, WaitCounts, operands
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import WordAttribute, count_attr
from fencewright.mlir_dialects.leaf_operation import LeafOperation, OfAlike, defined_in

if TYPE_CHECKING:
    from fencewright.lowering.cdna.code.operands.operands import Effects

# Attributes


@irdl_attr_definition
class PhaseAttr(WordAttribute[Phase]):
    """The part of a scoped operation that an instruction carries out: ``#cdna<phase release>``."""

    name = "cdna.phase"
    word_type = Phase
    noun = "phase"


PHASES: Mapping[str, PhaseAttr] = MappingProxyType({w: PhaseAttr(w) for w in Phase})


@irdl_attr_definition
class KernelArgumentAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """One argument of a kernel: ``#cdna<argument "p", 8, global>`` (name, bytes, kind).

    ``kind`` is ``value``, ``global`` for a global or generic pointer, or ``local`` for a
    pointer to LDS that the launch allocates.
    """

    name = "cdna.argument"
    argument: StringAttr
    size: IntAttr
    kind: StringAttr

    KINDS: ClassVar[tuple[str, ...]] = ("value", "global", "local")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        argument = parser.parse_str_literal("an argument's name")
        parser.parse_punctuation(",")
        size = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(",")
        kind = parser.parse_identifier()
        return StringAttr(argument), IntAttr(size), StringAttr(kind)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string_literal(self.argument.data)
        printer.print_string(f", {self.size.data}, {self.kind.data}")

    def verify(self) -> None:
        if self.kind.data not in self.KINDS:
            accepted = ", ".join(self.KINDS)
            raise VerifyException(f"unknown argument kind '{self.kind.data}'; accepted: {accepted}")


# Registers


@dataclass(frozen=True, init=False)
class RegisterType(ParametrizedAttribute, TypeAttribute, ABC):
    """``size`` consecutive 32-bit registers of one file, the first at ``index`` once allocated."""

    size: IntAttr
    index: IntAttr | NoneAttr

    PREFIX: ClassVar[str]
    COUNT: ClassVar[int]

    @classmethod
    def of(cls, size: int = 1, index: int | None = None) -> Self:
        """The type, one instance for each size and index."""
        return cls._of(size, index)

    @classmethod
    @cache
    def _of(cls, size: int, index: int | None) -> Self:
        # Positional arguments only: a cache tells apart what a default filled in.
        return cls(IntAttr(size), NoneAttr() if index is None else IntAttr(index))

    @property
    def first(self) -> int | None:
        """The index of the first register; None until registers are allocated."""
        return self.index.data if isinstance(self.index, IntAttr) else None

    @property
    def registers(self) -> range:
        """The indices of the registers; empty until they are allocated."""
        first = self.first
        return range(0) if first is None else range(first, first + self.size.data)

    def at(self, index: int | None) -> Self:
        """The same registers at another index."""
        return type(self).of(self.size.data, index)

    def part(self, offset: int, size: int = 1) -> Self:
        """``size`` of the registers, from ``offset`` on."""
        first = self.first
        return type(self).of(size, None if first is None else first + offset)

    @property
    def assembly(self) -> str:
        """As the assembler writes it: ``v3``, ``v[4:5]``, ``s[0:1]``."""
        return _register_text(self.PREFIX, self.size.data, self.first)

    def __format__(self, spec: str) -> str:
        # xDSL formats types in its messages too, before there is a register to name.
        first = self.first
        return str(self) if first is None else _register_text(self.PREFIX, self.size.data, first)

    def __getitem__(self, number: int) -> Self:
        """One of the registers."""
        return self.part(number)

    @property
    def lo(self) -> Self:
        """The low register of a pair."""
        return self.part(0)

    @property
    def hi(self) -> Self:
        """The high register of a pair."""
        return self.part(1)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return IntAttr(1), NoneAttr()
        size = parser.parse_integer(allow_boolean=False, allow_negative=False)
        index: IntAttr | NoneAttr = NoneAttr()
        if parser.parse_optional_punctuation(",") is not None:
            index = IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))
        parser.parse_punctuation(">")
        return IntAttr(size), index

    def print_parameters(self, printer: Printer) -> None:
        first = self.first
        if first is not None:
            printer.print_string(f"<{self.size.data}, {first}>")
        elif self.size.data != 1:
            printer.print_string(f"<{self.size.data}>")

    def verify(self) -> None:
        if self.size.data not in _SIZES:
            raise VerifyException(
                f"{self.name} has no tuple of {self.size.data}; accepted sizes: "
                f"{', '.join(map(str, sorted(_SIZES)))}"
            )
        if self.registers and self.registers.stop > self.COUNT:
            raise VerifyException(
                f"{self.PREFIX}{self.registers.stop - 1} does not exist; "
                f"the last register is {self.PREFIX}{self.COUNT - 1}"
            )


_SIZES = frozenset({1, 2, 3, 4, 8, 16})


@cache
def _register_text(prefix: str, size: int, first: int | None) -> str:
    if first is None:
        raise ValueError("registers are not allocated; run allocate-registers first")
    return f"{prefix}{first}" if size == 1 else f"{prefix}[{first}:{first + size - 1}]"


@irdl_attr_definition
class VGPRType(RegisterType):
    """Vector registers, one value per lane: ``!cdna.vgpr``, ``!cdna.vgpr<2>``."""

    name = "cdna.vgpr"
    PREFIX: ClassVar[str] = "v"
    COUNT: ClassVar[int] = 256


@irdl_attr_definition
class SGPRType(RegisterType):
    """Scalar registers, one value per wave; a pair also holds one bit per lane."""

    name = "cdna.sgpr"
    PREFIX: ClassVar[str] = "s"
    COUNT: ClassVar[int] = 102


VGPR = VGPRType.of()
VGPR_PAIR = VGPRType.of(2)
SGPR = SGPRType.of()
SGPR_PAIR = SGPRType.of(2)

Register = AnyOf((BaseAttr(VGPRType), BaseAttr(SGPRType)))


_REGISTER_TYPES = (VGPRType, SGPRType)


def register_of(value: SSAValue) -> VGPRType | SGPRType:
    """The register type of a value of this dialect."""
    type = value.type
    # A tuple, which is not made anew each time as a union is.
    assert isinstance(type, _REGISTER_TYPES)
    return type


# Operations


class InstructionOp(LeafOperation, ABC):
    """An operation that is one instruction, or a pseudo instruction that prints as a few.

    It stands in what is executed: a kernel, or a thread of a litmus test.
    """

    EARLY_CLOBBER: ClassVar[bool] = False
    """True if a result may be written before all operands are read, in spite of the row."""

    @property
    @abstractmethod
    def row(self) -> InstructionRow:
        """The row of the instruction: its counters, kind and operand places."""

    @property
    def clobbers_early(self) -> bool:
        """True if no result may share registers with an operand."""
        return self.EARLY_CLOBBER or self.row.early_clobber

    def verify(self, verify_nested_ops: bool = True) -> None:
        super().verify(verify_nested_ops)
        # Not in verify_: its verdict is remembered for all operations that are alike.
        holder = self.parent_op()
        if holder is not None and holder.name not in _HOLDERS:
            message = f"'{self.name}' is machine code: it belongs in a cdna.kernel"
            self.emit_error(message, VerifyException(message))


_HOLDERS = frozenset({"cdna.kernel", "litmus.thread", "llvm_ir.func"})
"""Operations that may hold instructions; a function in LLVM IR while it is lowered."""


class OpcodeOp(InstructionOp, ABC):
    """An instruction named by ``opcode``: ``cdna.alu v_add_u32_e32 %a, %b : (..) -> ..``."""

    KIND: ClassVar[Kind]
    COUNTER: ClassVar[Counter | None] = None
    """The counter of a copy beside the wave."""

    opcode = prop_def(StringAttr)

    @property
    def row(self) -> InstructionRow:
        row = instruction(self.opcode.data, self._returns)
        assert row is not None, "verified"
        return row

    @property
    def effects(self) -> "Effects":
        """Its effects, by the decoder of AMD code; addresses and registers are its operands.

        A pseudo instruction does what the first of its instructions does.
        """
        # Only who asks pays for the decoder's tables.
        from fencewright.lowering.cdna.code.operands.operands import effects_of_name

        row = self.row
        generation = KNOWN_CHIPS[min(row.chips)].generation
        return effects_of_name(row.code[0].mnemonic, generation, self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The words after its operands: none except of synchronisation."""
        return ()

    @property
    def _returns(self) -> bool:
        return False

    def verify_(self) -> None:
        mnemonic = self.opcode.data
        row = instruction(mnemonic, self._returns)
        if row is None and instruction(mnemonic, not self._returns) is not None:
            wanted = "needs a result" if not self._returns else "has no result"
            raise VerifyException(f"{mnemonic} {wanted}")
        if row is None:
            raise VerifyException(f"unknown instruction '{mnemonic}'")
        is_counted = self.COUNTER is None or self.COUNTER in row.counters
        if row.kind is not self.KIND or not is_counted:
            kind = row.unit or ACCESS_NOUNS.get(row.kind, row.kind)
            raise VerifyException(f"{mnemonic} is of kind {kind}, not a {self.name}")
        places = operand_places(row)
        if len(places) != len(self.operands):
            raise VerifyException(
                f"{mnemonic} has {len(places)} operands ({', '.join(places)}), "
                f"not {len(self.operands)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        mnemonic = parser.parse_identifier(context_msg=" of an instruction")
        row = either_form(mnemonic)
        if row is None:
            parser.raise_error(f"unknown instruction '{mnemonic}'", start)
        operands = (
            parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_unresolved_operand
            )
            if operand_places(row)
            else ()
        )
        attributes = dict(parser.parse_optional_attr_dict())
        type = parser.parse_function_type() if parser.parse_optional_punctuation(":") else None
        inputs, results = ((), ()) if type is None else (type.inputs.data, type.outputs.data)
        resolved = parser.resolve_operands(operands, inputs, parser.pos)
        names = cls.get_irdl_definition().properties
        properties = {name: attributes.pop(name) for name in names if name in attributes}
        properties["opcode"] = StringAttr(mnemonic)
        return cls.create(
            operands=resolved, result_types=results, properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.opcode.data}")
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        dictionary = {k: v for k, v in self.properties.items() if k != "opcode"}
        printer.print_op_attributes({**dictionary, **self.attributes}, print_keyword=False)
        if not self.operands and not self.results:
            return
        printer.print_string(" : ")
        printer.print_operation_type(self)


_Modifiers = ArrayAttr[StringAttr]
_Number = IntegerAttr[I64]


class SynchronisingOp(OpcodeOp, ABC):
    """An instruction that may carry out a phase of a scoped operation.

    ``modifiers`` are its cache policy bits; ``phase`` and ``source`` say for which step of
    a scoped operation it stands and where the rule is written (absent: not synchronisation).
    """

    modifiers = opt_prop_def(_Modifiers)
    phase = opt_prop_def(PhaseAttr)
    source = opt_prop_def(StringAttr)

    @property
    def words(self) -> tuple[str, ...]:
        return () if self.modifiers is None else tuple([each.data for each in self.modifiers])

    @property
    def line(self) -> Line:
        """The instruction without its operands: ``buffer_inv sc1``."""
        return Line(self.opcode.data, modifiers=self.words)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The instruction as the only one of several."""
        return (self.line,)


class MemoryOp(SynchronisingOp, ABC):
    """A memory access; ``offset`` in bytes is added to the address."""

    offset = opt_prop_def(_Number)


@irdl_op_definition
class LoadOp(MemoryOp):
    """A load: ``%v = cdna.load global_load_dword %p : (!cdna.vgpr<2>) -> !cdna.vgpr``."""

    name = "cdna.load"
    KIND: ClassVar[Kind] = Kind.LOAD

    addr = operand_def(Register)
    resource = opt_operand_def(SGPRType)
    dst = result_def(Register)


@irdl_op_definition
class StoreOp(MemoryOp):
    """A store of ``data``."""

    name = "cdna.store"
    KIND: ClassVar[Kind] = Kind.STORE

    addr = operand_def(VGPRType)
    data = operand_def(VGPRType)
    resource = opt_operand_def(SGPRType)


@irdl_op_definition
class AtomicOp(MemoryOp):
    """A read-modify-write or compare-exchange; with a result it returns the old value.

    A compare-exchange in vector memory has one operand of new:compare, in LDS two operands,
    compare and new.
    """

    name = "cdna.atomic"
    KIND: ClassVar[Kind] = Kind.RMW

    addr = operand_def(VGPRType)
    data = var_operand_def(VGPRType)
    dst = opt_result_def(VGPRType)

    @property
    def _returns(self) -> bool:
        return bool(self.results)


@irdl_op_definition
class AsyncOp(MemoryOp):
    """Each lane copies between ``addr`` in global memory and ``lds``, beside the wave.

    Counts in asynccnt, which only a wait of its own sees: no other orders it. ``offset`` is added
    to both addresses.

        cdna.async global_load_async_to_lds_b32 %p, %l : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
    """

    name = "cdna.async"
    KIND: ClassVar[Kind] = Kind.COPY
    COUNTER: ClassVar[Counter | None] = Counter.ASYNCCNT

    addr = operand_def(VGPRType)
    lds = operand_def(VGPRType)


@irdl_op_definition
class TensorOp(SynchronisingOp):
    """The wave has a tile copied between a tensor in memory and LDS, as its descriptors say.

    Counts in tensorcnt. Of the first descriptor the second register has the address in LDS, the
    third and fourth that in memory. Tensors of three to five dimensions have four descriptors.
    Source: LLVM 24 IntrinsicsAMDGPU, tensor.load.to.lds; Triton, AMD TDMUtility,
    decodeTDMDescriptor.

        cdna.tensor tensor_load_to_lds %d0, %d1 : (!cdna.sgpr<4>, !cdna.sgpr<8>) -> ()
        cdna.tensor tensor_load_to_lds_d4 %d0, %d1, %d2, %d3 : (!cdna.sgpr<4>, !cdna.sgpr<8>,
                                                                !cdna.sgpr<4>, !cdna.sgpr<4>) -> ()
    """

    name = "cdna.tensor"
    KIND: ClassVar[Kind] = Kind.COPY
    COUNTER: ClassVar[Counter | None] = Counter.TENSORCNT

    addresses = operand_def(SGPRType)
    tile = operand_def(SGPRType)
    further = var_operand_def(SGPRType)


@irdl_op_definition
class CacheOp(SynchronisingOp):
    """Cache maintenance: ``cdna.cache buffer_wbl2 {modifiers = ["sc1"]}``."""

    name = "cdna.cache"
    KIND: ClassVar[Kind] = Kind.CACHE


@irdl_op_definition
class BarrierOp(SynchronisingOp):
    """An instruction of an execution barrier: ``cdna.barrier s_barrier``.

    Where barriers have numbers, it is the only one of the ``modifiers``. ``m0`` is what that
    register has to hold, which is written right before:

        cdna.barrier s_barrier_init {modifiers = ["m0"], m0 = 131073 : i64}
    """

    name = "cdna.barrier"
    KIND: ClassVar[Kind] = Kind.BARRIER

    m0 = opt_prop_def(_Number)


@irdl_op_definition
class EndOp(OpcodeOp):
    """The end of the wave: ``cdna.end s_endpgm``."""

    name = "cdna.end"
    KIND: ClassVar[Kind] = Kind.END
    traits = traits_def(IsTerminator())


@irdl_op_definition
class AluOp(OpcodeOp):
    """Vector or scalar arithmetic: ``%c = cdna.alu v_add_u32_e32 %a, %b : (..) -> ..``.

    ``immediates`` are the constants of the row's places ``{imm0}``, ``{imm1}``.
    """

    name = "cdna.alu"
    KIND: ClassVar[Kind] = Kind.COMPUTE

    arguments = var_operand_def(Register)
    immediates = opt_prop_def(ArrayAttr[IntegerAttr[I64]])
    dst = result_def(Register)

    traits = traits_def(Pure())


@irdl_op_definition
class WaitOp(InstructionOp):
    """Wait until at most so many operations are outstanding: ``cdna.s_waitcnt vmcnt(0)``.

    With a ``phase`` it orders memory for a scoped operation; without, it waits for data.
    """

    name = "cdna.s_waitcnt"

    vmcnt = opt_prop_def(_Number)
    lgkmcnt = opt_prop_def(_Number)
    vscnt = opt_prop_def(_Number)
    loadcnt = opt_prop_def(_Number)
    storecnt = opt_prop_def(_Number)
    dscnt = opt_prop_def(_Number)
    kmcnt = opt_prop_def(_Number)
    xcnt = opt_prop_def(_Number)
    asynccnt = opt_prop_def(_Number)
    tensorcnt = opt_prop_def(_Number)
    samplecnt = opt_prop_def(_Number)
    bvhcnt = opt_prop_def(_Number)
    phase = opt_prop_def(PhaseAttr)
    source = opt_prop_def(StringAttr)

    COUNTERS: ClassVar[Mapping[str, int]] = MappingProxyType(
        {
            str(name): most
            for chip in (*KNOWN_CHIPS.values(), *CHIPS.values())
            for name, most in chip.counters.items()
        }
    )
    """The counters and the greatest count that the field holds (``ChipRow.counters``), where chips
    differ of those that are lowered for.
    """

    @property
    def row(self) -> InstructionRow:
        if "vscnt" in self.properties:
            return _STORE_WAIT
        joint = "vmcnt" in self.properties or "lgkmcnt" in self.properties
        return _WAIT if joint else _SPLIT_WAIT

    @classmethod
    def of(
        cls,
        counts: WaitCounts,
        phase: PhaseAttr | None = None,
        source: StringAttr | None = None,
    ) -> Self:
        """The wait for ``counts``, of whichever counters."""
        given = {"phase": phase, "source": source}
        properties = {name: each for name, each in given.items() if each is not None}
        numbers = {name: count_attr(n) for name, n in counts.given.items()}
        return cls.create(properties={**properties, **numbers})

    @property
    def line(self) -> Line:
        """The instruction: ``s_waitcnt vmcnt(0)``."""
        return Line("s_waitcnt", wait=self.counts)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The instructions: one, or where counters are split one for a counter or two."""
        parts = split_counts(self.counts)
        return tuple(Line(name, operands(operand_of(part)), wait=part) for name, part in parts) or (
            self.line,
        )

    @property
    def counts(self) -> WaitCounts:
        """The counts as the lowering writes them."""
        return _COUNTS(self)

    def verify_(self) -> None:
        if not self.counts:
            raise VerifyException("a wait needs a count: vmcnt(N) or lgkmcnt(N)")
        for name, greatest in self.COUNTERS.items():
            count = self.properties.get(name)
            if isinstance(count, IntegerAttr) and not 0 <= count.value.data <= greatest:
                raise VerifyException(f"{name} holds 0 to {greatest}, not {count.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        for name in cls.COUNTERS:
            if parser.parse_optional_keyword(name) is None:
                continue
            parser.parse_punctuation("(")
            properties[name] = count_attr(parser.parse_integer(allow_boolean=False))
            parser.parse_punctuation(")")
        attributes = dict(parser.parse_optional_attr_dict())
        for name in ("phase", "source"):
            if name in attributes:
                properties[name] = attributes.pop(name)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.counts}")
        names = ("phase", "source")
        dictionary = {name: self.properties[name] for name in names if name in self.properties}
        printer.print_op_attributes({**dictionary, **self.attributes})


def _counts_of(op: WaitOp) -> WaitCounts:
    counts: dict[str, int] = {}
    for name, attribute in op.properties.items():
        if name in op.COUNTERS:
            counts[name] = cast("IntegerAttr[I64]", attribute).value.data
    return WaitCounts(**counts)


_COUNTS = OfAlike(_counts_of)


class AsyncGroupOp(InstructionOp, ABC):
    """An operation that ``insert-waits`` turns into a wait of asynccnt, or removes."""

    irdl_options = (ParsePropInAttrDict(),)

    @property
    def row(self) -> InstructionRow:
        return _ASYNC_WAIT


@irdl_op_definition
class AsyncMarkOp(AsyncGroupOp):
    """Closes a group of asynchronous copies: those since the mark before it.

    Source: LLVM 24 AMDGPUAsyncOperations, asyncmark.
    """

    name = "cdna.async_mark"
    assembly_format = "attr-dict"


@irdl_op_definition
class AsyncWaitOp(AsyncGroupOp):
    """Wait until at most the ``pending`` newest groups of asynchronous copies are not done.

    Source: LLVM 24 AMDGPUAsyncOperations, wait.asyncmark.
    """

    name = "cdna.async_wait"
    pending = prop_def(_Number)
    phase = opt_prop_def(PhaseAttr)
    assembly_format = "$pending attr-dict"

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            raise VerifyException(f"pending must not be negative: {self.pending.value.data}")


class MoveOperation(InstructionOp, ABC):
    """An operation that is printed as moves to its result's file."""

    traits = traits_def(Pure())

    @property
    def row(self) -> InstructionRow:
        return _MOVE_VECTOR if isinstance(self.results[0].type, VGPRType) else _MOVE_SCALAR


@irdl_op_definition
class ConstOp(MoveOperation):
    """A constant in every lane (VGPRs) or for the wave (SGPRs): ``cdna.const 5 : !cdna.vgpr``."""

    name = "cdna.const"

    value = prop_def(_Number)
    dst = result_def(Register)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value attr-dict `:` type($dst)"


@irdl_op_definition
class MovOp(MoveOperation):
    """A copy between registers of one size; from SGPRs to VGPRs it goes to every lane."""

    name = "cdna.mov"

    src = operand_def(Register)
    dst = result_def(Register)

    assembly_format = "$src attr-dict `:` type($src) `->` type($dst)"

    def verify_(self) -> None:
        src, dst = register_of(self.src), register_of(self.dst)
        if src.size != dst.size:
            raise VerifyException(f"cannot copy {src.size.data} registers to {dst.size.data}")
        if isinstance(src, VGPRType) and isinstance(dst, SGPRType):
            raise VerifyException("a vector register holds a value per lane, a scalar one does not")


@irdl_op_definition
class PackOp(MoveOperation):
    """Copies of registers, one after the other, in one tuple of their file: low part first."""

    name = "cdna.pack"
    EARLY_CLOBBER: ClassVar[bool] = True

    parts = var_operand_def(Register)
    dst = result_def(Register)

    assembly_format = "$parts attr-dict `:` functional-type($parts, $dst)"

    def verify_(self) -> None:
        if any(type(part.type) is not type(self.dst.type) for part in self.parts):
            raise VerifyException("the parts are registers of another file than the tuple")
        total = sum(register_of(part).size.data for part in self.parts)
        if total != register_of(self.dst).size.data:
            raise VerifyException(
                f"the parts are {total} registers, the tuple {register_of(self.dst).size.data}"
            )


@irdl_op_definition
class ExtractOp(MoveOperation):
    """A copy of some registers of a tuple, from register number ``offset`` on."""

    name = "cdna.extract"
    EARLY_CLOBBER: ClassVar[bool] = True

    src = operand_def(VGPRType)
    offset = prop_def(_Number)
    dst = result_def(VGPRType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($dst)"

    def verify_(self) -> None:
        offset = self.offset.value.data
        last = offset + register_of(self.dst).size.data
        if offset < 0 or last > register_of(self.src).size.data:
            raise VerifyException(
                f"registers {offset} to {last - 1} are not in a tuple of "
                f"{register_of(self.src).size.data}"
            )


@irdl_op_definition
class BranchOp(InstructionOp):
    """An unconditional branch; the operands become the block's arguments."""

    name = "cdna.s_branch"

    arguments = var_operand_def(Register)
    target = successor_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    @property
    def row(self) -> InstructionRow:
        return _BRANCH


@irdl_op_definition
class CondBranchOp(InstructionOp):
    """A branch of the whole wave: taken if the lane mask ``mask`` has a bit of an active lane.

    Sound for a wave-uniform condition only. The attribute ``ELECTS`` says of which target it is
    known that one wave of a work-group goes there at most.
    """

    name = "cdna.s_cbranch"

    mask = operand_def(SGPRType)
    true_arguments = var_operand_def(Register)
    false_arguments = var_operand_def(Register)
    true_target = successor_def()
    false_target = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())
    assembly_format = """
    $mask `:` type($mask) `,`
    $true_target (`(` $true_arguments^ `:` type($true_arguments) `)`)? `,`
    $false_target (`(` $false_arguments^ `:` type($false_arguments) `)`)?
    attr-dict
    """

    @property
    def row(self) -> InstructionRow:
        return _CONDITIONAL_BRANCH

    def split_edges(self) -> tuple[InstructionOp, ...]:
        """Give each edge that carries operands a block of its own, where copies can stand.

        Returns the branches that take the place of this one.
        """
        block, made, targets = self.parent_block(), list[InstructionOp](), list[Block]()
        assert block is not None
        assert block.parent is not None
        for target, arguments in (
            (self.true_target, tuple(self.true_arguments)),
            (self.false_target, tuple(self.false_arguments)),
        ):
            if arguments:
                made.append(BranchOp.create(operands=arguments, successors=[target]))
                targets.append(Block([made[-1]]))
                block.parent.insert_block_after(targets[-1], block)
            else:
                targets.append(target)
        made.append(CondBranchOp.build(operands=[self.mask, [], []], successors=targets))
        block.insert_op_before(made[-1], self)
        Rewriter.erase_op(self)
        return tuple(made)


def _verify_target_id(text: str, chip: str) -> None:
    try:
        found = parse_target_id(text)
    except UnsupportedError as problem:
        raise VerifyException(str(problem)) from problem
    if found.chip != chip:
        raise VerifyException(f"target_id {text} is not one of {chip}")


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A kernel: its machine code, descriptor and metadata.

    The entry block's arguments are the registers that hold a value at the start, already
    allocated: kernarg segment pointer, work-group and work-item ids, scratch.
    Sizes in bytes. ``workgroup_ids`` and ``workitem_ids`` say how many dimensions (x, y, z)
    the hardware provides; ``max_workgroup_size`` in lanes; ``cluster_size`` in work-groups (x, y,
    z);
    ``named_barriers`` is the highest number of one that it uses.
    """

    name = "cdna.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    chip = prop_def(StringAttr)
    target_id = opt_prop_def(StringAttr)
    tgsplit = opt_prop_def(UnitAttr)
    arguments = prop_def(ArrayAttr[KernelArgumentAttr])
    group_segment_size = prop_def(_Number)
    private_segment_size = prop_def(_Number)
    workgroup_ids = prop_def(_Number)
    workitem_ids = prop_def(_Number)
    max_workgroup_size = prop_def(_Number)
    uses_scratch = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(ArrayAttr[IntegerAttr[I64]])
    named_barriers = opt_prop_def(_Number)
    body = region_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name attr-dict-with-keyword $body"

    def verify_(self) -> None:
        chip = self.chip.data
        if chip not in CHIPS:
            known = ", ".join(sorted(CHIPS))
            raise VerifyException(f"unknown chip '{chip}'; accepted: {known}")
        if self.target_id is not None:
            _verify_target_id(self.target_id.data, chip)
        if self.named_barriers is not None:
            _verify_named_barriers(self.named_barriers.value.data, chip)
        for block in self.body.blocks:
            for op in block.ops:
                if not isinstance(op, InstructionOp):
                    raise VerifyException(f"'{op.name}' is not a CDNA instruction")
                if chip not in op.row.chips:
                    raise VerifyException(f"{chip} has no {op.row.mnemonic}")


def _verify_named_barriers(highest: int, chip: str) -> None:
    barriers = CHIPS[chip].named_barriers
    if barriers is None:
        raise VerifyException(f"{chip} has no named barriers")
    if not 1 <= highest <= barriers.count:
        raise VerifyException(f"named barriers of {chip} are 1 to {barriers.count}, not {highest}")


def chip_of(kernel: KernelOp) -> ChipRow:
    """The row of a kernel's chip, which its verifier has seen to."""
    return CHIPS[kernel.chip.data]


def _row(mnemonic: str) -> InstructionRow:
    row = instruction(mnemonic)
    assert row is not None, mnemonic
    return row


_WAIT = _row("s_waitcnt")
_STORE_WAIT = _row("s_waitcnt_vscnt")
_SPLIT_WAIT = _row("s_wait_loadcnt")
_ASYNC_WAIT = _row("s_wait_asynccnt")
_BRANCH = _row("s_branch")
_CONDITIONAL_BRANCH = _row("s_cbranch_vccnz")
_MOVE_VECTOR = _row("v_mov_b32_e32")
_MOVE_SCALAR = _row("s_mov_b32")


CDNA = Dialect(
    "cdna",
    [*defined_in(globals())],
    [PhaseAttr, KernelArgumentAttr, VGPRType, SGPRType],
)


PLAIN = "plain"
"""Attribute of an access that is not of a flag, for any policy bits."""

INVARIANT = "invariant"
"""Attribute of a load from a location that no thread stores to while the program runs."""

ELECTS = "elects"
"""Attribute of a conditional branch: the number of the target that at most one wave of each
work-group of several goes to."""
