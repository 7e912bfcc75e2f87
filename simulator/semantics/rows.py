"""Rows: the formula of each operation of PTX that computes, by the letters of its type.

A formula takes the type and the operands as terms, each within the type's bits, and gives a term.
One of a packed type is done on each element. ``.ftz`` and ``.sat`` of numbers are around formulas.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from fencewright.lowering.ptx.code.statements import Opcode, element_of
from fencewright.simulator.semantics.elements import (
    Element,
    by_table,
    clamped,
    exact,
    flushed,
    higher,
    is_nan,
    is_negative,
    larger,
    lesser,
    magnitude,
    saturated,
)
from fencewright.simulator.semantics.floats import FORMATS
from fencewright.simulator.semantics.term import (
    Term,
    bits,
    call,
    choose,
    constant,
    integer,
    least,
    length,
    low,
    mask,
    most,
    number,
    ones,
    ones_of,
    signed,
)

_INT = "PTX ISA, Integer Arithmetic Instructions"
_FLOAT = "PTX ISA, Floating Point Instructions"
_LOGIC = "PTX ISA, Logic and Shift Instructions"
_SELECT = "PTX ISA, Comparison and Selection Instructions"
_MOVE = "PTX ISA, Data Movement and Conversion Instructions"


@dataclass(frozen=True, slots=True)
class Type(Element):
    """The element of a type of an instruction."""

    opcode: Opcode


Formula: TypeAlias = (
    Callable[[Type, Term], Term]
    | Callable[[Type, Term, Term], Term]
    | Callable[[Type, Term, Term, Term], Term]
    | Callable[[Type, Term, Term, Term, Term], Term]
)
"""A function of the type and of a term for each operand."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation on types of some letters.

    ``needs``: words that its name has; ``allows``: others that it may have. ``operands``: how many
    the formula takes. ``others``: the widths of the last ones, where they are not that of the type.
    ``widest``: the most bits that the type has.
    """

    head: str
    letters: str
    operands: int
    formula: Formula
    source: str
    needs: frozenset[str] = field(default=frozenset())
    allows: frozenset[str] = field(default=frozenset())
    others: tuple[int, ...] = ()
    widest: int = 64


def _row(
    head: str,
    letters: str,
    operands: int,
    formula: Formula,
    source: str,
    needs: str = "",
    allows: str = "",
    others: Sequence[int] = (),
    widest: int = 64,
) -> Row:
    """A row as it is written: words with spaces between them."""
    words = frozenset(needs.split()), frozenset(allows.split())
    return Row(head, letters, operands, formula, source, *words, tuple(others), widest)


# Integers


def _saturated_sum(t: Type, a: Term, b: Term) -> Term:
    return clamped(t, exact(t, a) + exact(t, b))


def _saturated_difference(t: Type, a: Term, b: Term) -> Term:
    return clamped(t, exact(t, a) - exact(t, b))


def _wide(t: Type, a: Term, b: Term) -> Term:
    return low(t.value(a) * t.value(b), 2 * t.width)


def _24(t: Type, a: Term, b: Term) -> Term:
    if t.letter == "s":
        return signed(a, 24) * signed(b, 24)
    return (a & 0xFFFFFF) * (b & 0xFFFFFF)


def _distance(t: Type, a: Term, b: Term, c: Term) -> Term:
    difference = choose(t.ordered(a) < t.ordered(b), low(b - a, t.width), low(a - b, t.width))
    return low(difference + c, t.width)


def _quotient(t: Type, a: Term, b: Term) -> Term:
    """Towards zero; by zero all bits are set, as an H200 has it where the manual leaves it open."""
    found = magnitude(t, a) // magnitude(t, b)
    if t.letter == "s":
        found = choose(is_negative(t, a ^ b), low(0 - found, t.width), low(found, t.width))
    return choose(b.equals(0), t.ones, found)


def _remainder(t: Type, a: Term, b: Term) -> Term:
    """With the sign of the dividend; by zero all bits are set, as an H200 has it."""
    found = magnitude(t, a) % magnitude(t, b)
    if t.letter == "s":
        found = choose(is_negative(t, a), low(0 - found, t.width), found)
    return choose(b.equals(0), t.ones, found)


def _not_negative(t: Type, a: Term) -> Term:
    """.relu"""
    return choose(is_negative(t, a), 0, a)


def _highest(t: Type, a: Term, is_shift: bool = False) -> Term:
    """bfind: the highest bit that is no sign, or the shift to it; all bits if there is none."""
    if t.letter == "s":
        a = choose(is_negative(t, a), a ^ t.ones, a)
    place = constant(t.width).less(length(a)) if is_shift else length(a).less(1)
    return choose(a.equals(0), ones_of(32), place)


def _field(t: Type, a: Term, start: Term, size: Term) -> Term:
    """bfe: a field, whose sign is that of its last bit that exists."""
    start, size = start & 0xFF, size & 0xFF
    field = a >> start & mask(size)
    if t.letter == "u":
        return field
    end = least(start + size, t.width)
    sign = choose(end.equals(0), 0, a >> (end + 63 & 63) & 1)
    above = mask(choose(start < end, end.less(start), 0)) & t.ones ^ t.ones
    return choose(size.equals(0), 0, field | 0 - sign & above)


def _insert(t: Type, a: Term, into: Term, start: Term, size: Term) -> Term:
    start, size = start & 0xFF, size & 0xFF
    where = mask(size) << start & t.ones
    return into & (where ^ t.ones) | a << start & where


def _size(value: Term, is_wrap: bool) -> Term:
    return value & 31 if is_wrap else least(value, 32)


def _extended(t: Type, a: Term, size: Term, is_wrap: bool = False) -> Term:
    """szext: a value of ``size`` bits in 32."""
    size = _size(size, is_wrap)
    kept = a & mask(size)
    if t.letter == "u":
        return kept
    sign = a >> (size + 31 & 31) & 1
    return choose(size.equals(0), 0, kept | 0 - sign & (mask(size) & t.ones ^ t.ones))


def _bit_mask(t: Type, start: Term, size: Term, is_wrap: bool = False) -> Term:
    return low(mask(_size(size, is_wrap)) << _size(start, is_wrap), 32)


def _dot(t: Type, a: Term, b: Term, c: Term, width: int, first: int = 0) -> Term:
    """dp4a and dp2a: products of parts of the first and of bytes of the second, and their sum."""
    signs = [each[0] == "s" for each in t.opcode.types]
    total = low(c, 32)
    total = signed(total, 32) if any(signs) else integer(total)
    for at in range(4 if width == 8 else 2):
        left, right = a >> width * at, b >> 8 * (at + first)
        left = signed(left, width) if signs[0] else integer(low(left, width))
        right = signed(right, 8) if signs[1] else integer(low(right, 8))
        total = total + left * right
    return low(total, 32)


_INTEGERS = (
    _row("add", "usb", 2, lambda t, a, b: low(a + b, t.width), _INT),
    _row("add", "us", 2, _saturated_sum, _INT, "sat", widest=32),
    _row("sub", "usb", 2, lambda t, a, b: low(a - b, t.width), _INT),
    _row("sub", "us", 2, _saturated_difference, _INT, "sat", widest=32),
    _row("mul", "us", 2, lambda t, a, b: low(a * b, t.width), _INT, "lo"),
    _row("mul", "us", 2, higher, _INT, "hi"),
    _row("mul", "us", 2, _wide, _INT, "wide", widest=32),
    _row("mad", "us", 3, lambda t, a, b, c: low(a * b + c, t.width), _INT, "lo"),
    _row("mad", "us", 3, lambda t, a, b, c: low(higher(t, a, b) + c, t.width), _INT, "hi"),
    _row(
        "mad",
        "us",
        3,
        lambda t, a, b, c: low(_wide(t, a, b) + c, 2 * t.width),
        _INT,
        "wide",
        widest=32,
    ),
    _row("mul24", "us", 2, lambda t, a, b: low(_24(t, a, b), 32), _INT, "lo", widest=32),
    _row("mul24", "us", 2, lambda t, a, b: low(_24(t, a, b) >> 16, 32), _INT, "hi", widest=32),
    _row(
        "mad24",
        "us",
        3,
        lambda t, a, b, c: low(low(_24(t, a, b), 32) + c, 32),
        _INT,
        "lo",
        widest=32,
    ),
    _row(
        "mad24",
        "us",
        3,
        lambda t, a, b, c: low(low(_24(t, a, b) >> 16, 32) + c, 32),
        _INT,
        "hi",
        widest=32,
    ),
    _row("sad", "us", 3, _distance, _INT),
    _row("div", "us", 2, _quotient, _INT),
    _row("rem", "us", 2, _remainder, _INT),
    _row("abs", "s", 1, magnitude, _INT),
    _row("neg", "s", 1, lambda t, a: low(0 - a, t.width), _INT),
    _row("min", "us", 2, lesser, _INT),
    _row("max", "us", 2, larger, _INT),
    _row("min", "s", 2, lambda t, a, b: _not_negative(t, lesser(t, a, b)), _INT, "relu"),
    _row("max", "s", 2, lambda t, a, b: _not_negative(t, larger(t, a, b)), _INT, "relu"),
    _row("popc", "b", 1, lambda t, a: ones(a), _INT),
    _row("clz", "b", 1, lambda t, a: constant(t.width).less(length(a)), _INT),
    _row("bfind", "us", 1, _highest, _INT),
    _row("bfind", "us", 1, partial(_highest, is_shift=True), _INT, "shiftamt"),
    _row("fns", "b", 3, lambda t, a, b, c: call("nth_set", (), (a, b, c), 32), _INT, widest=32),
    _row("brev", "b", 1, lambda t, a: call("reverse", (t.width,), (a,), t.width), _INT),
    _row("bfe", "us", 3, _field, _INT, others=(32, 32)),
    _row("bfi", "b", 4, _insert, _INT, others=(32, 32)),
    _row("szext", "us", 2, _extended, _INT, "clamp", widest=32),
    _row("szext", "us", 2, partial(_extended, is_wrap=True), _INT, "wrap", widest=32),
    _row("bmsk", "b", 2, _bit_mask, _INT, "clamp", widest=32),
    _row("bmsk", "b", 2, partial(_bit_mask, is_wrap=True), _INT, "wrap", widest=32),
    _row("dp4a", "us", 3, partial(_dot, width=8), _INT, widest=32),
    _row("dp2a", "us", 3, partial(_dot, width=16), _INT, "lo", widest=32),
    _row("dp2a", "us", 3, partial(_dot, width=16, first=2), _INT, "hi", widest=32),
)


# Bits, moves and choices


def _logic(t: Type, a: Term, b: Term, c: Term, table: Term) -> Term:
    """lop3: any function of three bits, given by its table."""
    if table.constant is not None:
        return by_table(t, (a, b, c), table.constant & 0xFF)
    found = constant(0)
    for at in range(8):
        picked = [each if at >> 2 - n & 1 else each ^ t.ones for n, each in enumerate((a, b, c))]
        found = found | picked[0] & picked[1] & picked[2] & 0 - (table >> at & 1)
    return found


def _funnel(t: Type, a: Term, b: Term, by: Term, is_left: bool, is_wrap: bool) -> Term:
    """shf: 32 bits of 64."""
    both, by = b << 32 | a, _size(by, is_wrap)
    return low(both << by, 64) >> 32 if is_left else low(both >> by, 32)


def _shift_left(t: Type, a: Term, by: Term) -> Term:
    return low(a << least(by, t.width), t.width)


def _shift_right(t: Type, a: Term, by: Term) -> Term:
    if t.letter == "s":
        return low(signed(a, t.width) >> least(by, t.width - 1), t.width)
    return a >> by


_SELECTED: Mapping[str, Callable[[Term, int], Term]] = MappingProxyType(
    {
        "f4e": lambda at, n: at + n,
        "b4e": lambda at, n: at + (8 - n) & 7,
        "rc8": lambda at, n: at,
        "ecl": lambda at, n: most(at, n),
        "ecr": lambda at, n: least(at, n),
        "rc16": lambda at, n: (at & 1) * 2 + (n & 1),
    }
)
"""The byte that is byte n of the result, by mode and selector. Source: PTX ISA, prmt."""


def _permute(t: Type, a: Term, b: Term, selector: Term, mode: str = "") -> Term:
    """prmt: four bytes of eight, or copies of their signs."""
    both, found = b << 32 | a, constant(0)
    for n in range(4):
        if mode:
            byte = both >> _SELECTED[mode](selector & 3, n) * 8 & 0xFF
        else:
            choice = selector >> 4 * n & 15
            byte = both >> (choice & 7) * 8 & 0xFF
            byte = choose((choice & 8).differs(0), (byte >> 7) * 0xFF, byte)
        found = found | byte << 8 * n
    return found


def _slct(t: Type, a: Term, b: Term, c: Term) -> Term:
    if t.opcode.types[-1] == "f32":
        return choose(number(c, "f32") >= 0.0, a, b)
    return choose(low(c, 32) < 1 << 31, a, b)


_BITS = (
    _row("and", "bp", 2, lambda t, a, b: a & b, _LOGIC),
    _row("or", "bp", 2, lambda t, a, b: a | b, _LOGIC),
    _row("xor", "bp", 2, lambda t, a, b: a ^ b, _LOGIC),
    _row("not", "bp", 1, lambda t, a: a ^ t.ones, _LOGIC),
    _row("cnot", "b", 1, lambda t, a: a.equals(0), _LOGIC),
    _row("lop3", "b", 4, _logic, _LOGIC, widest=32),
    *(
        _row("shf", "b", 3, partial(_funnel, is_left=way == "l", is_wrap=how == "wrap"), _LOGIC,
             f"{way} {how}", others=(32,), widest=32)
        for way in "lr"
        for how in ("wrap", "clamp")
    ),
    _row("shl", "b", 2, _shift_left, _LOGIC, others=(32,)),
    _row("shr", "usb", 2, _shift_right, _LOGIC, others=(32,)),
    _row("prmt", "b", 3, _permute, f"{_MOVE}: prmt", widest=32),
    *(
        _row("prmt", "b", 3, partial(_permute, mode=mode), f"{_MOVE}: prmt", mode, widest=32)
        for mode in _SELECTED
    ),
    _row("mov", "usbfhp", 1, lambda t, a: a, f"{_MOVE}: mov"),
    _row("selp", "usbfh", 3, lambda t, a, b, c: choose(c, a, b), f"{_SELECT}: selp", others=(1,)),
    _row("slct", "usbfh", 3, _slct, f"{_SELECT}: slct", others=(32,)),
)  # fmt: skip


# Floating point


def _rounded(t: Type, value: Term, *sources: Term) -> Term:
    """A result of doubles rounded once more: they have twice the bits of the narrower type.

    Of f64 a NaN of numbers is negative, as an H200 has it.
    """
    found = bits(value, t.name, t.width)
    if t.name != "f64":
        return found
    given = is_nan(t, sources[0])
    for each in sources[1:]:
        given = given | is_nan(t, each)
    return choose(value.equals(value), found, choose(given, t.nan, t.nan | t.sign))


def _on_doubles(t: Type, *operands: Term, name: str, compute: Callable[[Term, Term], Term]) -> Term:
    if t.opcode.rounding in ("", "rn"):
        return _rounded(t, compute(*map(t.number, operands)), *operands)
    return _exactly(t, *operands, name=name)


def _exactly(t: Type, *operands: Term, name: str) -> Term:
    return call("exactly", (name, t.name, t.opcode.rounding or "rn"), operands, t.width)


def _approximately(t: Type, a: Term, name: str) -> Term:
    return call("approximately", (name, t.name), (a,), t.width)


_UPPER_WORD = (1 << 64) - (1 << 32)


def _grossly(t: Type, a: Term, compute: Callable[..., Term], name: str) -> Term:
    """A result of 20 bits of the upper word alone. Source: PTX ISA, rcp.approx.ftz.f64; inferred:
    it is rounded to the nearest."""
    return low(compute(t, a & _UPPER_WORD, name=name) + (1 << 31) & _UPPER_WORD, 64)


def _absolute(t: Type, a: Term) -> Term:
    """A NaN is the canonical one, of 64 bits it stays, as an H200 has it."""
    return choose(is_nan(t, a), a if t.width == 64 else t.nan, a & t.sign - 1)


def _negated(t: Type, a: Term) -> Term:
    """A NaN is the canonical one, of 64 bits it stays, as an H200 has it."""
    return choose(is_nan(t, a), a if t.width == 64 else t.nan, a ^ t.sign)


def _extreme(t: Type, a: Term, b: Term, is_least: bool) -> Term:
    """min and max: the number beside a NaN (.NaN: the NaN); -0 is below +0."""
    if "xorsign" in t.opcode.modifiers:
        sign = (a ^ b) & t.sign
        a, b = a & t.sign - 1, b & t.sign - 1
        # The sign is not that of a NaN.
        found = _extreme_of(t, a, b, is_least)
        return choose(is_nan(t, found), found, found | sign)
    return _extreme_of(t, a, b, is_least)


def _extreme_of(t: Type, a: Term, b: Term, is_least: bool) -> Term:
    x, y = t.number(a), t.number(b)
    found = choose(x < y, a, b) if is_least else choose(x > y, a, b)
    # Only zeros are equal and of two forms.
    found = choose(x.equals(y), a | b if is_least else a & b, found)
    beside = (t.nan, t.nan) if "NaN" in t.opcode.modifiers else (b, a)
    both = choose(y.differs(y), t.nan, beside[0])
    return choose(x.differs(x), both, choose(y.differs(y), beside[1], found))


def relu(t: Type, a: Term) -> Term:
    """.relu: a number not below 0; a NaN is the canonical one."""
    return choose(is_nan(t, a), t.nan, choose((a & t.sign).differs(0), 0, a))


_CLASSES: Mapping[str, Callable[[Type, Term], Term]] = MappingProxyType(
    {
        "finite": lambda t, a: (a & t.infinity) < t.infinity,
        "infinite": lambda t, a: (a & t.sign - 1).equals(t.infinity),
        "number": lambda t, a: (a & t.sign - 1) <= t.infinity,
        "notanumber": is_nan,
        "normal": lambda t, a: ((a & t.infinity) < t.infinity) & (a & t.infinity).differs(0),
        "subnormal": lambda t, a: (a & t.infinity).equals(0) & (a & t.sign - 1).differs(0),
    }
)
"""Source: PTX ISA, testp."""

_NUMBERS = (
    _row("add", "fh", 2, partial(_on_doubles, name="add", compute=lambda x, y: x + y), _FLOAT),
    _row("sub", "fh", 2, partial(_on_doubles, name="sub", compute=lambda x, y: x - y), _FLOAT),
    _row("mul", "fh", 2, partial(_on_doubles, name="mul", compute=lambda x, y: x * y), _FLOAT),
    _row("fma", "fh", 3, partial(_exactly, name="fma"), _FLOAT, allows="relu"),
    _row("mad", "f", 3, partial(_exactly, name="fma"), _FLOAT),
    _row("div", "f", 2, partial(_exactly, name="div"), _FLOAT, allows="approx full"),
    _row("rcp", "f", 1, partial(_exactly, name="rcp"), _FLOAT, allows="approx"),
    _row("sqrt", "f", 1, partial(_exactly, name="sqrt"), _FLOAT, allows="approx"),
    *(
        _row(name, "f", 1, partial(_grossly, compute=compute, name=name), _FLOAT, "approx ftz")
        for name, compute in (("rcp", _exactly), ("rsqrt", _approximately))
    ),
    _row("abs", "fh", 1, _absolute, _FLOAT),
    _row("neg", "fh", 1, _negated, _FLOAT),
    _row("min", "fh", 2, partial(_extreme, is_least=True), _FLOAT, allows="NaN xorsign abs"),
    _row("max", "fh", 2, partial(_extreme, is_least=False), _FLOAT, allows="NaN xorsign abs"),
    _row("copysign", "f", 2, lambda t, a, b: a & t.sign | b & t.sign - 1, _FLOAT),
    *(_row("testp", "f", 1, formula, _FLOAT, name) for name, formula in _CLASSES.items()),
    *(
        # Of 64 bits there is rsqrt alone.
        _row(
            name, "fh", 1, partial(_approximately, name=name), _FLOAT, allows="approx", widest=bits
        )
        for name, bits in (*((n, 32) for n in ("sin", "cos", "lg2", "ex2", "tanh")), ("rsqrt", 64))
    ),
)

ROWS: tuple[Row, ...] = (*_INTEGERS, *_BITS, *_NUMBERS)
"""Every operation with a formula; of several that fit a name the one that needs most words."""

_BY_HEAD: dict[str, list[Row]] = {}
for _each in ROWS:
    _BY_HEAD.setdefault(_each.head, []).append(_each)
for _rows in _BY_HEAD.values():
    _rows.sort(key=lambda row: -len(row.needs))

_ROUNDED = frozenset("add sub mul fma mad div rcp sqrt".split())
"""Operations whose results are rounded as the name says."""
_MUST_ROUND = frozenset("fma div rcp sqrt".split())
_APPROXIMATE = frozenset({"approx", "full"})
_MODES = frozenset({"rn", "rz", "rm", "rp"})
FLUSHED = frozenset({"f16", "f32"})
"""The types that .ftz is for. Source: PTX ISA, add: .ftz."""


def type_of(word: str, opcode: Opcode) -> Type | None:
    """An element of a type that rows may be of, or None."""
    element = element_of(word)
    if element is None:
        return None
    letter, width, _ = element
    if letter in ("f", "bf"):
        name = f"{letter}{width}"
        return Type(name, "h" if width == 16 else "f", width, opcode) if name in FORMATS else None
    known = letter in ("u", "s", "b", "pred") and width <= 64
    return Type(f"{letter}{width}", letter[0], width, opcode) if known else None


def row_of(opcode: Opcode, type: Type) -> Row | None:
    """The row of an operation on a type; None where there is none, or the name has another word."""
    words, is_number = opcode.modifiers, type.letter in ("f", "h")
    if opcode.rounding:
        if not (is_number and opcode.head in _ROUNDED and opcode.rounding in _MODES):
            return None
        words -= {opcode.rounding}
    elif is_number and opcode.head in _MUST_ROUND and not words & _APPROXIMATE:
        return None
    if is_number:
        words -= {"sat", "ftz"} if type.name in FLUSHED else {"sat"}
    for row in _BY_HEAD.get(opcode.head, ()):
        has_type = type.letter in row.letters and type.width <= row.widest
        if has_type and row.needs <= words <= row.needs | row.allows:
            return row
    return None


def plain_row(head: str, letter: str) -> Row | None:
    """The row of an operation on a letter that needs no further word."""
    found = (row for row in _BY_HEAD.get(head, ()) if letter in row.letters and not row.needs)
    return next(found, None)


def applied(row: Row, t: Type, operands: Sequence[Term]) -> Term:
    """The result of a row on one element, with .ftz, .relu and .sat of numbers."""
    words = t.opcode.modifiers if t.letter in ("f", "h") else frozenset[str]()
    if "ftz" in words:
        operands = [flushed(t, each) for each in operands]
    found = row.formula(t, *operands)
    if "ftz" in words:
        found = flushed(t, found)
    if "relu" in words:
        found = relu(t, found)
    return saturated(t, found) if "sat" in words else found
