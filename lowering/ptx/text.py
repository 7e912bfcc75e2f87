"""PTX text of a sequence: operand places filled in, scratch names made fresh."""

import re
from collections.abc import Iterable, Mapping

from fencewright.lowering.sequence import Sequence

_PLACE = re.compile(r"\{(\w+)\}")


def ptx_text(sequence: Sequence, places: Mapping[str, str], prefix: str) -> str:
    """A sequence as PTX statements, one a line; ``places`` as in ``fill_places``."""
    return "\n".join(fill_places((each.text for each in sequence.instructions), places, prefix))


def fill_places(lines: Iterable[str], places: Mapping[str, str], prefix: str) -> list[str]:
    """Templates as PTX statements.

    ``places`` gives the registers for ``dst``, ``addr``, ``data`` and ``compare``; every other
    place becomes ``$prefix_name``, so ``prefix`` must be unique within a function.
    """

    def name(match: re.Match[str]) -> str:
        place = match[1]
        return places.get(place, f"${prefix}_{place}")

    filled = (_PLACE.sub(name, line) for line in lines)
    return [line if line.endswith(":") else f"{line};" for line in filled]
