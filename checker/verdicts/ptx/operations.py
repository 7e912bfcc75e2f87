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
        if len(a) != 2 or s.opcode.modifiers & {"sat", "cc", "hi"}:
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
    if start is None or length is None or _is_signed(s) or length >= width:
        return None
    shifted = e.apply("lshr", (e.resized(a[0], width), e.constant(start, width)), width)
    return e.apply("and", (shifted, e.constant((1 << length) - 1, width)), width)


def _lop3(e: Expressions, s: Statement, a: _Arguments, bits: int) -> Value | None:
    """A table of three inputs as a disjunction of its rows' conjunctions, if few."""
    if len(a) != 4 or (table := number_of(a[3])) is None or s.opcode.boolean:
        return None
    width = s.opcode.width
    x, y, z = (e.resized(each, width) for each in a[:3])
    simple = {0xC0: ("and", x, y), 0xFC: ("or", x, y), 0x3C: ("xor", x, y)}
    if table in simple:
        operation, left, right = simple[table]
        return e.apply(operation, (left, right), width)
    three = {0x80: "and", 0xFE: "or", 0x96: "xor"}.get(table)
    if three is not None:
        return e.apply(three, (e.apply(three, (x, y), width), z), width)
    mixed = {0xEA: ("and", "or"), 0xF8: ("and", "or"), 0x6C: ("and", "xor"), 0x78: ("and", "xor")}
    if table in (0xEA, 0x6C):
        # 0xEA: (x & y) | z.  0x6C: (x & z) ^ y.
        inner, outer = mixed[table]
        if table == 0xEA:
            return e.apply(outer, (e.apply(inner, (x, y), width), z), width)
        return e.apply(outer, (e.apply(inner, (x, z), width), y), width)
    if table in (0xF8, 0x78):
        # (y & z) combined with x.
        inner, outer = mixed[table]
        return e.apply(outer, (e.apply(inner, (y, z), width), x), width)
    return None


_COMPARED: Mapping[str, tuple[str, bool, bool]] = {
    # The comparison, whether its arguments change places, whether it is negated.
    "eq": ("eq", False, False),
    "ne": ("eq", False, True),
    "lt": ("lt", False, False),
    "lo": ("lt", False, False),
    "gt": ("lt", True, False),
    "hi": ("lt", True, False),
    "le": ("lt", True, True),
    "ls": ("lt", True, True),
    "ge": ("lt", False, True),
    "hs": ("lt", False, True),
}


def compared(e: Expressions, statement: Statement, arguments: _Arguments) -> Value:
    """The truth value of a ``setp`` or ``set``, without the predicate that it is combined with."""
    opcode = statement.opcode
    row = _COMPARED.get(opcode.comparison)
    if row is None or opcode.is_float or len(arguments) < 2:
        name = f"{opcode.head}.{opcode.comparison}.{opcode.type}"
        return e.table.apply(name, tuple(arguments[:2]), 1)
    operation, swaps, negates = row
    width = opcode.width or 32
    if operation == "lt":
        unsigned = opcode.type.startswith(("u", "b")) or opcode.comparison in (
            "lo",
            "ls",
            "hi",
            "hs",
        )
        operation = "ult" if unsigned else "slt"
    own = [e.resized(each, width) for each in arguments[:2]]
    value = e.apply(operation, own[::-1] if swaps else own, 1)
    return e.negated(value) if negates else value


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
    "mul24": _mul,
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
