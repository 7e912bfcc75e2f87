"""The exit statuses of what judges programs: fence-sim and ``fence-opt --verify-lowering``.

The worst of several is the one that is given: see ``worst``.
"""

from collections.abc import Collection

HOLDS = 0
"""What was asked holds."""

DOES_NOT_HOLD = 1
"""It does not, or the test has no defined outcome."""

USAGE = 2
"""The command line is wrong, as with argparse, or for fence-sim the input."""

INCOMPLETE = 3
"""It could not be decided: a limit was reached, executions were only sampled, or the run was
interrupted or failed."""

NO_GPU = 4
"""There is no GPU to run on."""


def worst(statuses: Collection[int]) -> int:
    """The status of several things judged one by one: 1 before all others, then the highest."""
    return DOES_NOT_HOLD if DOES_NOT_HOLD in statuses else max(statuses)
