"""Small vectors of ``vector`` in one PTX register: elements taken out, put in, repeated.

A vector of 32, 64 or 128 bits is held as memory holds it, element 0 in the lowest bits, so
that a load or store of it is one access. Source: PTX ISA, mov (packing and unpacking).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from fencewright.passes.kernels.accept import unsupported
from fencewright.passes.to_ptx.arithmetic import PATH, Convert, PtxBuilder, bits_of, register_type

if TYPE_CHECKING:
    from xdsl.dialects import vector

_WORD = 64
"""The bits into which ``mov`` packs elements; two of them make 128 bits."""


def _extract(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    extract = cast("vector.ExtractOp", op)
    bits, count = _shape(op, extract.vector.type)
    position = _position(op, extract.static_position.get_values())
    lines, elements = _unpacked("{vector}", bits, count)
    lines.append(f"mov.b{bits} {{dst}}, {elements[position]}")
    return _sequence(build, op, lines, {"vector": operands[0]})


def _insert(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    insert = cast("vector.InsertOp", op)
    bits, count = _shape(op, insert.dest.type)
    position = _position(op, insert.static_position.get_values())
    lines, elements = _unpacked("{vector}", bits, count)
    elements[position] = "{element}"
    lines += _packed(elements, bits)
    return _sequence(build, op, lines, {"element": operands[0], "vector": operands[1]})


def _broadcast(build: PtxBuilder, op: Operation, operands: tuple[SSAValue, ...]) -> SSAValue:
    bits, count = _shape(op, op.results[0].type)
    if op.operands[0].type != cast("VectorType[Attribute]", op.results[0].type).element_type:
        unsupported(op, f"'{op.name}' of a vector is not supported on the {PATH} path")
    return _sequence(build, op, _packed(["{element}"] * count, bits), {"element": operands[0]})


def _shape(op: Operation, type_: Attribute) -> tuple[int, int]:
    """The bits of an element, and how many there are; an error at ``op`` for other vectors."""
    assert isinstance(type_, VectorType)
    vector_type = cast("VectorType[Attribute]", type_)
    bits, shape = bits_of(vector_type.element_type), vector_type.get_shape()
    if (
        bits not in (16, 32, 64)
        or len(shape) != 1
        or shape[0] < 2
        or bits * shape[0] not in (32, 64, 128)
    ):
        unsupported(
            op,
            f"{type_} is not supported on the {PATH} path (accepted: 32, 64 or 128 bits in two or "
            "more elements of 16, 32 or 64)",
        )
    return bits, shape[0]


def _position(op: Operation, positions: Sequence[int]) -> int:
    if len(positions) != 1 or len(op.operands) != len(_PLACES[op.name]):
        unsupported(op, f"'{op.name}' takes one constant position on the {PATH} path")
    return positions[0]


def _unpacked(whole: str, bits: int, count: int) -> tuple[list[str], list[str]]:
    """Lines that take ``whole`` apart, and the names of its elements."""
    total = bits * count
    if total == bits:
        return [], [whole]
    part = min(_WORD, total // 2) if total > _WORD else bits
    parts = [f"{{{whole.strip('{}')}_{n}}}" for n in range(total // part)]
    lines = [f".reg .b{part} {', '.join(parts)}", f"mov.b{total} {_group(parts)}, {whole}"]
    elements: list[str] = []
    for each in parts:
        more, names = _unpacked(each, bits, part // bits)
        lines += more
        elements += names
    return lines, elements


def _packed(elements: Sequence[str], bits: int) -> list[str]:
    """Lines that put the elements together in ``{dst}``."""
    total = bits * len(elements)
    if total <= _WORD or bits == _WORD:
        return [f"mov.b{total} {{dst}}, {_group(elements)}"]
    half = len(elements) // 2
    return [
        f".reg .b{_WORD} {{low}}, {{high}}",
        f"mov.b{_WORD} {{low}}, {_group(elements[:half])}",
        f"mov.b{_WORD} {{high}}, {_group(elements[half:])}",
        f"mov.b{total} {{dst}}, {{{{low}}, {{high}}}}",
    ]


def _group(names: Iterable[str]) -> str:
    return "{" + ", ".join(names) + "}"


def _sequence(
    build: PtxBuilder, op: Operation, lines: Sequence[str], places: Mapping[str, SSAValue]
) -> SSAValue:
    type_ = register_type(op.results[0].type)
    assert type_ is not None
    return build.sequence(lines, places, type_)


_PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"vector.extract": ("vector",), "vector.insert": ("element", "vector")}
)

VECTORS: Mapping[str, Convert] = MappingProxyType(
    {"vector.extract": _extract, "vector.insert": _insert, "vector.broadcast": _broadcast}
)
"""The converter of each operation of ``vector`` that the PTX path accepts."""
