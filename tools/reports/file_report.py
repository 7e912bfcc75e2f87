"""The findings of fence-check in one file, for every format alike."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fencewright.checker.findings.finding import Level, VerdictKind
from fencewright.checker.repair.prices import PricedLine
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.wording import counted
from fencewright.tools.diagnostics import Diagnostic, Severity, printable
from fencewright.tools.reports.author_text import line_of
from fencewright.tools.reports.function_names import demangled, kernel_name
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE

if TYPE_CHECKING:
    from fencewright.checker.verdicts.model import Verdict

LEVELS = tuple(Level)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A place: ``line`` counts from 1, 0 if it is not known.

    ``source``: the places that it was compiled from, the innermost first; after it the calls in
    whose place it is.
    """

    file: str
    line: int
    source: tuple[SourceLocation, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedStep:
    """A step of a counterexample; steps with one ``order`` are ordered by nothing."""

    thread: str
    at: CodeLine
    text: str
    order: int


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding, as every format has it.

    ``instruction``: the text at its line. ``at``: where it is printed. ``about``: other places
    that it concerns, each with what is there. ``cost``: what can be saved, in units of
    ``lowering.cdna.performance.costs`` for the waves of a work-group, as many as are known.
    ``is_of_many``: whether the file has other functions. ``executed``: what the machine makes of
    it. ``is_shown``: whether it was asked for; ``was_not_judged``: whether it says that something
    could not be checked; ``is_known``: whether the baseline has it. ``ignored``: the reason of a
    comment that ignores it. ``steps`` and ``part`` as ``Finding`` has them.
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
    is_of_many: bool = False
    executed: str = ""
    ignored: str = ""
    steps: tuple[ReportedStep, ...] = ()
    part: str = ""

    @property
    def is_new(self) -> bool:
        """True where neither the baseline nor a comment has it."""
        return not self.is_known and not self.ignored

    def fails(self, fail_on: Level) -> bool:
        """True where it makes a check fail that fails on findings of that level."""
        is_bad = LEVELS.index(self.level) <= LEVELS.index(fail_on)
        return is_bad and self.is_new and not self.was_not_judged

    def lines(self) -> list[Diagnostic]:
        """Its printed lines: at its source, where that is known, with notes for the code."""
        level, message = Severity(self.level.value), f"{self.message} [{self.rule}]"
        if self.is_of_many and self.function and not self.at.source:
            message = f"{kernel_name(self.function)}: {message}"
        source, *calls = self.at.source or (SourceLocation(self.at.file, self.at.line, 1),)
        lines = [_at(source, message, level, shown=bool(self.at.source))]
        lines += [_at(call, "inlined here") for call in calls]
        if self.at.source:
            lines.append(Diagnostic(self._in_code(), self.at.file, self.at.line, 1, Severity.NOTE))
        lines += self._about()
        if self.executed:
            lines.append(_at(source, self.executed))
        return lines

    def _about(self) -> Iterator[Diagnostic]:
        """The other places, one note for those that one line of the source was compiled to."""
        steps = {each.at: f"{each.text}: " for each in self.steps}
        by_place: dict[SourceLocation, list[tuple[str, CodeLine]]] = {}
        for what, place in self.about:
            if place.source and place != self.at:
                by_place.setdefault(place.source[0], []).append((what, place))
        for at, ((what, first), *others) in by_place.items():
            lines = ", ".join(str(place.line) for place in (first, *(each for _, each in others)))
            number = "lines" if others else "line"
            message = f"{steps.get(first, '')}{number} {lines} of {first.file}: '{what}'"
            # The line of the source has just been shown.
            yield _at(at, message, shown=at != (self.at.source or (None,))[0])

    def _in_code(self) -> str:
        """The instruction, and the function as the author wrote its name."""
        where = f" in {demangled(self.function)}" if self.function else ""
        return f"'{self.instruction}'{where}" if self.instruction else f"the code{where}"


def _at(
    place: SourceLocation, message: str, level: Severity = Severity.NOTE, *, shown: bool = False
) -> Diagnostic:
    """A message about a place; ``shown``: with the text of its line, where that can be read."""
    text = line_of(place.file, place.line) if shown else ""
    return Diagnostic(message, place.file, place.line, place.column or 1, level, text)


@dataclass(frozen=True, slots=True)
class JudgedLaunch:
    """The verdict on a launch of a kernel, and its basis.

    ``problem``: why not, or "". ``executed``: of how many ``accesses``; ``missed``: the rest.
    """

    verdict: str
    by: str
    launch: str
    problem: str
    schedules: int
    executed: int
    accesses: int
    missed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FunctionVerdict:
    """The verdict of a function, and the rules ``by`` which it is proved.

    ``condition``: of the launches that have a race. ``obstacle``: the first reason why it is not
    judged, at the line ``obstacle_line``, 0 if it is about none; ``obstacles``: how many there are.
    ``reasons``: the reason of every obstacle, whatever the verdict.
    """

    verdict: VerdictKind
    line: int = 0
    by: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    condition: str = ""
    obstacle: str = ""
    obstacle_line: int = 0
    obstacles: int = 0
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, verdict: "Verdict", line: int) -> "FunctionVerdict":
        """The verdict of a function at a line of its file."""
        is_judged = verdict.kind is not VerdictKind.NOT_JUDGED
        first = None if is_judged else verdict.obstacles[0]
        return cls(
            verdict.kind,
            line,
            verdict.by,
            tuple(map(str, verdict.assumptions)),
            verdict.condition,
            "" if first is None else first.reason,
            0 if first is None else first.line,
            0 if first is None else len(verdict.obstacles),
            tuple(each.reason for each in verdict.obstacles),
        )

    def text(self) -> str:
        """The verdict in a line, with its basis."""
        if self.verdict is VerdictKind.NOT_JUDGED:
            where = f"line {self.obstacle_line}: " if self.obstacle_line else ""
            more = f" (and {self.obstacles - 1} more)" if self.obstacles > 1 else ""
            return f"{self.verdict}: {where}{self.obstacle}{more}"
        if self.verdict is VerdictKind.LAUNCH:
            return f"{self.verdict}: {self.condition}"
        if self.verdict is VerdictKind.RACE:
            return self.verdict
        assumed = f"; assuming that {', '.join(self.assumptions)}" if self.assumptions else ""
        return f"{self.verdict} (by {', '.join(self.by) or 'no conflict'}{assumed})"


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function of a file, whether it is a kernel, its verdict, or the verdict on a launch of it.

    ``verdict``: None of a function that is judged where it is called, or has no instructions.
    """

    name: str
    is_kernel: bool
    judged: JudgedLaunch | None = None
    verdict: FunctionVerdict | None = None


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: ``path`` as it was given, ``file`` as messages call its code.

    ``provided``: what each access provides, with its line, if that was asked for. ``compared``: how
    many functions were compared with ``source``, of how many. ``problem``: why it could not be
    read, with ``status``; there is nothing else then. ``unused``: comments of the code that ignore
    a finding which is not there. ``prices``: of its fences and waits, if that was asked for.
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
    unused: tuple[Diagnostic, ...] = ()
    prices: tuple[PricedLine, ...] = ()

    def status(self, fail_on: Level, *, is_strict: bool = False) -> int:
        """The exit status because of this file; ``is_strict``: if all has to be proved."""
        if self.problem:
            return self.problem_status
        if any(each.fails(fail_on) for each in self.findings):
            return DOES_NOT_HOLD
        unjudged = any(each.was_not_judged and each.is_new for each in self.findings)
        verdicts = {each.verdict.verdict for each in self.functions if each.verdict is not None}
        if is_strict and VerdictKind.RACE in verdicts:
            return DOES_NOT_HOLD
        unproved = is_strict and bool(verdicts - {VerdictKind.RACE_FREE})
        return INCOMPLETE if unjudged or unproved else HOLDS


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of findings: by level, the surplus, and its cost.

    Findings that are known, or that a comment ignores, are apart.
    """

    by_level: tuple[int, ...]
    surplus: int
    cost: int
    known: int
    ignored: int

    def text(self) -> str:
        """``1 error, 0 warnings, 2 notes``."""
        return ", ".join(map(counted, self.by_level, LEVELS))

    def apart(self) -> list[str]:
        """``2 known`` and ``1 ignored``, where there are any."""
        numbers = ((self.known, "known"), (self.ignored, "ignored"))
        return [f"{number} {what}" for number, what in numbers if number]


def counts_of(findings: Sequence[ReportedFinding]) -> Counts:
    """The number of findings of each kind."""
    new = [each for each in findings if each.is_new]
    number = Counter(each.level for each in new)
    surplus = [each for each in findings if each.is_surplus]
    return Counts(
        tuple(number[level] for level in LEVELS),
        len(surplus),
        sum(each.cost for each in surplus),
        sum(each.is_known for each in findings),
        sum(bool(each.ignored) for each in findings if not each.is_known),
    )


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """The number of functions that were proved, have a race, and were not judged.

    ``conditional``: races under some launches or contents of memory alone. ``why``: the reasons not
    to judge that are about no line of the code.
    """

    proved: int
    found: int
    conditional: int
    not_judged: int
    why: tuple[str, ...]

    def text(self, *, has_reasons: bool = True) -> str:
        """``2 proved, 1 with a race, 0 not judged``; and the way to reasons not printed."""
        reasons = self.why or (
            ("--prove prints why",) if self.not_judged and not has_reasons else ()
        )
        why = f" ({'; '.join(reasons)})" if reasons else ""
        only = f" ({self.conditional} under a condition)" if self.conditional else ""
        return (
            f"{self.proved} proved, {self.found} with a race{only}, "
            f"{self.not_judged} not judged{why}"
        )


def verdict_counts(reports: Iterable[FileReport]) -> VerdictCounts:
    """The number of functions with each verdict."""
    verdicts = [
        each.verdict for one in reports for each in one.functions if each.verdict is not None
    ]
    number = Counter(each.verdict for each in verdicts)
    reasons = (e.obstacle for e in verdicts if e.obstacle and not e.obstacle_line)
    return VerdictCounts(
        number[VerdictKind.RACE_FREE],
        number[VerdictKind.RACE] + number[VerdictKind.LAUNCH],
        number[VerdictKind.LAUNCH],
        number[VerdictKind.NOT_JUDGED],
        tuple(dict.fromkeys(reasons)),
    )


def relative_path(file: str) -> str:
    """The path of a file from the current folder; the whole path of one that is not below it."""
    path = os.path.abspath(file)
    below = os.path.relpath(path)
    return path if below.startswith(os.pardir) else below


def dumped(document: dict[str, Any] | list[dict[str, object]]) -> str:
    """A document as JSON, with printable names of files: no reader takes half a character."""
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
