"""The passes ``import-mlir-sync`` and ``export-mlir-sync``: MLIR's own synchronisation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnregisteredOp,
    i1,
    i64,
)
from xdsl.dialects.llvm import LLVMVoidType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import DiagnosticException, VerifyException
from xdsl.utils.hints import isa

from fencewright.lowering.llvm.intrinsics.lookup import row_of as effect_of_intrinsic
from fencewright.lowering.llvm.intrinsics.nvvm_ptx import AS_PTX
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow
from fencewright.lowering.ptx.code.inline import read
from fencewright.lowering.ptx.code.statements import ACCESSES, SILENT, Statement
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.mlir_dialects import scoped, scoped_async
from fencewright.mlir_dialects.attributes import ADDRESS_SPACES, ORDERINGS, RMW_KINDS, SCOPES
from fencewright.mlir_dialects.llvm_ir.dialect import ACCESS
from fencewright.mlir_dialects.llvm_ir.inline_ptx import say, strong_access
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.scoped.foreign_ptx import (
    SEGMENTS,
    Integer,
    UnsaidError,
    constant_of,
    given_of,
    ptx_of,
    short,
    text_of_type,
    word_of,
)
from fencewright.passes.scoped.foreign_rows import (
    FLAGS,
    KIND_NUMBERS,
    NUMBER_OF,
    ORDERING_NUMBERS,
    PTX_ROWS,
    ROWS,
    SILENT_CALLS,
    SPACE_WORDS,
    SYNCSCOPES,
    ForeignRow,
    effect_of,
    is_silent,
    may_synchronise,
    remedy_of,
)

FOREIGN = "foreign"
"""The discardable attribute of an operation that was another dialect's: ``{name, properties}``,
with
``operands`` if those of ``scoped`` are others (for each its number, or the constant that it is) and
``type`` if that of the result is another: a compare-exchange's struct, the void of inline
assembly."""
_NAME = "op_name__"
"""The attribute in which xDSL keeps the name of an operation that is not registered."""
_MMRA = "llvm.mmra"
_TAG = re.compile(r'"([^"]*)"\s*:\s*"([^"]*)"')
_RELAXED = Ordering.RELAXED
_SYNCHRONIZE_AS = "amdgpu-synchronize-as"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operation that synchronises, and why ``scoped`` cannot say how; it is still there."""

    op: Operation
    reason: str

    def __str__(self) -> str:
        name = name_of(self.op)
        remedy = remedy_of(name)
        hint = f"; lower it with mlir-opt's {remedy} first" if remedy else ""
        return f"{name} synchronises, and {self.reason}{hint}"


@dataclass(frozen=True)
class ImportMLIRSyncPass(ModulePass):
    """Make ``scoped`` operations of those in MLIR's llvm, gpu, nvvm and rocdl dialects that
    synchronise.

    The rows of ``foreign_rows`` say which. Runs on modules in generic form whose dialects are not
    registered (``fence-opt --mlir-sync``). What is known not to synchronise stays as it is. PTX
    that is one ordered access which ``scoped`` has no operation for, as one under a predicate,
    stays and has ordering and scope noted (``llvm_ir.access``). What else synchronises is an error,
    or stays with ``keep``: passes move nothing over an operation that they do not know.
    ``export-mlir-sync`` is the way back.
    """

    name = "import-mlir-sync"
    keep: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refused = import_sync(op)
        if refused and not self.keep:
            message = str(refused[0])
            refused[0].op.emit_error(message, DiagnosticException(message))


def import_sync(module: ModuleOp) -> list[Refusal]:
    """Import all that can be; returns synchronising operations that cannot, in the order of the
    module."""
    refused: list[Refusal] = []
    for each in list(module.walk()):
        if not isinstance(each, UnregisteredOp):
            continue
        try:
            made = _understood(each)
            if isinstance(made, _Made):
                _replace(each, made)
            elif made is not None:
                each.attributes[ACCESS] = made
        except UnsaidError as problem:
            refused.append(Refusal(each, str(problem)))
    return refused


@dataclass(frozen=True, slots=True)
class _Made:
    """An operation of ``scoped`` before it is made."""

    op_type: type[Operation]
    operands: Sequence[SSAValue]
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]

    def create(self) -> Operation:
        """The operation. Raises ``UnsaidError`` if its verifier refuses it."""
        made = self.op_type.create(
            operands=self.operands, result_types=self.result_types, properties={**self.properties}
        )
        try:
            made.verify_()
        except VerifyException as problem:
            made.drop_all_references()
            raise UnsaidError(f"{self.op_type.name} cannot say it: {problem}") from problem
        return made


def _understood(op: UnregisteredOp) -> _Made | DictionaryAttr | None:
    """The equivalent of an operation in ``scoped``, or the note on an access that is text; None: no
    other thread synchronises by it.

    Raises ``UnsaidError`` for one that synchronises and cannot be said.
    """
    name = op.op_name.data
    if (row := ROWS.get(name)) is not None:
        return _by_row(op, row)
    if (ptx := PTX_ROWS.get(name)) is not None:
        places = ",".join(["r"] * (len(op.operands) + len(op.results)))
        return _by_ptx(op, ptx_of(op, ptx), places)
    if name == _ASSEMBLY:
        return _by_assembly(op)
    if name == "llvm.call_intrinsic":
        return _by_intrinsic(op)
    if name == "nvvm.inline_ptx":
        return _by_inline_ptx(op)
    if not may_synchronise(name) or is_silent(name) or _calls_silently(op, effect_of(name)):
        return None
    raise UnsaidError("scoped has no word for it")


# By a row of its own


def _by_row(op: UnregisteredOp, row: ForeignRow) -> _Made | None:
    properties = _properties(op, row)
    if properties is None:
        return None
    if row.op is scoped.CmpxchgOp:
        _parts(op)
        types: Sequence[Attribute] = (op.operands[1].type, i1)
    else:
        types = [each.type for each in op.results]
    return _Made(row.op, op.operands, types, properties)


def _properties(op: UnregisteredOp, row: ForeignRow) -> dict[str, Attribute] | None:
    """The properties of an operation in ``scoped``; None for a weak access."""
    said = op.properties
    if row.meaning is not None:
        return _meaning(op, row)
    ordering = _ordering(said, row.ordering)
    if ordering is Ordering.WEAK:
        return None
    _refuse_others(said, row, {row.ordering, row.failure})
    name = said.get("syncscope", StringAttr(""))
    known = SYNCSCOPES.get(name.data or None) if isinstance(name, StringAttr) else None
    if known is None:
        raise UnsaidError(f"nothing is known of its syncscope {name}")
    scope, one_as = known
    made: dict[str, Attribute] = {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}
    if one_as:
        made["one_as"] = UnitAttr()
    if row.failure is not None:
        made["failure_ordering"] = ORDERINGS[_ordering(said, row.failure)]
    if "bin_op" in said:
        kind = KIND_NUMBERS.get(int(word_of("bin_op", said["bin_op"])))
        if kind is None:
            raise UnsaidError("scoped has no word for its read-modify-write")
        made["kind"] = RMW_KINDS[kind]
    if isinstance(alignment := said.get("alignment"), IntegerAttr):
        made["alignment"] = IntegerAttr(alignment.value.data, i64)
    made.update({flag.removesuffix("_"): UnitAttr() for flag in FLAGS if flag in said})
    if row.op is scoped.FenceOp and _MMRA in op.attributes:
        made["spaces"] = _spaces_of(_relaxed_to(op.attributes[_MMRA]))
    return made


def _meaning(op: UnregisteredOp, row: ForeignRow) -> dict[str, Attribute]:
    assert row.meaning is not None
    _refuse_others(op.properties, row, {str(row.spaces)})
    if op.operands or op.results:
        raise UnsaidError("scoped has no word for its operands and results")
    ordering, scope = row.meaning
    spaces = row.spaces
    if isinstance(spaces, str):
        listed = op.properties.get(spaces)
        spaces = ()
        if isa(listed, ArrayAttr[Attribute]):
            spaces = tuple(_space(word_of("", each)) for each in listed)
            ordering = ordering if spaces else Ordering.RELAXED
    made: dict[str, Attribute] = {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}
    return {**made, "spaces": _spaces_of(spaces)} if spaces else made


def _refuse_others(said: Mapping[str, Attribute], row: ForeignRow, own: set[str | None]) -> None:
    for name, each in said.items():
        is_only = name in row.only and word_of(name, each) == row.only[name]
        if name not in row.kept and name not in own and not is_only:
            raise UnsaidError(f"scoped has no word for its {name}")


def _ordering(said: Mapping[str, Attribute], name: str | None) -> Ordering:
    number = said.get(name or "")
    value = number.value.data if isinstance(number, IntegerAttr) else 0
    if value not in ORDERING_NUMBERS:
        raise UnsaidError(f"there is no {name} {value}")
    return ORDERING_NUMBERS[value]


def _relaxed_to(tags: Attribute) -> tuple[AddressSpace, ...]:
    """The address spaces that LLVM's tags restrict a fence to."""
    found = _TAG.findall(str(tags))
    if not found or any(prefix != _SYNCHRONIZE_AS for prefix, _ in found):
        raise UnsaidError(f"scoped has no word for its {_MMRA} {tags}")
    return tuple(_space(suffix) for _, suffix in found)


def _space(word: str) -> AddressSpace:
    if word not in SPACE_WORDS:
        raise UnsaidError(f"scoped has no word for the address space '{word}'")
    return SPACE_WORDS[word]


def _spaces_of(spaces: Sequence[AddressSpace]) -> ArrayAttr[Attribute]:
    return ArrayAttr(ADDRESS_SPACES[each] for each in dict.fromkeys(spaces))


def _parts(op: Operation) -> list[tuple[Operation, int]]:
    """The operations that extract each half of the struct of a compare-exchange."""
    parts: list[tuple[Operation, int]] = []
    for use in op.results[0].uses:
        user = use.operation
        position = user.properties.get("position")
        numbers = [*position.iter_values()] if isinstance(position, DenseArrayBase) else []
        if name_of(user) != _EXTRACT or numbers not in ([0], [1]):
            raise UnsaidError("its struct is used as a whole; take its values out of it")
        parts.append((user, int(numbers[0])))
    return parts


_EXTRACT = "llvm.extractvalue"


def name_of(op: Operation) -> str:
    """The name of an operation, of whichever dialect."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


# As PTX


def _by_ptx(op: UnregisteredOp, text: str, constraints: str) -> _Made | DictionaryAttr | None:
    """By one statement, or the note on it; None if no other thread could notice the text."""
    statements = read(text, constraints)
    if statements is None:
        raise UnsaidError(f"'{short(text)}' is not understood")
    heard = [each for each in statements if each.kind not in SILENT]
    if all(each.kind in ACCESSES and not each.is_strong for each in heard):
        return None
    if len(heard) > 1:
        raise UnsaidError(f"scoped has no one operation for '{short(text)}'")
    try:
        return _by_statement(op, heard[0])
    except UnsaidError:
        # As in LLVM IR: what it orders, and for whom, is known of an access that stays text.
        noted = strong_access(heard[0]) if _stays(op) else None
        if noted is None:
            raise
        return DictionaryAttr(noted)


def _stays(op: UnregisteredOp) -> bool:
    """True if LLVM keeps the result of the conversion in its place among others that it keeps."""
    return op.op_name.data != _ASSEMBLY or "has_side_effects" in op.properties


_ASSEMBLY = "llvm.inline_asm"


def _by_statement(op: UnregisteredOp, statement: Statement) -> _Made:
    if statement.guard:
        raise UnsaidError(f"scoped has no word for the predicate of '{short(str(statement))}'")
    types = [each.type for each in op.results if each.type != _VOID]
    given = [given_of(each) for each in op.operands]
    said = say(statement, given, text_of_type(types[0]) if types else "void")
    if said is None:
        is_open = any(
            isinstance(each.type, IntegerType) and not constant_of(each) for each in op.operands
        )
        hint = " (numbers and sizes must be constants)" if is_open else ""
        raise UnsaidError(f"scoped has no word for '{short(str(statement))}'{hint}")
    if types != ([] if said.result is None else [said.result]):
        raise UnsaidError("scoped has no word for its result")
    operands = [op.operands[int(place[1:]) - len(types)] for place in said.operands]
    properties = {name: each for name, each in said.properties.items() if each is not None}
    return _Made(said.op_type, operands, types, properties)


_VOID = LLVMVoidType()
"""The result of inline assembly that has none."""


def _by_assembly(op: UnregisteredOp) -> _Made | DictionaryAttr | None:
    text, constraints = op.properties.get("asm_string"), op.properties.get("constraints")
    if not isinstance(text, StringAttr) or not isinstance(constraints, StringAttr):
        raise UnsaidError("it has no asm_string and constraints")
    return _by_ptx(op, text.data, constraints.data)


def _by_inline_ptx(op: UnregisteredOp) -> _Made | DictionaryAttr | None:
    """As MLIR writes it: first its results (``{$w0}``), then its operands (``{$r0}``), then its
    predicate, which goes before the text."""
    text, segments = op.properties.get("ptxCode"), op.properties.get(SEGMENTS)
    sizes = (
        [int(each) for each in segments.iter_values()]
        if isinstance(segments, DenseArrayBase)
        else []
    )
    if not isinstance(text, StringAttr) or len(sizes) != 3:
        raise UnsaidError("its operands are others than those of MLIR 22")
    read, written, guarded = sizes
    if written:
        raise UnsaidError("scoped has no word for operands that it writes")
    first = {"w": 0, "r": len(op.results)}
    said = _INLINE_PLACE.sub(lambda each: f"${first[each[1]] + int(each[2])}", text.data)
    if guarded:
        said = f"@${len(op.results) + read} {said}"
    return _by_ptx(op, said, ",".join(["r"] * (len(op.operands) + len(op.results))))


_INLINE_PLACE = re.compile(r"\{\$([wr])(\d+)\}")


def _by_intrinsic(op: UnregisteredOp) -> _Made | DictionaryAttr | None:
    name = op.properties.get("intrin")
    if not isinstance(name, StringAttr):
        raise UnsaidError("it has no intrin")
    if (text := AS_PTX.get(name.data)) is not None:
        return _by_ptx(op, text, ",".join(["r"] * (len(op.operands) + len(op.results))))
    effect = effect_of_intrinsic(name.data)
    if effect is None or _calls_silently(op, effect):
        return None
    if effect.kind is CallKind.BARRIER:
        properties = {"ordering": ORDERINGS[_RELAXED], "scope": SCOPES[Scope.WORKGROUP]}
        return _Made(scoped.BarrierOp, (), (), properties)
    raise UnsaidError(f"scoped has no word for {name.data}")


def _calls_silently(op: UnregisteredOp, effect: EffectRow | None) -> bool:
    """True if the function that an operation calls is known not to synchronise."""
    if effect is None or effect.kind not in SILENT_CALLS:
        return False
    if effect.plain_if is None:
        return True
    policy = constant_of(op.operands[effect.plain_if.operand])
    return policy is not None and not policy.value.data & effect.plain_if.mask


def _replace(op: UnregisteredOp, said: _Made) -> None:
    """Put the operation of ``scoped`` in the place of another dialect's."""
    made = said.create()
    kept: dict[str, Attribute] = {"name": op.op_name, "properties": DictionaryAttr(op.properties)}
    if [*said.operands] != [*op.operands]:
        kept["operands"] = ArrayAttr(_kept_operand(said.operands, each) for each in op.operands)
    made.attributes = {name: each for name, each in op.attributes.items() if name != _NAME}
    made.location = op.location
    if not isinstance(made, scoped.CmpxchgOp):
        if len(made.results) < len(op.results):
            kept["type"] = op.results[0].type
        made.attributes[FOREIGN] = DictionaryAttr(kept)
        Rewriter.replace_op(op, made, made.results or [None] * len(op.results))
        return
    made.attributes[FOREIGN] = DictionaryAttr({**kept, "type": op.results[0].type})
    block_of(op).insert_op_before(made, op)
    for part, number in _parts(op):
        part.results[0].replace_all_uses_with(made.results[number])
        Rewriter.erase_op(part)
    Rewriter.erase_op(op)


def _kept_operand(operands: Sequence[SSAValue], value: SSAValue) -> Attribute:
    """An operand's number among those of ``scoped``, or the constant that it is."""
    if value in operands:
        return IntegerAttr([*operands].index(value), IndexType())
    constant = constant_of(value)
    if constant is None:
        raise UnsaidError("an operand that scoped does not have is no constant")
    return constant


# The way back


@dataclass(frozen=True)
class ExportMLIRSyncPass(ModulePass):
    """Give ``scoped`` operations back to the dialects that they came from, as they are now.

    The way back from ``import-mlir-sync``. What no pass has changed is what it was; constants that
    are properties in ``scoped`` are made anew. Raises ``DiagnosticException`` at an operation that
    did not come from another dialect, or that a pass has changed into what that dialect cannot say.
    Notes on what stayed go.
    """

    name = "export-mlir-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, (scoped.ScopedOperation, scoped_async.AsyncOperation)):
                _export(each)
            elif isinstance(each, UnregisteredOp):
                each.attributes.pop(ACCESS, None)


def _export(op: Operation) -> None:
    kept = op.attributes.get(FOREIGN)
    if not isinstance(kept, DictionaryAttr):
        _refuse(op, "it did not come from another dialect by import-mlir-sync")
    name, properties = kept.data["name"], kept.data["properties"]
    assert isinstance(name, StringAttr)
    assert isinstance(properties, DictionaryAttr)
    said = dict(properties.data)
    attributes = {each: op.attributes[each] for each in op.attributes if each != FOREIGN}
    row = ROWS.get(name.data)
    if row is not None and isinstance(op, scoped.ScopedOperation):
        _write(op, row, said, attributes)
    type_ = kept.data.get("type")
    types = [each.type for each in op.results] if type_ is None else [type_]
    operands = _operands(op, kept.data.get("operands"))
    made = UnregisteredOp.with_name(name.data).create(
        operands=operands, result_types=types, properties=said, attributes=attributes
    )
    made.location = op.location
    assert isinstance(made, UnregisteredOp)
    again = _understood(made)
    if not isinstance(again, _Made) or dict(again.properties) != op.properties:
        _refuse(op, f"a pass has changed it into what {name.data} cannot say")
    if not isinstance(op, scoped.CmpxchgOp):
        Rewriter.replace_op(op, made, made.results[: len(op.results)])
        return
    block_of(op).insert_op_before(made, op)
    for number, result in enumerate(op.results):
        if result.first_use:
            part = UnregisteredOp.with_name(_EXTRACT).create(
                operands=made.results,
                result_types=[result.type],
                properties={"position": DenseArrayBase.from_list(i64, [number])},
            )
            block_of(op).insert_op_before(part, op)
            result.replace_all_uses_with(part.results[0])
    Rewriter.erase_op(op)


def _operands(op: Operation, kept: Attribute | None) -> Sequence[SSAValue]:
    """The operands that the operation had, its constants made before ``op``."""
    if not isa(kept, ArrayAttr[Integer]):
        return op.operands
    operands: list[SSAValue] = []
    for each in kept:
        if each.type == IndexType():
            operands.append(op.operands[each.value.data])
            continue
        constant = UnregisteredOp.with_name("llvm.mlir.constant").create(
            result_types=[each.type], properties={"value": each}
        )
        block_of(op).insert_op_before(constant, op)
        operands += constant.results
    return operands


def _write(
    op: scoped.ScopedOperation,
    row: ForeignRow,
    said: dict[str, Attribute],
    attributes: dict[str, Attribute],
) -> None:
    """Note ordering, scope and address spaces where they are others than they were."""
    if isinstance(row.spaces, str) and op.spaces is None and op.ordering.data is not _RELAXED:
        said.pop(row.spaces, None)
        attributes.pop(row.spaces, None)
    if row.ordering is None:
        return
    changed = _write_ordering(said, row.ordering, op.ordering.data)
    if isinstance(op, scoped.CmpxchgOp) and row.failure is not None:
        changed |= _write_ordering(said, row.failure, op.failure_ordering.data)
    if changed and row.spaces != _MMRA:
        attributes.pop(_MMRA, None)
    scope = (op.scope.data if op.scope else None, "one_as" in op.properties)
    name = said.get("syncscope", StringAttr(""))
    assert isinstance(name, StringAttr)
    if SYNCSCOPES[name.data or None] != scope:
        said["syncscope"] = StringAttr(
            next(name for name, each in SYNCSCOPES.items() if each == scope) or ""
        )


def _write_ordering(said: dict[str, Attribute], name: str, ordering: Ordering) -> bool:
    """Note an ordering by its number; whether it is another than it was."""
    if _ordering(said, name) is ordering:
        return False
    said[name] = IntegerAttr(NUMBER_OF[ordering], i64)
    return True


def _refuse(op: Operation, reason: str) -> NoReturn:
    message = f"{op.name} cannot be given back: {reason}"
    op.emit_error(message, DiagnosticException(message))
