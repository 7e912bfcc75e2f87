"""What fence-check found, as SARIF 2.1.0 in the form that GitHub's code scanning takes.

Places are lines; there are no columns. Files below the current folder are named relative to it.
Sources: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub Docs, "SARIF support for
code scanning", which asks for a line in every location and uses ``primaryLocationLineHash``.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from fencewright.checker.findings import LEVELS, SURPLUS, Level, PtxRule, Rule
from fencewright.tools.reports.file_report import CodeLine, FileReport, ReportedFinding, dumped

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_SHORT: Mapping[str, str] = MappingProxyType(
    {
        Rule.RAW: "A register is used while a load that writes it is in flight",
        Rule.WAW: "A register is overwritten while a load that writes it is in flight",
        Rule.ENTRY: "A function does not wait for what its caller has in flight",
        Rule.RETURN: "A function returns with a load in flight",
        Rule.RELEASE: "An access may not be done when what publishes it issues",
        Rule.ACQUIRE: "An access may be older than the atomic read before it",
        Rule.CUMULATIVE_ACQUIRE: "What is acquired for the work-group may be passed on too early",
        Rule.SEQ_CST: "A read may issue before an earlier write is done",
        Rule.COHERENCE: "An atomic access lacks the bits of its scope",
        Rule.LOST_BARRIER: "A barrier of the source is not in the code",
        Rule.TRANSLATION: "A register is overwritten while an access may be replayed",
        Rule.LDS_DMA: "LDS is read while a load to LDS is in flight",
        Rule.SCALAR_STALE: "Data are read through a scalar cache that was not invalidated",
        Rule.UNWAITED: "An access is issued while a write-back is under way",
        Rule.LDS_BARRIER: "A write to LDS is in flight at a barrier",
        Rule.LDS_DMA_BARRIER: "A load to LDS is in flight at a barrier",
        Rule.CUMULATIVE: "A wave publishes what other waves may still have in flight",
        Rule.SPIN: "A loop waits for memory by a load that a cache may serve",
        Rule.UNORDERED_WAIT: "A loop waits for a flag that orders nothing after it",
        Rule.UNORDERED_SIGNAL: "A flag is written that orders nothing before it",
        Rule.SURPLUS_WAIT: "A wait can go",
        Rule.SURPLUS_BARRIER: "A barrier can go",
        Rule.SURPLUS_WRITE_BACK: "A write-back can go",
        Rule.SURPLUS_INVALIDATE: "An invalidate can go",
        Rule.UNKNOWN: "An instruction is not known",
        Rule.UNREACHED: "Code that nothing reaches was not checked",
        Rule.NOT_COMPARED: "A function could not be compared with its source",
        PtxRule.PROXY_FENCE: "A proxy fence is missing",
        PtxRule.PROXY_ACQUIRE: "An acquire between proxies is missing",
        PtxRule.PROXY_READS: "A proxy fence between reads and a write is missing",
        PtxRule.UNWAITED: "What is asynchronous has not been waited for",
        PtxRule.TENSORMAP_FENCE: "A fence of the tensor-map proxy is missing",
        PtxRule.READ_ONLY: "What changes is loaded as read-only",
        PtxRule.GRID_DEPENDENCY: "Global memory is read before the wait for the grid before",
        PtxRule.MBARRIER_SCOPE: "An mbarrier operation does not reach the threads that it is for",
        PtxRule.MBARRIER_INIT: "An mbarrier may be used before it is initialised",
        PtxRule.CLUSTER_BARRIER: "A barrier of the cluster does not order what it should",
        PtxRule.MISSING_BARRIER: "Threads access what others write with no barrier between",
        PtxRule.MBARRIER_PHASE: "A wait for one phase of an mbarrier, round after round",
        PtxRule.MBARRIER_WAIT: "The answer of a wait at an mbarrier is not used",
        PtxRule.MBARRIER_BYTES: "An mbarrier expects other bytes than are copied",
        PtxRule.MBARRIER_ORDER: "A relaxed operation on an mbarrier does not order what it should",
        PtxRule.WGMMA_FENCE: "A matrix product lacks the fence of its registers",
        PtxRule.SURPLUS_PROXY_FENCE: "A proxy fence can go",
        PtxRule.SURPLUS_FENCE: "A fence can go",
        PtxRule.SURPLUS_RELEASE: "A release can be weaker",
        PtxRule.SURPLUS_ACQUIRE: "An acquire can be weaker",
    }
)
"""What each rule says, in one sentence."""

_PTX_LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        PtxRule.PROXY_ACQUIRE: Level.WARNING,
        PtxRule.PROXY_READS: Level.WARNING,
        PtxRule.MISSING_BARRIER: Level.WARNING,
        PtxRule.MBARRIER_INIT: Level.WARNING,
        PtxRule.MBARRIER_PHASE: Level.WARNING,
        PtxRule.MBARRIER_WAIT: Level.WARNING,
        PtxRule.MBARRIER_BYTES: Level.WARNING,
        PtxRule.MBARRIER_ORDER: Level.WARNING,
        **dict.fromkeys(SURPLUS, Level.NOTE),
    }
)
"""The level of the rules of PTX, where it is at most less than an error."""


def described() -> set[str]:
    """The rules that have a description."""
    return set(map(str, _SHORT))


def sarif_of(reports: Sequence[FileReport], status: int, has_baseline: bool) -> str:
    """All that was found and was asked for; what could not be read is a notification."""
    rules = sorted(_SHORT)
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


def _rule(rule: str) -> dict[str, Any]:
    text = {"text": _SHORT[rule]}
    return {
        "id": rule,
        "shortDescription": text,
        "fullDescription": text,
        "help": {"text": f"docs/checker.md and docs/checker-ptx.md describe '{rule}'."},
        "defaultConfiguration": {"level": str(_level(rule))},
    }


def _level(rule: str) -> Level:
    if rule in set(Rule):
        return LEVELS[Rule(rule)]
    return _PTX_LEVELS.get(rule, Level.ERROR)


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
