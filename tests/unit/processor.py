"""How much slower than it should be the processor is now, for tests of how long something takes.

A limit is for a machine that does nothing else. On one that others share, processor time grows with what
they do; a loop that does nothing but count says by how much.
"""

import time

_ROUNDS, _SECONDS = 100_000, 0.004
"""The loop, and its processor time on an idle machine of 2025 with CPython 3.11, rounded down."""


def slowness() -> float:
    """By what to multiply a limit: 1 on an idle machine, never less."""
    return max(1.0, min(_loop() for _ in range(10)) / _SECONDS)


def _loop() -> float:
    started = time.process_time()
    total = 0
    for each in range(_ROUNDS):
        total += each * each
    return time.process_time() - started
