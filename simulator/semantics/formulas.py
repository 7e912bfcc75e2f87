"""The formulas of decoded opcodes: the results of an instruction as terms over its operands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from types import MappingProxyType

from fencewright.lowering.ptx.code.statements import Opcode, element_of
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.semantics.elements import (
    COMPARED_NUMBERS,
    ORDERED,
    UPDATES,
    flushed,
    is_nan,
    joined,
    part_of,
    saturated,
)
from fencewright.simulator.semantics.floats import FORMATS
from fencewright.simulator.semantics.rows import (
    FLUSHED,
    ROWS,
    Type,
    applied,
    plain_row,
    relu,
    row_of,
    type_of,
)
from fencewright.simulator.semantics.tensors import RANK_BITS
from fencewright.simulator.semantics.term import (
    Sort,
    Term,
    bits,
    call,
    choose,
    constant,
    high,
    integral,
    least,
    low,
    most,
    number,
    ones_of,
    real,
    signed,
)


@dataclass(frozen=True, slots=True)
class Formula:
    """An instruction that computes.

    ``types``: those of the operands that it takes. ``compute``: the results, of the operands and
    the bits of the register that has the first result. ``takes_carry``: the last operand
    is the carry, which is the second result of instructions with ``.cc``.
    """

    types: tuple[str, ...]
    compute: Callable[[Sequence[Term], int], tuple[Term, ...]]
    takes_carry: bool = False


@cache
def formula_of(opcode: Opcode) -> Formula | None:
    """The formula of an instruction; None for one that has none."""
    make = _OTHERS.get(opcode.head, _by_row)
    if "cc" in opcode.modifiers or opcode.head in _CARRYING:
        make = _carrying
    return make(opcode) if opcode.types else None


def _packed(
    word: str, compute: Callable[[Sequence[Term]], Term]
) -> Callable[[Sequence[Term]], Term]:
    """A function of one element as one of each element of a packed type."""
    element = element_of(word)
    assert element is not None
    _, width, count = element
    if count == 1:
        return compute

    def on_each(operands: Sequence[Term]) -> Term:
        pieces = [
            compute([each >> width * at & ones_of(width) for each in operands]) << width * at
            for at in range(count)
        ]
        return reduce(lambda a, b: a | b, pieces)

    return on_each


def _by_row(opcode: Opcode) -> Formula | None:
    word = opcode.types[0]
    t = type_of(word, opcode)
    if t is None or opcode.width > 64 or (len(opcode.types) > 1 and opcode.head not in _MIXED):
        return None
    row = row_of(opcode, t)
    if row is None:
        return None
    wide = f"b{2 * t.width}" if "wide" in row.needs else word
    types = [word, word, wide, wide][: row.operands - len(row.others)]
    types += ["pred" if width == 1 else f"b{width}" for width in row.others]
    if row.head == "slct":
        types = [*types[:2], opcode.type]
    compute = _packed(word, lambda given: applied(row, t, given))
    return Formula(tuple(types), lambda given, _: (compute(given),))


def moving(opcode: Opcode, targets: int = 1, sources: int = 1) -> Formula:
    """mov: also from several registers to one, and the other way round. Source: PTX ISA, mov."""
    size = opcode.width // max(targets, sources)

    def results(given: Sequence[Term], _: int) -> tuple[Term, ...]:
        whole = given[0] if sources == 1 else joined(size, *given)
        return tuple([part_of(size * n, size, whole) if targets > 1 else whole
                      for n in range(targets)])  # fmt: skip

    return Formula((opcode.type,) if sources == 1 else (f"b{size}",) * sources, results)


_MIXED = frozenset({"slct", "dp4a", "dp2a"})
"""Operations whose names have types of several operands."""


# Comparisons

_UNSIGNED = MappingProxyType({"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"})
_BOOLEANS: Mapping[str, Callable[[Term, Term], Term]] = MappingProxyType(
    {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
)


def _comparison(opcode: Opcode) -> Callable[[Sequence[Term]], Term] | None:
    """The comparison of two elements of the last type."""
    t, name = type_of(opcode.type, opcode), opcode.comparison
    if t is None:
        return None
    words = opcode.modifiers - {name, opcode.boolean}
    if t.letter in ("f", "h"):
        compare = COMPARED_NUMBERS.get(name)
        if compare is None or words - ({"ftz"} if t.name in FLUSHED else set[str]()):
            return None

        def take(value: Term) -> Term:
            return t.number(flushed(t, value) if words else value)

        return lambda given: compare(*map(take, given))
    if t.letter == "u":
        name = _UNSIGNED.get(name, name)
    compare = ORDERED.get(name)
    if compare is None or words or t.letter not in "usb":
        return None
    if name in ("eq", "ne"):
        return lambda given: compare(*given)
    return None if t.letter == "b" else lambda given: compare(*map(t.ordered, given))


def _set_predicate(opcode: Opcode) -> Formula | None:
    """setp: whether a comparison holds, and whether it does not, each joined with a predicate."""
    compare, element = _comparison(opcode), element_of(opcode.type)
    if compare is None or element is None or len(opcode.types) > 1:
        return None
    types = (opcode.type, opcode.type, *(("pred",) if opcode.boolean else ()))

    def results(given: Sequence[Term], _: int) -> tuple[Term, ...]:
        parts = [
            [each >> element[1] * at & ones_of(element[1]) for each in given[:2]] for at in (0, 1)
        ]
        holds = compare(given[:2] if element[2] == 1 else parts[0])
        other = holds ^ 1 if element[2] == 1 else compare(parts[1])
        if not opcode.boolean:
            return holds, other
        join = _BOOLEANS[opcode.boolean]
        return join(holds, given[2]), join(other, given[2])

    return Formula(types, results)


def _set(opcode: Opcode) -> Formula | None:
    """set: a comparison as a number, all ones or 1.0; of pairs for each half."""
    if len(opcode.types) != 2:
        return None
    compare, to = _comparison(opcode), type_of(opcode.types[0], opcode)
    pair = element_of(opcode.type)
    if compare is None or to is None or pair is None:
        return None
    yes = to.one if to.letter in ("f", "h") else to.ones
    types = (opcode.type, opcode.type, *(("pred",) if opcode.boolean else ()))

    def results(given: Sequence[Term], _: int) -> tuple[Term, ...]:
        def one(operands: Sequence[Term]) -> Term:
            holds = compare(operands)
            if opcode.boolean:
                holds = _BOOLEANS[opcode.boolean](holds, given[2])
            return choose(holds, yes, 0)

        return (_packed(opcode.type, one)(given[:2]),)

    return Formula(types, results) if pair[2] == 1 or pair[1] == to.width else None


# Conversions

_WHOLE = frozenset({"rni", "rzi", "rmi", "rpi"})
_CONVERTED = frozenset({"ftz", "sat", "relu", "satfinite"})


def _convert(opcode: Opcode) -> Formula | None:
    if "pack" in opcode.modifiers:
        return _convert_packed(opcode)
    if len(opcode.types) != 2 or opcode.modifiers - {opcode.rounding} - _CONVERTED:
        return None
    target, source = opcode.types
    if _SMALL & {target, source}:
        return _convert_small(opcode)
    ends, begins = element_of(target), element_of(source)
    to, of = type_of(target, opcode), type_of(source, opcode)
    if None in (ends, begins, to, of) or opcode.rounding == "rs":
        return None
    assert ends is not None
    assert begins is not None
    assert to is not None
    assert of is not None
    convert = _conversion(of, to)
    if convert is None or begins[2] != 1 or "p" in (to.letter, of.letter):
        return None
    # An integer may be narrower than its register.
    source = source if of.letter in ("f", "h") else "b64"
    if ends[2] == 1:
        return Formula(
            (source,), lambda given, register: (_filled(to, convert(given[0]), register),)
        )
    if ends[1:] != (16, 2):
        return None
    return Formula(
        (source, source), lambda given, _: (convert(given[0]) << 16 | convert(given[1]),)
    )


def _convert_packed(opcode: Opcode) -> Formula | None:
    """cvt.pack: two integers below the lower bits of a third operand. Source: PTX ISA, cvt.pack."""
    to, of, *rest = (type_of(each, opcode) for each in opcode.types)
    if to is None or of is None or opcode.modifiers - {"pack", "sat"}:
        return None

    def results(given: Sequence[Term], _: int) -> tuple[Term, ...]:
        a, b = (_between_integers(of, to, each) for each in given[:2])
        above = given[2] << 2 * to.width if rest else constant(0)
        return (low(above | a << to.width | b, 32),)

    return Formula((of.name, of.name, "b32")[: 2 + len(rest)], results)


_SMALL = frozenset({"e4m3x2", "e5m2x2", "tf32"})
_FROM_SMALL, _TO_SMALL = frozenset({"f16x2"}), frozenset({"f32", "f16x2"})


def _convert_small(opcode: Opcode) -> Formula | None:
    """The conversions of pairs of 8 bits, and to tf32."""
    (target, source), mode = opcode.types, opcode.rounding
    words = opcode.modifiers - {mode}
    is_tf32 = target == "tf32"
    narrows = target in _SMALL and source in ({"f32"} if is_tf32 else _TO_SMALL)
    widens = source in _SMALL and target in _FROM_SMALL
    modes = ("rn", "rz", "rna") if is_tf32 else ("rn",)
    if not (narrows or widens) or mode not in modes or words - {"relu", "satfinite"}:
        return None
    if narrows and not is_tf32 and "satfinite" not in words:
        return None
    to, of = (FORMATS[each.removesuffix("x2")].width for each in (target, source))
    names = source.removesuffix("x2"), target.removesuffix("x2")
    given = (*names, mode, "satfinite" in words, "relu" in words)

    def convert(a: Term) -> Term:
        return call("convert_small", given, (low(a, of),), 32 if is_tf32 else to)

    if is_tf32:
        return Formula((source,), lambda given, _: (convert(given[0]),))
    if source == "f32":
        return Formula(
            (source, source), lambda given, _: (convert(given[0]) << to | convert(given[1]),)
        )
    return Formula(
        (f"b{2 * of}",), lambda given, _: (convert(given[0] >> of) << to | convert(given[0]),)
    )


def _filled(t: Type, value: Term, register: int) -> Term:
    """A value in a register that may be wider: its sign or zeros are repeated."""
    if t.letter != "s" or t.width >= register:
        return value
    return low(signed(value, t.width), register)


def filled(opcode: Opcode, value: Term, register: int) -> Term:
    """A value of the type of a load in the register that it goes to."""
    t = type_of(opcode.type, opcode)
    return value if t is None else _filled(t, value, register)


def _conversion(of: Type, to: Type) -> Callable[[Term], Term] | None:
    """The conversion of one element; None where the name does not say how to round."""
    opcode, words = to.opcode, to.opcode.modifiers
    from_number, to_number = of.letter in ("f", "h"), to.letter in ("f", "h")
    is_flushed = "ftz" in words and "f32" in (of.name, to.name)
    if ("ftz" in words and not is_flushed) or (from_number and not to_number) != (
        opcode.rounding in _WHOLE and not to_number
    ):
        return None
    if not from_number and not to_number:
        return lambda a: _between_integers(of, to, a)

    def convert(a: Term) -> Term:
        if is_flushed and of.name == "f32":
            a = flushed(of, a)
        if not to_number:
            given = (of.name, opcode.rounding, to.letter == "s", to.width)
            return call("to_integer", given, (a,), to.width)
        found = _between_numbers(of, to, a) if from_number else _of_integer(of, to, a)
        if is_flushed and to.name == "f32":
            found = flushed(to, found)
        if "satfinite" in words:
            found = choose((found & to.sign - 1).equals(to.infinity), found.less(1), found)
        if "relu" in words:
            found = relu(to, found)
        return saturated(to, found) if "sat" in words else found

    return convert


def _between_integers(of: Type, to: Type, a: Term) -> Term:
    value = of.value(low(a, of.width))
    if "sat" not in to.opcode.modifiers:
        return low(value, to.width)
    if value.sort is Sort.WORD:
        return least(value, to.sign - 1 if to.letter == "s" else to.ones)
    lowest, greatest = (-to.sign, to.sign - 1) if to.letter == "s" else (0, to.ones)
    return low(most(least(value, min(greatest, ones_of(63))), lowest), to.width)


def _of_integer(of: Type, to: Type, a: Term) -> Term:
    value, mode = of.value(low(a, of.width)), to.opcode.rounding or "rn"
    if mode == "rn" and (of.width <= 32 or to.width == 64):
        return bits(real(value), to.name, to.width)
    return call("of_integer", (to.name, mode), (value,), to.width)


def _widened_nan(of: Type, to: Type, a: Term) -> Term:
    """A NaN with its sign, and its fraction in the upper part of the wider one, as an H200 has
    it."""
    shift = _FRACTIONS[to.name] - _FRACTIONS[of.name]
    rest = constant(to.sign - (1 << _FRACTIONS[to.name]))
    return (a & of.sign - 1) << shift | rest | (a & of.sign) << to.width - of.width


_FRACTIONS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
"""Bits of the fraction of a number."""


def _between_numbers(of: Type, to: Type, a: Term) -> Term:
    a, mode = low(a, of.width), to.opcode.rounding
    if mode not in _WHOLE | {"", "rn"}:
        return call("convert", (of.name, to.name, mode), (a,), to.width)
    value = number(a, of.name)
    found = bits(integral(value, mode) if mode in _WHOLE else value, to.name, to.width)
    if to.width == 64 and of.width == 64:
        return choose(is_nan(of, a), to.nan, found)
    if to.width == 64 or (of.name, to.name) == ("bf16", "f32"):
        return choose(is_nan(of, a), _widened_nan(of, to, a), found)
    if of.width == 64 and to.width == 32 and mode not in _WHOLE:
        # The upper part of the fraction of a NaN stays, as an H200 has it.
        kept = a >> 32 & 0x80000000 | a >> 29 & 0x3FFFFF | 0x7FC00000
        return choose(is_nan(of, a), kept, found)
    return found


# Carries

CARRY = "CC.CF"
"""The name of the carry flag, which no register has."""
_CARRYING = frozenset({"addc", "subc", "madc"})


def _carrying(opcode: Opcode) -> Formula | None:
    """add.cc and its like. Source: PTX ISA, Extended-Precision Integer Arithmetic Instructions."""
    t, name = type_of(opcode.type, opcode), opcode.head.removesuffix("c")
    words = opcode.modifiers - {"cc", "hi", "lo"}
    if t is None or t.letter not in "us" or words or name not in ("add", "sub", "mad"):
        return None
    is_first = opcode.head == name

    def results(given: Sequence[Term], _: int) -> tuple[Term, ...]:
        operands, before = list(given), constant(0)
        if not is_first:
            before = operands.pop()
        if name == "mad":
            a, b, c = operands
            whole = high(t.value(a), t.value(b), t.width) if "hi" in opcode.modifiers else a * b
            operands = [low(whole, t.width), c]
        a, b = operands
        if name == "sub":
            borrow = (a < b) | (a.equals(b) & before.differs(0))
            return low(a - b - before, t.width), borrow
        part = low(a + b, t.width)
        total = low(part + before, t.width)
        return total, (part < a) | (total < part)

    count = 3 if name == "mad" else 2
    return Formula((opcode.type,) * count, results, takes_carry=not is_first)


# Addresses in the shared memory of a cluster


def _mapped(opcode: Opcode) -> Formula:
    """mapa: the same place in the shared memory of another CTA. Source: PTX ISA, mapa."""
    below = ones_of(opcode.width) ^ 0xFF << RANK_BITS
    return Formula(
        (opcode.type, "b32"), lambda of, _: (of[0] & below | low(of[1], 8) << RANK_BITS,)
    )


def _rank_of(opcode: Opcode) -> Formula:
    """getctarank: the CTA that an address is of. Source: PTX ISA, getctarank."""
    return Formula(("b64",), lambda of, _: (low(of[0] >> RANK_BITS, 8),))


_OTHERS: Mapping[str, Callable[[Opcode], Formula | None]] = MappingProxyType(
    {
        "setp": _set_predicate, "set": _set, "cvt": _convert, "mapa": _mapped,
        "getctarank": _rank_of,
    }
)  # fmt: skip
HEADS = frozenset({row.head for row in ROWS} | {*_OTHERS} | _CARRYING)
"""The first words of instructions that have formulas."""


WITHOUT_EFFECT = frozenset(
    "prefetch prefetchu applypriority discard nanosleep pmevent setmaxnreg brkpt".split()
)
"""The first words of instructions that change no value."""


# Read-modify-writes


@cache
def update_of(opcode: Opcode) -> Callable[[Sequence[Term]], Term] | None:
    """The new value of an atomic, of the old one and its operands; None without a formula.

    Source: PTX ISA, atom; red: .add.f32 in memory that is not shared has no subnormal numbers.
    """
    update = UPDATES.get(opcode.update)
    if update is not None and (opcode.width <= 64 or opcode.update in _OF_ANY_WIDTH):
        return lambda given: update(*given)
    t = type_of(opcode.type, opcode)
    if t is None:
        return None
    row = plain_row(opcode.update, t.letter)
    if row is None:
        return None
    is_shared = not {AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER}.isdisjoint(opcode.spaces)

    def one(given: Sequence[Term]) -> Term:
        if t.name != "f32" or is_shared:
            return row.formula(t, *given)
        return flushed(t, row.formula(t, *(flushed(t, each) for each in given)))

    return _packed(opcode.type, one)


_OF_ANY_WIDTH = frozenset({"exch", "cas"})
FOLDS = frozenset({"add", "min", "max", "and", "or", "xor", "exch"})
"""The updates that are associative on integers: those of several lanes may come as one."""
