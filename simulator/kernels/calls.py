"""Calls: the bodies of called functions in the place of their calls, of either vendor."""

from collections.abc import Mapping

from fencewright.lowering.code.calls import Callee, FunctionT, callee
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.semantics.faults import LaunchError


def executed_callee(functions: Mapping[str, FunctionT], file: str) -> Callee[FunctionT]:
    """The callees of a kernel of ``file``, of ``functions``; a call of another one stays.

    Raises ``LaunchError`` at a recursion.
    """

    def refused(line: int, call: str, reason: str) -> LaunchError:
        return LaunchError(f"'{call}' is not executed: {reason}", SourceLocation(file, line))

    return callee(functions, refused, keeps_absent=True)
