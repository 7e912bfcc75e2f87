"""Calls of AMD assembly: the bodies of called functions in the place of their calls."""

from collections.abc import Collection, Mapping

from fencewright.lowering.cdna.code.calls import inlined
from fencewright.lowering.cdna.code.text import Function
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.execution.launch import LaunchError

_MOST = 100_000
"""Instructions of a kernel with all that it calls."""


def with_calls(function: Function, functions: Mapping[str, Function]) -> Function:
    """A kernel with the bodies of the functions that it calls, each call with its own.

    A call of an unknown function stays as it is. Raises ``LaunchError`` at a recursion.
    """

    def callee(
        name: str, path: Collection[str], instructions: int, line: int, call: str
    ) -> Function | None:
        called = functions.get(name)
        if called is None or called.descriptor:
            return None
        if name in path:
            reason = f"{name} calls itself"
        elif instructions > _MOST:
            reason = f"with what it calls it has over {_MOST} lines"
        else:
            return called
        place = SourceLocation(function.file, line)
        raise LaunchError(f"'{call}' is not executed: {reason}", place)

    return inlined(function, functions, callee)
