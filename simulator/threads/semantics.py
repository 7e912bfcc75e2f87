"""Rows: the formula of each operation of PTX that computes, by the letters of its type.

A formula is Python on the bits of the operands: ``{a}`` unsigned, ``{A}`` as a signed number,
``{w}`` the width, ``{m}`` its mask, ``{t}`` the type. Its result is masked unless ``whole`` says
that it cannot have more bits. ``lanes`` has what lanes compute together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.ptx.code.statements import Opcode, element_of
from fencewright.simulator.threads import floats, integers
from fencewright.simulator.threads.unknown import Unknown

_INT = "PTX ISA, Integer Arithmetic Instructions"
_CARRY = "PTX ISA, Extended-Precision Integer Arithmetic Instructions"
_FLOAT = "PTX ISA, Floating Point Instructions"
_HALF = "PTX ISA, Half Precision Floating Point Instructions"
_LOGIC = "PTX ISA, Logic and Shift Instructions"
_SELECT = "PTX ISA, Comparison and Selection Instructions"
_MOVE = "PTX ISA, Data Movement and Conversion Instructions"


@dataclass(frozen=True, slots=True)
class Row:
    """One operation on types of some letters; ``needs``: words that its name has."""

    head: str
    letters: str
    formula: str
    source: str
    needs: frozenset[str] = field(default=frozenset())
    whole: bool = False
    widens: bool = False


def _row(
    head: str,
    letters: str,
    formula: str,
    source: str,
    needs: str = "",
    whole: bool = False,
    widens: bool = False,
) -> Row:
    return Row(head, letters, formula, source, frozenset(needs.split()), whole, widens)


_INTEGERS = (
    _row("add", "usb", "{a} + {b}", _INT),
    _row("add", "s", "clamp({A} + {B}, {w})", _INT, "sat", whole=True),
    _row("sub", "usb", "{a} - {b}", _INT),
    _row("sub", "s", "clamp({A} - {B}, {w})", _INT, "sat", whole=True),
    _row("mul", "us", "{a} * {b}", _INT, "lo"),
    _row("mul", "u", "{a} * {b} >> {w}", _INT, "hi", whole=True),
    _row("mul", "s", "{A} * {B} >> {w}", _INT, "hi"),
    _row("mul", "u", "{a} * {b}", _INT, "wide", whole=True, widens=True),
    _row("mul", "s", "{A} * {B}", _INT, "wide", widens=True),
    _row("mad", "us", "{a} * {b} + {c}", _INT, "lo"),
    _row("mad", "u", "({a} * {b} >> {w}) + {c}", _INT, "hi"),
    _row("mad", "s", "({A} * {B} >> {w}) + {c}", _INT, "hi"),
    _row("mad", "u", "{a} * {b} + {c}", _INT, "wide", widens=True),
    _row("mad", "s", "{A} * {B} + {c}", _INT, "wide", widens=True),
    _row("mul24", "u", "({a} & 0xFFFFFF) * ({b} & 0xFFFFFF)", _INT, "lo"),
    _row("mul24", "s", "signed({a}, 24) * signed({b}, 24)", _INT, "lo"),
    _row("mul24", "u", "({a} & 0xFFFFFF) * ({b} & 0xFFFFFF) >> 16", _INT, "hi"),
    _row("mul24", "s", "signed({a}, 24) * signed({b}, 24) >> 16", _INT, "hi"),
    _row("mad24", "u", "({a} & 0xFFFFFF) * ({b} & 0xFFFFFF) + {c}", _INT, "lo"),
    _row("mad24", "s", "signed({a}, 24) * signed({b}, 24) + {c}", _INT, "lo"),
    _row("sad", "u", "{c} + abs({a} - {b})", _INT),
    _row("sad", "s", "{c} + abs({A} - {B})", _INT),
    _row("div", "u", "quotient({a}, {b}, {w})", _INT, whole=True),
    _row("div", "s", "quotient({A}, {B}, {w})", _INT, whole=True),
    _row("rem", "u", "remainder({a}, {b}, {w})", _INT, whole=True),
    _row("rem", "s", "remainder({A}, {B}, {w})", _INT, whole=True),
    _row("abs", "s", "abs({A})", _INT),
    _row("neg", "s", "-{a}", _INT),
    _row("min", "u", "lesser({a}, {b})", _INT, whole=True),
    _row("min", "s", "lesser({A}, {B})", _INT),
    _row("max", "u", "larger({a}, {b})", _INT, whole=True),
    _row("max", "s", "larger({A}, {B})", _INT),
    _row("popc", "b", "ones({a})", _INT, whole=True),
    _row("clz", "b", "count_leading({a}, {w})", _INT, whole=True),
    _row("bfind", "u", "highest_bit({a}, {w}, False, False)", _INT, whole=True),
    _row("bfind", "s", "highest_bit({a}, {w}, True, False)", _INT, whole=True),
    _row("bfind", "u", "highest_bit({a}, {w}, False, True)", _INT, "shiftamt", whole=True),
    _row("bfind", "s", "highest_bit({a}, {w}, True, True)", _INT, "shiftamt", whole=True),
    _row("fns", "b", "nth_set({a}, {b}, {c})", _INT, whole=True),
    _row("brev", "b", "reverse({a}, {w})", _INT, whole=True),
    _row("bfe", "u", "extract({a}, {b}, {c}, {w}, False)", _INT, whole=True),
    _row("bfe", "s", "extract({a}, {b}, {c}, {w}, True)", _INT, whole=True),
    _row("bfi", "b", "insert({a}, {b}, {c}, {d}, {w})", _INT, whole=True),
    _row("szext", "u", "extend({a}, {b}, False, False)", _INT, "clamp", whole=True),
    _row("szext", "s", "extend({a}, {b}, True, False)", _INT, "clamp", whole=True),
    _row("szext", "u", "extend({a}, {b}, False, True)", _INT, "wrap", whole=True),
    _row("szext", "s", "extend({a}, {b}, True, True)", _INT, "wrap", whole=True),
    _row("bmsk", "b", "bit_mask({a}, {b}, False)", _INT, "clamp", whole=True),
    _row("bmsk", "b", "bit_mask({a}, {b}, True)", _INT, "wrap", whole=True),
    _row("dp4a", "us", "dot({a}, {b}, {c}, {signs}, 8, False)", _INT, whole=True),
    _row("dp2a", "us", "dot({a}, {b}, {c}, {signs}, 16, False)", _INT, "lo", whole=True),
    _row("dp2a", "us", "dot({a}, {b}, {c}, {signs}, 16, True)", _INT, "hi", whole=True),
)

_BITS = (
    _row("and", "bp", "{a} & {b}", _LOGIC, whole=True),
    _row("or", "bp", "{a} | {b}", _LOGIC, whole=True),
    _row("xor", "bp", "{a} ^ {b}", _LOGIC, whole=True),
    _row("not", "b", "{a} ^ {m}", _LOGIC, whole=True),
    _row("not", "p", "{a} ^ 1", _LOGIC, whole=True),
    _row("cnot", "b", "({a} == 0) + 0", _LOGIC, whole=True),
    _row("lop3", "b", "logic({a}, {b}, {c}, {d})", _LOGIC, whole=True),
    _row("shf", "b", "funnel({a}, {b}, {c}, True, False)", _LOGIC, "l clamp", whole=True),
    _row("shf", "b", "funnel({a}, {b}, {c}, True, True)", _LOGIC, "l wrap", whole=True),
    _row("shf", "b", "funnel({a}, {b}, {c}, False, False)", _LOGIC, "r clamp", whole=True),
    _row("shf", "b", "funnel({a}, {b}, {c}, False, True)", _LOGIC, "r wrap", whole=True),
    _row("shl", "b", "shift({a}, {b}, {w}, 'l')", _LOGIC, whole=True),
    _row("shr", "ub", "shift({a}, {b}, {w}, 'u')", _LOGIC, whole=True),
    _row("shr", "s", "shift({a}, {b}, {w}, 's')", _LOGIC, whole=True),
    _row("prmt", "b", "permute({a}, {b}, {c}, {mode})", f"{_MOVE}: prmt", whole=True),
    _row("mov", "usbfhp", "{a}", f"{_MOVE}: mov", whole=True),
    _row(
        "selp",
        "usbfh",
        "{c} if {c}.__class__ is Unknown else {a} if {c} else {b}",
        f"{_SELECT}: selp",
        whole=True,
    ),
    _row("slct", "usbfh", "chosen({C} >= 0, {a}, {b})", f"{_SELECT}: slct", whole=True),
    _row("testp", "f", "is_class({mode}, {t}, {a})", f"{_FLOAT}: testp", whole=True),
    _row("copysign", "f", "{a} & {s} | {b} & ({m} >> 1)", f"{_FLOAT}: copysign", whole=True),
)

_NUMBERS = (
    *(
        _row(name, "fh", f"exactly('{name}', {{t}}, {{r}}, {operands})", source, whole=True)
        for source in (_FLOAT,)
        for name, operands in (
            ("add", "{a}, {b}"),
            ("sub", "{a}, {b}"),
            ("mul", "{a}, {b}"),
            ("div", "{a}, {b}"),
            ("fma", "{a}, {b}, {c}"),
            ("rcp", "{a}"),
            ("sqrt", "{a}"),
        )
    ),
    _row("mad", "fh", "exactly('fma', {t}, {r}, {a}, {b}, {c})", _FLOAT, whole=True),
    _row("abs", "fh", "absolute({a}, {t})", _FLOAT, whole=True),
    _row("neg", "fh", "negative({a}, {t})", _FLOAT, whole=True),
    _row("min", "fh", "least({a}, {b}, {t})", _FLOAT, whole=True),
    _row("max", "fh", "greatest({a}, {b}, {t})", _FLOAT, whole=True),
    _row("min", "fh", "least({a}, {b}, {t}, True)", _FLOAT, "NaN", whole=True),
    _row("max", "fh", "greatest({a}, {b}, {t}, True)", _FLOAT, "NaN", whole=True),
    *(
        _row(name, "fh", f"approximately('{name}', {{t}}, {{a}})", _FLOAT, whole=True)
        for name in floats.APPROXIMATE
    ),
)

ROWS: tuple[Row, ...] = (*_INTEGERS, *_BITS, *_NUMBERS)
"""Every operation with a formula; of several that fit a name the one that needs most words."""

_FAST: Mapping[tuple[str, str], str] = {
    (head, f"f{width}"): f"bits{width}(f{width}({{a}}) {sign} f{width}({{b}}))"
    for head, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))
    for width in (32, 64)
} | {("fma", "f32"): "fma32({a}, {b}, {c})", ("mad", "f32"): "fma32({a}, {b}, {c})"}
"""The same results to nearest on Python's doubles: see ``floats``."""


def _chosen(predicate: object, first: object, second: object) -> object:
    if isinstance(predicate, Unknown):
        return predicate
    return first if predicate else second


NAMES: Mapping[str, object] = {
    **{
        each.__name__: each
        for each in (
            floats.f32, floats.f64, floats.bits32, floats.bits64, floats.fma32, floats.exactly,
            floats.absolute, floats.flush, floats.negative, floats.saturate, floats.least,
            floats.greatest, floats.compare,
            floats.approximately, floats.to_integer, floats.of_integer, floats.convert,
            floats.is_class, integers.signed, integers.quotient, integers.remainder,
            integers.clamp, integers.count_leading, integers.highest_bit, integers.nth_set,
            integers.reverse, integers.extract, integers.insert, integers.extend,
            integers.bit_mask, integers.shift, integers.funnel, integers.logic,
            integers.permute, integers.dot, integers.halves,
        )
    },
    "lesser": floats.absorbing(min),
    "larger": floats.absorbing(max),
    "ones": floats.absorbing(int.bit_count),
    "abs": abs,
    "chosen": _chosen,
}  # fmt: skip
"""The functions that formulas call."""

_BY_HEAD: dict[str, list[Row]] = {}
for _each in ROWS:
    _BY_HEAD.setdefault(_each.head, []).append(_each)
for _rows in _BY_HEAD.values():
    _rows.sort(key=lambda row: -len(row.needs))

_HAS_WORDS = frozenset("lo hi wide sat shiftamt clamp wrap l r NaN".split())
_PRMT = frozenset("f4e b4e rc8 ecl ecr rc16".split())
_CLASSES = frozenset("finite infinite number notanumber normal subnormal".split())
_REFUSED = frozenset("cc xorsign abs relu oob".split())
"""Words that change what a formula computes, and that none here has."""
_SIMPLE = re.compile(r"\w+")


def letter_of(type: str) -> str:
    """``u``, ``s``, ``b``; ``f`` of f32 and f64, ``h`` of 16 bits, ``p`` of a predicate, or ""."""
    element = element_of(type)
    if element is None or element[2] != 1:
        return ""
    letter, bits, _ = element
    if letter in ("f", "bf"):
        return "h" if bits == 16 else "f" if letter == "f" and bits in (32, 64) else ""
    return letter[0] if letter in ("u", "s", "b", "pred") else ""


def row_of(opcode: Opcode, type: str) -> Row | None:
    """The row of an operation on a type; None where there is none."""
    if _REFUSED & opcode.modifiers and opcode.head not in ("set", "setp"):
        return None
    letter = letter_of(type)
    words = frozenset(opcode.words[1:])
    for row in _BY_HEAD.get(opcode.head, ()):
        if letter and letter in row.letters and row.needs <= words:
            return row
    return None


def as_signed(operand: str, width: int) -> str:
    """An operand as a signed number."""
    sign = 1 << width - 1
    return f"(({operand} ^ {sign}) - {sign})"


def formula(opcode: Opcode, type: str, operands: Sequence[str]) -> str | None:
    """The result of an operation on one element, as Python; None without a row."""
    row = row_of(opcode, type)
    if row is None:
        return None
    element = element_of(type)
    assert element is not None
    width = element[1]
    number = letter_of(type) in ("f", "h")
    given = list(operands)
    if number and "ftz" in opcode.modifiers and type == "f32" and row.head != "selp":
        given = [f"flush({each})" for each in given]
    text, rounding = row.formula, opcode.rounding or "rn"
    if rounding == "rn" and (opcode.head, type) in _FAST:
        text = _FAST[opcode.head, type]
    if row.head in ("shl", "shr") and given[1].isdigit():
        # A constant needs no clamping when it is executed.
        by = min(int(given[1]), width)
        text = f"{{a}} << {by} & {{m}}" if row.head == "shl" else f"{{a}} >> {by}"
        if row.head == "shr" and letter_of(type) == "s":
            text = f"{{A}} >> {by} & {{m}}"
    letters = dict(zip("abcd", given, strict=False))
    shown = {
        key: value if _SIMPLE.fullmatch(value) else f"({value})" for key, value in letters.items()
    }
    signed_width = 32 if row.head == "slct" else width
    shown |= {key.upper(): as_signed(value, signed_width) for key, value in shown.items()}
    if row.head == "slct" and opcode.types[-1] == "f32":
        shown["C"] = f"f32({shown['c']})"
    signs = "".join(each[0] for each in opcode.types[-2:])
    mode = next((word for word in opcode.words if word in _PRMT | _CLASSES), "")
    width = width * 2 if row.widens else width
    mask = (1 << width) - 1
    found = text.format(
        **shown, w=element[1], m=mask, s=1 << width - 1, t=repr(type), r=repr(rounding),
        signs=repr(signs), mode=repr(mode),
    )  # fmt: skip
    if not row.whole:
        found = f"{found} & {mask}" if row.head in ("add", "sub", "mul") else f"({found}) & {mask}"
    if number and "ftz" in opcode.modifiers and type == "f32" and row.head in _FLUSHED:
        found = f"flush({found})"
    if number and "sat" in opcode.modifiers:
        found = f"saturate({found}, {type!r})"
    return found


_FLUSHED = frozenset(
    "add sub mul mad fma div rcp sqrt sin cos lg2 ex2 tanh rsqrt min max neg".split()
)
