"""The passes ``import-mlir-sync`` and ``export-mlir-sync``: what synchronises in MLIR's own dialects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnregisteredAttr,
    UnregisteredOp,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from fencewright.lowering.vocabulary import Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, RMW_KINDS, SCOPES
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.scoped.foreign_rows import (
    FLAGS,
    KIND_NUMBERS,
    NUMBER_OF,
    ORDERING_NUMBERS,
    ROWS,
    SCOPE_WORDS,
    SYNCSCOPES,
    ForeignRow,
)

FOREIGN = "foreign"
"""The discardable attribute of an operation that was another dialect's: its properties."""
_NAME = "op_name__"
"""Where xDSL keeps the name of an operation that is not registered."""
_TYPE = "foreign_type"
"""That of a compare-exchange which keeps the type of its struct."""


@dataclass(frozen=True)
class ImportMLIRSyncPass(ModulePass):
    """Make ``scoped`` operations of those in MLIR's llvm, gpu, nvvm and rocdl dialects that synchronise.

    The rows of ``foreign_rows`` say which. Runs on modules in generic form whose dialects are not
    registered (``fence-opt --mlir-sync``). Weak accesses, and whatever ``scoped`` cannot say, stay
    as they are; so does a compare-exchange whose struct is used as a whole. ``export-mlir-sync`` is
    the way back.
    """

    name = "import-mlir-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, UnregisteredOp) and (row := ROWS.get(each.op_name.data)):
                _import(each, row)


def _import(op: UnregisteredOp, row: ForeignRow) -> None:
    properties = _properties(op, row)
    if properties is None:
        return
    made = row.op.create(
        operands=op.operands,
        result_types=_result_types(op),
        properties=properties,
        attributes={name: each for name, each in op.attributes.items() if name != _NAME},
    )
    try:
        made.verify_()
    except VerifyException:
        made.drop_all_references()
        return
    made.attributes[FOREIGN] = DictionaryAttr({"name": op.op_name, **op.properties})
    made.location = op.location
    if isinstance(made, scoped.CmpxchgOp):
        parts = _parts(op)
        if parts is None:
            made.drop_all_references()
            return
        made.attributes[_TYPE] = op.results[0].type
        block_of(op).insert_op_before(made, op)
        for part, number in parts:
            part.results[0].replace_all_uses_with(made.results[number])
            Rewriter.erase_op(part)
        Rewriter.erase_op(op)
        return
    Rewriter.replace_op(op, made, made.results)


def _result_types(op: Operation) -> tuple[Attribute, ...]:
    """The types in ``scoped``: a compare-exchange gives what it found, and whether it succeeded."""
    if ROWS[_name_of(op)].op is scoped.CmpxchgOp:
        return (op.operands[1].type, i1)
    return tuple(each.type for each in op.results)


def _properties(op: UnregisteredOp, row: ForeignRow) -> dict[str, Attribute] | None:
    """The properties of the operation in ``scoped``; None where that has no words for it."""
    said = op.properties
    own = {row.ordering, row.failure}
    if not said.keys() <= row.kept | own or (row.meaning is not None and op.operands):
        return None
    if row.meaning is not None:
        ordering, scope = row.meaning
        if scope is None:
            word = said.get("scope")
            scope = SCOPE_WORDS.get(word.value.data) if isinstance(word, UnregisteredAttr) else None
        if scope is None:
            return None
        return {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}
    name = said.get("syncscope", StringAttr(""))
    known = SYNCSCOPES.get(name.data or None) if isinstance(name, StringAttr) else None
    ordering = _ordering(said.get(row.ordering or ""))
    if known is None or ordering in (None, Ordering.WEAK):
        return None
    scope, one_as = known
    made: dict[str, Attribute] = {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}
    if one_as:
        made["one_as"] = UnitAttr()
    if row.failure is not None:
        failure = _ordering(said.get(row.failure))
        if failure is None:
            return None
        made["failure_ordering"] = ORDERINGS[failure]
    if "bin_op" in said:
        kind = KIND_NUMBERS.get(_number(said["bin_op"]))
        if kind is None:
            return None
        made["kind"] = RMW_KINDS[kind]
    if isinstance(alignment := said.get("alignment"), IntegerAttr):
        made["alignment"] = IntegerAttr(alignment.value.data, i64)
    made.update({flag.removesuffix("_"): UnitAttr() for flag in FLAGS if flag in said})
    return made


def _ordering(number: Attribute | None) -> Ordering | None:
    return ORDERING_NUMBERS.get(_number(number))


def _number(attribute: Attribute | None) -> int:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else -1


def _parts(op: Operation) -> list[tuple[Operation, int]] | None:
    """What takes each half out of the struct of ``op``; None if something else uses it."""
    parts: list[tuple[Operation, int]] = []
    for use in op.results[0].uses:
        user = use.operation
        position = user.properties.get("position")
        if _name_of(user) != _EXTRACT or not isinstance(position, DenseArrayBase):
            return None
        numbers = [int(each) for each in position.iter_values()]
        if numbers not in ([0], [1]):
            return None
        parts.append((user, numbers[0]))
    return parts


_EXTRACT = "llvm.extractvalue"


def _name_of(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


@dataclass(frozen=True)
class ExportMLIRSyncPass(ModulePass):
    """Give ``scoped`` operations back to the dialects that they came from, as they are now.

    The way back from ``import-mlir-sync``. What no pass has changed is what it was. Raises
    ``DiagnosticException`` at an operation that did not come from another dialect.
    """

    name = "export-mlir-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, scoped.ScopedOperation):
                _export(each)


def _export(op: scoped.ScopedOperation) -> None:
    was = op.attributes.get(FOREIGN)
    if not isinstance(was, DictionaryAttr):
        _refuse(op, "it did not come from another dialect by import-mlir-sync")
    said = dict(was.data)
    name = said.pop("name")
    assert isinstance(name, StringAttr)
    row = ROWS[name.data]
    if row.ordering is not None:
        _write_ordering(said, row.ordering, op.ordering.data)
    elif row.meaning is not None and op.ordering.data is not row.meaning[0]:
        _refuse(op, f"{name.data} has one ordering, and this is another")
    attributes = {
        each: op.attributes[each] for each in op.attributes if each not in (FOREIGN, _TYPE)
    }
    kept = op.attributes.get(_TYPE)
    types = [each.type for each in op.results] if kept is None else [kept]
    made = _generic(name.data, op.operands, types, said, attributes)
    made.location = op.location
    if kept is None:
        Rewriter.replace_op(op, made, made.results)
        return
    block_of(op).insert_op_before(made, op)
    for number, result in enumerate(op.results):
        if result.first_use:
            position = DenseArrayBase.from_list(i64, [number])
            part = _generic(_EXTRACT, made.results, [result.type], {"position": position}, {})
            block_of(op).insert_op_before(part, op)
            result.replace_all_uses_with(part.results[0])
    Rewriter.erase_op(op)


def _write_ordering(said: dict[str, Attribute], name: str, ordering: Ordering) -> None:
    """Note an ordering by its number, where it is another than it was."""
    if _ordering(said[name]) is not ordering:
        said[name] = IntegerAttr(NUMBER_OF[ordering], i64)


def _generic(
    name: str,
    operands: Sequence[SSAValue],
    types: list[Attribute],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
) -> Operation:
    """An operation that is not registered."""
    return UnregisteredOp.with_name(name).create(
        operands=operands, result_types=types, properties=properties, attributes=attributes
    )


def _refuse(op: Operation, reason: str) -> NoReturn:
    message = f"{op.name} cannot be given back: {reason}"
    op.emit_error(message, DiagnosticException(message))
