"""The progress of long work, on a terminal alone: done, failed, rate and remaining time."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fencewright.simulator.core.exploration import Meter

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task, TaskID

_SOON = 1.0
"""Seconds for which a single run shows nothing."""


class Display(Protocol):
    """A display of the progress of work."""

    def update(self, done: int, failed: int = 0) -> None:
        """So many are done, so many of them failed."""
        ...

    def show(self, text: str) -> None:
        """Print a result on stdout."""
        ...


class _Silence:
    def update(self, done: int, failed: int = 0) -> None:
        pass

    def show(self, text: str) -> None:
        print(text, flush=True)


class _Bar:
    """A line on stderr that is drawn again and again, by a thread of its own."""

    def __init__(self, progress: "Progress", task: "TaskID"):
        self._progress = progress
        self._task = task

    def update(self, done: int, failed: int = 0) -> None:
        self._progress.update(self._task, completed=done, failed=failed)

    def show(self, text: str) -> None:
        if not sys.stdout.isatty():
            print(text, flush=True)
            return
        self._progress.stop()
        print(text, flush=True)
        self._progress.start()


@contextmanager
def progress(total: int, noun: str) -> Generator[Display]:
    """Show how many of ``total`` are done, on a terminal."""
    if not _is_terminal():
        yield _Silence()
        return
    from rich.progress import BarColumn, ProgressColumn
    from rich.table import Column
    from rich.text import Text

    class _Counts(ProgressColumn):
        def render(self, task: "Task") -> Text:
            failed = task.fields["failed"]
            return Text(_counts(int(task.completed), total, noun, failed, task.elapsed or 0.0))

    with _shown(BarColumn(20), _Counts(Column(no_wrap=True))) as bars:
        yield _Bar(bars, bars.add_task(noun, total=total, failed=0))


def _counts(done: int, total: int, noun: str, failed: int, seconds: float) -> str:
    """The progress of a campaign, in words."""
    words = f"{done:,} of {total:,} {noun}, {failed:,} failed"
    if not done or not seconds:
        return words
    rate = done / seconds
    left = int((total - done) / rate)
    shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
    return f"{words}, {shown} a second, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"


@contextmanager
def search(meter: Meter) -> Generator[Display]:
    """Show how far one search is, on a terminal, once it has taken a second."""
    if not _is_terminal():
        yield _Silence()
        return
    from rich.progress import ProgressColumn
    from rich.text import Text

    start = time.monotonic()

    class _Searched(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(_searched(meter.done, time.monotonic() - start))

    with _shown(_Searched()) as bars:
        yield _Bar(bars, bars.add_task("", total=None, failed=0))


def _searched(done: int, seconds: float) -> str:
    """The progress of a search, in words."""
    if seconds < _SOON:
        return ""
    return f"{done:,} states or steps, {done / seconds:,.0f} a second, {seconds:.0f} s"


@contextmanager
def _shown(*columns: "ProgressColumn") -> "Generator[Progress]":
    from rich.console import Console
    from rich.progress import Progress

    bars = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bars.start()
    try:
        yield bars
    finally:
        bars.stop()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
