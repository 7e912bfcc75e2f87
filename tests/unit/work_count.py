"""How much a command does, counted in calls of Python functions: the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(action: Callable[[], object]) -> int:
    """How often a function is called while ``action`` runs."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        del frame, argument
        nonlocal count
        count += event == "call"

    sys.setprofile(on_event)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def growth(action_of: Callable[[int], Callable[[], object]], size: int) -> float:
    """How much more is done for each further unit beyond ``size`` than for each one up to it.

    1 is linear; quadratic work gives 3 between ``size`` and twice that.
    """
    action_of(1)()  # what is loaded and cached once
    small, middle, large = (calls_of(action_of(n * size)) for n in (1, 2, 4))
    return (large - middle) / (2 * (middle - small))
