"""Values of PTX instructions that compute, by their operation and types. Source: PTX ISA,
Instruction Set."""

from collections.abc import Callable, Mapping, Sequence

from fencewright.checker.verdicts.expressions import Expressions, number_of
from fencewright.lowering.code.value import Value
from fencewright.lowering.ptx.code.statements import Statement

_Arguments = Sequence[Value]
_Made = Callable[[Expressions, Statement, _Arguments, int], Value | None]


def value_of(
    expressions: Expressions, statement: Statement, arguments: _Arguments, bits: int
) -> Value:
    """The value of ``bits`` bits that an instruction computes from the values of its operands.

    An operation without a row here is a function of its arguments of which no more is known.
    """
    made = _OPERATIONS.get(statement.operation)
    if made is not None and not statement.opcode.is_float:
        value = made(expressions, statement, arguments, bits)
        if value is not None:
            return value
    return expressions.table.apply(statement.opcode.name, tuple(arguments), bits)


def _is_signed(statement: Statement) -> bool:
    return statement.opcode.type.startswith("s")


def _width(statement: Statement) -> int:
    return 1 if statement.opcode.type == "pred" else statement.opcode.width


def _plain(operation: str) -> _Made:
    def make(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
        if len(a) != 2 or not s.opcode.modifiers.isdisjoint(("sat", "cc", "hi")):
            return None
        width = _width(s)
        own = [e.resized(each, width) for each in a]
        return e.resized(e.apply(operation, own, width), bits)

    return make


def _by_sign(unsigned: str, signed: str) -> _Made:
    def make(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
        return _plain(signed if _is_signed(s) else unsigned)(e, s, a, bits)

    return make


def _product(e: Expressions, s: Statement, a: _Arguments) -> Value | None:
    """``mul``: the low or the high half, or of ``.wide`` all of it."""
    width, signed = s.opcode.width, _is_signed(s)
    if s.opcode.modifiers & {"wide", "hi"}:
        own = [e.resized(e.resized(each, width), 2 * width, signed=signed) for each in a[:2]]
        whole = e.apply("mul", own, 2 * width)
        if "wide" in s.opcode.modifiers:
            return whole
        return e.resized(e.apply("lshr", (whole, e.constant(width, 2 * width)), 2 * width), width)
    if "lo" not in s.opcode.modifiers:
        return None
    return e.apply("mul", [e.resized(each, width) for each in a[:2]], width)


def _mul(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    product = _product(e, s, a)
    return None if product is None else e.resized(product, bits)


def _mad(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    product = _product(e, s, a)
    if product is None or s.opcode.modifiers & {"sat", "cc"}:
        return None
    addend = e.resized(a[2], product.bits)
    return e.resized(e.apply("add", (product, addend), product.bits), bits)


def _shift(unsigned: str, signed: str) -> _Made:
    def make(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
        width = s.opcode.width
        operation = signed if _is_signed(s) else unsigned
        by = e.resized(a[1], width)
        return e.resized(e.apply(operation, (e.resized(a[0], width), by), width), bits)

    return make


def _copy(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    return e.resized(a[0], bits) if len(a) == 1 else None


def _cvt(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    types = s.opcode.types
    are_integers = all(each[0] in "bus" and each[1:].isdecimal() for each in types)
    if len(types) != 2 or not are_integers or "sat" in s.opcode.words:
        return None
    to, source = (int(each[1:]) for each in types)
    inner = e.resized(a[0], source)
    signed = types[1].startswith("s")
    return e.resized(e.resized(inner, to, signed=signed), bits, signed=types[0].startswith("s"))


def _not(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    if s.opcode.type == "pred":
        return e.negated(a[0])
    width = s.opcode.width
    return e.apply("xor", (e.resized(a[0], width), e.constant(-1, width)), width)


def _neg(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    width = s.opcode.width
    return e.resized(e.apply("sub", (e.constant(0, width), e.resized(a[0], width)), width), bits)


def _selp(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    return e.chosen(a[2], e.resized(a[0], bits), e.resized(a[1], bits))


def _bfe(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    start, length = number_of(a[1]), number_of(a[2])
    width = s.opcode.width
    if start is None or length is None or _is_signed(s):
        return None
    # Source: PTX ISA, bfe: both are of the low 8 bits.
    start, length = start & 0xFF, length & 0xFF
    if length >= width:
        return None
    shifted = e.apply("lshr", (e.resized(a[0], width), e.constant(start, width)), width)
    return e.apply("and", (shifted, e.constant((1 << length) - 1, width)), width)


_LOP3: Mapping[int, tuple[int, tuple[tuple[str, int], ...]]] = {
    0xC0: (0, (("and", 1),)),
    0xFC: (0, (("or", 1),)),
    0x3C: (0, (("xor", 1),)),
    0x80: (0, (("and", 1), ("and", 2))),
    0xFE: (0, (("or", 1), ("or", 2))),
    0x96: (0, (("xor", 1), ("xor", 2))),
    0xEA: (0, (("and", 1), ("or", 2))),
    0x6C: (0, (("and", 2), ("xor", 1))),
    0xF8: (1, (("and", 2), ("or", 0))),
    0x78: (1, (("and", 2), ("xor", 0))),
}
"""Tables of three inputs as operations one after another: the first input, and the others."""


def _lop3(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    if len(a) != 4 or (table := number_of(a[3])) is None or s.opcode.boolean:
        return None
    if (row := _LOP3.get(table)) is None:
        return None
    width = s.opcode.width
    inputs = [e.resized(each, width) for each in a[:3]]
    first, steps = row
    value = inputs[first]
    for operation, other in steps:
        value = e.apply(operation, (value, inputs[other]), width)
    return value


_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_RELATIONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", *_UNSIGNED})


def compared(e: Expressions, statement: Statement, arguments: _Arguments) -> Value:
    """The truth value of a ``setp`` or ``set``, without the predicate that it is combined with."""
    opcode = statement.opcode
    relation = opcode.comparison
    if relation not in _RELATIONS or opcode.is_float or len(arguments) < 2:
        name = f"{opcode.head}.{relation}.{opcode.type}"
        return e.table.apply(name, tuple(arguments[:2]), 1)
    a, b = (e.resized(each, opcode.width or 32) for each in arguments[:2])
    signed = not opcode.type.startswith(("u", "b")) and relation not in _UNSIGNED
    return e.compared(_UNSIGNED.get(relation, relation), a, b, signed=signed)


def _setp(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    value = compared(e, s, a)
    if not s.opcode.boolean or len(a) < 3:
        return e.resized(value, bits)
    return e.apply(s.opcode.boolean, (value, a[2]), 1) if bits == 1 else None


_OPERATIONS: Mapping[str, _Made] = {
    "add": _plain("add"),
    "sub": _plain("sub"),
    "and": _plain("and"),
    "or": _plain("or"),
    "xor": _plain("xor"),
    "min": _by_sign("umin", "smin"),
    "max": _by_sign("umax", "smax"),
    "div": _by_sign("udiv", "sdiv"),
    "rem": _by_sign("urem", "srem"),
    "mul": _mul,
    "mad": _mad,
    "shl": _shift("shl", "shl"),
    "shr": _shift("lshr", "ashr"),
    "mov": _copy,
    "cvta": _copy,
    "cvt": _cvt,
    "not": _not,
    "neg": _neg,
    "selp": _selp,
    "setp": _setp,
    "bfe": _bfe,
    "lop3": _lop3,
}
