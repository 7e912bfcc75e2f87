"""A launch of ``fence-sim traffic`` with what was counted of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencewright.simulator.execution.launch import Launch
    from fencewright.simulator.execution.program import LaneProgram
    from fencewright.simulator.performance.machine import Machine
    from fencewright.simulator.performance.occupancy import Occupancy
    from fencewright.simulator.performance.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Launched:
    """What was launched on what, how much of it is resident, and what it moved."""

    program: "LaneProgram"
    launch: "Launch"
    machine: "Machine"
    occupancy: "Occupancy"
    traffic: "Traffic"
