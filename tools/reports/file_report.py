"""What fence-check found in one file, for every format alike."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from fencewright.checker.findings.finding import Level
from fencewright.tools.diagnostics import Diagnostic, Severity, printable
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE

LEVELS = tuple(Level)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A place: ``line`` counts from 1, 0 if it is not known."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding, as every format has it.

    ``instruction``: the text of what it is at. ``at``: where it is printed. ``about``: other places
    that it concerns, each with what is there. ``cost``: what can be saved, in units of
    ``lowering.cdna.performance.costs`` for the waves of a work-group, as many as are known.
    ``executed``: what the machine makes of it. ``is_shown``: whether it was asked for;
    ``was_not_judged``: whether it says that something could not be checked; ``is_known``: whether
    the baseline has it.
    """

    rule: str
    level: Level
    message: str
    function: str
    instruction: str
    at: CodeLine
    about: tuple[tuple[str, CodeLine], ...] = ()
    cost: int = 0
    is_surplus: bool = False
    is_shown: bool = True
    was_not_judged: bool = False
    is_known: bool = False
    executed: str = ""

    def lines(self) -> list[Diagnostic]:
        """What is printed of it."""
        place = (self.at.file, self.at.line, 1)
        lines = [Diagnostic(f"{self.message} [{self.rule}]", *place, Severity(self.level.value))]
        if self.executed:
            lines.append(Diagnostic(self.executed, *place, Severity.NOTE))
        return lines


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function of a file, and whether it is a kernel."""

    name: str
    is_kernel: bool


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: ``path`` as it was given, ``file`` as messages call its code.

    ``provided``: what each access provides, with its line, if that was asked for. ``compared``: how
    many functions were compared with ``source``, of how many. ``problem``: why it could not be
    read, with ``status``; there is nothing else then.
    """

    path: str
    file: str
    chip: str = ""
    functions: tuple[FunctionName, ...] = ()
    findings: tuple[ReportedFinding, ...] = ()
    provided: tuple[tuple[int, str], ...] = ()
    source: str = ""
    compared: tuple[int, int] = (0, 0)
    problem: tuple[Diagnostic, ...] = ()
    problem_status: int = HOLDS

    def status(self, fail_on: Level) -> int:
        """What the exit status is because of this file."""
        if self.problem:
            return self.problem_status
        bad = LEVELS[: LEVELS.index(fail_on) + 1]
        new = [each for each in self.findings if not each.is_known]
        if any(each.level in bad for each in new if not each.was_not_judged):
            return DOES_NOT_HOLD
        return INCOMPLETE if any(each.was_not_judged for each in new) else HOLDS

    def with_findings(self, findings: Iterable[ReportedFinding]) -> "FileReport":
        """The report with other findings."""
        return replace(self, findings=tuple(findings))


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was found: by level, what can go, and what that costs. Known findings are apart."""

    by_level: tuple[int, ...]
    surplus: int
    cost: int
    known: int

    def text(self) -> str:
        """``1 error, 0 warnings, 2 notes``."""
        return ", ".join(map(_count, self.by_level, LEVELS))


def counts_of(findings: Sequence[ReportedFinding]) -> Counts:
    """How much was found."""
    new = [each for each in findings if not each.is_known]
    number = Counter(each.level for each in new)
    surplus = [each for each in findings if each.is_surplus]
    return Counts(
        tuple(number[level] for level in LEVELS),
        len(surplus),
        sum(each.cost for each in surplus),
        len(findings) - len(new),
    )


def dumped(document: dict[str, Any]) -> str:
    """A document as JSON, with names of files as they are printed: no reader takes half a
    character."""
    return json.dumps(_printable(document), indent=2)


def _printable(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case dict():
            return {key: _printable(each) for key, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_printable(each) for each in cast("Sequence[Any]", value)]
        case _:
            return value


def _count(number: int, level: Level) -> str:
    return f"{number} {level}" if number == 1 else f"{number} {level}s"
