"""The findings of fence-check as one JSON object; docs/checker.md has its layout."""

from collections.abc import Sequence
from typing import Any

from fencewright.checker.repair.prices import PricedLine
from fencewright.tools.reports.file_report import (
    CodeLine,
    Counts,
    FileReport,
    FunctionName,
    FunctionVerdict,
    JudgedLaunch,
    ReportedFinding,
    counts_of,
    dumped,
    verdict_counts,
)

FORMAT = "fence-check"
VERSION = 1


def json_of(reports: Sequence[FileReport], skipped: int, status: int) -> str:
    """All that was found and was asked for."""
    counts = verdict_counts(reports)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "status": status,
        "skipped": skipped,
        "counts": {"proved": counts.proved, "found": counts.found, "notJudged": counts.not_judged},
        "files": [_file(each) for each in reports],
    }
    return dumped(document)


def _file(report: FileReport) -> dict[str, Any]:
    judged, number = report.compared
    return {
        "path": report.path,
        "code": report.file,
        "chip": report.chip or None,
        "problems": [
            {"file": each.file, "line": each.line or None, "message": each.message}
            for each in report.problem
        ],
        "source": {"file": report.source, "compared": judged, "functions": number}
        if report.source
        else None,
        "functions": [
            {"name": each.name, "kernel": each.is_kernel}
            | _counts(counts_of([f for f in report.findings if f.function == each.name]))
            | _judgement(each)
            for each in report.functions
        ],
        "findings": [_finding(each) for each in report.findings if each.is_shown],
        "provided": [{"line": line, "text": text} for line, text in report.provided],
    } | ({"costs": [_price(each) for each in report.prices]} if report.prices else {})


def _price(each: PricedLine) -> dict[str, Any]:
    cost = each.cost
    return {
        "function": each.function,
        "line": each.line,
        "instruction": each.instruction,
        "cost": None if cost is None else cost.amount,
        "unit": None if cost is None else cost.unit,
        "source": None if cost is None else cost.source,
    }


def _judgement(function: FunctionName) -> dict[str, Any]:
    if function.judged is not None:
        return _judged(function.judged)
    return {} if function.verdict is None else verdict_object(function.verdict)


def verdict_object(verdict: FunctionVerdict) -> dict[str, Any]:
    """The verdict of a function as JSON and SARIF have it."""
    return {
        "verdict": verdict.verdict,
        "line": verdict.line or None,
        "by": list(verdict.by),
        "assumptions": list(verdict.assumptions),
        "condition": verdict.condition or None,
        "obstacle": {"line": verdict.obstacle_line or None, "reason": verdict.obstacle}
        if verdict.obstacle
        else None,
    }


def _judged(launch: JudgedLaunch) -> dict[str, Any]:
    return {
        "verdict": launch.verdict,
        "by": launch.by,
        "launch": launch.launch,
        "reason": launch.problem or None,
        "coverage": {
            "schedules": launch.schedules,
            "executed": launch.executed,
            "accesses": launch.accesses,
            "missed": list(launch.missed),
        },
    }


def _counts(counts: Counts) -> dict[str, int]:
    errors, warnings, notes = counts.by_level
    return {
        "errors": errors,
        "warnings": warnings,
        "notes": notes,
        "known": counts.known,
        "ignored": counts.ignored,
        "surplus": counts.surplus,
        "cost": counts.cost,
    }


def _finding(found: ReportedFinding) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "level": str(found.level),
        "message": found.message,
        "function": found.function or None,
        "instruction": found.instruction or None,
        **_place(found.at),
        "about": [{"what": what, **_place(place)} for what, place in found.about],
        "cost": found.cost if found.is_surplus else None,
        "known": found.is_known,
        "executed": found.executed or None,
        "ignored": found.ignored or None,
    }


def _place(place: CodeLine) -> dict[str, Any]:
    return {
        "file": place.file,
        "line": place.line or None,
        "source": [
            {"file": each.file, "line": each.line, "column": each.column or None}
            for each in place.source
        ],
    }
