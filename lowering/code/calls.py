"""Functions in the place of their calls, of either vendor."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

FunctionT = TypeVar("FunctionT")

Callee = Callable[[str, Collection[str], int, int, str], FunctionT | None]
"""The function to put in the place of a call, by its name, those in which it would stand, the
instructions so far, and the line and text of the call. None: the call stays."""

MOST_INSTRUCTIONS = 100_000
"""Of a function with all that it calls in its place."""


class CallError(ValueError):
    """A call that nothing can be put in the place of: its line, its text and the reason."""

    def __init__(self, line: int, call: str, reason: str):
        super().__init__(f"{call}: {reason}")
        self.line = line


def callee(
    functions: Mapping[str, FunctionT],
    refused: Callable[[int, str, str], Exception] = CallError,
    *,
    keeps_absent: bool = False,
) -> Callee[FunctionT]:
    """The callees of calls, all of them of ``functions``.

    ``refused``: the error of a call without one, by its line, its text and the reason.
    ``keeps_absent``: a call of none of ``functions`` stays.
    """

    def called(
        name: str, path: Collection[str], instructions: int, line: int, call: str
    ) -> FunctionT | None:
        if keeps_absent and name not in functions:
            return None
        if not name:
            reason = "which function it calls is not known"
        elif name not in functions:
            reason = f"{name}, which it calls, is not in the file"
        elif name in path:
            reason = f"{name}, which it calls, calls itself"
        elif instructions > MOST_INSTRUCTIONS:
            reason = f"with what is called there are more than {MOST_INSTRUCTIONS} instructions"
        else:
            return functions[name]
        raise refused(line, call, reason)

    return called
