"""Values of AMD instructions that compute integers, by their meanings and by rows of their own.

What both executors of the project know of an instruction is ``simulator.semantics.amd``; here are
the sums, shifts and products of addresses besides, of the sources that ``amd_rows`` has. Source:
MI300 ISA 12.1 to 12.4, 12.7 to 12.10.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType

from fencewright.checker.verdicts.amd.words import Words
from fencewright.checker.verdicts.expressions import number_of
from fencewright.lowering.code.value import Value
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.semantics import amd
from fencewright.simulator.semantics.amd_rows import ROWS

_K = ArithmeticKind
_WORD = 32

_Function = Callable[[Words, Sequence[Value]], Value]


def _shift(words: Words, kind: str, value: Value, by: Value) -> Value:
    """A shift by the low bits of an amount: five of 32, six of 64."""
    e, bits = words.expressions, value.bits
    amount = words.apply("and", words.low(by), e.constant(bits - 1, _WORD))
    number = number_of(amount)
    if number is not None and kind == "shl":
        return words.shifted(value, number)
    if number is not None and kind == "lshr":
        return words.shifted_down(value, number)
    if number == 0:
        return value
    return e.apply(kind, (value, e.resized(amount, bits)), bits)


def _shifted(words: Words, a: Sequence[Value], *, kind: str, place: int) -> Value:
    """A shift; ``place``: of the value among the sources."""
    return _shift(words, kind, a[place], a[1 - place])


def _add(words: Words, a: Value, b: Value) -> Value:
    return words.apply("add", a, b)


def _mul(words: Words, a: Value, b: Value) -> Value:
    return words.expressions.apply("mul", (a, b), a.bits)


def _narrow(words: Words, value: Value, *, signed: bool) -> Value:
    """The low 24 bits as a word."""
    e = words.expressions
    if not words.may(value) >> (23 if signed else 24):
        return value
    if not signed:
        return words.apply("and", value, e.constant((1 << 24) - 1, _WORD))
    return e.resized(e.table.apply("trunc", (value,), 24), _WORD, signed=True)


def _narrow_sum(words: Words, a: Sequence[Value], *, signed: bool) -> Value:
    """The product of the low 24 bits of the first two, and what is added to it."""
    product = _mul(words, *(_narrow(words, each, signed=signed) for each in a[:2]))
    return _add(words, product, a[2]) if len(a) > 2 else product


def _wide_sum(words: Words, a: Sequence[Value], *, signed: bool) -> Value:
    e = words.expressions
    one, other = (e.resized(each, 64, signed=signed) for each in a[:2])
    return _add(words, _mul(words, one, other), a[2])


def _field(words: Words, value: Value, first: int, width: int, *, signed: bool = False) -> Value:
    e, bits = words.expressions, value.bits
    width = min(width, bits - first)
    if width <= 0:
        return e.constant(0, bits)
    down = words.shifted_down(value, first)
    if not signed:
        return words.apply("and", down, e.constant((1 << width) - 1, bits))
    return e.resized(e.resized(down, width), bits, signed=True) if width < bits else value


def _reversed(words: Words, value: Value) -> Value:
    total = words.expressions.constant(0, _WORD)
    for place in range(_WORD):
        if words.may(value) >> place & 1:
            bit = _field(words, value, place, 1, signed=False)
            total = words.apply("or", total, words.shifted(bit, _WORD - 1 - place))
    return total


def _upper_product(words: Words, a: Sequence[Value], *, signed: bool) -> Value:
    """The high half of a product of words, of which ``Words.pair`` knows the low one."""
    e = words.expressions
    return words.high(_mul(words, *(e.resized(each, 64, signed=signed) for each in a)))


def by_table(words: Words, table: int, sources: Sequence[Value]) -> Value:
    """Bitwise logic: the bit of ``table`` whose number the bits of the sources are, the first on
    top."""
    every = (1 << (1 << len(sources))) - 1
    if table & every in (0, every):
        return words.expressions.constant(-(table & 1), _WORD)
    places = range(len(sources))
    sides = [_sides(table, len(sources), place) for place in places]
    rests = [(*sources[:place], *sources[place + 1 :]) for place in places]
    ones = (1 << (1 << len(sources) - 1)) - 1
    for (off, on), rest in zip(sides, rests, strict=True):
        if off == on:
            return by_table(words, on, rest)
    flipped = words.expressions.constant(-1, _WORD)
    for (off, on), rest, own in zip(sides, rests, sources, strict=True):
        if off == on ^ ones:
            return words.apply("xor", own, by_table(words, off, rest))
        inverted = words.apply("xor", own, flipped)
        for kind, one, side, other in (
            ("and", own, off, on), ("and", inverted, on, off),
            ("or", inverted, off, on), ("or", own, on, off),
        ):  # fmt: skip
            if side == (0 if kind == "and" else ones):
                return words.apply(kind, one, by_table(words, other, rest))
    (off, on), rest, own = sides[0], rests[0], sources[0]
    yes = words.apply("and", own, by_table(words, on, rest))
    no = words.apply("and", words.apply("xor", own, flipped), by_table(words, off, rest))
    return words.apply("or", yes, no)


def _sides(table: int, count: int, place: int) -> tuple[int, int]:
    """The tables where one source is 0, and where it is 1."""
    bit = 1 << count - 1 - place
    rows = [row for row in range(1 << count) if not row & bit]
    off, on = (
        sum((table >> (row | own) & 1) << n for n, row in enumerate(rows)) for own in (0, bit)
    )
    return off, on


def _vector_field(words: Words, a: Sequence[Value], *, signed: bool) -> Value:
    first, width = number_of(a[1]), number_of(a[2])
    if first is None or width is None:
        return words.expressions.table.apply(f"field {signed}", tuple(a), _WORD)
    return _field(words, a[0], first & 31, width & 31, signed=signed)


def _scalar_field(words: Words, a: Sequence[Value], *, signed: bool) -> Value:
    place = number_of(a[1])
    if place is None:
        return words.expressions.table.apply(f"scalar field {signed}", tuple(a), a[0].bits)
    first, width = place & a[0].bits - 1, place >> 16 & 127
    return _field(words, a[0], first, width, signed=signed)


def _extended(words: Words, a: Sequence[Value]) -> Value:
    """The low 16 bits with their sign."""
    e = words.expressions
    return e.resized(e.resized(a[0], 16), _WORD, signed=True)


def _extreme(words: Words, a: Sequence[Value], *, kind: str, signed: bool) -> Value:
    name = f"{'s' if signed else 'u'}{kind}"
    return words.expressions.apply(name, tuple(a), a[0].bits)


def _of_order(first: str, second: str) -> _Function:
    """``(a first b) second c``."""

    def step(words: Words, kind: str, a: Value, b: Value) -> Value:
        return _shift(words, kind, a, b) if kind == "shl" else words.apply(kind, a, b)

    return lambda words, a: step(words, second, step(words, first, a[0], a[1]), a[2])


def _shifted_sum(words: Words, a: Sequence[Value]) -> Value:
    """Three bits of the amount count. Source: MI300 ISA 12.10, V_LSHL_ADD_U64."""
    amount = words.apply("and", a[1], words.expressions.constant(7, _WORD))
    return _add(words, _shift(words, "shl", a[0], amount), a[2])


_OF_NUMBERS: Mapping[str, _Function] = {
    "add_nc": lambda w, a: _add(w, a[0], a[1]),
    "sub_nc": lambda w, a: _subtracted(w, a[0], a[1]),
    "mul": lambda w, a: _mul(w, a[0], a[1]),
}
"""Sums, differences and products of 64 bits."""

_ROWS: Mapping[str, _Function] = MappingProxyType(
    {
        "v_lshl_add_u32": _of_order("shl", "add"), "v_add_lshl_u32": _of_order("add", "shl"),
        "v_lshl_or_b32": _of_order("shl", "or"), "v_and_or_b32": _of_order("and", "or"),
        "v_or3_b32": _of_order("or", "or"), "v_add3_u32": _of_order("add", "add"),
        "v_xor3_b32": _of_order("xor", "xor"),
        "v_xad_u32": _of_order("xor", "add"), "v_lshl_add_u64": _shifted_sum,
        "v_mad_u32": lambda w, a: _add(w, _mul(w, a[0], a[1]), a[2]),
        "v_mul_u32_u24": partial(_narrow_sum, signed=False),
        "v_mul_i32_i24": partial(_narrow_sum, signed=True),
        "v_mad_u32_u24": partial(_narrow_sum, signed=False),
        "v_bfe_i32": partial(_vector_field, signed=True),
        "v_add_u16": lambda w, a: w.expressions.table.apply("add16", tuple(a), 32),
        "v_bfrev_b32": lambda w, a: _reversed(w, a[0]),
        "v_not_b32": lambda w, a: w.apply("xor", a[0], w.expressions.constant(-1, 32)),
        "s_movk_i32": _extended, "s_sext_i32_i16": _extended,
        "s_addk_i32": lambda w, a: _add(w, a[0], _extended(w, a[1:])),
        "s_mulk_i32": lambda w, a: _mul(w, a[0], _extended(w, a[1:])),
        **{
            f"{unit}_mul_hi_{letter}32": partial(_upper_product, signed=letter == "i")
            for unit in "sv"
            for letter in "iu"
        },
        **{
            f"v_mad_{carry}{types}": partial(_wide_sum, signed=types[0] == "i")
            for carry in ("", "co_")
            for types in ("u64_u32", "i64_i32")
        },
        **{
            f"{prefix}{kind}{reverse}_{'i' if kind == 'ashr' else 'b'}{bits}": partial(
                _shifted, kind="shl" if kind == "lshl" else kind, place=place
            )
            for bits in (32, 64)
            for kind in ("lshl", "lshr", "ashr")
            for prefix, reverse, place in (("s_", "", 0), ("v_", "rev", 1))
        },
        **{
            f"s_bfe_{letter}{bits}": partial(_scalar_field, signed=letter == "i")
            for bits in (32, 64)
            for letter in "iu"
        },
        **{
            f"s_{kind}_{letter}32": partial(_extreme, kind=kind, signed=letter == "i")
            for kind in ("min", "max")
            for letter in "iu"
        },
        **{
            f"{unit}_{name}_u64": function
            for unit in "sv"
            for name, function in _OF_NUMBERS.items()
        },
        **{
            f"s_lshl{by}_add_u32": lambda w, a, by=by: _add(w, w.shifted(a[0], by), a[1])
            for by in range(1, 5)
        },
    }
)  # fmt: skip
"""Functions of the sources that the executors' rows have, by mnemonic without encoding."""


@cache
def sources_of(name: str) -> tuple[int, ...] | None:
    """The bits of the sources of an instruction whose one result ``computed`` gives; else None."""
    if name in _ROWS:
        # Half a word is in a register too.
        return tuple(max(bits, _WORD) for bits in ROWS[name].sources)
    row = amd.MEANINGS.get(name)
    if row is None or len(row.results) != 1 or amd.MASK in (*row.sources, *row.results):
        return None
    known = (amd.Copy, amd.Logic, amd.Product, amd.Extreme, amd.TakeBits, amd.ShiftRight)
    if isinstance(row.meaning, known):
        return row.sources
    return row.sources if isinstance(row.meaning, amd.Sum) and not row.meaning.takes else None


def computed(words: Words, name: str, sources: Sequence[Value]) -> Value:
    """The result of an instruction that ``sources_of`` knows."""
    if name in _ROWS:
        return _ROWS[name](words, sources)
    meaning = amd.MEANINGS[name].meaning
    match meaning:
        case amd.Copy():
            return sources[0]
        case amd.Logic():
            return _logic(words, meaning, sources[0], sources[1])
        case amd.Sum(kind, _, _, reverse):
            a, b = sources[::-1] if reverse else sources
            return _add(words, a, b) if kind is _K.ADD else _subtracted(words, a, b)
        case amd.Product():
            return _mul(words, sources[0], sources[1])
        case amd.Extreme(kind, signed):
            return _extreme(words, sources, kind=kind, signed=signed)
        case amd.TakeBits(packed):
            return (_scalar_field if packed else _vector_field)(words, sources, signed=False)
        case amd.ShiftRight():
            return _shift(words, "lshr", sources[0], sources[1])
        case _:
            raise ValueError(f"no row for {name}")


_CONSTANT_COMPARISONS: Mapping[str, amd.Compare] = MappingProxyType(
    {
        f"s_cmpk_{'lg' if name == 'ne' else name}_{letter}32": amd.Compare(
            kind, letter == "i", swap
        )
        for name, (kind, swap) in amd.RELATIONS.items()
        for letter in "iu"
    }
)


def compared_with_constant(words: Words, name: str, a: Value, b: Value) -> Value | None:
    """The truth value of a comparison with a constant of 16 bits; None of another instruction.

    Source: MI300 ISA 12.2, S_CMPK.
    """
    compare = _CONSTANT_COMPARISONS.get(name)
    if compare is None:
        return None
    low = words.apply("and", b, words.expressions.constant(0xFFFF, _WORD))
    return compared(words, compare, a, _extended(words, (b,)) if compare.signed else low)


def _subtracted(words: Words, a: Value, b: Value) -> Value:
    e = words.expressions
    if (number := number_of(b)) is not None:
        return e.apply("add", (a, e.constant(-number, a.bits)), a.bits)
    return e.apply("sub", (a, b), a.bits)


def _logic(words: Words, logic: amd.Logic, a: Value, b: Value) -> Value:
    bits = a.bits
    every = words.expressions.constant(-1, bits)

    def inverted(value: Value, is_inverted: bool) -> Value:
        return words.apply("xor", value, every) if is_inverted else value

    own = inverted(a, logic.invert_a), inverted(b, logic.invert_b)
    return inverted(words.apply(str(logic.kind), *own), logic.invert)


def compared(words: Words, compare: amd.Compare, a: Value, b: Value) -> Value:
    """The truth value of a comparison."""
    one, other = (b, a) if compare.swap else (a, b)
    tested = [own for own, zero in ((a, b), (b, a)) if number_of(zero) == 0]
    if tested and compare.kind in (_K.EQ, _K.NE):
        is_zero = words.is_zero(tested[0])
        return is_zero if compare.kind is _K.EQ else words.expressions.negated(is_zero)
    return words.expressions.compared(compare.kind, one, other, signed=compare.signed)
