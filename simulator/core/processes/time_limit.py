"""A limit on the processor's time that a piece of work may take."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import NoReturn


class TooLong(Exception):
    """The work did not end in the time that it was given."""


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Raise ``TooLong`` where the work within takes more than ``seconds`` of the process's time.

    Only the main thread can be interrupted: elsewhere there is no limit.
    """
    if current_thread() is not main_thread():
        yield
        return

    def end(_number: int, _frame: object) -> NoReturn:
        raise TooLong

    usual = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, usual)
