"""What fence-check found, as SARIF 2.1.0 in the form that GitHub's code scanning takes.

Places are lines; there are no columns. Files below the current folder are named relative to it.
Sources: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub Docs, "SARIF support for
code scanning", which asks for a line in every location and uses ``primaryLocationLineHash``.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fencewright.checker.findings.finding import Rule
from fencewright.checker.findings.registry import PAGES
from fencewright.tools.reports.file_report import CodeLine, FileReport, ReportedFinding, dumped

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_of(reports: Sequence[FileReport], status: int, has_baseline: bool) -> str:
    """All that was found and was asked for; what could not be read is a notification."""
    rules = sorted(PAGES)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "fence-check",
                "semanticVersion": version("fencewright"),
                "rules": [_rule(each) for each in rules],
            }
        },
        "invocations": [_invocation(reports, status)],
        "results": list(_results(reports, rules, has_baseline)),
    }
    return dumped({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    text = {"text": PAGES[rule].summary}
    return {
        "id": rule,
        "shortDescription": text,
        "fullDescription": text,
        "help": {"text": f"docs/checker.md and docs/checker-ptx.md describe '{rule}'."},
        "defaultConfiguration": {"level": rule.level},
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
            fingerprint = _hash(report, each)
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
            if each.about:
                result["relatedLocations"] = [
                    _location(place) | {"id": number, "message": {"text": what}}
                    for number, (what, place) in enumerate(each.about, 1)
                ]
            if has_baseline:
                result["baselineState"] = "unchanged" if each.is_known else "new"
            yield result


def _hash(report: FileReport, found: ReportedFinding) -> str:
    """What stays the same when other lines change."""
    parts = (_uri(report.path), found.function, found.rule, found.instruction)
    text = "\0".join(parts).encode(errors="surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]


def _location(place: CodeLine, function: str = "") -> dict[str, Any]:
    physical = {
        "artifactLocation": {"uri": _uri(place.file)},
        "region": {"startLine": place.line or 1},
    }
    location: dict[str, Any] = {"physicalLocation": physical}
    if function:
        location["logicalLocations"] = [{"name": function, "kind": "function"}]
    return location


def _uri(file: str) -> str:
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    if not path.is_relative_to(here):
        return path.as_uri()
    return quote(os.fsencode(path.relative_to(here)))
