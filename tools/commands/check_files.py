"""What fence-check does with one file: reads it, runs the analyses, and reports what they found."""

import re
import subprocess
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fencewright.checker.check_amd import Checked, check
from fencewright.checker.findings.finding import NOT_JUDGED, SURPLUS, Finding, Level, Rule
from fencewright.checker.source.program import SourceError
from fencewright.lowering.cdna.code.listing import read_disassembly
from fencewright.lowering.cdna.code.objects import (
    MAGIC,
    chip_of_object,
    descriptors_of_object,
    functions_of_object,
    untyped_functions,
)
from fencewright.lowering.cdna.code.other_chips import chip_of
from fencewright.lowering.cdna.code.text import Assembly, check_whole, read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools import diagnostics, ptx_check
from fencewright.tools.commands.compare_source import (
    CodeAndSource,
    PtxAndSource,
    assuming,
    compile_and_read,
    merged,
    read_beside,
    read_beside_ptx,
    show_counterexamples,
)
from fencewright.tools.diagnostics import Diagnostic, ToolError
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool
from fencewright.tools.reports.file_report import (
    CodeLine,
    FileReport,
    FunctionName,
    ReportedFinding,
)
from fencewright.tools.statuses import INCOMPLETE, USAGE

STDIN = "<stdin>"

_FORMATS = (
    (re.compile(r"^[^\S\n]*(target (triple|datalayout)|define |source_filename)", re.M), "LLVM IR"),
    (
        re.compile(r"^[^\S\n]*\.target\s+sm_|^[^\S\n]*/\*[0-9a-f]{4}\*/", re.M),
        "code of NVIDIA's GPUs",
    ),
)
"""What else may be given by mistake, by what it has in it."""


def read_input(content: bytes, file: str) -> tuple[Assembly, str]:
    """The assembly that a file contains, which may be a code object, and its text.

    Raises ``AssemblyError``, and ``ToolError`` where llvm-objdump is missing or fails.
    """
    if not content.strip():
        raise diagnostics.error("the input is empty", file)
    if content.startswith(MAGIC):
        chip = chip_of_object(content, file)
        listing = _disassembled(content, file)
        symbols, descriptors = functions_of_object(content), descriptors_of_object(content)
        untyped = untyped_functions(content)
        return read_disassembly(listing, chip, file, symbols, descriptors, untyped), listing
    if diagnostics.is_bitcode(content):
        raise diagnostics.error("LLVM bitcode, not AMD assembly", file)
    text = diagnostics.as_text(content)
    if ".amdgcn_target" not in text:
        for pattern, name in _FORMATS:
            if pattern.search(text):
                raise diagnostics.error(f"{name}, not AMD assembly", file)
    assembly = read_assembly(text, file)
    check_whole(text, file)
    return assembly, text


def read_beside_source(
    path: str, content: bytes, file: str, arguments: Namespace
) -> CodeAndSource | PtxAndSource:
    """The code in a file of that content, or made of it, with its source if there is one."""
    return assuming(_read_beside_source(path, content, file, arguments), arguments.facts)


def _read_beside_source(
    path: str, content: bytes, file: str, arguments: Namespace
) -> CodeAndSource | PtxAndSource:
    if arguments.run:
        return compile_and_read(path, arguments.run, arguments.code)
    if ptx_check.takes(path, content):
        module = ptx_check.read_input(content, file)
        if not arguments.source:
            return PtxAndSource(module, file)
        return read_beside_ptx(module, diagnostics.as_text(content), file, arguments.source)
    assembly, text = read_input(content, file)
    if arguments.source:
        return read_beside(assembly, text, file, arguments.source)
    return CodeAndSource(assembly, file)


def _disassembled(content: bytes, file: str) -> str:
    objdump = find_llvm_tool("llvm-objdump")
    if objdump is None:
        raise diagnostics.error(f"code objects need llvm-objdump: {LLVM_HINT}", file)
    options = ("-d", "--symbolize-operands", "--no-show-raw-insn", "--no-leading-addr", "-")
    done = subprocess.run([objdump, *options], input=content, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise diagnostics.error(said[0] if said else "llvm-objdump failed", file)
    return done.stdout.decode(errors="replace")


def checked(
    assembly: Assembly, file: str, l2_per_agent: L2PerAgent | None = None
) -> Iterator[Checked]:
    """All functions; raises ``AssemblyError``."""
    chip_of(assembly, file)
    if not any(each.instructions for each in assembly.functions.values()):
        raise AssemblyError(f"{file}:1: error: there is no function with instructions in it")
    for function in assembly.functions.values():
        yield check(assembly, function, l2_per_agent)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What finds something in a function; ``option``: that asks for it, none if it is always done.

    ``replaces``: findings of other analyses that its own say better.
    """

    find: Callable[[Checked], Iterable[Finding]]
    option: str | None = None
    replaces: tuple[Rule, ...] = ()


ANALYSES = (
    Analysis(Checked.hazards),
    Analysis(Checked.patterns),
    Analysis(Checked.surplus, "finds_surplus", replaces=(Rule.SURPLUS_WAIT,)),
)


def findings_of(each: Checked, arguments: Namespace) -> list[Finding]:
    """What the analyses that are asked for find in a function."""
    found: list[Finding] = []
    for analysis in ANALYSES:
        if analysis.option is None or getattr(arguments, analysis.option):
            found = [known for known in found if known.rule not in analysis.replaces]
            found += analysis.find(each)
    return found


_PLACE = re.compile(r"(.*):(\d+): error: (.*)", re.S)


def problem_of(problem: Exception, file: str) -> ToolError:
    """What to say of an input that could not be read. Raises ``problem`` if nothing is known."""
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


def report_or_problem(
    path: str, arguments: Namespace, read: Callable[[str, Namespace], FileReport]
) -> FileReport:
    """The report that ``read``, as ``report_on``, makes of one file: no fault of it affects the others."""
    try:
        return read(path, arguments)
    except Exception as problem:
        if arguments.traces:
            traceback.print_exc()
        try:
            return unreadable(path, problem)
        except Exception as bug:
            file = STDIN if path == "-" else path
            told = (diagnostics.internal_error(bug, file),)
            return FileReport(path, file, problem=told, problem_status=INCOMPLETE)


def report_on(path: str, arguments: Namespace) -> FileReport:
    """What is found in one file; raises what ``problem_of`` knows."""
    file = STDIN if path == "-" else path
    content = b"" if arguments.run else diagnostics.read_bytes(None if path == "-" else path)
    beside = read_beside_source(path, content, file, arguments)
    if isinstance(beside, PtxAndSource):
        return _report_on_ptx(path, beside, arguments)
    return _report_on_assembly(path, beside, arguments)


def _report_on_assembly(path: str, beside: CodeAndSource, arguments: Namespace) -> FileReport:
    assembly, file = beside.assembly, beside.file
    many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
    functions = list(checked(assembly, file, many))
    found = sorted(each for one in functions for each in findings_of(one, arguments))
    comparisons = beside.comparisons(many)
    found = merged(found, comparisons)
    executed = dict(show_counterexamples(comparisons, file, arguments.counterexamples))
    code = {
        each.line: (function.name, each.text)
        for function in assembly.functions.values()
        for each in function.instructions
    }
    reporter = _Reporter(path, file, code, arguments)
    provided = (each for one in functions for each in one.provided()) if arguments.lift else ()
    source = beside.source
    return FileReport(
        path,
        file,
        assembly.chip,
        tuple(FunctionName(e.name, bool(e.descriptor)) for e in assembly.functions.values()),
        tuple(reporter.reported(each, executed.get(each, "")) for each in found),
        tuple(provided),
        "" if source is None else source.file,
        (sum(each.was_compared for each in comparisons), len(comparisons)),
    )


def _report_on_ptx(path: str, beside: PtxAndSource, arguments: Namespace) -> FileReport:
    module, file = beside.module, beside.file
    for option in ("l2_per_agent", "counterexamples"):
        if getattr(arguments, option):
            raise diagnostics.error(f"--{option.replace('_', '-')} is not for PTX", file)
    comparisons = beside.comparisons()
    code = {
        each.line: (function.name, str(each))
        for function in module.functions.values()
        for each in function.instructions
    }
    reporter = _Reporter(path, file, code, arguments)
    with_source = [each.finding() for one in comparisons for each in one.findings]
    found = [*sorted(ptx_check.findings_of(module)), *sorted(with_source)]
    return FileReport(
        path,
        file,
        module.target,
        tuple(FunctionName(*each) for each in ptx_check.names_of(module).items()),
        tuple(map(reporter.reported, found)),
        tuple(ptx_check.lifted(module)) if arguments.lift else (),
        "" if beside.source is None else beside.source.file,
        (sum(each.was_compared for each in comparisons), len(comparisons)),
    )


@dataclass(frozen=True, slots=True)
class _Reporter:
    """Makes findings of one file those of reports.

    ``code``: function and text of the instruction of each line.
    """

    path: str
    file: str
    code: Mapping[int, tuple[str, str]]
    arguments: Namespace

    def reported(self, finding: Finding, executed: str = "") -> ReportedFinding:
        """A finding as reports have it; with ``--run`` it is at its line of the source."""
        made = replace(self._in_code(finding), executed=executed)
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
        function, text = self.code.get(finding.line, ("", ""))
        about = ((self._text(line), CodeLine(self.file, line)) for line in finding.about)
        can_go = finding.rule in SURPLUS
        return ReportedFinding(
            str(finding.rule),
            finding.level,
            finding.message,
            function,
            text,
            CodeLine(self.file, finding.line),
            tuple(about),
            finding.cost,
            can_go,
            self._is_shown(finding, can_go),
            finding.rule in NOT_JUDGED,
        )

    def _text(self, line: int) -> str:
        return self.code.get(line, ("", ""))[1] or "code"

    def _is_shown(self, finding: Finding, can_go: bool) -> bool:
        arguments = self.arguments
        asked = arguments.surplus and can_go
        notes = arguments.notes or arguments.fail_on is Level.NOTE
        return asked or notes or finding.level is not Level.NOTE
