"""The findings of fence-check, in the forms that continuous integration shows beside the code.

Sources: GitHub Docs, "Workflow commands", error, warning and notice; GitLab Docs, "Code Quality",
report format; the JUnit XML of Jenkins' xUnit plugin (junit-10.xsd), which GitLab and others read.
"""

import hashlib
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fencewright.checker.findings.finding import Level
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.tools.diagnostics import printable
from fencewright.tools.reports.file_report import FileReport, ReportedFinding, dumped, relative_path
from fencewright.tools.reports.function_names import demangled
from fencewright.tools.reports.json_report import json_of
from fencewright.tools.reports.sarif import RuleText, fingerprint_of, sarif_of


def document_of(
    reports: Sequence[FileReport],
    arguments: Namespace,
    status: int,
    rules: Mapping[str, RuleText] | None = None,
) -> Iterator[str]:
    """The reports in the format of ``arguments``, which is not text.

    ``rules``: those of SARIF, if they are not those of code.
    """
    match arguments.format:
        case "json":
            yield json_of(reports, arguments.skipped, status)
        case "sarif":
            yield sarif_of(reports, status, bool(arguments.baseline), rules)
        case "github":
            yield from github_of(reports)
        case "gitlab":
            yield gitlab_of(reports)
        case _:
            yield junit_of(reports, arguments.fail_on)


_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_SEVERITIES = {Level.ERROR: "critical", Level.WARNING: "minor", Level.NOTE: "info"}


def github_of(reports: Sequence[FileReport]) -> Iterator[str]:
    """A workflow command for each new finding, and for each problem of a file."""
    for report in reports:
        for problem in report.problem:
            at = SourceLocation(problem.file, problem.line, problem.column)
            yield _command("error", at, "not read", problem.message)
        for each in _new(report):
            title = f"{each.rule} in {demangled(each.function)}" if each.function else each.rule
            yield _command(_COMMANDS[each.level], _at(each), title, _message(each))


def _command(name: str, at: SourceLocation, title: str, message: str) -> str:
    properties = {"file": relative_path(at.file), "line": at.line, "col": at.column}
    given = {key: value for key, value in properties.items() if value} | {"title": title}
    said = ",".join(f"{key}={_property(str(value))}" for key, value in given.items())
    return f"::{name} {said}::{_data(message)}"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab_of(reports: Sequence[FileReport]) -> str:
    """All new findings, and the problems of files, as one JSON array."""
    seen: Counter[str] = Counter()
    entries: list[dict[str, object]] = []
    for report in reports:
        found = [
            (_at(each), each.rule, _message(each), _SEVERITIES[each.level]) for each in _new(report)
        ]
        prints = [fingerprint_of(report, each) for each in _new(report)]
        for problem in report.problem:
            at = SourceLocation(problem.file, problem.line)
            found.append((at, "not-read", problem.message, "blocker"))
            prints.append(_digest(f"{relative_path(problem.file)}\0{problem.message}"))
        for (at, rule, message, severity), fingerprint in zip(found, prints, strict=True):
            seen[fingerprint] += 1
            entries.append(
                {
                    "description": message,
                    "check_name": rule,
                    "fingerprint": _digest(f"{fingerprint}:{seen[fingerprint]}"),
                    "severity": severity,
                    "location": {"path": relative_path(at.file), "lines": {"begin": at.line or 1}},
                }
            )
    return dumped(entries)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]


def junit_of(reports: Sequence[FileReport], fail_on: Level) -> str:
    """A suite for each file, a case for each function; findings that fail the check are failures.

    A file that could not be read is an error; a function with code that was not judged is skipped.
    """
    root = Element("testsuites", name="fence-check")
    for report in reports:
        suite = SubElement(root, "testsuite", name=printable(report.path))
        for problem in report.problem:
            case = _case(suite, report, "read")
            SubElement(case, "error", message=printable(problem.message)).text = str(problem)
        by_function: dict[str, list[ReportedFinding]] = {e.name: [] for e in report.functions}
        for each in _new(report):
            by_function.setdefault(each.function, []).append(each)
        for name, found in by_function.items():
            _judged(_case(suite, report, name or "-"), found, fail_on)
        suite.attrib |= {"tests": str(len(suite))} | {
            f"{what}s" if what != "skipped" else what: str(sum(1 for _ in suite.iter(what)))
            for what in ("failure", "error", "skipped")
        }
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}'


def _case(suite: Element, report: FileReport, name: str) -> Element:
    return SubElement(suite, "testcase", classname=printable(report.path), name=printable(name))


def _judged(case: Element, found: Sequence[ReportedFinding], fail_on: Level) -> None:
    """Add to the case of a function its failure, or that it was not judged."""
    bad = [each for each in found if each.fails(fail_on)]
    unjudged = [each for each in found if each.was_not_judged]
    if bad:
        failure = SubElement(case, "failure", message=bad[0].message, type=bad[0].rule)
        failure.text = "\n".join(str(line) for each in bad for line in each.lines())
    elif unjudged:
        SubElement(case, "skipped", message=unjudged[0].message)


def _new(report: FileReport) -> Iterator[ReportedFinding]:
    return (each for each in report.findings if each.is_shown and each.is_new)


def _at(finding: ReportedFinding) -> SourceLocation:
    return finding.at.source[0] if finding.at.source else SourceLocation(*_code(finding))


def _code(finding: ReportedFinding) -> tuple[str, int]:
    return finding.at.file, finding.at.line


def _message(finding: ReportedFinding) -> str:
    """The message, with the place in the code where the finding is shown at its source."""
    code = f" ({finding.at.file}:{finding.at.line})" if finding.at.source else ""
    return f"{finding.message}{code}"
