"""Operations of MLIR's nvvm dialect as the PTX that they stand for, by the rows of
``foreign_rows``."""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    UnregisteredAttr,
)
from xdsl.dialects.builtin import UnregisteredOp as ForeignOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from fencewright.mlir_dialects.llvm_ir.dialect import type_to_text
from fencewright.passes.scoped.foreign_rows import TYPE_WORDS, PTXRow

Integer: TypeAlias = IntegerAttr[IntegerType | IndexType]
"""A constant."""

SEGMENTS = "operandSegmentSizes"
CONSTANTS = frozenset({"llvm.mlir.constant", "arith.constant"})

_FIELD = re.compile(r"<([@,#]?)(\w+)(?:\|([\w:.]*))?>")
_LAST_WORD = re.compile(r"[\w.:]+$")
_EMPTY = re.compile(r"(?:\.|::)+(?=[.\s]|$)")


class UnsaidError(Exception):
    """The reason that ``scoped`` cannot express an operation."""


def word_of(name: str, attribute: Attribute | None) -> str:
    """The word or number of a property: of an enumeration its last, of a flag that is set its
    name."""
    match attribute:
        case UnitAttr():
            return name
        case IntegerAttr() if attribute.type == _I1:
            return name if attribute.value.data else ""
        case IntegerAttr():
            return str(attribute.value.data)
        case UnregisteredAttr() if found := _LAST_WORD.search(attribute.value.data):
            return found[0]
        case _:
            return ""


_I1 = IntegerAttr.from_bool(True).type


def constant_of(value: SSAValue) -> Integer | None:
    """The integer that a value is, if it is a constant."""
    owner = value.owner
    if not isinstance(owner, ForeignOp) or owner.op_name.data not in CONSTANTS:
        return None
    said = owner.properties.get("value", owner.attributes.get("value"))
    return said if isa(said, Integer) else None


def given_of(value: SSAValue) -> tuple[str, str]:
    """Type and value of an operand as LLVM writes them; a value that is no constant is ``{}``.

    Raises ``UnsaidError`` for a type that is none of LLVM's simple ones.
    """
    constant = constant_of(value)
    return text_of_type(value.type), "{}" if constant is None else str(constant.value.data)


def text_of_type(type_: Attribute) -> str:
    """LLVM's text of a type. Raises ``UnsaidError`` for one that is none of its simple ones."""
    try:
        return type_to_text(type_)
    except VerifyException as problem:
        raise UnsaidError(f"scoped has no word for the type {short(str(type_))}") from problem


def short(text: str) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= 80 else f"{words[:77]}..."


def ptx_of(op: ForeignOp, row: PTXRow) -> str:
    """The PTX of an operation, its result being ``$0`` and then its operands ``$n``.

    Raises ``UnsaidError`` where the row lacks a property, an operand or a result that it has.
    """
    operands = _named(op, row)
    mentioned = {found[2] for found in _FIELD.finditer(row.text)}
    for name in (*op.properties, *(name for name, places in operands.items() if places)):
        if name not in mentioned and name not in row.kept and name != SEGMENTS:
            if name in operands or word_of(name, op.properties[name]) != "":
                raise UnsaidError(f"scoped has no word for its {name}")
    if op.results and "result" not in mentioned:
        raise UnsaidError("scoped has no word for its result")

    def filled(found: re.Match[str]) -> str:
        mark, name, default = found.groups()
        if name == "result":
            return "$0" if op.results else "_"
        places = [f"${number + len(op.results)}" for number in operands.get(name, ())]
        if mark == "@":
            types = {TYPE_WORDS.get(given_of(op.operands[n])[0]) for n in operands[name]}
            word = types.pop() or ""
            return row.words.get(word, word)
        if mark == "#":
            return str(len(places))
        if name in operands:
            return f", {places[0]}" if mark and places else ", ".join(places) or default or ""
        word = word_of(name, op.properties.get(name)) or default
        return row.words.get(word, word)

    return _EMPTY.sub("", _FIELD.sub(filled, row.text))


def _named(op: ForeignOp, row: PTXRow) -> Mapping[str, range]:
    """The numbers of the operands that each name of a row stands for.

    Raises ``UnsaidError`` if there are others.
    """
    names = row.operands.split()
    segments = op.properties.get(SEGMENTS)
    if isinstance(segments, DenseArrayBase):
        sizes = [int(each) for each in segments.iter_values()]
    else:
        left = len(op.operands) - sum(name.isalpha() for name in names)
        sizes = list(_sizes(names, left))
    if len(sizes) != len(names) or sum(sizes) != len(op.operands):
        raise UnsaidError("its operands are others than those of MLIR 22")
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    return {
        name.rstrip("?*"): range(start, start + size)
        for name, start, size in zip(names, starts, sizes, strict=True)
    }


def _sizes(names: list[str], left: int) -> Iterator[int]:
    """The operands of each name, where the number of operands alone shows the omitted ones."""
    for name in names:
        size = 1 if name.isalpha() else min(max(left, 0), 1)
        left -= size if not name.isalpha() else 0
        yield size
