"""The exit statuses of what judges programs: fence-sim and ``fence-opt --verify-lowering``."""

HOLDS = 0
"""What was asked holds."""

DOES_NOT_HOLD = 1
"""It does not, or the test has no defined outcome."""

USAGE = 2
"""The command line is wrong, as with argparse, or for fence-sim the input."""

INCOMPLETE = 3
"""It could not be decided: a limit was reached, or executions were only sampled."""
