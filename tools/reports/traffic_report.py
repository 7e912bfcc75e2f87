"""A launch of ``fence-sim traffic`` with its counts."""

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
    """The launch, its machine, the resident part, and its traffic."""

    program: "LaneProgram"
    launch: "Launch"
    machine: "Machine"
    occupancy: "Occupancy"
    traffic: "Traffic"
