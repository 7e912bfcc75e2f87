"""The mode ``--verify-lowering`` of fence-opt: litmus tests before and after the passes."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.verify_lowering import (
    LoweringVerdict,
    Verification,
    read_sources,
    verify_lowering,
)
from fencewright.simulator.core.exploration import DEFAULT_LIMIT
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.litmus_run import Limits
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError
from fencewright.tools.statuses import DOES_NOT_HOLD, INCOMPLETE, USAGE, worst

_STATUS = {
    LoweringVerdict.UNSOUND: DOES_NOT_HOLD,
    LoweringVerdict.RACY: DOES_NOT_HOLD,
    LoweringVerdict.HANGS: DOES_NOT_HOLD,
    LoweringVerdict.INCOMPLETE: INCOMPLETE,
}


@dataclass(frozen=True, slots=True)
class LoweringCheck:
    """The settings of a check: the reading of lowered tests, and the limit of states."""

    options: ReadOptions
    state_limit: int = DEFAULT_LIMIT

    def around(self, module: ModuleOp, apply_passes: Callable[[], None], file: str) -> None:
        """Apply passes to ``module`` in place and verify their results for its litmus tests.

        Prints a remark for each test that was verified. Raises :class:`ToolError`, with the
        steps of a counterexample as notes, if one is not sound, not defined or too large.
        """
        sources = read_sources(module)
        apply_passes()
        limits = Limits(states=self.state_limit)
        try:
            found = list(verify_lowering(sources, module, self.options, limits))
        except ProgramError as problem:
            raise ToolError((Diagnostic(str(problem), file),)) from problem
        if not found:
            message = (
                "--verify-lowering found no litmus test with a source and a lowering; "
                "lower a test with --mcpu, or name the source of one with 'lowers @name'"
            )
            raise ToolError((Diagnostic(message, file),), status=USAGE)
        problems: list[Diagnostic] = []
        for each in found:
            if each.verdict is LoweringVerdict.SOUND:
                print(
                    diagnostic_at(each.test, file, each.message, Severity.REMARK), file=sys.stderr
                )
            else:
                problems += _problem(each, file)
        if problems:
            statuses = [_STATUS[each.verdict] for each in found if each.verdict in _STATUS]
            raise ToolError(tuple(problems), status=worst(statuses))


def _problem(found: Verification, file: str) -> list[Diagnostic]:
    error = diagnostic_at(found.test, file, found.message, Severity.ERROR)
    steps = [diagnostic_at(found.test, file, step, Severity.NOTE) for step in found.steps]
    return [error, *steps]


def diagnostic_at(op: Operation, file: str, message: str, severity: Severity) -> Diagnostic:
    """A message about an operation, at the place where it was read."""
    place = op.location
    if not isinstance(place, FileLineColLoc):
        return Diagnostic(message, file, severity=severity)
    name, line, column = place.filename.data, place.line.data, place.column.data
    return Diagnostic(message, name, line, column, severity)
