"""fence-check --launch: races of PTX and AMD kernels, found by executing them."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fencewright.checker.findings.finding import Level
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.launches.guess import asked_launches
from fencewright.simulator.launches.sources import SourceLaunch, source_launches
from fencewright.simulator.race.findings import Finding
from fencewright.simulator.race.rules import KINDS
from fencewright.simulator.race.verdict import Judgement, Verdict, judge
from fencewright.simulator.threads.launch import LaunchError, Module, parse_launch
from fencewright.tools import diagnostics, ptx_check
from fencewright.tools.commands.check_files import named_content, problem_of, status_of_unread
from fencewright.tools.commands.compare_source import compiled
from fencewright.tools.diagnostics import (
    Diagnostic,
    ToolError,
    error,
    output_file,
    printable,
    refuse_options,
)
from fencewright.tools.inputs.code_kind import check_is_code, is_ptx_file
from fencewright.tools.reports.author_text import (
    Ignore,
    author_lines,
    ignores_in,
    paths_of,
    source_ignores,
    sources_of,
)
from fencewright.tools.reports.baseline import read_baseline, write_baseline
from fencewright.tools.reports.color import painter
from fencewright.tools.reports.file_report import (
    CodeLine,
    FileReport,
    FunctionName,
    JudgedLaunch,
    ReportedFinding,
    ReportedStep,
)
from fencewright.tools.reports.function_names import in_author_words
from fencewright.tools.reports.gate_reports import document_of
from fencewright.tools.reports.sarif import RuleText
from fencewright.tools.statuses import HOLDS, INCOMPLETE, worst

if TYPE_CHECKING:
    from fencewright.lowering.cdna.code.text import Assembly
    from fencewright.lowering.ptx.code.text import PtxFile

_OTHERS = (
    "lift", "surplus", "annotate", "to", "source", "run", "counterexamples", "prove", "cost",
    "grid", "block", "strict",
)  # fmt: skip
"""Options that say something of the code, not of a launch."""


def check_launches(arguments: Namespace, tool: str) -> int:
    """Execute the launches of ``arguments`` and print the findings; the status."""
    refuse_options(arguments, _OTHERS, "--launch executes a kernel", tool)
    if len(arguments.inputs) > 1 or arguments.in_folder:
        raise error("--launch is for one file", tool)
    path = arguments.inputs[0]
    asked: list[_Asked] = [(each, None) for each in arguments.launch]
    sources: list[SourceLaunch] = []
    if (given := arguments.launches) is not None:
        try:
            listed, sources = _listed(given)
        except Exception as problem:
            raise problem_of(problem, given) from problem
        # A source that is given besides says how the kernels are launched that are asked for.
        asked += [] if asked and sources else listed
    if not sources and path != "-":
        sources = _beside(path)
    if not asked:
        raise error("there is no launch in it", given or tool)
    baseline = read_baseline(arguments.baseline) if arguments.baseline else None
    try:
        file, content = named_content(path, arguments)
        if arguments.compile:
            file, content = compiled(path, arguments.compile, arguments.code)
        judged = _judged_file(path, content, file, arguments, sources)
    except Exception as problem:
        return status_of_unread(path, problem)
    verdicts = list(_verdicts(judged, asked, tool))
    report = _report(path, file, judged, verdicts, arguments.ignored)
    stale = 0
    if baseline is not None:
        (report,), stale = baseline.mark([report])
    status = worst([report.status(arguments.fail_on), *map(_status, verdicts)])
    if arguments.write_baseline:
        said = write_baseline(arguments.write_baseline, [report], arguments.fail_on)
        print(said, file=sys.stderr)
        status = worst([*map(_status, verdicts), HOLDS])
    with output_file(arguments.output) as stream:
        lines = _written(report, verdicts, arguments, status)
        stream.writelines(f"{printable(line)}\n" for line in lines)
        if stale and arguments.format == "text":
            stream.write(f"{arguments.baseline}: {stale} of its findings found no more\n")
    return status


# Launches


_SOURCES = (".cu", ".hip", ".cuh", ".cpp")
"""The ends of names of sources that launches are searched in."""


def _beside(path: str) -> list[SourceLaunch]:
    """The launches of the source beside a file, which has its name with another end."""
    beside = [Path(path).with_suffix(end) for end in _SOURCES]
    return [each for source in beside if source.is_file() for each in _of_source(str(source))]


def _of_source(path: str) -> Iterator[SourceLaunch]:
    yield from source_launches(diagnostics.read_text(path))


_Asked = tuple[str, SourceLocation | None]
"""A launch, a kernel's name or ``all``; its place where that is a file."""


def _listed(path: str) -> tuple[list[_Asked], list[SourceLaunch]]:
    """The launches of a file: its lines, or of a source each kernel that it launches."""
    if path.endswith(_SOURCES):
        sources = list(_of_source(path))
        kernels = dict.fromkeys(each.kernel for each in sources)
        return [(each, SourceLocation(path, 0, 0)) for each in kernels], sources
    launches = (line.partition("#")[0].strip() for line in diagnostics.read_text(path).splitlines())
    found = ((each, SourceLocation(path, n, 1)) for n, each in enumerate(launches, 1))
    return [each for each in found if each[0]], []


@dataclass(frozen=True, slots=True)
class _File:
    """The chip of a file, and the judge of the launches that a text asks for.

    ``places``: those of the source that its lines were compiled from. ``code``: its instructions
    by line. ``sources``: paths. ``ignores``: its comments that ignore findings, by line.
    """

    chip: str
    judge: Callable[[str], Iterator[Verdict]]
    places: Mapping[int, tuple[SourceLocation, ...]]
    code: Mapping[int, str]
    sources: Sequence[str]
    ignores: Mapping[int, Ignore]


def _judged_file(
    path: str, content: bytes, file: str, arguments: Namespace, sources: Sequence[SourceLaunch]
) -> _File:
    check_is_code(path, content, file)
    if is_ptx_file(path, content):
        if arguments.l2_per_agent:
            raise diagnostics.error("--l2-per-agent is not for PTX", file)
        ptx = ptx_check.read_input(content, file)
        module = Module(ptx)
        return _File(
            ptx.target,
            lambda text: (judge(module, each) for each in asked_launches(module, text, sources)),
            *_author_of(ptx, file),
            ignores_in(ptx.text, file),
        )
    # Numpy is loaded with it.
    from fencewright.simulator.race.amd.verdict import judge_kernel
    from fencewright.tools.commands.amd_check import read_kernels

    assembly, code, variables = read_kernels(content, file)
    many = L2PerAgent(arguments.l2_per_agent) if arguments.l2_per_agent else None
    return _File(
        assembly.chip,
        lambda text: iter((judge_kernel(assembly, parse_launch(text), many, variables=variables),)),
        *_author_of(assembly, file),
        ignores_in(code, file),
    )


def _author_of(
    code: "PtxFile | Assembly", file: str
) -> tuple[Mapping[int, tuple[SourceLocation, ...]], Mapping[int, str], Sequence[str]]:
    """The places of the lines of a file in its sources, the text of each, and the sources."""
    functions = code.functions.values()
    instructions = [each for function in functions for each in function.instructions]
    places = author_lines(instructions, code.files, file)
    texts = {each.line: each.text for each in instructions}
    return places, texts, sources_of(paths_of(code.files, file).values(), file)


def _verdicts(judged: _File, asked: Sequence[_Asked], tool: str) -> Iterator[Verdict]:
    for text, at in asked:
        try:
            yield from judged.judge(text)
        except LaunchError as problem:
            if at is None:
                raise error(f"--launch: {problem}", tool) from problem
            said = Diagnostic(str(problem), at.file, at.line, at.column)
            raise ToolError((said,)) from problem


# The output


def _status(verdict: Verdict) -> int:
    return INCOMPLETE if verdict.judgement is Judgement.NOT_JUDGED else HOLDS


def _report(
    path: str, file: str, judged: _File, verdicts: Sequence[Verdict], ignored: Mapping[str, str]
) -> FileReport:
    """The verdicts as a report; the function of each has its launch.

    ``ignored``: the reasons to ignore rules everywhere.
    """
    return FileReport(
        path,
        file,
        judged.chip,
        tuple(FunctionName(each.launch.kernel, True, _judged(each)) for each in verdicts),
        tuple(
            _reported(file, judged, each, finding, ignored)
            for each in verdicts
            for finding in each.findings
        ),
    )


def _judged(verdict: Verdict) -> JudgedLaunch:
    return JudgedLaunch(
        verdict.judgement.value,
        "execution",
        str(verdict.launch),
        verdict.problem,
        verdict.schedules,
        verdict.executed,
        verdict.accesses,
        tuple(each.line for each in verdict.missed),
    )


def _reported(
    file: str, judged: _File, verdict: Verdict, finding: Finding, ignored: Mapping[str, str]
) -> ReportedFinding:
    def at(line: int) -> CodeLine:
        return CodeLine(file, line, judged.places.get(line, ()))

    others = ()
    if finding.other and finding.other != finding.line:
        others = ((judged.code.get(finding.other, "code"), at(finding.other)),)
    place = next(iter(at(finding.line).source), None)
    kernel = verdict.launch.kernel
    text = in_author_words(finding.text, kernel, place, lambda _: None, judged.sources)
    lines, threads = (finding.other, finding.line), finding.threads
    texts = ("the first access", "the second access, which nothing orders after it")
    steps = (
        ReportedStep(thread, at(line), f"{thread}: {text}", order)
        for order, (thread, line, text) in enumerate(zip(threads, lines, texts, strict=True), 1)
        if thread and finding.other
    )
    return ReportedFinding(
        finding.kind.rule,
        Level.ERROR if finding.is_error else Level.WARNING,
        text,
        kernel,
        finding.instruction,
        at(finding.line),
        others,
        ignored=_reason_to_ignore(judged, finding, ignored),
        steps=tuple(steps),
    )


def _reason_to_ignore(judged: _File, finding: Finding, ignored: Mapping[str, str]) -> str:
    """The reason of a comment at either access, in the code or its source, or for the rule."""
    rule = finding.kind.rule
    for line in (finding.line, finding.other):
        of_sources = (
            source_ignores(each.file).get(each.line) for each in judged.places.get(line, ())
        )
        for ignore in (judged.ignores.get(line), *of_sources):
            if ignore is not None and rule in ignore.rules:
                return ignore.reason
    return ignored.get(rule, "")


_RULES = {
    kind.rule: RuleText(
        f"{row.words}: {row.lacks}", Level.ERROR, "docs/races.md and docs/checker-ptx.md"
    )
    for kind, row in KINDS.items()
}


def _written(
    report: FileReport, verdicts: Sequence[Verdict], arguments: Namespace, status: int
) -> Iterator[str]:
    if arguments.format != "text":
        yield from document_of([report], arguments, status, _RULES)
    else:
        yield from _text(report, verdicts, arguments)


def _text(report: FileReport, verdicts: Sequence[Verdict], arguments: Namespace) -> Iterator[str]:
    paint = painter(arguments.color, to_stdout=arguments.output in (None, "-"))
    file, findings = report.file, iter(report.findings)
    for each in verdicts:
        yield f"{file}: {each.launch.kernel}: {each}"
        for _, reported in zip(each.findings, findings, strict=False):
            if reported.is_new:
                yield from map(paint, reported.lines())
        for missed in each.missed if arguments.coverage else ():
            yield f"{file}:{missed.line}:1: note: not executed: {missed.name}, at {missed.place}"
        if each.errors and each.problem:
            yield f"{file}: {each.launch.kernel}: not executed to its end: {each.problem}"
