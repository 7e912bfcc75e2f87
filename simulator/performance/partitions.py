"""One agent's share of a device: its XCDs and their L2 caches, by partition mode."""

from dataclasses import dataclass

from fencewright.lowering.cdna.performance.devices import (
    DEVICES,
    PARTITIONINGS,
    USUAL,
    CdnaDevice,
    Partitioning,
    PartitionMode,
)
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import L2PerAgent


@dataclass(frozen=True, slots=True)
class Partition:
    """A device of ``agents`` equal agents.

    ``dies``: XCDs (or GCDs) of one agent, each with an L2 of its own.
    """

    device: CdnaDevice
    agents: int
    dies: int

    @property
    def l2_per_agent(self) -> L2PerAgent:
        """The L2 option for the lowering of the agent's code: one L2, or many that are not
        coherent."""
        return L2PerAgent.ONE if self.dies == 1 else L2PerAgent.MANY


def partition_of(name: str, mode: str | None = None) -> Partition:
    """A device, or the usual one of a chip (``gfx942``: MI300X), in a partition mode (SPX if None).

    Raises ``UnsupportedError`` for a device or a mode that there is not.
    """
    requested = f"partition {mode or 'of'} {name}"
    device = next((device for device in DEVICES if device.name == USUAL.get(name, name)), None)
    if device is None:
        raise UnsupportedError(
            requested, "unknown device", (*(device.name for device in DEVICES), *USUAL)
        )
    if not device.modes:
        if mode not in (None, PartitionMode.SPX):
            raise UnsupportedError(
                requested, "the device has no partition modes: each die is an agent"
            )
        return Partition(device, device.dies, 1)
    row = _row(requested, device, mode or PartitionMode.SPX)
    agents = row.agents or device.dies
    return Partition(device, agents, device.dies // agents)


def _row(requested: str, device: CdnaDevice, mode: str) -> Partitioning:
    for row in PARTITIONINGS:
        if row.mode == mode and row.mode in device.modes:
            return row
    raise UnsupportedError(requested, "the device has no such mode", tuple(device.modes))
