"""The ``llvm_ir`` dialect: LLVM IR carried through xDSL, one opaque operation per instruction.

An instruction keeps LLVM's own text; only the places of its operands and successors are
cut out of it, so that other operations can be put before, after or in place of it without
anyone here knowing what it means. Memory accesses, atomics and fences do not appear here:
they are ``scoped`` operations in between, and ``cdna`` ones once they are lowered for CDNA, which
LLVM gets as inline assembly.

    llvm_ir.top_level "target triple = \\"amdgcn-amd-amdhsa\\""
    llvm_ir.func "define amdgpu_kernel void @{@}(ptr addrspace(1) {0}) #0" @k {
    ^entry(%p : !llvm.ptr<1>):
      llvm_ir.label "entry"
      %one = llvm_ir.constant "1" : i32
      %v = scoped.load acquire agent %p {alignment = 4} : !llvm.ptr<1> -> i32
      %w = llvm_ir.inst "add i32 {0}, 1"(%v) : (i32) -> i32
      llvm_ir.terminator "br label {^0}"() [^exit] : () -> ()
    ...

In a template ``{N}`` is the place of operand N, ``{^N}`` of successor N, ``{@}`` of the
symbol, and ``{{`` is a brace where a single one would begin a place. Source of the
syntax that is carried: LLVM 22 LangRef, as LLVM's own printer writes it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    SymbolNameConstraint,
    VectorType,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from fencewright.mlir_dialects.leaf_operation import LeafOperation, QuickOperation, defined_in

# Templates

_PLACE = re.compile(r"\{\{|\{(\^?)([0-9]{1,9})\}|\{(@)\}")
_AMBIGUOUS_BRACE = re.compile(r"\{(?=[0-9^@{%])")


def escape(text: str) -> str:
    """``text`` as it is written in a template: braces that would begin a place are doubled."""
    return _AMBIGUOUS_BRACE.sub("{{", text) if "{" in text else text


@dataclass(frozen=True, slots=True)
class Template:
    """A template taken apart: literal text, operand numbers, ``~n`` for successor n, None:
    symbol."""

    pieces: tuple[str | int | None, ...]
    operands: int
    successors: int

    def fill(
        self, operands: Sequence[str] = (), successors: Sequence[str] = (), symbol: str = ""
    ) -> str:
        """The text with every place filled in."""
        return "".join([
            piece
            if isinstance(piece, str)
            else symbol
            if piece is None
            else operands[piece]
            if piece >= 0
            else successors[~piece]
            for piece in self.pieces
        ])  # fmt: skip


@lru_cache(maxsize=1 << 16)
def parse_template(text: str) -> Template:
    """Take ``text`` apart. Operands and successors are counted by their greatest number."""
    pieces: list[str | int | None] = []
    operands = successors = end = 0
    for place in _PLACE.finditer(text):
        if place.start() > end:
            pieces.append(text[end : place.start()])
        end = place.end()
        if place[3]:
            pieces.append(None)
        elif place[2] is None:
            pieces.append("{")
        elif place[1]:
            pieces.append(~int(place[2]))
            successors = max(successors, int(place[2]) + 1)
        else:
            pieces.append(int(place[2]))
            operands = max(operands, int(place[2]) + 1)
    pieces.append(text[end:])
    return Template(tuple(pieces), operands, successors)


# Types


@irdl_attr_definition
class OpaqueType(ParametrizedAttribute, TypeAttribute):
    """An LLVM type without a counterpart among the builtin types:
    ``!llvm_ir.type<"{ i32, i1 }">``."""

    name = "llvm_ir.type"

    text: StringAttr


_FLOATS: dict[str, Attribute] = {
    "half": Float16Type(),
    "bfloat": BFloat16Type(),
    "float": Float32Type(),
    "double": Float64Type(),
}
_FLOAT_NAMES = {attribute: name for name, attribute in _FLOATS.items()}

_SCALAR = r"i[0-9]+|half|bfloat|float|double|ptr(?: addrspace\([0-9]+\))?"
SIMPLE_TYPE = rf"(?:{_SCALAR}|<[0-9]+ x (?:{_SCALAR})>)"
"""Regular expression of the LLVM types that have a counterpart among the builtin types."""

_POINTER = re.compile(r"ptr(?: addrspace\(([0-9]+)\))?")
_VECTOR = re.compile(rf"<([0-9]+) x ({_SCALAR})>")


@cache
def type_from_text(text: str) -> Attribute:
    """The type that LLVM writes as ``text``; an :class:`OpaqueType` if it has no counterpart."""
    if text in _FLOATS:
        return _FLOATS[text]
    if re.fullmatch("i[0-9]+", text):
        return IntegerType(int(text[1:]))
    if pointer := _POINTER.fullmatch(text):
        return LLVMPointerType(IntAttr(int(pointer[1])) if pointer[1] else NoneAttr())
    if vector := _VECTOR.fullmatch(text):
        return VectorType(type_from_text(vector[2]), (int(vector[1]),))
    return OpaqueType(StringAttr(text))


@cache
def type_to_text(type: Attribute) -> str:
    """LLVM's text of ``type``. Raises ``VerifyException`` for a type that LLVM IR lacks."""
    match type:
        case OpaqueType():
            return type.text.data
        case IntegerType() if type.signedness.data is Signedness.SIGNLESS:
            return f"i{type.width.data}"
        case LLVMPointerType():
            space = type.addr_space.data if isinstance(type.addr_space, IntAttr) else 0
            return f"ptr addrspace({space})" if space else "ptr"
        case VectorType() if len(type.get_shape()) == 1 and not type.get_num_scalable_dims():
            return f"<{type.get_shape()[0]} x {type_to_text(type.element_type)}>"
        case _ if type in _FLOAT_NAMES:
            return _FLOAT_NAMES[type]
        case _:
            raise VerifyException(f"{type} cannot be written in LLVM IR")


# Operations

ACCESS = "llvm_ir.access"
"""The discardable attribute of an ``llvm_ir.inst`` that is one access in the generic proxy, or
several weak ones, perhaps under a predicate: ``{ordering, scope}``, with ``update`` if it is one
atomic read-modify-write."""

NO_ACCESS = "llvm_ir.no_access"
"""The discardable attribute of a call that, as LLVM knows, touches no memory: ``memory(none)``."""

LOWERED_FOR = "llvm_ir.lowered_for"
"""The discardable attribute of a function that has been lowered for CDNA: see ``FuncOp``."""

ASM = "llvm_ir.asm"
"""The discardable attribute of an operation that a call was: ``{text, was}``, a template of the
text and the properties that it stands for."""

METADATA = "llvm_ir.metadata"
"""The discardable attribute of ``scoped`` operations that keeps their LLVM metadata as text."""

UNORDERED = "llvm_ir.unordered"
"""The discardable attribute of a weak access that is ``unordered`` to LLVM, with the name of its
syncscope.

Its value comes and goes as a weak one's, but it is an atomic, through which fences may synchronise.
Source: LLVM LangRef, Atomic Memory Ordering Constraints and fence."""


PURE_OPCODES = frozenset(
    "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fneg fadd fsub fmul fdiv frem "
    "icmp fcmp select getelementptr extractelement insertelement shufflevector extractvalue "
    "insertvalue trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr "
    "inttoptr bitcast addrspacecast".split()
)
"""Instructions that are a function of their operands alone."""

_DEBUG_RECORDS = frozenset(
    f"#dbg_{name}" for name in ("assign", "declare", "declare_value", "label", "value")
)
"""Source: LLVM SourceLevelDebugging, "Debug records"."""

_NO_ACCESS_OPCODES = PURE_OPCODES | frozenset("phi freeze alloca br ret switch unreachable".split())
"""Instructions that touch no memory."""


class _Effects(MemoryEffect):
    """None for arithmetic; any other operation may have any effect."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        return set() if isinstance(op, InstOp) and op.opcode in PURE_OPCODES else None


@lru_cache(maxsize=1 << 16)
def _opcode_of(text: str) -> str:
    return re.split(r"[ (]", text, maxsplit=1)[0]


class _TemplateOperation(QuickOperation):
    """The base of operations with a template: its parts are checked, parsed and printed alike."""

    @property
    def template(self) -> Template:
        """The text of the operation taken apart."""
        text = self.properties["text"]
        assert isinstance(text, StringAttr)
        return parse_template(text.data)

    @property
    def opcode(self) -> str:
        """LLVM's name of the instruction; ``#dbg_value`` and the like for debug records."""
        text = self.properties["text"]
        assert isinstance(text, StringAttr)
        return _opcode_of(text.data)

    @property
    def may_access_memory(self) -> bool:
        """True where the instruction can touch memory: not arithmetic, phis, branches, debug
        records."""
        if NO_ACCESS in self.attributes:
            return False
        return not (self.opcode in _NO_ACCESS_OPCODES or self.is_debug_record)

    @property
    def is_debug_record(self) -> bool:
        """True of a record of debug information, which is no instruction."""
        return self.opcode in _DEBUG_RECORDS

    def verify_(self) -> None:
        template = self.template
        _check_count("operand", template.operands, len(self.operands))
        _check_count("successor", template.successors, len(self.successors))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        text = StringAttr(parser.parse_str_literal())
        start = parser.pos
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        successors = parser.parse_optional_successors() or ()
        attributes = parser.parse_optional_attr_dict()
        type = _parse_function_type(parser)
        return cls.create(
            operands=parser.resolve_operands(names, type.inputs.data, start),
            result_types=type.outputs.data,
            successors=successors,
            properties={"text": text},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        text = self.properties["text"]
        assert isinstance(text, StringAttr)
        printer.print_string(" ")
        printer.print_string_literal(text.data)
        printer.print_operands(self.operands)
        printer.print_successors(self.successors)
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


def _check_count(what: str, places: int, given: int) -> None:
    if places != given:
        raise VerifyException(f"the text has places for {places} {what}s, but {given} are given")


@irdl_op_definition
class TopLevelOp(QuickOperation):
    """One line of a module outside of function bodies: a global, declaration, metadata node ..."""

    name = "llvm_ir.top_level"

    text = prop_def(StringAttr)

    assembly_format = "$text attr-dict"

    def __init__(self, text: str):
        super().__init__(properties={"text": StringAttr(text)})


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function with a body: its header as a template, arguments being those of the entry
    block."""

    name = "llvm_ir.func"

    text = prop_def(StringAttr)
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def()

    assembly_format = "$text $sym_name $body attr-dict"

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, text: str, symbol: str, body: Region):
        super().__init__(
            properties={"text": StringAttr(text), "sym_name": StringAttr(symbol)}, regions=[body]
        )

    def verify_(self) -> None:
        if not self.body.blocks:
            raise VerifyException("a function without a body is an llvm_ir.top_level declaration")
        template = parse_template(self.text.data)
        if None not in template.pieces:
            raise VerifyException("the header has no place for the symbol: write {@}")
        _check_count("argument", template.operands, len(self.body.blocks[0].args))
        noted = self.attributes.get(LOWERED_FOR)
        if noted is not None:
            _options_of(noted)

    @property
    def lowered_for(self) -> dict[str, Any] | None:
        """The options that it has been lowered for, as in ``lowering.lower.lower``; None if it has
        not."""
        noted = self.attributes.get(LOWERED_FOR)
        return None if noted is None else _options_of(noted)

    def set_lowered_for(self, options: Mapping[str, Any]) -> None:
        """Note that it has been lowered; of ``options`` the strings, and the features."""
        words = {name: StringAttr(each) for name, each in options.items() if isinstance(each, str)}
        features = ArrayAttr([StringAttr(each) for each in options[_FEATURES]])
        self.attributes[LOWERED_FOR] = DictionaryAttr({**words, _FEATURES: features})


_FEATURES = "features"


def _options_of(noted: Attribute) -> dict[str, Any]:
    """The options that an attribute has; raises ``VerifyException`` for one of another form."""
    data: Mapping[str, Attribute] = noted.data if isinstance(noted, DictionaryAttr) else {}
    words = {name: each.data for name, each in data.items() if isinstance(each, StringAttr)}
    features = data.get(_FEATURES)
    if isinstance(features, ArrayAttr) and "target" in words and len(words) + 1 == len(data):
        listed = cast(ArrayAttr[Attribute], features).data
        switches = tuple([each.data for each in listed if isinstance(each, StringAttr)])
        if len(switches) == len(listed):
            return {**words, _FEATURES: switches}
    raise VerifyException(
        f'{LOWERED_FOR} says what for, as {{target = "gfx942", features = ["tgsplit"]}}'
    )


@irdl_op_definition
class LabelOp(QuickOperation):
    """The name of the block, by which phis and blockaddresses know it; first in its block."""

    name = "llvm_ir.label"

    text = prop_def(StringAttr)

    assembly_format = "$text attr-dict"

    def __init__(self, text: str):
        super().__init__(properties={"text": StringAttr(text)})

    @property
    def may_access_memory(self) -> bool:
        """That it cannot: it is no instruction."""
        return False

    def verify_(self) -> None:
        if self.prev_op is not None:
            raise VerifyException("a label is the first operation of its block")


@irdl_op_definition
class ConstantOp(QuickOperation):
    """A constant, a global or an expression of them, as LLVM writes it without its type."""

    name = "llvm_ir.constant"

    text = prop_def(StringAttr)
    result = result_def()

    assembly_format = "$text `:` type($result) attr-dict"

    traits = traits_def(Pure())


@irdl_op_definition
class PackOp(QuickOperation):
    """The two results of a ``scoped.cmpxchg`` as the one struct that LLVM's cmpxchg returns."""

    name = "llvm_ir.pack"

    old = operand_def()
    success = operand_def(IntegerType(1))
    result = result_def(OpaqueType)

    assembly_format = "$old `,` $success `:` type($old) `->` type($result) attr-dict"

    traits = traits_def(Pure())


@irdl_op_definition
class AwaitOp(LeafOperation):
    """LLVM waits until a value that memory gives is there: it is used, and nothing is done with
    it."""

    name = "llvm_ir.await"

    value = operand_def()

    assembly_format = "$value `:` type($value) attr-dict"


@irdl_op_definition
class ClobberOp(LeafOperation):
    """LLVM takes all memory that others can reach for changed; no instruction implements it."""

    name = "llvm_ir.clobber"

    assembly_format = "attr-dict"


@irdl_op_definition
class SliceOp(LeafOperation):
    """Instructions that touch no memory, one after another, which are known to a text alone.

    Whoever has read them has their lines. What others use of their values has no operation.
    """

    name = "llvm_ir.slice"

    assembly_format = "attr-dict"

    traits = traits_def(Pure())


@irdl_op_definition
class BodyOp(LeafOperation):
    """All instructions of a function that does not synchronise, known to a text alone."""

    name = "llvm_ir.body"

    assembly_format = "attr-dict"

    traits = traits_def(IsTerminator())


@irdl_op_definition
class InstOp(_TemplateOperation):
    """An instruction, or a debug record, that is carried as it is."""

    name = "llvm_ir.inst"

    text = prop_def(StringAttr)
    arguments = var_operand_def()
    result = opt_result_def()

    traits = traits_def(_Effects())

    def __init__(
        self, text: str, operands: Sequence[SSAValue] = (), result_type: Attribute | None = None
    ):
        super().__init__(
            operands=[operands], result_types=[result_type], properties={"text": StringAttr(text)}
        )


@irdl_op_definition
class TerminatorOp(_TemplateOperation):
    """The last instruction of a block, with the blocks that may follow."""

    name = "llvm_ir.terminator"

    text = prop_def(StringAttr)
    arguments = var_operand_def()
    result = opt_result_def()
    targets = var_successor_def()

    traits = traits_def(IsTerminator())


def _parse_function_type(parser: Parser) -> FunctionType:
    parser.parse_punctuation(":")
    start = parser.pos
    type = parser.parse_type()
    if not isinstance(type, FunctionType):
        parser.raise_error("expected the types of operands and result: (..) -> ..", start)
    return type


LLVMIR = Dialect(
    "llvm_ir",
    [*defined_in(globals())],
    [OpaqueType],
)


def text_of(op: Operation) -> str | None:
    """The template of the call that ``op`` was, if it still has the operands of the call."""
    kept = op.attributes.get(ASM)
    if not isinstance(kept, DictionaryAttr):
        return None
    text, was = kept.data.get("text"), kept.data.get("was")
    if not isinstance(text, StringAttr) or not isinstance(was, DictionaryAttr):
        return None
    return text.data if op.properties == dict(was.data) else None


DEBUG_LOCATION = re.compile(r"!dbg ![0-9]+")
"""The place of an instruction in its source, as LLVM writes it."""


def debug_location(op: Operation) -> str | None:
    """The ``!dbg`` of the instruction that ``op`` was."""
    metadata = op.attributes.get(METADATA)
    place = DEBUG_LOCATION.search(metadata.data) if isinstance(metadata, StringAttr) else None
    return place[0] if place else None


def debug_attributes(op: Operation) -> dict[str, Attribute]:
    """The attributes of an operation at the debug location of ``op``."""
    line = debug_location(op)
    return {METADATA: StringAttr(line)} if line else {}
