# pyright: basic, reportMissingImports=false
"""Times fence-check on a million instructions, in one function and in ten thousand."""

import tempfile
from pathlib import Path

from fence_check import CHIP, many_branches
from harness import Result

_SIZES = {"sm_90": ((1, 91_000), (10_000, 7)), CHIP: ((1, 8_000), (10_000, 7))}
"""Functions, and the parts of each."""


def results() -> list[Result]:
    """One table."""
    with tempfile.TemporaryDirectory() as folder:
        return [many_branches(Path(folder), _SIZES, "a million instructions")]
