"""A pytest plug-in: ``--forks N`` runs the tests in N forks of the process that collected them.

What collection imports and makes is there once; a process of its own for each would make it again.
"""

import multiprocessing
import time
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, cast

import pytest

_FORK = multiprocessing.get_context("fork")

INTERVAL = 0.5
"""The seconds for which a worker keeps reports of one file, to send them together."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--forks``."""
    parser.addoption("--forks", metavar="N", type=int, default=1, help="processes of tests (1)")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests; None leaves them to pytest itself."""
    forks = min(cast(int, session.config.getoption("--forks")), len(session.items))
    # Files that did not collect are pytest's to report.
    if forks < 2 or session.testsfailed or session.config.getoption("collectonly"):
        return None
    _run_all(session, forks)
    return True


class Work:
    """The numbers of all tests, in runs of neighbours: one run for each worker.

    Neighbours share what they have made. Who has none left takes half of the longest run.
    """

    def __init__(self, tests: int, workers: int):
        """Tests 0 to ``tests`` - 1 for workers 0 to ``workers`` - 1."""
        ends = [tests * number // workers for number in range(workers + 1)]
        # The first of a worker's run and the one after its last: processes share them.
        runs = [bound for run in pairwise(ends) for bound in run]
        self._runs = _FORK.Array("i", runs)
        self._current = _FORK.Array("i", ends[:-1], lock=False)

    def take(self, worker: int) -> int | None:
        """The worker's next test; None: there are no more."""
        runs = self._runs
        own = 2 * worker
        with runs.get_lock():
            if runs[own] == runs[own + 1]:
                longest = max(range(0, len(runs), 2), key=lambda n: runs[n + 1] - runs[n])
                middle = (runs[longest] + runs[longest + 1]) // 2
                runs[own], runs[own + 1] = middle, runs[longest + 1]
                runs[longest + 1] = middle
            if runs[own] == runs[own + 1]:
                return None
            runs[own] += 1
            return runs[own] - 1

    def taken(self, worker: int) -> Iterator[tuple[int, int | None]]:
        """Each test of a worker with the one after it."""
        number = self.take(worker)
        while number is not None:
            following = self.take(worker)
            self._current[worker] = number
            yield number, following
            number = following

    def current(self, worker: int) -> int:
        """The test that a worker runs, ran last, or is to begin with."""
        return self._current[worker]


Event = tuple[str, dict[str, Any]]
"""A message of a worker's pytest, "report" or "warning", as pickle can hold it."""


class _Sender:
    """The plug-in of a worker: sends the events that the terminal would show."""

    def __init__(self, config: pytest.Config, connection: Connection):
        self._config = config
        self._connection = connection
        self._events: list[Event] = []
        self._file = ""
        self._sent = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the earlier ones where this is of another file, or they are old."""
        file = report.location[0]
        if file != self._file or time.monotonic() - self._sent > INTERVAL:
            self.send()
        self._file = file
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._events.append(("report", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str
    ) -> None:
        """Keep the text: the object may hold anything."""
        text, category = str(warning_message.message), warning_message.category.__name__
        place = warning_message.filename, warning_message.lineno
        data = {"text": text, "category": category, "place": place, "when": when, "nodeid": nodeid}
        self._events.append(("warning", data))

    def send(self) -> None:
        """Send the pending messages."""
        if self._events:
            self._connection.send(self._events)
        self._events = []
        self._sent = time.monotonic()


def _work(session: pytest.Session, work: Work, worker: int, connection: Connection) -> None:
    """Run tests as long as there are some: the whole life of a worker."""
    config = session.config
    plugins = config.pluginmanager
    if (capture := cast(Any, plugins.getplugin("capturemanager"))) is not None:
        # The file that holds what tests print is shared with the other processes.
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    plugins.unregister(name="terminalreporter")
    sender = _Sender(config, connection)
    plugins.register(sender)
    for number, following in work.taken(worker):
        config.hook.pytest_runtest_protocol(
            item=session.items[number],
            nextitem=None if following is None else session.items[following],
        )
    sender.send()


@contextmanager
def _workers(
    session: pytest.Session, work: Work, count: int
) -> Generator[dict[Connection, ForkProcess]]:
    """The running workers, by the receiver of each; none outlives this."""
    # One folder for the files of all tests: the process that makes it removes earlier ones.
    cast(Any, session.config)._tmp_path_factory.getbasetemp()
    workers: dict[Connection, ForkProcess] = {}
    try:
        for number in range(count):
            receiver, sender = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_work, args=(session, work, number, sender))
            process.start()
            sender.close()
            workers[receiver] = process
        yield workers
    finally:
        for process in workers.values():
            process.terminate()
            process.join()


def _run_all(session: pytest.Session, count: int) -> None:
    """Have ``count`` workers run the tests, and report their messages.

    A test without a report of its end has failed. Raises ``session.Failed``.
    """
    ended = set[str]()

    def show(report: pytest.TestReport) -> None:
        session.config.hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            ended.add(report.nodeid)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)

    work = Work(len(session.items), count)
    with _workers(session, work, count) as workers:
        for kind, data in _events(workers):
            if kind == "warning":
                _warn(session.config, **data)
                continue
            hook = session.config.hook
            show(hook.pytest_report_from_serializable(config=session.config, data=data))
        ends = [
            f"a process of tests ended with status {process.exitcode} in "
            + session.items[work.current(number)].nodeid
            for number, process in enumerate(workers.values())
        ]
    for item in session.items:
        if item.nodeid not in ended:
            place, said = item.location, "\n".join(["this test did not end", *ends])
            show(pytest.TestReport(item.nodeid, place, {}, "failed", said, "call"))


def _events(workers: Mapping[Connection, ForkProcess]) -> Iterator[Event]:
    """The messages of the workers, until all have ended."""
    left = dict(workers)
    while left:
        for receiver in wait(list(left)):
            assert isinstance(receiver, Connection)
            try:
                yield from receiver.recv()
            except EOFError:
                left.pop(receiver).join()


def _warn(
    config: pytest.Config, text: str, category: str, place: tuple[str, int], when: str, nodeid: str
) -> None:
    """Show a warning of a worker."""
    kind = type(category, (Warning,), {})
    message = warnings.WarningMessage(kind(text), kind, *place)
    recorded = {"warning_message": message, "when": when, "nodeid": nodeid, "location": None}
    config.hook.pytest_warning_recorded.call_historic(kwargs=recorded)
