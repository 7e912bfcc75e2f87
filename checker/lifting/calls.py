"""Functions in the place of their calls, of either vendor."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from fencewright.checker.lifting.writer import UnliftableError

_Function = TypeVar("_Function")

MOST_INSTRUCTIONS = 100_000
"""Of a function with all that it calls in its place."""


def callee(
    functions: Mapping[str, _Function],
    name: str,
    path: Collection[str],
    instructions: int,
    line: int,
    call: str,
) -> _Function:
    """The function ``name`` that is to stand in its ``call``, after so many ``instructions``.

    ``path``: those in which it would stand. Raises ``UnliftableError`` at ``line`` where it cannot.
    """
    if not name:
        why = "which function it calls is not known"
    elif name not in functions:
        why = f"{name}, which it calls, is not in the file"
    elif name in path:
        why = f"{name}, which it calls, calls itself"
    elif instructions > MOST_INSTRUCTIONS:
        why = f"with what is called there are more than {MOST_INSTRUCTIONS} instructions"
    else:
        return functions[name]
    raise UnliftableError(line, f"{call}: {why}")
