"""fence-check --launch: races of PTX kernels, found by executing them."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from fencewright.simulator.launches.guess import asked_launches
from fencewright.simulator.launches.sources import SourceLaunch, source_launches
from fencewright.simulator.race.verdict import Verdict, judge
from fencewright.simulator.threads.launch import LaunchError, Module, read_module
from fencewright.tools import diagnostics, ptx_check
from fencewright.tools.commands.check_files import STDIN, unreadable
from fencewright.tools.diagnostics import ToolError, output_file, printable
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE, worst

_OTHERS = (
    "lift", "surplus", "annotate", "to", "source", "run", "code", "counterexamples", "baseline",
    "write_baseline",
)  # fmt: skip
"""Options that say something of the code, not of a launch."""


def check_launches(arguments: Namespace, tool: str) -> int:
    """Execute the launches of ``arguments`` and print what was found; the status."""
    for option in _OTHERS:
        if getattr(arguments, option):
            name = option.replace("_", "-")
            raise _usage(f"--launch executes a kernel; --{name} has no effect", tool)
    if arguments.format == "sarif":
        raise _usage("--launch is not for SARIF", tool)
    if len(arguments.inputs) > 1 or arguments.in_folder:
        raise _usage("--launch is for one file", tool)
    path = arguments.inputs[0]
    asked, sources = [*arguments.launch], list[SourceLaunch]()
    if arguments.launches is not None:
        listed, sources = _listed(arguments.launches)
        asked += listed
    if not sources and path != "-":
        sources = _beside(path)
    if not asked:
        raise _usage(f"there is no launch in {arguments.launches}", tool)
    file = STDIN if path == "-" else path
    try:
        content = diagnostics.read_bytes(None if path == "-" else path)
        ptx = ptx_check.read_input(content, file)
        module = read_module(ptx, diagnostics.as_text(content).rstrip("\0"))
    except Exception as problem:
        print(*unreadable(path, problem).problem, sep="\n", file=sys.stderr)
        return USAGE
    verdicts = list(_verdicts(module, asked, sources, tool))
    lines = (
        _json(verdicts, file) if arguments.format == "json" else _text(verdicts, file, arguments)
    )
    with output_file(arguments.output) as stream:
        stream.writelines(f"{printable(line)}\n" for line in lines)
    return worst([_status(each) for each in verdicts])


_SOURCES = (".cu", ".hip", ".cuh", ".cpp")
"""The ends of names of sources that launches are searched in."""


def _beside(path: str) -> list[SourceLaunch]:
    """The launches of the source beside a file, which has its name with another end."""
    beside = [Path(path).with_suffix(end) for end in _SOURCES]
    return [each for source in beside if source.is_file() for each in _of_source(str(source))]


def _of_source(path: str) -> Iterator[SourceLaunch]:
    yield from source_launches(diagnostics.as_text(diagnostics.read_bytes(path)))


def _listed(path: str) -> tuple[list[str], list[SourceLaunch]]:
    """The launches of a file: its lines, or of a source each kernel that it launches."""
    if path.endswith(_SOURCES):
        sources = list(_of_source(path))
        return list(dict.fromkeys(each.kernel for each in sources)), sources
    lines = diagnostics.as_text(diagnostics.read_bytes(path)).splitlines()
    launches = [line.partition("#")[0].strip() for line in lines]
    return [each for each in launches if each], []


def _verdicts(
    module: Module, asked: Sequence[str], sources: Sequence[SourceLaunch], tool: str
) -> Iterator[Verdict]:
    for text in asked:
        try:
            for launch in asked_launches(module, text, sources):
                yield judge(module, launch)
        except LaunchError as problem:
            raise _usage(f"--launch: {problem}", tool) from problem


def _status(verdict: Verdict) -> int:
    if verdict.errors:
        return DOES_NOT_HOLD
    return INCOMPLETE if verdict.problem else HOLDS


def _text(verdicts: Sequence[Verdict], file: str, arguments: Namespace) -> Iterator[str]:
    for each in verdicts:
        yield f"{file}: {each.launch.kernel}: {each}"
        for finding in each.findings:
            level = "error" if finding.is_error else "warning"
            yield f"{file}:{finding.line}:1: {level}: {finding.text}"
        for site in each.missed if arguments.coverage else ():
            line = site.instruction.line
            yield f"{file}:{line}:1: note: not executed: {site.name}, at {site.place}"
        if each.errors and each.problem:
            yield f"{file}: {each.launch.kernel}: not executed to its end: {each.problem}"


def _json(verdicts: Sequence[Verdict], file: str) -> Iterator[str]:
    yield json.dumps(
        {
            "file": file,
            "launches": [
                {
                    "kernel": each.launch.kernel,
                    "launch": str(each.launch),
                    "by": "execution",
                    "verdict": str(each),
                    "coverage": {
                        "executed": each.executed,
                        "accesses": each.accesses,
                        "schedules": each.schedules,
                        "missed": [site.instruction.line for site in each.missed],
                    },
                    "findings": [
                        {
                            "kind": finding.kind,
                            "level": "error" if finding.is_error else "warning",
                            "line": finding.line,
                            "message": finding.text,
                        }
                        for finding in each.findings
                    ],
                }
                for each in verdicts
            ],
        },
        indent=2,
    )


def _usage(message: str, tool: str) -> ToolError:
    return ToolError(diagnostics.error(message, tool).diagnostics, status=USAGE)
