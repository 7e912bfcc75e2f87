"""Repairs of findings (``fence-check --fix``), each judged again before it is shown."""

import difflib
import sys
from argparse import Namespace
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

from fencewright.checker.repair.edits import Action, Repair, edited, moved
from fencewright.checker.repair.leaner import Step, leaner
from fencewright.checker.repair.narrower import narrower
from fencewright.checker.repair.search import Fault, Found, Judgement, Proof, repair_of
from fencewright.checker.repair.words import Places, described
from fencewright.lowering.cdna.code.objects import MAGIC
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.wording import counted
from fencewright.tools import diagnostics
from fencewright.tools.commands.check_files import named_content, report_of, status_of_unread
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError, output_file, printable
from fencewright.tools.inputs.code_kind import check_is_code, is_ptx_file
from fencewright.tools.reports.author_text import author_lines
from fencewright.tools.reports.color import painter
from fencewright.tools.reports.file_report import FileReport, ReportedFinding, verdict_counts
from fencewright.tools.statuses import worst

FINDINGS, SURPLUS = "findings", "surplus"
"""The objects of ``--fix``."""
ASSUMED = (
    "assuming that no other kernel, GPU or CPU synchronises by this memory while the kernel runs"
)
"""The assumption of every weaker form."""


def judgement_of(report: FileReport, *, of_surplus: bool) -> Judgement:
    """The findings and proofs of a report, as the search of repairs compares them.

    ``of_surplus``: with what can go; a repair of what is missing may well make something so.
    """
    findings = (each for each in report.findings if of_surplus or not each.is_surplus)
    proofs = {
        each.name: Proof(each.verdict.verdict, each.verdict.reasons)
        for each in report.functions
        if each.verdict is not None
    }
    return Judgement(tuple(map(_fault, findings)), proofs)


def _fault(finding: ReportedFinding) -> Fault:
    about = tuple(place.line for _, place in finding.about if place.file == finding.at.file)
    at = finding.at.line
    return Fault(finding.rule, finding.function, at, finding.level, about, finding.part)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A finding with its repair, and ``lines``: of the text that it was found in, the lines of the
    code as it was given, 0 of those that are new."""

    finding: ReportedFinding
    found: Found
    lines: tuple[int, ...]

    @property
    def repair(self) -> Repair | None:
        """The repair, None where none was found."""
        return self.found.repair

    def line_of(self, line: int) -> int:
        """The line of the code as it was given."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else 0


class Fixer:
    """The repairs of one file, one after another."""

    def __init__(self, path: str, file: str, content: bytes, arguments: Namespace):
        self.path = path
        self.file = file
        self.is_ptx = is_ptx_file(path, content)
        self.given = self.text = diagnostics.as_text(content)
        self._lines = tuple(range(1, self.text.count("\n") + 2))
        self._arguments = copy(arguments)
        # A race that only an execution shows is a note.
        self._arguments.replays = arguments.replays and arguments.notes
        self._of_surplus = arguments.fix == SURPLUS
        self._arguments.finds_surplus = self._of_surplus
        self._given_up: set[tuple[str, ...]] = set()
        self._has_parts = self.is_ptx
        self._reports: dict[tuple[str, str | None, bool], FileReport] = {}

    def report(self, function: str | None = None) -> FileReport:
        """The findings in the text as it is now, or those in one function."""
        return self._report_of(self.text, function, replays=self._arguments.replays)

    def _report_of(self, text: str, function: str | None, *, replays: bool) -> FileReport:
        """A report, made once: of one function, or of the whole file, which is the same in assembly
        and in a file of one function."""
        function = function if self._has_parts else None
        key = text, function, replays
        if (known := self._reports.get(key)) is None:
            arguments = copy(self._arguments)
            arguments.only, arguments.replays = function, replays
            known = report_of(self.path, self.file, text.encode(), arguments)
            self._reports[key] = known
            self._has_parts &= function is not None or len(known.functions) > 1
        return known

    def fixed(self) -> Iterator[Fixed]:
        """Each finding that is asked for with its repair; ``text`` has those that were found."""
        findings = filter(self._is_asked, self.report().findings)
        for function in dict.fromkeys(each.function for each in findings):
            yield from self._fixed_in(function)

    def _fixed_in(self, function: str) -> Iterator[Fixed]:
        while True:
            report = self.report(function or None)
            of_it = (each for each in report.findings if each.function == function)
            left = (each for each in of_it if _key(each) not in self._given_up)
            finding = next(filter(self._is_asked, left), None)
            if finding is None:
                return
            fault = _fault(finding)
            judged = judgement_of(report, of_surplus=self._of_surplus)
            found = repair_of(self.text, fault, judged, self._candidates(fault), self._judge)
            yield Fixed(finding, found, self._lines)
            if found.repair is None:
                self._given_up.add(_key(finding))
            else:
                self._edit(found.repair)

    def lean(self) -> Iterator[tuple[Step, int]]:
        """The steps that make code leaner beyond its findings, each with the line of the code as it
        was given; ``text`` has them done."""
        judged = judgement_of(self.report(), of_surplus=True)
        steps = leaner if self.is_ptx else narrower
        for step in steps(lambda: self.text, self.file, judged, self._judge):
            yield step, self._lines[step.line - 1]
            self._edit(step.repair)

    def places(self) -> Places:
        """The author's place of each line of the code as it was given."""
        if self.is_ptx:
            from fencewright.lowering.ptx.code.text import read_ptx

            code = read_ptx(self.given, self.file)
        else:
            from fencewright.lowering.cdna.code.text import read_assembly

            code = read_assembly(self.given, self.file)
        functions = code.functions.values()
        instructions = (each for function in functions for each in function.instructions)
        found = author_lines(instructions, code.files, self.file)
        return lambda line: next(iter(found.get(line, ())), None)

    def diff(self) -> Iterator[str]:
        """The repairs as a patch of the code as it was given."""
        old, new = self.given.splitlines(), self.text.splitlines()
        return difflib.unified_diff(old, new, self.file, self.file, lineterm="")

    def _edit(self, repair: Repair) -> None:
        old = {moved(number, repair): line for number, line in enumerate(self._lines, 1)}
        gone = {each.at.line for each in repair if each.action is Action.DELETE}
        self.text = edited(self.text, repair)
        kept = {key: each for key, each in self._reports.items() if key[0] == self.text}
        self._reports = kept
        for line in gone:
            # What comes after has taken its place, or shares its line.
            old[moved(line, repair)] = self._lines[min(line, len(self._lines) - 1)]
        self._lines = tuple(old.get(n, 0) for n in range(1, self.text.count("\n") + 2))

    def _is_asked(self, finding: ReportedFinding) -> bool:
        asked = finding.is_shown and finding.is_surplus is self._of_surplus
        return asked and finding.is_new and not finding.was_not_judged

    def _judge(self, text: str, function: str) -> Judgement | None:
        """The judgement of a function in a text; None where that cannot be read."""
        try:
            # A candidate is judged, and not executed: that would say no more of it.
            report = self._report_of(text, function, replays=False)
        except (AssemblyError, ToolError):
            return None
        return judgement_of(report, of_surplus=self._of_surplus).of(function)

    def _candidates(self, fault: Fault) -> Iterator[Repair]:
        if self.is_ptx:
            from fencewright.checker.repair import ptx
            from fencewright.lowering.ptx.code.text import read_ptx

            return ptx.candidates_of(read_ptx(self.text, self.file), self.text, fault)
        from fencewright.checker.repair import amd
        from fencewright.lowering.cdna.code.text import read_assembly

        return amd.candidates_of(read_assembly(self.text, self.file), self.text, fault)


def _key(finding: ReportedFinding) -> tuple[str, ...]:
    """A finding whose lines may have moved."""
    return finding.rule, finding.function, finding.instruction, finding.part


def fix(arguments: Namespace) -> int:
    """Repair the findings of each input; the status is that of checking it.

    With an output it is that of checking what was written there.
    """
    return worst([_fix(path, arguments) for path in arguments.inputs])


def _fix(path: str, arguments: Namespace) -> int:
    try:
        file, content = named_content(path, arguments)
        if content.startswith(MAGIC):
            check_is_code(path, content, file)
            raise diagnostics.error("a code object: give --fix its assembly, as of -S", file)
        report = report_of(path, file, content, arguments)
        fixer = Fixer(path, file, content, arguments)
        says = arguments.output != "-"
        for line in _fixed_lines(report, fixer, arguments):
            if says:
                print(printable(line))
    except Exception as problem:
        return status_of_unread(path, problem)
    if arguments.output is None:
        sys.stdout.writelines(f"{printable(line)}\n" for line in fixer.diff())
        return report.status(arguments.fail_on, is_strict=arguments.strict)
    with output_file(arguments.output) as stream:
        stream.write(fixer.text)
    again = report_of(path, file, fixer.text.encode(), arguments)
    return again.status(arguments.fail_on, is_strict=arguments.strict)


def _fixed_lines(report: FileReport, fixer: Fixer, arguments: Namespace) -> Iterator[str]:
    """The findings with their repairs, what is leaner, and how much that is."""
    paint = painter(arguments.color, to_stdout=True)
    place_of = fixer.places()
    done = list(fixer.fixed())
    steps = list(fixer.lean()) if arguments.fix == SURPLUS else []
    if steps:
        # The wait for a write-back that has gone, say.
        done += fixer.fixed()
    for each in done:
        line = each.line_of(each.finding.at.line)
        # As it is reported: with what an execution shows of it, and at its own lines.
        for shown in _reported(report, each.finding, line).lines():
            yield str(paint(shown))
        for text in notes_of(each, place_of):
            yield str(paint(Diagnostic(text, fixer.file, line, 1, Severity.NOTE)))
    for step, line in steps:
        yield str(paint(Diagnostic(_step_text(step), fixer.file, line, 1, Severity.NOTE)))
    if not done and not steps:
        is_lean = arguments.fix == SURPLUS
        hidden = sum(not each.is_shown and each.is_surplus is is_lean for each in report.findings)
        notes = f" but {counted(hidden, 'note')} (with --notes)" if hidden else ""
        yield f"{fixer.file}: nothing to repair{notes}; {verdict_counts([report]).text()}"
        return
    if steps:
        yield f"{fixer.file}: {ASSUMED}"
    number = sum(each.repair is not None for each in done)
    leaner = f"; {counted(len(steps), 'weaker form')}" if steps else ""
    yield f"{fixer.file}: {number} of {counted(len(done), 'finding')} repaired{leaner}"


def _reported(report: FileReport, finding: ReportedFinding, line: int) -> ReportedFinding:
    """The finding of the report that a finding of the edited text is; itself if none is, at the
    line of the code as it was given."""
    same = (
        each
        for each in report.findings
        if (each.rule, each.function, each.at.line) == (finding.rule, finding.function, line)
    )
    return next(same, replace(finding, at=replace(finding.at, line=line)))


def notes_of(fixed: Fixed, place_of: Places) -> Iterator[str]:
    """The repair of a finding in words, or that there is none."""
    if fixed.repair is None:
        tried = counted(fixed.found.tried, "candidate")
        limit = ", the limit" if fixed.found.is_cut else ""
        yield f"no repair was found: {tried} judged{limit}"
        return
    for text in described(fixed.repair, fixed.line_of, place_of):
        yield f"repair: {text}"


def _step_text(step: Step) -> str:
    change = f"`{step.new}` will do for `{step.old}`" if step.new else f"`{step.old}` is redundant"
    return f"{change}: {step.saved} {step.unit} less" if step.saved else change
