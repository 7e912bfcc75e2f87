"""The exit statuses of the four programs.

The worst of several is the one that is given: see ``worst``.
"""

from collections.abc import Collection

HOLDS = 0
"""The request was done, and its answer is yes."""

DOES_NOT_HOLD = 1
"""It does not hold, or the test has no defined outcome."""

USAGE = 2
"""The command line is wrong, as with argparse, or an input cannot be read or used, or an output
cannot be written."""

INCOMPLETE = 3
"""It could not be decided: a limit was reached, executions were only sampled, or the run was
interrupted or failed."""

NO_GPU = 4
"""There is no GPU to run on."""


def worst(statuses: Collection[int]) -> int:
    """The status of several things judged one by one: 1 before all others, then the highest."""
    return DOES_NOT_HOLD if DOES_NOT_HOLD in statuses else max(statuses)
