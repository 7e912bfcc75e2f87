"""Folders for fence-check: which files in them it can check, and checking those in processes."""

import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fencewright.checker.findings.finding import Level, Rule
from fencewright.lowering.cdna.code.objects import MAGIC, is_amd_object
from fencewright.tools.commands.check_files import report_on, report_or_problem, unreadable
from fencewright.tools.diagnostics import diagnose, error, read_bytes
from fencewright.tools.inputs.caches import ways_to_code
from fencewright.tools.inputs.code_kind import is_ptx
from fencewright.tools.reports.file_report import CodeLine, FileReport, ReportedFinding
from fencewright.tools.statuses import HOLDS

_ALWAYS = (".amdgcn", ".hsaco", ".ptx")
"""Names that identify the contents of a file: it is checked, or the reason is given."""

_BY_CONTENT = (".s", ".S", ".asm", ".o", ".co", ".out", ".elf")
"""Names that others use as well."""

_LOOKED_AT = 1 << 16
_TARGET = b".amdgcn_target"
_ASSEMBLY, _OBJECT, _SOURCE = ".amdgcn", ".hsaco", ".llir"
_COMPILED = (_ASSEMBLY, ".ptx")
"""The suffixes of files that Triton writes beside each other."""

_FEW = 8
"""So many files are checked faster here than by processes that have yet to start."""


@dataclass
class Inputs:
    """Files to check: each with its source, empty if there is none.

    ``skipped``: files that are none of those that are checked; ``beside``: objects whose assembly
    is; ``problems``: folders and files that cannot be opened.
    """

    files: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    skipped: int = 0
    beside: int = 0
    problems: list[FileReport] = field(default_factory=list[FileReport])


def inputs_in(folder: str) -> Inputs:
    """The inputs in a folder and its subfolders, in the order of their names."""
    found = Inputs()

    def cannot_open(problem: OSError) -> None:
        found.problems.append(unreadable(str(problem.filename), problem))

    seen: set[str] = set()
    for path, folders, names in os.walk(folder, onerror=cannot_open, followlinks=True):
        # A link may lead to a folder that was read, or to one that this one is in.
        if (place := os.path.realpath(path)) in seen:
            folders.clear()
            continue
        seen.add(place)
        folders.sort()
        for name in sorted(names):
            _add(found, os.path.join(path, name))
    if not found.files and not found.problems:
        message = "there is no AMD assembly, code object or PTX in it"
        if ways := ways_to_code(folder):
            message = f"{message}. {ways}"
        nothing = error(message, folder)
        found.problems.append(unreadable(folder, nothing))
    return found


def _add(found: Inputs, path: str) -> None:
    stem, suffix = os.path.splitext(path)
    if suffix == _OBJECT and os.path.exists(stem + _ASSEMBLY):
        found.beside += 1
        return
    if os.path.exists(path) and not os.path.isfile(path):
        found.skipped += 1  # A pipe may have no end.
        return
    try:
        takes = suffix in _ALWAYS or (suffix in _BY_CONTENT and _is_code(path))
    except OSError as problem:
        found.problems.append(unreadable(path, problem))
        return
    if not takes:
        found.skipped += 1
        return
    source = stem + _SOURCE if suffix in _COMPILED else ""
    found.files.append((path, source if os.path.exists(source) else ""))


def _is_code(path: str) -> bool:
    """True of a file with AMD assembly, a code object or PTX in it; raises ``OSError``.

    Of a text the whole is looked at, of a file that begins otherwise only its beginning.
    """
    with open(path, "rb") as stream:
        begin = stream.read(_LOOKED_AT)
    if begin.startswith(MAGIC):
        return is_amd_object(begin)
    text = begin if b"\0" in begin or len(begin) < _LOOKED_AT else read_bytes(path)
    return _TARGET in text or is_ptx(text.decode(errors="replace"))


def check_files(inputs: Inputs, arguments: Namespace) -> Iterator[FileReport]:
    """The reports in the order of ``inputs``, once all are there; progress goes to a terminal.

    An interrupt comes after the reports that are done; ``arguments.left`` are the others.
    """
    from fencewright.simulator.core.processes.campaign import CampaignError, Task, run
    from fencewright.tools.progress import progress
    from fencewright.tools.workers import campaign_error, open_workers

    number = len(inputs.files)
    jobs = arguments.jobs or (1 if number < _FEW else len(os.sched_getaffinity(0)))
    here = os.getcwd()
    tasks = [
        Task(path, check_one, (path, source, arguments, here)) for path, source in inputs.files
    ]
    workers = Namespace(jobs=jobs, cluster=arguments.cluster)
    reports: dict[str, FileReport] = {}
    try:
        with open_workers(workers) as executor, progress(number, "files") as display:
            failed = 0
            for key, report in run(tasks, executor):
                reports[key] = report
                failed += report.status(arguments.fail_on) != HOLDS
                display.update(len(reports), failed)
    except CampaignError as problem:
        raise campaign_error(problem, "fence-check") from problem
    except KeyboardInterrupt:
        arguments.left += number - len(reports)
        yield from (reports[path] for path, _ in inputs.files if path in reports)
        raise
    yield from (reports[path] for path, _ in inputs.files)
    yield from inputs.problems


def check_one(path: str, source: str, arguments: Namespace, folder: str) -> FileReport:
    """The report of one file of ``folder``: any fault of it leaves the others alone."""

    def read(path: str, arguments: Namespace) -> FileReport:
        if os.getcwd() != folder:
            os.chdir(folder)  # A worker of a cluster was started elsewhere.
        if not source:
            return report_on(path, arguments)
        return _beside_source(path, source, arguments)

    return report_or_problem(path, arguments, read)


def _beside_source(path: str, source: str, arguments: Namespace) -> FileReport:
    """The report of a file with its source; without, and why, where that cannot be used."""
    try:
        return report_on(path, Namespace(**{**vars(arguments), "source": source}))
    except Exception as problem:
        report = report_on(path, arguments)
        text = f"{Path(path).name} is not compared with its source: {_why(problem, source)}"
    missing = ReportedFinding(
        Rule.NOT_COMPARED, Level.WARNING, text, "", "", CodeLine(path, 0), was_not_judged=True
    )
    return replace(report, findings=(missing, *report.findings), source=source)


def _why(problem: Exception, source: str) -> str:
    known = diagnose(problem, source)
    return str(known or problem)
