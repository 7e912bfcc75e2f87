"""PTX kernels that whole waves execute: which they are, and their launches.

Accesses are weak or commuting atomics, and lanes meet at whole barriers or as whole warps, so that
the lanes of a wave may run together. ``simulator.threads`` executes every other kernel.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import CrossLane, LaneBlock, LaneProgram, Values
from fencewright.simulator.execution.program import Step as LaneStep
from fencewright.simulator.kernels.ptx.kernel import program_of
from fencewright.simulator.race.waves.observer import NotShown
from fencewright.simulator.threads.compile import Layout
from fencewright.simulator.threads.launch import (
    Launch,
    Module,
    Same,
    Struct,
    Tensor,
    given_arguments,
    settled,
)
from fencewright.simulator.threads.memory import Memory
from fencewright.simulator.threads.plain import is_plain

WAVES_AT_ONCE, MOST_MEMORY = 1024, 1 << 26
"""Waves that run together, and the bytes of shared and local memory that those may have."""
_LEAST_THREADS = 256
"""The threads from which on waves are faster than threads one by one."""
MOST_INSTRUCTIONS = 1 << 27
"""Instructions of a wave: a loop that does not end is found as a hang, or by the threads' limit."""


@dataclass(frozen=True, slots=True)
class Waves:
    """A launch whose arguments are in memory; ``resident``: work-groups that run together."""

    program: LaneProgram
    launch: execution.Launch
    memory: execution.Memory
    shared: int

    @property
    def resident(self) -> int:
        """The number of work-groups that run together."""
        asked = self.launch
        room = max(self.shared + asked.threads * self.program.resources.private_bytes, 1)
        waves = -(-asked.threads // self.program.lanes)
        return max(min(WAVES_AT_ONCE // waves, MOST_MEMORY // room), 1)


def waves_of(
    module: Module, kernel: PtxFunction, launch: Launch, given: Mapping[int, bytes]
) -> Waves:
    """A launch that is settled. Raises ``NotShown`` where threads have to run by themselves, and
    ``LaunchError``."""
    if launch.cluster != (1, 1, 1):
        raise NotShown("clusters")
    if any(isinstance(each, Same | Struct | Tensor) for each in launch.arguments):
        raise NotShown("arguments that share memory")
    program = _program(module, kernel)
    values = (
        np.frombuffer(array.data, dtype=np.uint8)[: array.size]
        if array is not None
        else int.from_bytes(value, "little")
        if len(value) <= 8
        else np.frombuffer(value, dtype=np.uint8)
        for array, value in given_arguments(kernel, launch, Memory(), given)
    )
    assert launch.block is not None
    asked = execution.Launch(launch.grid, launch.block, tuple(values), shared=launch.shared)
    memory = execution.allocate(program, asked)
    return Waves(program, asked, memory, program.resources.shared_bytes + launch.shared)


def executed(
    module: Module, launch: Launch, given: Mapping[int, bytes]
) -> tuple[bytes | None, ...] | None:
    """The arguments that are arrays after a launch; None where ``simulator.threads`` is to execute
    it, also because something is wrong in it. Raises ``LaunchError``."""
    kernel, launch = settled(module, launch)
    assert launch.block is not None
    if prod(launch.grid) * prod(launch.block) < _LEAST_THREADS:
        return None
    if not all(is_plain(each.statement, sees_order=True) for each in kernel.instructions):
        return None
    try:
        waves = waves_of(module, kernel, launch, given)
        memory = execute(
            waves.program, waves.launch, waves.memory, lambda _: None, limit=MOST_INSTRUCTIONS,
            resident=waves.resident, in_place=True, needs_results=True,
        )  # fmt: skip
    except (NotShown, execution.LaunchError):
        return None
    buffers = {each.name for each in memory.buffers}
    return tuple(
        memory.contents(each.name).tobytes() if each.name in buffers else None
        for each in waves.program.given
    )


# Programs


def _program(module: Module, kernel: PtxFunction) -> LaneProgram:
    """The lanes of a kernel, whose instructions have their numbers for a line."""
    number_of = {id(each): number for number, each in enumerate(kernel.instructions)}

    def number(instruction: PtxInstruction) -> SourceLocation:
        return SourceLocation("", number_of[id(instruction)])

    layout = Layout(module.ptx, [kernel], {})
    found = program_of(module.ptx, kernel, number, (layout.shared, layout.size))
    blocks = (LaneBlock(tuple(map(_of_whole_warps, each.steps)), each.end) for each in found.blocks)
    return replace(found, blocks=tuple(blocks))


def _of_whole_warps(step: LaneStep) -> LaneStep:
    """A step that gives up where only some lanes exchange values: others may come later."""
    if not isinstance(step, CrossLane):
        return step
    compute: Callable[..., Values] = step.compute

    def whole(active: LaneFlags, *operands: Values) -> Values:
        if not active.all():
            raise NotShown("lanes exchange values in part")
        return compute(active, *operands)

    return replace(step, compute=whole)
