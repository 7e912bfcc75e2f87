"""One file of fence-check: reads it, runs the analyses, and reports their findings."""

import re
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from fencewright.checker.findings.finding import NOT_JUDGED, SURPLUS, Finding, Level, Step
from fencewright.checker.repair.prices import amd_prices, ptx_prices
from fencewright.checker.source.program import SourceError
from fencewright.lowering.code.source_location import (
    AssemblyError,
    SourceLine,
    SourceLocation,
    places_of,
)
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.race.rules import RULES
from fencewright.tools import diagnostics
from fencewright.tools.commands.compare_source import (
    AssemblyAndSource,
    PtxAndSource,
    assuming,
    compile_and_read,
    compiled,
    merged,
    show_counterexamples,
)
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError
from fencewright.tools.inputs.code_kind import check_is_code, is_ptx_file
from fencewright.tools.reports.author_text import (
    Compiled,
    Ignore,
    ignores_in,
    paths_of,
    source_ignores,
    sources_of,
)
from fencewright.tools.reports.file_report import (
    CodeLine,
    FileReport,
    ReportedFinding,
    ReportedStep,
)
from fencewright.tools.reports.function_names import in_author_words
from fencewright.tools.reports.numba_names import smem_names
from fencewright.tools.statuses import INCOMPLETE, USAGE

STDIN = "<stdin>"


def read_beside_source(
    path: str, content: bytes, file: str, arguments: Namespace
) -> AssemblyAndSource | PtxAndSource:
    """The code in a file of that content, or made of it, with its source if there is one."""
    return assuming(_read_beside_source(path, content, file, arguments), arguments.facts)


def _read_beside_source(
    path: str, content: bytes, file: str, arguments: Namespace
) -> AssemblyAndSource | PtxAndSource:
    if arguments.run:
        return compile_and_read(path, arguments.run, arguments.code)
    check_is_code(path, content, file)
    if is_ptx_file(path, content):
        from fencewright.tools import ptx_check

        module = ptx_check.read_input(content, file)
        text = diagnostics.as_text(content)
        ptx = PtxAndSource(module, file, ignores=ignores_in(text, file))
        return ptx.beside(text, arguments.source) if arguments.source else ptx
    from fencewright.tools.commands.amd_check import read_input

    assembly, text = read_input(content, file)
    code = AssemblyAndSource(assembly, file, ignores=ignores_in(text, file))
    return code.beside(text, arguments.source) if arguments.source else code


_PLACE = re.compile(r"(.*):(\d+): error: (.*)", re.S)


def problem_of(problem: Exception, file: str) -> ToolError:
    """The error for an input that could not be read. Raises ``problem`` if nothing is known."""
    if isinstance(problem, ToolError):
        return ToolError(problem.diagnostics, status=USAGE)
    if isinstance(problem, AssemblyError | SourceError) and (
        found := _PLACE.fullmatch(str(problem))
    ):
        return ToolError((Diagnostic(found[3], found[1], int(found[2]), 1),), status=USAGE)
    known = diagnostics.diagnose(problem, file)
    if known is None:
        raise problem
    return ToolError((known,), status=USAGE)


def unreadable(path: str, problem: Exception) -> FileReport:
    """The report of a file that could not be read. Raises ``problem`` if it is none of those."""
    file = STDIN if path == "-" else path
    said = problem_of(problem, file)
    return FileReport(path, file, problem=said.diagnostics, problem_status=said.status)


def status_of_unread(path: str, problem: Exception) -> int:
    """The exit status for an unread file, once that is printed; raises as ``unreadable``."""
    unread = unreadable(path, problem)
    print(*unread.problem, sep="\n", file=sys.stderr)
    return unread.problem_status


def named_content(path: str, arguments: Namespace) -> tuple[str, bytes]:
    """The name of an input in messages, and its content, none for ``--run``; or ``OSError``."""
    file = STDIN if path == "-" else path
    return file, b"" if arguments.run else diagnostics.read_bytes(None if path == "-" else path)


def report_or_problem(
    path: str, arguments: Namespace, read: Callable[[str, Namespace], FileReport]
) -> FileReport:
    """The report that ``read``, as ``report_on``, makes of a file; its faults stay its own."""
    try:
        return read(path, arguments)
    except Exception as problem:
        if arguments.traces:
            traceback.print_exc()
        try:
            return unreadable(path, problem)
        except Exception as bug:
            file = STDIN if path == "-" else path
            reported = (diagnostics.internal_error(bug, file),)
            return FileReport(path, file, problem=reported, problem_status=INCOMPLETE)


def report_on(path: str, arguments: Namespace) -> FileReport:
    """The report on one file; raises the errors that ``problem_of`` knows."""
    file, content = named_content(path, arguments)
    if arguments.compile:
        file, content = compiled(path, arguments.compile, arguments.code)
    return report_of(path, file, content, arguments)


def report_of(path: str, file: str, content: bytes, arguments: Namespace) -> FileReport:
    """The report on a content that messages call ``file``; raises as ``report_on``."""
    beside = read_beside_source(path, content, file, arguments)
    if isinstance(beside, PtxAndSource):
        return _report_on_ptx(path, beside, arguments)
    return _report_on_assembly(path, beside, arguments)


def _report_on_assembly(path: str, beside: AssemblyAndSource, arguments: Namespace) -> FileReport:
    # Here, for other code needs none of it.
    from fencewright.checker.verdicts.amd.judge import JudgedFunction, judged
    from fencewright.checker.verdicts.solver import Launch, Steps
    from fencewright.tools.commands.amd_check import checked, named

    assembly, file = beside.code, beside.file
    many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
    launch = Launch(arguments.block, arguments.grid)
    steps = Steps(len(assembly.functions))
    functions: list[JudgedFunction] = []
    provided: list[tuple[int, str]] = []
    for each in checked(assembly, file, many):
        if not each.is_empty:
            functions.append(judged(each, launch, steps, finds_surplus=arguments.finds_surplus))
        provided += each.provided() if arguments.lift else ()
    found = sorted(each for one in functions for each in one.findings)
    comparisons = beside.comparisons(many)
    found = merged(found, comparisons)
    has_steps = arguments.format == "sarif"
    shown = show_counterexamples(comparisons, file, arguments.counterexamples, has_steps=has_steps)
    executed = dict(shown) if arguments.replays else {}
    paths = paths_of(assembly.files, file)
    reporter = _Reporter(path, file, assembly.functions.values(), paths, beside.ignores, arguments)
    reported = tuple(reporter.reported(each, *executed.get(each, ("", ()))) for each in found)
    source = beside.source
    return FileReport(
        path,
        file,
        assembly.chip,
        tuple(named(assembly, functions)),
        reported,
        tuple(provided),
        "" if source is None else source.file,
        (sum(each.was_compared for each in comparisons), len(comparisons)),
        unused=tuple(reporter.unused(reported)),
        prices=tuple(amd_prices(assembly)) if arguments.prices else (),
    )


def _report_on_ptx(path: str, beside: PtxAndSource, arguments: Namespace) -> FileReport:
    from fencewright.tools import ptx_check

    module, file = beside.code, beside.file
    for option in ("l2_per_agent", "counterexamples"):
        if getattr(arguments, option):
            raise diagnostics.error(f"--{option.replace('_', '-')} is not for PTX", file)
    comparisons = beside.comparisons()
    paths = paths_of(module.files, file)
    reporter = _Reporter(path, file, module.functions.values(), paths, beside.ignores, arguments)
    with_source = [each for one in comparisons for each in one.findings]
    # A race in the source is no fault of its compiler: it stays a warning.
    replays = arguments.replays and not (arguments.source or arguments.run)
    judged = list(
        ptx_check.judged(
            module,
            arguments.block,
            arguments.grid,
            replays=replays,
            finds_surplus=arguments.finds_surplus,
            only=arguments.only,
        )
    )
    in_functions = (each for one in judged for each in one.findings)
    found = [*sorted(in_functions), *sorted(with_source)]
    reported = tuple(map(reporter.reported, found))
    return FileReport(
        path,
        file,
        module.target,
        tuple(ptx_check.named(module, judged)),
        reported,
        tuple(ptx_check.lifted(module)) if arguments.lift else (),
        "" if beside.source is None else beside.source.file,
        (sum(each.was_compared for each in comparisons), len(comparisons)),
        unused=tuple(reporter.unused(reported)),
        prices=tuple(ptx_prices(module)) if arguments.prices else (),
    )


class _Instruction(Compiled, Protocol):
    """An instruction of either vendor."""

    @property
    def text(self) -> str:
        """As it is written."""
        ...


class _Function(Protocol):
    """A function of either vendor."""

    @property
    def name(self) -> str:
        """As the file has it."""
        ...

    @property
    def instructions(self) -> Sequence[_Instruction]:
        """In the order of the text."""
        ...


@dataclass(frozen=True, slots=True)
class _CodeOfLine:
    """The instruction of a line: its function, its text, and where it was compiled from."""

    function: str = ""
    text: str = ""
    source: SourceLine | None = None


@dataclass(frozen=True)
class _Reporter:
    """Makes findings of one file those of reports.

    ``paths``: of source files by their numbers. ``ignores``: the comments of the code that ignore
    findings, by line.
    """

    path: str
    file: str
    functions: Iterable[_Function]
    paths: Mapping[int, str]
    ignores: Mapping[int, Ignore]
    arguments: Namespace

    @cached_property
    def code(self) -> Mapping[int, tuple[str, _Instruction]]:
        """The function and the instruction of each line: most files have no finding."""
        return {
            each.line: (function.name, each)
            for function in self.functions
            for each in function.instructions
        }

    def reported(
        self, finding: Finding, executed: str = "", steps: Sequence[Step] = ()
    ) -> ReportedFinding:
        """A finding as reports have it; with ``--run`` it is at its line of the source."""
        made = replace(
            self._in_code(replace(finding, steps=tuple(steps) or finding.steps)),
            executed=executed,
            ignored=self._reason_to_ignore(finding),
        )
        source = self.path if self.arguments.run else self.arguments.source
        if finding.function:
            made = replace(made, function=finding.function)
        if not finding.source_line or not source:
            return made
        about: list[tuple[str, CodeLine]] = []
        at = CodeLine(source, finding.source_line)
        if self.arguments.run:
            made = replace(made, at=at)
            if self.arguments.code:
                about.append(("the instruction", CodeLine(self.file, finding.line)))
                about += made.about
        else:
            about = [*made.about, ("the source", at)]
        if finding.earlier_source_line:
            earlier = CodeLine(source, finding.earlier_source_line)
            about.append(("the earlier access in the source", earlier))
        return replace(made, about=tuple(about))

    def _in_code(self, finding: Finding) -> ReportedFinding:
        code = self._code(finding.line)
        about = (
            (self._code(line).text or "code", self._place(finding, line)) for line in finding.about
        )
        can_go = finding.rule in SURPLUS
        return ReportedFinding(
            str(finding.rule),
            finding.level,
            self._in_author_words(finding, code.function, finding.message),
            code.function,
            code.text,
            self._place(finding, finding.line),
            tuple(about),
            finding.cost,
            can_go,
            self._is_shown(finding, can_go),
            finding.rule in NOT_JUDGED,
            is_of_many=self._has_many,
            steps=tuple(
                ReportedStep(
                    each.thread,
                    self._step_place(each.line),
                    self._in_author_words(finding, code.function, each.text),
                    each.order,
                )
                for each in finding.steps
            ),
            part=finding.part,
        )

    def _in_author_words(self, finding: Finding, function: str, text: str) -> str:
        def place_of(line: int) -> SourceLocation | None:
            return next(iter(self._place(finding, line).source), None)

        sources = sources_of(self.paths.values(), self.file)
        at = place_of(finding.line)
        arrays = self._arrays
        return in_author_words(text, function, at, place_of, sources, arrays=arrays)

    @cached_property
    def _has_many(self) -> bool:
        return len({name for name, _ in self.code.values()}) > 1

    @cached_property
    def _arrays(self) -> tuple[str, ...]:
        return smem_names(each.text for _, each in self.code.values())

    def unused(self, findings: Iterable[ReportedFinding]) -> Iterator[Diagnostic]:
        """The comments of the code that ignore none of its findings."""
        used = {each.at.line for each in findings if each.ignored}
        for line, ignore in self.ignores.items():
            # Findings of launches are not reported here.
            if line not in used and not ignore.rules <= RULES:
                names = ", ".join(sorted(ignore.rules))
                message = f"nothing is found here that 'ignore[{names}]' is about: remove it"
                yield Diagnostic(message, self.file, ignore.line, 1, Severity.WARNING)

    def _code(self, line: int) -> _CodeOfLine:
        if (found := self.code.get(line)) is None:
            return _CodeOfLine()
        function, instruction = found
        return _CodeOfLine(function, instruction.text, instruction.source)

    def _place(self, finding: Finding, line: int) -> CodeLine:
        """A line of the code, with the author's.

        What a comparison finds speaks of the lines of its own source; with ``--run`` the code has
        those of a numbered copy of that.
        """
        return CodeLine(self.file, line) if finding.function else self._step_place(line)

    def _step_place(self, line: int) -> CodeLine:
        source = None if self.arguments.run else self._code(line).source
        return CodeLine(self.file, line, places_of(source, self.paths))

    def _reason_to_ignore(self, finding: Finding) -> str:
        """The reason to ignore it: of a comment at its line or its source's, or for its rule."""
        sources = self._place(finding, finding.line).source
        of_sources = (source_ignores(each.file).get(each.line) for each in sources)
        for ignore in (self.ignores.get(finding.line), *of_sources):
            if ignore is not None and finding.rule in ignore.rules:
                return ignore.reason
        return self.arguments.ignored.get(finding.rule, "")

    def _is_shown(self, finding: Finding, can_go: bool) -> bool:
        arguments = self.arguments
        asked = arguments.surplus and can_go
        notes = arguments.notes or arguments.fail_on is Level.NOTE
        return asked or notes or finding.level is not Level.NOTE
