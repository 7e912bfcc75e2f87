"""Long work on processes or machines: ``--jobs``, ``--cluster``, and files side by side."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError, error, positive
from fencewright.tools.statuses import DOES_NOT_HOLD, INCOMPLETE

if TYPE_CHECKING:
    from concurrent.futures import Executor

LOCAL = "local"
"""Instead of an address: a Dask cluster on this machine."""


def add_workers(parser: ArgumentParser) -> None:
    """Add ``--jobs`` and ``--cluster``."""
    parser.add_argument("--jobs", metavar="N", type=positive, default=1, help="processes (1)")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        type=cluster_address,
        help="on the workers of a Dask scheduler, as tcp://host:8786; local: on --jobs of our own",
    )


def cluster_address(text: str) -> str:
    """The address of a scheduler on the command line. Raises ``ArgumentTypeError``."""
    if text != LOCAL and "://" not in text:
        raise ArgumentTypeError(
            f"expected {LOCAL} or an address as tcp://host:8786, found '{text}'"
        )
    return text


@contextmanager
def open_workers(arguments: Namespace) -> "Generator[Executor | None]":
    """The workers that ``--jobs`` and ``--cluster`` ask for; None: this process. Raises
    ``CampaignError``.
    """
    from fencewright.simulator.core.processes.campaign import open_dask, open_processes

    if arguments.cluster is None:
        with open_processes(arguments.jobs) as executor:
            yield executor
        return
    address = None if arguments.cluster == LOCAL else arguments.cluster
    with open_dask(arguments.jobs, address) as executor:
        yield executor


# Files side by side


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of a file: texts for stdout, the status of each test, its errors."""

    shown: tuple[str, ...]
    statuses: tuple[int, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    def data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "FileResult":
        """The result that ``data`` gave."""
        reported = (
            Diagnostic(*(each[name] for name in _PLACE), severity=Severity(each["severity"]))
            for each in data["diagnostics"]
        )
        return cls(tuple(data["shown"]), tuple(data["statuses"]), tuple(reported))


_PLACE = ("message", "file", "line", "column")

RunFile = Callable[[str, str, Namespace], dict[str, Any]]
"""Runs the tests of a file, given its name and text; the data of a ``FileResult``."""


def run_side_by_side(
    files: Sequence[tuple[str, str]],
    run_file: RunFile,
    arguments: Namespace,
    tell: Callable[[Sequence[Diagnostic]], None],
) -> list[int]:
    """Run ``files`` as ``arguments`` ask, and print their results in order; their statuses.

    An interrupt prints what is done, whatever its place. Raises :class:`ToolError`.
    """
    from fencewright.simulator.core.processes.campaign import CampaignError
    from fencewright.tools.progress import progress

    done: dict[int, FileResult] = {}
    statuses: list[int] = []
    failed = finished = 0
    try:
        with progress(len(files), "files") as display:
            for number, result in _results(files, run_file, arguments):
                done[number] = result
                finished += 1
                failed += any(status == DOES_NOT_HOLD for status in result.statuses)
                while len(statuses) in done:
                    statuses.append(_print(done.pop(len(statuses)), display.show, tell))
                display.update(finished, failed)
    except KeyboardInterrupt:
        for number in sorted(done):
            _print(done[number], print, tell)
        sys.stdout.flush()
        raise
    except CampaignError as problem:
        about = Diagnostic(str(problem), "fence-sim")
        raise ToolError((about,), status=INCOMPLETE) from problem
    return statuses


def _results(
    files: Sequence[tuple[str, str]], run_file: RunFile, arguments: Namespace
) -> Iterator[tuple[int, FileResult]]:
    from fencewright.simulator.core.processes.campaign import Task, run

    size = min(_MOST_FILES, max(1, len(files) // _TASKS))
    tasks = (
        Task(str(first), _run_files, (run_file, files[first : first + size], arguments))
        for first in range(0, len(files), size)
    )
    with open_workers(arguments) as executor:
        for key, together in run(tasks, executor):
            for number, data in enumerate(together, int(key)):
                yield number, FileResult.from_data(data)


_TASKS, _MOST_FILES = 64, 50
"""Files are put together to so many tasks or more, at most so many in one: each costs 1 ms."""


def _run_files(
    run_file: RunFile, files: Sequence[tuple[str, str]], arguments: Namespace
) -> list[dict[str, Any]]:
    return [run_file(path, text, arguments) for path, text in files]


def _print(
    result: FileResult, show: Callable[[str], None], tell: Callable[[Sequence[Diagnostic]], None]
) -> int:
    from fencewright.tools.statuses import worst

    for text in result.shown:
        show(text)
    tell(result.diagnostics)
    return worst(result.statuses)


def campaign_error(problem: Exception, name: str) -> ToolError:
    """The error for a campaign that cannot go on: incomplete where a task failed."""
    from fencewright.simulator.core.processes.campaign import TaskError

    if isinstance(problem, TaskError):
        return error(str(problem), name, status=INCOMPLETE)
    return error(str(problem), name)
