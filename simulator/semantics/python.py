"""Terms as Python on unbounded integers.

A value that is not known raises where a number is needed: the caller carries it.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from fencewright.simulator.semantics import floats
from fencewright.simulator.semantics.term import Sort, Term, in_order


def nth_set(mask: int, base: int, offset: int) -> int:
    """PTX fns: the n-th set bit from a place; all bits if there is none."""
    offset = (offset ^ 1 << 31) - (1 << 31)
    if not offset:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    left, at, step = abs(offset), base, 1 if offset > 0 else -1
    while 0 <= at < 32:
        if mask >> at & 1:
            left -= 1
            if not left:
                return at
        at += step
    return 0xFFFFFFFF


def reverse(width: int, value: int) -> int:
    """brev."""
    return int(f"{value:0{width}b}"[::-1], 2)


NAMES: Mapping[str, object] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            floats.f32, floats.f64, floats.bits32, floats.bits64, floats.fma32, floats.exactly,
            floats.to_float, floats.from_float, floats.integral, floats.approximately,
            floats.to_integer, floats.of_integer, floats.convert, floats.scaled,
            floats.convert_small, floats.fused_and_scaled, nth_set, reverse,
        )
    }
)  # fmt: skip
"""The functions that the text of terms calls."""

_CALLED: Mapping[tuple[object, ...], str] = MappingProxyType(
    {("exactly", "fma", "f32", "rn"): "fma32"}
)
"""Functions that are faster than the general one on given values."""
_NUMBERS = MappingProxyType({"f32": "f32({})", "f64": "f64({})"})
_BITS = MappingProxyType({"f32": "bits32({})", "f64": "bits64({})"})
_NEEDS_VALUE = frozenset(
    {"choose", "least", "most", "length", "ones", "number", "bits", "integral", "call"}
)
"""Operations that a value that is not known has no result of."""
_ONCE = frozenset({"//", "%"})
"""Operations that raise where their result is not used: they are written where it is."""


def needs_values(results: Sequence[Term]) -> bool:
    """True of terms that raise ``UnknownUsed`` where an operand is not known."""
    return any(each.op in _NEEDS_VALUE for each, _ in in_order(results))


def written(results: Sequence[Term], operands: Sequence[str]) -> tuple[list[str], list[str]]:
    """Terms as lines of Python and an expression for each, on expressions for operands."""
    lines: list[str] = []
    text: dict[Term, str] = {}
    for term, uses in in_order(results):
        found = _text(term, [text[each] for each in term.operands], operands)
        is_name = term.op == "constant" or found.isidentifier()
        if uses > 1 and not is_name and term.op not in _ONCE:
            lines.append(f"v{len(lines)} = {found}")
            found = f"v{len(lines) - 1}"
        text[term] = found
    return lines, [text[each] for each in results]


def _text(term: Term, given: Sequence[str], operands: Sequence[str]) -> str:
    match term.op:
        case "constant":
            return str(term.given[0])
        case "operand":
            return str(operands[term.given[0]])
        case "choose":
            return f"({given[1]} if {given[0]} else {given[2]})"
        case "least" | "most":
            return _extreme(term, given)
        case "low":
            return f"({given[0]} & {(1 << term.given[0]) - 1})"
        case "signed":
            sign = 1 << term.given[0] - 1
            return f"(({given[0]} ^ {sign}) - {sign})"
        case "integer" | "real" | "word":
            return given[0]
        case "wide":
            return f"({' | '.join(f'{each} << {64 * at}' for at, each in enumerate(given))})"
        case "word of":
            return f"({given[0]} >> {64 * term.given[0]} & {(1 << 64) - 1})"
        case "high":
            return f"({given[0]} * {given[1]} >> {term.given[0]})"
        case "length":
            return f"{given[0]}.bit_length()"
        case "ones":
            return f"{given[0]}.bit_count()"
        case "number":
            form = _NUMBERS.get(term.given[0], f"to_float({{}}, {term.given[0]!r})")
            return form.format(given[0])
        case "bits":
            form = _BITS.get(term.given[0], f"from_float({{}}, {term.given[0]!r})")
            return form.format(given[0])
        case "integral":
            return f"integral({term.given[0]!r}, {given[0]})"
        case "call":
            return _call(term, given)
        case _:
            return f"({given[0]} {term.op} {given[1]})"


def _extreme(term: Term, given: Sequence[str]) -> str:
    sign = "<" if term.op == "least" else ">"
    a, b = given
    if a.isidentifier() and b.lstrip("-").isalnum():
        return f"({a} if {a} {sign} {b} else {b})"
    return f"{'min' if term.op == 'least' else 'max'}({a}, {b})"


def _call(term: Term, given: Sequence[str]) -> str:
    if (name := _CALLED.get(term.given)) is not None:
        return f"{name}({', '.join(given)})"
    name, *fixed = term.given
    return f"{name}({', '.join([*map(repr, fixed), *given])})"


def function(result: Term, count: int) -> Callable[..., int]:
    """A term as a function of its operands."""
    return function_of_all([result], count)


def function_of_all(results: Sequence[Term], count: int) -> Callable[..., Any]:
    """Terms as a function of their operands: of several a tuple."""
    names = [f"o{at}" for at in range(count)]
    lines, texts = written(results, names)
    values = [
        f"int({text})" if each.sort is Sort.FLAG else text
        for each, text in zip(results, texts, strict=True)
    ]
    return compiled(names, lines, ", ".join(values), NAMES)


def compiled(
    names: Sequence[str], lines: Sequence[str], value: str, known: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function of operands of these names that executes lines and returns a value.

    ``known``: the names that the lines use. All text is of rows.
    """
    body = "".join(f" {line}\n" for line in [*lines, f"return {value}"])
    space = dict(known)
    exec(f"def function({', '.join(names)}):\n{body}", space)
    return space["function"]
