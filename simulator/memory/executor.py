"""Runs kernels lane by lane: every wave of the work-groups that are resident, over arrays."""

from fencewright.simulator.memory.launch import Launch, Memory
from fencewright.simulator.memory.program import LaneProgram, Observer

LIMIT = 10_000_000
"""Instructions of waves that are executed at most, where not said otherwise."""


def execute(
    program: LaneProgram,
    launch: Launch,
    memory: Memory,
    observe: Observer,
    *,
    limit: int = LIMIT,
    resident: int | None = None,
) -> Memory:
    """Run a launch on ``memory``, of ``launch.allocate``, and give the memory that it leaves.

    ``observe`` is called with every memory instruction and fence, in the order of execution.
    ``resident``: work-groups that run at once (None: all); the next begins where one has ended.
    Raises ``LaunchError``, also after ``limit`` instructions of waves.
    """
    raise NotImplementedError
