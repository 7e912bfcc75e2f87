"""fence-check --prove: a verdict of each function, for all launches or for one."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Conflict, Verdict, VerdictKind
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools import diagnostics, ptx_check
from fencewright.tools.commands.check_files import STDIN, unreadable
from fencewright.tools.diagnostics import (
    Diagnostic,
    Severity,
    output_file,
    printable,
    refuse_options,
    usage,
)
from fencewright.tools.inputs.code_kind import is_ptx_file
from fencewright.tools.reports.author_text import author_lines, line_of
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE, worst

_OTHERS = (
    "lift", "surplus", "annotate", "to", "source", "run", "compile", "code", "counterexamples",
    "baseline", "write_baseline", "launch", "launches",
)  # fmt: skip
"""Options that say something else of the code."""
_DIMENSIONS = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict of a function at a line of a file.

    ``places``: those of the source that the instructions of a line were compiled from.
    """

    file: str
    function: str
    line: int
    verdict: Verdict
    places: Mapping[int, tuple[SourceLocation, ...]]


def prove_files(arguments: Namespace, tool: str) -> int:
    """Judge the functions of all inputs, print the verdicts, and return the status."""
    refuse_options(arguments, _OTHERS, "--prove judges kernels", tool)
    if arguments.format not in ("text", "json"):
        raise usage(f"--prove prints text or json, not {arguments.format}", tool)
    if arguments.in_folder:
        raise usage("--prove is for files, not for a folder", tool)
    launch = Launch(_sizes(arguments.block, "block", tool), _sizes(arguments.grid, "grid", tool))
    judged: list[Judged] = []
    statuses = [HOLDS]
    many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
    for path in arguments.inputs:
        try:
            judged += _judged(path, launch, many)
        except Exception as problem:
            print(*unreadable(path, problem).problem, sep="\n", file=sys.stderr)
            statuses.append(USAGE)
    statuses += [_status(each, arguments.strict) for each in judged]
    lines = _json(judged) if arguments.format == "json" else _text(judged)
    with output_file(arguments.output) as stream:
        stream.writelines(f"{printable(line)}\n" for line in lines)
    return worst(statuses)


def _judged(path: str, launch: Launch, l2_per_agent: L2PerAgent | None) -> Iterator[Judged]:
    file = STDIN if path == "-" else path
    content = diagnostics.read_bytes(None if path == "-" else path)
    if not is_ptx_file(path, content):
        yield from _judged_assembly(content, file, launch, l2_per_agent)
        return
    ptx = ptx_check.read_input(content, file)
    for function in ptx.functions.values():
        verdict = judge(kernel_of(ptx, function), launch)
        places = author_lines(function.instructions, ptx.files, file)
        yield Judged(file, function.name, function.line, verdict, places)


def _judged_assembly(
    content: bytes, file: str, launch: Launch, l2_per_agent: L2PerAgent | None
) -> Iterator[Judged]:
    # Here, for NVIDIA's inputs need none of it.
    from fencewright.checker.verdicts.amd.kernel import kernel_of as kernel_of_assembly
    from fencewright.tools.commands.amd_check import read_input

    assembly, _ = read_input(content, file)
    for function in assembly.functions.values():
        if not function.instructions:
            continue
        verdict = judge(kernel_of_assembly(assembly, function, l2_per_agent), launch)
        places = author_lines(function.instructions, assembly.files, file)
        yield Judged(file, function.name, function.instructions[0].line, verdict, places)


def _sizes(text: str | None, option: str, tool: str) -> tuple[int, int, int] | None:
    """The sizes of ``64`` or ``32,4``; those that are not given are 1."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > _DIMENSIONS or not all(part.strip().isdigit() for part in parts):
        raise usage(f"--{option} {text} is no size: one to three numbers, as 32,4", tool)
    sizes = [int(part) for part in parts]
    if not all(sizes):
        raise usage(f"--{option} {text}: a size is at least 1", tool)
    x, y, z = (*sizes, 1, 1)[:_DIMENSIONS]
    return x, y, z


def _status(judged: Judged, is_strict: bool) -> int:
    kind = judged.verdict.kind
    if kind is VerdictKind.RACE:
        return DOES_NOT_HOLD
    return INCOMPLETE if is_strict and kind is not VerdictKind.RACE_FREE else HOLDS


def _text(judged: Sequence[Judged]) -> Iterator[str]:
    for each in judged:
        verdict = each.verdict
        yield f"{each.file}:{each.line}: {each.function}: {_headline(verdict)}"
        level = Severity.ERROR if verdict.kind is VerdictKind.RACE else Severity.WARNING
        for conflict in verdict.conflicts:
            yield from map(str, _diagnostics(each, conflict, level))
        for note in verdict.notes:
            yield f"{each.file}:{each.line}: {each.function}: note: {note}"
    counts = _counts(judged)
    yield f"{counts['proved']} proved, {counts['found']} found, {counts['notJudged']} not judged"


def _diagnostics(judged: Judged, conflict: Conflict, level: Severity) -> Iterator[Diagnostic]:
    """A conflict at the author's line of its second access, where the code says that."""
    for access, message, severity in (
        (conflict.second, _said_of(conflict), level),
        (conflict.first, f"'{conflict.first.text}'", Severity.NOTE),
    ):
        code = judged.file, access.line
        source, *calls = judged.places.get(access.line) or (None,)
        if source is None:
            if severity is level:
                yield Diagnostic(message, *code, 1, severity)
            continue
        shown = line_of(source.file, source.line)
        yield Diagnostic(message, source.file, source.line, source.column or 1, severity, shown)
        for call in calls:
            assert call is not None
            yield Diagnostic("inlined here", call.file, call.line, call.column or 1, Severity.NOTE)


def _headline(verdict: Verdict) -> str:
    if verdict.kind is VerdictKind.NOT_JUDGED:
        first = verdict.obstacles[0]
        others = len(verdict.obstacles) - 1
        more = f" (and {others} more)" if others else ""
        return f"{verdict.kind}: line {first.line}: {first.reason}{more}"
    if verdict.kind is VerdictKind.LAUNCH:
        return f"{verdict.kind}: {verdict.condition}"
    if verdict.kind is VerdictKind.RACE:
        return verdict.kind
    assumed = f"; assuming that {', '.join(verdict.assumptions)}" if verdict.assumptions else ""
    return f"{verdict.kind} (by {', '.join(verdict.by) or 'no conflict'}{assumed})"


def _said_of(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    witness = conflict.witness
    one, other = witness.thread(0), witness.thread(1)
    return (
        f"{second.text} by {other} and line {first.line}, {first.text}, by {one} are of the "
        f"same bytes: {conflict.missing} (as in {witness})"
    )


def _counts(judged: Sequence[Judged]) -> Counter[str]:
    names = {VerdictKind.RACE_FREE: "proved", VerdictKind.NOT_JUDGED: "notJudged"}
    return Counter(names.get(each.verdict.kind, "found") for each in judged)


def _json(judged: Sequence[Judged]) -> Iterator[str]:
    counts = _counts(judged)
    yield json.dumps(
        {
            "functions": [_object(each) for each in judged],
            "counts": {name: counts[name] for name in ("proved", "found", "notJudged")},
        },
        indent=2,
    )


def _object(judged: Judged) -> dict[str, object]:
    verdict = judged.verdict
    first = verdict.obstacles[0] if verdict.kind is VerdictKind.NOT_JUDGED else None
    return {
        "file": judged.file,
        "function": judged.function,
        "line": judged.line,
        "verdict": verdict.kind,
        "by": list(verdict.by),
        "assumptions": list(verdict.assumptions),
        "condition": verdict.condition or None,
        "obstacle": None if first is None else {"line": first.line, "reason": first.reason},
        "conflicts": [
            {
                "lines": [conflict.first.line, conflict.second.line],
                "threads": [conflict.witness.thread(number) for number in (0, 1)],
                "launch": str(conflict.witness),
                "missing": conflict.missing,
            }
            for conflict in verdict.conflicts
        ],
        "notes": list(verdict.notes),
    }
