"""How much a command does, counted in Python's calls or lines: the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol


class TraceFunction(Protocol):
    """What ``sys.settrace`` calls."""

    def __call__(self, frame: FrameType, event: str, argument: Any, /) -> "TraceFunction": ...


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


def lines_of(action: Callable[[], object]) -> int:
    """How many lines are executed while ``action`` runs: also those of loops that call nothing."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> TraceFunction:
        del frame, argument
        nonlocal count
        count += event == "line"
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def growth(action_of: Callable[[int], Callable[[], object]], size: int) -> float:
    """How much more is done for each further unit beyond ``size`` than for each one up to it.

    1 is linear; quadratic work gives 2.
    """
    action_of(1)()  # what is loaded and cached once
    small, middle, large = (lines_of(action_of(n * size)) for n in (1, 2, 4))
    return (large - middle) / (2 * (middle - small))
