"""The streams that a program writes to: closed, full, or a pipe without a reader."""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import IO

from fencewright.tools.statuses import USAGE

CLOSED_PIPE = 128 + signal.SIGPIPE
"""The exit status of a program whose reader is gone, which prints nothing more.

It is what a shell reports of a program that SIGPIPE ended, as mlir-opt.
"""


def check_stdout() -> None:
    """Raise ``OSError`` where stdout is closed.

    It is asked before anything is opened: the next file would get stdout's number, and what a
    child process prints would go into that file.
    """
    if sys.stdout is None:
        raise OSError(None, "is closed", "<stdout>")


def flush_stdout() -> None:
    """Write the buffered rest; raises ``OSError``."""
    if sys.stdout is not None:
        sys.stdout.flush()


def print_or_fail(name: str, text: Callable[[], str]) -> int:
    """Print the text that a function makes; returns the exit status."""
    try:
        check_stdout()
        print(text())
        flush_stdout()
    except OSError as failure:
        if ends_silently(failure):
            return CLOSED_PIPE
        forget_streams()
        tell(f"{failure.filename or name}: error: {failure.strerror}")
        return USAGE
    return 0


def ends_silently(failure: BaseException) -> bool:
    """True where ``failure`` is of a stream whose reader is gone; then nothing is written."""
    if not isinstance(failure, BrokenPipeError) or not _is_abandoned():
        return False
    forget_streams()
    return True


def tell(*lines: object) -> None:
    """Print lines on stderr. Where that cannot be written the exit status alone says it."""
    if sys.stderr is None:
        return
    try:
        print(*lines, sep="\n", file=sys.stderr)
    except OSError:
        forget_streams()


def forget_streams() -> None:
    """Keep the interpreter from failing a second time when it flushes the unwritten rest."""
    with open(os.devnull, "wb") as nowhere:
        for stream in _streams():
            if _fails(stream):
                os.dup2(nowhere.fileno(), stream.fileno())


def _fails(stream: IO[str]) -> bool:
    try:
        stream.flush()
    except OSError:
        return True
    return False


def _is_abandoned() -> bool:
    """True where stdout or stderr is a pipe without a reader."""
    poll = select.poll()
    for stream in _streams():
        poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _streams() -> Iterator[IO[str]]:
    """The standard streams of this process that are open, and not put elsewhere."""
    for now, original in ((sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__)):
        if now is not None and now is original:
            yield now
