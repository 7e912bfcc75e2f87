"""A kernel of code that was read, before it is known whether its lanes can be executed."""

from collections.abc import Callable
from dataclasses import dataclass

from fencewright.simulator.execution.program import LaneProgram


@dataclass(frozen=True, slots=True)
class LaneKernel:
    """A kernel; ``read`` raises ``LaunchError`` at an instruction that is not executed."""

    name: str
    target: str
    read: Callable[[], LaneProgram]
