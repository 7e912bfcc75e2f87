"""The findings of fence-check as SARIF 2.1.0 in the form that GitHub's code scanning reads.

A finding is at its source, where the code says that, and the code is a related location. Files
below the current folder are named relative to it. Sources: OASIS, Static Analysis Results
Interchange Format 2.1.0; GitHub Docs, "SARIF support for code scanning", which asks for a line in
every location and uses ``primaryLocationLineHash``.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fencewright.checker.findings.finding import Level
from fencewright.checker.findings.registry import PAGES
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.tools.reports.file_report import (
    CodeLine,
    FileReport,
    ReportedFinding,
    ReportedStep,
    dumped,
    relative_path,
    verdict_counts,
)
from fencewright.tools.reports.json_report import verdict_object

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule as SARIF describes it: a sentence, its level, the pages on it, and its own page."""

    summary: str
    level: Level
    page: str
    markdown: str = ""


def _pages() -> Mapping[str, RuleText]:
    pages = "docs/checker-amd.md and docs/checker-ptx.md"
    return {
        rule: RuleText(page.summary, rule.level, pages, "\n\n".join(page.lines()))
        for rule, page in PAGES.items()
    }


def sarif_of(
    reports: Sequence[FileReport], status: int, has_baseline: bool,
    described: Mapping[str, RuleText] | None = None,
) -> str:  # fmt: skip
    """All findings that were asked for; an unreadable file is a notification.

    ``described``: the rules, of the code itself where there are none.
    """
    described = _pages() if described is None else described
    rules = sorted(described)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "fence-check",
                "semanticVersion": version("fencewright"),
                "rules": [_rule(each, described[each]) for each in rules],
            }
        },
        "invocations": [_invocation(reports, status)],
        "results": list(_results(reports, rules, has_baseline)),
        "properties": {
            "counts": verdict_counts(reports).text(),
            "functions": [
                {"file": _uri(report.path), "name": each.name} | verdict_object(each.verdict)
                for report in reports
                for each in report.functions
                if each.verdict is not None
            ],
        },
    }
    return dumped({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: str, described: RuleText) -> dict[str, Any]:
    text = {"text": described.summary}
    return {
        "id": rule,
        "shortDescription": text,
        "fullDescription": text,
        "help": {"text": f"{described.page} describe '{rule}'."}
        | ({"markdown": described.markdown} if described.markdown else {}),
        "defaultConfiguration": {"level": described.level},
    }


def _invocation(reports: Iterable[FileReport], status: int) -> dict[str, Any]:
    problems = [problem for each in reports for problem in each.problem]
    return {
        "executionSuccessful": not problems,
        "exitCode": status,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": each.message},
                "locations": [_location(CodeLine(each.file, each.line))],
            }
            for each in problems
        ],
    }


def _results(
    reports: Iterable[FileReport], rules: Sequence[str], has_baseline: bool
) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for report in reports:
        for each in report.findings:
            if not each.is_shown:
                continue
            fingerprint = fingerprint_of(report, each)
            seen[fingerprint] += 1
            result: dict[str, Any] = {
                "ruleId": each.rule,
                "ruleIndex": rules.index(each.rule),
                "level": str(each.level),
                "message": {"text": each.message + (f"; {each.executed}" if each.executed else "")},
                "locations": [_location(each.at, each.function)],
                "partialFingerprints": {
                    "primaryLocationLineHash": f"{fingerprint}:{seen[fingerprint]}"
                },
            }
            related = [*_in_code(each), *each.about]
            if related:
                result["relatedLocations"] = [
                    _location(place) | {"id": number, "message": {"text": what}}
                    for number, (what, place) in enumerate(related, 1)
                ]
            if each.steps:
                result["codeFlows"] = [_code_flow(each)]
            if each.ignored:
                result["suppressions"] = [{"kind": "inSource", "justification": each.ignored}]
            if has_baseline:
                result["baselineState"] = "unchanged" if each.is_known else "new"
            yield result


def _code_flow(found: ReportedFinding) -> dict[str, Any]:
    """A counterexample: a flow for each thread, whose steps are ordered by nothing if they have one
    number (SARIF 3.38.11, executionOrder). Steps of an absent partner are at the finding."""
    by_thread: dict[str, list[ReportedStep]] = {}
    for step in found.steps:
        by_thread.setdefault(step.thread, []).append(step)
    flows = [
        {
            "id": f"{number}: {thread}",
            "message": {"text": thread},
            "locations": [
                {
                    "location": _location(step.at if step.at.line else found.at)
                    | {"message": {"text": step.text}},
                    "executionOrder": step.order,
                }
                for step in steps
            ],
        }
        for number, (thread, steps) in enumerate(by_thread.items(), 1)
    ]
    text = found.executed or "two threads of one launch"
    return {"message": {"text": text}, "threadFlows": flows}


def fingerprint_of(report: FileReport, found: ReportedFinding) -> str:
    """The part of a finding that stays the same when other lines change."""
    parts = (_uri(report.path), found.function, found.rule, found.instruction)
    text = "\0".join(parts).encode(errors="surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]


def _in_code(found: ReportedFinding) -> Iterator[tuple[str, CodeLine]]:
    """The instruction of a finding whose location is its source, and the calls around it."""
    if not found.at.source:
        return
    yield found.instruction or "the code", replace(found.at, source=())
    for call in found.at.source[1:]:
        yield "inlined here", CodeLine(call.file, call.line, (call,))


def _location(place: CodeLine, function: str = "") -> dict[str, Any]:
    at = place.source[0] if place.source else SourceLocation(place.file, place.line)
    region = {"startLine": at.line or 1} | ({"startColumn": at.column} if at.column else {})
    physical = {"artifactLocation": {"uri": _uri(at.file)}, "region": region}
    location: dict[str, Any] = {"physicalLocation": physical}
    if function:
        location["logicalLocations"] = [{"name": function, "kind": "function"}]
    return location


def _uri(file: str) -> str:
    path = relative_path(file)
    return Path(path).as_uri() if os.path.isabs(path) else quote(os.fsencode(path))
