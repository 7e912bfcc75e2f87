"""Functions of a module in the place of their calls: a kernel is judged with all that it calls.

What prints, or stops the kernel, accesses nothing that threads share, and stays a call. So does
what is not in the module, whose accesses nobody knows. Source: CUDA C++ Programming Guide,
"Formatted Output"; "Assertion"; PTX ISA, call.
"""

from fencewright.lowering.code.calls import CallError, callee
from fencewright.lowering.ptx.code.calls import CALL, call_of, inlined
from fencewright.lowering.ptx.code.statements import SILENT_CALLEES, Statement
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction


def with_calls(file: PtxFile, function: PtxFunction) -> tuple[PtxFunction, str]:
    """A function with its callees in the place of each call, and the reason that this cannot be.

    Calls that stay are those of functions that are not in the file.
    """
    try:
        return inlined(file, function, callee(file.functions, keeps_absent=True)), ""
    except CallError as error:
        return function, str(error)


def unknown_callee(statement: Statement) -> str | None:
    """The callee of a call that stays; None if it accesses nothing, or is no call."""
    if statement.operation != CALL:
        return None
    name = call_of(statement).name
    return None if name in SILENT_CALLEES else name or "a function that a register names"


def text_of(each: PtxInstruction) -> str:
    """An instruction as a message shows it: with the line of the call that it stands in for."""
    return str(each.statement) + (f" (called at line {each.called_at})" if each.called_at else "")
