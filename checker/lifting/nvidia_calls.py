"""A function of PTX with its callees inlined, as lifting has it."""

from collections.abc import Collection

from fencewright.checker.lifting.calls import callee
from fencewright.lowering.ptx.code import calls
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction


def inlined(module: PtxFile, function: PtxFunction, *, keeps_unknown: bool = False) -> PtxFunction:
    """The function with its callees in the place of each call; instructions keep their lines.

    ``keeps_unknown``: a call of an absent function stays. Raises ``UnliftableError``, with the
    name of the callee, where that is not in the file, calls itself, or is not known.
    """

    def called(
        name: str, path: Collection[str], instructions: int, line: int, call: str
    ) -> PtxFunction | None:
        if keeps_unknown and name not in module.functions:
            return None
        return callee(module.functions, name, path, instructions, line, call)

    return calls.inlined(module, function, called)
