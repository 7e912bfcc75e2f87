"""fence-check --launch: races of PTX kernels, found by executing them."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from fencewright.simulator.race.verdict import Verdict, judge
from fencewright.simulator.threads.launch import LaunchError, Module, parse_launch, read_module
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
    launches = [*arguments.launch, *_listed(arguments.launches)]
    if not launches:
        raise _usage(f"there is no launch in {arguments.launches}", tool)
    path = arguments.inputs[0]
    file = STDIN if path == "-" else path
    try:
        content = diagnostics.read_bytes(None if path == "-" else path)
        ptx = ptx_check.read_input(content, file)
        module = read_module(ptx, diagnostics.as_text(content).rstrip("\0"))
    except Exception as problem:
        print(*unreadable(path, problem).problem, sep="\n", file=sys.stderr)
        return USAGE
    verdicts = list(_verdicts(module, launches, tool))
    lines = (
        _json(verdicts, file) if arguments.format == "json" else _text(verdicts, file, arguments)
    )
    with output_file(arguments.output) as stream:
        stream.writelines(f"{printable(line)}\n" for line in lines)
    return worst([_status(each) for each in verdicts])


def _listed(path: str | None) -> Iterator[str]:
    """The launches of a file."""
    if path is None:
        return
    for line in diagnostics.as_text(diagnostics.read_bytes(path)).splitlines():
        if launch := line.partition("#")[0].strip():
            yield launch


def _verdicts(module: Module, launches: Sequence[str], tool: str) -> Iterator[Verdict]:
    for text in launches:
        try:
            yield judge(module, parse_launch(text))
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
