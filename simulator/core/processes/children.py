"""Child processes that end with the process that started them."""

import ctypes
import os
import signal
from multiprocessing import parent_process

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have this process killed once the one that started it has ended, by any signal.

    It is the thread that started it whose end counts. Elsewhere than on Linux nothing is done.
    Source: Linux manual, prctl(2), PR_SET_PDEATHSIG.
    """
    starter = os.getppid()
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # It may have ended before.
    parent = parent_process()
    if os.getppid() != starter or (parent is not None and not parent.is_alive()):
        os._exit(1)
