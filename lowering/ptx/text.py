"""PTX as text: lines read, operand places filled in, scratch names made fresh."""

from collections.abc import Iterable, Mapping
from functools import cache

from fencewright.lowering.sequence import Line, Operand, Placeholder, operands


@cache
def read_line(text: str) -> Line:
    """A line of PTX, without its semicolon, in which operands may be places in braces."""
    guard: Operand = ()
    if text.startswith("@"):
        predicate, _, text = text[1:].partition(" ")
        (guard,) = operands(predicate)
    if text.endswith(":"):
        return Line("", operands(text), guard=guard)
    mnemonic, _, rest = text.partition(" ")
    return Line(mnemonic, operands(rest), guard=guard)


def fill_places(lines: Iterable[Line], places: Mapping[str, str], prefix: str) -> list[str]:
    """Lines as PTX statements.

    ``places`` gives the registers for ``dst``, ``addr``, ``data`` and ``compare``; every other
    place becomes ``$prefix_name``, so ``prefix`` must be unique within a function.
    """

    def register(place: Placeholder) -> str:
        return places.get(place.name) or f"${prefix}_{place.name}"

    return [each.filled(register) + (";" if each.mnemonic else "") for each in lines]
