"""Calls of PTX: the bodies of called functions in the place of their calls."""

from collections.abc import Collection

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.calls import inlined
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction
from fencewright.simulator.execution.launch import LaunchError

_MOST = 100_000
"""Instructions of a kernel with all that it calls."""


def with_calls(file: PtxFile, kernel: PtxFunction) -> PtxFunction:
    """A kernel with the bodies of the functions that it calls, each call with its own.

    A call of an absent function stays as it is. Raises ``LaunchError`` at a recursion.
    """

    def callee(
        name: str, path: Collection[str], instructions: int, line: int, call: str
    ) -> PtxFunction | None:
        if name not in file.functions:
            return None
        if name in path:
            reason = f"{name} calls itself"
        elif instructions > _MOST:
            reason = f"with what it calls it has over {_MOST} instructions"
        else:
            return file.functions[name]
        raise LaunchError(f"'{call}' is not executed: {reason}", SourceLocation(file.file, line))

    return inlined(file, kernel, callee)
