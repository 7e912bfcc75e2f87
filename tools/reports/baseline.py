"""Known findings in a file, so that a check fails on new ones alone.

A finding is known by file, function, rule and the text of the instruction: not by its line, which
changes with what is above it. Of those that agree in all of that, as many are known as the
baseline has. What could not be judged is never known. Files are written relative to the baseline's
own folder.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from fencewright.checker.findings.finding import Level
from fencewright.lowering.wording import counted
from fencewright.tools.diagnostics import error, output_file, read_text
from fencewright.tools.reports.file_report import LEVELS, FileReport, ReportedFinding

FORMAT = "fence-check-baseline"
VERSION = 1

_FIELDS = ("file", "function", "rule", "instruction")

Key = tuple[str, str, str, str]
"""File, function, rule, and the text of the instruction."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The number of known findings of each key."""

    path: str
    known: Counter[Key]

    def mark(self, reports: Iterable[FileReport]) -> tuple[list[FileReport], int]:
        """The reports with known findings marked, and the number of known ones found no more."""
        left = Counter(self.known)
        marked: list[FileReport] = []
        for report in reports:
            findings: list[ReportedFinding] = []
            for each in report.findings:
                key = key_of(self.path, report, each)
                is_known = left[key] > 0 and not each.was_not_judged
                left[key] -= is_known
                findings.append(replace(each, is_known=is_known))
            marked.append(replace(report, findings=tuple(findings)))
        return marked, sum(left.values())


def key_of(baseline: str, report: FileReport, finding: ReportedFinding) -> Key:
    """The key of a finding."""
    file = report.path
    if file != "-":
        file = Path(os.path.relpath(file, os.path.dirname(baseline) or ".")).as_posix()
    return (file, finding.function, finding.rule, finding.instruction)


def read_baseline(path: str) -> Baseline:
    """The baseline in a file. Raises ``OSError``, and ``ToolError`` for any other file."""
    try:
        content: Any = json.loads(read_text(path))
    except ValueError as problem:
        raise error(f"not a baseline: {problem}", path) from problem
    if not isinstance(content, dict):
        raise error("not a baseline: no object", path)
    fields = cast("dict[str, Any]", content)
    if fields.get("format") != FORMAT:
        raise error(f"not a baseline: its format is not '{FORMAT}'", path)
    if fields.get("version") != VERSION:
        raise error(f"a baseline of another version than {VERSION}", path)
    entries = fields.get("findings")
    if not isinstance(entries, list):
        raise error("not a baseline: it has no list of findings", path)
    known: Counter[Key] = Counter()
    for entry in cast("list[Any]", entries):
        try:
            file, function, rule, instruction = (str(entry[each]) for each in _FIELDS)
            known[file, function, rule, instruction] += _count(entry["count"])
        except (KeyError, TypeError, ValueError) as problem:
            raise error(f"not a finding of a baseline: {json.dumps(entry)}", path) from problem
    return Baseline(path, known)


def _count(value: Any) -> int:
    """A number of findings. Raises ``ValueError`` for what is none."""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def write_baseline(path: str, reports: Sequence[FileReport], fail_on: Level) -> str:
    """Write down the warnings and errors, and notes that would fail the check; the line on that."""
    least = max(LEVELS.index(fail_on), LEVELS.index(Level.WARNING))
    known = Counter(
        key_of(path, report, each)
        for report in reports
        for each in report.findings
        if LEVELS.index(each.level) <= least and not each.was_not_judged
    )
    findings = [
        dict(zip(_FIELDS, key, strict=True)) | {"count": number}
        for key, number in sorted(known.items())
    ]
    with output_file(path) as stream:
        json.dump({"format": FORMAT, "version": VERSION, "findings": findings}, stream, indent=2)
        stream.write("\n")
    return f"{path}: {counted(known.total(), 'known finding')}"
