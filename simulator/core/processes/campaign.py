"""Campaigns: many independent tasks on any executor, results written down as they come.

Every result is a line of JSON in a file, flushed at once, so that a campaign that was
interrupted goes on where it stopped. Executors are those of ``concurrent.futures``; processes
by default, or a Dask cluster (``pip install fencewright[dask]``), whose workers may come and go:
a task of a worker that dies is run again by another.
"""

import fcntl
import hashlib
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import active_children
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, BinaryIO

from fencewright.simulator.core.processes.children import end_with_parent
from fencewright.simulator.core.processes.memory_limit import share_among

FORMAT = "fencewright-campaign"
FORMAT_VERSION = 1


class CampaignError(Exception):
    """A campaign that cannot go on: the task that failed, or the fault of its file."""


class TaskError(CampaignError):
    """A task of a campaign that failed; the results until then are in the campaign's file."""


@dataclass(frozen=True, slots=True)
class Task:
    """One call, under a key of its own. ``function`` and its result travel between processes.

    The result has to be something that JSON can hold.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@contextmanager
def open_processes(jobs: int) -> Generator[Executor | None]:
    """An executor of so many processes; None where one is enough."""
    if jobs == 1:
        yield None
        return
    with open_executor(jobs) as executor:
        yield executor


@contextmanager
def open_executor(workers: int) -> Generator[Executor]:
    """An executor of so many processes, which leave Ctrl-C to the caller.

    Where the caller's block ends with an exception, tasks that are queued or run are given up.
    """
    others = set(active_children())
    executor = ProcessPoolExecutor(workers, initializer=_begin, initargs=(workers,))
    try:
        yield executor
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def _begin(workers: int) -> None:
    """Share the memory with the other ``workers``, leave signals to the parent, and end when it
    ends.

    The parent ends its workers by SIGTERM; it may have handlers of its own for SIGTERM and SIGHUP.
    """
    end_with_parent()
    share_among(workers)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


# A Dask cluster


_CONNECT = 20
"""Seconds in which a scheduler has to answer."""
_COUNTED = 5
"""Seconds for which the number of workers is taken to be the same."""


@contextmanager
def open_dask(workers: int, address: str | None = None) -> Generator[Executor]:
    """An executor on the workers of the Dask scheduler at ``address``; without it on so many of our
    own.

    Where the caller's block ends with an exception, queued tasks are given up. Raises
    ``CampaignError`` if Dask is not installed.
    """
    from importlib import import_module

    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError:
        raise CampaignError("Dask is not installed: pip install fencewright[dask]") from None
    others = set(active_children())
    with _without_ctrl_c():
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        else:
            cluster = None
        client = _connected(distributed, cluster or address)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        yield DaskExecutor(client)
    except BaseException:
        # The tasks of others' workers go on to their end; our own are not waited for.
        for process in set(active_children()) - others:
            process.kill()
        client.close(timeout=0.2)
        raise
    client.close()
    if cluster is not None:
        cluster.close()


@contextmanager
def _without_ctrl_c() -> Generator[None]:
    """Processes that are started meanwhile leave Ctrl-C to this one."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _connected(distributed: Any, cluster: Any) -> Any:
    try:
        return distributed.Client(cluster, timeout=_CONNECT)
    except (OSError, ValueError) as problem:
        raise CampaignError(f"no scheduler answers at {cluster}: {problem}") from problem


class DaskExecutor(Executor):
    """Tasks on the workers of a Dask client, which must have the same code as this process.

    ``width`` is how many tasks they run at a time, now: workers may come and go.
    """

    def __init__(self, client: Any):
        self._client = client
        self._executor: Executor = client.get_executor(pure=False)
        self._width, self._counted = 0, 0.0

    @property
    def width(self) -> int:
        """The number of tasks that run at a time, as of a few seconds ago."""
        now = time.monotonic()
        if not self._width or now - self._counted > _COUNTED:
            self._width, self._counted = sum(self._client.nthreads().values()), now
        return self._width

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As ``Executor.submit``."""
        task = partial(fn, **kwargs) if kwargs else fn
        return self._executor.submit(_same_code, code_digest(), task, *args)


def _same_code(digest: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a task in a worker. Raises ``CampaignError`` where its Fencewright is another."""
    if code_digest() != digest:
        raise CampaignError(
            f"this worker has Fencewright {code_digest()}, the campaign {digest}: install the same "
            "on every machine"
        )
    return function(*arguments)


@cache
def code_digest() -> str:
    """A digest of all of Fencewright's code, so that results of other code are not taken for its
    own."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[2]
    for folder in ("checker", "lowering", "mlir_dialects", "passes", "simulator", "tools"):
        for file in sorted((package / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


# Running tasks


def run(
    tasks: Iterable[Task],
    executor: Executor | None = None,
    stream: Path | None = None,
    name: str = "",
    window: int | None = None,
) -> Iterator[tuple[str, Any]]:
    """The key and result of every task, in the order in which they are done.

    Without ``executor`` tasks run here, one after the other. With ``stream`` results are
    appended to that file, and tasks whose results it has already are not run again; ``name``
    says what the campaign is about, and a file of another name is refused. No more than
    ``window`` tasks are submitted at a time, by default enough for every worker, and whoever
    stops reading leaves them to the executor. Tasks are taken from ``tasks`` as they are needed.
    Raises ``TaskError`` for a task that fails, and
    ``CampaignError`` for a file that is not this campaign's.
    """
    if stream is None:
        yield from _results(tasks, {}, executor, window)
        return
    # With "a" what is written goes to the end, wherever was read.
    with _locked(stream) as file:
        known = _read(file, stream, name)
        if file.tell() == 0:
            _write(file, {"format": FORMAT, "version": FORMAT_VERSION, "name": name})
        for key, result in _results(tasks, known, executor, window):
            if key not in known:
                _write(file, {"key": key, "result": result})
            yield key, result


@contextmanager
def _locked(stream: Path) -> Generator[BinaryIO]:
    """The file, which no other process writes to meanwhile. Raises ``CampaignError`` if somebody
    does."""
    with stream.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CampaignError(
                f"{stream} is written by another campaign that runs; name another file"
            ) from None
        yield file


def _write(file: BinaryIO, line: dict[str, Any]) -> None:
    file.write(json.dumps(line).encode() + b"\n")
    file.flush()


def _read(file: BinaryIO, stream: Path, name: str) -> dict[str, Any]:
    """The results in a file; a last line that was cut off is taken out of it.

    Raises ``CampaignError`` for another campaign's file, and for a line that is damaged.
    """
    file.seek(0)
    text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    results: dict[str, Any] = {}
    for number, line in enumerate(whole.splitlines(), 1):
        if number == 1:
            _check_head(line, stream, name)
            continue
        try:
            fields = json.loads(line)
            results[str(fields["key"])] = fields["result"]
        except (ValueError, KeyError, TypeError):
            raise CampaignError(
                f"{stream}:{number}: not a result: remove this line, and its task is run again"
            ) from None
    if whole != text:
        file.truncate(len(whole))
    file.seek(0, os.SEEK_END)
    return results


def _check_head(line: bytes, stream: Path, name: str) -> None:
    """Raise ``CampaignError`` where the first line is not that of the campaign of this name."""
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if head != {"format": FORMAT, "version": FORMAT_VERSION, "name": name}:
        raise CampaignError(f"{stream} is not of this campaign ({name}); remove it or name another")


_WINDOW = 64
"""The smallest number of tasks submitted at a time, and the number for each worker."""
_AHEAD = 4


def _results(
    tasks: Iterable[Task], known: dict[str, Any], executor: Executor | None, window: int | None
) -> Iterator[tuple[str, Any]]:
    running: dict[Future[Any], str] = {}
    waiting = iter(tasks)
    task = next(waiting, None)
    while task is not None or running:
        room = 0 if executor is None else _room(executor, window)
        while task is not None and (executor is None or len(running) < room):
            if task.key in known:
                yield task.key, known[task.key]
            elif executor is None:
                yield task.key, _call(task)
            else:
                running[executor.submit(task.function, *task.arguments)] = task.key
            task = next(waiting, None)
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            key = running.pop(future)
            error = future.exception()
            if error is not None:
                raise TaskError(f"{key}: {type(error).__name__}: {error}") from error
            yield key, future.result()


def _room(executor: Executor, window: int | None) -> int:
    if window is not None:
        return window
    width = executor.width if isinstance(executor, DaskExecutor) else 0
    return max(_WINDOW, _AHEAD * width)


def _call(task: Task) -> Any:
    try:
        return task.function(*task.arguments)
    except Exception as error:
        raise TaskError(f"{task.key}: {type(error).__name__}: {error}") from error
